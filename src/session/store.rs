//! The folder of sessions.
//!
//! Everything that is listed comes from the logs; meta files and the index only spare reading them.
//! All calls here read or write files and return when that is done, so they must not run on a UI
//! task.

mod listing;

use std::fs::File;
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use chrono::Utc;

use crate::domain::{EntryId, SessionId, TurnId};

use super::blobs::BlobStore;
use super::compression;
use super::disk::{DiskLogFile, SessionPaths};
use super::files::{self, missing_is_none};
use super::lock::{LockError, LockHolder, SessionLock};
use super::log::{LogError, LogHandle, SessionLog};
use super::log_reader::{END, LONG, LoadedLog, LogTail, load_from, newest};
use super::meta::SessionMeta;
use super::writer::{FlushTarget, LogFileEnd, SessionLogWriter};
use super::{LogEntry, LogRecord, SessionHeader};

pub use listing::SessionListing;
pub(super) use listing::{LogFileInfo, LogForm, PACKED, PLAIN};

/// All sessions, the deleted ones, and the contents that they refer to. Cheap to clone: it holds
/// only paths.
#[derive(Debug, Clone)]
pub struct SessionStore {
    pub(super) sessions: PathBuf,
    pub(super) trash: PathBuf,
    blobs: BlobStore,
}

