//! The folder of sessions.
//!
//! Everything that is listed comes from the logs; meta files and the index only spare reading them.
//! All calls here read or write files and return when that is done, so they must not run on a UI
//! task.

use std::collections::HashSet;
use std::fs::{DirEntry, File, Metadata};
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use chrono::Utc;

use crate::domain::{EntryId, SessionId, TurnId};

use super::blobs::BlobStore;
use super::compression;
use super::disk::{DiskLogFile, SessionPaths};
use super::files::{self, missing_is_none};
use super::index::{self, LogFileStamp, SessionIndex};
use super::lock::{LockError, LockHolder, SessionLock};
use super::log::{LogError, LogHandle, SessionLog};
use super::meta::SessionMeta;
use super::recover::{END, LONG, LoadedLog, LogTail, load, load_from, newest};
use super::writer::{FlushTarget, LogFileEnd, SessionLogWriter};
use super::{LogEntry, LogRecord, SessionHeader};

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
    #[error("There is no session {0}. `slug sessions list` shows those that there are.")]
    Missing(SessionId),
    /// No session's id begins with this text.
    #[error("No session's id begins with `{0}`. `slug sessions list` shows those that there are.")]
    NoMatch(String),
    /// The ids of several sessions begin with this text.
    #[error("The ids of {} sessions begin with `{prefix}`. Give more of the one you mean.", sessions.len())]
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
    #[error("There is a session {0} already.")]
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

    /// All sessions, the most recently used one first.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the folder of sessions cannot be listed. A session that cannot be
    /// read is left out.
    pub fn list(&self) -> Result<Vec<SessionMeta>, StoreError> {
        Ok(self.listing()?.sessions)
    }

    /// All sessions as in [`Self::list`], with those of them that may be open somewhere.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the folder of sessions cannot be listed. A session that cannot be
    /// read is left out.
    pub fn listing(&self) -> Result<SessionListing, StoreError> {
        let path = self.sessions.join(index::NAME);
        // Both take about the same time.
        let (folder_files, index) = std::thread::scope(|scope| {
            let index = scope.spawn(|| SessionIndex::read(&path));
            (self.session_folder_files(), index.join())
        });
        let (SessionFolderFiles { logs, locked }, mut index) =
            (folder_files?, index.unwrap_or_default());
        let mut sessions = Vec::with_capacity(logs.len());
        for log in logs {
            let stamp = LogFileStamp::new(log.len, log.modified);
            match index.take(log.session, stamp).map_or_else(|| self.meta(&log), Ok) {
                Ok(meta) => sessions.push((stamp, meta)),
                // It was deleted meanwhile or cannot be read; the others are still listed.
                Err(error) => tracing::warn!(session = %log.session, %error, "not listed"),
            }
        }
        sessions.sort_by_key(|(_, meta)| std::cmp::Reverse((meta.last_used_at, meta.session_id)));
        index.renew(&path, &sessions);
        let sessions = sessions.into_iter().map(|(_, meta)| meta).collect();
        Ok(SessionListing { sessions, locked })
    }

    /// The most recently used sessions, as the index of the last listing knows them: some may be
    /// gone or have changed. Empty where there are too few sessions for an index.
    pub fn newest_sessions(&self, count: usize) -> Vec<SessionMeta> {
        index::newest(&self.sessions.join(index::NAME), count)
    }

    /// The most recently used session of this working folder.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the folder of sessions cannot be listed. A session that cannot be
    /// read is passed over.
    pub fn newest_in(&self, folder: &Path) -> Result<Option<SessionId>, StoreError> {
        let mut logs = self.session_folder_files()?.logs;
        logs.sort_by_key(|log| std::cmp::Reverse((log.modified, log.session)));
        let mut newest: Option<SessionMeta> = None;
        for log in logs {
            // A session was not used after the modification time of its log's file.
            let used = newest.as_ref().map(|meta| meta.last_used_at);
            if used.is_some_and(|used| SystemTime::from(used) >= log.modified) {
                break;
            }
            match self.meta(&log) {
                Ok(meta) if meta.working_directory == folder && used < Some(meta.last_used_at) => {
                    newest = Some(meta);
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(session = %log.session, %error, "passed over"),
            }
        }
        Ok(newest.map(|meta| meta.session_id))
    }

    /// The only session whose id begins with `prefix`, whatever its case.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoMatch`] when no id begins with it or it is blank, [`StoreError::Ambiguous`]
    /// with the sessions when several do, and [`StoreError::Io`] when the folder of sessions cannot
    /// be listed.
    pub fn resolve(&self, prefix: &str) -> Result<SessionId, StoreError> {
        let wanted = prefix.trim().to_lowercase();
        let mut sessions: Vec<SessionId> = self
            .session_folder_files()?
            .logs
            .into_iter()
            .map(|log| log.session)
            .filter(|session| !wanted.is_empty() && session.to_string().starts_with(&wanted))
            .collect();
        sessions.sort();
        match sessions.as_slice() {
            [] => Err(StoreError::NoMatch(prefix.to_owned())),
            [session] => Ok(*session),
            [_, _, ..] => Err(StoreError::Ambiguous { prefix: prefix.to_owned(), sessions }),
        }
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

    pub(super) fn session_folder_files(&self) -> Result<SessionFolderFiles, StoreError> {
        let entries = missing_is_none(std::fs::read_dir(&self.sessions))
            .map_err(failed("list", &self.sessions))?;
        let mut folder_files = SessionFolderFiles::default();
        for entry in entries.into_iter().flatten() {
            let entry = entry.map_err(failed("list", &self.sessions))?;
            let name = entry.file_name();
            let Some((stem, ending)) = name.to_str().and_then(|name| name.split_once('.')) else {
                continue;
            };
            let Ok(session) = stem.parse() else { continue };
            match ending {
                PLAIN | PACKED => {
                    if let Some(metadata) = look_at(&entry)?.filter(Metadata::is_file) {
                        let form = if ending == PLAIN { LogForm::Plain } else { LogForm::Packed };
                        folder_files.logs.push(LogFileInfo::new(session, form, &metadata));
                    }
                }
                "lock" => {
                    folder_files.locked.insert(session);
                }
                _ => {}
            }
        }
        let plain: HashSet<SessionId> = folder_files
            .logs
            .iter()
            .filter(|log| log.form == LogForm::Plain)
            .map(|log| log.session)
            .collect();
        // While a log is being packed or unpacked both files exist, and the plain one counts.
        folder_files.logs.retain(|log| log.form == LogForm::Plain || !plain.contains(&log.session));
        Ok(folder_files)
    }

    /// The meta data of a session: from the meta file, updated by what the log has more.
    pub(super) fn meta(&self, log: &LogFileInfo) -> Result<SessionMeta, StoreError> {
        let path = self.paths(log.session).meta();
        let known = SessionMeta::read(&path).filter(|meta| meta.session_id == log.session);
        let extended = match (&known, log.form) {
            // Nothing is appended to a packed log.
            (Some(meta), LogForm::Packed) => Some(meta.clone()),
            (Some(meta), LogForm::Plain) if meta.log_bytes <= log.len => {
                self.extend(meta.clone(), log.len)?
            }
            (Some(_) | None, LogForm::Plain | LogForm::Packed) => None,
        };
        let meta = match extended {
            Some(meta) => meta,
            None if log.is_long() => self.partial_meta(log)?,
            None => SessionMeta::of(log.session, &self.read(log.session)?, log.modified.into()),
        };
        if known.as_ref() != Some(&meta) {
            meta.save(&path);
        }
        Ok(meta)
    }

    /// The meta data of a very long log, from its beginning and its end alone.
    fn partial_meta(&self, log: &LogFileInfo) -> Result<SessionMeta, StoreError> {
        let path = self.paths(log.session).log();
        let mut head = Vec::new();
        let read = self.reader(log.session)?.take(END).read_to_end(&mut head);
        read.map_err(failed("read", &path))?;
        let mut meta = SessionMeta::of(log.session, &load(&head), log.modified.into());
        meta.is_partial = true;
        match log.form {
            LogForm::Plain => self.apply_log_end(&mut meta, log.len)?,
            // The end of a packed log cannot be read without unpacking everything before it.
            LogForm::Packed => meta.last_used_at = log.modified.into(),
        }
        meta.log_bytes = log.len;
        Ok(meta)
    }

    /// Updates the meta data by the last whole lines of a log.
    fn apply_log_end(&self, meta: &mut SessionMeta, len: u64) -> Result<(), StoreError> {
        let path = self.paths(meta.session_id).log();
        let end = read_from(&path, len.saturating_sub(END)).map_err(failed("read", &path))?;
        let whole = end.iter().position(|byte| *byte == b'\n').map_or(end.len(), |at| at + 1);
        for record in &load(end.get(whole..).unwrap_or_default()).records {
            meta.apply(record);
        }
        Ok(())
    }

    /// Updates the meta data by what the log has more. `None` where the part that it covers does
    /// not end with a line.
    fn extend(&self, mut meta: SessionMeta, len: u64) -> Result<Option<SessionMeta>, StoreError> {
        if meta.log_bytes == len {
            return Ok(Some(meta));
        }
        let Some(before) = meta.log_bytes.checked_sub(1) else { return Ok(None) };
        if len - meta.log_bytes > LONG_LOG {
            self.apply_log_end(&mut meta, len)?;
            (meta.is_partial, meta.log_bytes) = (true, len);
            return Ok(Some(meta));
        }
        let path = self.paths(meta.session_id).log();
        let more = read_from(&path, before).map_err(failed("read", &path))?;
        let Some(more) = more.strip_prefix(b"\n") else { return Ok(None) };
        let loaded = load(more);
        for record in &loaded.records {
            meta.apply(record);
        }
        meta.log_bytes += loaded.good_len as u64;
        Ok(Some(meta))
    }
}

/// All sessions, as the folder was when it was listed.
#[derive(Debug)]
pub struct SessionListing {
    /// The most recently used one first.
    pub sessions: Vec<SessionMeta>,
    /// The sessions that have a lock file; [`SessionStore::in_use`] says whether somebody holds it.
    pub locked: HashSet<SessionId>,
}

/// The logs and lock files that the folder of sessions holds.
#[derive(Default)]
pub(super) struct SessionFolderFiles {
    pub(super) logs: Vec<LogFileInfo>,
    pub(super) locked: HashSet<SessionId>,
}

/// Whether a log's file is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogForm {
    Plain,
    Packed,
}

