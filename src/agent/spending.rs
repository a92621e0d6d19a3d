//! What the session takes, as the front end is told of it.

use serde_json::json;

use crate::domain::Usage;

use super::Event;
use super::driver::Agent;

impl Agent {
    /// Tells what the session has taken so far.
    pub(super) async fn tell_spent(&mut self) {
        self.open.catch_up();
        let spending = self.open.conversation.spending.clone();
        self.events.tell(Event::Spent(Box::new(spending))).await;
    }

    /// Tells why a prompt was read anew, where a response shows that it was.
    pub(super) async fn tell_cache(&mut self, usage: Option<Usage>) {
        if let Some(miss) = usage.and_then(|usage| self.prefix.answered(usage)) {
            let reason = miss.to_string();
            tracing::info!(reason, "cache missed");
            self.setup.debug.event("cache_missed", &json!({ "reason": reason }));
            self.events.tell(Event::CacheMissed { reason }).await;
        }
    }
}
