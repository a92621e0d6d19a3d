//! Whether git can look at a repository and run nothing that it names.
//!
//! git's configuration names programs: filters, file system monitors, tools that show differences.
//! The user's own may, the repository's may not: of that only keys are taken that are known to name
//! none, and no line that is not certain to be read here as git reads it. What children's git is told
//! by its environment switches off the rest.
//!
//! Invariants: the repository is the one that git itself finds; what git keeps in it are files and
//! folders of its own, no links, so that nothing outside is read through it; and in a working tree
//! that git looks at is no submodule, by git's own index.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::paths::{PathLookupCache, PathZone, Workspace};
use super::programs::{CommandEffects, GitUse};

/// A longer file is not read.
const MAX_BYTES: u64 = 256 << 10;
/// Nor a longer index.
const MAX_INDEX_BYTES: u64 = 64 << 20;
/// A repository with more files of git's than this is not looked through; a folder is as many as
/// take its time.
const MAX_FILES: usize = 32_768;
const FILES_IN_A_FOLDER: usize = 16;

/// What in `.git` may be anything: git that only looks does not go there.
const UNREAD: [&str; 4] = ["annex", "hooks", "lfs", "modules"];
/// Files that lead git elsewhere.
const LEADS: [&str; 3] = ["info/grafts", "objects/info/alternates", "objects/info/http-alternates"];

const UNCERTAIN_REPOSITORY: &str = "it cannot be told for certain which repository git finds here";

/// Sections of which no key names a program that looking at a repository runs.
const PLAIN_SECTIONS: &str = "advice alias branch color column commit credential fetch gc http index init maintenance \
    pack pull push rebase rerere tag url user";

/// Keys of other sections that name none.
const PLAIN_KEYS: &str = "core.abbrev core.autocrlf core.bare core.commentchar core.compression core.eol \
    core.filemode core.ignorecase core.logallrefupdates core.longpaths \
    core.precomposeunicode core.preloadindex core.quotepath core.repositoryformatversion \
    core.safecrlf core.sharedrepository core.symlinks core.untrackedcache core.whitespace \
    diff.algorithm diff.colormoved diff.context diff.mnemonicprefix diff.noprefix \
    diff.renamelimit diff.renames extensions.objectformat extensions.refstorage \
    extensions.worktreeconfig lfs.repositoryformatversion log.abbrevcommit log.date \
    log.decorate log.follow merge.conflictstyle merge.ff remote.fetch remote.gh-resolved \
    remote.prune remote.pushurl remote.tagopt remote.url status.short \
    status.showuntrackedfiles submodule.active submodule.url";

/// Why git may run something, read something from elsewhere or lead to an address that is not
/// configured when it is used in these folders.
pub(super) fn hindrance<'a>(
    mut folders: impl Iterator<Item = &'a Path>,
    effects: &CommandEffects,
    workspace: &Workspace,
    seen: &mut PathLookupCache,
) -> Option<&'static str> {
    let part = effects.git?;
    if !workspace.is_trusted() {
        return Some("git runs what a repository names, and this folder is not trusted");
    }
    folders.find_map(|folder| match (part, &effects.remote) {
        (GitUse::History, _) => look(folder, false, workspace, seen).err(),
        (GitUse::WorkingTree, _) => look(folder, true, workspace, seen).err(),
        // What its hooks and filters run, who allowed it has allowed.
        (GitUse::Changes, None) => None,
        (GitUse::Changes, Some(name)) => {
            let has_it = GitRepository::find(folder).is_ok_and(|it| it.has_remote(name));
            (!has_it).then_some("this is not known to be one of the repository's remotes")
        }
    })
}

fn look(
    folder: &Path,
    with_files: bool,
    workspace: &Workspace,
    seen: &mut PathLookupCache,
) -> Result<(), &'static str> {
    let repository = GitRepository::find(folder)?;
    if workspace.resolve(&repository.top, Path::new("/")).zone == PathZone::Outside {
        return Err("no repository of git's begins in the workspace");
    }
    let known = seen.repositories.entry((repository.top.clone(), with_files));
    *known.or_insert_with(|| repository.look(with_files))
}

