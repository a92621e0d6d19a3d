//! Messages of the user: what is checked before one, what goes with it into the log, and the turn that
//! answers it.

use std::sync::Arc;

use crate::context;
use crate::domain::{Message, MessageRole, UserInput};
use crate::hooks::HookEvent;
use crate::session::{LogEntry, MessageEntry, TurnOutcome};

use super::agent_loop::Agent;
use super::normalise::is_silent;
use super::session_skills::PromptTiming;
use super::tool_gate::ToolGate;
use super::turn_runner::TurnPurpose;

/// Why a turn fails when its first message cannot be written to the log.
const MESSAGE_NOT_SAVED: &str = "The message could not be saved, so it was not sent. Restart \
                       slug; the session is kept.";
/// Why `/retry` does nothing after a whole answer.
const NOTHING_TO_RETRY: &str = "Nothing to retry: the last message is the model's.";

impl Agent {
    pub(super) async fn send(&mut self, text: UserInput) {
        if let Some(gate) = self.begin_message(text.clone(), text).await {
            self.run_turn(gate, TurnPurpose::Answer).await;
        }
    }

    /// Begins a turn and puts the user's message into the log. `None` where the message is not sent:
    /// `typed` then goes back into the input, and the front end knows that the turn is over.
    pub(super) async fn begin_message(
        &mut self,
        text: UserInput,
        typed: UserInput,
    ) -> Option<Arc<ToolGate>> {
        self.refresh_hooks().await;
        self.refresh_prompt_files().await;
        self.model_of_turn = None;
        // Before anything is logged: a message that hooks refuse leaves no trace in the session.
        let cancel = self.stop.begin();
        let checked = self.check_message(&text.text, &cancel).await;
        let hook_note = match checked {
            Ok(_)
                if cancel.is_cancelled()
                    && self.session_hooks().has(HookEvent::UserPromptSubmit) =>
            {
                self.give_back(typed, None);
                return None;
            }
            Ok(hook_note) => hook_note,
            Err(reason) => {
                self.give_back(typed, Some(reason));
                return None;
            }
        };
        self.note_loaded_skills();
        let timing = PromptTiming::BetweenTurns;
        let prompt = match self.slash_blocks(&text.text, timing, &cancel).await {
            Ok(blocks) => blocks,
            Err(reason) => {
                self.permissions.end_turn_rules();
                self.give_back(typed, reason);
                return None;
            }
        };
        let Some(gate) = self.begin_turn() else {
            self.permissions.end_turn_rules();
            return None;
        };
        if cancel.is_cancelled() {
            gate.context.cancel.cancel();
        }
        let start_note = self.session_context(&gate.context.cancel).await;
        let collected = context::collect(&self.setup.contexts, &self.session.conversation.contexts);
        // A stop does not wait for a slow disk. The message itself is logged in any case.
        let collected = gate.context.cancel.run_until_cancelled(collected).await;
        let mut content = collected.unwrap_or_default();
        content.extend(start_note.into_iter().chain(hook_note));
        content.extend(self.turn_notes());
        content.extend(self.job_note().await);
        content.extend(self.session.interrupted_agents.take());
        content.extend(self.late_findings_note());
        let mentioned = self.mention_blocks(&text.text, &gate.context);
        let mentioned = gate.context.cancel.run_until_cancelled(mentioned).await;
        content.extend(mentioned.unwrap_or_default());
        content.extend(prompt);
        content.extend(text.into_blocks());
        let message = Message { role: MessageRole::User, content };
        let entry = LogEntry::Message(MessageEntry::new(message));
        if gate.journal.write(gate.turn, entry).await.is_none() {
            let outcome = TurnOutcome::Failed(MESSAGE_NOT_SAVED.to_owned());
            self.end_turn(&gate, outcome, 0, &TurnPurpose::Answer).await;
            return None;
        }
        self.session.catch_up();
        Some(gate)
    }

    pub(super) async fn retry(&mut self) {
        let mut messages = self.session.conversation.messages.iter().rev();
        let last = messages.find(|(_, message)| !is_silent(message));
        let is_open = last.is_some_and(|(_, message)| {
            message.role == MessageRole::User || message.calls().next().is_some()
        });
        if !is_open {
            return self.refuse_turn(NOTHING_TO_RETRY.to_owned());
        }
        if let Some(gate) = self.begin_turn() {
            self.run_turn(gate, TurnPurpose::Answer).await;
        }
    }
}
