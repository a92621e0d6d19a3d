//! The queue of events from an agent to its front end.
//!
//! An agent never waits for its front end: an editor that is open over the screen, a pager or a slow
//! terminal stops neither a stream nor the deadline of a tool. Events stay in order and none is
//! dropped. Once many wait, a delta joins the waiting one that it continues, so that what waits is
//! bounded by the text itself and not by the number of its pieces.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::sync::mpsc::error::TryRecvError;

use super::AgentEvent;
use crate::domain::NoticeLevel;

/// From this many waiting events on, deltas merge: a front end that keeps up takes far fewer at a
/// time and sees each delta as it was sent.
const MERGE_FROM: usize = 256;

/// A queue for the events of one agent.
pub fn event_queue() -> (AgentEventSender, AgentEventReceiver) {
    let queue = Arc::new(EventQueue::default());
    let sender = AgentEventSender(Arc::new(SenderSide(queue.clone())));
    (sender, AgentEventReceiver(queue))
}

#[derive(Debug, Default)]
struct EventQueue {
    state: Mutex<EventQueueState>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct EventQueueState {
    waiting: VecDeque<AgentEvent>,
    /// Whether no sender is left.
    is_finished: bool,
    /// Whether the receiver is gone, so that nothing needs to be kept.
    is_abandoned: bool,
}

impl EventQueue {
    fn lock(&self) -> MutexGuard<'_, EventQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends events in order. Clones send into the same queue.
#[derive(Debug, Clone)]
pub struct AgentEventSender(Arc<SenderSide>);

/// Finishes the queue when its last clone is dropped.
#[derive(Debug)]
struct SenderSide(Arc<EventQueue>);

impl Drop for SenderSide {
    fn drop(&mut self) {
        self.0.lock().is_finished = true;
        self.0.arrived.notify_one();
    }
}

impl AgentEventSender {
    /// Sends an event. Does nothing once the front end is gone; the agent ends soon after that.
    pub fn send(&self, event: AgentEvent) {
        let queue = &self.0.0;
        let mut state = queue.lock();
        if state.is_abandoned {
            tracing::debug!("the front end is gone");
            return;
        }
        let rest = if state.waiting.len() < MERGE_FROM {
            Some(event)
        } else {
            merge(&mut state.waiting, event)
        };
        state.waiting.extend(rest);
        drop(state);
        queue.arrived.notify_one();
    }

    pub(super) fn notice(&self, level: NoticeLevel, text: impl Into<String>) {
        self.send(AgentEvent::Notice { level, text: text.into() });
    }
}

/// Receives the events of an agent, in order.
#[derive(Debug)]
pub struct AgentEventReceiver(Arc<EventQueue>);

impl AgentEventReceiver {
    /// The next event; `None` once the agent has ended and all its events were received. Dropping
    /// the future loses nothing.
    pub async fn recv(&mut self) -> Option<AgentEvent> {
        loop {
            match self.try_recv() {
                Ok(event) => return Some(event),
                Err(TryRecvError::Disconnected) => return None,
                // A permit that was stored since then ends the wait at once.
                Err(TryRecvError::Empty) => self.0.arrived.notified().await,
            }
        }
    }

