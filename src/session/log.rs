//! Appends to a session's log.
//!
//! One thread owns the log. Entries reach it through a [`LogHandle`], get their id and time there,
//! and are written in the order in which they come; entries that wait together are synced together.
//! An entry that could not be saved is kept in memory and tried again with the next one. An
//! announcement, which says what slug is about to do, is not kept: when it cannot be saved, slug
//! does not do it. Dropping the future of an append does not cancel the append.
//!
//! The thread also saves the meta file: at the end of turns, at titles, and when the log is closed.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use chrono::Utc;
use tokio::sync::oneshot;

use crate::domain::{EntryId, MessageRole, SessionId, TurnId};

use super::meta::SessionMeta;
use super::writer::{FlushTarget, LogFile, SessionLogWriter};
use super::{LogEntry, LogRecord, SessionHeader};

/// Appends to one session's log. Cheap to clone. Dropping the last clone closes the log and waits
/// for its thread, which may take as long as a sync; [`Self::close`] waits without blocking.
#[derive(Debug, Clone)]
pub struct LogHandle {
    thread: Arc<LogThread>,
}

/// Why an entry is not in the log, or a log could not be closed properly.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LogError {
    /// It is kept in memory, and tried again with the next entry.
    #[error(
        "The session is not being saved: {source}. New messages stay in memory and are saved as \
         soon as possible."
    )]
    NotSaved {
        /// The entry as it will be written.
        record: Arc<LogRecord>,
        source: Arc<io::Error>,
    },
    /// It is an announcement of something that slug is about to do. It is not in the log, and will
    /// not be.
    #[error("The session is not being saved: {source}.")]
    NotAnnounced { source: Arc<io::Error> },
    /// It cannot be written as JSON.
    #[error("A message cannot be saved: {source}.")]
    NotJson { source: Arc<serde_json::Error> },
    /// The log was closed before, or its thread has ended.
    #[error("The session log is closed.")]
    Closed,
    /// The log was closed or was to be saved, and some lines could not be.
    #[error("The last {count} lines of the session could not be saved: {source}.")]
    Lost { count: usize, source: Arc<io::Error> },
}

impl LogHandle {
    /// Starts the thread of a log.
    pub(super) fn spawn<F: LogFile + 'static>(log: SessionLog<F>) -> io::Result<Self> {
        let session = log.session();
        let (sender, jobs) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("session-log".into())
            .spawn(move || log.serve(&jobs))?;
        let thread = LogThread { session, jobs: Some(sender), join: Some(thread) };
        Ok(Self { thread: Arc::new(thread) })
    }

    /// The session that this log belongs to.
    pub fn session(&self) -> SessionId {
        self.thread.session
    }

    /// Appends an entry. When this resolves, the entry is in the file; it is also on the disk where
    /// something irreversible may follow it.
    ///
    /// # Errors
    ///
    /// [`LogError::NotSaved`] carries the record, which stays in memory and is tried again; after
    /// [`LogError::NotAnnounced`] the entry is dropped, so the caller must not do what it
    /// announced. [`LogError::NotJson`] and [`LogError::Closed`] when the entry cannot be written
    /// at all.
    pub async fn append(&self, turn: TurnId, entry: LogEntry) -> Result<Arc<LogRecord>, LogError> {
        let (reply, answer) = oneshot::channel();
        self.send(LogRequest::Append { turn, entry: Box::new(entry), reply })?;
        answer.await.unwrap_or(Err(LogError::Closed))
    }

    /// Puts on the disk what was appended so far, also what could not be saved before.
    ///
    /// # Errors
    ///
    /// [`LogError::Lost`] with the number of lines that still cannot be saved; they stay in memory.
    /// [`LogError::Closed`] when the log was closed before.
    pub async fn save(&self) -> Result<(), LogError> {
        let (reply, answer) = oneshot::channel();
        self.send(LogRequest::Save { reply })?;
        answer.await.unwrap_or(Err(LogError::Closed))
    }

    /// Saves what is left, releases the lock and ends the log. Later appends fail.
    ///
    /// # Errors
    ///
    /// [`LogError::Lost`] with the number of lines that could not be saved, and
    /// [`LogError::Closed`] when the log was closed before.
    pub async fn close(&self) -> Result<(), LogError> {
        let (reply, answer) = oneshot::channel();
        self.send(LogRequest::Close { reply })?;
        answer.await.unwrap_or(Err(LogError::Closed))
    }

    fn send(&self, job: LogRequest) -> Result<(), LogError> {
        let jobs = self.thread.jobs.as_ref().ok_or(LogError::Closed)?;
        jobs.send(job).map_err(|_| LogError::Closed)
    }
}

