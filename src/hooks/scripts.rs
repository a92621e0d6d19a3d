//! The file that a command begins with or hands to an interpreter, as far as it can be told.
//!
//! It decides about nothing that runs: it says what to do about a missing right to be run, and
//! which file of a trusted folder is as much a power as the settings that name it.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::domain::ContentHash;

/// More than this of a script is not looked at.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The program that a line begins with, where that is a file without the right to be run.
pub(super) fn not_executable(line: &str, cwd: &Path) -> Option<PathBuf> {
    let program = words(line, cwd).next().filter(|word| word.contains('/'))?;
    let program = cwd.join(program);
    let metadata = std::fs::metadata(&program).ok()?;
    let is_it = metadata.is_file() && metadata.permissions().mode() & 0o111 == 0;
    is_it.then_some(program)
}

/// The file of `folder` that a line runs, relative to the folder, and the hash of its content.
pub fn script(line: &str, folder: &Path) -> Option<(PathBuf, ContentHash)> {
    words(line, folder).take(4).find_map(|word| {
        let inside = folder.join(word).canonicalize().ok()?;
        let inside = inside.strip_prefix(folder).ok()?.to_owned();
        let hash = hash(&folder.join(&inside))?;
        Some((inside, hash))
    })
}

/// The hash of a regular file's content.
pub(super) fn hash(file: &Path) -> Option<ContentHash> {
    if !std::fs::metadata(file).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::open(file).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(ContentHash::of(&bytes))
}

/// The words of a line, up to the first that is more than a plain one.
fn words(line: &str, cwd: &Path) -> impl Iterator<Item = String> {
    line.split_whitespace().map(move |word| plain(word, cwd)).map_while(|word| word)
}

/// A word as the shell would read it. `None` for anything that is not plain.
fn plain(word: &str, cwd: &Path) -> Option<String> {
    let cwd = cwd.to_string_lossy();
    let home = std::env::var("HOME").unwrap_or_default();
    let word = word.replace(['"', '\''], "");
    let word = match word.strip_prefix("~/") {
        Some(rest) => format!("{home}/{rest}"),
        None => super::VARIABLES
            .into_iter()
            .map(|name| (name, cwd.as_ref()))
            .chain([("HOME", home.as_str())])
            .fold(word, |word, (name, value)| {
                word.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value)
            }),
    };
    (!word.contains(['$', '`', '\\', ';', '&', '|', '<', '>', '(', '*', '?'])).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_plain_up_to_the_first_that_is_not() {
        let table: [(&str, &[&str]); 6] = [
            ("./check.sh --fast", &["./check.sh", "--fast"]),
            ("\"$CLAUDE_PROJECT_DIR\"/.slug/x.sh a", &["/w/.slug/x.sh", "a"]),
            ("${SLUG_PROJECT_DIR}/x.sh | tee log", &["/w/x.sh"]),
            ("python3 'scripts/x.py'", &["python3", "scripts/x.py"]),
            ("$(pick) a/b", &[]),
            ("", &[]),
        ];
        for (line, expected) in table {
            assert_eq!(words(line, Path::new("/w")).collect::<Vec<_>>(), expected, "{line}");
        }
    }

    #[test]
    fn the_script_of_a_line_is_found_in_the_folder_alone() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (work, file) = (root.join("w"), root.join("w/bin/x.py"));
        std::fs::create_dir_all(work.join("bin")).unwrap();
        std::fs::write(&file, "1").unwrap();
        std::fs::write(root.join("out.py"), "1").unwrap();
        let found = |line: &str| script(line, &work).map(|(path, _)| path);
        let x = Some(PathBuf::from("bin/x.py"));
        for (line, path) in [
            ("bin/x.py", &x),
            ("python3 -u ./bin/x.py --now", &x),
            ("$SLUG_PROJECT_DIR/bin/../bin/x.py", &x),
            ("python3 ../out.py", &None),
            ("jq .a", &None),
            ("echo hi && bin/x.py", &None),
        ] {
            assert_eq!(&found(line), path, "{line}");
        }
        let before = script("bin/x.py", &work);
        std::fs::write(&file, "2").unwrap();
        assert_ne!(script("bin/x.py", &work), before);
    }
}
