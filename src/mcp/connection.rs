//! A connection to one server: its start, and calls. `requests` has what else is asked of it.
//!
//! Every wait has a limit, every list and text a bound, and a call that is given up is cancelled on the
//! server. All that a server says comes in here, and the secrets that slug knows are taken out of it
//! before anything else reads or cuts it (`heard`). What the library cannot read as the type that the
//! protocol wants arrives as plain JSON and is read leniently (`lists`, `call_result`).

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientConfig, ClientRequest,
    ElicitRequestParams, ElicitResult, ElicitationCapability, ErrorData, Implementation,
    ProgressNotificationParam, ProgressToken, ProtocolVersion, ServerCapabilities, ServerResult,
};
use rmcp::service::{
    ClientCacheConfig, ClientInitializeError, ClientLifecycleMode, NotificationContext,
    PeerRequestOptions, RequestContext, RoleClient, RunningService, ServiceError,
    serve_client_with_lifecycle,
};
use rmcp::transport::IntoTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use rmcp::{ClientHandler, Peer};
use serde_json::{Map, Value};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use crate::domain::sanitize::{sanitize, sanitize_line};
use crate::domain::{ExitCause, JobEnd};
use crate::net::HttpClient;
use crate::platform::redact::Redactor;
use crate::platform::server_program::{
    ServerErrorOutput, ServerProgram, ServerProgramSearch, ServerProgramSpec, is_variable_name,
};
use crate::tools::{AskUser, Processes};

use super::call_result::{McpCallResult, read_call_result};
use super::callers::McpCallers;
use super::definition::{McpTimeLimits, McpTransport};
use super::flood::FloodLimit;
use super::heard::{heard_answer, heard_question};
use super::http::{http_transport, login_transport, may_be_older, sse_transport};
use super::lists::{MAX_DESCRIPTION, cut};
use super::login::McpLoginTarget;
use super::rounds::{McpReply, RoundInput};
use super::sse::SseTransport;
use super::subscription;
use super::value_limit::ValueLimit;

/// The longest message of a server.
pub(super) const MAX_MESSAGE: usize = 16 * 1024 * 1024;

/// How long a server that refuses streamable HTTP may take to name its address for messages. One of
/// streamable HTTP opens a stream, too, and never names any.
const MAX_FALLBACK: Duration = Duration::from_secs(10);

/// The most characters that are shown of what a server says of an error.
const MAX_ERROR_TEXT: usize = 500;

/// Why a server cannot be used, or a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    #[error("{0}")]
    NotStarted(String),
    /// With what the server says about it, in the form of a WWW-Authenticate header.
    #[error("It needs a login. Run `slug mcp login NAME`.")]
    NeedsLogin(Option<String>),
    #[error("It did not answer within {} seconds.", .0.as_secs())]
    TimedOut(Duration),
    /// The server has ended or closed the connection.
    #[error("It has ended{0}.")]
    Gone(String),
    /// It sends requests and notifications faster than slug takes them, or a message of too many values.
    #[error("It floods slug with messages or values, so slug has ended the connection.")]
    Flooded,
    #[error("It answered with an error: {0}")]
    Refused(String),
    /// With the name of the server.
    #[error(
        "It has changed the definition of this tool. The user has to accept it first, in /mcp or with \
         `slug mcp accept {0}`. Do not retry before."
    )]
    DefinitionChanged(String),
    #[error("It sent what slug cannot read: {0}.")]
    Unreadable(String),
    #[error("Stopped by the user.")]
    Cancelled,
}

impl McpError {
    /// The error without the secrets that what a server says may have.
    fn redacted(self, redactor: &Redactor) -> Self {
        let clean = |text: String| redactor.redact_own(&text).into_owned();
        match self {
            Self::NotStarted(why) => Self::NotStarted(clean(why)),
            Self::Refused(why) => Self::Refused(clean(why)),
            Self::Unreadable(why) => Self::Unreadable(clean(why)),
            other @ (Self::NeedsLogin(_)
            | Self::TimedOut(_)
            | Self::Gone(_)
            | Self::Flooded
            | Self::DefinitionChanged(_)
            | Self::Cancelled) => other,
        }
    }
}

/// The ports that a connection needs.
#[derive(Clone)]
pub struct McpPorts {
    pub processes: Arc<dyn Processes>,
    pub programs: ServerProgramSearch,
    pub http: Arc<HttpClient>,
}