    /// The next event, if one waits.
    ///
    /// # Errors
    ///
    /// `Empty` while none waits, `Disconnected` once none can come any more.
    pub fn try_recv(&mut self) -> Result<AgentEvent, TryRecvError> {
        let mut state = self.0.lock();
        match state.waiting.pop_front() {
            Some(event) => Ok(event),
            None if state.is_finished => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }
}

impl Drop for AgentEventReceiver {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_abandoned = true;
        state.waiting.clear();
    }
}

/// Adds a delta to the waiting one that it continues; gives back an event that continues none.
/// Deltas of one response keep their order. The output of a tool call is shown apart from all else,
/// so it may be told before a delta that was sent earlier.
fn merge(waiting: &mut VecDeque<AgentEvent>, event: AgentEvent) -> Option<AgentEvent> {
    match event {
        AgentEvent::ToolProgress { call, text, turn } => {
            let deltas = waiting.iter_mut().rev().take_while(|waits| is_delta(waits));
            for waits in deltas {
                if let AgentEvent::ToolProgress { call: other, text: earlier, .. } = waits
                    && *other == call
                {
                    earlier.push_str(&text);
                    return None;
                }
            }
            Some(AgentEvent::ToolProgress { call, text, turn })
        }
        AgentEvent::Text { .. } | AgentEvent::Thinking { .. } | AgentEvent::CallInput { .. } => {
            let is_of_tool =
                |waits: &&mut AgentEvent| matches!(waits, AgentEvent::ToolProgress { .. });
            match (waiting.iter_mut().rev().find(|waits| !is_of_tool(waits)), event) {
                (
                    Some(AgentEvent::Text { turn: other, text: earlier }),
                    AgentEvent::Text { turn, text },
                )
                | (
                    Some(AgentEvent::Thinking { turn: other, text: earlier }),
                    AgentEvent::Thinking { turn, text },
                ) if *other == turn => {
                    earlier.push_str(&text);
                    None
                }
                (
                    Some(AgentEvent::CallInput { call: other, json: earlier, .. }),
                    AgentEvent::CallInput { call, json, .. },
                ) if *other == call => {
                    earlier.push_str(&json);
                    None
                }
                (_, event) => Some(event),
            }
        }
        AgentEvent::Prefill { turn, progress } => match waiting.back_mut() {
            Some(AgentEvent::Prefill { turn: other, progress: earlier }) if *other == turn => {
                *earlier = progress;
                None
            }
            _ => Some(AgentEvent::Prefill { turn, progress }),
        },
        event => Some(event),
    }
}

fn is_delta(event: &AgentEvent) -> bool {
    matches!(
        event,
        AgentEvent::Text { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::CallInput { .. }
            | AgentEvent::ToolProgress { .. }
    )
}

#[cfg(test)]
mod tests {
    use crate::domain::{CallId, TurnId};

    use super::*;

    const TURN: TurnId = TurnId(1);

    fn text(text: &str) -> AgentEvent {
        AgentEvent::Text { turn: TURN, text: text.into() }
    }

    fn thinking(text: &str) -> AgentEvent {
        AgentEvent::Thinking { turn: TURN, text: text.into() }
    }

    fn output(call: &str, text: &str) -> AgentEvent {
        AgentEvent::ToolProgress { turn: TURN, call: CallId::new(call), text: text.into() }
    }

    fn notice(text: &str) -> AgentEvent {
        AgentEvent::Notice { level: NoticeLevel::Info, text: text.into() }
    }

    /// A queue with so many events in it that deltas merge, and those behind these events.
    fn behind(events: impl IntoIterator<Item = AgentEvent>) -> Vec<AgentEvent> {
        let (sender, mut receiver) = event_queue();
        (0..MERGE_FROM).for_each(|_| sender.send(notice("before")));
        events.into_iter().for_each(|event| sender.send(event));
        drop(sender);
        let all = std::iter::from_fn(|| receiver.try_recv().ok());
        all.skip(MERGE_FROM).collect()
    }

    #[test]
    fn while_the_front_end_keeps_up_each_delta_arrives_by_itself() {
        let (sender, mut receiver) = event_queue();
        sender.send(text("a"));
        sender.send(text("b"));
        assert_eq!(receiver.try_recv(), Ok(text("a")));
        assert_eq!(receiver.try_recv(), Ok(text("b")));
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    }

    #[test]
    fn deltas_merge_once_many_events_wait() {
        let events = ["a", "b", "c"].map(text);
        assert_eq!(behind(events), [text("abc")]);
        let outputs = [output("1", "a"), output("2", "x"), output("1", "b"), output("2", "y")];
        assert_eq!(behind(outputs), [output("1", "ab"), output("2", "xy")]);
    }

    #[test]
    fn nothing_merges_across_another_kind_or_another_event() {
        let kinds = [text("a"), thinking("b"), text("c")];
        assert_eq!(behind(kinds.clone()), kinds);
        let apart = [text("a"), notice("n"), text("b")];
        assert_eq!(behind(apart.clone()), apart);
        let apart = [output("1", "a"), notice("n"), output("1", "b")];
        assert_eq!(behind(apart.clone()), apart);
    }

    #[test]
    fn output_of_a_tool_does_not_part_the_text_beside_it() {
        let events = [text("a"), output("1", "x"), text("b"), output("1", "y")];
        assert_eq!(behind(events), [text("ab"), output("1", "xy")]);
    }

    #[tokio::test]
    async fn the_queue_ends_when_all_senders_are_gone_and_all_is_received() {
        let (sender, mut receiver) = event_queue();
        let other = sender.clone();
        sender.send(text("last"));
        drop((sender, other));
        assert_eq!(receiver.recv().await, Some(text("last")));
        assert_eq!(receiver.recv().await, None);
    }

    #[tokio::test]
    async fn a_waiting_receiver_wakes() {
        let (sender, mut receiver) = event_queue();
        let waits = tokio::spawn(async move { (receiver.recv().await, receiver.recv().await) });
        tokio::task::yield_now().await;
        sender.send(text("a"));
        tokio::task::yield_now().await;
        drop(sender);
        assert_eq!(waits.await.unwrap(), (Some(text("a")), None));
    }

    #[test]
    fn nothing_is_kept_for_a_front_end_that_is_gone() {
        let (sender, receiver) = event_queue();
        drop(receiver);
        sender.send(text("a"));
        assert!(sender.0.0.lock().waiting.is_empty());
    }
}
