//! Whether git can read a repository without running anything that the repository names.
//!
//! git's configuration names programs: filters, file system monitors, tools that show differences.
//! The user's own configuration may name them, the repository's may not. So the repository's may
//! hold only keys that are known to name no program, and only lines that are certain to be read
//! here as git reads them. The environment that slug gives its child processes makes git switch off
//! the rest.
//!
//! Invariants: the repository is the one that git itself finds; everything that git keeps in it is
//! a file or folder of its own, not a link, so that nothing outside is read through it; and a
//! working tree that git looks at has no submodule, by git's own index.

mod beside;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::paths::{PathLookupCache, PathZone, Workspace};
use super::programs::{CommandEffects, GitUse};
pub(super) use beside::beyond_rules;

/// A longer configuration file, in bytes, is not read.
const MAX_BYTES: u64 = 256 << 10;
/// A longer index is not read, either.
const MAX_INDEX_BYTES: u64 = 64 << 20;
/// A repository with more of git's own files than this is not searched. A folder counts as many as
/// [`FILES_IN_A_FOLDER`], because listing it takes about as long.
const MAX_FILES: usize = 32_768;
const FILES_IN_A_FOLDER: usize = 16;

/// Folders of `.git` that may hold anything: a git command that only reads does not go there.
const UNREAD: [&str; 4] = ["annex", "hooks", "lfs", "modules"];
/// Files that make git read from elsewhere.
const LEADS: [&str; 3] = ["info/grafts", "objects/info/alternates", "objects/info/http-alternates"];

const UNCERTAIN_REPOSITORY: &str = "slug cannot tell which repository git finds here";

/// Sections in which no key names a program that git runs when it only reads a repository.
const PLAIN_SECTIONS: &str = "advice alias branch color column commit credential fetch gc http index init maintenance \
    pack pull push rebase rerere tag url user";

/// Keys of other sections that name no such program.
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

/// Values of `branch.sort` and `tag.sort` that look at no signature, for which git would run gpg.
const PLAIN_SORTS: &str = "authordate committerdate creatordate objectname refname taggerdate upstream v:refname \
    version:refname";

/// Why using git in these folders may run something, read something from elsewhere, or contact an
/// address that is not configured. `None` where it cannot. `beyond` is what [`beyond_rules`] says of them.
pub(super) fn hindrance<'a>(
    mut folders: impl Iterator<Item = &'a Path>,
    effects: &CommandEffects,
    beyond: Option<&'static str>,
    workspace: &Workspace,
    cache: &mut PathLookupCache,
) -> Option<&'static str> {
    let part = effects.git?;
    if !workspace.is_trusted() {
        return Some("git runs programs that a repository names, and this folder is not trusted");
    }
    match (part, &effects.remote) {
        (GitUse::History, _) => folders.find_map(|it| look(it, false, workspace, cache).err()),
        (GitUse::WorkingTree, _) => folders.find_map(|it| look(it, true, workspace, cache).err()),
        (GitUse::Changes, None) => beyond,
        (GitUse::Changes, Some(name)) => beyond.or_else(|| {
            let has_it =
                |folder: &Path| GitRepository::find(folder).is_ok_and(|it| it.has_remote(name));
            (!folders.all(has_it)).then_some("the name is not a known remote of the repository")
        }),
    }
}

fn look(
    folder: &Path,
    with_files: bool,
    workspace: &Workspace,
    cache: &mut PathLookupCache,
) -> Result<(), &'static str> {
    let repository = GitRepository::find(folder)?;
    if !repository.top.starts_with(workspace.root()) {
        return Err("the git repository begins outside the trusted folder");
    }
    if workspace.resolve(&repository.top, Path::new("/")).zone != PathZone::Inside {
        return Err("no repository of git's begins in the workspace");
    }
    let known = cache.repositories.entry((repository.top.clone(), with_files));
    *known.or_insert_with(|| repository.look(with_files))
}

/// A repository that git accepts.
struct GitRepository {
    /// The folder that holds `.git`, the top of the working tree.
    top: PathBuf,
    /// The folder with git's data for this working tree.
    git_dir: PathBuf,
    /// The folder with the data that all working trees share. Differs from `git_dir` only in a
    /// linked working tree.
    common: PathBuf,
}

