//! The agent's main loop: takes the front end's commands one by one, outside of turns.
//!
//! A turn itself runs in `turn_runner`; what each kind of command does is in `user_messages`, `sessions`,
//! `models`, `rewind`, `review`, `compaction`, `ledger`, `rules` and `shell`. Commands that are possible at
//! any time go through [`Agent::command_at_any_time`], also while a turn runs.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::context;
use crate::domain::{AgentId, CALL_TOOL, NoticeLevel, PermissionMode, ReasoningEffort, SessionId};
use crate::hooks::{HookEvent, MergedHookVerdict};
use crate::platform::watch::FolderWatcher;
use crate::session::{LogEntry, SessionHeader, TurnEnd, TurnOutcome};
use crate::tools::SKILL_TOOL;

use super::active_session::ActiveSession;
use super::agent_handle::{AgentHandle, InitialSession};
use super::approvals::{PendingApprovals, PendingQuestions};
use super::budget::BudgetLimits;
use super::change_tracker;
use super::children::directory::AgentDirectory;
use super::command_inbox::{self, CommandInbox, StopHandle};
use super::compaction::limits::ContextRoom;
use super::event_queue::{AgentEventReceiver, AgentEventSender, event_queue};
use super::hooks::BackgroundHooks;
use super::images::ConversationImages;
use super::job_follower::JobFollower;
use super::journal::tell_not_recorded;
use super::models::{ANY_MODEL, OfferedModels};
use super::permission_state::PermissionState;
use super::prefix::PromptCacheMonitor;
use super::provider_set::AgentProvider;
use super::session_hooks::{MAX_HOOK_CONTINUATIONS, wait_until};
use super::session_skills::SessionSkills;
use super::session_titles::SessionTitles;
use super::setup::AgentSetup;
use super::tool_gate::ToolGate;
use super::turn::{TurnLimits, TurnMachine};
use super::turn_runner::{TurnPurpose, TurnRun};
use super::{AddressedCommand, AgentCommand, AgentEvent, CommandRefusal};

/// How many commands may wait for the agent; the front end waits when the queue is full.
const MAX_QUEUED_COMMANDS: usize = 64;

/// The most that the list of skills takes of the window, in percent.
const SKILL_SHARE: u64 = 2;

/// Holds the open session and what is fixed for a run. One task owns it, so its methods need no
/// lock; what running calls share with it is behind an `Arc`.
pub(super) struct Agent {
    pub(super) setup: AgentSetup,
    pub(super) session: ActiveSession,
    pub(super) commands: CommandInbox,
    pub(super) events: AgentEventSender,
    pub(super) stop: StopHandle,
    pub(super) directory: AgentDirectory,
    pub(super) permissions: Arc<PermissionState>,
    pub(super) approvals: Arc<PendingApprovals>,
    pub(super) questions: Arc<PendingQuestions>,
    pub(super) model: Option<String>,
    pub(super) effort: Option<ReasoningEffort>,
    pub(super) models: OfferedModels,
    pub(super) images: ConversationImages,
    pub(super) warned: HashSet<String>,
    pub(super) skills: Arc<SessionSkills>,
    pub(super) has_told_prompt_files: bool,
    /// The model that a skill or command wants for the next turn.
    pub(super) model_of_turn: Option<String>,
    pub(super) prompt_cache: PromptCacheMonitor,
    /// The provider whose server has answered last.
    pub(super) answered_by: Option<String>,
    pub(super) room: ContextRoom,
    pub(super) allowance: BudgetLimits,
    pub(super) background: BackgroundHooks,
    pub(super) titles: SessionTitles,
    /// Sees which files commands change, so that they can be restored.
    pub(super) watch: Arc<FolderWatcher>,
    /// The running `SessionStart` hooks; their result goes with the first message.
    pub(super) session_start: Option<JoinHandle<MergedHookVerdict>>,
    /// When the `Notification` hooks are told that slug waits for the user.
    pub(super) idle_at: Option<Instant>,
}

/// Starts an agent on its own task, which ends once [`AgentHandle::commands`] is dropped and the
/// turn that runs is over. What it tells is received in order; it never waits for its front end.
pub fn spawn(setup: AgentSetup, start: InitialSession) -> (AgentHandle, AgentEventReceiver) {
    let (outbox, events) = event_queue(AgentId::generate());
    (spawn_into(setup, start, outbox), events)
}

