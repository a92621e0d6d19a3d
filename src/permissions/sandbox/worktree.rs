//! A linked worktree of git's: a folder whose `.git` is a file that names a folder of the main
//! repository, elsewhere.
//!
//! Commands may commit there, so what a commit writes can be changed: the worktree's own folder, and
//! the objects, branches and logs that all worktrees share. What git takes orders from (hooks, the
//! configuration, which repository this is) stays as it is. In a folder that is the main repository
//! itself that would not be enough: whoever can make a `.git` there invalid makes git look for a
//! repository in its place. No link may be where git writes: it follows them, outside as well.

use std::path::{Path, PathBuf};

use super::{SandboxDisk, SandboxDiskEntry};
use crate::domain::{MaskedPath, MaskedPathKind};

/// What a commit in a linked worktree needs.
pub(super) struct LinkedWorktree {
    /// The main repository's folder.
    pub common: PathBuf,
    /// What can be changed.
    pub writable: Vec<PathBuf>,
    /// What in that cannot.
    pub fixed: Vec<PathBuf>,
    /// What in that is not there and must not come into being.
    pub absent: Vec<MaskedPath>,
}

/// What a folder needs that is a linked worktree. The main repository has to know of it: a file that
/// came with the folder says nothing.
pub(super) fn linked_worktree(dir: &Path, disk: &dyn SandboxDisk) -> Option<LinkedWorktree> {
    let file = dir.join(".git");
    let text = disk.read(&file)?;
    let real = |path: &Path| disk.real(path).ok().flatten();
    let own = real(&dir.join(text.strip_prefix("gitdir: ")?.trim_end()))?;
    let back = disk.read(&own.join("gitdir"))?;
    let common = disk.read(&own.join("commondir"))?;
    let common = real(&own.join(common.trim_end()))?;
    let is_known = real(&own.join(back.trim_end())).is_some_and(|back| back == file);
    if !is_known || own.parent() != Some(&common.join("worktrees")) {
        return None;
    }
    let shared = ["objects", "refs", "logs"].map(|name| common.join(name));
    let shared = shared.into_iter().filter(|path| disk.at(path) == SandboxDiskEntry::Folder);
    let writable: Vec<PathBuf> = shared.chain([own.clone()]).collect();
    if writable.iter().any(|folder| has_link(folder, disk)) {
        return None;
    }
    let (mut fixed, mut absent) = (Vec::new(), Vec::new());
    for (path, kind) in [
        (own.join("commondir"), MaskedPathKind::File),
        (own.join("gitdir"), MaskedPathKind::File),
        (own.join("config.worktree"), MaskedPathKind::File),
        (own.join("modules"), MaskedPathKind::Folder),
        // Where else objects are looked for.
        (common.join("objects/info"), MaskedPathKind::Folder),
    ] {
        match disk.at(&path) {
            SandboxDiskEntry::Nothing => absent.push(MaskedPath { path, kind }),
            // It could be replaced or opened, and git makes none of these so.
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
