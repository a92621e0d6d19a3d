//! Commands that the user types: `!cargo test`. The model gets their output, too, as a context
//! block that begins with `$` and the command.

use serde_json::json;

use crate::context;
use crate::domain::{CallId, CallInput, ContentBlock, Message, MessageRole, ToolCall};
use crate::session::{LogEntry, MessageEntry, SHELL_CONTEXT};
use crate::tools::SHELL_TOOL;

use super::AgentCommand;
use super::agent_loop::Agent;
use super::pipeline::execute_for_user;
use super::run::CompletedCall;
use super::tool_gate::ToolGate;
use super::turn_runner::FrontEndState;

/// The longest that a command may run, in milliseconds: the most that the tool allows.
const TIMEOUT_MS: u32 = 600_000;

impl Agent {
    pub(super) async fn shell(&mut self, command: String) {
        let turn = self.session.last_turn();
        let gate = match self.gate(turn) {
            Ok(gate) => gate,
            Err(reason) => return self.error(reason),
        };
        let call = ToolCall {
            id: CallId::generate(),
            name: SHELL_TOOL.to_owned(),
            input: CallInput::Valid(json!({"command": command, "timeout": TIMEOUT_MS})),
        };
        let ended = self.run_beside_commands(&gate, execute_for_user(&gate, &call)).await;
        let info = ended.info(SHELL_TOOL);
        let text =
            context::escape_context_tags(&format!("$ {command}\n{}", ended.output.observation));
        let block = ContentBlock::Context { name: SHELL_CONTEXT.to_owned(), text };
        let entry = MessageEntry {
            result: Some(info),
            ..MessageEntry::new(Message { role: MessageRole::User, content: vec![block] })
        };
        self.stop.end();
        gate.journal.write_end(turn, LogEntry::Message(entry)).await;
        self.session.catch_up();
        self.tell_uncounted().await;
    }

    /// Runs a command, and meanwhile handles the commands that are possible at any time. All
    /// others wait until this one has ended.
    pub(super) async fn run_beside_commands(
        &mut self,
        gate: &ToolGate,
        running: impl Future<Output = CompletedCall>,
    ) -> CompletedCall {
        tokio::pin!(running);
        let mut front_end = FrontEndState::Connected;
        loop {
            let command = tokio::select! {
                output = &mut running => return output,
                command = self.commands.next_meanwhile(), if front_end == FrontEndState::Connected => command,
            };
            match command {
                Some(command)
                    if command.is_possible_at_any_time()
                        || matches!(command, AgentCommand::WithdrawSteer { .. }) =>
                {
                    self.command_at_any_time(command).await;
                }
                Some(command) => self.commands.hold(command),
                None => {
                    front_end = FrontEndState::Disconnected;
                    gate.context.cancel.cancel();
                }
            }
        }
    }
}
