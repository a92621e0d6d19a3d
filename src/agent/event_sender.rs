//! Sends events to the front end. Nothing is dropped: a full queue makes the agent wait.

use tokio::sync::mpsc;

use super::AgentEvent;
use crate::domain::NoticeLevel;

/// Sends events in order. The queue is bounded: an agent that is ahead of its front end waits.
#[derive(Debug, Clone)]
pub(super) struct AgentEventSender(mpsc::Sender<AgentEvent>);

impl AgentEventSender {
    pub(super) fn new(sender: mpsc::Sender<AgentEvent>) -> Self {
        Self(sender)
    }

    /// Sends an event. Does nothing once the front end is gone; the agent ends soon after that.
    pub(super) async fn tell(&self, event: AgentEvent) {
        if self.0.send(event).await.is_err() {
            tracing::debug!("the front end is gone");
        }
    }

    pub(super) async fn notice(&self, level: NoticeLevel, text: impl Into<String>) {
        self.tell(AgentEvent::Notice { level, text: text.into() }).await;
    }
}
