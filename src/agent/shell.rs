//! Commands of the person's own: `!cargo test`. Their output is shown to the model, too, as a
//! message of the person's that begins with `$` and the command.

use std::time::Instant;

use serde_json::json;

use crate::domain::{Block, CallId, CallInput, Message, Role, ToolCall};
use crate::session::{Entry, MessageEntry, ResultInfo};

use super::Event;
use super::driver::Agent;
use super::gate::execute_for_person;

/// The tool that runs it.
const BASH: &str = "Bash";
/// The longest it may run, in milliseconds: as long as the tool allows.
const TIMEOUT_MS: u32 = 600_000;

impl Agent {
    pub(super) async fn shell(&mut self, command: String) {
        let turn = self.open.last_turn();
        let Some(gate) = self.gate(turn).await else { return };
        let call = ToolCall {
            id: CallId::generate(),
            name: BASH.to_owned(),
            input: CallInput::Valid(json!({"command": command, "timeout": TIMEOUT_MS})),
        };
        let started = Instant::now();
        let output = execute_for_person(&gate, &call).await;
        let elapsed = started.elapsed();
        let block = Block::Text { text: format!("$ {command}\n{}", output.observation) };
        let entry = MessageEntry {
            result: Some(ResultInfo {
                name: BASH.to_owned(),
                status: output.status,
                summary: output.summary.clone(),
                display: output.display.clone(),
                elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            }),
            ..MessageEntry::new(Message { role: Role::User, content: vec![block] })
        };
        gate.journal.write(turn, Entry::Message(entry)).await;
        self.open.catch_up();
        let (status, display, summary) = (output.status, output.display, output.summary);
        let ended = Event::ToolEnded { turn, call: call.id, status, display, summary, elapsed };
        self.events.tell(ended).await;
    }
}
