//! A linked git worktree: a folder whose `.git` is a file that names a folder of the main
//! repository, elsewhere.
//!
//! Commands may commit there, where the worktree is the sandbox's folder, or is in it together with
//! a repository that has another name than `.git`. So what a commit writes can be changed: the
//! worktree's own folder of the repository, and the objects, branches and logs that all worktrees
//! share. What git takes instructions from (hooks, the configuration, which repository this is)
//! stays unchanged. In a folder that is the main repository itself this would not be enough: whoever
//! can make its `.git` invalid makes git look for a repository in the folder instead, and a
//! `commondir` that is kept free by an empty file is an error to git. No link may be where git
//! writes, because git follows links, also to the outside.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{SandboxDisk, SandboxDiskEntry};
use crate::domain::{MaskedPath, MaskedPathKind};
use crate::permissions::git_folders::{named_by_commondir, named_by_git_file};

/// Whether there is a link in a folder, by the folder: worktrees share some.
pub(super) type FoldersWithLinks = BTreeMap<PathBuf, bool>;

/// The paths that a commit in a linked worktree needs.
pub(super) struct LinkedWorktree {
    /// The main repository's folder.
    pub common: PathBuf,
    /// Folders that commands may change. Those that do not exist are to be made.
    pub writable: Vec<PathBuf>,
    /// Paths inside `writable` that stay unchanged.
    pub fixed: Vec<PathBuf>,
    /// Paths inside `writable` that do not exist and must not be created.
    pub absent: Vec<MaskedPath>,
}

/// The paths for a folder that is a linked worktree. The main repository has to know the worktree:
/// a file that came with the folder proves nothing.
pub(super) fn linked_worktree(
    dir: &Path,
    disk: &dyn SandboxDisk,
    known: &mut FoldersWithLinks,
) -> Option<LinkedWorktree> {
    let file = dir.join(".git");
    let text = disk.read(&file)?;
    let real = |path: &Path| disk.real(path).ok().flatten();
    let git_dir = real(&named_by_git_file(dir, &text)?)?;
    let back = disk.read(&git_dir.join("gitdir"))?;
    let common = disk.read(&git_dir.join("commondir"))?;
    let common = real(&named_by_commondir(&git_dir, &common))?;
    let is_known = real(&named_by_commondir(&git_dir, &back)).is_some_and(|back| back == file);
    if !is_known || git_dir.parent() != Some(&common.join("worktrees")) {
        return None;
    }
    let shared = ["objects", "refs", "logs"].map(|name| common.join(name));
    // git makes the logs with the first commit in a worktree of a bare repository.
    let is_open = |path: &PathBuf| match disk.at(path) {
        SandboxDiskEntry::Folder => true,
        SandboxDiskEntry::Nothing => path.ends_with("logs"),
        SandboxDiskEntry::Link | SandboxDiskEntry::File | SandboxDiskEntry::Closed => false,
    };
    let shared = shared.into_iter().filter(is_open);
    let writable: Vec<PathBuf> = shared.chain([git_dir.clone()]).collect();
    let mut is_linked =
        |folder: &PathBuf| *known.entry(folder.clone()).or_insert_with(|| has_link(folder, disk));
    if writable.iter().any(&mut is_linked) {
        return None;
    }
    let (mut fixed, mut absent) = (Vec::new(), Vec::new());
    for (path, kind) in [
        (git_dir.join("commondir"), MaskedPathKind::File),
        (git_dir.join("gitdir"), MaskedPathKind::File),
        (git_dir.join("config.worktree"), MaskedPathKind::File),
        (git_dir.join("modules"), MaskedPathKind::Folder),
        // Names other folders that git reads objects from.
        (common.join("objects/info"), MaskedPathKind::Folder),
    ] {
        match disk.at(&path) {
            SandboxDiskEntry::Nothing => absent.push(MaskedPath { path, kind }),
            // A command could replace or open it, and git creates none of these as a link.
            SandboxDiskEntry::Link | SandboxDiskEntry::Closed => return None,
            SandboxDiskEntry::Folder | SandboxDiskEntry::File => fixed.push(path),
        }
    }
    Some(LinkedWorktree { common, writable, fixed, absent })
}

fn has_link(folder: &Path, disk: &dyn SandboxDisk) -> bool {
    let Ok(entries) = disk.list(folder) else { return true };
    entries.into_iter().any(|(name, found)| match found {
        SandboxDiskEntry::Link => true,
        SandboxDiskEntry::Folder => has_link(&folder.join(name), disk),
        SandboxDiskEntry::Nothing | SandboxDiskEntry::File | SandboxDiskEntry::Closed => false,
    })
}
