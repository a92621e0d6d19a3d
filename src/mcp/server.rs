//! One server of a session: it starts in the background, is started again when it has died, and has
//! the tools that were read last.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::domain::ContentHash;
use crate::platform::redact::Redactor;
use crate::platform::server_program::ServerErrorOutput;
use crate::tools::{AskUser, DeniedTools};

use super::call_result::McpCallResult;
use super::connection::{McpConnection, McpError, McpPorts};
use super::definition::{McpDefinitionSource, McpServerDefinition};
use super::lists::McpToolDefinition;
use super::login::McpLoginStore;
use super::offers::McpOffers;
use super::secrets;
use super::server_pins::earlier_pins;
use super::store::{McpStore, McpStoreError};

/// The pauses before each start of a server: it is started once, and twice again where it has ended.
const RESTART_PAUSES: [Duration; 3] =
    [Duration::ZERO, Duration::from_millis(500), Duration::from_secs(2)];

/// Servers tell of changes several times in a row.
const DEBOUNCE: Duration = Duration::from_millis(300);

/// What a server is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpServerState {
    /// Its definition says so.
    Disabled,
    /// A server of the project that the user has not allowed to start.
    NotAllowed,
    Starting,
    Ready,
    NeedsLogin,
    /// A sentence.
    Failed(String),
}

impl McpServerState {
    /// Why the server cannot be used although it should run, as a sentence; `None` where it can, or
    /// is not wanted.
    pub fn failure(&self) -> Option<String> {
        match self {
            Self::Disabled | Self::NotAllowed | Self::Ready => None,
            Self::Starting => Some("It has not started yet.".into()),
            Self::NeedsLogin => Some(McpError::NeedsLogin(None).to_string()),
            Self::Failed(why) => Some(why.clone()),
        }
    }
}

/// What is known of a server, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerStatus {
    pub name: String,
    pub source: McpDefinitionSource,
    /// What is started or reached.
    pub summary: String,
    /// The names of environment variables and headers that are sent along.
    pub sent_names: Vec<String>,
    pub state: McpServerState,
    /// The name and version that the server gives itself.
    pub implementation: Option<String>,
    /// What the user has to see before it may start here; `None` unless it is not allowed.
    pub start_question: Option<McpStartQuestion>,
    /// Its tools, as they are defined now.
    pub tools: Arc<[McpToolDefinition]>,
    /// Whether its definition wants them in the tools array.
    pub is_always_loaded: bool,
    /// The names of those whose definition has changed since the user last saw it.
    pub changed_tools: Vec<String>,
    /// Its resources and prompts, as far as they have been read.
    pub offers: Arc<McpOffers>,
    /// Sentences about what was left out of its lists, and variables that are not set.
    pub warnings: Vec<String>,
    /// The end of its standard error.
    pub error_output: String,
    /// Where the user logs in, while a login waits for them.
    pub login_address: Option<String>,
}

impl McpServerStatus {
    /// The tools whose definition has changed since the user last saw it.
    pub fn changed(&self) -> impl Iterator<Item = &McpToolDefinition> {
        self.tools.iter().filter(|tool| self.changed_tools.contains(&tool.name))
    }
}

/// What a yes to a server of the project would cover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpStartQuestion {
    /// Lines that are harmless for a terminal.
    pub particulars: Vec<String>,
    /// Of the definition and of the files that it names.
    pub hash: ContentHash,
}

/// The value of an environment variable.
pub type VariableLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What servers share.
#[derive(Clone)]
pub struct McpSurroundings {
    /// Where programs start; also the folder that a yes holds for.
    pub folder: PathBuf,
    pub ports: McpPorts,
    pub store: McpStore,
    pub logins: McpLoginStore,
    /// The value of an environment variable, for `${NAME}` in definitions.
    pub lookup: VariableLookup,
    /// The tools that models are not told of.
    pub denied: DeniedTools,
    /// Takes secrets out of what goes into files, and learns those of the servers.
    pub redactor: Redactor,
}

/// Told when the state or the tools of a server have changed.
pub(super) type OnServerChange = Arc<dyn Fn() + Send + Sync>;

/// A server of a session.
pub(super) struct McpServer {
    pub(super) definition: McpServerDefinition,
    pub(super) surroundings: McpSurroundings,
    /// Of a server that is always loaded and may start: its tools as they were accepted in an earlier run.
    pub(super) earlier: Option<Arc<[McpToolDefinition]>>,
    pub(super) on_change: OnServerChange,
    facts: Mutex<ServerFacts>,
    /// `None` until they have been read once.
    pub(super) offers: watch::Sender<Option<Arc<McpOffers>>>,
    connection: tokio::sync::Mutex<ServerConnection>,
    errors: ServerErrorOutput,
    /// The number of starts in the background that are under way.
    begun: AtomicUsize,
    /// Ends the watching of the running connection.
    end: CancellationToken,
}

