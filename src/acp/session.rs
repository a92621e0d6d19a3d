//! One open session: its agent, the prompt that runs, and the questions that are open in the editor.
//!
//! One task owns it. Everything that waits for the editor, for a server or for the disk runs beside it
//! (`work`), so a cancel is always heard. A prompt is answered once, when its turn has ended and all of the
//! turn was told.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agent_client_protocol_schema::v1::{
    CloseSessionResponse, ConfigOptionUpdate, ContentBlock, CurrentModeUpdate,
    Error as ProtocolError, ErrorCode, LoadSessionResponse, NewSessionResponse, PromptResponse,
    RequestId, ResumeSessionResponse, SessionConfigOptionValue, SessionId as EditorSessionId,
    SessionUpdate, SetSessionConfigOptionResponse, SetSessionModeResponse, StopReason,
};
use futures_util::future::join_all;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::agent::{AddressedEvent, AgentCommand, AgentEvent, AgentProviderSet, InitialSession};
use crate::domain::{
    AgentId, ApprovalAnswer, ApprovalId, ModelName, NoticeLevel, QuestionAnswer, SessionId,
    UserInput,
};
use crate::providers::ProviderFault;
use crate::session::{LogEntry, ModelFailure, TurnEnd, TurnOutcome};

use super::capabilities::EditorFeatures;
use super::commands::{self, PromptCommand};
use super::connection::EditorConnection;
use super::events::EventMapper;
use super::host::{AcpAgent, AcpHost, AcpOpenError, AcpOpening, EditorFilesOpening};
use super::prompt;
use super::settings::SessionSettings;

mod asking;

use asking::EditorQuestion;

/// How long a provider may take to list its models.
const MODELS_LIMIT: Duration = Duration::from_secs(10);
/// How long an agent may take to save its session.
const SAVE_LIMIT: Duration = Duration::from_secs(3);

/// What the editor asks of an open session.
#[derive(Debug)]
pub(super) enum SessionRequest {
    Prompt {
        id: RequestId,
        blocks: Vec<ContentBlock>,
    },
    /// Stops the turn; with an id, only where that prompt runs.
    Cancel {
        prompt: Option<RequestId>,
    },
    SetMode {
        id: RequestId,
        mode: String,
    },
    SetOption {
        id: RequestId,
        option: String,
        value: SessionConfigOptionValue,
    },
    /// Ends the session, with an answer where one is asked for.
    Close {
        id: Option<RequestId>,
    },
}

/// How a session is opened, which decides what is told of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpeningKind {
    New,
    /// With all of its conversation.
    Load,
    /// Without what the editor knows.
    Resume,
}

pub(super) struct EditorSession {
    editor: EditorConnection,
    host: Arc<dyn AcpHost>,
    session: SessionId,
    id: EditorSessionId,
    agent: AcpAgent,
    mapper: EventMapper,
    settings: SessionSettings,
    running: Option<RunningPrompt>,
    questions: HashMap<ApprovalId, EditorQuestion>,
    /// The questions among them that an agent asks which a call has started.
    children: HashMap<ApprovalId, AgentId>,
    work: JoinSet<SessionWork>,
    /// The commands as they were told last.
    prompts: Vec<(String, String)>,
    /// The skills and custom commands that the user can call, in the same form.
    files: Vec<(String, String)>,
}

/// The prompt that is not answered yet.
struct RunningPrompt {
    id: RequestId,
    is_cancelled: bool,
    /// Whether its turn has begun.
    has_begun: bool,
    /// The server wants a key, or another one.
    needs_key: bool,
    /// The agent was asked for a turn.
    is_sent: bool,
    /// A slash command, which may end without a turn.
    is_command: bool,
}

/// What has been waited for.
enum SessionWork {
    Approved(ApprovalId, ApprovalAnswer),
    Answered(ApprovalId, Vec<QuestionAnswer>),
    Listed(Vec<ModelName>),
    Read(RequestId, Result<UserInput, ProtocolError>),
}

