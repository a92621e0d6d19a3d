//! A linked git worktree: a folder whose `.git` is a file that names a folder of the main
//! repository, elsewhere.
//!
//! Commands may commit there, so what a commit writes can be changed: the worktree's own folder of
//! the repository, and the objects, branches and logs that all worktrees share. What git takes
//! instructions from (hooks, the configuration, which repository this is) stays unchanged. In a
//! folder that is the main repository itself this would not be enough: whoever can make its `.git`
//! invalid makes git look for a repository in the folder instead. No link may be where git writes,
//! because git follows links, also to the outside.

use std::path::{Path, PathBuf};

use super::{SandboxDisk, SandboxDiskEntry};
use crate::domain::{MaskedPath, MaskedPathKind};

/// The paths that a commit in a linked worktree needs.
pub(super) struct LinkedWorktree {
    /// The main repository's folder.
    pub common: PathBuf,
    /// Folders that commands may change.
    pub writable: Vec<PathBuf>,
    /// Paths inside `writable` that stay unchanged.
    pub fixed: Vec<PathBuf>,
    /// Paths inside `writable` that do not exist and must not be created.
    pub absent: Vec<MaskedPath>,
}

/// The paths for a folder that is a linked worktree. The main repository has to know the worktree:
/// a file that came with the folder proves nothing.
pub(super) fn linked_worktree(dir: &Path, disk: &dyn SandboxDisk) -> Option<LinkedWorktree> {
    let file = dir.join(".git");
    let text = disk.read(&file)?;
    let real = |path: &Path| disk.real(path).ok().flatten();
    let git_dir = real(&dir.join(text.strip_prefix("gitdir: ")?.trim_end()))?;
    let back = disk.read(&git_dir.join("gitdir"))?;
    let common = disk.read(&git_dir.join("commondir"))?;
    let common = real(&git_dir.join(common.trim_end()))?;
    let is_known = real(&git_dir.join(back.trim_end())).is_some_and(|back| back == file);
    if !is_known || git_dir.parent() != Some(&common.join("worktrees")) {
        return None;
    }
    let shared = ["objects", "refs", "logs"].map(|name| common.join(name));
    let shared = shared.into_iter().filter(|path| disk.at(path) == SandboxDiskEntry::Folder);
    let writable: Vec<PathBuf> = shared.chain([git_dir.clone()]).collect();
    if writable.iter().any(|folder| has_link(folder, disk)) {
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
