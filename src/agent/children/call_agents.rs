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
use crate::agent::{AgentCommand, AgentEvent, AgentHandle, AgentSetup};
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

impl ChildSource {
    /// Starts a child, for which there is a place, and has it followed. `Err` is what the model is told
    /// where none can be.
    pub(super) fn launch(
        &self,
        setup: AgentSetup,
        (session, first): (InitialSession, AgentCommand),
        summary: SubagentSummary,
        (deadline, silence): (Duration, Duration),
    ) -> Result<Arc<ChildAgent>, String> {
        let Self { agents, directory, events, .. } = self;
        let (id, call, in_background) =
            (summary.agent, summary.call.clone(), summary.in_background);
        // Before the child's own first event, which is for its conversation.
        events.send(AgentEvent::Subagent(Box::new(summary.clone())));
        let (signs, heard) = mpsc::unbounded_channel();
        let outbox = events.for_agent(id).with_signs(signs);
        let AgentHandle { commands, stop, task, .. } = spawn_into(setup, session, outbox);
        directory.add(id, &commands, stop.clone());
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
            turn: self.turn,
            call,
            journal: self.journal.clone(),
            events: events.clone(),
            deadline,
            silence,
        };
        agents.followers.spawn(follower.follow());
        if sent.is_err() || !agents.hold(id, child.clone()) {
            child.stop.stop_all();
            child.release();
            return Err("The session was left. Do not retry.".to_owned());
        }
        Ok(child)
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
        let ChildSource { template, agents, session, turn, .. } = &self.source;
        let kind = template.types().get(order.kind.as_deref())?;
        let origin = SpawnOrigin { session: *session, call: self.call.clone() };
        let setup = template.child(kind, order.model.as_deref(), origin)?;
        agents.reserve(*turn)?;
        // Without a user nobody would be there when the report comes.
        let in_background = self.source.interactivity == Interactivity::Interactive
            && order.in_background.unwrap_or(kind.in_background);
        let summary = SubagentSummary {
            model: setup.model.clone().filter(|_| order.model.or(kind.model.clone()).is_some()),
            in_background,
            ..begun(self.call.clone(), &kind.name, &order.description)
        };
        let first = AgentCommand::Send { text: order.prompt.into() };
        let start = (InitialSession::New, first);
        self.source.launch(setup, start, summary, (kind.deadline, kind.silence))
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

/// The summary of an agent that begins with its task.
pub(super) fn begun(call: CallId, kind: &str, task: &str) -> SubagentSummary {
    SubagentSummary {
        state: SubagentState::Running,
        agent: AgentId::generate(),
        kind: kind.to_owned(),
        task: first_line(task).chars().take(MAX_TASK).collect(),
        call,
        in_background: false,
        session: None,
        model: None,
        tool_calls: 0,
        refused_calls: 0,
        elapsed_ms: 0,
        tokens: 0,
        cost: None,
    }
}

pub(super) async fn ended_of(child: &ChildAgent) -> ChildEnd {
    ended(&mut child.end.subscribe()).await
}

async fn ended(end: &mut watch::Receiver<Option<ChildEnd>>) -> ChildEnd {
    let found = end.wait_for(Option::is_some).await.ok().and_then(|end| end.clone());
    // The sender is held by the child itself.
    found.unwrap_or(ChildEnd { text: String::new(), reason: "It ended unexpectedly.".to_owned() })
}
