//! Which files a walk through a folder leaves out, by `.gitignore` and `.ignore` files.
//!
//! The precedence is that of the crate `ignore`: `.ignore` before `.gitignore` before
//! `.git/info/exclude` before the user's own list, and an inner folder's file before an outer
//! one's, inside a repository or not. Only the reading of the files is slug's own: that crate opens
//! anything that has the name, and would wait for a FIFO. A path that is not a regular file, or
//! that cannot be read, leaves nothing out.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use ignore::gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path};
use ignore::{DirEntry, Match};

use super::regular::read_regular;

/// How much of an ignore file is read, in bytes. The largest of real projects have 20 KB, and the
/// machine that matches patterns takes up to 700 bytes of memory for each byte of them.
const MAX_BYTES: u64 = 64 << 10;
/// How much is read of all ignore files for one walk, in bytes.
const MAX_TOTAL_BYTES: u64 = 512 << 10;
/// How much is read of `.git` and `commondir`, by which a worktree names its repository, in bytes.
const MAX_NAME: u64 = 4096;

/// The ignore files that apply below a folder. Each is read when a walk first enters its folder.
pub struct IgnoreFiles {
    root: PathBuf,
    /// The canonical path of `root`, where it differs from `root`.
    real_root: Option<PathBuf>,
    global: Option<Gitignore>,
    above: Arc<IgnoreLevel>,
    /// Keyed by the path's bytes, which are much cheaper to compare than path components.
    folders: RwLock<HashMap<OsString, Arc<IgnoreLevel>>>,
    reader: IgnoreFileReader,
}

/// Reads ignore files up to the limits.
struct IgnoreFileReader {
    /// How many bytes may still be read.
    left: AtomicU64,
}

/// The rules of a folder that has ignore files.
#[derive(Default)]
struct IgnoreLevel {
    /// From `.ignore`, `.gitignore` and `.git/info/exclude`, in this order.
    files: [Option<Gitignore>; 3],
    outer: Option<Arc<IgnoreLevel>>,
}

impl IgnoreFiles {
    /// The ignore files for a walk that begins at `root`; those of the folders above it are read
    /// now.
    pub fn of(root: &Path) -> Self {
        let real_root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let reader = IgnoreFileReader { left: AtomicU64::new(MAX_TOTAL_BYTES) };
        let mut above = Arc::new(IgnoreLevel::default());
        for folder in real_root.ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
            above = reader.level(folder, above);
        }
        let global = gitconfig_excludes_path().and_then(|path| reader.rules(&real_root, &path));
        Self {
            root: root.to_owned(),
            real_root: (real_root != root).then_some(real_root),
            global,
            above,
            folders: RwLock::default(),
            reader,
        }
    }

    /// Whether a walk visits an entry. The start of the walk is always visited.
    pub fn takes(&self, entry: &DirEntry) -> bool {
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        entry.depth() == 0 || !self.leaves_out(entry.path(), is_folder)
    }

    /// Whether the rules leave a path below the root out. Does not look at the folders above it.
    pub fn leaves_out(&self, path: &Path, is_folder: bool) -> bool {
        let level = self.level_of(folder_of(path));
        let real = match &self.real_root {
            None => Cow::Borrowed(path),
            Some(real_root) => match path.strip_prefix(&self.root) {
                Ok(inside) => Cow::Owned(real_root.join(inside)),
                Err(_) => return false,
            },
        };
        for kind in 0..level.files.len() {
            let levels = std::iter::successors(Some(&level), |level| level.outer.as_ref());
            for rules in levels.filter_map(|level| level.files[kind].as_ref()) {
                match rules.matched(&real, is_folder) {
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                    Match::None => {}
                }
            }
        }
        self.global.as_ref().is_some_and(|rules| rules.matched(&real, is_folder).is_ignore())
    }

    fn level_of(&self, folder: &Path) -> Arc<IgnoreLevel> {
        let folders = self.folders.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(level) = folders.get(folder.as_os_str()) {
            return level.clone();
        }
        drop(folders);
        let Ok(inside) = folder.strip_prefix(&self.root) else { return self.above.clone() };
        let outer = folder.parent().map_or_else(|| self.above.clone(), |it| self.level_of(it));
        let level = match &self.real_root {
            None => self.reader.level(folder, outer),
            Some(real_root) => self.reader.level(&real_root.join(inside), outer),
        };
        let mut folders = self.folders.write().unwrap_or_else(PoisonError::into_inner);
        folders.insert(folder.as_os_str().to_owned(), level.clone());
        level
    }
}

