//! Tells the front end what the session has spent, and why a prompt cache missed.

use crate::domain::TokenUsage;

use super::AgentEvent;
use super::agent_loop::Agent;

impl Agent {
    /// Tells what the session has spent so far.
    pub(super) fn tell_spent(&mut self) {
        self.session.catch_up();
        let spending = self.session.conversation.spending.clone();
        self.events.send(AgentEvent::SpendingChanged(Box::new(spending)));
    }

    /// Tells why the prompt cache missed, if the usage of a response shows that it did.
    pub(super) fn tell_cache(&mut self, usage: Option<TokenUsage>) {
        if let Some(miss) = usage.and_then(|usage| self.prompt_cache.answered(usage)) {
            let reason = miss.to_string();
            tracing::info!(reason, "cache missed");
            self.events.send(AgentEvent::CacheMissed { reason });
        }
    }
}
