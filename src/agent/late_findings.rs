//! The note on what language servers have found too late for the call that made the change. It goes with
//! the next message or request.

use crate::context;
use crate::domain::{ContentBlock, Message, MessageRole, TurnId};
use crate::session::{LogEntry, MessageEntry};

use super::agent_loop::Agent;

/// The name of the note.
const DIAGNOSTICS_NOTE: &str = "diagnostics";

impl Agent {
    /// The note on findings that came too late for the call that made the change.
    pub(super) fn late_findings_note(&self) -> Option<ContentBlock> {
        let text = self.setup.code.take_late_findings()?;
        let text = self.setup.redactor.redact_own(&text).into_owned();
        let text = context::escape_context_tags(&text);
        Some(ContentBlock::Context { name: DIAGNOSTICS_NOTE.into(), text })
    }

    /// Tells the model what servers have found since its last request.
    pub(super) async fn tell_late_findings(&mut self, turn: TurnId) {
        if let Some(note) = self.late_findings_note() {
            let message = Message { role: MessageRole::User, content: vec![note] };
            self.session.write(turn, LogEntry::Message(MessageEntry::new(message))).await;
        }
    }
}
