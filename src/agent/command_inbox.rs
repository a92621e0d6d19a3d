//! The queue of commands to the agent, and stopping, which does not wait in that queue.
//!
//! The agent has one cancellation token, and each turn a child of it. A stop may come before the
//! command that it is meant for has begun a turn, because the command waits in the queue. So a stop
//! that finds a waiting command is kept for the turn that this command begins; a stop that finds
//! nothing does nothing.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::event_queue::AgentEventSender;
use super::{AddressedCommand, AgentCommand, AgentEvent, CommandRefusal};

/// Stops what an agent is doing. Clones stop the same agent.
#[derive(Debug, Clone)]
pub struct StopHandle {
    all: CancellationToken,
    shared: Arc<Mutex<StopState>>,
    commands: mpsc::WeakSender<AddressedCommand>,
}

/// The agent's end of the queue of commands.
#[derive(Debug)]
pub(super) struct CommandInbox {
    commands: mpsc::Receiver<AddressedCommand>,
    /// Where refused commands are told; names the agent that this inbox is of.
    events: AgentEventSender,
    /// Commands that came while something ran and have to wait until it ends.
    held: VecDeque<AgentCommand>,
    shared: Arc<Mutex<StopState>>,
}

#[derive(Debug)]
struct StopState {
    phase: CommandPhase,
    early: EarlyStop,
    /// How many commands wait in [`CommandInbox::held`].
    held: usize,
}

#[derive(Debug)]
enum CommandPhase {
    /// The agent waits for a command.
    Idle,
    /// The agent has taken a command, which may begin a turn.
    Taken,
    /// A turn, or a command that the user typed, runs.
    Running(CancellationToken),
}

/// Whether the next turn was stopped before it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EarlyStop {
    NotStopped,
    Stopped,
}

/// A queue for `capacity` commands to the agent that sends these events, with the handle that stops
/// it.
pub(super) fn channel(
    capacity: usize,
    events: AgentEventSender,
) -> (mpsc::Sender<AddressedCommand>, CommandInbox, StopHandle) {
    let (sender, commands) = mpsc::channel(capacity);
    let shared = StopState { phase: CommandPhase::Idle, early: EarlyStop::NotStopped, held: 0 };
    let shared = Arc::new(Mutex::new(shared));
    let inbox = CommandInbox { commands, events, held: VecDeque::new(), shared: shared.clone() };
    let stop = StopHandle { all: CancellationToken::new(), shared, commands: sender.downgrade() };
    (sender, inbox, stop)
}

impl StopHandle {
    /// Stops the turn that runs now, or the turn that a waiting command is about to begin. Does not
    /// stop a turn that is asked for later.
    pub fn stop_turn(&self) {
        let mut shared = lock(&self.shared);
        match &shared.phase {
            CommandPhase::Running(token) => token.cancel(),
            CommandPhase::Taken => shared.early = EarlyStop::Stopped,
            CommandPhase::Idle if shared.held > 0 || self.commands_wait() => {
                shared.early = EarlyStop::Stopped;
            }
            CommandPhase::Idle => {}
        }
    }

    /// Stops everything the agent has started or will start, for good.
    pub fn stop_all(&self) {
        self.all.cancel();
    }

    /// Begins a turn and returns its token, already cancelled if a stop was kept for it.
    pub(super) fn begin(&self) -> CancellationToken {
        let token = self.all.child_token();
        let mut shared = lock(&self.shared);
        if shared.early == EarlyStop::Stopped {
            token.cancel();
        }
        shared.early = EarlyStop::NotStopped;
        shared.phase = CommandPhase::Running(token.clone());
        token
    }

    /// Ends a turn. A later stop is meant for something else.
    pub(super) fn end(&self) {
        lock(&self.shared).phase = CommandPhase::Idle;
    }

    fn commands_wait(&self) -> bool {
        self.commands.upgrade().is_some_and(|sender| sender.capacity() < sender.max_capacity())
    }
}

impl CommandInbox {
    /// The next command while nothing runs; `None` once the front end is gone. Takes the command
    /// and notes that it was taken under one lock, so that [`StopHandle::stop_turn`] cannot come
    /// in between.
    pub(super) async fn next(&mut self) -> Option<AgentCommand> {
        poll_fn(|context| {
            let mut shared = lock(&self.shared);
            shared.phase = CommandPhase::Idle;
            let next = match self.held.pop_front() {
                Some(command) => Poll::Ready(Some(command)),
                None => poll_commands(&mut self.commands, &self.events, context),
            };
            shared.held = self.held.len();
            match &next {
                Poll::Ready(Some(_)) => shared.phase = CommandPhase::Taken,
                Poll::Ready(None) | Poll::Pending => shared.early = EarlyStop::NotStopped,
            }
            next
        })
        .await
    }

