//! A fixture with folders for agents to work in, and an agent with all events it has sent.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use slug_code::agent::{
    AddressedEvent, AgentCommand, AgentEvent, AgentEventReceiver, AgentHandle, AgentProvider,
    AgentProviderSet, AgentSetup, InitialSession, Interactivity, ModelPin, SandboxInForce,
    UnnamedModel, spawn,
};
use slug_code::catalogue::CatalogueCache;
use slug_code::context::ContextProvider;
use slug_code::domain::{
    AgentBudgets, ApprovalAnswer, ApprovalRequest, CallId, Message, MessageRole, PermissionMode,
    SandboxBackendKind, SandboxNetwork, SandboxSummary, ScanExtent, SessionId, ToolStatus, TurnId,
};
use slug_code::hooks::{HookFiles, HookSet};
use slug_code::permissions::Workspace;
use slug_code::permissions::sandbox::ReadRules;
use slug_code::permissions::store::ProjectSettingsTrust;
use slug_code::platform::debug_log::DebugLog;
use slug_code::platform::redact::Redactor;
use slug_code::platform::scratch::ScratchRoot;
use slug_code::providers::Provider;
use slug_code::session::{
    LogEntry, LogRecord, MessageEntry, ReplayedConversation, SessionStore, ToolResultInfo,
    TurnOutcome,
};
use slug_code::skills::PromptPlaces;
use slug_code::subagents::SubagentTypes;
use slug_code::tools::{
    NoFormatters, NoLanguageServers, NoPdfReader, NoServerPrompts, NoWebPages, Processes, ToolPart,
    ToolRegistry, WorkingDirectory,
};
use tempfile::TempDir;
use tokio::time::timeout;

use super::fakes::{
    FakeAgentProcesses, FakeFiles, FakeHooks, FakeModelList, ScriptedProvider, ScriptedStream,
};

/// How long anything may take before a test has failed.
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a stopped turn may take to end: 100 ms by design, plus room for a slow machine.
pub const STOPPED_WITHIN: Duration = Duration::from_secs(5);

/// The folders and settings that agents opened here have in common.
pub struct AgentFixture {
    /// Kept because dropping it removes the folders.
    pub _folders: TempDir,
    pub work: PathBuf,
    pub home: PathBuf,
    pub store: SessionStore,
    pub model: Arc<ScriptedProvider>,
    pub provider: Option<Arc<dyn Provider>>,
    pub others: Vec<AgentProvider>,
    pub model_pin: ModelPin,
    pub processes: Arc<FakeAgentProcesses>,
    /// Runs commands inside the sandbox; `None` without a sandbox.
    pub sandbox: Option<Arc<dyn Processes>>,
    pub files: Arc<FakeFiles>,
    pub mode: PermissionMode,
    pub interactivity: Interactivity,
    pub project: ProjectSettingsTrust,
    pub model_name: Option<&'static str>,
    pub rounds: Option<u32>,
    /// The configured output limit; without one it is a third of the window.
    pub max_tokens: Option<u32>,
    pub budgets: AgentBudgets,
    pub fallback: Option<&'static str>,
    pub debug: DebugLog,
    pub redactor: Redactor,
    pub hooks: Arc<FakeHooks>,
    pub idle_after: Duration,
    pub model_titles: bool,
    /// The types of agents that the model can start.
    pub subagents: SubagentTypes,
    /// The rules that the sandbox uses to hide files.
    pub readers: Arc<ReadRules>,
    /// No folders unless the test sets them.
    pub prompt_places: PromptPlaces,
}

impl AgentFixture {
    /// A fixture for an interactive run in mode ask.
    pub fn new() -> Self {
        Self::with_models(FakeModelList::Named(vec!["test-model"]))
    }

    pub fn with_models(models: FakeModelList) -> Self {
        let folders = tempfile::tempdir().unwrap();
        let root = folders.path().canonicalize().unwrap();
        let (work, home) = (root.join("work"), root.join("slug"));
        for folder in [&work, &home] {
            std::fs::create_dir(folder).unwrap();
        }
        let sessions = home.join("sessions");
        Self {
            _folders: folders,
            store: SessionStore::new(sessions.clone(), home.join("trash"), home.join("blobs")),
            model: Arc::new(ScriptedProvider::new(models)),
            provider: None,
            others: Vec::new(),
            model_pin: ModelPin::Default,
            processes: Arc::new(FakeAgentProcesses::new(sessions)),
            sandbox: None,
            files: Arc::new(FakeFiles::new()),
            mode: PermissionMode::Ask,
            interactivity: Interactivity::Interactive,
            project: ProjectSettingsTrust::Trusted,
            model_name: Some("test-model"),
            rounds: Some(10),
            max_tokens: Some(1000),
            budgets: AgentBudgets::default(),
            fallback: None,
            debug: DebugLog::off(),
            redactor: Redactor::default(),
            hooks: Arc::new(FakeHooks::default()),
            idle_after: Duration::ZERO,
            model_titles: false,
            subagents: SubagentTypes::default(),
            readers: Arc::default(),
            prompt_places: PromptPlaces::default(),
            work,
            home,
        }
    }

