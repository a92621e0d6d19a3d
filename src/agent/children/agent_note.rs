//! Brings the reports of children in the background to the model: with its next request, or as a turn of
//! their own where the agent is idle.

use crate::agent::agent_loop::Agent;
use crate::agent::turn_runner::TurnPurpose;
use crate::domain::{ContentBlock, Message, MessageRole, NoticeLevel, SubagentSummary, TurnId};
use crate::session::{LogEntry, MessageEntry};

use super::report::{self, AGENT_NOTE};

impl Agent {
    /// A note on the children that have ended and that the model has not been told of.
    fn agent_note(&self) -> Option<MessageEntry> {
        let mut agents: Vec<SubagentSummary> = Vec::new();
        let mut texts = Vec::new();
        for child in self.session.agents.all() {
            let end = child.end.borrow().clone();
            if let Some(end) = end.filter(|_| child.tell_end()) {
                let summary = child.summary();
                texts.push(report::told(&summary, &end));
                agents.push(summary);
            }
        }
        let text = self.setup.redactor.redact_own(&texts.join("\n\n")).into_owned();
        let note = ContentBlock::Context { name: AGENT_NOTE.into(), text };
        let message = Message { role: MessageRole::User, content: vec![note] };
        (!texts.is_empty()).then(|| MessageEntry { agents, ..MessageEntry::new(message) })
    }

    /// Tells the model which children have ended since its last request.
    pub(in crate::agent) async fn tell_ended_agents(&mut self, turn: TurnId) {
        if let Some(note) = self.agent_note() {
            self.session.write(turn, LogEntry::Message(note)).await;
        }
    }

    /// Begins a turn on the reports that have come while nothing ran.
    pub(in crate::agent) async fn answer_reports(&mut self) {
        let Some(note) = self.agent_note() else { return };
        let Some(gate) = self.begin_turn() else { return };
        gate.journal.write(gate.turn, LogEntry::Message(note)).await;
        self.session.catch_up();
        self.run_turn(gate, TurnPurpose::Reports).await;
    }

    /// Tells the user which children go on after the end of a turn.
    pub(in crate::agent) fn tell_running_agents(&self) {
        let running = self.session.agents.running();
        let names: Vec<String> = running.iter().map(SubagentSummary::name).collect();
        if !names.is_empty() {
            let text = format!(
                "Agents still running in the background: {}. /agents shows them.",
                names.join("; ")
            );
            self.events.notice(NoticeLevel::Info, text);
        }
    }
}