/// A log's file as the listing of the folder shows it.
pub(super) struct LogFileInfo {
    pub(super) session: SessionId,
    pub(super) form: LogForm,
    pub(super) len: u64,
    pub(super) modified: SystemTime,
}

impl LogFileInfo {
    pub(super) fn new(session: SessionId, form: LogForm, metadata: &Metadata) -> Self {
        let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        Self { session, form, len: metadata.len(), modified }
    }

    fn is_long(&self) -> bool {
        self.len
            > match self.form {
                LogForm::Plain => LONG_LOG,
                LogForm::Packed => LONG_PACKED_LOG,
            }
    }
}

/// In bytes. A longer log is not read as a whole only to be listed.
const LONG_LOG: u64 = 32 << 20;
/// Like `LONG_LOG`, for the packed bytes of a packed log.
const LONG_PACKED_LOG: u64 = 4 << 20;

/// The endings of the names of logs.
pub(super) const PLAIN: &str = "jsonl";
pub(super) const PACKED: &str = "jsonl.zst";

/// For `map_err`: an error that says what was being done, and to what.
pub(super) fn failed<'a>(
    doing: &'static str,
    path: &'a Path,
) -> impl Fn(io::Error) -> StoreError + use<'a> {
    move |source| StoreError::Io { doing, path: path.to_owned(), source }
}

/// The metadata of a directory entry; `None` where it is gone. Looks it up below the open folder,
/// which is much cheaper than by the whole path; follows a link.
fn look_at(entry: &DirEntry) -> Result<Option<Metadata>, StoreError> {
    let metadata = match entry.metadata() {
        Ok(metadata) if metadata.is_symlink() => std::fs::metadata(entry.path()),
        metadata => metadata,
    };
    missing_is_none(metadata).map_err(failed("look at", &entry.path()))
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
