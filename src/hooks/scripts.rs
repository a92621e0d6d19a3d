//! The files that a command line names, as far as its text tells.
//!
//! These files decide nothing about what runs. They serve to report a missing right to execute, and
//! to find the files of a trusted folder that matter as much as the settings that name them. Every
//! plain word that names a file counts, unless the line writes into that file: too many rather than
//! too few. `make lint` names the Makefile, `npm run lint` names package.json. What these files run
//! in turn is not searched.
//!
//! A line can name files that do not exist. They are not listed, so the lists of one line at two
//! times differ as soon as such a file appears: `GNUmakefile` beside `Makefile`, or `sub/opt.sh`.
//! [`changed_files`] compares two lists.
//!
//! A program that is started without a shell is looked at in the same way: [`scripts_of_program`].

use std::fs::Metadata;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::disk::open_regular;
use crate::domain::ContentHash;

/// The most bytes that are read of a file.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The most folders in which files are searched: a line may change to a folder first.
const MAX_FOLDERS: usize = 16;

/// The most characters of a cluster of options that may stand before a glued value.
const MAX_GLUED_OPTIONS: usize = 8;

/// Programs that only write into the files that they name.
const WRITERS: [&str; 2] = ["tee", "touch"];

/// Programs that run what a file of the folder defines under a name, and the names of that file, in
/// the order in which the program looks for them.
const RUNNERS: [(&str, &[&str]); 7] = [
    ("make", &["GNUmakefile", "makefile", "Makefile"]),
    ("gmake", &["GNUmakefile", "makefile", "Makefile"]),
    ("just", &["justfile", ".justfile", "Justfile"]),
    ("npm", &["package.json"]),
    ("pnpm", &["package.json"]),
    ("yarn", &["package.json"]),
    ("bun", &["package.json"]),
];

/// Commands that the shell runs itself.
const BUILT_IN: [&str; 9] = [":", "[", "cd", "echo", "exit", "false", "printf", "test", "true"];

/// A file of a folder, relative to it, and the hash of its content.
pub type HookScript = (PathBuf, ContentHash);

/// The program that a line begins with, where it is a file that may not be executed.
pub(super) fn not_executable(line: &str, cwd: &Path) -> Option<PathBuf> {
    let program = plain(line.split_whitespace().next()?, cwd)?;
    let program = Some(program).filter(|word| word.contains('/')).map(|word| cwd.join(word))?;
    let metadata = std::fs::metadata(&program).ok()?;
    let is_it = metadata.is_file() && metadata.permissions().mode() & 0o111 == 0;
    is_it.then_some(program)
}

/// The files of `folder` that a line names and that exist, in the line's order.
pub fn scripts(line: &str, folder: &Path) -> Vec<HookScript> {
    named_paths(line, folder).files
}

/// The files in which two lists of [`scripts`] differ: changed, gone or new.
pub(super) fn changed_files<'a>(
    before: &'a [HookScript],
    now: &'a [HookScript],
) -> impl Iterator<Item = &'a Path> {
    let gone = before.iter().filter(move |script| !now.contains(script));
    let new = now.iter().filter(move |script| !before.contains(script));
    gone.chain(new).map(|(file, _)| file.as_path())
}

/// The files of `folder` that the words of a program name, which starts in `cwd` without a shell, and
/// whether that may be all that it uses of the folder. A word counts as it is, and as a line for a shell.
pub fn scripts_of_program<'a>(
    words: impl Iterator<Item = &'a str>,
    cwd: &Path,
    folder: &Path,
) -> (Vec<HookScript>, bool) {
    let of_word = |word| with_values(word).chain(self::words(word, folder)).collect::<Vec<_>>();
    let mut folders = vec![folder.to_owned()];
    folders.extend(cwd.canonicalize().ok().filter(|cwd| cwd != folder));
    let named = NamedPaths::find(words.flat_map(of_word).collect(), folders, folder);
    let is_all = named.is_all(folder);
    (named.files, is_all)
}

/// What a line names in a folder.
struct NamedPaths {
    files: Vec<HookScript>,
    /// The folder itself, the folders that the line names, and those between.
    folders: Vec<PathBuf>,
}

