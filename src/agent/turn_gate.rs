//! Makes the gate that the calls of a turn go through, from what the agent holds.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::domain::TurnId;
use crate::permissions::READ_RULE;
use crate::platform::scratch::SessionScratch;
use crate::tools::{
    FixedMode, InMemoryTasks, NoSubagents, NobodyToAsk, OutputFiles, SteeringSignal, ToolContext,
};

use super::agent_loop::Agent;
use super::children::call_agents::ChildSource;
use super::children::child_setup::ChildTemplate;
use super::early_calls::EarlyCalls;
use super::journal::SessionJournal;
use super::repeats::RepeatedCalls;
use super::session_tasks::LoggedTasks;
use super::setup::AgentSetup;
use super::tool_events::ToolEventQueue;
use super::tool_gate::ToolGate;

impl Agent {
    /// The gate for the calls of a turn, or why the open session cannot go on.
    pub(super) fn gate(&mut self, turn: TurnId) -> Result<Arc<ToolGate>, String> {
        if let Some(reason) = self.session.read_only.clone() {
            return Err(reason);
        }
        let header = self.header(self.session.id);
        let journal = self
            .session
            .journal(&self.setup.store, &self.events, header)
            .map_err(|error| error.to_string())?;
        let scratch = self.open_scratch();
        let scratch_path = scratch.as_deref().map(SessionScratch::path);
        let workspace = self.setup.workspace.as_ref().clone().with_scratch(scratch_path);
        let jobs = self.call_jobs();
        self.note_budgets(turn);
        let tasks = self.session.conversation.plan.tasks.clone();
        let context = ToolContext {
            tasks: Arc::new(LoggedTasks::new(turn, journal.clone(), tasks)),
            ..self.tool_context(scratch.clone(), self.stop.begin())
        };
        let children = self.child_source(turn, journal.clone(), context.cancel.clone());
        Ok(Arc::new(ToolGate {
            turn,
            began: std::time::Instant::now(),
            registry: self.setup.registry.clone(),
            context,
            jobs,
            children,
            workspace: Arc::new(workspace),
            scratch: scratch.clone(),
            escalation: self.setup.escalation.clone(),
            permissions: self.permissions.clone(),
            fork: self.setup.parent.as_ref().and_then(|parent| parent.fork),
            approvals: self.approvals.clone(),
            questions: self.questions.clone(),
            watch: self.watch.clone(),
            repeats: RepeatedCalls::default(),
            early: EarlyCalls::default(),
            interactivity: self.setup.interactivity,
            journal,
            blobs: self.setup.blobs.clone(),
            events: self.events.clone(),
            git: self.setup.git.clone(),
            hooks: self.session_hooks(),
            debug: self.setup.debug.clone(),
            redactor: self.setup.redactor.clone(),
        }))
    }

    /// What the calls of a turn start agents from.
    pub(super) fn child_source(
        &self,
        turn: TurnId,
        journal: Arc<SessionJournal>,
        cancel: CancellationToken,
    ) -> Arc<ChildSource> {
        let setup =
            AgentSetup { model: self.model.clone(), effort: self.effort, ..self.setup.clone() };
        Arc::new(ChildSource {
            template: ChildTemplate {
                setup: Arc::new(setup),
                permissions: self.permissions.clone(),
                watch: self.watch.clone(),
            },
            agents: self.session.agents.clone(),
            directory: self.directory.clone(),
            session: self.session.id,
            turn,
            interactivity: self.setup.interactivity,
            journal,
            events: self.events.clone(),
            cancel,
        })
    }

    /// What a tool gets whose call may touch no file: each call gets its own from this.
    pub(super) fn tool_context(
        &self,
        scratch: Option<Arc<SessionScratch>>,
        cancel: CancellationToken,
    ) -> ToolContext {
        let permissions = self.permissions.clone();
        ToolContext {
            place: self.setup.place.clone(),
            files: self.setup.files.clone(),
            processes: self.setup.processes.clone(),
            jobs: Arc::new(self.call_jobs()),
            web: self.setup.web.clone(),
            pdfs: self.setup.pdfs.clone(),
            code: self.setup.code.clone(),
            formatter: self.setup.formatter.clone(),
            user: Arc::new(NobodyToAsk),
            agents: Arc::new(NoSubagents),
            mode: Arc::new(FixedMode(self.permissions.mode())),
            tasks: Arc::new(InMemoryTasks::default()),
            skills: self.skills.clone(),
            searches: self.session.searches.clone(),
            steering: SteeringSignal::default(),
            reads: self.session.reads.clone(),
            is_hidden: Arc::new(move |path| permissions.hides(READ_RULE, path)),
            deferred: self.setup.registry.deferred(),
            effects: Arc::new(Arc::new(ToolEventQueue::new(self.setup.blobs.clone())).sender()),
            outputs: scratch.map(|scratch| -> Arc<dyn OutputFiles> { scratch }),
            cancel,
        }
    }
}