impl EditorSession {
    /// Starts the agent of a session, and waits until the session is open.
    ///
    /// # Errors
    ///
    /// What the editor is answered: no model, no such session, or one that cannot be opened here.
    pub(super) async fn open(
        editor: EditorConnection,
        features: EditorFeatures,
        host: Arc<dyn AcpHost>,
        mut opening: AcpOpening,
    ) -> Result<Self, ProtocolError> {
        let session_id = Arc::new(OnceLock::new());
        opening.files = features.reads_files.then(|| EditorFilesOpening {
            connection: editor.clone(),
            session: session_id.clone(),
        });
        let wanted = match opening.start {
            InitialSession::Resume(session) => Some(session),
            InitialSession::New | InitialSession::Fork(_) => None,
        };
        let agent = host.open(opening).await.map_err(refusal)?;
        let (registry, place) = (agent.registry.clone(), agent.place.clone());
        let mapper = EventMapper::new(features, registry, place, host.store().blobs().clone());
        let settings = SessionSettings {
            mode: agent.mode,
            has_sandbox: agent.has_sandbox,
            model: agent.model.clone(),
            effort: agent.effort,
            models: Vec::new(),
        };
        let mut open = Self {
            editor,
            host,
            session: SessionId::generate(),
            id: EditorSessionId::new(""),
            agent,
            mapper,
            settings,
            running: None,
            questions: HashMap::new(),
            children: HashMap::new(),
            work: JoinSet::new(),
            prompts: Vec::new(),
            files: Vec::new(),
        };
        if let Err(error) = open.wait_until_open(wanted).await {
            open.end().await;
            return Err(error);
        }
        // Nobody else sets it.
        let _ = session_id.set(open.id.clone());
        let providers = open.agent.providers.clone();
        open.work.spawn(async move { SessionWork::Listed(models(&providers).await) });
        Ok(open)
    }

    async fn wait_until_open(&mut self, wanted: Option<SessionId>) -> Result<(), ProtocolError> {
        let gone = || ProtocolError::internal_error().data("The agent ended.".to_owned());
        loop {
            let AddressedEvent { event, .. } = self.agent.events.recv().await.ok_or_else(gone)?;
            self.settings.take(&event);
            if let AgentEvent::PromptFiles(report) = &event {
                self.files = commands::of_files(report);
            }
            if let AgentEvent::SessionOpened { session, .. } = event {
                self.session = session;
                self.id = EditorSessionId::new(session.to_string());
                break;
            }
        }
        // An agent that cannot open a session begins another one, and then says why.
        while wanted.is_some_and(|wanted| wanted != self.session) {
            let AddressedEvent { event, .. } = self.agent.events.recv().await.ok_or_else(gone)?;
            if let AgentEvent::Notice { level: NoticeLevel::Error, text } = event {
                return Err(ProtocolError::internal_error().data(text));
            }
        }
        Ok(())
    }

    pub(super) fn session(&self) -> SessionId {
        self.session
    }

    /// Answers the request that opened the session, after all that the editor is told before.
    pub(super) async fn answer_opening(
        &mut self,
        id: RequestId,
        kind: OpeningKind,
    ) -> Result<(), ProtocolError> {
        let (modes, options) = (self.settings.mode_state(), self.settings.options());
        match kind {
            OpeningKind::New => {
                let answer = NewSessionResponse::new(self.id.clone());
                let answer = answer.modes(modes).config_options(options);
                self.editor.respond(id, Ok(answer)).await;
            }
            OpeningKind::Load => {
                let (store, session) = (self.host.store().clone(), self.session);
                let read = tokio::task::spawn_blocking(move || store.read(session)).await;
                let failed = |error: String| ProtocolError::internal_error().data(error);
                let loaded = read.map_err(|error| failed(error.to_string()))?;
                let loaded = loaded.map_err(|error| failed(error.to_string()))?;
                let updates = self.mapper.replay(loaded.records);
                self.tell(updates).await;
                let answer = LoadSessionResponse::new().modes(modes).config_options(options);
                self.editor.respond(id, Ok(answer)).await;
            }
            OpeningKind::Resume => {
                let answer = ResumeSessionResponse::new().modes(modes).config_options(options);
                self.editor.respond(id, Ok(answer)).await;
            }
        }
        self.prompts = (self.agent.prompts)();
        self.tell_commands().await;
        Ok(())
    }

