//! The checked-out branch, read from the files in `.git`. No git process runs, so this is safe in
//! an untrusted folder, and cheap enough to call often.

use std::path::{Path, PathBuf};

use crate::disk::read_text;

/// What `HEAD` points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitHead {
    /// A branch, by its short name.
    Branch(String),
    /// No branch: the first seven digits of the commit.
    Detached(String),
}

/// What is checked out in the repository that holds `folder`; `None` outside of a repository, or
/// when `HEAD` is not understood.
pub fn git_head(folder: &Path) -> Option<GitHead> {
    let root = repository_root(folder)?;
    let text = read_text(&git_folder(&root)?.join("HEAD"), MAX_BYTES).ok()??;
    let line = text.lines().next()?.trim();
    if let Some(reference) = line.strip_prefix("ref: ") {
        let name = reference.strip_prefix("refs/heads/").unwrap_or(reference);
        let is_name = !name.is_empty() && !name.chars().any(char::is_control);
        return is_name.then(|| GitHead::Branch(name.to_owned()));
    }
    let is_hash = line.len() >= 40 && line.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| GitHead::Detached(line[..7].to_owned()))
}

/// The nearest folder, from `folder` outwards, that holds a `.git`.
pub fn repository_root(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_owned)
}

/// The most bytes that are read of `HEAD` and of a `.git` file.
const MAX_BYTES: u64 = 4096;

/// The folder `.git`, or the folder that a file `.git` names, as in worktrees and submodules.
fn git_folder(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let text = read_text(&git, MAX_BYTES).ok()??;
    let named = text.lines().next()?.strip_prefix("gitdir:")?.trim();
    Some(root.join(named))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn repository(head: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join(".git")).unwrap();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        fs::write(folder.path().join(".git/HEAD"), head).unwrap();
        folder
    }

    #[test]
    fn the_head_is_a_branch_a_commit_or_nothing() {
        let hash = "0123456789abcdef0123456789abcdef01234567\n";
        let branch = |name: &str| Some(GitHead::Branch(name.to_owned()));
        for (text, head) in [
            ("ref: refs/heads/main\n", branch("main")),
            ("ref: refs/heads/feat/a-b\n", branch("feat/a-b")),
            ("ref: refs/bisect/x\n", branch("refs/bisect/x")),
            (hash, Some(GitHead::Detached("0123456".to_owned()))),
            ("", None),
            ("ref: refs/heads/\u{1b}[31m\n", None),
            ("rubbish\n", None),
        ] {
            let folder = repository(text);
            assert_eq!(git_head(folder.path()), head, "{text:?}");
            assert_eq!(git_head(&folder.path().join("a/b")), head, "{text:?}");
        }
    }

    #[test]
    fn a_worktree_has_its_own_head() {
        let folder = repository("ref: refs/heads/main\n");
        let main = folder.path().join(".git/worktrees/w");
        let worktree = folder.path().join("w");
        fs::create_dir_all(&main).unwrap();
        fs::create_dir_all(&worktree).unwrap();
        fs::write(main.join("HEAD"), "ref: refs/heads/side\n").unwrap();
        let side = Some(GitHead::Branch("side".to_owned()));
        fs::write(worktree.join(".git"), format!("gitdir: {}\n", main.display())).unwrap();
        assert_eq!(git_head(&worktree), side);
        fs::write(worktree.join(".git"), "gitdir: ../.git/worktrees/w\n").unwrap();
        assert_eq!(git_head(&worktree), side);
        fs::write(worktree.join(".git"), "gitdir: nowhere\n").unwrap();
        assert_eq!(git_head(&worktree), None);
    }

    #[test]
    fn outside_a_repository_there_is_none() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(git_head(folder.path()), None);
    }
}