pub(super) struct ServerFacts {
    state: McpServerState,
    start_question: Option<McpStartQuestion>,
    implementation: Option<String>,
    instructions: Option<String>,
    pub(super) tools: Arc<[McpToolDefinition]>,
    pub(super) changed_tools: Vec<String>,
    /// Whether the server has told its tools.
    pub(super) has_listed: bool,
    has_resources: bool,
    warnings: Vec<String>,
    /// What the server last said that a request lacks.
    challenge: Option<String>,
    /// Where the user logs in, and what ends the waiting for them.
    login: Option<(String, CancellationToken)>,
}

#[derive(Default)]
struct ServerConnection {
    current: Option<Arc<McpConnection>>,
    starts: usize,
}

impl McpServer {
    /// A server that has not started.
    pub(super) fn new(
        definition: McpServerDefinition,
        surroundings: McpSurroundings,
        on_change: OnServerChange,
    ) -> Self {
        let state = match (definition.is_enabled, definition.source) {
            (false, _) => McpServerState::Disabled,
            (true, McpDefinitionSource::User) => McpServerState::Starting,
            (true, McpDefinitionSource::Project) => McpServerState::NotAllowed,
        };
        let facts = ServerFacts {
            state,
            start_question: None,
            implementation: None,
            instructions: None,
            tools: Arc::default(),
            changed_tools: Vec::new(),
            has_listed: false,
            has_resources: false,
            warnings: Vec::new(),
            challenge: None,
            login: None,
        };
        Self {
            earlier: earlier_pins(&definition, &surroundings),
            definition,
            surroundings,
            on_change,
            facts: Mutex::new(facts),
            offers: watch::Sender::new(None),
            connection: tokio::sync::Mutex::default(),
            errors: ServerErrorOutput::default(),
            begun: AtomicUsize::new(0),
            end: CancellationToken::new(),
        }
    }

    /// Starts the server in the background, if it may.
    pub(super) fn start(self: &Arc<Self>) {
        let server = self.clone();
        self.begun.fetch_add(1, Ordering::AcqRel);
        tokio::spawn(async move {
            // The state says how it went.
            let _ = server.connected().await;
            server.begun.fetch_sub(1, Ordering::AcqRel);
        });
    }

    /// Whether a start in the background is under way.
    pub(super) fn is_starting(&self) -> bool {
        self.begun.load(Ordering::Acquire) > 0
    }

    /// Fails where the server may not start as it is now; the state says why.
    async fn check_allowed(&self) -> Result<(), McpError> {
        if !self.definition.is_enabled {
            return self.refusal().map_or(Ok(()), Err);
        }
        let question = match self.definition.source {
            McpDefinitionSource::User => Ok(None),
            McpDefinitionSource::Project => {
                let (store, folder) =
                    (self.surroundings.store.clone(), self.surroundings.folder.clone());
                let definition = self.definition.clone();
                let looked = tokio::task::spawn_blocking(move || {
                    let is_allowed = store.is_allowed(&folder, &definition)?;
                    Ok((!is_allowed).then(|| McpStartQuestion {
                        // First, so that a change in between makes the yes void.
                        hash: definition.hash_in(&folder),
                        particulars: definition.particulars(&folder),
                    }))
                });
                match looked.await {
                    Ok(question) => question.map_err(|error: McpStoreError| error.to_string()),
                    Err(failure) => Err(failure.to_string()),
                }
            }
        };
        match question {
            Ok(None) => Ok(()),
            Ok(question) => {
                self.facts().start_question = question;
                self.set_state(McpServerState::NotAllowed);
                self.refusal().map_or(Ok(()), Err)
            }
            Err(why) => {
                self.set_state(McpServerState::Failed(why.clone()));
                Err(McpError::NotStarted(why))
            }
        }
    }

    /// Why the server is not started in its present state; `None` where it may be.
    pub(super) fn refusal(&self) -> Option<McpError> {
        let why = match self.state() {
            McpServerState::Disabled => "It is disabled.".to_owned(),
            McpServerState::NotAllowed => {
                let name = &self.definition.name;
                format!(
                    "The user has not allowed it as it is now: /mcp, or `slug mcp allow {name}`."
                )
            }
            McpServerState::Starting
            | McpServerState::Ready
            | McpServerState::NeedsLogin
            | McpServerState::Failed(_) => return None,
        };
        Some(McpError::NotStarted(why))
    }