/// The folder of an entry whose path ends in a name. Much cheaper than [`Path::parent`], which
/// works by component.
fn folder_of(path: &Path) -> &Path {
    let bytes = path.as_os_str().as_bytes();
    let end = memchr::memrchr(b'/', bytes).unwrap_or(0);
    Path::new(OsStr::from_bytes(&bytes[..end.max(1).min(bytes.len())]))
}

impl IgnoreFileReader {
    /// The rules of a folder, given its canonical path; those of the outer folder where it has no
    /// ignore files.
    fn level(&self, folder: &Path, outer: Arc<IgnoreLevel>) -> Arc<IgnoreLevel> {
        let in_folder = |name: &str| self.rules(folder, &folder.join(name));
        let exclude =
            git_folder(folder).and_then(|git| self.rules(folder, &git.join("info/exclude")));
        let files = [in_folder(".ignore"), in_folder(".gitignore"), exclude];
        match files.iter().all(Option::is_none) {
            true => outer,
            false => Arc::new(IgnoreLevel { files, outer: Some(outer) }),
        }
    }

    fn rules(&self, folder: &Path, file: &Path) -> Option<Gitignore> {
        let bytes = read_regular(file, MAX_BYTES).ok()??;
        let read = bytes.len() as u64;
        let take = |left: u64| left.checked_sub(read);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        ignore_rules(folder, &bytes).filter(|rules| !rules.is_empty())
    }
}

/// The rules that the text of an ignore file in a folder has within its first 64 KB. A line
/// that is no pattern leaves nothing out, nor does one that the limit cuts.
pub fn ignore_rules(folder: &Path, text: &[u8]) -> Option<Gitignore> {
    let limit = usize::try_from(MAX_BYTES).unwrap_or(usize::MAX);
    let text = match text.get(..limit) {
        Some(read) => &read[..memchr::memrchr(b'\n', read).unwrap_or(0)],
        None => text,
    };
    let text = String::from_utf8_lossy(text);
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.trim_start_matches('\u{feff}').lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}