    /// A fixture whose only server is this model at this host.
    pub fn hosted(host: &'static str, model: &'static str) -> Self {
        Self { model: Arc::new(ScriptedProvider::at(host)), model_name: Some(model), ..Self::new() }
    }

    pub fn in_mode(mode: PermissionMode) -> Self {
        Self { mode, ..Self::new() }
    }

    /// Puts a file into the working folder.
    pub fn put(&self, name: &str, text: &str) {
        put(&self.work.join(name), text);
    }

    /// Writes the user's own settings.
    pub fn settings(&self, settings: &Value) {
        put(&self.home.join("settings.json"), &settings.to_string());
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.work.join(name)).unwrap_or_default()
    }

    pub fn setup(&self, contexts: Vec<Box<dyn ContextProvider>>) -> AgentSetup {
        let workspace = Workspace::new(self.work.clone(), Vec::new(), None, self.home.clone());
        let (method, network) = (SandboxBackendKind::Bubblewrap, SandboxNetwork::Off);
        let (dir, extent) = (self.work.clone(), ScanExtent::Whole);
        let boundary = SandboxSummary { backend: method, dir, network, extent };
        let around = |_: &Arc<dyn Processes>| SandboxInForce {
            boundary,
            processes: self.processes.clone(),
            read_rules: self.readers.clone(),
        };
        let workspace = match &self.sandbox {
            Some(_) => workspace.with_sandbox(&self.work),
            None => workspace,
        };
        let provider = self.provider.clone();
        AgentSetup {
            git: None,
            providers: AgentProviderSet::new(
                AgentProvider {
                    name: "test".into(),
                    provider: provider.unwrap_or_else(|| self.model.clone()),
                    model: self.model_name.map(str::to_owned),
                    max_tokens: self.max_tokens,
                    window: 100_000,
                    effort: None,
                },
                self.others.clone(),
            ),
            budgets: self.budgets,
            catalogue: Arc::new(CatalogueCache::new(self.home.join("catalogue.json"))),
            model: self.model_name.map(str::to_owned),
            model_pin: self.model_pin,
            fallback_model: self.fallback.map(str::to_owned),
            effort: None,
            last_models: Some(self.home.join("models.json")),
            temperature: None,
            max_tool_rounds: self.rounds,
            system_prompt: Some("You are a test.".into()),
            place: WorkingDirectory { cwd: self.work.clone(), home: None },
            workspace: Arc::new(workspace),
            registry: Arc::new(ToolRegistry::from_parts(vec![ToolPart::built_in()]).unwrap()),
            prompts: Arc::new(NoServerPrompts),
            files: self.files.clone(),
            web: Arc::new(NoWebPages),
            pdfs: Arc::new(NoPdfReader),
            code: Arc::new(NoLanguageServers),
            formatter: Arc::new(NoFormatters),
            processes: self.sandbox.clone().unwrap_or_else(|| self.processes.clone()),
            escalation: self.sandbox.as_ref().map(around),
            project: self.project,
            scratch: ScratchRoot::in_folder(self._folders.path().to_owned()),
            mode: self.mode,
            interactivity: self.interactivity,
            unnamed_model: UnnamedModel::of(self.interactivity),
            blobs: self.store.blobs().clone(),
            store: self.store.clone(),
            home: self.home.clone(),
            instruction_folders: vec![self.work.clone()],
            prompt_places: self.prompt_places.clone(),
            contexts: contexts.into(),
            subagents: Arc::new(self.subagents.clone()),
            parent: None,
            idle_after: self.idle_after,
            model_titles: self.model_titles,
            hooks: Arc::new(HookSet::new(Some(self.hook_files()), self.hooks.clone())),
            debug: self.debug.clone(),
            redactor: self.redactor.clone(),
            notices: Vec::new(),
        }
    }

    fn hook_files(&self) -> HookFiles {
        let project = match self.project {
            ProjectSettingsTrust::Trusted => Some(self.work.clone()),
            ProjectSettingsTrust::Untrusted => None,
        };
        HookFiles { home: self.home.clone(), project }
    }

    pub async fn open(&self, start: InitialSession) -> TestAgent {
        self.open_with(start, Vec::new()).await
    }

    /// An agent whose session is open.
    pub async fn open_with(
        &self,
        start: InitialSession,
        contexts: Vec<Box<dyn ContextProvider>>,
    ) -> TestAgent {
        self.open_setup(self.setup(contexts), start).await
    }

    /// An agent with this setup, whose session is open.
    pub async fn open_setup(&self, setup: AgentSetup, start: InitialSession) -> TestAgent {
        let (agent, receiver) = spawn(setup, start);
        let mut agent = TestAgent {
            agent,
            receiver,
            events: Vec::new(),
            of_others: Vec::new(),
            session: None,
            approvals_taken: 0,
            store: self.store.clone(),
        };
        agent
            .wait_for("a session", |event| matches!(event, AgentEvent::SessionOpened { .. }))
            .await;
        agent
    }
}

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// An agent, and the events it has sent so far.
pub struct TestAgent {
    pub agent: AgentHandle,
    receiver: AgentEventReceiver,
    pub events: Vec<AgentEvent>,
    /// What the agents have told that this one has started.
    pub of_others: Vec<AddressedEvent>,
    pub session: Option<SessionId>,
    /// How many questions the test has taken with [`Self::next_approval`].
    approvals_taken: usize,
    store: SessionStore,
}

