//! Which folders are git's own, whatever they are called: a bare repository, the folder that a
//! `.git` file names, what a linked working tree has in its repository. They are protected as
//! `.git` is.
//!
//! A folder counts as soon as it has the entries that git itself requires. What they contain is not
//! looked at: a repository that git rejects today may be valid after the next change.

use std::path::{Path, PathBuf};

/// The start of a `.git` file (gitrepository-layout(5)).
const GITDIR: &str = "gitdir: ";

/// Whether a folder has what git requires of one of its own (`is_git_directory` in git's setup.c):
/// a `HEAD`, and objects and refs, which another repository may have for it. A folder with a `.git`
/// that git prefers to it is a working tree instead. `has` says whether something exists at a path.
pub(super) fn is_git_folder(folder: &Path, has: &mut impl FnMut(&Path) -> bool) -> bool {
    let mut has_entry = |name: &str| has(&folder.join(name));
    has_entry("HEAD")
        && (has_entry("commondir") || has_entry("objects") && has_entry("refs"))
        && !is_working_tree(folder, has)
}

/// Whether a path is a folder of git's own or lies in one that begins at `top` or below. A working
/// tree in a bare repository is not the repository's.
pub(super) fn is_in_git_folder(
    path: &Path,
    top: &Path,
    has: &mut impl FnMut(&Path) -> bool,
) -> bool {
    let folders = || path.ancestors().take_while(|it| it.starts_with(top));
    let Some(own) = folders().find(|it| is_git_folder(it, has)) else { return false };
    !folders().take_while(|it| *it != own).any(|it| is_working_tree(it, has))
}

/// The folder that the text of a `.git` file in `folder` names.
pub(super) fn named_by_git_file(folder: &Path, text: &str) -> Option<PathBuf> {
    text.strip_prefix(GITDIR).map(|path| named_by_commondir(folder, path))
}

/// The folder that the text of a `commondir` in `folder` names. git cuts off line ends alone.
pub(super) fn named_by_commondir(folder: &Path, text: &str) -> PathBuf {
    folder.join(text.trim_end_matches(['\n', '\r']))
}

/// Whether git finds a `.git` here. It passes over a folder of that name without a `HEAD`, but not
/// over a file.
fn is_working_tree(folder: &Path, has: &mut impl FnMut(&Path) -> bool) -> bool {
    let git = folder.join(".git");
    has(&git.join("HEAD")) || has(&git) && !has(&git.join("."))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A folder with these files, and folders where a path ends in a slash.
    fn folder_with(paths: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for path in paths {
            let at = folder.path().join(path);
            fs::create_dir_all(if path.ends_with('/') { &at } else { at.parent().unwrap() })
                .unwrap();
            if !path.ends_with('/') {
                fs::write(at, "").unwrap();
            }
        }
        folder
    }

    fn is_in(folder: &tempfile::TempDir, path: &str) -> bool {
        let top = folder.path();
        is_in_git_folder(&top.join(path), top, &mut |it| it.symlink_metadata().is_ok())
    }

    #[test]
    fn what_git_requires_makes_a_folder_its_own_with_all_below() {
        let bare = ["x/HEAD", "x/objects/", "x/refs/"];
        let linked = ["x/HEAD", "x/commondir"];
        for entries in [&bare[..], &linked[..]] {
            let folder = folder_with(entries);
            for path in ["x", "x/config.worktree", "x/rebase-merge/git-rebase-todo", "x/a/b/c"] {
                assert!(is_in(&folder, path), "{entries:?}: {path}");
            }
            for path in ["", "y", "xx/config", "HEAD"] {
                assert!(!is_in(&folder, path), "{entries:?}: {path}");
            }
        }
    }

    #[test]
    fn what_only_looks_like_one_is_none() {
        for entries in [&["x/HEAD"][..], &["x/HEAD", "x/refs/"], &["x/objects/", "x/refs/"]] {
            assert!(!is_in(&folder_with(entries), "x/a"), "{entries:?}");
        }
    }

    #[test]
    fn a_working_tree_is_not_its_repositorys() {
        let folder =
            folder_with(&["x/HEAD", "x/objects/", "x/refs/", "x/main/.git", "x/w/.git/HEAD"]);
        assert!(!is_in(&folder, "x/main/src/a") && !is_in(&folder, "x/w/a"));
        assert!(is_in(&folder, "x/packed-refs"));
        // git passes over a `.git` that is no repository.
        fs::create_dir_all(folder.path().join("x/hooks/.git")).unwrap();
        fs::create_dir_all(folder.path().join("x/.git")).unwrap();
        assert!(is_in(&folder, "x/hooks/a") && is_in(&folder, "x/config"));
    }

    #[test]
    fn folders_above_the_top_do_not_count() {
        let folder = folder_with(&["x/HEAD", "x/objects/", "x/refs/", "x/sub/"]);
        let sub = folder.path().join("x/sub");
        let mut has = |it: &Path| it.exists();
        assert!(!is_in_git_folder(&sub.join("a"), &sub, &mut has));
        assert!(is_in_git_folder(&sub.join("a"), Path::new("/"), &mut has));
    }

    #[test]
    fn a_git_file_names_a_folder_from_its_own() {
        let named = |text: &str| named_by_git_file(Path::new("/w"), text);
        assert_eq!(named("gitdir: ./.bare\n"), Some("/w/./.bare".into()));
        assert_eq!(named("gitdir: /g \r\n\n"), Some("/g ".into()));
        assert_eq!(named("[core]"), None);
    }
}
