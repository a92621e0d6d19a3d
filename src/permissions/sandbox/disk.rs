//! The disk, as far as the policy looks at it: what is where, never what is in it but for git's own
//! few lines.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::domain::SpotKind;
use crate::platform::sandbox;

/// The most that is read of a file.
const FEW: u64 = 4096;

/// What is at a path, links not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// Anything else.
    File,
}

/// A look at the disk.
pub trait Look {
    /// What is at `path`.
    fn at(&self, path: &Path) -> Found;
    /// What is in `folder`, in any order; nothing where it cannot be read.
    fn list(&self, folder: &Path) -> Vec<(OsString, Found)>;
    /// Where `path` really is; `None` where there is nothing.
    fn real(&self, path: &Path) -> Option<PathBuf>;
    /// The text of a small file; `None` where there is none.
    fn read(&self, file: &Path) -> Option<String>;
}

/// The disk itself.
#[derive(Debug, Clone, Copy)]
pub struct Disk;

impl Look for Disk {
    fn at(&self, path: &Path) -> Found {
        let is_placeholder = [SpotKind::File, SpotKind::Folder]
            .into_iter()
            .any(|kind| sandbox::is_placeholder(path, kind));
        if is_placeholder {
            return Found::Nothing;
        }
        fs::symlink_metadata(path).map_or(Found::Nothing, |it| found(it.file_type()))
    }

    fn list(&self, folder: &Path) -> Vec<(OsString, Found)> {
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let entries = entries.filter_map(Result::ok);
        entries.filter_map(|it| Some((it.file_name(), found(it.file_type().ok()?)))).collect()
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok()
    }

    fn read(&self, file: &Path) -> Option<String> {
        // A FIFO would be waited for.
        let is_file = fs::symlink_metadata(file).is_ok_and(|found| found.is_file());
        let open = fs::File::open(file).ok().filter(|_| is_file)?;
        let mut text = String::new();
        open.take(FEW).read_to_string(&mut text).ok()?;
        Some(text)
    }
}

fn found(kind: fs::FileType) -> Found {
    if kind.is_dir() {
        Found::Folder
    } else if kind.is_symlink() {
        Found::Link
    } else {
        Found::File
    }
}
