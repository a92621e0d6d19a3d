//! The agents that calls of a session have started, and how they stand: at most so many at once, and until
//! the session is left. What follows one is in `follower`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, watch};
use tokio_util::task::TaskTracker;

use crate::domain::{AgentId, SubagentState, SubagentSummary, TurnId};

use crate::agent::AddressedCommand;
use crate::agent::command_inbox::StopHandle;

use super::family_budget::FamilyBudget;

/// The most children that run at once, and that are started in one turn.
const MAX_RUNNING: usize = 8;
const MAX_IN_TURN: u32 = 24;
/// How many children that have ended a session still knows: each holds an open log.
const MAX_ENDED: usize = 8;
/// How long children may take to save their logs when the session is left.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// The end of a child: what its parent is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::agent) struct ChildEnd {
    /// Its last text, which is a report only where its state is `Done`.
    pub(in crate::agent) text: String,
    /// Why it is not done, as a sentence; empty where it is.
    pub(in crate::agent) reason: String,
}

/// An agent that a call has started, as its parent holds it.
pub(in crate::agent) struct ChildAgent {
    pub(super) summary: Mutex<SubagentSummary>,
    /// Without it the agent ends once its turn is over.
    pub(super) commands: Mutex<Option<mpsc::Sender<AddressedCommand>>>,
    pub(super) stop: StopHandle,
    pub(super) end: watch::Sender<Option<ChildEnd>>,
    /// Whether the parent's model has been told of its end.
    pub(super) is_told: Mutex<bool>,
}

/// Holds the children of one session. Its drop ends them.
#[derive(Default)]
pub(in crate::agent) struct SessionAgents {
    state: Mutex<SessionAgentsState>,
    pub(super) followers: TaskTracker,
    /// Woken when a child in the background has ended.
    pub(super) ended: Notify,
    pub(in crate::agent) budget: FamilyBudget,
}

#[derive(Default)]
struct SessionAgentsState {
    children: BTreeMap<AgentId, Arc<ChildAgent>>,
    in_turn: (TurnId, u32),
    is_closed: bool,
}

impl ChildAgent {
    /// How it stands now.
    pub(in crate::agent) fn summary(&self) -> SubagentSummary {
        lock(&self.summary).clone()
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut SubagentSummary)) -> SubagentSummary {
        let mut summary = lock(&self.summary);
        change(&mut summary);
        summary.clone()
    }

    /// Whether its end still has to be told, and tells it by this.
    pub(super) fn tell_end(&self) -> bool {
        !std::mem::replace(&mut *lock(&self.is_told), true)
    }

    /// Lets the agent end: nobody can talk to it any more.
    pub(super) fn release(&self) {
        lock(&self.commands).take();
    }

    fn is_untold(&self) -> bool {
        !*lock(&self.is_told) && self.end.borrow().is_some()
    }
}

impl SessionAgents {
    /// Takes up one more place for a child of this turn.
    ///
    /// # Errors
    ///
    /// When there is none; the error is for the model.
    pub(super) fn reserve(&self, turn: TurnId) -> Result<(), String> {
        let mut state = lock(&self.state);
        if state.is_closed {
            return Err("The session was left. Do not retry.".to_owned());
        }
        if state.running() >= MAX_RUNNING {
            return Err(format!(
                "{MAX_RUNNING} agents run already, and no more run at once. Do not retry now: do the work \
                 yourself, or go on when one has reported."
            ));
        }
        if state.in_turn.0 != turn {
            state.in_turn = (turn, 0);
        }
        if state.in_turn.1 >= MAX_IN_TURN {
            return Err(format!(
                "This turn has started {MAX_IN_TURN} agents, which is the most. Do not retry: do the rest \
                 yourself."
            ));
        }
        state.in_turn.1 += 1;
        Ok(())
    }

    /// Keeps a child that has just been started. `false` where the session was left meanwhile.
    pub(super) fn hold(&self, id: AgentId, child: Arc<ChildAgent>) -> bool {
        let mut state = lock(&self.state);
        if state.is_closed {
            return false;
        }
        state.forget_ended();
        state.children.insert(id, child);
        true
    }

    /// All children that the session knows, in the order in which they were started.
    pub(in crate::agent) fn all(&self) -> Vec<Arc<ChildAgent>> {
        lock(&self.state).children.values().cloned().collect()
    }

    /// Those that run now.
    pub(in crate::agent) fn running(&self) -> Vec<SubagentSummary> {
        let all = self.all().into_iter().map(|child| child.summary());
        all.filter(|summary| summary.state.is_running()).collect()
    }

    /// Stops all that run. Each tells its end as ever.
    pub(in crate::agent) fn stop_all(&self) {
        for child in self.all() {
            if child.summary().state.is_running() {
                child.stop.stop_turn();
            }
        }
    }

    /// Waits until a child in the background has ended whose report the model may go on with. One that
    /// was stopped is told of with the next message: a stop is final.
    pub(in crate::agent) async fn report_waits(&self) {
        loop {
            let ended = self.ended.notified();
            let waits = |child: &Arc<ChildAgent>| {
                child.is_untold() && child.summary().state != SubagentState::Stopped
            };
            if self.all().iter().any(waits) {
                return;
            }
            ended.await;
        }
    }

    /// Ends all children because the session is left, and waits until their logs are saved.
    pub(in crate::agent) async fn close(&self) {
        self.end_all();
        self.followers.close();
        if tokio::time::timeout(CLOSE_TIMEOUT, self.followers.wait()).await.is_err() {
            tracing::warn!("an agent that was started did not end in time");
        }
    }

    fn end_all(&self) {
        let children = {
            let mut state = lock(&self.state);
            state.is_closed = true;
            std::mem::take(&mut state.children)
        };
        for child in children.into_values() {
            child.stop.stop_all();
            child.release();
        }
    }
}

impl Drop for SessionAgents {
    fn drop(&mut self) {
        self.end_all();
    }
}

impl SessionAgentsState {
    fn running(&self) -> usize {
        self.children.values().filter(|child| child.summary().state.is_running()).count()
    }

    /// Closes the oldest children that have ended and been told of.
    fn forget_ended(&mut self) {
        let is_over =
            |child: &ChildAgent| !child.summary().state.is_running() && !child.is_untold();
        let ended: Vec<AgentId> =
            self.children.iter().filter(|(_, child)| is_over(child)).map(|(id, _)| *id).collect();
        for id in ended.iter().take((ended.len() + 1).saturating_sub(MAX_ENDED)) {
            self.children.remove(id).iter().for_each(|child| child.release());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