#[derive(Debug)]
struct LogThread {
    session: SessionId,
    /// Taken on drop, which ends the thread.
    jobs: Option<Sender<LogRequest>>,
    join: Option<JoinHandle<()>>,
}

impl Drop for LogThread {
    fn drop(&mut self) {
        self.jobs = None;
        if self.join.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!(session = %self.session, "the thread of the session's log panicked");
        }
    }
}

/// Gives an entry its id and time, and serializes it as a line.
pub(super) fn new_line(turn: TurnId, entry: LogEntry) -> Result<(Vec<u8>, LogRecord), LogError> {
    let record = LogRecord { id: EntryId::generate(), timestamp: Utc::now(), turn, entry };
    let mut line = serde_json::to_vec(&record)
        .map_err(|error| LogError::NotJson { source: Arc::new(error) })?;
    line.push(b'\n');
    Ok((line, record))
}

enum LogRequest {
    Append { turn: TurnId, entry: Box<LogEntry>, reply: LogReply<Arc<LogRecord>> },
    Save { reply: LogReply<()> },
    Close { reply: LogReply<()> },
}

type LogReply<T> = oneshot::Sender<Result<T, LogError>>;

/// A log without its thread: what the thread does, call by call.
#[derive(Debug)]
pub(super) struct SessionLog<F> {
    writer: SessionLogWriter<F>,
    /// The first line, until it goes to the writer together with the first entry.
    header: Option<SessionHeader>,
    meta: SessionMeta,
    meta_path: PathBuf,
    /// Whether the meta file lacks some of the entries.
    meta_is_old: bool,
}

impl<F: LogFile> SessionLog<F> {
    /// A new log that begins with `header`.
    pub(super) fn new(
        writer: SessionLogWriter<F>,
        header: SessionHeader,
        meta_path: PathBuf,
    ) -> Self {
        let meta = SessionMeta::new(header.session_id, Utc::now());
        Self { writer, header: Some(header), meta, meta_path, meta_is_old: false }
    }

    /// A log that exists, with the meta data of what it holds.
    pub(super) fn existing(
        writer: SessionLogWriter<F>,
        meta: SessionMeta,
        meta_path: PathBuf,
    ) -> Self {
        Self { writer, header: None, meta, meta_path, meta_is_old: true }
    }

    pub(super) fn session(&self) -> SessionId {
        self.meta.session_id
    }

    /// Gives an entry its id and time, hands it to the writer, and applies it to the meta data.
    pub(super) fn push(
        &mut self,
        turn: TurnId,
        entry: LogEntry,
    ) -> Result<Arc<LogRecord>, LogError> {
        let (_, record) = self.push_line(turn, entry)?;
        self.meta.apply(&record);
        Ok(record)
    }

    /// Like [`Self::push`], but leaves the meta data to the caller. For an announcement, also
    /// returns its line, which the caller takes back where it cannot be saved.
    fn push_line(
        &mut self,
        turn: TurnId,
        entry: LogEntry,
    ) -> Result<(Option<Vec<u8>>, Arc<LogRecord>), LogError> {
        if let Some(header) = self.header.clone() {
            let (line, record) = new_line(TurnId(0), LogEntry::Session(header))?;
            self.writer.push(line);
            self.meta.apply(&record);
            self.meta.created_at = record.timestamp;
            self.header = None;
        }
        let announces_action = EntryHandling::of(&entry).is_announcement;
        let (line, record) = new_line(turn, entry)?;
        let announcement = announces_action.then(|| line.clone());
        self.writer.push(line);
        self.meta_is_old = true;
        Ok((announcement, Arc::new(record)))
    }

    /// Writes what was pushed, to the operating system or to the disk.
    pub(super) fn flush(&mut self, target: FlushTarget) -> io::Result<()> {
        let flushed = self.writer.flush(target);
        self.meta.log_bytes = self.writer.len();
        flushed
    }

    /// Saves what is left, then the meta file.
    pub(super) fn close(mut self) -> Result<(), LogError> {
        self.save()
    }

    fn save(&mut self) -> Result<(), LogError> {
        let flushed = self.flush(FlushTarget::Disk);
        if self.meta_is_old && flushed.is_ok() {
            self.save_meta();
        }
        flushed.map_err(|error| LogError::Lost {
            count: self.writer.waiting(),
            source: Arc::new(error),
        })
    }

    fn save_meta(&mut self) {
        self.meta.save(&self.meta_path);
        self.meta_is_old = false;
    }