/// The git folder that all worktrees of a repository share.
fn git_folder(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    let kind = git.metadata().ok()?;
    if kind.is_dir() {
        return Some(git);
    }
    let first_line = |file: &Path| {
        let text = String::from_utf8(read_regular(file, MAX_NAME).ok()??).ok()?;
        text.lines().next().map(str::to_owned)
    };
    let private = folder.join(first_line(&git)?.strip_prefix("gitdir: ")?);
    let common = first_line(&private.join("commondir"))?;
    Some(private.join(common))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use ignore::WalkBuilder;
    use proptest::prelude::*;

    use super::*;
    use crate::domain::testing::make_fifo;

    fn write(folder: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    fn below(root: &Path, walk: &WalkBuilder) -> BTreeSet<PathBuf> {
        let entries = walk.build().filter_map(Result::ok);
        entries.map(|it| it.path().strip_prefix(root).unwrap().to_owned()).collect()
    }

    fn by_slug(root: &Path) -> BTreeSet<PathBuf> {
        let ignore_files = IgnoreFiles::of(root);
        let mut walk = WalkBuilder::new(root);
        walk.standard_filters(false).filter_entry(move |entry| ignore_files.takes(entry));
        below(root, &walk)
    }

    fn by_the_crate(root: &Path) -> BTreeSet<PathBuf> {
        let mut walk = WalkBuilder::new(root);
        walk.hidden(false).require_git(false);
        below(root, &walk)
    }

    #[test]
    fn ignore_files_that_are_fifos_are_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("a");
        write(&root, &[("b/c", ""), ("d/e", ""), ("d/.gitignore", "e")]);
        fs::create_dir_all(root.join("b/.git/info")).unwrap();
        for name in [
            ".ignore",
            ".gitignore",
            "b/.ignore",
            "b/.gitignore",
            "b/.git/info/exclude",
            "d/.git",
            "../.gitignore",
        ] {
            make_fifo(&root.join(name));
        }
        let found = by_slug(&root);
        assert!(found.contains(Path::new("b/c")) && !found.contains(Path::new("d/e")), "{found:?}");
    }

    #[test]
    fn long_ignore_files_count_up_to_their_limits() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let long = |first: &str, bytes: u64| {
            let more = "abcdefgh\n".repeat(usize::try_from(bytes).unwrap() / 9);
            format!("{first}\n{more}")
        };
        write(root, &[(".gitignore", &(long("first", MAX_BYTES) + "\nlast"))]);
        write(root, &[("first", ""), ("last", "")]);
        let found = by_slug(root);
        assert!(!found.contains(Path::new("first")), "{found:?}");
        assert!(found.contains(Path::new("last")), "{found:?}");

        // A pattern that is cut could hide more than the whole one.
        let cut = format!("{}*{}", long("first", MAX_BYTES - 20), "y".repeat(60));
        let rules = ignore_rules(root, cut.as_bytes()).unwrap();
        assert!(rules.matched(root.join("first"), false).is_ignore());
        assert!(!rules.matched(root.join("y".repeat(40)), false).is_ignore());

        let many = MAX_TOTAL_BYTES / (MAX_BYTES / 2) + 4;
        for number in 0..many {
            let name = format!("{number}/.gitignore");
            write(root, &[(&name, &long("hidden", MAX_BYTES / 2))]);
            write(root, &[(&format!("{number}/hidden"), "")]);
        }
        let found = by_slug(root);
        let shown = found.iter().filter(|path| path.ends_with("hidden")).count();
        assert!((4..=7).contains(&shown), "{shown} of {many}");
    }

    #[test]
    fn a_worktree_has_the_exclusions_of_its_repository() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(
            root,
            &[
                ("main/.git/info/exclude", "secret"),
                ("main/.git/worktrees/w/commondir", "../.."),
                ("w/secret", ""),
                ("w/open", ""),
            ],
        );
        let named = format!("gitdir: {}\n", root.join("main/.git/worktrees/w").display());
        write(root, &[("w/.git", &named)]);
        assert_eq!(by_slug(&root.join("w")), by_the_crate(&root.join("w")));
        assert!(!by_slug(&root.join("w")).contains(Path::new("secret")));
    }

    fn pattern() -> impl Strategy<Value = String> {
        "(!)?(/)?(a|b|c|\\*|a\\*|a/b|b/c|\\*\\*/c|a/\\*\\*)(/)?"
    }

    fn ignore_file() -> impl Strategy<Value = String> {
        prop::collection::vec(pattern(), 0..4).prop_map(|lines| lines.join("\n"))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Where all ignore files are regular files, slug leaves out what the crate leaves out.
        #[test]
        fn a_walk_takes_what_the_crate_takes(
            files in prop::collection::vec((
                prop::sample::select(vec!["", "a/", "a/b/", "b/", "../"]),
                prop::sample::select(vec![".ignore", ".gitignore", ".git/info/exclude"]),
                ignore_file(),
            ), 0..5),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().join("r");
            for name in ["a/b/c", "a/c", "b/a", "b/c/a", "c", "ab"] {
                write(&root, &[(name, "")]);
            }
            for (place, name, text) in &files {
                write(&root, &[(&format!("{place}{name}"), text)]);
            }
            prop_assert_eq!(by_slug(&root), by_the_crate(&root));
        }
    }
}