/// A server that runs, and what it said of itself.
pub(super) struct McpConnection {
    running: RunningService<RoleClient, McpClient>,
    program: Option<ServerProgram>,
    redactor: Redactor,
    pub(super) limits: McpTimeLimits,
    /// Whether the connection was ended because of what the server sent unasked.
    flooded: Arc<AtomicBool>,
    pub(super) changes: McpListChanges,
}

/// Told when the server says that its lists have changed.
#[derive(Debug, Clone, Default)]
pub(super) struct McpListChanges {
    pub(super) tools: Arc<Notify>,
    /// Resources, and prompts.
    pub(super) offers: Arc<Notify>,
}

impl McpConnection {
    /// Starts or reaches a server; `redactor` knows what is secret. The caller bounds the time.
    ///
    /// # Errors
    ///
    /// When that fails.
    pub(super) async fn start(
        name: &str,
        transport: &McpTransport,
        limits: McpTimeLimits,
        cwd: &Path,
        (ports, login): (&McpPorts, Option<&McpLoginTarget>),
        errors: &ServerErrorOutput,
        redactor: &Redactor,
    ) -> Result<Self, McpError> {
        let client = McpClient::of(name, redactor);
        let changes = client.changes.clone();
        let flooded = Arc::new(AtomicBool::new(false));
        let failed = |error: &ClientInitializeError, ended| match flooded.load(Ordering::Relaxed) {
            true => McpError::Flooded,
            false => start_error(error, ended).redacted(redactor),
        };
        let (running, program) = match transport {
            McpTransport::Stdio { command, args, env, cwd: own } => {
                let cwd = own.as_ref().map_or_else(|| cwd.to_owned(), |own| cwd.join(own));
                if let Some(name) = env.keys().find(|name| !is_variable_name(name)) {
                    let why = format!("`env` has {name:?}, which is no name of a variable.");
                    return Err(McpError::NotStarted(why));
                }
                let search_path = ports.programs.path(env);
                let Some(command) = ports.programs.program(command, &search_path) else {
                    return Err(McpError::NotStarted(format!(
                        "No folder of PATH outside of this project has the program {command:?}. \
                         Install it, or give its path."
                    )));
                };
                let spec = ServerProgramSpec {
                    command: &command,
                    args,
                    env,
                    search_path,
                    cwd,
                    passed: "",
                    memory_limit: None,
                };
                let (program, streams) = ServerProgram::start(spec, &*ports.processes, errors)
                    .await
                    .map_err(|error| McpError::NotStarted(format!("{error}.")))?;
                let output = ValueLimit::new(streams.output, flooded.clone(), program.ending());
                let transport = AsyncRwTransport::new_client(output, streams.input)
                    .with_max_line_length(MAX_MESSAGE);
                let transport = FloodLimit::new(transport, flooded.clone(), program.ending());
                // Probing first would start the backend of lazy servers, and hangs others.
                let lifecycle = ClientLifecycleMode::Initialize;
                let running = serve_client_with_lifecycle(client, transport, lifecycle).await;
                (running.map_err(|error| failed(&error, program.ended()))?, Some(program))
            }
            McpTransport::Http { url, headers } => {
                let fresh =
                    || McpClient { changes: changes.clone(), ..McpClient::of(name, redactor) };
                let newest = ClientLifecycleMode::Auto {
                    preferred_versions: vec![ProtocolVersion::LATEST],
                    legacy_version: None,
                };
                let address = (&**url, headers);
                let mut running =
                    serve_http(client, address, (ports, login), &flooded, newest).await?;
                if let Err(ClientInitializeError::ExpectedInitResult(_)) = running {
                    // A server that answers whatever it does not know with an empty result.
                    let older = ClientLifecycleMode::Initialize;
                    running = serve_http(fresh(), address, (ports, login), &flooded, older).await?;
                }
                match running {
                    Ok(running) => (running, None),
                    Err(error) if may_be_older(&error) => {
                        let limit = MAX_FALLBACK.min(limits.start / 2);
                        let older = sse_transport(url, headers, &ports.http, login);
                        // Of two failures, the first is about the address as it is written.
                        let Ok(Ok(transport)) = tokio::time::timeout(limit, older).await else {
                            return Err(failed(&error, None));
                        };
                        let running = serve_older(fresh(), transport, &flooded).await;
                        (running.map_err(|error| failed(&error, None))?, None)
                    }
                    Err(error) => return Err(failed(&error, None)),
                }
            }
            McpTransport::Sse { url, headers } => {
                let transport = sse_transport(url, headers, &ports.http, login).await?;
                let running = serve_older(client, transport, &flooded).await;
                (running.map_err(|error| failed(&error, None))?, None)
            }
        };
        // Lists that the server lets be kept would hide a change (case S93).
        running.peer().set_response_cache_config(ClientCacheConfig::disabled()).await;
        tokio::spawn(subscription::follow(running.peer().clone(), changes.clone()));
        Ok(Self { running, program, redactor: redactor.clone(), limits, flooded, changes })
    }

