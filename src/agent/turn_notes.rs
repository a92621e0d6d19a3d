//! What slug tells the model with the user's message: the mode and the scratch folder, the plan, that
//! the last turn was stopped, and which changes were taken back.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::{ContentBlock, Message, MessageRole, NoticeLevel, TurnId};
use crate::platform::scratch::SessionScratch;
use crate::session::{LogEntry, MessageEntry};

use super::agent_loop::Agent;
use super::children::fork_limits::ForkLimits;
use super::mode_note::ModeNote;
use super::request;

impl Agent {
    /// The notes that go with the next message: what the model may do and the plan, where they have
    /// changed, that the last turn was stopped, and which changes were taken back.
    pub(super) fn turn_notes(&self) -> Vec<ContentBlock> {
        let conversation = &self.session.conversation;
        let plan = request::plan(&conversation.plan)
            .filter(|plan| !is_known(plan, &conversation.contexts));
        let stopped = self.session.was_interrupted.then(|| ContentBlock::Context {
            name: "interruption".into(),
            text: "The user stopped your last answer before its end.".into(),
        });
        let notes = self.mode_note().into_iter().chain(stopped);
        let rewinds = self.session.untold_rewinds.block(&self.setup.place.cwd);
        notes.chain(rewinds).chain(plan).collect()
    }

    /// Tells the model the mode, if the user has changed it since the turn began.
    pub(super) async fn tell_changed_mode(&mut self, turn: TurnId) {
        // A side of a race has only what its conversation was told, of which its answer may become a part.
        let fork = self.setup.parent.as_ref().and_then(|parent| parent.fork);
        if fork == Some(ForkLimits::Race) {
            return;
        }
        if let Some(note) = self.mode_note() {
            let message = Message { role: MessageRole::User, content: vec![note] };
            self.session.write(turn, LogEntry::Message(MessageEntry::new(message))).await;
        }
    }

    /// Opens the session's scratch folder, which is made where it is missing. A turn without one
    /// goes on: the user is told why, once.
    pub(super) fn open_scratch(&mut self) -> Option<Arc<SessionScratch>> {
        let opened = self.setup.scratch.open(&self.session.id.to_string());
        if let Err(error) = &opened {
            let text = format!("There is no scratch folder for this session: {error}.");
            if self.warned.insert(text.clone()) {
                self.events.notice(NoticeLevel::Warning, text);
            }
        }
        self.session.scratch = opened.ok().map(Arc::new);
        self.session.scratch.clone()
    }

    /// The note on the mode, unless the model has been told the same last.
    pub(super) fn mode_note(&self) -> Option<ContentBlock> {
        let note = ModeNote {
            mode: self.permissions.mode(),
            interactivity: self.setup.interactivity,
            sandbox: self.setup.escalation.as_ref().map(|escalation| &escalation.boundary),
            scratch: self.session.scratch.as_deref().map(SessionScratch::path),
            command_rules: self.permissions.command_rules(),
        };
        Some(note.block()).filter(|note| !is_known(note, &self.session.conversation.contexts))
    }
}

fn is_known(block: &ContentBlock, known: &BTreeMap<String, String>) -> bool {
    block.as_context().is_some_and(|(name, text)| known.get(name).is_some_and(|it| it == text))
}