impl NamedPaths {
    /// What `words` name in `folder`, looked up from each of `folders`.
    fn find(words: Vec<String>, mut folders: Vec<PathBuf>, folder: &Path) -> Self {
        let mut files = Vec::<HookScript>::new();
        let of_runners = words.iter().flat_map(|word| runs(word)).map(|name| (*name).to_owned());
        let of_runners: Vec<String> = of_runners.collect();
        // Files of runners come last, when the folders that the line changes to are known.
        for word in words.into_iter().chain(of_runners) {
            let named: Vec<PathBuf> =
                folders.iter().filter_map(|it| it.join(&word).canonicalize().ok()).collect();
            for path in named {
                let Ok(inside) = path.strip_prefix(folder) else { continue };
                if path.is_dir() {
                    // `npm` and `just` look in the folders above as well.
                    for outer in path.ancestors().take_while(|outer| *outer != folder) {
                        let is_known = folders.iter().any(|known| known == outer);
                        if folders.len() < MAX_FOLDERS && !is_known {
                            folders.push(outer.to_owned());
                        }
                    }
                } else if !files.iter().any(|(known, _)| known == inside) {
                    files.extend(hash(&path).map(|hash| (inside.to_owned(), hash)));
                }
            }
        }
        Self { files, folders }
    }

    /// Whether each of the folders has a named file, so that these may be all that is used.
    fn is_all(&self, folder: &Path) -> bool {
        let is_used =
            |it: &PathBuf| self.files.iter().any(|(file, _)| folder.join(file).starts_with(it));
        self.folders.len() < MAX_FOLDERS && self.folders.iter().all(is_used)
    }
}

fn named_paths(line: &str, folder: &Path) -> NamedPaths {
    NamedPaths::find(words(line, folder), vec![folder.to_owned()], folder)
}

/// The program of a line whose files are unknown: the line names no existing file of the folder, or
/// a folder in which it names none (`python3 sub` runs `sub/__main__.py`). The word `it` stands for
/// the line where the shell runs its first command itself, and `None` where that is all.
pub fn unresolved_program(line: &str, folder: &Path) -> Option<String> {
    if named_paths(line, folder).is_all(folder) {
        return None;
    }
    let program = line.split_whitespace().next()?;
    let program = plain(program, folder).unwrap_or_else(|| program.to_owned());
    if !BUILT_IN.contains(&&*program) {
        return Some(program);
    }
    line.contains([';', '&', '|', '(', '`', '\n']).then(|| "it".to_owned())
}

/// The files in which a program finds what to run.
fn runs(program: &str) -> &'static [&'static str] {
    let name = program.rsplit('/').next().unwrap_or(program);
    let found = RUNNERS.iter().find(|(runner, _)| *runner == name);
    found.map_or(&[], |(_, files)| files)
}

/// The hash of a regular file's content. Of a file longer than [`MAX_BYTES`], its size and times
/// count as well.
fn hash(path: &Path) -> Option<ContentHash> {
    let (file, metadata) = open_regular(path).ok()??;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    if metadata.len() > MAX_BYTES {
        bytes.extend(state(&metadata).into_iter().flat_map(i64::to_le_bytes));
    }
    Some(ContentHash::of(&bytes))
}

/// Values that change with every write; the change time cannot be set back.
fn state(of: &Metadata) -> [i64; 5] {
    [of.size().cast_signed(), of.mtime(), of.mtime_nsec(), of.ctime(), of.ctime_nsec()]
}

/// What a line does with the words to come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShellWordUse {
    /// May run or read them.
    Read,
    /// Writes into the next word.
    WriteNext,
    /// Writes into all words up to the end of this command.
    Write,
}

