//! The queue of events from agents to their front end.
//!
//! One agent, or several, send into a queue; each event names its agent. An agent never waits for
//! its front end: an editor that is open over the screen, a pager or a slow terminal stops neither
//! a stream nor the deadline of a tool. Events stay in order and none is dropped. Once many wait, a
//! delta joins the waiting one that it continues (output of a tool also past events of others), so
//! that what waits is bounded by the text itself and not by the number of its pieces.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{Notify, mpsc};

use super::children::signs::{ChildSign, sign_of};
use super::{AddressedEvent, AgentEvent, debug_events};
use crate::domain::{AgentId, CallId, NoticeLevel, TurnId};
use crate::platform::debug_log::DebugLog;

/// From this many waiting events on, deltas merge: a front end that keeps up takes far fewer at a
/// time and sees each delta as it was sent.
const MERGE_FROM: usize = 256;
/// How far back a delta looks for the one that it continues.
const MERGE_WITHIN: usize = 64;

/// A queue for the events of this agent. [`AgentEventSender::for_agent`] lets others send into it.
pub fn event_queue(agent: AgentId) -> (AgentEventSender, AgentEventReceiver) {
    let queue = Arc::new(EventQueue::default());
    let side = Arc::new(SenderSide(queue.clone()));
    (
        AgentEventSender { agent, side, debug: DebugLog::off(), signs: None },
        AgentEventReceiver(queue),
    )
}