    /// The running connection; one that has ended is replaced.
    pub(super) async fn connected(self: &Arc<Self>) -> Result<Arc<McpConnection>, McpError> {
        let mut connection = self.connection.lock().await;
        if let Some(current) = &connection.current {
            if !current.is_closed() {
                return Ok(current.clone());
            }
            connection.current = None;
        }
        let Some(pause) = RESTART_PAUSES.get(connection.starts) else {
            let why = "It has ended too often, and slug no longer restarts it. Restart it in /mcp."
                .to_owned();
            return Err(McpError::NotStarted(why));
        };
        tokio::time::sleep(*pause).await;
        // Also before a restart: its files may have changed while it ran.
        self.check_allowed().await?;
        connection.starts += 1;
        self.set_state(McpServerState::Starting);
        let lookup = self.surroundings.lookup.clone();
        secrets::learn(&self.surroundings.redactor, &self.definition, &*lookup);
        let (transport, missing) = self.definition.expanded(&*lookup);
        let login = self.login_target(&transport);
        let started = McpConnection::start(
            &self.definition.name,
            &transport,
            self.definition.limits,
            &self.surroundings.folder,
            (&self.surroundings.ports, login.as_ref()),
            &self.errors,
            &self.surroundings.redactor,
        );
        let limit = self.definition.limits.start;
        let started = tokio::time::timeout(limit, started).await;
        let started = match started.unwrap_or(Err(McpError::TimedOut(limit))) {
            Ok(started) => Arc::new(started),
            Err(error) => {
                self.set_failure(&error);
                return Err(error);
            }
        };
        let missing = missing.into_iter().map(|name| format!("The variable {name} is not set."));
        self.take_tools(&started, missing.collect()).await?;
        connection.current = Some(started.clone());
        tokio::spawn(watch(Arc::downgrade(self), Arc::downgrade(&started), self.end.clone()));
        Ok(started)
    }

    /// Reads the list of tools, and tells what has changed.
    async fn take_tools(
        &self,
        connection: &McpConnection,
        mut warnings: Vec<String>,
    ) -> Result<(), McpError> {
        let listed = match connection.list_tools().await {
            Ok(listed) => listed,
            Err(error @ McpError::NeedsLogin(_)) => {
                self.set_failure(&error);
                return Err(error);
            }
            Err(error) => {
                self.set_state(McpServerState::Failed(format!(
                    "Listing its tools failed. {error}"
                )));
                return Err(error);
            }
        };
        let (mut tools, dropped) = listed;
        warnings.extend(dropped);
        tools.retain(|tool| self.definition.takes(&tool.name));
        let changed_tools = match self.pin(&tools).await {
            Ok(changed) => changed,
            Err(why) => {
                // Without the pins no tool can be told from a changed one.
                warnings.push(why);
                tools.iter().map(|tool| tool.name.clone()).collect()
            }
        };
        {
            let mut facts = self.facts();
            facts.state = McpServerState::Ready;
            facts.implementation = connection.implementation();
            facts.instructions = connection.instructions();
            facts.has_resources =
                connection.capabilities().is_some_and(|can| can.resources.is_some());
            facts.tools = tools.into();
            (facts.changed_tools, facts.warnings) = (changed_tools, warnings);
            facts.has_listed = true;
        }
        (self.on_change)();
        Ok(())
    }

