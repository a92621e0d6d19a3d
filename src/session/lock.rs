//! One writer for each session: an advisory lock on a small file that names the holder.
//!
//! The operating system releases the lock when its holder dies, so a lock file that was left behind
//! blocks nobody. The holder removes the file while it still holds the lock, so whoever gets a lock
//! checks that the file still has its name.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::files::missing_is_none;

/// The process that has a session open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockHolder {
    /// The process id; `None` in the moment between taking a lock and writing the id into it.
    pub pid: Option<u32>,
}

/// A lock that is held until this value is dropped.
#[derive(Debug)]
pub(super) struct SessionLock {
    path: PathBuf,
    _file: File,
}

/// Why a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum LockError {
    /// Another process holds it.
    #[error("it is open in {0}")]
    Held(LockHolder),
    /// The operating system refuses to open or lock the file.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// How often a lock is tried, and how long slug waits in between: a check by
/// [`SessionLock::holder`] holds it for a moment.
const ATTEMPTS: usize = 4;
const PAUSE: Duration = Duration::from_millis(5);

impl SessionLock {
    /// Takes the lock, or says who holds it. Blocks for some 15 milliseconds at most.
    pub(super) fn take(path: &Path) -> Result<Self, LockError> {
        let mut holder = LockHolder { pid: None };
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                std::thread::sleep(PAUSE);
            }
            let mut file = open(OpenOptions::new().create(true), path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    holder = read_holder(&mut file)?;
                    continue;
                }
                // The file system has no locks. Writing without one is better than a session that
                // cannot be saved.
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
            if !still_named(&file, path)? {
                continue;
            }
            file.set_len(0)?;
            file.write_all(std::process::id().to_string().as_bytes())?;
            return Ok(Self { path: path.to_owned(), _file: file });
        }
        Err(LockError::Held(holder))
    }

    /// Who holds the lock at `path` now; `None` where nobody does.
    pub(super) fn holder(path: &Path) -> io::Result<Option<LockHolder>> {
        let Some(mut file) = missing_is_none(open(&mut OpenOptions::new(), path))? else {
            return Ok(None);
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => read_holder(&mut file).map(Some),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                Ok(None)
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        if let Err(error) = super::files::remove(&self.path) {
            tracing::debug!(path = %self.path.display(), %error, "lock file left behind");
        }
    }
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(f, "process {pid}"),
            None => f.write_str("another process"),
        }
    }
}

fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.read(true).write(true).truncate(false).mode(0o600).open(path)
}

fn read_holder(file: &mut File) -> io::Result<LockHolder> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text)?;
    Ok(LockHolder { pid: text.trim().parse().ok() })
}

/// Whether the locked file still has its name. One that its last holder removed between opening and
/// locking it guards nothing.
fn still_named(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    let named = missing_is_none(std::fs::metadata(path))?;
    Ok(named.is_some_and(|named| named.dev() == ours.dev() && named.ino() == ours.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_names_its_holder_until_it_is_dropped() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.lock");
        assert_eq!(SessionLock::holder(&path).unwrap(), None);
        let lock = SessionLock::take(&path).unwrap();
        let us = LockHolder { pid: Some(std::process::id()) };
        assert_eq!(SessionLock::holder(&path).unwrap(), Some(us));
        assert!(matches!(SessionLock::take(&path), Err(LockError::Held(holder)) if holder == us));
        drop(lock);
        assert!(!path.exists());
        assert_eq!(SessionLock::holder(&path).unwrap(), None);
    }

    #[test]
    fn the_lock_file_of_a_dead_process_is_taken_over() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.lock");
        std::fs::write(&path, "4194305").unwrap();
        assert_eq!(SessionLock::holder(&path).unwrap(), None);
        let _lock = SessionLock::take(&path).unwrap();
        let us = LockHolder { pid: Some(std::process::id()) };
        assert_eq!(SessionLock::holder(&path).unwrap(), Some(us));
    }
}
