//! Keeps names free while a sandbox is open.
//!
//! A mount can only cover a name that exists. So slug makes an empty file or folder at each name
//! while a command runs, marked by its mode, and covers it. Each holder has a lock on it, and the
//! last one removes it. The next command takes over and removes what a killed slug left behind.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use super::placeholder::{FILE, FOLDER, is_placeholder};
use crate::domain::{MaskedPath, MaskedPathKind};

/// Placeholders that this process holds; the drop removes those that nobody else holds.
#[derive(Debug, Default)]
pub(super) struct MountPlaceholders(Vec<MountPlaceholder>);

#[derive(Debug)]
struct MountPlaceholder {
    path: PathBuf,
    kind: MaskedPathKind,
    lock: File,
}

/// The result of trying to hold a name.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PlaceholderStatus {
    /// The name was free, and is held now.
    Free,
    /// The name needs no placeholder: a command cannot make it, either, whatever it does.
    OutOfReach,
}

impl MountPlaceholders {
    /// Holds the names, and returns those with a placeholder. A name at which something else has
    /// appeared is an error: the profile is out of date.
    pub(super) fn hold(absent: &[MaskedPath]) -> io::Result<(Self, Vec<MaskedPath>)> {
        let (mut placeholders, mut held) = (Self::default(), Vec::new());
        for spot in absent {
            match placeholders.hold_one(spot)? {
                PlaceholderStatus::Free => held.push(spot.clone()),
                PlaceholderStatus::OutOfReach => {}
            }
        }
        Ok((placeholders, held))
    }

    fn hold_one(&mut self, spot: &MaskedPath) -> io::Result<PlaceholderStatus> {
        let MaskedPath { path, kind } = spot;
        // Another slug may remove its placeholder between the look and the lock.
        for _ in 0..16 {
            match make(path, *kind) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) if is_out_of_reach(&error, path) => {
                    return Ok(PlaceholderStatus::OutOfReach);
                }
                Err(error) => {
                    return Err(io::Error::other(format!(
                        "{} cannot be kept free: {error}. Give yourself the right to write in its \
                         folder (chmod u+rwx)",
                        path.display()
                    )));
                }
            }
            let flags = OFlags::NOFOLLOW.bits() as i32;
            let lock = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
                Ok(lock) => lock,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            flock(&lock, FlockOperation::LockShared)?;
            if !is_same(&lock, path) {
                continue;
            }
            if !is_placeholder(path, *kind) {
                return Err(io::Error::other(format!(
                    "{} has just been made: try again",
                    path.display()
                )));
            }
            self.0.push(MountPlaceholder { path: path.clone(), kind: *kind, lock });
            return Ok(PlaceholderStatus::Free);
        }
        Err(io::Error::other(format!("{} cannot be kept free", path.display())))
    }
}

fn make(path: &Path, kind: MaskedPathKind) -> io::Result<()> {
    match kind {
        MaskedPathKind::File => {
            OpenOptions::new().write(true).create_new(true).mode(FILE).open(path).map(drop)
        }
        MaskedPathKind::Folder => DirBuilder::new().mode(FOLDER).create(path),
    }
}

/// Whether no command can make the name. In a folder of the user's own it can, by a chmod.
fn is_out_of_reach(error: &io::Error, path: &Path) -> bool {
    match Errno::from_io_error(error) {
        Some(Errno::ROFS | Errno::PERM) => true,
        Some(Errno::ACCESS) => {
            let owner = path.parent().and_then(|folder| fs::metadata(folder).ok());
            owner.is_some_and(|it| it.uid() != rustix::process::geteuid().as_raw())
        }
        Some(_) | None => false,
    }
}

fn is_same(open: &File, path: &Path) -> bool {
    let (Ok(open), Ok(there)) = (open.metadata(), fs::symlink_metadata(path)) else { return false };
    (open.dev(), open.ino()) == (there.dev(), there.ino())
}

impl Drop for MountPlaceholders {
    fn drop(&mut self) {
        for MountPlaceholder { path, kind, lock } in self.0.drain(..) {
            // Another holder removes it later.
            let is_last = flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
            if is_last && is_placeholder(&path, kind) {
                // What cannot be removed now is left for the next command.
                let _ = match kind {
                    MaskedPathKind::File => fs::remove_file(&path),
                    MaskedPathKind::Folder => fs::remove_dir(&path),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn spots(folder: &Path) -> Vec<MaskedPath> {
        vec![
            MaskedPath { path: folder.join(".mcp.json"), kind: MaskedPathKind::File },
            MaskedPath { path: folder.join(".slug"), kind: MaskedPathKind::Folder },
        ]
    }

    #[test]
    fn the_last_holder_takes_them_away() {
        let folder = tempfile::tempdir().unwrap();
        let spots = spots(folder.path());
        let (first, held) = MountPlaceholders::hold(&spots).unwrap();
        assert_eq!(held, spots);
        let (second, _) = MountPlaceholders::hold(&spots).unwrap();
        drop(first);
        assert!(spots.iter().all(|spot| is_placeholder(&spot.path, spot.kind)));
        drop(second);
        assert!(spots.iter().all(|spot| !spot.path.exists()));
    }

    #[test]
    fn placeholders_of_a_killed_slug_are_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let spots = spots(folder.path());
        for spot in &spots {
            make(&spot.path, spot.kind).unwrap();
        }
        drop(MountPlaceholders::hold(&spots).unwrap());
        assert!(spots.iter().all(|spot| !spot.path.exists()));
    }

    #[test]
    fn a_folder_of_ones_own_that_is_closed_to_writing_is_an_error() {
        // Root writes everywhere.
        if rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let spots = spots(folder.path());
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
        let error = MountPlaceholders::hold(&spots).unwrap_err();
        assert!(error.to_string().contains("chmod u+rwx"), "{error}");
        let of_root = MaskedPath { path: "/etc/slug-was-here".into(), kind: MaskedPathKind::File };
        assert!(MountPlaceholders::hold(&[of_root]).unwrap().1.is_empty());
    }

    #[test]
    fn files_that_are_no_placeholders_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let spots = spots(folder.path());
        fs::write(&spots[0].path, "").unwrap();
        let error = MountPlaceholders::hold(&spots).unwrap_err();
        assert!(error.to_string().contains("has just been made"), "{error}");
        assert!(spots[0].path.exists());
    }
}
