//! An agent that a call has started, as the screen knows it.

use std::time::Duration;

use crate::domain::{AgentId, SubagentSummary};

/// An agent that a call has started.
#[derive(Debug, Clone, PartialEq)]
pub struct StartedAgent {
    /// The agent that made the call.
    pub parent: AgentId,
    pub summary: SubagentSummary,
    /// When the summary came, on the screen's clock.
    pub(super) told_at: Duration,
}

impl StartedAgent {
    /// How long it has run by now.
    pub fn running_time(&self, now: Duration) -> Duration {
        let then = Duration::from_millis(self.summary.elapsed_ms);
        match self.summary.state.is_running() {
            true => then + now.saturating_sub(self.told_at),
            false => then,
        }
    }
}