    /// What the server tells models about itself, harmless and cut.
    pub(super) fn instructions(&self) -> Option<String> {
        let info = self.running.peer().peer_info()?;
        let told = self.redactor.redact_own(info.instructions.as_deref()?.trim());
        let text = sanitize(&told);
        (!text.is_empty()).then(|| cut(&text, MAX_DESCRIPTION).to_owned())
    }

    /// The server's name and version, as it says.
    pub(super) fn implementation(&self) -> Option<String> {
        let info = self.running.peer().peer_info()?;
        let server = info.server_info.as_ref()?;
        let said = format!("{} {}", server.name, server.version);
        Some(cut(&sanitize_line(&self.redactor.redact_own(&said)), 80).to_owned())
    }

    /// What the server says that it can do; `None` where it says nothing of itself.
    pub(super) fn capabilities(&self) -> Option<ServerCapabilities> {
        self.running.peer().peer_info().map(|info| info.capabilities.clone())
    }

    /// Whether the server has ended or closed the connection.
    pub(super) fn is_closed(&self) -> bool {
        self.running.is_closed()
            || self.running.peer().is_transport_closed()
            || self.program.as_ref().is_some_and(|program| program.ended().is_some())
    }

    /// Calls a tool.
    ///
    /// # Errors
    ///
    /// When the server does not answer in time, is gone, or answers with an error of the protocol. A
    /// tool that failed is no error: see [`McpCallResult::is_error`].
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        (cancel, user): (&CancellationToken, &Arc<dyn AskUser>),
        progress: impl FnMut(String) + Send,
    ) -> Result<McpCallResult, McpError> {
        // Before the request, since the server may ask at once.
        let _caller = self.running.service().callers.add(user.clone());
        let request = |RoundInput { responses, state }: RoundInput| {
            let mut params = CallToolRequestParams::new(Cow::Owned(tool.to_owned()))
                .with_arguments(arguments.clone());
            (params.input_responses, params.request_state) = (responses, state);
            ClientRequest::CallToolRequest(CallToolRequest::new(params))
        };
        let answered = self.request_in_rounds(request, self.limits.idle, progress);
        let reply = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(McpError::Cancelled),
            reply = answered => reply?,
        };
        Ok(read_call_result(&reply))
    }

    /// Puts a question of the server to the user of the newest call.
    pub(super) async fn elicit(&self, asked: &ElicitRequestParams) -> ElicitResult {
        let client = self.running.service();
        client.callers.ask(&client.server, &heard_question(&self.redactor, asked)).await
    }

    /// Sends a request and returns the reply as JSON. Dropping the future cancels it on the server.
    pub(super) async fn request(
        &self,
        request: ClientRequest,
        idle: Duration,
    ) -> Result<Value, McpError> {
        match self.exchange(request, idle, |_| {}).await? {
            McpReply::Answer(answer) => Ok(answer),
            McpReply::InputRequired(_) => {
                Err(McpError::Unreadable("it asks the user something about a list".into()))
            }
        }
    }

    /// Sends a request once.
    pub(super) async fn exchange(
        &self,
        request: ClientRequest,
        idle: Duration,
        mut progress: impl FnMut(String) + Send,
    ) -> Result<McpReply, McpError> {
        let peer = self.running.peer();
        let total = self.limits.total;
        let options = PeerRequestOptions::with_timeout(total).with_max_total_timeout(total);
        let failed = |error: ServiceError| self.failure(&error);
        let handle = peer.send_cancellable_request(request, options).await.map_err(failed)?;
        let (sender, mut reports) = mpsc::unbounded_channel();
        let reporting = self.running.service().report(handle.progress_token.clone(), sender);
        let mut cancelling = RequestCancellation { peer, id: Some(handle.id.clone()) };
        let mut answer = std::pin::pin!(handle.await_response());
        let callers = &self.running.service().callers;
        let mut idle_over = std::pin::pin!(tokio::time::sleep(idle));
        let reply = loop {
            tokio::select! {
                reply = &mut answer => break reply,
                Some(text) = reports.recv() => progress(text),
                () = &mut idle_over => match callers.is_asking() {
                    // The server waits for the user.
                    true => {}
                    false => return Err(McpError::TimedOut(idle)),
                },
            }
            idle_over.as_mut().reset(tokio::time::Instant::now() + idle);
        };
        cancelling.id = None;
        drop(reporting);
        match reply.map_err(failed)? {
            ServerResult::CustomResult(custom) => {
                Ok(McpReply::Answer(heard_answer(&self.redactor, custom.0)))
            }
            ServerResult::InputRequiredResult(needed) => Ok(McpReply::InputRequired(needed)),
            typed => serde_json::to_value(typed)
                .map(|answer| McpReply::Answer(heard_answer(&self.redactor, answer)))
                .map_err(|error| McpError::Unreadable(error.to_string())),
        }
    }

    fn failure(&self, error: &ServiceError) -> McpError {
        self.told_failure(error).redacted(&self.redactor)
    }

    fn told_failure(&self, error: &ServiceError) -> McpError {
        if error.auth_challenge().is_some() || error.is_authorization_required() {
            return McpError::NeedsLogin(error.auth_challenge().map(str::to_owned));
        }
        if self.flooded.load(Ordering::Relaxed) {
            return McpError::Flooded;
        }
        let ended = self.program.as_ref().and_then(ServerProgram::ended);
        match error {
            ServiceError::McpError(error) => McpError::Refused(shown(&error.message)),
            ServiceError::TransportClosed => McpError::Gone(how_ended(ended)),
            ServiceError::Timeout { timeout } => McpError::TimedOut(*timeout),
            ServiceError::TransportSend(error) => McpError::Refused(unreachable(&*error.error)),
            other => McpError::Refused(shown(&other.to_string())),
        }
    }

    /// Ends the connection; a program gets a moment to end by itself.
    pub(super) fn close(&self) {
        match &self.program {
            Some(program) => program.terminate(),
            None => self.running.cancellation_token().cancel(),
        }
    }
}

