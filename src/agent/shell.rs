//! Commands of the person's own: `!cargo test`. Their output is shown to the model, too, as a
//! context block that begins with `$` and the command.

use serde_json::json;

use crate::context;
use crate::domain::{Block, CallId, CallInput, Message, Role, ToolCall};
use crate::session::{LogEntry, MessageEntry};

use super::drive::FrontEnd;
use super::driver::Agent;
use super::gate::{Ended, Gate, execute_for_person};
use super::{Command, Event};

/// The tool that runs it.
const BASH: &str = "Bash";
/// The longest it may run, in milliseconds: as long as the tool allows.
const TIMEOUT_MS: u32 = 600_000;

impl Agent {
    pub(super) async fn shell(&mut self, command: String) {
        let turn = self.open.last_turn();
        let gate = match self.gate(turn) {
            Ok(gate) => gate,
            Err(reason) => return self.error(reason).await,
        };
        let call = ToolCall {
            id: CallId::generate(),
            name: BASH.to_owned(),
            input: CallInput::Valid(json!({"command": command, "timeout": TIMEOUT_MS})),
        };
        let ended = self.run_beside_commands(&gate, &call).await;
        let info = ended.info(BASH);
        let Ended { output, elapsed, .. } = ended;
        let said = context::harmless(&format!("$ {command}\n{}", output.observation));
        let block = Block::Context { name: "shell".to_owned(), text: said };
        let entry = MessageEntry {
            result: Some(info),
            ..MessageEntry::new(Message { role: Role::User, content: vec![block] })
        };
        gate.journal.write(turn, LogEntry::Message(entry)).await;
        self.open.catch_up();
        self.stop.over();
        let (status, display, summary) = (output.status, output.display, output.summary);
        let ended = Event::ToolEnded { turn, call: call.id, status, display, summary, elapsed };
        self.events.tell(ended).await;
    }

    /// Runs the command, and meanwhile does what can be done at any time. What would begin
    /// something else waits for its end.
    async fn run_beside_commands(&mut self, gate: &Gate, call: &ToolCall) -> Ended {
        let running = execute_for_person(gate, call);
        tokio::pin!(running);
        let mut front_end = FrontEnd::There;
        loop {
            let command = tokio::select! {
                output = &mut running => return output,
                command = self.commands.next_meanwhile(), if front_end == FrontEnd::There => command,
            };
            match command {
                Some(
                    command @ (Command::Answer { .. }
                    | Command::Unsteer { .. }
                    | Command::SetMode(_)
                    | Command::SetTitle(_)
                    | Command::Rules(_)),
                ) => self.command_at_any_time(command).await,
                Some(
                    command @ (Command::Send { .. }
                    | Command::Steer { .. }
                    | Command::Shell { .. }
                    | Command::Retry
                    | Command::Compact
                    | Command::NewSession
                    | Command::Resume { .. }
                    | Command::Fork { .. }
                    | Command::PlanRewind(_)
                    | Command::Rewind { .. }
                    | Command::SetModel(_)
                    | Command::UseModel(_)
                    | Command::SetEffort(_)),
                ) => self.commands.hold(command),
                None => {
                    front_end = FrontEnd::Gone;
                    gate.context.cancel.cancel();
                }
            }
        }
    }
}
