//! Folders for agents to work in, and an agent with everything that was heard of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use slug_code::agent::{
    AgentCommand, AgentEvent, AgentHandle, AgentProvider, AgentProviderSet, AgentSetup,
    InitialSession, Interactivity, ModelPin, SandboxEscalation, spawn,
};
use slug_code::catalogue::CatalogueCache;
use slug_code::context::ContextProvider;
use slug_code::domain::{
    Answer, ApprovalRequest, Boundary, Budgets, CallId, Extent, Message, Method, Mode, Network,
    SessionId, ToolStatus,
};
use slug_code::hooks::{HookFiles, HookSet};
use slug_code::permissions::Workspace;
use slug_code::permissions::sandbox::ReadRules;
use slug_code::permissions::store::ProjectSettingsTrust;
use slug_code::platform::debug_log::DebugLog;
use slug_code::platform::redact::Redactor;
use slug_code::providers::Provider;
use slug_code::session::{
    LogEntry, LogRecord, MessageEntry, ReplayedConversation, SessionStore, TurnOutcome,
};
use slug_code::tools::{Processes, ToolRegistry, WorkingDirectory};
use tempfile::TempDir;
use tokio::time::timeout;

use super::fakes::{FakeFiles, FakeHooks, FakeProcesses, Models, Reply, Scripted};

/// How long anything may take before a test has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a turn may take to be over once it is stopped: 100 ms by design, and room for a slow
/// machine.
pub const STOPPED_WITHIN: Duration = Duration::from_secs(5);

/// Folders, and what agents that are opened there have in common.
pub struct Scene {
    /// Kept, since the folders go with it.
    pub _folders: TempDir,
    pub work: PathBuf,
    pub home: PathBuf,
    pub store: SessionStore,
    pub model: Arc<Scripted>,
    pub provider: Option<Arc<dyn Provider>>,
    pub others: Vec<AgentProvider>,
    pub standing: ModelPin,
    pub processes: Arc<FakeProcesses>,
    /// What runs commands inside a sandbox, where one is in force.
    pub sandbox: Option<Arc<dyn Processes>>,
    pub files: Arc<FakeFiles>,
    pub mode: Mode,
    pub person: Interactivity,
    pub project: ProjectSettingsTrust,
    pub named: Option<&'static str>,
    pub rounds: u32,
    pub budgets: Budgets,
    pub fallback: Option<&'static str>,
    pub debug: DebugLog,
    pub redactor: Redactor,
    pub hooks: Arc<FakeHooks>,
    pub idle_after: Duration,
    /// What commands in the sandbox are told of the rules.
    pub readers: Arc<ReadRules>,
}

impl Scene {
    /// With a person, in the mode ask.
    pub fn new() -> Self {
        Self::with_models(Models::These(vec!["test-model"]))
    }

