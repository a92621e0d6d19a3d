//! What whoever starts an agent says and gets: the session to open, and the way to the agent.

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::AddressedCommand;
use super::children::directory::AgentDirectory;
use super::command_inbox::StopHandle;
use crate::domain::{AgentId, SessionId};

/// The way to a running agent. What it tells comes through an [`AgentEventReceiver`](super::AgentEventReceiver).
#[derive(Debug)]
pub struct AgentHandle {
    /// The address of its commands and events.
    pub id: AgentId,
    /// Takes commands. Dropping it ends the agent once its turn is over.
    pub commands: mpsc::Sender<AddressedCommand>,
    /// Stops what runs at once: a stop does not wait in the queue of commands.
    pub stop: StopHandle,
    /// The agents that this one starts.
    pub children: AgentDirectory,
    /// Ends after the agent has saved its session.
    pub task: JoinHandle<()>,
}

/// The session that an agent opens when it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitialSession {
    /// An empty session.
    New,
    /// A session from the store.
    Resume(SessionId),
    /// A fork of a session from the store.
    Fork(SessionId),
}