/// A repository that git accepts.
struct GitRepository {
    /// The folder that has `.git` in it, the top of the working tree.
    top: PathBuf,
    /// What git keeps for this working tree.
    git_dir: PathBuf,
    /// What it keeps for all of them; the same but in a linked one.
    common: PathBuf,
}

impl GitRepository {
    /// The one that git finds from a real folder on, where that is certain.
    fn find(folder: &Path) -> Result<Self, &'static str> {
        // There git takes the folder itself for a repository.
        if folder.components().any(|it| it.as_os_str().eq_ignore_ascii_case(".git")) {
            return Err(UNCERTAIN_REPOSITORY);
        }
        for top in folder.ancestors() {
            let git = top.join(".git");
            match git.symlink_metadata() {
                Ok(found) => {
                    let repository = if found.is_dir() {
                        // Its configuration would be that of another one.
                        let leads = git.join("commondir").symlink_metadata().is_ok();
                        let found = Self { top: top.to_owned(), git_dir: git.clone(), common: git };
                        Some(found).filter(|_| !leads)
                    } else {
                        Self::linked(top)
                    };
                    return repository.filter(Self::is_accepted).ok_or(UNCERTAIN_REPOSITORY);
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(_) => return Err(UNCERTAIN_REPOSITORY),
            }
            if top.join("HEAD").symlink_metadata().is_ok() {
                return Err(UNCERTAIN_REPOSITORY);
            }
        }
        Err("no repository of git's begins in the workspace")
    }

    /// A linked worktree, which its repository knows, too.
    fn linked(top: &Path) -> Option<Self> {
        let git = top.join(".git");
        let own = top.join(text(&git)?.strip_prefix("gitdir: ")?.trim_end_matches('\n'));
        let own = own.canonicalize().ok()?;
        let worktrees = own.parent().filter(|it| it.ends_with("worktrees"))?;
        let back = own.join(text(&own.join("gitdir"))?.trim_end_matches('\n'));
        let is_it = text(&own.join("commondir"))? == "../..\n" && back.canonicalize().ok()? == git;
        let common = worktrees.parent()?.to_owned();
        is_it.then(|| Self { top: top.to_owned(), git_dir: own, common })
    }

    fn is_accepted(&self) -> bool {
        let is_folder = |name| {
            let found = self.common.join(name).symlink_metadata();
            found.is_ok_and(|it| it.is_dir())
        };
        // git reads no more of it.
        let head = text(&self.git_dir.join("HEAD")).filter(|it| it.len() < 255);
        let is_head = head.is_some_and(|head| {
            let head = head.strip_suffix('\n').unwrap_or(&head);
            let is_id =
                matches!(head.len(), 40 | 64) && head.bytes().all(|c| c.is_ascii_hexdigit());
            let is_branch = head.starts_with("ref: refs/") && !head.contains("..");
            is_id || is_branch && !head.contains(char::is_control)
        });
        is_head && is_folder("objects") && is_folder("refs")
    }

    /// Every setting of its own; `None` where they are not certain to be read as git reads them.
    fn configuration(&self) -> Option<Vec<GitSetting>> {
        let mut all = Vec::new();
        for file in [self.common.join("config"), self.git_dir.join("config.worktree")] {
            if let Some(bytes) = read(&file, MAX_BYTES).ok()? {
                all.extend(settings(std::str::from_utf8(&bytes).ok()?)?);
            }
        }
        Some(all)
    }

