//! The folder of sessions.
//!
//! Everything that is listed comes from the logs; meta files only spare reading them. All calls
//! here read or write files and return when that is done: they have no place on a UI task.

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

/// All sessions, the deleted ones, and the contents they refer to.
#[derive(Debug, Clone)]
pub struct SessionStore {
    pub(super) sessions: PathBuf,
    pub(super) trash: PathBuf,
    blobs: BlobStore,
}

/// Why something could not be done with a session.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such session.
    #[error("There is no session {0}. `slug sessions list` shows those that there are.")]
    Missing(SessionId),
    /// No session's id begins like this.
    #[error("No session's id begins with `{0}`. `slug sessions list` shows those that there are.")]
    NoMatch(String),
    /// Several sessions' ids begin like this.
    #[error("The ids of {} sessions begin with `{prefix}`. Give more of the one you mean.", sessions.len())]
    Ambiguous {
        /// What was given.
        prefix: String,
        /// The sessions.
        sessions: Vec<SessionId>,
    },
    /// The session has no such entry.
    #[error("Session {session} has no entry {entry}.")]
    NoSuchEntry {
        /// The session.
        session: SessionId,
        /// The entry.
        entry: EntryId,
    },
    /// Someone else is working with it.
    #[error("Session {session} is open in {holder}. Close it there, or fork it.")]
    InUse {
        /// The session.
        session: SessionId,
        /// Who.
        holder: LockHolder,
    },
    /// It was written in a format that this slug can read but must not write.
    #[error("Session {0} was written by a newer slug. Update slug, or fork the session.")]
    Newer(SessionId),
    /// There is a session with this id already.
    #[error("There is a session {0} already.")]
    Exists(SessionId),
    /// Something could not be appended.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The operating system says no.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// "read", "write", …
        doing: &'static str,
        /// Which file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl SessionStore {
    /// The store in these folders. None of them has to exist.
    pub fn new(sessions: PathBuf, trash: PathBuf, blobs: PathBuf) -> Self {
        Self { sessions, trash, blobs: BlobStore::new(blobs) }
    }

    /// Contents by their hash.
    pub fn blobs(&self) -> &BlobStore {
        &self.blobs
    }

    /// Begins a session. Its files come with the first entry.
    pub fn create(&self, header: SessionHeader) -> Result<LogHandle, StoreError> {
        let paths = self.paths(header.session_id);
        let meta = paths.meta();
        let path = paths.log();
        let writer = SessionLogWriter::new(DiskLogFile::new(paths), 0, LogFileEnd::Clean);
        LogHandle::spawn(SessionLog::new(writer, header, meta)).map_err(failed("begin", &path))
    }

    /// Opens a session to go on with it. A torn tail is moved away before anything is appended.
    pub fn open(&self, session: SessionId) -> Result<(LogHandle, LoadedLog), StoreError> {
        self.open_showing(session, drop)
    }

    /// The same. Where all of it takes a while to read, `show` gets its newest records before.
    pub fn open_showing(
        &self,
        session: SessionId,
        show: impl FnOnce(Vec<LogRecord>),
    ) -> Result<(LogHandle, LoadedLog), StoreError> {
        let (log, loaded) = self.open_log(session, show)?;
        let handle = LogHandle::spawn(log).map_err(failed("open", &self.paths(session).log()))?;
        Ok((handle, loaded))
    }

    /// Reads a session as it is now, whoever has it open.
    pub fn read(&self, session: SessionId) -> Result<LoadedLog, StoreError> {
        let path = self.paths(session).log();
        load_from(self.reader(session)?).map_err(failed("read", &path))
    }

    /// The bytes of a log, packed or not.
    pub fn reader(&self, session: SessionId) -> Result<Box<dyn BufRead + Send>, StoreError> {
        let path = self.paths(session).log();
        compression::open(&path).map_err(failed("read", &path))?.ok_or(StoreError::Missing(session))
    }

    /// Who has a session open.
    pub fn in_use(&self, session: SessionId) -> Result<Option<LockHolder>, StoreError> {
        let path = self.paths(session).lock();
        SessionLock::holder(&path).map_err(failed("look at", &path))
    }

    /// All sessions, the one used last first.
    pub fn list(&self) -> Result<Vec<SessionMeta>, StoreError> {
        Ok(self.listing()?.sessions)
    }

    /// The same, with those of them that may be open somewhere.
    pub fn listing(&self) -> Result<SessionListing, StoreError> {
        let path = self.sessions.join(index::NAME);
        // Each takes as long as the other.
        let (names, index) = std::thread::scope(|scope| {
            let index = scope.spawn(|| SessionIndex::read(&path));
            (self.session_folder_files(), index.join())
        });
        let (SessionFolderFiles { logs, locked }, mut index) = (names?, index.unwrap_or_default());
        let mut sessions = Vec::with_capacity(logs.len());
        for log in logs {
            let look = LogFileStamp::new(log.len, log.modified);
            match index.take(log.session, look).map_or_else(|| self.meta(&log), Ok) {
                Ok(meta) => sessions.push((look, meta)),
                // It was deleted meanwhile, or cannot be read: the others are still listed.
                Err(error) => tracing::warn!(session = %log.session, %error, "not listed"),
            }
        }
        sessions.sort_by_key(|(_, meta)| std::cmp::Reverse((meta.last_used_at, meta.session_id)));
        index.renew(&path, &sessions);
        let sessions = sessions.into_iter().map(|(_, meta)| meta).collect();
        Ok(SessionListing { sessions, locked })
    }

    /// The sessions that were used last, as far as that is known at once: some may be gone, or have
    /// changed. None where there are few sessions.
    pub fn newest_sessions(&self, count: usize) -> Vec<SessionMeta> {
        index::newest(&self.sessions.join(index::NAME), count)
    }

    /// The session of this working folder that was used last.
    pub fn newest_in(&self, folder: &Path) -> Result<Option<SessionId>, StoreError> {
        let mut logs = self.session_folder_files()?.logs;
        logs.sort_by_key(|log| std::cmp::Reverse((log.modified, log.session)));
        let mut newest: Option<SessionMeta> = None;
        for log in logs {
            // Whatever else was done to a file, it was not used after its own time.
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

    /// The session whose id begins with `prefix`.
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

    /// Gives a session that is not open anywhere a title.
    pub fn rename(&self, session: SessionId, title: &str) -> Result<(), StoreError> {
        let (mut log, loaded) = self.open_log(session, drop)?;
        let turn = loaded.records.last().map_or(TurnId(0), |record| record.turn);
        log.push(turn, LogEntry::Title { title: title.to_owned() })?;
        log.flush(FlushTarget::Disk).map_err(failed("write", &self.paths(session).log()))?;
        Ok(log.close()?)
    }

    /// Moves a session that is not open anywhere to the trash.
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

    /// Brings a session back from the trash.
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

    /// Whether a session has a log.
    pub fn has_log(&self, session: SessionId) -> Result<bool, StoreError> {
        let paths = self.paths(session);
        for path in [paths.log(), paths.packed_log()] {
            if path.try_exists().map_err(failed("look at", &path))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Where the log of a session is, or will be.
    pub fn log_path(&self, session: SessionId) -> PathBuf {
        self.paths(session).log()
    }

    /// The files of a session.
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

    /// The whole log.
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
        // A session opens even where nothing can be written. The first entry says so then.
        if let Err(error) = writer.flush(FlushTarget::Disk) {
            tracing::warn!(%session, %error, "the end of the log is not mended yet");
        }
        Ok((SessionLog::existing(writer, meta, meta_path), loaded))
    }

    pub(super) fn session_folder_files(&self) -> Result<SessionFolderFiles, StoreError> {
        let entries = missing_is_none(std::fs::read_dir(&self.sessions))
            .map_err(failed("list", &self.sessions))?;
        let mut names = SessionFolderFiles::default();
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
                        names.logs.push(LogFileInfo::new(session, form, &metadata));
                    }
                }
                "lock" => {
                    names.locked.insert(session);
                }
                _ => {}
            }
        }
        let plain: HashSet<SessionId> = names
            .logs
            .iter()
            .filter(|log| log.form == LogForm::Plain)
            .map(|log| log.session)
            .collect();
        // For the moment in which a log is there in both forms, the plain one counts.
        names.logs.retain(|log| log.form == LogForm::Plain || !plain.contains(&log.session));
        Ok(names)
    }

    /// From the meta file, brought up to date from what the log has more.
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

    /// What the beginning and the end of a long log say.
    fn partial_meta(&self, log: &LogFileInfo) -> Result<SessionMeta, StoreError> {
        let path = self.paths(log.session).log();
        let mut head = Vec::new();
        let read = self.reader(log.session)?.take(END).read_to_end(&mut head);
        read.map_err(failed("read", &path))?;
        let mut meta = SessionMeta::of(log.session, &load(&head), log.modified.into());
        meta.is_partial = true;
        match log.form {
            LogForm::Plain => self.apply_log_end(&mut meta, log.len)?,
            // Its end cannot be read without all that is before it.
            LogForm::Packed => meta.last_used_at = log.modified.into(),
        }
        meta.log_bytes = log.len;
        Ok(meta)
    }

    /// Takes in the last whole lines of a log.
    fn apply_log_end(&self, meta: &mut SessionMeta, len: u64) -> Result<(), StoreError> {
        let path = self.paths(meta.session_id).log();
        let end = read_from(&path, len.saturating_sub(END)).map_err(failed("read", &path))?;
        let whole = end.iter().position(|byte| *byte == b'\n').map_or(end.len(), |at| at + 1);
        for record in &load(end.get(whole..).unwrap_or_default()).records {
            meta.apply(record);
        }
        Ok(())
    }

    /// `None` when the meta file's end is not the end of a line.
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