/// Starts an agent as [`spawn`] does. It has the id of `outbox`, whose queue it may share with other
/// agents of the same front end.
pub fn spawn_into(
    setup: AgentSetup,
    start: InitialSession,
    outbox: AgentEventSender,
) -> AgentHandle {
    let outbox = outbox.with_debug_log(setup.debug.clone());
    let id = outbox.agent();
    let (commands, inbox, stop) = command_inbox::channel(MAX_QUEUED_COMMANDS, outbox.clone());
    let stopped = stop.clone();
    let children = AgentDirectory::default();
    let directory = children.clone();
    // Inside the task, because reading hundreds of rules would delay the first frame.
    let task = tokio::spawn(async move {
        let agent = Agent { directory, ..Agent::with(setup, inbox, outbox, stopped) };
        agent.run(start).await;
    });
    AgentHandle { id, commands, stop, children, task }
}

impl Agent {
    /// An agent with an empty session, and the front end's ends of both queues.
    pub(super) fn new(
        setup: AgentSetup,
    ) -> (Self, AgentEventReceiver, mpsc::Sender<AddressedCommand>) {
        let (outbox, events) = event_queue(AgentId::generate());
        let outbox = outbox.with_debug_log(setup.debug.clone());
        let (commands, inbox, stop) = command_inbox::channel(MAX_QUEUED_COMMANDS, outbox.clone());
        (Self::with(setup, inbox, outbox, stop), events, commands)
    }

    fn with(
        setup: AgentSetup,
        commands: CommandInbox,
        events: AgentEventSender,
        stop: StopHandle,
    ) -> Self {
        let read_rules = setup.escalation.as_ref().map(|escalation| escalation.read_rules.clone());
        let permissions = match &setup.parent {
            Some(parent) => parent.permissions.clone(),
            None => Arc::new(PermissionState::new(
                setup.workspace.clone(),
                setup.project,
                setup.mode,
                read_rules,
            )),
        };
        let rules = Arc::downgrade(&permissions);
        let is_denied = move |tool: &str| rules.upgrade().is_some_and(|it| it.denies_tool(tool));
        setup.registry.denied().set(is_denied);
        setup.registry.begin_session();
        let skills =
            SessionSkills::new(permissions.clone(), setup.workspace.clone(), events.clone());
        Self {
            model: setup.model.clone(),
            effort: setup.effort.or(setup.providers.current().effort),
            session: ActiveSession::new(),
            commands,
            events,
            stop,
            directory: AgentDirectory::default(),
            permissions,
            approvals: Arc::default(),
            questions: Arc::default(),
            models: OfferedModels::default(),
            images: ConversationImages::default(),
            warned: HashSet::new(),
            skills: Arc::new(skills),
            has_told_prompt_files: false,
            model_of_turn: None,
            prompt_cache: PromptCacheMonitor::default(),
            answered_by: None,
            room: ContextRoom::default(),
            allowance: BudgetLimits::new(setup.budgets),
            background: BackgroundHooks::default(),
            titles: SessionTitles::default(),
            watch: match &setup.parent {
                Some(parent) => parent.watch.clone(),
                None => Arc::new(FolderWatcher::new(
                    setup.workspace.root().to_owned(),
                    setup.home.clone(),
                )),
            },
            session_start: None,
            idle_at: None,
            setup,
        }
    }

    /// The provider that requests go to.
    pub(super) fn current_provider(&self) -> &AgentProvider {
        self.setup.providers.current()
    }

