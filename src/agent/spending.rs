//! What the session takes, as the front end is told of it.

use serde_json::json;

use crate::domain::TokenUsage;

use super::AgentEvent;
use super::agent_loop::Agent;

impl Agent {
    /// Tells what the session has taken so far.
    pub(super) async fn tell_spent(&mut self) {
        self.session.catch_up();
        let spending = self.session.conversation.spending.clone();
        self.events.tell(AgentEvent::SpendingChanged(Box::new(spending))).await;
    }

    /// Tells why a prompt was read anew, where a response shows that it was.
    pub(super) async fn tell_cache(&mut self, usage: Option<TokenUsage>) {
        if let Some(miss) = usage.and_then(|usage| self.prompt_cache.answered(usage)) {
            let reason = miss.to_string();
            tracing::info!(reason, "cache missed");
            self.setup.debug.event("cache_missed", &json!({ "reason": reason }));
            self.events.tell(AgentEvent::CacheMissed { reason }).await;
        }
    }
}