/// All sessions at one moment.
#[derive(Debug)]
pub struct SessionListing {
    /// The one used last first.
    pub sessions: Vec<SessionMeta>,
    /// Those with a file for a lock, which [`SessionStore::in_use`] says more of.
    pub locked: HashSet<SessionId>,
}

/// What the folder of sessions has.
#[derive(Default)]
pub(super) struct SessionFolderFiles {
    pub(super) logs: Vec<LogFileInfo>,
    pub(super) locked: HashSet<SessionId>,
}

/// How a log lies on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogForm {
    Plain,
    Packed,
}

/// A log's file, as a list of the folder shows it.
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

/// A log with more bytes than this is not read as a whole only to be listed.
const LONG_LOG: u64 = 32 << 20;
/// The same of a packed one.
const LONG_PACKED_LOG: u64 = 4 << 20;

/// What the names of logs end in.
pub(super) const PLAIN: &str = "jsonl";
pub(super) const PACKED: &str = "jsonl.zst";

/// For `map_err`: what was being done, and to what.
pub(super) fn failed<'a>(
    doing: &'static str,
    path: &'a Path,
) -> impl Fn(io::Error) -> StoreError + use<'a> {
    move |source| StoreError::Io { doing, path: path.to_owned(), source }
}

/// What a name in a folder stands for; `None` where it has gone. Below the folder, which is much
/// cheaper than by the whole path; a link is followed.
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
