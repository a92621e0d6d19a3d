//! The way to the agents that an agent has started, for its front end.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use crate::agent::{AddressedCommand, StopHandle};
use crate::domain::AgentId;

/// Finds the agents that an agent has started. Clones find the same.
#[derive(Debug, Clone, Default)]
pub struct AgentDirectory(Arc<Mutex<BTreeMap<AgentId, AgentEntry>>>);

#[derive(Debug)]
struct AgentEntry {
    /// Weak: an agent ends when whoever started it lets it go.
    commands: mpsc::WeakSender<AddressedCommand>,
    stop: StopHandle,
}

impl AgentDirectory {
    /// The command queue of an agent that has not ended.
    pub fn commands(&self, agent: AgentId) -> Option<mpsc::Sender<AddressedCommand>> {
        self.lock().get(&agent)?.commands.upgrade()
    }

    /// Stops the turn of an agent. `false` where there is no such agent.
    pub fn stop_turn(&self, agent: AgentId) -> bool {
        let all = self.lock();
        let found = all.get(&agent);
        found.iter().for_each(|entry| entry.stop.stop_turn());
        found.is_some()
    }

    pub(super) fn add(
        &self,
        agent: AgentId,
        commands: &mpsc::Sender<AddressedCommand>,
        stop: StopHandle,
    ) {
        let mut all = self.lock();
        all.retain(|_, entry| entry.commands.strong_count() > 0);
        all.insert(agent, AgentEntry { commands: commands.downgrade(), stop });
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<AgentId, AgentEntry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