/// Tells the server that a request is given up, unless it is over.
struct RequestCancellation<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<rmcp::model::RequestId>,
}

impl Drop for RequestCancellation<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let peer = self.peer.clone();
        tokio::spawn(async move {
            let params = rmcp::model::CancelledNotificationParam::new(
                Some(id),
                Some("the user stopped it".into()),
            );
            // Fails only when the server is gone.
            let _ = peer.notify_cancelled(params).await;
        });
    }
}

/// slug's side of the protocol: what a server may ask of it.
struct McpClient {
    /// The server's name.
    server: String,
    callers: McpCallers,
    redactor: Redactor,
    changes: McpListChanges,
    reports: Mutex<HashMap<ProgressToken, mpsc::UnboundedSender<String>>>,
}

/// Takes a request's progress until it is dropped.
struct ProgressReports<'a> {
    client: &'a McpClient,
    token: ProgressToken,
}

impl McpClient {
    fn of(server: &str, redactor: &Redactor) -> Self {
        let (callers, changes, reports) = Default::default();
        let (server, redactor) = (server.to_owned(), redactor.clone());
        Self { server, callers, redactor, changes, reports }
    }

    fn report(
        &self,
        token: ProgressToken,
        sender: mpsc::UnboundedSender<String>,
    ) -> ProgressReports<'_> {
        let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        reports.insert(token.clone(), sender);
        ProgressReports { client: self, token }
    }
}

impl Drop for ProgressReports<'_> {
    fn drop(&mut self) {
        let mut reports = self.client.reports.lock().unwrap_or_else(PoisonError::into_inner);
        reports.remove(&self.token);
    }
}