    /// Whether git that only looks runs nothing that it names and reads nothing elsewhere.
    fn look(&self, with_files: bool) -> Result<(), &'static str> {
        let configuration = self.configuration().filter(|it| it.iter().all(GitSetting::is_plain));
        let configuration = configuration
            .ok_or("the repository's configuration holds more than slug knows to run nothing")?;
        if !is_self_contained(&self.common) {
            return Err("the repository may have links, or take something from another one");
        }
        if with_files {
            // Each submodule has a configuration of its own, and may say what is looked at of it.
            let has_modules = self.top.join(".gitmodules").symlink_metadata().is_ok();
            let is_sha1 =
                |it: &GitSetting| it.name != "extensions.objectformat" || it.value == "sha1";
            let is_known = configuration.iter().all(is_sha1);
            let index = read(&self.git_dir.join("index"), MAX_INDEX_BYTES);
            let has_files = index.is_ok_and(|it| it.is_none_or(|it| lists_files(&it).is_some()));
            if has_modules || !is_known || !has_files {
                return Err(
                    "git may look into submodules, which have a configuration of their own",
                );
            }
        }
        Ok(())
    }

    fn has_remote(&self, name: &str) -> bool {
        let configuration = self.configuration().unwrap_or_default();
        let is_address = |it: &&GitSetting| it.name == "remote.url" && it.of == name;
        let mut addresses = configuration.iter().filter(is_address).peekable();
        // An empty one would take the others away, and a file that is included add some.
        addresses.peek().is_some()
            && addresses.all(|it| !it.value.is_empty() && !it.value.starts_with('"'))
            && !configuration.iter().any(|it| it.name.starts_with("include"))
    }
}

/// Whether all that git reads in a repository is there itself.
fn is_self_contained(git: &Path) -> bool {
    if LEADS.iter().any(|name| git.join(name).symlink_metadata().is_ok()) {
        return false;
    }
    let (mut left, mut ahead) = (MAX_FILES, vec![git.to_owned()]);
    while let Some(folder) = ahead.pop() {
        left = left.saturating_sub(FILES_IN_A_FOLDER);
        let Ok(entries) = std::fs::read_dir(&folder) else { return false };
        for entry in entries {
            let Some((entry, more)) = entry.ok().zip(left.checked_sub(1)) else { return false };
            left = more;
            if folder == git && UNREAD.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => ahead.push(entry.path()),
                Ok(kind) if kind.is_file() => {}
                Ok(_) | Err(_) => return false,
            }
        }
    }
    true
}

/// Whether an index lists files and links alone; `None` where it has something else in it, as the
/// commit of a submodule, or a part elsewhere. It is read as git's `read-cache.c` does with one
/// thread; of more, the index itself says where each begins.
fn lists_files(index: &[u8]) -> Option<()> {
    let number = |at: usize| index.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
    let version = number(4).filter(|it| index.starts_with(b"DIRC") && (2..=4).contains(it))?;
    let (mut at, mut before) = (12, None::<usize>);
    for _ in 0..number(8)? {
        if !matches!(number(at + 24)? & 0o170_000, 0o100_000 | 0o120_000) {
            return None;
        }
        let flags = number(at + 58)? & 0xffff;
        let mut name = at + if flags & 0x4000 == 0 { 62 } else { 64 };
        let mut kept = 0;
        if version == 4 {
            // How much of the name before is not in this one.
            let mut cut = 0_usize;
            loop {
                let byte = *index.get(name)?;
                name += 1;
                cut = cut.checked_mul(128)?.checked_add(usize::from(byte & 127))?;
                if byte < 128 {
                    break;
                }
                cut += 1;
            }
            kept = before.map_or(Some(0), |before| before.checked_sub(cut))?;
        }
        let length = match flags & 0xfff {
            0xfff => kept + memchr::memchr(0, index.get(name..)?)?,
            length => length as usize,
        };
        at = match version {
            4 => name + length.checked_sub(kept)? + 1,
            _ => at + ((name - at + length + 8) & !7),
        };
        before = Some(length);
    }
    // Behind them are parts that git may do without, if they begin with a capital, and a checksum.
    while at + 28 <= index.len() {
        index.get(at).filter(|it| it.is_ascii_uppercase())?;
        at += 8 + number(at + 4)? as usize;
    }
    Some(())
}