    async fn run(mut self, start: InitialSession) {
        self.events.send(AgentEvent::ModeChanged(self.permissions.mode()));
        let _loading = self.follow_loading();
        self.models.ask(&self.current_provider().provider.clone());
        self.tell_model().await;
        let source = match start {
            InitialSession::New => {
                self.tell_opened(Vec::new());
                "startup"
            }
            InitialSession::Resume(session) => {
                self.resume_or_new(session).await;
                "resume"
            }
            InitialSession::Fork(session) => {
                self.fork_or_new(session).await;
                "resume"
            }
        };
        self.session_began(source);
        let notices = std::mem::take(&mut self.setup.notices);
        let of_hooks = self.setup.hooks.warnings();
        let of_hooks = of_hooks.iter().map(ToString::to_string);
        let warnings: Vec<String> =
            notices.into_iter().chain(self.permissions.warnings()).chain(of_hooks).collect();
        for warning in warnings {
            self.events.notice(NoticeLevel::Warning, warning);
        }
        self.refresh_prompt_files().await;
        loop {
            let agents = self.session.agents.clone();
            tokio::select! {
                command = self.commands.next() => match command {
                    Some(command) => {
                        self.idle_at = None;
                        self.command(command).await;
                    }
                    None => break,
                },
                () = wait_until(self.idle_at) => self.notify_idle(),
                answer = self.models.answer() => self.take_models(answer).await,
                answer = self.titles.answer() => self.take_title(answer).await,
                () = agents.report_waits() => self.answer_reports().await,
            }
        }
        self.session.jobs.end_all();
        self.session_ended().await;
        self.stop.stop_all();
        self.session.close().await;
    }

    async fn command(&mut self, command: AgentCommand) {
        if self.setup.parent.is_some() && command.leaves_session() {
            return self.events.send(AgentEvent::CommandRefused(CommandRefusal::StartedAgent));
        }
        match command {
            AgentCommand::Send { text } => self.send(text).await,
            // The turn it was meant for is over. Its end has told the front end so.
            AgentCommand::Steer { .. } => {}
            AgentCommand::Shell { command } => self.shell(command).await,
            AgentCommand::Retry => self.retry().await,
            AgentCommand::Compact { focus } => self.compact_on_request(focus).await,
            AgentCommand::UndoCompaction => self.undo_compaction().await,
            AgentCommand::NewSession => {
                let left = self.session_hooks();
                self.new_session().await;
                self.session_changed(&left, "clear");
            }
            AgentCommand::Resume { session } => {
                let left = self.session_hooks();
                if let Err(error) = self.resume(session).await {
                    self.error(error.to_string());
                }
                self.session_changed(&left, "resume");
            }
            AgentCommand::Fork { session, at } => {
                let left = self.session_hooks();
                if let Err(error) = self.fork(session, at).await {
                    self.error(error.to_string());
                }
                self.session_changed(&left, "resume");
            }
            AgentCommand::ForkAgent { text } => self.fork_agent(text).await,
            AgentCommand::Race { typed } => self.race(typed).await,
            // The race that it was meant for is over. Its end has told the front end so.
            AgentCommand::TakeAnswer { .. } => {}
            AgentCommand::PlanRewind(to) => self.plan_rewind(to).await,
            AgentCommand::Rewind { plan, what } => self.rewind(plan, what).await,
            AgentCommand::Reject { plan, rejected } => self.reject_changes(plan, rejected).await,
            AgentCommand::UndoCall { call } => self.undo_call(call).await,
            AgentCommand::SetModel(typed) => self.set_model(&typed).await,
            AgentCommand::UseModel(model) => self.use_model(model).await,
            AgentCommand::SetEffort(effort) => self.set_effort(effort).await,
            AgentCommand::Answer { .. }
            | AgentCommand::AnswerQuestions { .. }
            | AgentCommand::WithdrawSteer { .. }
            | AgentCommand::SetMode(_)
            | AgentCommand::Context(_)
            | AgentCommand::Memory(_)
            | AgentCommand::PlanReview(_)
            | AgentCommand::SetTitle(_)
            | AgentCommand::Save
            | AgentCommand::EndJob { .. }
            | AgentCommand::TypeIntoJob { .. }
            | AgentCommand::ResizeJob { .. }
            | AgentCommand::DetachCommand
            | AgentCommand::FollowJobs(_)
            | AgentCommand::Rules(_) => self.command_at_any_time(command).await,
        }
    }

