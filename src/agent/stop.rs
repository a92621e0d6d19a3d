//! The way of commands to the agent, and stopping, which goes past it.
//!
//! One token for the agent, a child for each turn. A stop may come before the command that it is
//! meant for has become a turn: between Enter and the turn's first step lies the queue. So a stop
//! that finds a command on its way is kept for the turn that the command begins, and one that finds
//! nothing on its way is spent.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::AgentCommand;

/// Stops what an agent is doing. Front ends keep a clone.
#[derive(Debug, Clone)]
pub struct StopHandle {
    all: CancellationToken,
    shared: Arc<Mutex<StopState>>,
    commands: mpsc::WeakSender<AgentCommand>,
}

/// The commands as the agent takes them.
#[derive(Debug)]
pub(super) struct CommandInbox {
    commands: mpsc::Receiver<AgentCommand>,
    /// What came while something ran, and has to wait for its end.
    held: VecDeque<AgentCommand>,
    shared: Arc<Mutex<StopState>>,
}

#[derive(Debug)]
struct StopState {
    phase: CommandPhase,
    early: EarlyStop,
    /// How many commands the inbox holds.
    held: usize,
}

#[derive(Debug)]
enum CommandPhase {
    /// The agent waits for a command.
    Idle,
    /// It has taken one, which may begin a turn.
    Taken,
    /// A turn, or a command of the person's own, runs.
    Running(CancellationToken),
}

/// Whether the next turn was stopped before it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EarlyStop {
    NotStopped,
    Stopped,
}

/// A queue for `capacity` commands, with its stop.
pub(super) fn channel(capacity: usize) -> (mpsc::Sender<AgentCommand>, CommandInbox, StopHandle) {
    let (sender, commands) = mpsc::channel(capacity);
    let shared = StopState { phase: CommandPhase::Idle, early: EarlyStop::NotStopped, held: 0 };
    let shared = Arc::new(Mutex::new(shared));
    let inbox = CommandInbox { commands, held: VecDeque::new(), shared: shared.clone() };
    let stop = StopHandle { all: CancellationToken::new(), shared, commands: sender.downgrade() };
    (sender, inbox, stop)
}

impl StopHandle {
    /// Stops the turn that runs now, or that a command on its way is about to begin. One that is
    /// asked for later is not touched.
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

    /// Stops everything the agent ever started, for good.
    pub fn stop_all(&self) {
        self.all.cancel();
    }

    /// The token of a new turn.
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

    /// What ran is over; a stop from here on is meant for something else.
    pub(super) fn end(&self) {
        lock(&self.shared).phase = CommandPhase::Idle;
    }

    fn commands_wait(&self) -> bool {
        self.commands.upgrade().is_some_and(|sender| sender.capacity() < sender.max_capacity())
    }
}

impl CommandInbox {
    /// The next command, with nothing running; `None` once the front end is gone. Taking it and
    /// noting that it was taken are one step for [`StopHandle::stop_turn`].
    pub(super) async fn next(&mut self) -> Option<AgentCommand> {
        poll_fn(|context| {
            let mut shared = lock(&self.shared);
            shared.phase = CommandPhase::Idle;
            let next = match self.held.pop_front() {
                Some(command) => Poll::Ready(Some(command)),
                None => self.commands.poll_recv(context),
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

    /// The next command while something runs.
    pub(super) async fn next_meanwhile(&mut self) -> Option<AgentCommand> {
        self.commands.recv().await
    }

    /// Keeps a command for when nothing runs.
    pub(super) fn hold(&mut self, command: AgentCommand) {
        self.held.push_back(command);
        lock(&self.shared).held = self.held.len();
    }
}

fn lock(shared: &Mutex<StopState>) -> MutexGuard<'_, StopState> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        commands.try_send(AgentCommand::Retry).unwrap();
        stop.stop_turn();
        assert_eq!(inbox.next().await, Some(AgentCommand::Retry));
        assert!(stop.begin().is_cancelled(), "it was stopped in the queue");

        stop.end();
        commands.try_send(AgentCommand::Retry).unwrap();
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
    async fn a_stop_with_nothing_on_its_way_is_spent() {
        let (commands, mut inbox, stop) = channel(4);
        stop.stop_turn();
        commands.try_send(AgentCommand::Retry).unwrap();
        inbox.next().await;
        assert!(!stop.begin().is_cancelled());

        stop.end();
        commands.try_send(AgentCommand::Compact).unwrap();
        inbox.next().await;
        stop.stop_turn();
        let waits = futures_util::poll!(std::pin::pin!(inbox.next()));
        assert_eq!(waits, Poll::Pending, "what was stopped had no turn");
        commands.try_send(AgentCommand::Retry).unwrap();
        inbox.next().await;
        assert!(!stop.begin().is_cancelled());
    }
}