#[derive(Debug, Default)]
struct EventQueue {
    state: Mutex<EventQueueState>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct EventQueueState {
    waiting: VecDeque<AddressedEvent>,
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

/// Sends the events of one agent, in order. Clones send into the same queue.
#[derive(Debug, Clone)]
pub struct AgentEventSender {
    agent: AgentId,
    side: Arc<SenderSide>,
    debug: DebugLog,
    /// Where the agent that has started this one hears of it.
    signs: Option<mpsc::UnboundedSender<ChildSign>>,
}

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
    /// What is sent carries this id.
    pub fn agent(&self) -> AgentId {
        self.agent
    }

    /// A sender of another agent's events into the same queue.
    pub fn for_agent(&self, agent: AgentId) -> Self {
        Self { agent, side: self.side.clone(), debug: DebugLog::off(), signs: None }
    }

    /// The same sender, which writes what it sends to this debug log, too.
    pub(super) fn with_debug_log(self, debug: DebugLog) -> Self {
        Self { debug, ..self }
    }

    /// The same sender, whose events are signs for the agent that has started this one, too.
    pub(super) fn with_signs(self, signs: mpsc::UnboundedSender<ChildSign>) -> Self {
        Self { signs: Some(signs), ..self }
    }

    /// Sends an event. Does nothing once the front end is gone; the agent ends soon after that.
    pub fn send(&self, event: AgentEvent) {
        let queue = &self.side.0;
        if let Some(signs) = &self.signs {
            // Nobody listens once the session of the other agent is left.
            let _ = signs.send(sign_of(&event));
        }
        let event = AddressedEvent { agent: self.agent, event };
        debug_events::write(&self.debug, &event);
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

    /// How many events wait for the front end.
    pub(super) fn waiting(&self) -> usize {
        self.side.0.lock().waiting.len()
    }

    pub(super) fn notice(&self, level: NoticeLevel, text: impl Into<String>) {
        self.send(AgentEvent::Notice { level, text: text.into() });
    }
}

/// Receives the events of the agents, each agent's in order.
#[derive(Debug)]
pub struct AgentEventReceiver(Arc<EventQueue>);

impl AgentEventReceiver {
    /// The next event; `None` once all agents have ended and all events were received. Dropping
    /// the future loses nothing.
    pub async fn recv(&mut self) -> Option<AddressedEvent> {
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
    pub fn try_recv(&mut self) -> Result<AddressedEvent, TryRecvError> {
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

/// What a delta continues: two deltas with equal keys are two parts of one.
#[derive(Debug, PartialEq, Eq)]
enum DeltaKey<'e> {
    Text(TurnId),
    Thinking(TurnId),
    CallInput(&'e CallId),
    ToolOutput(&'e CallId),
    Prefill(TurnId),
    CompactionProgress(TurnId),
}

impl DeltaKey<'_> {
    /// Whether a delta may be told before an earlier one. Deltas of a response keep their order; the
    /// output of a tool call is shown apart from all of them.
    fn may_pass(&self, earlier: &Self) -> bool {
        match (self, earlier) {
            (Self::Prefill(_) | Self::CompactionProgress(_), _)
            | (_, Self::Prefill(_) | Self::CompactionProgress(_)) => false,
            (Self::ToolOutput(_), _) | (_, Self::ToolOutput(_)) => true,
            (
                Self::Text(_) | Self::Thinking(_) | Self::CallInput(_),
                Self::Text(_) | Self::Thinking(_) | Self::CallInput(_),
            ) => false,
        }
    }
}

/// What an event continues, and its text. `None` if it is no delta; without text, a later one
/// replaces an earlier one.
fn delta(event: &mut AgentEvent) -> Option<(DeltaKey<'_>, Option<&mut String>)> {
    match event {
        AgentEvent::Text { turn, text } => Some((DeltaKey::Text(*turn), Some(text))),
        AgentEvent::Thinking { turn, text } => Some((DeltaKey::Thinking(*turn), Some(text))),
        AgentEvent::CallInput { call, json, .. } => Some((DeltaKey::CallInput(call), Some(json))),
        AgentEvent::ToolProgress { call, text, .. } => {
            Some((DeltaKey::ToolOutput(call), Some(text)))
        }
        AgentEvent::Prefill { turn, .. } => Some((DeltaKey::Prefill(*turn), None)),
        AgentEvent::CompactionProgress { turn, .. } => {
            Some((DeltaKey::CompactionProgress(*turn), None))
        }
        AgentEvent::SessionOpened { .. }
        | AgentEvent::SessionRead { .. }
        | AgentEvent::ModelChanged { .. }
        | AgentEvent::ModelNeeded { .. }
        | AgentEvent::ProviderFailed { .. }
        | AgentEvent::ModelLoading(_)
        | AgentEvent::ModeChanged(_)
        | AgentEvent::SessionState { .. }
        | AgentEvent::TurnStarted { .. }
        | AgentEvent::Recorded(_)
        | AgentEvent::NotRecorded(_)
        | AgentEvent::SteerSettled { .. }
        | AgentEvent::MessageReturned(_)
        | AgentEvent::RequestSent { .. }
        | AgentEvent::CompactionStarted { .. }
        | AgentEvent::RequestRateLimited { .. }
        | AgentEvent::CallStarted { .. }
        | AgentEvent::ResponseTimed { .. }
        | AgentEvent::CacheMissed { .. }
        | AgentEvent::SpendingChanged(_)
        | AgentEvent::ResponseDropped { .. }
        | AgentEvent::ToolStarted { .. }
        | AgentEvent::JobStarted(_)
        | AgentEvent::RaceStarted { .. }
        | AgentEvent::RaceEnded { .. }
        | AgentEvent::JobEnded { .. }
        | AgentEvent::Jobs(_)
        | AgentEvent::JobOutput(_)
        | AgentEvent::ApprovalAsked(_)
        | AgentEvent::QuestionsAsked(_)
        | AgentEvent::ApprovalFacts { .. }
        | AgentEvent::ApprovalWithdrawn(_)
        | AgentEvent::Notice { .. }
        | AgentEvent::CommandRefused(_)
        | AgentEvent::CallRefused { .. }
        | AgentEvent::Rules(_)
        | AgentEvent::Context(_)
        | AgentEvent::Memory(_)
        | AgentEvent::ContextEstimated(_)
        | AgentEvent::PromptFiles(_)
        | AgentEvent::SaveFailed { .. }
        | AgentEvent::RewindPlanned(_)
        | AgentEvent::ReviewPlanned(_)
        | AgentEvent::Rewound { .. }
        | AgentEvent::Forked { .. }
        | AgentEvent::Subagent(_) => None,
    }
}

/// Adds a delta to the waiting one of the same agent that it continues; gives back an event that
/// continues none.
fn merge(
    waiting: &mut VecDeque<AddressedEvent>,
    mut addressed: AddressedEvent,
) -> Option<AddressedEvent> {
    let agent = addressed.agent;
    let Some((key, text)) = delta(&mut addressed.event) else { return Some(addressed) };
    let latest = waiting.iter_mut().rev().take(MERGE_WITHIN);
    for waits in latest.filter(|waits| waits.agent == agent) {
        let Some((earlier_key, earlier_text)) = delta(&mut waits.event) else { break };
        if earlier_key == key {
            match (earlier_text, text) {
                (Some(earlier), Some(text)) => earlier.push_str(text),
                (None, _) | (_, None) => *waits = addressed,
            }
            return None;
        }
        if !key.may_pass(&earlier_key) {
            break;
        }
    }
    Some(addressed)
}

#[cfg(test)]
mod tests {
    use crate::providers::PrefillProgress;

    use super::*;

    const AGENT: AgentId = AgentId(1);
    const TURN: TurnId = TurnId(1);

    fn from(agent: AgentId, event: AgentEvent) -> AddressedEvent {
        AddressedEvent { agent, event }
    }

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
        let (sender, mut receiver) = event_queue(AGENT);
        (0..MERGE_FROM).for_each(|_| sender.send(notice("before")));
        events.into_iter().for_each(|event| sender.send(event));
        drop(sender);
        let all = std::iter::from_fn(|| receiver.try_recv().ok());
        all.skip(MERGE_FROM).map(|addressed| addressed.event).collect()
    }

    #[test]
    fn while_the_front_end_keeps_up_each_delta_arrives_by_itself() {
        let (sender, mut receiver) = event_queue(AGENT);
        sender.send(text("a"));
        sender.send(text("b"));
        assert_eq!(receiver.try_recv(), Ok(from(AGENT, text("a"))));
        assert_eq!(receiver.try_recv(), Ok(from(AGENT, text("b"))));
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

    #[test]
    fn a_delta_joins_only_the_text_of_its_own_agent() {
        let (sender, mut receiver) = event_queue(AGENT);
        let other = sender.for_agent(AgentId(2));
        (0..MERGE_FROM).for_each(|_| sender.send(notice("before")));
        for (mine, theirs) in [("a", "x"), ("b", "y")] {
            sender.send(text(mine));
            other.send(text(theirs));
        }
        let all = std::iter::from_fn(|| receiver.try_recv().ok());
        let merged: Vec<_> = all.skip(MERGE_FROM).collect();
        assert_eq!(merged, [from(AGENT, text("ab")), from(AgentId(2), text("xy"))]);
    }

    #[test]
    fn progress_with_the_prompt_replaces_what_was_told_before() {
        let prefill = |processed| AgentEvent::Prefill {
            turn: TURN,
            progress: PrefillProgress { processed, total: 9, cached: 0 },
        };
        assert_eq!(behind([prefill(1), prefill(2), text("a")]), [prefill(2), text("a")]);
    }

    #[tokio::test]
    async fn the_queue_ends_when_all_senders_are_gone_and_all_is_received() {
        let (sender, mut receiver) = event_queue(AGENT);
        let other = sender.clone();
        sender.send(text("last"));
        drop((sender, other));
        assert_eq!(receiver.recv().await, Some(from(AGENT, text("last"))));
        assert_eq!(receiver.recv().await, None);
    }

    #[tokio::test]
    async fn a_waiting_receiver_wakes() {
        let (sender, mut receiver) = event_queue(AGENT);
        let waits = tokio::spawn(async move { (receiver.recv().await, receiver.recv().await) });
        tokio::task::yield_now().await;
        sender.send(text("a"));
        tokio::task::yield_now().await;
        drop(sender);
        assert_eq!(waits.await.unwrap(), (Some(from(AGENT, text("a"))), None));
    }

    #[test]
    fn nothing_is_kept_for_a_front_end_that_is_gone() {
        let (sender, receiver) = event_queue(AGENT);
        drop(receiver);
        sender.send(text("a"));
        assert!(sender.side.0.lock().waiting.is_empty());
    }
}
