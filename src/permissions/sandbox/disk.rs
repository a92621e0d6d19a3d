//! The disk, as far as the policy looks at it: what is where, never what is in it but for git's own
//! few lines.

use std::ffi::OsString;
use std::fs::{self, ReadDir};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::disk::read_regular;
use crate::domain::MaskedPathKind;
use crate::platform::sandbox;

/// The most that is read of a file.
const FEW: u64 = 4096;

/// What is at a path, links not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxDiskEntry {
    /// Nothing.
    Nothing,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// Anything else.
    File,
    /// It cannot be told: a folder above it, of who runs slug, cannot be looked into. A command
    /// could open it again.
    Closed,
}

/// A look at the disk.
pub trait SandboxDisk {
    /// What is at `path`.
    fn at(&self, path: &Path) -> SandboxDiskEntry;
    /// What is in `folder`, in any order; an error where that cannot be told.
    fn list(&self, folder: &Path) -> io::Result<Vec<(OsString, SandboxDiskEntry)>>;
    /// Where `path` really is; `None` where there is nothing, an error where that cannot be told.
    fn real(&self, path: &Path) -> io::Result<Option<PathBuf>>;
    /// The text of a small file; `None` where there is none.
    fn read(&self, file: &Path) -> Option<String>;
}

/// The disk itself.
#[derive(Debug, Clone, Copy)]
pub struct HostSandboxDisk;

impl SandboxDisk for HostSandboxDisk {
    fn at(&self, path: &Path) -> SandboxDiskEntry {
        let is_placeholder = [MaskedPathKind::File, MaskedPathKind::Folder]
            .into_iter()
            .any(|kind| sandbox::is_placeholder(path, kind));
        if is_placeholder {
            return SandboxDiskEntry::Nothing;
        }
        match fs::symlink_metadata(path) {
            Ok(there) => found(there.file_type()),
            Err(error) if is_out_of_reach(&error, path) => SandboxDiskEntry::Nothing,
            Err(_) => SandboxDiskEntry::Closed,
        }
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<(OsString, SandboxDiskEntry)>> {
        // By its own dot a folder that shows its names and cannot be entered is an error, too.
        match fs::read_dir(folder.join(".")).and_then(entries) {
            Err(error) if is_out_of_reach(&error, folder) => Ok(Vec::new()),
            listed => listed,
        }
    }

    fn real(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        match path.canonicalize() {
            Err(error) if is_out_of_reach(&error, path) => Ok(None),
            real => real.map(Some),
        }
    }

    fn read(&self, file: &Path) -> Option<String> {
        let is_link = fs::symlink_metadata(file).is_ok_and(|found| found.is_symlink());
        let bytes = read_regular(file, FEW).ok()?.filter(|_| !is_link)?;
        String::from_utf8(bytes).ok()
    }
}

fn entries(listing: ReadDir) -> io::Result<Vec<(OsString, SandboxDiskEntry)>> {
    let mut entries = Vec::new();
    for entry in listing {
        let entry = entry?;
        match entry.file_type() {
            Ok(kind) => entries.push((entry.file_name(), found(kind))),
            // Gone meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(entries)
}

/// Whether commands find nothing at `path`, either, whatever they do: there is nothing, or a folder
/// of somebody else's is closed. One of one's own they could open.
fn is_out_of_reach(error: &io::Error, path: &Path) -> bool {
    match Errno::from_io_error(error) {
        Some(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::LOOP) => true,
        Some(Errno::ACCESS) => {
            let nearest = path.ancestors().find_map(|it| fs::metadata(it).ok());
            nearest.is_some_and(|it| it.uid() != rustix::process::geteuid().as_raw())
        }
        Some(_) | None => false,
    }
}

fn found(kind: fs::FileType) -> SandboxDiskEntry {
    if kind.is_dir() {
        SandboxDiskEntry::Folder
    } else if kind.is_symlink() {
        SandboxDiskEntry::Link
    } else {
        SandboxDiskEntry::File
    }
}