/// The plain words of all commands of a line and their values, except those that are written into.
fn words(line: &str, cwd: &Path) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), String::new());
    let (mut begins, mut next) = (true, ShellWordUse::Read);
    for c in line.chars().chain(['\n']) {
        if !c.is_whitespace() && !";&|()<>`".contains(c) {
            word.push(c);
            continue;
        }
        if !word.is_empty() {
            let plain = plain(&std::mem::take(&mut word), cwd);
            next = match (next, plain) {
                (ShellWordUse::Write, _) => ShellWordUse::Write,
                (ShellWordUse::Read, Some(word)) if begins && WRITERS.contains(&&*word) => {
                    ShellWordUse::Write
                }
                (ShellWordUse::Read, Some(word)) => {
                    words.extend(with_values(&word));
                    ShellWordUse::Read
                }
                (ShellWordUse::Read, None) | (ShellWordUse::WriteNext, _) => ShellWordUse::Read,
            };
            begins = false;
        }
        match c {
            '>' => next = ShellWordUse::WriteNext,
            // `>&` and `>|` are one operator.
            '&' | '|' if next == ShellWordUse::WriteNext => {}
            ';' | '&' | '|' | '(' | ')' | '`' | '\n' => (begins, next) = (true, ShellWordUse::Read),
            _ => {}
        }
    }
    words
}

/// A word, before it the part behind the sign of `NAME=word`, and of `-Cword` what may be glued to the
/// options.
fn with_values(word: &str) -> impl Iterator<Item = String> {
    let value = word.split_once('=').map(|(_, value)| value);
    value.into_iter().chain(glued_values(word)).chain([word]).map(str::to_owned)
}

/// What may be a value behind short options: `Csub`, `sub`, `ub` and `b` of `-sCsub`, since programs
/// differ in which of their options take one.
fn glued_values(word: &str) -> impl Iterator<Item = &str> {
    let is_cluster = word.starts_with('-') && !word.starts_with("--");
    let count = if is_cluster { MAX_GLUED_OPTIONS } else { 0 };
    word.char_indices().skip(2).take(count).map(move |(at, _)| &word[at..])
}

