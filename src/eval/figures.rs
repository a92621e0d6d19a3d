//! What an agent did on a task, counted from its events.

use serde::Serialize;

use crate::agent::AgentEvent;
use crate::domain::{MessageRole, Money, TokenUsage, ToolStatus};
use crate::session::{LogEntry, LogRecord, TurnOutcome};

/// The figures of one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct EvalFigures {
    /// Answers of the model.
    pub rounds: u32,
    /// Tool calls that got a result.
    pub calls: u32,
    /// Tool calls whose result was an error.
    pub failed_calls: u32,
    /// Tool calls that were refused.
    pub refused_calls: u32,
    /// Tokens of all requests.
    pub usage: TokenUsage,
    /// In dollars; `None` where no price is known.
    pub cost: Option<Money>,
    /// The model that answered last.
    #[serde(skip)]
    pub model: Option<String>,
    /// How the last turn ended, as in the session's log; `None` before its end.
    pub outcome: Option<TurnOutcome>,
}

impl EvalFigures {
    /// Counts an event.
    pub fn take(&mut self, event: &AgentEvent) {
        if let AgentEvent::Recorded(record) | AgentEvent::NotRecorded(record) = event {
            self.record(record);
        } else if let AgentEvent::SpendingChanged(spending) = event {
            self.cost = spending.total().known_cost();
        } else if let AgentEvent::CallRefused { .. } = event {
            self.refused_calls += 1;
        }
    }

    fn record(&mut self, record: &LogRecord) {
        if let LogEntry::TurnEnd(end) = &record.entry {
            self.outcome = Some(end.outcome.clone());
            return;
        }
        let Some(entry) = record.entry.as_message() else { return };
        if entry.model.is_some() {
            self.model.clone_from(&entry.model);
        }
        if let Some(usage) = entry.usage {
            self.usage += usage;
        }
        self.rounds += u32::from(entry.role == MessageRole::Assistant && entry.source.is_main());
        if let Some(result) = &entry.result {
            self.calls += 1;
            self.failed_calls += u32::from(result.status == ToolStatus::Failed);
        }
    }

    /// Whether the turn has ended.
    pub fn is_over(&self) -> bool {
        self.outcome.is_some()
    }

    /// What ended the turn before its answer, as a sentence.
    pub fn failure(&self) -> Option<String> {
        match self.outcome.as_ref()? {
            TurnOutcome::Answered | TurnOutcome::Interrupted => None,
            TurnOutcome::RoundLimit => Some("The turn used all its rounds.".to_owned()),
            TurnOutcome::Budget(message) | TurnOutcome::Failed(message) => Some(message.clone()),
            TurnOutcome::ModelFailed(failure) => Some(failure.to_string()),
        }
    }

    /// The part of the tokens read that came from the server's cache, from 0 to 1.
    pub fn cache_share(&self) -> f64 {
        share(self.usage.cache_read, self.usage.input)
    }
}

/// The share of a part, from 0 to 1; 0 of nothing.
#[allow(clippy::cast_precision_loss, reason = "exact up to 2^53, and a share needs less")]
pub(super) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
