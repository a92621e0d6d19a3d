//! An empty file or folder at a name that must not come into being while a sandbox is open. Every
//! program outside the sandbox treats it as if nothing were there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::domain::MaskedPathKind;

/// The mode of a file; no other program makes an empty file with this mode.
pub(super) const FILE: u32 = 0o400;

/// The mode of a folder.
pub(super) const FOLDER: u32 = 0o500;

/// Whether an empty file or folder with the mark's mode is at `path`.
pub fn is_placeholder(path: &Path, kind: MaskedPathKind) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else { return false };
    let mode = found.permissions().mode() & 0o7777;
    match kind {
        MaskedPathKind::File => found.is_file() && found.len() == 0 && mode == FILE,
        MaskedPathKind::Folder => {
            found.is_dir()
                && mode == FOLDER
                && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
        }
    }
}