    fn serve(mut self, jobs: &Receiver<LogRequest>) {
        while let Ok(first) = jobs.recv() {
            let mut batch = AppendBatch::default();
            for job in std::iter::once(first).chain(jobs.try_iter()) {
                match job {
                    LogRequest::Append { turn, entry, reply } => {
                        batch.take(&mut self, turn, *entry, reply);
                    }
                    LogRequest::Save { reply } => {
                        std::mem::take(&mut batch).finish(&mut self);
                        let saved = self.save();
                        answer(reply, saved);
                    }
                    LogRequest::Close { reply } => {
                        batch.finish(&mut self);
                        let closed = self.close();
                        answer(reply, closed);
                        return;
                    }
                }
            }
            batch.finish(&mut self);
        }
        if let Err(error) = self.close() {
            tracing::error!(%error, "closing a session's log");
        }
    }
}

/// Entries that are written, synced and answered together.
struct AppendBatch {
    target: FlushTarget,
    meta: bool,
    pushed: Vec<PendingAppend>,
}

struct PendingAppend {
    record: Arc<LogRecord>,
    /// The line of an announcement.
    announcement: Option<Vec<u8>>,
    reply: LogReply<Arc<LogRecord>>,
}

impl Default for AppendBatch {
    fn default() -> Self {
        Self { target: FlushTarget::System, meta: false, pushed: Vec::new() }
    }
}

impl AppendBatch {
    fn take<F: LogFile>(
        &mut self,
        log: &mut SessionLog<F>,
        turn: TurnId,
        entry: LogEntry,
        reply: LogReply<Arc<LogRecord>>,
    ) {
        let handling = EntryHandling::of(&entry);
        self.target = self.target.max(handling.flush);
        self.meta |= handling.changes_lists;
        match log.push_line(turn, entry) {
            Ok((announcement, record)) => {
                self.pushed.push(PendingAppend { record, announcement, reply });
            }
            Err(error) => answer(reply, Err(error)),
        }
    }

    fn finish<F: LogFile>(self, log: &mut SessionLog<F>) {
        if self.pushed.is_empty() {
            return;
        }
        let failed = log.flush(self.target).err().map(Arc::new);
        for PendingAppend { record, announcement, reply } in self.pushed {
            let source = failed.clone();
            if let (Some(source), Some(line)) = (source.clone(), announcement) {
                log.writer.take_back(&line);
                answer(reply, Err(LogError::NotAnnounced { source }));
                continue;
            }
            log.meta.apply(&record);
            let result = match source {
                None => Ok(record),
                Some(source) => Err(LogError::NotSaved { record, source }),
            };
            answer(reply, result);
        }
        if self.meta && failed.is_none() {
            log.save_meta();
        }
    }
}

/// The task that appended may be gone meanwhile.
fn answer<T>(reply: LogReply<T>, result: Result<T, LogError>) {
    if reply.send(result).is_err() {
        tracing::debug!("nobody waits for this entry any more");
    }
}

/// How the log's thread handles an entry.
struct EntryHandling {
    /// Where it has to be before anything else happens: on the disk is what the user said and
    /// decided, what slug is about to do, and the outcome.
    flush: FlushTarget,
    /// Whether it announces something that slug does only once the entry is saved.
    is_announcement: bool,
    /// Whether it changes what lists show, so that the meta file is saved.
    changes_lists: bool,
}

impl EntryHandling {
    fn of(entry: &LogEntry) -> Self {
        use FlushTarget::{Disk, System};
        let (flush, is_announcement, changes_lists) = match entry {
            LogEntry::Rewind(_) => (Disk, true, true),
            LogEntry::ToolStarted { .. } => (Disk, true, false),
            LogEntry::TurnEnd(_) => (Disk, false, true),
            LogEntry::Permission(_) | LogEntry::Mode { .. } => (Disk, false, false),
            LogEntry::Message(message) => match message.role {
                MessageRole::User => (Disk, false, false),
                MessageRole::Assistant => (System, false, false),
            },
            LogEntry::Title { .. } => (System, false, true),
            LogEntry::Session(_)
            | LogEntry::FileChange(_)
            | LogEntry::NotCovered(_)
            | LogEntry::Compaction(_)
            | LogEntry::ContextEdit(_)
            | LogEntry::Interrupted
            | LogEntry::Todo { .. }
            | LogEntry::Tasks(_)
            | LogEntry::Model { .. } => (System, false, false),
        };
        Self { flush, is_announcement, changes_lists }
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