    /// Runs a command that is possible while a turn runs; ignores all others.
    pub(super) async fn command_at_any_time(&mut self, command: AgentCommand) {
        match command {
            AgentCommand::Answer { id, answer } => self.approvals.answer(id, answer),
            AgentCommand::AnswerQuestions { id, answers } => self.questions.answer(id, answers),
            AgentCommand::SetMode(mode) => self.set_mode(mode).await,
            AgentCommand::SetTitle(title) => self.set_title(title).await,
            AgentCommand::Save => self.tell_saved().await,
            AgentCommand::EndJob { job } => self.session.jobs.end(job),
            AgentCommand::TypeIntoJob { job, typed } => {
                self.session.jobs.type_into(job, &typed, &self.events);
            }
            AgentCommand::ResizeJob { job, size } => self.session.jobs.resize(job, size),
            AgentCommand::DetachCommand => self.session.jobs.detach_foreground(&self.events),
            AgentCommand::FollowJobs(wanted) => {
                let (jobs, events) = (&self.session.jobs, &self.events);
                let start = |wanted| JobFollower::start(jobs, wanted, events.clone());
                self.session.follower = wanted.map(start);
            }
            AgentCommand::Rules(order) => self.rules(order).await,
            AgentCommand::Context(request) => self.context(request).await,
            AgentCommand::Memory(request) => self.memory(request).await,
            AgentCommand::PlanReview(scope) => self.plan_review(scope).await,
            // A message that is already in the conversation cannot be withdrawn.
            AgentCommand::WithdrawSteer { .. } => {}
            AgentCommand::Send { .. }
            | AgentCommand::Steer { .. }
            | AgentCommand::Shell { .. }
            | AgentCommand::Retry
            | AgentCommand::Compact { .. }
            | AgentCommand::UndoCompaction
            | AgentCommand::NewSession
            | AgentCommand::Resume { .. }
            | AgentCommand::Fork { .. }
            | AgentCommand::ForkAgent { .. }
            | AgentCommand::Race { .. }
            | AgentCommand::TakeAnswer { .. }
            | AgentCommand::PlanRewind(_)
            | AgentCommand::Rewind { .. }
            | AgentCommand::Reject { .. }
            | AgentCommand::UndoCall { .. }
            | AgentCommand::SetModel(_)
            | AgentCommand::UseModel(_)
            | AgentCommand::SetEffort(_) => {}
        }
    }

    pub(super) async fn run_turn(&mut self, gate: Arc<ToolGate>, purpose: TurnPurpose) {
        let limits = TurnLimits { tool_rounds: self.setup.max_tool_rounds };
        let cancel = &gate.context.cancel;
        let model = match self.model_for_turn(gate.turn, cancel).await {
            Ok(model) => self.model_of_turn.take().unwrap_or(model),
            Err(outcome) => return self.end_turn(&gate, outcome, 0, &purpose).await,
        };
        match cancel.run_until_cancelled(self.system_text(&model)).await {
            Some(system) if !cancel.is_cancelled() => {
                let fallback = self.fallback_model(&model).await;
                let continuations = if self.session_hooks().has(HookEvent::Stop) {
                    MAX_HOOK_CONTINUATIONS
                } else {
                    0
                };
                let machine = TurnMachine::new(limits)
                    .with_fallback(fallback)
                    .with_hook_continuations(continuations);
                self.drive(TurnRun::new(gate, machine, model, system, purpose)).await;
            }
            Some(_) | None => {
                self.end_turn(&gate, TurnOutcome::Interrupted, 0, &purpose).await;
            }
        }
    }