/// The bytes of a file; `None` where there is none.
fn read(file: &Path, max: u64) -> std::io::Result<Option<Vec<u8>>> {
    match std::fs::symlink_metadata(file) {
        Ok(metadata) if metadata.is_file() && metadata.len() <= max => {
            std::fs::read(file).map(Some)
        }
        Ok(_) => Err(ErrorKind::InvalidData.into()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn text(file: &Path) -> Option<String> {
    String::from_utf8(read(file, MAX_BYTES).ok()??).ok()
}

/// A line of a configuration.
struct GitSetting {
    /// Section and key.
    name: String,
    /// What the section is of, as the name of a remote.
    of: String,
    value: String,
}

impl GitSetting {
    /// Whether it is known to name no program.
    fn is_plain(&self) -> bool {
        let section = self.name.split('.').next();
        PLAIN_SECTIONS.split(' ').any(|it| Some(it) == section)
            || PLAIN_KEYS.split(' ').any(|it| it == self.name)
    }
}

/// Every setting of a text; `None` where a line is not certain to be read here as git reads it.
fn settings(text: &str) -> Option<Vec<GitSetting>> {
    let is_name = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let (mut section, mut subsection) = (String::new(), String::new());
    let mut all = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            let name = header.strip_suffix(']')?;
            let (name, of) = name.split_once(' ').unwrap_or((name, "\"\""));
            let of = of.strip_prefix('"')?.strip_suffix('"')?;
            if !is_name(name) || of.contains(['"', '\\']) {
                return None;
            }
            (section, subsection) = (name.to_ascii_lowercase(), of.to_owned());
            continue;
        }
        // A line that goes on, or a value with quotes, may be read in another way than here.
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let key = key.trim().to_ascii_lowercase();
        if !is_name(&key) || value.ends_with('\\') {
            return None;
        }
        let name = format!("{section}.{key}");
        all.push(GitSetting { name, of: subsection.clone(), value: value.trim().to_owned() });
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_plain(text: &str) -> bool {
        settings(text).is_some_and(|all| all.iter().all(GitSetting::is_plain))
    }

    const USUAL: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
        [remote \"origin\"]\n\turl = https://example.org/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
        [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n[user]\n\tname = A\n; and a comment\n";

    #[test]
    fn the_usual_configuration_names_no_program() {
        assert!(is_plain(USUAL));
        assert!(is_plain(""));
    }

    #[test]
    fn whatever_else_is_in_it_is_not_plain() {
        for line in [
            "[core]\n\tfsmonitor = ./x",
            "[core]\n\thooksPath = x",
            "[core]\n\tworktree = /",
            "[core] fsmonitor = ./x",
            "[CORE]\n\tFSMONITOR = ./x",
            "[filter \"x\"]\n\tclean = ./x",
            "[diff \"x\"]\n\ttextconv = ./x",
            "[diff]\n\texternal = ./x",
            "[include]\n\tpath = x",
            "[includeIf \"gitdir:/\"]\n\tpath = x",
            "[extensions]\n\tpartialClone = origin",
            "[user]\n\tname = a\\\n[core]\n\tfsmonitor = ./x",
            "[user \"]\"] name = x",
            "[submodule \"a\"]\n\tignore = none",
            "[remote \"a\\\"b\"]\n\turl = x",
            "what is this",
        ] {
            assert!(!is_plain(&format!("{USUAL}{line}\n")), "{line}");
        }
    }

    proptest::proptest! {
        /// A line that names a program is not overlooked, whatever stands before it.
        #[test]
        fn no_text_before_it_hides_a_program(before in "[\\[\\]a-z\"\\\\;#=. \n]{0,40}") {
            let text = format!("{before}\n[core]\nfsmonitor = ./x\n");
            proptest::prop_assert!(!is_plain(&text));
        }
    }
}
