//! Starts the child of a call, and waits for it unless it works in the background.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::agent::agent_handle::InitialSession;
use crate::agent::agent_loop::spawn_into;
use crate::agent::event_queue::AgentEventSender;
use crate::agent::journal::SessionJournal;
use crate::agent::tool_gate::{ChildStarters, Interactivity};
use crate::agent::{AgentCommand, AgentEvent, AgentHandle};
use crate::domain::{
    AgentId, CallId, SessionId, SpawnOrigin, SubagentState, SubagentSummary, ToolOutput, TurnId,
    first_line,
};
use crate::tools::{SubagentOrder, SubagentStarter};

use super::child_setup::ChildTemplate;
use super::directory::AgentDirectory;
use super::follower::ChildFollower;
use super::report;
use super::session_agents::{ChildAgent, ChildEnd, SessionAgents};

/// How long a call that is stopped waits for the last words of its child: less than it is given itself.
const LAST_WORDS: Duration = Duration::from_millis(50);
/// The most characters of what a child has to do, in lists.
const MAX_TASK: usize = 80;

/// What starts the children of a turn.
#[derive(Clone)]
pub(in crate::agent) struct ChildSource {
    pub(in crate::agent) template: ChildTemplate,
    pub(in crate::agent) agents: Arc<SessionAgents>,
    pub(in crate::agent) directory: AgentDirectory,
    pub(in crate::agent) session: SessionId,
    pub(in crate::agent) turn: TurnId,
    pub(in crate::agent) interactivity: Interactivity,
    pub(in crate::agent) journal: Arc<SessionJournal>,
    pub(in crate::agent) events: AgentEventSender,
    pub(in crate::agent) cancel: CancellationToken,
}

impl ChildStarters for ChildSource {
    fn for_call(&self, call: &CallId) -> Arc<dyn SubagentStarter> {
        Arc::new(CallAgents { source: self.clone(), call: call.clone() })
    }
}

/// Starts agents for one call.
struct CallAgents {
    source: ChildSource,
    call: CallId,
}

impl CallAgents {
    /// Starts the child. `Err` is what the model is told where none can be.
    fn spawn(&self, order: SubagentOrder) -> Result<Arc<ChildAgent>, String> {
        let ChildSource { template, agents, directory, session, turn, events, .. } = &self.source;
        let kind = template.types().get(order.kind.as_deref())?;
        let origin = SpawnOrigin { session: *session, call: self.call.clone() };
        let setup = template.child(kind, order.model.as_deref(), origin)?;
        agents.reserve(*turn)?;
        // Without a user nobody would be there when the report comes.
        let in_background = self.source.interactivity == Interactivity::Interactive
            && order.in_background.unwrap_or(kind.in_background);
        let id = AgentId::generate();
        let task: String = first_line(&order.description).chars().take(MAX_TASK).collect();
        let summary = SubagentSummary {
            agent: id,
            call: self.call.clone(),
            session: None,
            kind: kind.name.clone(),
            task,
            model: setup.model.clone().filter(|_| order.model.or(kind.model.clone()).is_some()),
            state: SubagentState::Running,
            in_background,
            tool_calls: 0,
            tokens: 0,
            cost: None,
            elapsed_ms: 0,
        };
        // Before the child's own first event, which is for its conversation.
        events.send(AgentEvent::Subagent(Box::new(summary.clone())));
        let (signs, heard) = mpsc::unbounded_channel();
        let outbox = events.for_agent(id).with_signs(signs);
        let AgentHandle { commands, stop, task, .. } =
            spawn_into(setup, InitialSession::New, outbox);
        directory.add(id, &commands, stop.clone());
        let first = AgentCommand::Send { text: order.prompt.into() };
        let sent = commands.try_send(first.to(id));
        let child = Arc::new(ChildAgent {
            summary: Mutex::new(summary),
            commands: Mutex::new(Some(commands)),
            stop,
            end: watch::channel(None).0,
            is_told: Mutex::new(!in_background),
        });
        let follower = ChildFollower {
            child: child.clone(),
            agents: Arc::downgrade(agents),
            signs: heard,
            task,
            turn: *turn,
            call: self.call.clone(),
            journal: self.source.journal.clone(),
            events: events.clone(),
            deadline: kind.deadline,
            silence: kind.silence,
        };
        agents.followers.spawn(follower.follow());
        if sent.is_err() || !agents.hold(id, child.clone()) {
            child.stop.stop_all();
            child.release();
            return Err("The session was left. Do not retry.".to_owned());
        }
        Ok(child)
    }

    /// Waits for the end of a child, which a stop of the call brings about.
    async fn end_of(&self, child: &ChildAgent) -> ChildEnd {
        let mut end = child.end.subscribe();
        let ended = self.source.cancel.run_until_cancelled(ended(&mut end)).await;
        if let Some(end) = ended {
            return end;
        }
        child.stop.stop_turn();
        timeout(LAST_WORDS, ended_of(child)).await.unwrap_or_else(|_| {
            child.change(|summary| summary.state = SubagentState::Stopped);
            ChildEnd { text: String::new(), reason: "It was stopped.".to_owned() }
        })
    }
}

#[async_trait]
impl SubagentStarter for CallAgents {
    async fn start(&self, order: SubagentOrder) -> ToolOutput {
        let child = match self.spawn(order) {
            Ok(child) => child,
            Err(reason) => return ToolOutput::failed(reason),
        };
        if child.summary().in_background {
            return report::started(&child.summary());
        }
        let end = self.end_of(&child).await;
        report::output(&child.summary(), &end)
    }
}

async fn ended_of(child: &ChildAgent) -> ChildEnd {
    ended(&mut child.end.subscribe()).await
}

async fn ended(end: &mut watch::Receiver<Option<ChildEnd>>) -> ChildEnd {
    let found = end.wait_for(Option::is_some).await.ok().and_then(|end| end.clone());
    // The sender is held by the child itself.
    found.unwrap_or(ChildEnd { text: String::new(), reason: "It is gone.".to_owned() })
}