    /// The next command while something runs; `None` once the front end is gone.
    pub(super) async fn next_meanwhile(&mut self) -> Option<AgentCommand> {
        poll_fn(|context| poll_commands(&mut self.commands, &self.events, context)).await
    }

    /// Keeps a command until nothing runs.
    pub(super) fn hold(&mut self, command: AgentCommand) {
        self.held.push_back(command);
        lock(&self.shared).held = self.held.len();
    }
}

/// The next command in the queue that is for the agent of these events. Others are refused.
fn poll_commands(
    commands: &mut mpsc::Receiver<AddressedCommand>,
    events: &AgentEventSender,
    context: &mut Context<'_>,
) -> Poll<Option<AgentCommand>> {
    while let Some(AddressedCommand { agent, command }) = ready!(commands.poll_recv(context)) {
        if agent == events.agent() {
            return Poll::Ready(Some(command));
        }
        tracing::error!(%agent, ?command, "a command for another agent");
        events.send(AgentEvent::CommandRefused(CommandRefusal::OtherAgent(agent)));
    }
    Poll::Ready(None)
}

fn lock(shared: &Mutex<StopState>) -> MutexGuard<'_, StopState> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use crate::agent::event_queue;
    use crate::domain::AgentId;

    use super::*;

    const AGENT: AgentId = AgentId(1);

    fn channel(capacity: usize) -> (mpsc::Sender<AddressedCommand>, CommandInbox, StopHandle) {
        super::channel(capacity, event_queue(AGENT).0)
    }

    #[test]
    fn stopping_a_turn_leaves_the_next_one_alone() {
        let (_commands, _inbox, stop) = channel(4);
        let first = stop.begin();
        stop.stop_turn();
        assert!(first.is_cancelled());
        let second = stop.begin();
        assert!(!second.is_cancelled());
        stop.stop_all();
        assert!(second.is_cancelled());
        assert!(stop.begin().is_cancelled());
    }

    #[tokio::test]
    async fn a_stop_reaches_the_turn_of_a_command_on_its_way() {
        let (commands, mut inbox, stop) = channel(4);
        commands.try_send(AgentCommand::Retry.to(AGENT)).unwrap();
        stop.stop_turn();
        assert_eq!(inbox.next().await, Some(AgentCommand::Retry));
        assert!(stop.begin().is_cancelled(), "it was stopped in the queue");

        stop.end();
        commands.try_send(AgentCommand::Retry.to(AGENT)).unwrap();
        assert_eq!(inbox.next().await, Some(AgentCommand::Retry));
        stop.stop_turn();
        assert!(stop.begin().is_cancelled(), "it was stopped just before it began");

        stop.end();
        inbox.hold(AgentCommand::Retry);
        stop.stop_turn();
        assert_eq!(inbox.next().await, Some(AgentCommand::Retry));
        assert!(stop.begin().is_cancelled(), "it was stopped while it was held");
    }

    #[tokio::test]
    async fn a_stop_with_nothing_to_stop_does_nothing() {
        let (commands, mut inbox, stop) = channel(4);
        stop.stop_turn();
        commands.try_send(AgentCommand::Retry.to(AGENT)).unwrap();
        inbox.next().await;
        assert!(!stop.begin().is_cancelled());

        stop.end();
        commands.try_send(AgentCommand::Compact { focus: None }.to(AGENT)).unwrap();
        inbox.next().await;
        stop.stop_turn();
        let waits = futures_util::poll!(std::pin::pin!(inbox.next()));
        assert_eq!(waits, Poll::Pending, "what was stopped had no turn");
        commands.try_send(AgentCommand::Retry.to(AGENT)).unwrap();
        inbox.next().await;
        assert!(!stop.begin().is_cancelled());
    }

    #[tokio::test]
    async fn a_command_for_another_agent_is_refused() {
        let (events, mut told) = event_queue(AGENT);
        let (commands, mut inbox, _stop) = super::channel(4, events);
        let other = AgentId(2);
        commands.try_send(AgentCommand::Compact { focus: None }.to(other)).unwrap();
        commands.try_send(AgentCommand::Retry.to(AGENT)).unwrap();
        assert_eq!(inbox.next().await, Some(AgentCommand::Retry));
        commands.try_send(AgentCommand::Compact { focus: None }.to(other)).unwrap();
        commands.try_send(AgentCommand::Compact { focus: None }.to(AGENT)).unwrap();
        assert_eq!(inbox.next_meanwhile().await, Some(AgentCommand::Compact { focus: None }));
        for _ in 0..2 {
            let refused = AgentEvent::CommandRefused(CommandRefusal::OtherAgent(other));
            assert_eq!(told.recv().await.map(|told| told.event), Some(refused));
        }
    }
}
