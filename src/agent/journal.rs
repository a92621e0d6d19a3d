//! The agent's writer of the session log. It reports when saving fails, and keeps what was written
//! until the conversation has applied it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::Utc;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use crate::domain::{EntryId, NoticeLevel, TurnId};
use crate::session::{LogEntry, LogError, LogHandle, LogRecord};

use super::AgentEvent;
use super::event_queue::AgentEventSender;

/// How long closing and rewinding wait for files that are still being written after a stop.
const LATE_WRITES_TIMEOUT: Duration = Duration::from_secs(2);

/// Tells the front end of something that has ended and is in no log.
pub(super) fn tell_not_recorded(events: &AgentEventSender, turn: TurnId, entry: LogEntry) {
    let record = LogRecord { id: EntryId::generate(), timestamp: Utc::now(), turn, entry };
    events.send(AgentEvent::NotRecorded(Arc::new(record)));
}

/// Writes the log of one session, from any task of the agent.
pub(super) struct SessionJournal {
    log: LogHandle,
    late: TaskTracker,
    events: AgentEventSender,
    failing: AtomicBool,
    written: Mutex<Vec<Arc<LogRecord>>>,
}

impl SessionJournal {
    pub(super) fn new(log: LogHandle, events: AgentEventSender) -> Self {
        Self {
            log,
            late: TaskTracker::new(),
            events,
            failing: AtomicBool::new(false),
            written: Mutex::default(),
        }
    }

    /// Writes an entry and tells the front end. When it cannot be saved, it is kept in memory, the
    /// user is told once, and the turn goes on. `None` when not even that is possible.
    pub(super) async fn write(&self, turn: TurnId, entry: LogEntry) -> Option<Arc<LogRecord>> {
        let record = match self.log.append(turn, entry).await {
            Ok(record) => {
                if self.failing.swap(false, Ordering::Relaxed) {
                    self.events.notice(NoticeLevel::Info, "The session is saved again.");
                }
                record
            }
            Err(error) => {
                self.report(&error);
                match error {
                    LogError::NotSaved { record, .. } => record,
                    LogError::NotAnnounced { .. }
                    | LogError::NotJson { .. }
                    | LogError::Closed
                    | LogError::Lost { .. } => return None,
                }
            }
        };
        // Under the lock: whoever takes a record up has its event before whatever follows from it.
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.push(record.clone());
        self.events.send(AgentEvent::Recorded(record.clone()));
        Some(record)
    }

    /// Writes the end of a call or a turn. The front end waits for it, so it is told even when it
    /// cannot be put on record.
    pub(super) async fn write_end(&self, turn: TurnId, entry: LogEntry) {
        if self.write(turn, entry.clone()).await.is_none() {
            tell_not_recorded(&self.events, turn, entry);
        }
    }

    /// Writes what is about to happen. The caller must not do it unless this succeeds.
    pub(super) async fn intent(&self, turn: TurnId, entry: LogEntry) -> Result<(), LogError> {
        self.log.append(turn, entry).await.inspect_err(|error| self.report(error)).map(|_| ())
    }

    /// Writes what is about to happen, and tells the front end of it. The caller must not do it
    /// unless this succeeds.
    pub(super) async fn announce(&self, turn: TurnId, entry: LogEntry) -> Result<(), LogError> {
        let record = self.log.append(turn, entry).await.inspect_err(|error| self.report(error))?;
        self.written.lock().unwrap_or_else(PoisonError::into_inner).push(record.clone());
        self.events.send(AgentEvent::Recorded(record));
        Ok(())
    }

    /// Saves what could not be saved so far.
    pub(super) async fn save(&self) -> Result<(), LogError> {
        self.log.save().await?;
        self.failing.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// What was written since the last call, in the log's order.
    pub(super) fn take_written(&self) -> Vec<Arc<LogRecord>> {
        let mut written =
            std::mem::take(&mut *self.written.lock().unwrap_or_else(PoisonError::into_inner));
        written.sort_by_key(|record| record.id);
        written
    }

    /// Runs work that may still write after its turn. Closing and rewinding wait for it.
    pub(super) fn look_after(
        &self,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<()> {
        self.late.spawn(work)
    }

    /// Waits for the work given to [`Self::look_after`]; `false` when that takes too long.
    pub(super) async fn wait_for_late_writes(&self) -> bool {
        self.late.close();
        let waited = tokio::time::timeout(LATE_WRITES_TIMEOUT, self.late.wait()).await;
        self.late.reopen();
        waited.is_ok()
    }

    /// Saves what is left and releases the session for other processes.
    pub(super) async fn close(&self) {
        if !self.wait_for_late_writes().await {
            tracing::warn!("a file is still being written after its turn was stopped");
        }
        if let Err(error) = self.log.close().await {
            self.report(&error);
        }
    }

    fn report(&self, error: &LogError) {
        tracing::error!(%error, "writing the session log failed");
        if !self.failing.swap(true, Ordering::Relaxed) {
            self.events.send(AgentEvent::SaveFailed { reason: error.to_string() });
        }
    }
}