/// A word as the shell would read it; `None` for anything that is not plain.
fn plain(word: &str, cwd: &Path) -> Option<String> {
    let cwd = cwd.to_string_lossy();
    let home = std::env::var("HOME").unwrap_or_default();
    let word = word.replace(['"', '\''], "");
    let word = match word.strip_prefix("~/") {
        Some(rest) => format!("{home}/{rest}"),
        None => super::PROJECT_FOLDER_VARIABLES
            .into_iter()
            .map(|name| (name, cwd.as_ref()))
            .chain([("HOME", home.as_str()), ("PWD", cwd.as_ref())])
            .fold(word, |word, (name, value)| {
                word.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value)
            }),
    };
    (!word.contains(['$', '`', '\\', ';', '&', '|', '<', '>', '(', '*', '?'])).then_some(word)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn words_are_those_of_all_commands_except_what_is_written() {
        let table: [(&str, &[&str]); 14] = [
            ("./check.sh --fast", &["./check.sh", "--fast"]),
            ("\"$CLAUDE_PROJECT_DIR\"/.slug/x.sh a", &["/w/.slug/x.sh", "a"]),
            ("${SLUG_PROJECT_DIR}/x.sh | tee log", &["/w/x.sh"]),
            ("tee log && $PWD/x.sh", &["/w/x.sh"]),
            ("python3 'scripts/x.py'", &["python3", "scripts/x.py"]),
            ("$(pick) a/b", &["pick", "a/b"]),
            ("cd sub&&./t.sh;./u.sh", &["cd", "sub", "./t.sh", "./u.sh"]),
            ("A=./x env B=2 c", &["./x", "A=./x", "env", "2", "B=2", "c"]),
            ("bash <in.sh >out 2>&1 more", &["bash", "in.sh", "2", "more"]),
            ("x &> log; y >> log; z >| log w", &["x", "y", "z", "w"]),
            ("sh *.sh $NAME a\\ b", &["sh", "b"]),
            ("a\nb", &["a", "b"]),
            ("make -s -sCé", &["make", "-s", "Cé", "é", "-sCé"]),
            ("", &[]),
        ];
        for (line, expected) in table {
            assert_eq!(words(line, Path::new("/w")), expected, "{line}");
        }
        assert_eq!(glued_values("-f0123456789").last(), Some("789"));
    }

    #[test]
    fn the_files_of_a_line_are_found_in_the_folder_alone() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let work = root.join("w");
        std::fs::create_dir_all(work.join("bin/deep")).unwrap();
        for file in [
            "w/bin/x.py",
            "w/bin/deep/y.py",
            "w/a.js",
            "out.py",
            "w/Makefile",
            "w/bin/package.json",
            "w/bin/justfile",
            "w/lint.mk",
        ] {
            std::fs::write(root.join(file), "1").unwrap();
        }
        for (line, files) in [
            ("bin/x.py", &["bin/x.py"][..]),
            ("python3 -u ./bin/x.py --now", &["bin/x.py"]),
            ("$SLUG_PROJECT_DIR/bin/../bin/x.py", &["bin/x.py"]),
            ("python3 ../out.py", &[]),
            ("jq .a", &[]),
            ("echo hi && bin/x.py", &["bin/x.py"]),
            ("bash -e -u -x -o pipefail bin/x.py", &["bin/x.py"]),
            ("env A=1 B=2 python3 bin/x.py", &["bin/x.py"]),
            ("node -r ./a.js bin/x.py bin/x.py", &["a.js", "bin/x.py"]),
            ("node --require=./a.js", &["a.js"]),
            ("cd bin && ./x.py", &["bin/x.py"]),
            ("cd bin && cd deep && ./y.py", &["bin/deep/y.py"]),
            ("make lint", &["Makefile"]),
            ("test -f a.js && /usr/bin/make -s lint", &["a.js", "Makefile"]),
            ("npm run x", &[]),
            ("cd bin && npm run x", &["bin/package.json"]),
            ("yarn --cwd bin x", &["bin/package.json"]),
            ("just -d bin x", &["bin/justfile"]),
            ("just -dbin x", &["bin/justfile"]),
            ("make -flint.mk x", &["lint.mk", "Makefile"]),
            ("cd bin/deep && npm run x", &["bin/package.json"]),
            ("cargo xtask lint", &[]),
        ] {
            let found: Vec<PathBuf> =
                scripts(line, &work).into_iter().map(|(path, _)| path).collect();
            assert_eq!(found, files.iter().map(PathBuf::from).collect::<Vec<_>>(), "{line}");
        }
    }

    #[test]
    fn a_program_whose_files_are_unknown_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("Makefile"), "").unwrap();
        for inside in ["sub", "used"] {
            std::fs::create_dir(folder.path().join(inside)).unwrap();
        }
        std::fs::write(folder.path().join("used/x.sh"), "").unwrap();
        for (line, program) in [
            ("make lint", None),
            ("cd used && ./x.sh", None),
            ("make -C sub", Some("make")),
            ("python3 sub && make", Some("python3")),
            ("test -f Makefile && python3 sub", Some("it")),
            ("cd used && cargo run", Some("it")),
            ("cd used", None),
            ("cargo xtask lint", Some("cargo")),
            ("npm run x", Some("npm")),
            ("echo hi", None),
            ("$(pick) x", Some("$(pick)")),
        ] {
            assert_eq!(unresolved_program(line, folder.path()).as_deref(), program, "{line}");
        }
    }

    #[test]
    fn a_change_anywhere_in_a_file_changes_its_hash() {
        use std::io::{Seek, SeekFrom, Write};
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().canonicalize().unwrap();
        let mut file = File::create(work.join("x")).unwrap();
        let current_scripts = || scripts("./x", &work);
        for (at, is_long) in [(0, false), (MAX_BYTES, true), (MAX_BYTES, true)] {
            let before = current_scripts();
            // The clock of a file system may not have moved since the last write.
            let by = std::time::Instant::now() + std::time::Duration::from_secs(60);
            loop {
                file.seek(SeekFrom::Start(at)).unwrap();
                file.write_all(if before.is_empty() { b"a" } else { b"b" }).unwrap();
                if current_scripts() != before {
                    break;
                }
                assert!(std::time::Instant::now() < by, "{at}");
            }
            assert_eq!(file.metadata().unwrap().len() > MAX_BYTES, is_long);
            assert_eq!(current_scripts(), current_scripts());
        }
    }
}