    /// Calls a tool of the server, which is started first where it has ended. A call is never made
    /// twice.
    pub(super) async fn call(
        self: &Arc<Self>,
        tool: &str,
        arguments: Map<String, Value>,
        (cancel, user): (&CancellationToken, &Arc<dyn AskUser>),
        progress: impl FnMut(String) + Send,
    ) -> Result<McpCallResult, McpError> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        self.check_unchanged(tool)?;
        let connection = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(McpError::Cancelled),
            connection = self.connected() => connection?,
        };
        // It may have come back with another definition.
        self.check_unchanged(tool)?;
        let called = connection.call(tool, arguments, (cancel, user), progress).await;
        self.note_failure(&called);
        called
    }

    /// The state says where the server can no longer be used.
    pub(super) fn note_failure<T>(&self, asked: &Result<T, McpError>) {
        if let Err(error @ (McpError::Gone(_) | McpError::Flooded | McpError::NeedsLogin(_))) =
            asked
        {
            self.set_failure(error);
        }
    }

    fn set_failure(&self, error: &McpError) {
        self.set_state(match error {
            McpError::NeedsLogin(challenge) => {
                self.facts().challenge.clone_from(challenge);
                McpServerState::NeedsLogin
            }
            other => McpServerState::Failed(other.to_string()),
        });
    }

    /// What the server last said that a request lacks, in the form of a WWW-Authenticate header.
    pub(super) fn challenge(&self) -> Option<String> {
        self.facts().challenge.clone()
    }

    /// Lets a server of the project start as it was shown, and starts it.
    pub(super) async fn allow(self: &Arc<Self>, shown: ContentHash) -> Result<(), String> {
        let (store, folder) = (self.surroundings.store.clone(), self.surroundings.folder.clone());
        let definition = self.definition.clone();
        let allowed = tokio::task::spawn_blocking(move || {
            if definition.hash_in(&folder) != shown {
                let name = &definition.name;
                return Err(format!("{name} has changed since it was shown. Look at it again."));
            }
            let allowed = store.allow_shown(&folder, &definition.name, shown);
            allowed.map_err(|error| error.to_string())
        });
        let allowed = allowed.await.map_err(|failure| failure.to_string())?;
        // Where it has changed, this also shows it anew.
        self.restart().await;
        allowed
    }

    /// Ends the running connection and starts anew, however often it has ended before.
    pub(super) async fn restart(self: &Arc<Self>) {
        {
            let mut connection = self.connection.lock().await;
            if let Some(current) = connection.current.take() {
                current.close();
            }
            connection.starts = 0;
        }
        self.start();
    }

    pub(super) fn state(&self) -> McpServerState {
        self.facts().state.clone()
    }

    pub(super) fn tools(&self) -> Arc<[McpToolDefinition]> {
        self.facts().tools.clone()
    }

    /// Whether the server says that it has resources.
    pub(super) fn has_resources(&self) -> bool {
        self.facts().has_resources
    }

    pub(super) fn instructions(&self) -> Option<String> {
        self.facts().instructions.clone()
    }

    pub(super) fn status(&self) -> McpServerStatus {
        let offers = self.offers.borrow().clone().unwrap_or_default();
        let facts = self.facts();
        McpServerStatus {
            name: self.definition.name.clone(),
            source: self.definition.source,
            summary: self.definition.summary(),
            sent_names: self.definition.sent_names().into_iter().map(str::to_owned).collect(),
            start_question: match facts.state {
                McpServerState::NotAllowed => facts.start_question.clone(),
                McpServerState::Disabled
                | McpServerState::Starting
                | McpServerState::Ready
                | McpServerState::NeedsLogin
                | McpServerState::Failed(_) => None,
            },
            state: facts.state.clone(),
            implementation: facts.implementation.clone(),
            tools: facts.tools.clone(),
            is_always_loaded: self.definition.always_load,
            changed_tools: facts.changed_tools.clone(),
            warnings: facts.warnings.iter().chain(&offers.dropped).cloned().collect(),
            offers,
            error_output: self.surroundings.redactor.redact_own(&self.errors.text()).into_owned(),
            login_address: facts.login.as_ref().map(|(address, _)| address.clone()),
        }
    }

    /// Keeps where a login waits for the user, in the place of an earlier one, which ends; `None`: none does.
    pub(super) fn set_login(&self, login: Option<(String, CancellationToken)>) {
        if let Some((_, end)) = std::mem::replace(&mut self.facts().login, login) {
            end.cancel();
        }
        (self.on_change)();
    }

    /// A token that ends with the server.
    pub(super) fn ending(&self) -> CancellationToken {
        self.end.child_token()
    }

    pub(super) fn set_state(&self, state: McpServerState) {
        self.facts().state = state;
        (self.on_change)();
    }

    pub(super) fn facts(&self) -> MutexGuard<'_, ServerFacts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads what the server offers, and its lists again whenever it says that they have changed.
async fn watch(server: Weak<McpServer>, connection: Weak<McpConnection>, end: CancellationToken) {
    let Some(changes) = connection.upgrade().map(|it| it.changes.clone()) else { return };
    changes.offers.notify_one();
    loop {
        let is_tools = tokio::select! {
            () = end.cancelled() => return,
            () = changes.tools.notified() => true,
            () = changes.offers.notified() => false,
        };
        if is_tools || server.upgrade().is_some_and(|server| server.offers.borrow().is_some()) {
            tokio::time::sleep(DEBOUNCE).await;
        }
        // What was told meanwhile is read now, too.
        let changed = if is_tools { &changes.tools } else { &changes.offers };
        let _ = changed.notified().now_or_never();
        let Some(connection) = connection.upgrade() else { return };
        if is_tools {
            let Some(server) = server.upgrade() else { return };
            // The state says how it went.
            let _ = server.take_tools(&connection, Vec::new()).await;
            continue;
        }
        let offers = tokio::select! {
            () = end.cancelled() => return,
            offers = connection.list_offers() => offers,
        };
        drop(connection);
        let Some(server) = server.upgrade() else { return };
        server.offers.send_replace(Some(Arc::new(offers)));
        (server.on_change)();
    }
}

impl Drop for McpServer {
    fn drop(&mut self) {
        self.end.cancel();
        if let Some(current) = self.connection.get_mut().current.take() {
            current.close();
        }
    }
}