/// Why a session could not be read, written or found. The messages are shown to the user.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No session has this id.
    #[error("There is no session {0}. `slug sessions list` lists all sessions.")]
    Missing(SessionId),
    /// No session's id begins with this text.
    #[error("No session's id begins with `{0}`. `slug sessions list` lists all sessions.")]
    NoMatch(String),
    /// The ids of several sessions begin with this text.
    #[error("The ids of {} sessions begin with `{prefix}`. Type more of the id.", sessions.len())]
    Ambiguous {
        /// The text as it was given.
        prefix: String,
        /// All sessions that match, in the order of their ids.
        sessions: Vec<SessionId>,
    },
    /// The session has no such entry.
    #[error("Session {session} has no entry {entry}.")]
    NoSuchEntry { session: SessionId, entry: EntryId },
    /// Another process has the session open.
    #[error("Session {session} is open in {holder}. Close it there, or fork it.")]
    InUse { session: SessionId, holder: LockHolder },
    /// Its format is newer: this slug can read it, but must not write it.
    #[error("Session {0} was written by a newer slug. Update slug, or fork the session.")]
    Newer(SessionId),
    /// A session with this id exists already.
    #[error("Session {0} already exists.")]
    Exists(SessionId),
    /// An entry could not be appended.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The operating system refuses to read or write a file.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The action for the message: "read", "write", …
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl SessionStore {
    /// The store in these folders, which do not have to exist.
    pub fn new(sessions: PathBuf, trash: PathBuf, blobs: PathBuf) -> Self {
        Self { sessions, trash, blobs: BlobStore::new(blobs) }
    }

    /// The store of contents that logs refer to by hash.
    pub fn blobs(&self) -> &BlobStore {
        &self.blobs
    }

    /// Begins a session. Its files are created with the first entry.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the log's thread cannot be started. A folder that cannot be written
    /// shows only when the first entry is appended.
    pub fn create(&self, header: SessionHeader) -> Result<LogHandle, StoreError> {
        let paths = self.paths(header.session_id);
        let meta = paths.meta();
        let path = paths.log();
        let writer = SessionLogWriter::new(DiskLogFile::new(paths), 0, LogFileEnd::Clean);
        LogHandle::spawn(SessionLog::new(writer, header, meta)).map_err(failed("begin", &path))
    }

    /// Opens a session to append to it. A torn tail is moved to a file of its own before anything
    /// is appended.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] when there is no log, [`StoreError::InUse`] when another process has
    /// it open, [`StoreError::Newer`] when its format is newer, and [`StoreError::Io`] when it
    /// cannot be locked, unpacked or read.
    pub fn open(&self, session: SessionId) -> Result<(LogHandle, LoadedLog), StoreError> {
        self.open_showing(session, drop)
    }

    /// Opens a session like [`Self::open`]. Where reading all of it takes a while, `show` gets its
    /// newest records first.
    ///
    /// # Errors
    ///
    /// As those of [`Self::open`].
    pub fn open_showing(
        &self,
        session: SessionId,
        show: impl FnOnce(Vec<LogRecord>),
    ) -> Result<(LogHandle, LoadedLog), StoreError> {
        let (log, loaded) = self.open_log(session, show)?;
        let handle = LogHandle::spawn(log).map_err(failed("open", &self.paths(session).log()))?;
        Ok((handle, loaded))
    }

    /// Reads a session as it is now, also while another process has it open.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] when there is no log, and [`StoreError::Io`] when it cannot be read.
    /// A damaged log is no error: [`LoadedLog::notices`] says what is wrong with it.
    pub fn read(&self, session: SessionId) -> Result<LoadedLog, StoreError> {
        let path = self.paths(session).log();
        load_from(self.reader(session)?).map_err(failed("read", &path))
    }

    /// A reader of a log's bytes, packed or not.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] when there is no log, and [`StoreError::Io`] when it cannot be
    /// opened.
    pub fn reader(&self, session: SessionId) -> Result<Box<dyn BufRead + Send>, StoreError> {
        let path = self.paths(session).log();
        compression::open(&path).map_err(failed("read", &path))?.ok_or(StoreError::Missing(session))
    }

    /// Who has a session open; `None` where nobody does.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the lock cannot be examined.
    pub fn in_use(&self, session: SessionId) -> Result<Option<LockHolder>, StoreError> {
        let path = self.paths(session).lock();
        SessionLock::holder(&path).map_err(failed("look at", &path))
    }

    /// Gives a session a title. The session must not be open anywhere.
    ///
    /// # Errors
    ///
    /// As those of [`Self::open`], and [`StoreError::Io`] or [`StoreError::Log`] when the title
    /// cannot be written.
    pub fn rename(&self, session: SessionId, title: &str) -> Result<(), StoreError> {
        let (mut log, loaded) = self.open_log(session, drop)?;
        let turn = loaded.records.last().map_or(TurnId(0), |record| record.turn);
        log.push(turn, LogEntry::Title { title: title.to_owned() })?;
        log.flush(FlushTarget::Disk).map_err(failed("write", &self.paths(session).log()))?;
        Ok(log.close()?)
    }

    /// Moves a session to the trash. The session must not be open anywhere.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] when there is no log, [`StoreError::InUse`] when another process has
    /// it open, and [`StoreError::Io`] when a file cannot be moved.
    pub fn trash(&self, session: SessionId) -> Result<(), StoreError> {
        let from = self.paths(session);
        let to = SessionPaths::new(&self.trash, session);
        require_log(&from)?;
        let _lock = take_lock(&from)?;
        // The log first: without it the session is gone from every list.
        let mut files = from.all();
        files.reverse();
        move_files(&files, &self.sessions, to.dir())
    }

    /// Moves a session back from the trash.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] when the trash has no such session, [`StoreError::Exists`] when the
    /// store has one with its id, and [`StoreError::Io`] when a file cannot be moved.
    pub fn restore(&self, session: SessionId) -> Result<(), StoreError> {
        let from = SessionPaths::new(&self.trash, session);
        let to = self.paths(session);
        require_log(&from)?;
        if self.has_log(session)? {
            return Err(StoreError::Exists(session));
        }
        // The log last: with it the session is whole again.
        move_files(&from.all(), &self.trash, to.dir())
    }

    /// Whether a session has a log, packed or not. A session in which nothing was said has none.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the file system does not say whether the log exists.
    pub fn has_log(&self, session: SessionId) -> Result<bool, StoreError> {
        let paths = self.paths(session);
        for path in [paths.log(), paths.packed_log()] {
            if path.try_exists().map_err(failed("look at", &path))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The path of a session's unpacked log, whether it exists or not.
    pub fn log_path(&self, session: SessionId) -> PathBuf {
        self.paths(session).log()
    }

    /// The paths of a session's files.
    pub(super) fn paths(&self, session: SessionId) -> SessionPaths {
        SessionPaths::new(&self.sessions, session)
    }

    /// The newest records of a long log, before all of it is read.
    fn newest(&self, session: SessionId) -> Result<Option<Vec<LogRecord>>, StoreError> {
        let path = self.paths(session).log();
        let len = std::fs::metadata(&path).map_err(failed("look at", &path))?.len();
        if len < LONG {
            return Ok(None);
        }
        Ok(newest(&read_from(&path, len - END).map_err(failed("read", &path))?))
    }

    /// All bytes of a log, packed or not.
    pub(super) fn bytes(&self, session: SessionId) -> Result<Vec<u8>, StoreError> {
        let mut bytes = Vec::new();
        let read = self.reader(session)?.read_to_end(&mut bytes);
        read.map_err(failed("read", &self.paths(session).log()))?;
        Ok(bytes)
    }

    fn open_log(
        &self,
        session: SessionId,
        show: impl FnOnce(Vec<LogRecord>),
    ) -> Result<(SessionLog<DiskLogFile>, LoadedLog), StoreError> {
        let paths = self.paths(session);
        require_log(&paths)?;
        let lock = take_lock(&paths)?;
        compression::unpack(&paths.log()).map_err(failed("unpack", &paths.log()))?;
        if let Some(records) = self.newest(session)? {
            show(records);
        }
        let loaded = self.read(session)?;
        if loaded.read_only {
            return Err(StoreError::Newer(session));
        }
        let meta = SessionMeta::of(session, &loaded, Utc::now());
        let meta_path = paths.meta();
        let (end, torn) = match &loaded.tail {
            LogTail::Whole | LogTail::NoLineFeed => (LogFileEnd::Clean, None),
            LogTail::Torn(torn) => {
                let cut = read_from(&paths.log(), torn.start as u64);
                (LogFileEnd::Dirty, Some(cut.map_err(failed("read", &paths.log()))?))
            }
        };
        let file = DiskLogFile::existing(paths, lock, torn);
        let mut writer = SessionLogWriter::new(file, loaded.good_len as u64, end);
        if loaded.tail == LogTail::NoLineFeed {
            writer.push(b"\n".to_vec());
        }
        // A session opens even where nothing can be written; then appending its first entry fails.
        if let Err(error) = writer.flush(FlushTarget::Disk) {
            tracing::warn!(%session, %error, "the end of the log is not mended yet");
        }
        Ok((SessionLog::existing(writer, meta, meta_path), loaded))
    }
}

/// For `map_err`: an error that says what was being done, and to what.
pub(super) fn failed<'a>(
    doing: &'static str,
    path: &'a Path,
) -> impl Fn(io::Error) -> StoreError + use<'a> {
    move |source| StoreError::Io { doing, path: path.to_owned(), source }
}

fn require_log(paths: &SessionPaths) -> Result<(), StoreError> {
    for path in [paths.log(), paths.packed_log()] {
        let found = missing_is_none(std::fs::metadata(&path)).map_err(failed("read", &path))?;
        if found.is_some_and(|metadata| metadata.is_file()) {
            return Ok(());
        }
    }
    Err(StoreError::Missing(paths.session()))
}

pub(super) fn take_lock(paths: &SessionPaths) -> Result<SessionLock, StoreError> {
    let path = paths.lock();
    SessionLock::take(&path).map_err(|error| match error {
        LockError::Held(holder) => StoreError::InUse { session: paths.session(), holder },
        LockError::Io(source) => failed("lock", &path)(source),
    })
}

fn move_files(files: &[PathBuf], from: &Path, to: &Path) -> Result<(), StoreError> {
    files::make_folder(to).map_err(failed("make", to))?;
    for file in files {
        let Some(name) = file.file_name() else { continue };
        let moved = missing_is_none(files::rename(file, &to.join(name)));
        moved.map_err(failed("move", file))?;
    }
    for folder in [from, to] {
        files::sync_folder(folder).map_err(failed("sync", folder))?;
    }
    Ok(())
}

pub(super) fn read_from(path: &Path, offset: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
