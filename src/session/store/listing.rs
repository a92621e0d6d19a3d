//! Which sessions the store has: the list of them with their meta data, the newest of a folder, and
//! the one that the beginning of an id means.

use std::collections::HashSet;
use std::fs::{DirEntry, Metadata};
use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

use crate::domain::SessionId;
use crate::session::files::missing_is_none;
use crate::session::index::{self, LogFileStamp, SessionIndex};
use crate::session::log_reader::{END, load};
use crate::session::meta::SessionMeta;

use super::{SessionStore, StoreError, failed, read_from};

/// The most sessions that are looked at to find those used last in a folder.
const MOST_LOOKED_AT: usize = 1_000;

impl SessionStore {
    /// All sessions, the most recently used one first; without those of agents that others have
    /// started, which are found through these.
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
        let sessions = sessions.into_iter().map(|(_, meta)| meta);
        let sessions = sessions.filter(|meta| meta.spawned_by.is_none()).collect();
        Ok(SessionListing { sessions, locked })
    }

    /// The most recently used sessions, as the index of the last listing knows them: some may be
    /// gone or have changed. Empty where there are too few sessions for an index.
    pub fn newest_sessions(&self, count: usize) -> Vec<SessionMeta> {
        let mut newest = index::newest(&self.sessions.join(index::NAME), count);
        newest.retain(|meta| meta.spawned_by.is_none());
        newest
    }

    /// The most recently used session of this working folder.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the folder of sessions cannot be listed. A session that cannot be
    /// read is passed over.
    pub fn newest_in(&self, folder: &Path) -> Result<Option<SessionId>, StoreError> {
        let newest = self.used_last_in(folder, 1, usize::MAX)?;
        Ok(newest.first().map(|meta| meta.session_id))
    }

    /// The sessions of this working folder that were used last, at most `count`, among the newest
    /// thousand of all folders.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the folder of sessions cannot be listed. A session that cannot be
    /// read is passed over.
    pub fn recent_in(&self, folder: &Path, count: usize) -> Result<Vec<SessionMeta>, StoreError> {
        self.used_last_in(folder, count, MOST_LOOKED_AT)
    }

    fn used_last_in(
        &self,
        folder: &Path,
        count: usize,
        most_looked_at: usize,
    ) -> Result<Vec<SessionMeta>, StoreError> {
        let mut logs = self.session_folder_files()?.logs;
        logs.sort_by_key(|log| std::cmp::Reverse((log.modified, log.session)));
        let mut newest: Vec<SessionMeta> = Vec::new();
        for log in logs.into_iter().take(most_looked_at) {
            // A session was not used after the modification time of its log's file.
            let is_full = newest.len() == count;
            let oldest = newest.last().filter(|_| is_full).map(|meta| meta.last_used_at);
            if oldest.is_some_and(|oldest| SystemTime::from(oldest) >= log.modified) {
                break;
            }
            match self.meta(&log) {
                Ok(meta) if meta.working_directory == folder && meta.spawned_by.is_none() => {
                    let at = newest.partition_point(|it| it.last_used_at >= meta.last_used_at);
                    newest.insert(at, meta);
                    newest.truncate(count);
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(session = %log.session, %error, "passed over"),
            }
        }
        Ok(newest)
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

    pub(in crate::session) fn session_folder_files(
        &self,
    ) -> Result<SessionFolderFiles, StoreError> {
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
    pub(in crate::session) fn meta(&self, log: &LogFileInfo) -> Result<SessionMeta, StoreError> {
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
pub(in crate::session) struct SessionFolderFiles {
    pub(in crate::session) logs: Vec<LogFileInfo>,
    pub(in crate::session) locked: HashSet<SessionId>,
}

/// Whether a log's file is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum LogForm {
    Plain,
    Packed,
}

/// A log's file as the listing of the folder shows it.
pub(in crate::session) struct LogFileInfo {
    pub(in crate::session) session: SessionId,
    pub(in crate::session) form: LogForm,
    pub(in crate::session) len: u64,
    pub(in crate::session) modified: SystemTime,
}

impl LogFileInfo {
    pub(in crate::session) fn new(session: SessionId, form: LogForm, metadata: &Metadata) -> Self {
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
pub(in crate::session) const PLAIN: &str = "jsonl";
pub(in crate::session) const PACKED: &str = "jsonl.zst";

/// The metadata of a directory entry; `None` where it is gone. Looks it up below the open folder,
/// which is much cheaper than by the whole path; follows a link.
fn look_at(entry: &DirEntry) -> Result<Option<Metadata>, StoreError> {
    let metadata = match entry.metadata() {
        Ok(metadata) if metadata.is_symlink() => std::fs::metadata(entry.path()),
        metadata => metadata,
    };
    missing_is_none(metadata).map_err(failed("look at", &entry.path()))
}
