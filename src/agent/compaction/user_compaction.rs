//! What the user asks about compaction: do one now, take the last one back.

use crate::agent::agent_loop::Agent;
use crate::agent::blocking::blocking;
use crate::agent::turn_runner::TurnPurpose;
use crate::agent::{AgentEvent, CommandRefusal};
use crate::domain::{NoticeLevel, format_tokens};
use crate::session::{CompactionEntry, LogEntry, LogRecord, last_compaction};

impl Agent {
    /// Makes the conversation shorter, which takes a turn of its own.
    pub(in crate::agent) async fn compact_on_request(&mut self, focus: Option<String>) {
        if let Some(reason) = self.session.read_only.clone() {
            return self.error(reason);
        }
        if !self.session.has_log() {
            let refused = CommandRefusal::TooShortToCompact;
            return self.events.send(AgentEvent::CommandRefused(refused));
        }
        if let Some(gate) = self.begin_turn() {
            self.run_turn(gate, TurnPurpose::Compaction { focus }).await;
        }
    }

    /// Takes the last compaction back. The next one waits until the window is full.
    pub(in crate::agent) async fn undo_compaction(&mut self) {
        if let Some(reason) = self.session.read_only.clone() {
            return self.error(reason);
        }
        let undone = match self.saved_records().await {
            Ok(records) => last_compaction(&records),
            Err(reason) => return self.error(reason),
        };
        let Some(compaction) = undone else {
            let text = "No compaction to undo.";
            return self.events.notice(NoticeLevel::Info, text);
        };
        self.session.note(LogEntry::Compaction(CompactionEntry::undo(compaction))).await;
        match self.saved_records().await {
            Ok(records) => self.session.replay(&records),
            Err(reason) => return self.error(reason),
        }
        let (size, window) = self.hold_compaction().await;
        let text = format!(
            "The messages now take ~{} of the {} tokens of the window.",
            format_tokens(size),
            format_tokens(window)
        );
        self.events.notice(NoticeLevel::Info, text);
        // Nobody has counted what is sent again: the front end shows an estimate of it.
        self.tell_uncounted().await;
    }

    /// Has the next compaction wait until the window is full, and returns the size of the messages
    /// and of the window.
    pub(in crate::agent) async fn hold_compaction(&mut self) -> (u64, u64) {
        let model = self.model.clone().unwrap_or_default();
        let estimator = self.room.tokens.of(&model);
        let messages = self.session.conversation.messages.iter().map(|(_, message)| message);
        let size = estimator.messages(messages);
        let window = self.window(&model).await.tokens();
        self.room.hold(self.session.id, size, window.max(size + window / 10));
        (size, window)
    }

    /// All records of the session, once the last of them is on disk; empty for a session without a
    /// log.
    pub(in crate::agent) async fn saved_records(&self) -> Result<Vec<LogRecord>, String> {
        let has_log = self.session.save().await.map_err(|error| error.to_string())?;
        if !has_log && self.session.read_only.is_none() {
            return Ok(Vec::new());
        }
        let (store, session) = (self.setup.store.clone(), self.session.id);
        let read =
            blocking(move || store.read(session)).await.map_err(|error| error.to_string())?;
        Ok(read.map_err(|error| error.to_string())?.records)
    }
}