    pub fn with_models(models: Models) -> Self {
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
            model: Arc::new(Scripted::new(models)),
            provider: None,
            others: Vec::new(),
            standing: ModelPin::Default,
            processes: Arc::new(FakeProcesses::new(sessions)),
            sandbox: None,
            files: Arc::new(FakeFiles::new()),
            mode: Mode::Ask,
            person: Interactivity::Interactive,
            project: ProjectSettingsTrust::Trusted,
            named: Some("test-model"),
            rounds: 10,
            budgets: Budgets::default(),
            fallback: None,
            debug: DebugLog::off(),
            redactor: Redactor::default(),
            hooks: Arc::new(FakeHooks::default()),
            idle_after: Duration::ZERO,
            readers: Arc::default(),
            work,
            home,
        }
    }

    /// Where this model is asked at this host, and slug knows no other server.
    pub fn hosted(host: &'static str, model: &'static str) -> Self {
        Self { model: Arc::new(Scripted::at(host)), named: Some(model), ..Self::new() }
    }

    pub fn in_mode(mode: Mode) -> Self {
        Self { mode, ..Self::new() }
    }

    /// Puts a file into the working folder.
    pub fn put(&self, name: &str, text: &str) {
        put(&self.work.join(name), text);
    }

    /// The person's own settings.
    pub fn settings(&self, settings: &Value) {
        put(&self.home.join("settings.json"), &settings.to_string());
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.work.join(name)).unwrap_or_default()
    }

    pub fn setup(&self, contexts: Vec<Box<dyn ContextProvider>>) -> AgentSetup {
        let workspace = Workspace::new(self.work.clone(), Vec::new(), None, self.home.clone());
        let (method, network) = (Method::Bubblewrap, Network::Off);
        let (dir, extent) = (self.work.clone(), Extent::Whole);
        let boundary = Boundary { method, dir, network, extent };
        let around = |_: &Arc<dyn Processes>| SandboxEscalation {
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
            providers: AgentProviderSet::new(
                AgentProvider {
                    name: "test".into(),
                    provider: provider.unwrap_or_else(|| self.model.clone()),
                    model: self.named.map(str::to_owned),
                    max_tokens: 1000,
                    window: 100_000,
                    effort: None,
                },
                self.others.clone(),
            ),
            budgets: self.budgets,
            catalogue: Arc::new(CatalogueCache::new(self.home.join("catalogue.json"))),
            model: self.named.map(str::to_owned),
            model_pin: self.standing,
            fallback_model: self.fallback.map(str::to_owned),
            effort: None,
            last_models: Some(self.home.join("models.json")),
            temperature: None,
            max_tool_rounds: self.rounds,
            system_prompt: Some("You are a test.".into()),
            place: WorkingDirectory { cwd: self.work.clone(), home: None },
            workspace: Arc::new(workspace),
            registry: Arc::new(ToolRegistry::standard()),
            files: self.files.clone(),
            processes: self.sandbox.clone().unwrap_or_else(|| self.processes.clone()),
            escalation: self.sandbox.as_ref().map(around),
            project: self.project,
            mode: self.mode,
            interactivity: self.person,
            blobs: self.store.blobs().clone(),
            store: self.store.clone(),
            home: self.home.clone(),
            instruction_folders: vec![self.work.clone()],
            contexts,
            idle_after: self.idle_after,
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

    pub async fn open(&self, start: InitialSession) -> Rig {
        self.open_with(start, Vec::new()).await
    }

    /// An agent whose session is open.
    pub async fn open_with(
        &self,
        start: InitialSession,
        contexts: Vec<Box<dyn ContextProvider>>,
    ) -> Rig {
        let mut rig = Rig {
            agent: spawn(self.setup(contexts), start),
            heard: Vec::new(),
            session: None,
            asked: 0,
            store: self.store.clone(),
        };
        rig.until("a session", |event| matches!(event, AgentEvent::SessionOpened { .. })).await;
        rig
    }
}

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// An agent, and what it has told so far.
pub struct Rig {
    pub agent: AgentHandle,
    pub heard: Vec<AgentEvent>,
    pub session: Option<SessionId>,
    /// How many questions the test has taken.
    asked: usize,
    store: SessionStore,
}

impl Rig {
    pub async fn event(&mut self) -> AgentEvent {
        let event = timeout(PATIENCE, self.agent.events.recv()).await;
        let event = event.unwrap_or_else(|_| panic!("nothing more came after {:#?}", self.heard));
        let event = event.expect("the agent is gone");
        if let AgentEvent::SessionOpened { session, .. } = event {
            self.session = Some(session);
        }
        self.heard.push(event.clone());
        event
    }

    /// The next event that fits.
    pub async fn until(&mut self, what: &str, fits: impl Fn(&AgentEvent) -> bool) -> AgentEvent {
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < PATIENCE, "no {what} in {:#?}", self.heard);
            let event = self.event().await;
            if fits(&event) {
                return event;
            }
        }
    }

    pub async fn tell(&self, command: AgentCommand) {
        self.agent.commands.send(command).await.unwrap();
    }

    pub async fn send(&self, text: &str) {
        self.tell(AgentCommand::Send { text: text.into() }).await;
    }

    /// Sends a message and waits for the end of its turn.
    pub async fn turn(&mut self, text: &str) -> TurnOutcome {
        self.send(text).await;
        self.ended().await
    }

    pub async fn ended(&mut self) -> TurnOutcome {
        match self.until("end", |event| matches!(event, AgentEvent::TurnEnded { .. })).await {
            AgentEvent::TurnEnded { outcome, .. } => outcome,
            _ => unreachable!(),
        }
    }

    /// Stops the turn and says how it ended. Fails when that takes long.
    pub async fn stop(&mut self) -> TurnOutcome {
        let stopped = Instant::now();
        self.agent.stop.stop_turn();
        let outcome = self.ended().await;
        assert!(stopped.elapsed() < STOPPED_WITHIN, "it took {:?}", stopped.elapsed());
        outcome
    }

    /// The next question, which may have come while something else was waited for.
    pub async fn asked(&mut self) -> ApprovalRequest {
        self.asked += 1;
        while self.questions() < self.asked {
            self.event().await;
        }
        let question = |event: &AgentEvent| match event {
            AgentEvent::ApprovalAsked(request) => Some((**request).clone()),
            _ => None,
        };
        self.heard.iter().filter_map(question).nth(self.asked - 1).unwrap()
    }

    pub async fn answer(&self, question: &ApprovalRequest, answer: Answer) {
        self.tell(AgentCommand::Answer { id: question.id, answer }).await;
    }

    pub async fn tool_started(&mut self) {
        self.until("start of a tool", |event| matches!(event, AgentEvent::ToolStarted { .. }))
            .await;
    }

    /// Waits for the end of this call.
    pub async fn tool_ended(&mut self, id: &str) -> ToolStatus {
        let id = CallId::new(id);
        let is_it =
            |event: &AgentEvent| matches!(event, AgentEvent::ToolEnded { call, .. } if *call == id);
        match self.until("end of a tool", is_it).await {
            AgentEvent::ToolEnded { status, .. } => status,
            _ => unreachable!(),
        }
    }

    pub fn id(&self) -> SessionId {
        self.session.expect("no session was opened")
    }

    /// How many questions were asked so far.
    pub fn questions(&self) -> usize {
        self.heard.iter().filter(|event| matches!(event, AgentEvent::ApprovalAsked(_))).count()
    }

    /// All notices so far.
    pub fn notices(&self) -> Vec<&str> {
        self.heard
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

    /// All that was said, as it stands in the log.
    pub fn said(&self) -> Vec<MessageEntry> {
        let said = |record: LogRecord| match record.entry {
            LogEntry::Message(said) => Some(said),
            _ => None,
        };
        self.records().into_iter().filter_map(said).collect()
    }

    /// What the model was told of a call, and how it went.
    pub fn result(&self, id: &str) -> (String, ToolStatus) {
        let id = CallId::new(id);
        let of_it: Vec<MessageEntry> = self
            .said()
            .into_iter()
            .filter(|it| it.message().answers().any(|it| *it == id))
            .collect();
        assert_eq!(of_it.len(), 1, "a call has one result: {of_it:#?}");
        let text = serde_json::to_value(&of_it[0].content[0]).unwrap();
        let status = of_it[0].result.as_ref().unwrap().status;
        (text["content"].as_str().unwrap().to_owned(), status)
    }

    /// Leaves, and waits until everything is saved.
    pub async fn close(self) {
        let AgentHandle { commands, events, stop: _, task } = self.agent;
        drop((commands, events));
        timeout(PATIENCE, task).await.expect("the agent does not end").unwrap();
    }
}

/// Plays these replies in turn.
pub fn play(scene: &Scene, replies: impl IntoIterator<Item = Reply>) {
    for reply in replies {
        scene.model.reply(reply);
    }
}

/// A conversation as the provider's bytes would have it.
pub fn bytes(messages: &[Message]) -> String {
    serde_json::to_string(messages).unwrap()
}
