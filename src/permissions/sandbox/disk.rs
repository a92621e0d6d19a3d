//! The disk, as far as the sandbox policy looks at it: which entries exist where. Contents are read
//! only of git's own short files.

use std::ffi::OsString;
use std::fs::{self, ReadDir};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::disk::read_regular;
use crate::domain::MaskedPathKind;
use crate::platform::sandbox;

/// The most bytes that are read of a file: git itself rejects a longer `.git` file.
const MAX_READ_BYTES: u64 = 1 << 20;

/// What is at a path, links not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxDiskEntry {
    Nothing,
    Folder,
    Link,
    /// A file, or anything else.
    File,
    /// Slug cannot tell, because a folder above belongs to the user who runs slug and is closed. A
    /// command could open it again.
    Closed,
}

/// Read access to the disk, so that tests can replace it.
pub trait SandboxDisk {
    /// What is at `path`, links not followed.
    fn at(&self, path: &Path) -> SandboxDiskEntry;
    /// The entries of `folder`, in any order.
    ///
    /// # Errors
    ///
    /// Fails where slug cannot tell what is in the folder.
    fn list(&self, folder: &Path) -> io::Result<Vec<(OsString, SandboxDiskEntry)>>;
    /// The real path of `path`; `None` where nothing exists.
    ///
    /// # Errors
    ///
    /// Fails where slug cannot tell where `path` leads.
    fn real(&self, path: &Path) -> io::Result<Option<PathBuf>>;
    /// The text of a small file; `None` where there is none, or where it is a link or not UTF-8.
    fn read(&self, file: &Path) -> Option<String>;
}

/// The disk of the machine. A placeholder of the sandbox's own counts as nothing.
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
            Ok(metadata) => found(metadata.file_type()),
            Err(error) if is_out_of_reach(&error, path) => SandboxDiskEntry::Nothing,
            Err(_) => SandboxDiskEntry::Closed,
        }
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<(OsString, SandboxDiskEntry)>> {
        // Through its own dot, a folder that lists its names but cannot be entered is an error,
        // too.
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
        let bytes = read_regular(file, MAX_READ_BYTES).ok()?.filter(|_| !is_link)?;
        String::from_utf8(bytes).ok()
    }
}

fn entries(listing: ReadDir) -> io::Result<Vec<(OsString, SandboxDiskEntry)>> {
    let mut entries = Vec::new();
    for entry in listing {
        let entry = entry?;
        match entry.file_type() {
            Ok(kind) => entries.push((entry.file_name(), found(kind))),
            // The entry was removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(entries)
}

/// Whether commands find nothing at `path`, either, whatever they do: nothing exists there, or a
/// folder of another user is closed. A folder of the same user they could open.
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