impl TestAgent {
    /// The next event of this agent or of one that it has started.
    async fn any_event(&mut self) -> AddressedEvent {
        let event = timeout(WAIT_TIMEOUT, self.receiver.recv()).await;
        let event = event.unwrap_or_else(|_| panic!("nothing more came after {:#?}", self.events));
        event.expect("the agent has ended")
    }

    /// Waits for an event of an agent that this one has started.
    pub async fn wait_for_other(
        &mut self,
        what: &str,
        fits: impl Fn(&AgentEvent) -> bool,
    ) -> AddressedEvent {
        if let Some(at) = self.of_others.iter().position(|it| fits(&it.event)) {
            return self.of_others.remove(at);
        }
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < WAIT_TIMEOUT, "no {what} in {:#?}", self.of_others);
            let event = self.any_event().await;
            if event.agent == self.agent.id {
                self.events.push(event.event);
            } else if fits(&event.event) {
                return event;
            } else {
                self.of_others.push(event);
            }
        }
    }

    pub async fn event(&mut self) -> AgentEvent {
        let event = loop {
            let event = self.any_event().await;
            if event.agent == self.agent.id {
                break event.event;
            }
            self.of_others.push(event);
        };
        if let AgentEvent::SessionOpened { session, .. } = event {
            self.session = Some(session);
        }
        self.events.push(event.clone());
        event
    }

    /// Waits for the next event that fits. `what` names it in a failure.
    pub async fn wait_for(&mut self, what: &str, fits: impl Fn(&AgentEvent) -> bool) -> AgentEvent {
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < WAIT_TIMEOUT, "no {what} in {:#?}", self.events);
            let event = self.event().await;
            if fits(&event) {
                return event;
            }
        }
    }

    pub async fn tell(&self, command: AgentCommand) {
        self.agent.commands.send(command.to(self.agent.id)).await.unwrap();
    }

    pub async fn send(&self, text: &str) {
        self.tell(AgentCommand::Send { text: text.into() }).await;
    }

    /// Sends a message and waits for the end of its turn.
    pub async fn turn(&mut self, text: &str) -> TurnOutcome {
        self.send(text).await;
        self.wait_for_turn_end().await
    }

    pub async fn wait_for_turn_end(&mut self) -> TurnOutcome {
        let event = self.wait_for("end", |event| turn_end(event).is_some()).await;
        turn_end(&event).unwrap().1.clone()
    }

    /// Stops the turn and returns its outcome. Fails when that takes longer than
    /// [`STOPPED_WITHIN`].
    pub async fn stop(&mut self) -> TurnOutcome {
        let stopped = Instant::now();
        self.agent.stop.stop_turn();
        let outcome = self.wait_for_turn_end().await;
        assert!(stopped.elapsed() < STOPPED_WITHIN, "it took {:?}", stopped.elapsed());
        outcome
    }

    /// The next question, which may have come during another wait.
    pub async fn next_approval(&mut self) -> ApprovalRequest {
        self.approvals_taken += 1;
        while self.approval_count() < self.approvals_taken {
            self.event().await;
        }
        let question = |event: &AgentEvent| match event {
            AgentEvent::ApprovalAsked(request) => Some((**request).clone()),
            _ => None,
        };
        self.events.iter().filter_map(question).nth(self.approvals_taken - 1).unwrap()
    }

    pub async fn answer(&self, question: &ApprovalRequest, answer: ApprovalAnswer) {
        self.tell(AgentCommand::Answer { id: question.id, answer }).await;
    }

    pub async fn wait_for_tool_start(&mut self) {
        self.wait_for("start of a tool", |event| matches!(event, AgentEvent::ToolStarted { .. }))
            .await;
    }

    /// Waits for the end of this call.
    pub async fn wait_for_tool_end(&mut self, id: &str) -> ToolStatus {
        let id = CallId::new(id);
        let is_it = |event: &AgentEvent| {
            result(event).is_some_and(|entry| entry.message().answers().any(|it| *it == id))
        };
        let event = self.wait_for("end of a tool", is_it).await;
        tool_end(&event).unwrap().status
    }

    pub fn id(&self) -> SessionId {
        self.session.expect("no session was opened")
    }

    /// How many questions the agent has asked so far.
    pub fn approval_count(&self) -> usize {
        self.events.iter().filter(|event| matches!(event, AgentEvent::ApprovalAsked(_))).count()
    }

    /// All notices so far.
    pub fn notices(&self) -> Vec<&str> {
        self.events
            .iter()
            .filter_map(|event| match event {
                AgentEvent::Notice { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    pub fn records(&self) -> Vec<LogRecord> {
        self.store.read(self.id()).unwrap().records
    }

    pub fn conversation(&self) -> ReplayedConversation {
        ReplayedConversation::of(&self.records())
    }

    /// All messages in the log.
    pub fn messages(&self) -> Vec<MessageEntry> {
        let message = |record: LogRecord| match record.entry {
            LogEntry::Message(message) => Some(message),
            _ => None,
        };
        self.records().into_iter().filter_map(message).collect()
    }

    /// The result of a call for the model, and its status. Fails unless there is exactly one.
    pub fn result(&self, id: &str) -> (String, ToolStatus) {
        let id = CallId::new(id);
        let of_it: Vec<MessageEntry> = self
            .messages()
            .into_iter()
            .filter(|it| it.message().answers().any(|it| *it == id))
            .collect();
        assert_eq!(of_it.len(), 1, "a call has one result: {of_it:#?}");
        let text = serde_json::to_value(&of_it[0].content[0]).unwrap();
        let status = of_it[0].result.as_ref().unwrap().status;
        (text["content"].as_str().unwrap().to_owned(), status)
    }

    /// Closes the agent, and waits until everything is saved.
    pub async fn close(self) {
        let AgentHandle { id: _, commands, stop: _, children: _, task } = self.agent;
        drop((commands, self.receiver));
        timeout(WAIT_TIMEOUT, task).await.expect("the agent does not end").unwrap();
    }
}

/// The turn whose end an event tells, and how it ended.
pub fn turn_end(event: &AgentEvent) -> Option<(TurnId, &TurnOutcome)> {
    match event {
        AgentEvent::Recorded(record) | AgentEvent::NotRecorded(record) => match &record.entry {
            LogEntry::TurnEnd(end) => Some((record.turn, &end.outcome)),
            _ => None,
        },
        _ => None,
    }
}

/// How a call went whose end an event tells; it may be a command of the user.
pub fn tool_end(event: &AgentEvent) -> Option<&ToolResultInfo> {
    result(event)?.result.as_ref()
}

fn result(event: &AgentEvent) -> Option<&MessageEntry> {
    message(event).filter(|entry| entry.result.is_some())
}

/// The message that an event puts on record.
pub fn message(event: &AgentEvent) -> Option<&MessageEntry> {
    match event {
        AgentEvent::Recorded(record) => match &record.entry {
            LogEntry::Message(message) => Some(message),
            _ => None,
        },
        _ => None,
    }
}

/// Whether an event puts a response of the model on record.
pub fn is_response(event: &AgentEvent) -> bool {
    message(event).is_some_and(|entry| entry.role == MessageRole::Assistant)
}

/// Queues replies of the model, one for each request.
pub fn queue_replies(fixture: &AgentFixture, replies: impl IntoIterator<Item = ScriptedStream>) {
    for reply in replies {
        fixture.model.reply(reply);
    }
}

/// A conversation as JSON, to compare bytes.
pub fn bytes(messages: &[Message]) -> String {
    serde_json::to_string(messages).unwrap()
}
