//! The file, the lock and the torn tail of a log on the disk.
//!
//! Nothing is created before the first call of [`LogFile::ready`], so a session in which nothing
//! was said leaves nothing behind.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::domain::SessionId;

use super::compression;
use super::files;
use super::lock::{LockError, SessionLock};
use super::writer::LogFile;

/// The paths of one session's files, `{dir}/{session}.{ending}`.
#[derive(Debug, Clone)]
pub(super) struct SessionPaths {
    dir: PathBuf,
    session: SessionId,
}

impl SessionPaths {
    /// The paths of `session` in the folder `dir`.
    pub(super) fn new(dir: &Path, session: SessionId) -> Self {
        Self { dir: dir.to_owned(), session }
    }

    pub(super) fn session(&self) -> SessionId {
        self.session
    }

    /// The folder that the session's files lie in.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn log(&self) -> PathBuf {
        self.file("jsonl")
    }

    /// The packed log, which stands in the place of the log where nobody has used it for a while.
    pub(super) fn packed_log(&self) -> PathBuf {
        compression::packed(&self.log())
    }

    /// All files but the lock; the log is the last one.
    pub(super) fn all(&self) -> [PathBuf; 5] {
        [self.torn(), self.folds(), self.meta(), self.packed_log(), self.log()]
    }

    /// The cached [`SessionMeta`](super::SessionMeta).
    pub(super) fn meta(&self) -> PathBuf {
        self.file("meta.json")
    }

    /// The torn tails that were cut off the log.
    pub(super) fn torn(&self) -> PathBuf {
        self.file("torn")
    }

    /// How the session's panes are folded.
    pub(super) fn folds(&self) -> PathBuf {
        self.file("folds.json")
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.file("lock")
    }

    fn file(&self, ending: &str) -> PathBuf {
        self.dir.join(format!("{}.{ending}", self.session))
    }
}

/// The [`LogFile`] of a session on a real disk.
#[derive(Debug)]
pub(super) struct DiskLogFile {
    paths: SessionPaths,
    lock: Option<SessionLock>,
    file: Option<File>,
    /// Whether the folder was synced, so that the log's name survives a crash of the machine.
    named: bool,
    /// A torn tail, which is copied to the `.torn` file before it is cut off.
    torn: Option<Vec<u8>>,
}

impl DiskLogFile {
    /// A log that does not exist yet.
    pub(super) fn new(paths: SessionPaths) -> Self {
        Self { paths, lock: None, file: None, named: false, torn: None }
    }

    /// A log that exists and is locked, with the bytes of its torn tail. The folder is synced
    /// before the first line is written: a fork's name may not be on the disk yet.
    pub(super) fn existing(paths: SessionPaths, lock: SessionLock, torn: Option<Vec<u8>>) -> Self {
        Self { paths, lock: Some(lock), file: None, named: false, torn }
    }

    fn file(&mut self) -> io::Result<&mut File> {
        self.file.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl LogFile for DiskLogFile {
    fn ready(&mut self) -> io::Result<()> {
        if self.lock.is_none() {
            files::make_folder(self.paths.dir())?;
            let lock = SessionLock::take(&self.paths.lock()).map_err(|error| match error {
                LockError::Held(_) => io::Error::new(io::ErrorKind::ResourceBusy, error),
                LockError::Io(error) => error,
            })?;
            self.lock = Some(lock);
        }
        if self.file.is_none() {
            self.file = Some(files::open_append(&self.paths.log())?);
        }
        if !self.named {
            files::sync_folder(self.paths.dir())?;
            self.named = true;
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        files::step()?;
        self.file()?.write(bytes)
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        if let Some(torn) = &self.torn {
            let mut file = files::open_append(&self.paths.torn())?;
            files::step()?;
            file.write_all(&[torn, b"\n".as_slice()].concat())?;
            files::step()?;
            file.sync_data()?;
            self.torn = None;
        }
        files::step()?;
        self.file()?.set_len(len)
    }

    fn sync(&mut self) -> io::Result<()> {
        files::step()?;
        self.file()?.sync_data()
    }
}
