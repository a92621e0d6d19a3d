//! Removes the symbolic links that commands leave among the files of a repository.
//!
//! In a linked worktree, commands can write where git keeps its own files, outside of the sandbox.
//! Through a link with the name of a message or a log, git would write wherever the link leads. git
//! makes no links there itself, and a folder with a link is not opened to commands.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};

use crate::domain::SandboxProfile;

/// The folders in which commands could make links. Drop it when no process runs there any more.
#[derive(Debug, Default)]
pub(super) struct SymlinkCleanup(Vec<PathBuf>);

impl SymlinkCleanup {
    pub(super) fn of(view: &SandboxProfile) -> Self {
        Self(view.writable.clone())
    }

    /// Removes the links that are there now.
    pub(super) fn remove(&self) {
        for folder in &self.0 {
            if let Ok(folder) = rustix::fs::openat(CWD, folder, FOLDER, Mode::empty()) {
                remove(&folder);
            }
        }
    }
}

impl Drop for SymlinkCleanup {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Follows no link: another command may put one in the place of a folder meanwhile.
const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn remove(folder: &OwnedFd) {
    let Ok(entries) = Dir::read_from(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        if [c".", c".."].contains(&name) {
            continue;
        }
        let Ok(found) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Symlink => {
                // A link that stays keeps the folder closed to the next command.
                let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
            }
            FileType::Directory => {
                if let Ok(below) = rustix::fs::openat(folder, name, FOLDER, Mode::empty()) {
                    remove(&below);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_links_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let (refs, outside) = (root.path().join("refs"), root.path().join("outside"));
        fs::create_dir_all(refs.join("heads/a")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(refs.join("heads/a/main"), "").unwrap();
        for (target, link) in [
            (outside.as_path(), refs.join("heads/b")),
            ("/nowhere".as_ref(), refs.join("x")),
            ("main".as_ref(), refs.join("heads/a/link")),
            ("kept".as_ref(), outside.join("link")),
        ] {
            symlink(target, link).unwrap();
        }
        drop(SymlinkCleanup(vec![refs.clone(), root.path().join("gone")]));
        let is_link = |path: PathBuf| path.symlink_metadata().is_ok();
        assert!(!is_link(refs.join("heads/b")) && !is_link(refs.join("x")));
        assert!(!is_link(refs.join("heads/a/link")) && refs.join("heads/a/main").exists());
        assert!(is_link(outside.join("link")));
    }
}
