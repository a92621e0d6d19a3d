//! Appending to a session's log.
//!
//! One thread owns the log. Entries reach it through a [`LogHandle`], get their id and time there,
//! and are written in the order they come; what waits together is synced together. An entry that
//! could not be saved is kept and tried again with the next one; one that says what is about to be
//! done is not, for then it is not done. Dropping the future of an append takes nothing back.
//!
//! The thread also keeps the meta file, at the end of turns, at titles and at the end.

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

/// Why an entry is not in the log.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LogError {
    /// It is in memory, and is tried again with the next entry.
    #[error(
        "The session is not being saved: {source}. What is said from here on is kept in memory \
         and saved as soon as that is possible."
    )]
    NotSaved {
        /// The entry as it will be written.
        record: Arc<LogRecord>,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// It says what is about to be done, and is not in the log, now or later.
    #[error("The session is not being saved: {source}.")]
    NotAnnounced {
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// It cannot be written as JSON at all.
    #[error("An entry of the session cannot be saved, because {source}.")]
    NotJson {
        /// What is wrong with it.
        source: Arc<serde_json::Error>,
    },
    /// The log was closed before.
    #[error("The session's log is closed.")]
    Closed,
    /// At the end some lines could not be saved.
    #[error("The last {count} lines of the session could not be saved: {source}.")]
    Lost {
        /// How many.
        count: usize,
        /// What the system said.
        source: Arc<io::Error>,
    },
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

    /// Which session it is.
    pub fn session(&self) -> SessionId {
        self.thread.session
    }

    /// Appends an entry. When this resolves, the entry is written, and on the disk where it is
    /// one that something irreversible may follow.
    pub async fn append(&self, turn: TurnId, entry: LogEntry) -> Result<Arc<LogRecord>, LogError> {
        let (reply, answer) = oneshot::channel();
        self.send(LogRequest::Append { turn, entry: Box::new(entry), reply })?;
        answer.await.unwrap_or(Err(LogError::Closed))
    }

    /// Saves what is left, gives the lock up and ends the log. Later appends fail.
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

/// Gives an entry its id and time, and makes a line of it.
pub(super) fn new_line(turn: TurnId, entry: LogEntry) -> Result<(Vec<u8>, LogRecord), LogError> {
    let record = LogRecord { id: EntryId::generate(), timestamp: Utc::now(), turn, entry };
    let mut line = serde_json::to_vec(&record)
        .map_err(|error| LogError::NotJson { source: Arc::new(error) })?;
    line.push(b'\n');
    Ok((line, record))
}

enum LogRequest {
    Append { turn: TurnId, entry: Box<LogEntry>, reply: LogReply<Arc<LogRecord>> },
    Close { reply: LogReply<()> },
}

type LogReply<T> = oneshot::Sender<Result<T, LogError>>;

/// A log without a thread.
#[derive(Debug)]
pub(super) struct SessionLog<F> {
    writer: SessionLogWriter<F>,
    /// The first line, until it is handed to the writer with the first entry.
    header: Option<SessionHeader>,
    meta: SessionMeta,
    meta_path: PathBuf,
    /// Whether the meta file lacks something.
    meta_is_old: bool,
}

impl<F: LogFile> SessionLog<F> {
    /// A log that begins with `header`.
    pub(super) fn new(
        writer: SessionLogWriter<F>,
        header: SessionHeader,
        meta_path: PathBuf,
    ) -> Self {
        let meta = SessionMeta::new(header.session_id, Utc::now());
        Self { writer, header: Some(header), meta, meta_path, meta_is_old: false }
    }

    /// A log that is there, with what is known of it.
    pub(super) fn existing(
        writer: SessionLogWriter<F>,
        meta: SessionMeta,
        meta_path: PathBuf,
    ) -> Self {
        Self { writer, header: None, meta, meta_path, meta_is_old: true }
    }

    /// Which session it is.
    pub(super) fn session(&self) -> SessionId {
        self.meta.session_id
    }

    /// Gives an entry its id and time and hands it to the writer.
    pub(super) fn push(
        &mut self,
        turn: TurnId,
        entry: LogEntry,
    ) -> Result<Arc<LogRecord>, LogError> {
        let (_, record) = self.push_line(turn, entry)?;
        self.meta.apply(&record);
        Ok(record)
    }

    /// The same without its line in the meta file, which is to follow. With the record of what is
    /// about to be done comes its line, which is taken back where it cannot be saved.
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
        let announces = is_announcement(&entry);
        let (line, record) = new_line(turn, entry)?;
        let announced = announces.then(|| line.clone());
        self.writer.push(line);
        self.meta_is_old = true;
        Ok((announced, Arc::new(record)))
    }

    /// Writes what was pushed.
    pub(super) fn flush(&mut self, reach: FlushTarget) -> io::Result<()> {
        let flushed = self.writer.flush(reach);
        self.meta.log_bytes = self.writer.len();
        flushed
    }

    /// Saves what is left, and the meta file.
    pub(super) fn close(mut self) -> Result<(), LogError> {
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
    reach: FlushTarget,
    meta: bool,
    pushed: Vec<PendingAppend>,
}

struct PendingAppend {
    record: Arc<LogRecord>,
    /// Of what is about to be done: its line.
    announces: Option<Vec<u8>>,
    reply: LogReply<Arc<LogRecord>>,
}

impl Default for AppendBatch {
    fn default() -> Self {
        Self { reach: FlushTarget::System, meta: false, pushed: Vec::new() }
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
        self.reach = self.reach.max(reach_of(&entry));
        self.meta |= changes_lists(&entry);
        match log.push_line(turn, entry) {
            Ok((announces, record)) => self.pushed.push(PendingAppend { record, announces, reply }),
            Err(error) => answer(reply, Err(error)),
        }
    }

    fn finish<F: LogFile>(self, log: &mut SessionLog<F>) {
        if self.pushed.is_empty() {
            return;
        }
        let failed = log.flush(self.reach).err().map(Arc::new);
        for PendingAppend { record, announces, reply } in self.pushed {
            let source = failed.clone();
            if let (Some(source), Some(line)) = (source.clone(), announces) {
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

/// Whoever asked may have gone in the meantime.
fn answer<T>(reply: LogReply<T>, result: Result<T, LogError>) {
    if reply.send(result).is_err() {
        tracing::debug!("nobody waits for this entry any more");
    }
}

/// Which entries say what is about to be done, and is not where they cannot be saved.
fn is_announcement(entry: &LogEntry) -> bool {
    match entry {
        LogEntry::ToolStarted { .. } | LogEntry::Rewind(_) => true,
        LogEntry::Session(_)
        | LogEntry::Message(_)
        | LogEntry::Permission(_)
        | LogEntry::FileChange(_)
        | LogEntry::NotCovered(_)
        | LogEntry::Compaction(_)
        | LogEntry::Interrupted
        | LogEntry::TurnEnd(_)
        | LogEntry::Title { .. }
        | LogEntry::Todo { .. }
        | LogEntry::Model { .. }
        | LogEntry::Mode { .. } => false,
    }
}

/// Which entries have to be on the disk before anything else happens: what the person said and
/// decided, what is about to be done, and what came of it.
fn reach_of(entry: &LogEntry) -> FlushTarget {
    match entry {
        LogEntry::Message(said) => match said.role {
            MessageRole::User => FlushTarget::Disk,
            MessageRole::Assistant => FlushTarget::System,
        },
        LogEntry::ToolStarted { .. }
        | LogEntry::Permission(_)
        | LogEntry::Rewind(_)
        | LogEntry::TurnEnd(_)
        | LogEntry::Mode { .. } => FlushTarget::Disk,
        LogEntry::Session(_)
        | LogEntry::FileChange(_)
        | LogEntry::NotCovered(_)
        | LogEntry::Compaction(_)
        | LogEntry::Interrupted
        | LogEntry::Title { .. }
        | LogEntry::Todo { .. }
        | LogEntry::Model { .. } => FlushTarget::System,
    }
}

/// After which entries lists should know more.
fn changes_lists(entry: &LogEntry) -> bool {
    match entry {
        LogEntry::TurnEnd(_) | LogEntry::Title { .. } | LogEntry::Rewind(_) => true,
        LogEntry::Session(_)
        | LogEntry::Message(_)
        | LogEntry::ToolStarted { .. }
        | LogEntry::Permission(_)
        | LogEntry::FileChange(_)
        | LogEntry::NotCovered(_)
        | LogEntry::Compaction(_)
        | LogEntry::Interrupted
        | LogEntry::Todo { .. }
        | LogEntry::Model { .. }
        | LogEntry::Mode { .. } => false,
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