    /// Serves the session until it is closed, or until nobody can ask anything of it any more.
    pub(super) async fn run(
        mut self,
        mut requests: mpsc::UnboundedReceiver<SessionRequest>,
        ending: &CancellationToken,
    ) {
        let closing = loop {
            tokio::select! {
                told = self.agent.events.recv() => match told {
                    Some(AddressedEvent { agent, event }) if agent == self.agent.handle.id => {
                        self.event(event).await;
                    }
                    Some(AddressedEvent { agent, event }) => self.event_of_child(agent, &event).await,
                    None => break None,
                },
                request = requests.recv() => match request {
                    Some(SessionRequest::Close { id }) => break id,
                    Some(request) => self.request(request).await,
                    None => break None,
                },
                () = ending.cancelled() => break None,
                Some(done) = self.work.join_next() => match done {
                    Ok(done) => self.done(done).await,
                    // A question that was withdrawn.
                    Err(error) if error.is_cancelled() => {}
                    Err(error) => tracing::error!(%error, "a task of a session"),
                },
            }
        };
        self.withdraw_all().await;
        self.agent.handle.stop.stop_all();
        let updates = self.mapper.end_calls();
        self.tell(updates).await;
        if let Some(running) = self.running.take() {
            let answer = PromptResponse::new(StopReason::Cancelled);
            self.editor.respond(running.id, Ok(answer)).await;
        }
        let editor = self.editor.clone();
        self.end().await;
        if let Some(id) = closing {
            editor.respond(id, Ok(CloseSessionResponse::new())).await;
        }
    }

    /// Ends the agent and all that its commands have left running.
    async fn end(self) {
        let AcpAgent { handle, end, .. } = self.agent;
        handle.stop.stop_all();
        drop(handle.commands);
        let abort = handle.task.abort_handle();
        if tokio::time::timeout(SAVE_LIMIT, handle.task).await.is_err() {
            tracing::error!("the session could not be saved in time");
            abort.abort();
        }
        end().await;
    }

    async fn request(&mut self, request: SessionRequest) {
        match request {
            SessionRequest::Prompt { id, blocks } => self.prompt(id, blocks).await,
            SessionRequest::Cancel { prompt } => self.cancel(prompt).await,
            SessionRequest::SetMode { id, mode } => match self.settings.choose_mode(&mode) {
                Some(command) => {
                    self.command(command).await;
                    self.editor.respond(id, Ok(SetSessionModeResponse::new())).await;
                    self.tell_options().await;
                }
                None => {
                    let error = format!("There is no mode `{mode}` here.");
                    let error = ProtocolError::invalid_params().data(error);
                    self.editor.respond::<()>(id, Err(error)).await;
                }
            },
            SessionRequest::SetOption { id, option, value } => {
                let before = self.settings.mode;
                match self.settings.choose(&option, &value) {
                    Ok(command) => {
                        if let Some(command) = command {
                            self.command(command).await;
                        }
                        let options = self.settings.options();
                        let answer = SetSessionConfigOptionResponse::new(options);
                        self.editor.respond(id, Ok(answer)).await;
                        if self.settings.mode != before {
                            self.tell_mode().await;
                        }
                    }
                    Err(error) => {
                        let error = ProtocolError::invalid_params().data(error);
                        self.editor.respond::<()>(id, Err(error)).await;
                    }
                }
            }
            // The loop ends with it.
            SessionRequest::Close { .. } => {}
        }
    }

    async fn cancel(&mut self, prompt: Option<RequestId>) {
        let is_meant = |id: &RequestId| prompt.as_ref().is_none_or(|prompt| prompt == id);
        let Some(running) = self.running.as_mut().filter(|it| is_meant(&it.id)) else { return };
        running.is_cancelled = true;
        if running.is_sent {
            return self.agent.handle.stop.stop_turn();
        }
        // It is still read, and nothing of it was sent.
        if let Some(running) = self.running.take() {
            let answer = PromptResponse::new(StopReason::Cancelled);
            self.editor.respond(running.id, Ok(answer)).await;
        }
    }