impl ClientHandler for McpClient {
    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("slug", env!("CARGO_PKG_VERSION"));
        // Neither roots nor sampling: servers must not ask for them.
        let mut can = ClientCapabilities::default();
        let (form, url) = Default::default();
        can.elicitation = Some(ElicitationCapability::new().with_form(form).with_url(url));
        // What `initialize` names; later revisions have none.
        ClientConfig::new(can, own).with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let request = heard_question(&self.redactor, &request);
        Ok(self.callers.ask(&self.server, &request).await)
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(sender) = reports.get(&params.progress_token) else { return };
        let total = params.total.map(|total| format!("/{total}")).unwrap_or_default();
        let message = self.redactor.redact_own(params.message.as_deref().unwrap_or_default());
        let text = format!("{}{total} {}\n", params.progress, shown(&message));
        // Fails only when the request is over.
        let _ = sender.send(text);
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changes.tools.notify_one();
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changes.offers.notify_one();
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changes.offers.notify_one();
    }
}

/// A connection over streamable HTTP, with a login where there may be one.
async fn serve_http(
    client: McpClient,
    (url, headers): (&str, &BTreeMap<String, String>),
    (ports, login): (&McpPorts, Option<&McpLoginTarget>),
    flooded: &Arc<AtomicBool>,
    lifecycle: ClientLifecycleMode,
) -> Result<Result<RunningService<RoleClient, McpClient>, ClientInitializeError>, McpError> {
    let bound = Box::new(|| {});
    Ok(match login {
        Some(login) => {
            let transport = login_transport(url, headers, &ports.http, login).await?;
            let transport = FloodLimit::new(transport.into_transport(), flooded.clone(), bound);
            serve_client_with_lifecycle(client, transport, lifecycle).await
        }
        None => {
            let transport = http_transport(url, headers, &ports.http)?;
            let transport = FloodLimit::new(transport.into_transport(), flooded.clone(), bound);
            serve_client_with_lifecycle(client, transport, lifecycle).await
        }
    })
}

/// A connection to a server of an older revision, which knows no other start than `initialize`.
async fn serve_older(
    client: McpClient,
    transport: SseTransport,
    flooded: &Arc<AtomicBool>,
) -> Result<RunningService<RoleClient, McpClient>, ClientInitializeError> {
    let transport = FloodLimit::new(transport, flooded.clone(), Box::new(|| {}));
    serve_client_with_lifecycle(client, transport, ClientLifecycleMode::Initialize).await
}

fn start_error(error: &ClientInitializeError, ended: Option<JobEnd>) -> McpError {
    if error.auth_challenge().is_some() || error.is_authorization_required() {
        return McpError::NeedsLogin(error.auth_challenge().map(str::to_owned));
    }
    match error {
        ClientInitializeError::ConnectionClosed(_) => McpError::Gone(how_ended(ended)),
        ClientInitializeError::JsonRpcError(error) => McpError::Refused(shown(&error.message)),
        ClientInitializeError::TransportError { error, .. } => {
            McpError::NotStarted(format!("{}.", unreachable(&*error.error)))
        }
        other => McpError::NotStarted(format!("{}.", shown(&other.to_string()))),
    }
}

/// Why nothing can be sent to a server: the first of the errors that led to one another. Those above
/// it name types of the library.
pub(super) fn unreachable(error: &(dyn std::error::Error + Send + Sync + 'static)) -> String {
    let mut first: &dyn std::error::Error = match error.downcast_ref() {
        Some(StreamableHttpError::<reqwest::Error>::Client(error)) => error,
        Some(_) | None => error,
    };
    while let Some(source) = first.source() {
        first = source;
    }
    format!("It cannot be reached: {}", shown(&first.to_string()))
}

fn how_ended(ended: Option<JobEnd>) -> String {
    match ended {
        Some(JobEnd::Exited(ExitCause::Code(code))) => format!(" with status {code}"),
        Some(JobEnd::Exited(ExitCause::Signal(signal))) => format!(" by signal {signal}"),
        Some(JobEnd::Exited(ExitCause::Cancelled | ExitCause::TimedOut) | JobEnd::Lost) | None => {
            String::new()
        }
    }
}

/// What a server says, on one line, harmless and short.
fn shown(text: &str) -> String {
    let line = sanitize_line(text.trim());
    match line.char_indices().nth(MAX_ERROR_TEXT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