    /// Writes how a turn ended and tells the front end.
    pub(super) async fn end_turn(
        &mut self,
        gate: &ToolGate,
        outcome: TurnOutcome,
        rounds: u32,
        purpose: &TurnPurpose,
    ) {
        if outcome == TurnOutcome::Interrupted {
            self.session.agents.stop_all();
            gate.journal.write(gate.turn, LogEntry::Interrupted).await;
        }
        self.permissions.end_turn_rules();
        self.session.catch_up();
        let conversation = &self.session.conversation;
        let spent = conversation.spending.turn(gate.turn);
        let (usage, cost) = (spent.usage, spent.known_cost());
        let changes = conversation.turn_changes.of(gate.turn);
        let elapsed_ms = u64::try_from(gate.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let is_compaction = matches!(purpose, TurnPurpose::Compaction { .. });
        let end = TurnEnd {
            outcome: outcome.clone(),
            usage,
            rounds,
            cost,
            elapsed_ms,
            changes,
            is_compaction,
        };
        // Before the front end hears of the end: a stop that it asks for then is meant for what follows.
        self.stop.end();
        gate.journal.write_end(gate.turn, LogEntry::TurnEnd(end)).await;
        self.session.catch_up();
        tracing::info!(?outcome, "turn ended");
        if outcome != TurnOutcome::Interrupted {
            self.tell_running_agents();
        }
        self.subagent_stopped();
        self.tell_uncounted().await;
        self.ask_for_title(gate.turn, &outcome).await;
        self.start_idle_timer();
    }

    /// Begins a turn and returns the gate that its calls go through. When this session cannot go
    /// on, tells the front end why and returns `None`.
    pub(super) fn begin_turn(&mut self) -> Option<Arc<ToolGate>> {
        let turn = self.session.conversation.next_turn;
        match self.gate(turn) {
            Ok(gate) => {
                change_tracker::warm(&self.watch);
                self.events.send(AgentEvent::TurnStarted { turn });
                Some(gate)
            }
            Err(reason) => {
                self.refuse_turn(reason);
                None
            }
        }
    }

    /// Tells the front end that the turn it waits for fails before it begins.
    pub(super) fn refuse_turn(&mut self, reason: String) {
        self.skip_turn(TurnOutcome::Failed(reason));
    }

    /// Tells the front end that the turn it waits for does not begin, with this outcome.
    pub(super) fn skip_turn(&mut self, outcome: TurnOutcome) {
        let end = TurnEnd::of(outcome);
        tell_not_recorded(&self.events, self.session.skip_turn(), LogEntry::TurnEnd(end));
    }

    /// The first line of the log of a session that begins now, in this folder.
    pub(super) fn header(&self, session_id: SessionId) -> SessionHeader {
        SessionHeader {
            session_id,
            version: SessionHeader::VERSION,
            cwd: self.setup.place.cwd.clone(),
            model: self.model.clone().unwrap_or_else(|| ANY_MODEL.to_owned()),
            provider: self.current_provider().name.clone(),
            forked_from: None,
            spawned_by: self.setup.parent.as_ref().map(|parent| parent.origin.clone()),
            server_tools: self.setup.registry.listed_server_tools().to_vec(),
        }
    }

    /// The system prompt with the instruction files as they are on disk now, and the skills as they were
    /// when the user's message came. It is read once a turn: a change during a tool loop takes effect with
    /// the user's next message.
    async fn system_text(&mut self, model: &str) -> String {
        let instructions = self.instructions().await;
        for warning in &instructions.warnings {
            if self.warned.insert(warning.clone()) {
                self.events.notice(NoticeLevel::Warning, warning.clone());
            }
        }
        let skills = self.skill_listing(model).await;
        context::system_prompt(self.setup.system_prompt.as_deref(), &instructions, &skills)
    }

    /// The list of skills for the model; empty without skills, and where a rule denies loading any.
    pub(super) async fn skill_listing(&mut self, model: &str) -> String {
        if self.permissions.denies_tool(SKILL_TOOL) {
            return String::new();
        }
        let window = self.window(model).await.tokens();
        let bytes = usize::try_from(window * SKILL_SHARE / 100 * 4).unwrap_or(usize::MAX);
        let how =
            format!("{CALL_TOOL} {{\"tool\": \"{SKILL_TOOL}\", \"input\": {{\"name\": NAME}}}}");
        self.skills.library().listing(bytes, &how)
    }

    /// Takes over which skills the conversation has as it is now.
    pub(super) fn note_loaded_skills(&self) {
        let conversation = &self.session.conversation;
        self.skills.set_loaded(self.session.id.to_string(), &conversation.contexts);
    }

    /// The instruction files as they are on disk now.
    pub(super) async fn instructions(&self) -> context::LoadedInstructions {
        match self.with_instruction_scope(|scope| scope.read()).await {
            Ok(instructions) => instructions,
            Err(error) => {
                self.error(format!("The instruction files could not be read: {error}."));
                context::LoadedInstructions::default()
            }
        }
    }

    async fn set_mode(&mut self, mode: PermissionMode) {
        if self.setup.parent.is_some() {
            return self.events.send(AgentEvent::CommandRefused(CommandRefusal::StartedAgent));
        }
        if mode == PermissionMode::Sandbox && self.setup.escalation.is_none() {
            return self.error("No sandbox is active. `slug --sandbox DIR` starts with one.");
        }
        self.permissions.set_mode(mode);
        self.session.note(LogEntry::Mode { mode }).await;
        self.events.send(AgentEvent::ModeChanged(mode));
    }

    pub(super) fn error(&self, text: impl Into<String>) {
        self.events.notice(NoticeLevel::Error, text);
    }
}
