//! The tasks of a session as the calls of a turn see and change them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use crate::domain::{TaskChange, TaskList, TurnId};
use crate::session::LogEntry;
use crate::tools::{SessionTasks, ToolError};

use super::journal::SessionJournal;

/// Writes changes of tasks to the log. The log is what holds: each turn begins with its tasks.
pub(super) struct LoggedTasks {
    turn: TurnId,
    journal: Arc<SessionJournal>,
    list: Mutex<TaskList>,
}

impl LoggedTasks {
    pub(super) fn new(turn: TurnId, journal: Arc<SessionJournal>, list: TaskList) -> Self {
        Self { turn, journal, list: Mutex::new(list) }
    }

    fn lock(&self) -> MutexGuard<'_, TaskList> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl SessionTasks for LoggedTasks {
    fn list(&self) -> TaskList {
        self.lock().clone()
    }

    async fn change(&self, change: TaskChange) -> Result<(), ToolError> {
        let written = self.journal.write(self.turn, LogEntry::Tasks(change.clone())).await;
        if written.is_none() {
            let text = "The tasks are unchanged: slug could not write to the session log.";
            return Err(ToolError(text.to_owned()));
        }
        self.lock().apply(&change);
        Ok(())
    }
}
