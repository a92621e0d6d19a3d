//! The way of events to the front end.

use tokio::sync::mpsc;

use super::AgentEvent;
use crate::domain::NoticeLevel;

/// Sends events in order. The queue is bounded: an agent that is ahead of its front end waits, and
/// nothing is ever dropped.
#[derive(Debug, Clone)]
pub(super) struct AgentEventSender(mpsc::Sender<AgentEvent>);

impl AgentEventSender {
    pub(super) fn new(sender: mpsc::Sender<AgentEvent>) -> Self {
        Self(sender)
    }

    /// Tells the front end. Once it is gone there is nobody to tell, and the agent ends soon.
    pub(super) async fn tell(&self, event: AgentEvent) {
        if self.0.send(event).await.is_err() {
            tracing::debug!("the front end is gone");
        }
    }

    pub(super) async fn notice(&self, level: NoticeLevel, text: impl Into<String>) {
        self.tell(AgentEvent::Notice { level, text: text.into() }).await;
    }
}