impl GitRepository {
    /// The repository that git finds from a real folder upwards, where that is certain.
    fn find(folder: &Path) -> Result<Self, &'static str> {
        // Below a `.git`, git takes the folder itself for a repository.
        if folder.components().any(|it| it.as_os_str().eq_ignore_ascii_case(".git")) {
            return Err(UNCERTAIN_REPOSITORY);
        }
        for top in folder.ancestors() {
            let git = top.join(".git");
            match git.symlink_metadata() {
                Ok(found) => {
                    let repository = if found.is_dir() {
                        // With `commondir` the configuration is that of another repository.
                        let has_common_dir = git.join("commondir").symlink_metadata().is_ok();
                        let found = Self { top: top.to_owned(), git_dir: git.clone(), common: git };
                        Some(found).filter(|_| !has_common_dir)
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

    /// A linked worktree, if its main repository knows of it.
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
        // git reads no more than this of it.
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

    /// Every setting of the repository's own; `None` where a line is not certain to be read as git
    /// reads it.
    fn configuration(&self) -> Option<Vec<GitSetting>> {
        let mut all = Vec::new();
        for file in [self.common.join("config"), self.git_dir.join("config.worktree")] {
            if let Some(bytes) = read(&file, MAX_BYTES).ok()? {
                all.extend(settings(std::str::from_utf8(&bytes).ok()?)?);
            }
        }
        Some(all)
    }

    /// Checks that git, when it only reads, runs nothing that the repository names and reads
    /// nothing elsewhere. The error says what stands against it.
    fn look(&self, with_files: bool) -> Result<(), &'static str> {
        let configuration = self.configuration().filter(|it| it.iter().all(GitSetting::is_plain));
        let configuration = configuration
            .ok_or("the repository's git configuration has settings that may run programs")?;
        if !is_self_contained(&self.common) {
            return Err("the repository may have links, or take something from another one");
        }
        if with_files {
            // Each submodule has a configuration of its own, and may say which parts of it git
            // looks at.
            let has_modules = self.top.join(".gitmodules").symlink_metadata().is_ok();
            let is_sha1 =
                |it: &GitSetting| it.name != "extensions.objectformat" || it.value == "sha1";
            let is_known = configuration.iter().all(is_sha1);
            if has_modules || !is_known || !self.has_only_files() {
                return Err(
                    "git may look into submodules, which have a configuration of their own",
                );
            }
        }
        Ok(())
    }

    /// Whether git's index lists files and links alone, and no submodule.
    fn has_only_files(&self) -> bool {
        let index = read(&self.git_dir.join("index"), MAX_INDEX_BYTES);
        index.is_ok_and(|it| it.is_none_or(|it| lists_files(&it).is_some()))
    }

    fn has_remote(&self, name: &str) -> bool {
        let configuration = self.configuration().unwrap_or_default();
        let is_address = |it: &&GitSetting| it.name == "remote.url" && it.of == name;
        let mut addresses = configuration.iter().filter(is_address).peekable();
        // An empty address would remove the others, and an included file could add some.
        addresses.peek().is_some()
            && addresses.all(|it| !it.value.is_empty() && !it.value.starts_with('"'))
            && !configuration.iter().any(|it| it.name.starts_with("include"))
    }
}

/// Whether everything that git reads in a repository lies in it.
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

/// Whether an index lists only files and links. `None` where it holds something else, such as the
/// commit of a submodule or a part in another file. The index is read as git's `read-cache.c` does
/// with one thread; with more threads, git takes the start of each block from the index itself.
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
            // The number of bytes of the previous name that this name does not share.
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
    // Behind the entries are extensions, which git may ignore where their name begins with a
    // capital letter, and a checksum.
    while at + 28 <= index.len() {
        index.get(at).filter(|it| it.is_ascii_uppercase())?;
        at += 8 + number(at + 4)? as usize;
    }
    Some(())
}

/// The bytes of a file; `None` where there is no file.
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

/// One setting of a git configuration.
struct GitSetting {
    /// Section and key, in lower case: `remote.url`.
    name: String,
    /// The subsection, such as the name of a remote; empty where there is none.
    of: String,
    value: String,
}

impl GitSetting {
    /// Whether the setting is known to run no program.
    fn is_plain(&self) -> bool {
        if self.name.ends_with(".sort") {
            let order = self.value.strip_prefix('-').unwrap_or(&self.value);
            return PLAIN_SORTS.split(' ').any(|it| it == order);
        }
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
        // git may read a line that continues, or a value with quotes, differently.
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
        assert!(is_plain("[branch]\n\tsort = -committerdate\n[tag]\n\tsort = version:refname\n"));
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
            "[branch]\n\tsort = signature",
            "[branch]\n\tsort = -signature:key",
            "[TAG]\n\tSort = sign\"ature\"",
        ] {
            assert!(!is_plain(&format!("{USUAL}{line}\n")), "{line}");
        }
    }

    proptest::proptest! {
        /// A line that names a program is never overlooked, whatever stands before it.
        #[test]
        fn no_text_before_it_hides_a_program(before in "[\\[\\]a-z\"\\\\;#=. \n]{0,40}") {
            let text = format!("{before}\n[core]\nfsmonitor = ./x\n");
            proptest::prop_assert!(!is_plain(&text));
        }
    }
}