    async fn prompt(&mut self, id: RequestId, blocks: Vec<ContentBlock>) {
        if self.running.is_some() {
            let error = "A prompt is running in this session. Wait for its end, or cancel it.";
            let error = ProtocolError::invalid_request().data(error.to_owned());
            return self.editor.respond::<()>(id, Err(error)).await;
        }
        let first = blocks.iter().find_map(|block| match block {
            ContentBlock::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        match first.and_then(commands::read) {
            Some(PromptCommand::Turn(command)) => {
                self.running = Some(RunningPrompt::new(id, true));
                self.command(command).await;
            }
            Some(PromptCommand::AtOnce(command)) => {
                self.command(command).await;
                self.editor.respond(id, Ok(PromptResponse::new(StopReason::EndTurn))).await;
            }
            Some(PromptCommand::Wrong(text)) => {
                let error = ProtocolError::invalid_params().data(text);
                self.editor.respond::<()>(id, Err(error)).await;
            }
            None => {
                self.running = Some(RunningPrompt::new(id.clone(), false));
                let (cwd, host) = (self.mapper.cwd().to_owned(), self.host.clone());
                let settled = (self.agent.settle)();
                self.work.spawn(async move {
                    settled.await;
                    SessionWork::Read(id, prompt::read(blocks, &cwd, &host).await)
                });
            }
        }
    }

    async fn done(&mut self, done: SessionWork) {
        match done {
            SessionWork::Approved(id, answer) => {
                if self.questions.remove(&id).is_some() {
                    self.answer(id, AgentCommand::Answer { id, answer }).await;
                }
            }
            SessionWork::Answered(id, answers) => {
                if self.questions.remove(&id).is_some() {
                    self.answer(id, AgentCommand::AnswerQuestions { id, answers }).await;
                }
            }
            SessionWork::Listed(models) => {
                if self.settings.models != models {
                    self.settings.models = models;
                    self.tell_options().await;
                }
            }
            SessionWork::Read(id, input) => {
                let Some(running) = self.running.as_mut().filter(|running| running.id == id) else {
                    return;
                };
                match input {
                    Ok(text) => {
                        running.is_sent = true;
                        self.command(AgentCommand::Send { text }).await;
                    }
                    Err(error) => {
                        self.running = None;
                        self.editor.respond::<()>(id, Err(error)).await;
                    }
                }
            }
        }
    }

    /// Of the agents that calls have started, the editor gets the questions: what they do is in the
    /// results of the calls.
    async fn event_of_child(&mut self, agent: AgentId, event: &AgentEvent) {
        if let AgentEvent::ApprovalAsked(request) = event {
            self.children.insert(request.id, agent);
            self.ask_approval(request).await;
        } else if let AgentEvent::QuestionsAsked(request) = event {
            self.children.insert(request.id, agent);
            self.ask_questions(request).await;
        } else if let AgentEvent::ApprovalWithdrawn(id) = event {
            self.withdraw(*id).await;
        }
    }

    async fn event(&mut self, event: AgentEvent) {
        if self.settings.take(&event) {
            if let AgentEvent::ModeChanged(_) = &event {
                self.tell_mode().await;
            }
            self.tell_options().await;
        }
        let updates = self.mapper.take(&event);
        self.tell(updates).await;
        if let AgentEvent::ApprovalAsked(request) = &event {
            self.ask_approval(request).await;
        } else if let AgentEvent::QuestionsAsked(request) = &event {
            self.ask_questions(request).await;
        } else if let AgentEvent::ApprovalWithdrawn(id) = &event {
            self.withdraw(*id).await;
        } else if let AgentEvent::Recorded(record) | AgentEvent::NotRecorded(record) = &event
            && let LogEntry::TurnEnd(end) = &record.entry
        {
            self.turn_ended(end).await;
        } else if let AgentEvent::CommandRefused(refusal) = &event {
            self.not_begun(&refusal.to_string()).await;
        } else if let AgentEvent::Notice { level: NoticeLevel::Error, text } = &event {
            // Other notices may come at any time and say nothing of the command.
            self.not_begun(text).await;
        } else if let AgentEvent::PromptFiles(report) = &event {
            self.files = commands::of_files(report);
            self.tell_commands().await;
        } else if let AgentEvent::TurnStarted { .. } = &event {
            self.turn_started().await;
        } else if let AgentEvent::ProviderFailed { fault: ProviderFault::KeyRefused, .. } = &event
            && let Some(running) = &mut self.running
        {
            running.needs_key = true;
        }
    }

    async fn tell_commands(&self) {
        let called = self.prompts.iter().chain(&self.files).cloned();
        self.tell(vec![commands::update(called)]).await;
    }

    async fn turn_started(&mut self) {
        let prompts = (self.agent.prompts)();
        if prompts != self.prompts {
            self.prompts = prompts;
            self.tell_commands().await;
        }
        if let Some(running) = &mut self.running {
            running.has_begun = true;
        }
    }

    /// Ends a prompt that was refused without a turn, as a `/compact` with nothing to compact.
    async fn not_begun(&mut self, why: &str) {
        let waits = |running: &RunningPrompt| running.is_command && !running.has_begun;
        if let Some(running) = self.running.take_if(|running| waits(running)) {
            let error = ProtocolError::new(ErrorCode::InvalidRequest.into(), why);
            self.editor.respond::<()>(running.id, Err(error)).await;
        }
    }

    async fn turn_ended(&mut self, end: &TurnEnd) {
        self.withdraw_all().await;
        let Some(running) = self.running.take_if(|running| running.is_sent) else { return };
        let answer = match &end.outcome {
            // A prompt that was cancelled is never answered by an error.
            _ if running.is_cancelled => Ok(StopReason::Cancelled),
            TurnOutcome::Answered => Ok(StopReason::EndTurn),
            TurnOutcome::Interrupted => Ok(StopReason::Cancelled),
            TurnOutcome::RoundLimit => Ok(StopReason::MaxTurnRequests),
            TurnOutcome::Budget(_) | TurnOutcome::ModelFailed(ModelFailure::OutputLimit) => {
                Ok(StopReason::MaxTokens)
            }
            TurnOutcome::ModelFailed(ModelFailure::ContentFilter) => Ok(StopReason::Refusal),
            TurnOutcome::Failed(text) if running.needs_key => {
                Err(ProtocolError::auth_required().data(text.clone()))
            }
            TurnOutcome::Failed(text) => Err(failure(text.clone())),
            TurnOutcome::ModelFailed(why) => Err(failure(why.to_string())),
        };
        self.editor.respond(running.id, answer.map(PromptResponse::new)).await;
    }

    async fn tell(&self, updates: Vec<SessionUpdate>) {
        for update in updates {
            self.editor.update(&self.id, update).await;
        }
    }

    async fn tell_mode(&self) {
        let update = CurrentModeUpdate::new(self.settings.mode.name());
        self.tell(vec![SessionUpdate::CurrentModeUpdate(update)]).await;
    }

    async fn tell_options(&self) {
        let update = ConfigOptionUpdate::new(self.settings.options());
        self.tell(vec![SessionUpdate::ConfigOptionUpdate(update)]).await;
    }

    /// Sends an answer to whoever has asked.
    async fn answer(&mut self, id: ApprovalId, command: AgentCommand) {
        let Some(agent) = self.children.remove(&id) else { return self.command(command).await };
        if let Some(commands) = self.agent.handle.children.commands(agent) {
            // An agent that is gone waits for no answer.
            let _ = commands.send(command.to(agent)).await;
        }
    }

    async fn command(&self, command: AgentCommand) {
        let handle = &self.agent.handle;
        // An agent that is gone has ended its events, which ends the session.
        let _ = handle.commands.send(command.to(handle.id)).await;
    }
}

impl RunningPrompt {
    fn new(id: RequestId, is_command: bool) -> Self {
        let (is_cancelled, has_begun, needs_key) = (false, false, false);
        Self { id, is_cancelled, has_begun, needs_key, is_sent: is_command, is_command }
    }
}

fn failure(text: String) -> ProtocolError {
    ProtocolError::new(ErrorCode::InternalError.into(), text)
}

/// The answer to a request for a session that cannot be opened.
pub(super) fn refusal(error: AcpOpenError) -> ProtocolError {
    match error {
        AcpOpenError::NoModel(text) => ProtocolError::auth_required().data(text),
        AcpOpenError::Request(text) => ProtocolError::invalid_params().data(text),
        AcpOpenError::Other(text) => failure(text),
    }
}

/// The models that all servers list. A server that does not answer has none.
async fn models(providers: &AgentProviderSet) -> Vec<ModelName> {
    let asked = providers.all().into_iter().map(|it| async move {
        let listed = tokio::time::timeout(MODELS_LIMIT, it.provider.models()).await;
        let listed = listed.ok().and_then(Result::ok).unwrap_or_default();
        let named = move |id: String| ModelName::new(it.name.as_str(), id);
        listed.into_iter().map(|model| named(model.id)).collect::<Vec<_>>()
    });
    join_all(asked).await.into_iter().flatten().collect()
}
