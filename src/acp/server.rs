//! Answers what belongs to no open session, and hands everything else to the session that it is for.
//!
//! Each session has a task of its own, so several work at once. [`serve`] ends with the input, with the
//! output, or when it is told to; then every session has ended.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES, AuthenticateRequest, AuthenticateResponse, CancelNotification,
    CancelRequestNotification, CloseSessionRequest, DeleteSessionRequest, DeleteSessionResponse,
    Error as ProtocolError, InitializeRequest, ListSessionsRequest, ListSessionsResponse,
    LoadSessionRequest, NewSessionRequest, PROTOCOL_LEVEL_METHOD_NAMES, PromptRequest, RequestId,
    ResumeSessionRequest, SessionId as EditorSessionId, SessionInfo, SetSessionConfigOptionRequest,
    SetSessionModeRequest,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::agent::InitialSession;
use crate::domain::SessionId;
use crate::session::{SessionMeta, SessionStore};

use super::capabilities::{self, EditorFeatures, SETUP_METHOD};
use super::connection::EditorConnection;
use super::host::{AcpHost, AcpOpening};
use super::message::ClientMessage;
use super::servers;
use super::session::{EditorSession, OpeningKind, SessionRequest, refusal};
use super::stdio::{AcpLine, AcpStreams};

/// How many sessions one answer lists.
const PAGE: usize = 100;

/// How long all sessions may take to end: a little longer than one may take to save itself.
const END_LIMIT: Duration = Duration::from_secs(6);
/// How long the last lines may take to be written.
const WRITE_LIMIT: Duration = Duration::from_secs(1);

/// The sessions that are open, by id.
type OpenSessions = Arc<Mutex<BTreeMap<SessionId, OpenSession>>>;

/// The way to an open session.
#[derive(Clone)]
struct OpenSession {
    requests: mpsc::UnboundedSender<SessionRequest>,
    /// Cancelled when it has ended.
    ended: CancellationToken,
}

struct AcpServer {
    host: Arc<dyn AcpHost>,
    editor: EditorConnection,
    /// Known once the client has said `initialize`.
    features: Option<EditorFeatures>,
    open: OpenSessions,
    tasks: JoinSet<()>,
    /// Cancelled when all sessions have to end.
    ending: CancellationToken,
    program: Option<String>,
}

/// Serves a client until its end, or until `shutdown` is cancelled. `program` is slug's own path, for
/// clients that start it to sign in.
pub async fn serve(
    host: Arc<dyn AcpHost>,
    streams: AcpStreams,
    program: Option<String>,
    shutdown: CancellationToken,
) {
    let AcpStreams { mut input, output, is_closed } = streams;
    let mut server = AcpServer {
        host,
        editor: EditorConnection::new(output),
        features: None,
        open: OpenSessions::default(),
        tasks: JoinSet::new(),
        ending: CancellationToken::new(),
        program,
    };
    loop {
        let line = tokio::select! {
            line = input.recv() => line,
            () = shutdown.cancelled() => None,
            () = is_closed.cancelled() => None,
            Some(_) = server.tasks.join_next() => continue,
        };
        let message = match line {
            Some(AcpLine::Whole(line)) => ClientMessage::read(&line),
            Some(AcpLine::TooLong) => {
                let error = "The line is longer than 64 MB.".to_owned();
                Some(ClientMessage::invalid(ProtocolError::invalid_request().data(error)))
            }
            None => break,
        };
        if let Some(message) = message {
            tokio::select! {
                () = server.message(message) => {}
                () = is_closed.cancelled() => break,
            }
        }
    }
    server.ending.cancel();
    let ended = async { while server.tasks.join_next().await.is_some() {} };
    // A client that does not read holds up what a session still tells.
    if tokio::time::timeout(END_LIMIT, ended).await.is_err() {
        tracing::warn!("not all sessions have ended in time");
        server.tasks.shutdown().await;
    }
    drop(server);
    // What was told last is written.
    let _ = tokio::time::timeout(WRITE_LIMIT, is_closed.cancelled()).await;
}

impl AcpServer {
    async fn message(&mut self, message: ClientMessage) {
        match message {
            ClientMessage::Request { id, method, params } => {
                if let Err(error) = self.request(&id, &method, params).await {
                    self.editor.respond::<()>(id, Err(error)).await;
                }
            }
            ClientMessage::Notification { method, params } => self.notification(&method, params),
            ClientMessage::Answer { id, result } => self.editor.settle(&id, result),
            ClientMessage::Invalid { id, error } => {
                self.editor.respond::<()>(id, Err(error)).await;
            }
        }
    }

    fn notification(&self, method: &str, params: Value) {
        if method == AGENT_METHOD_NAMES.session_cancel {
            if let Ok(it) = read::<CancelNotification>(params)
                && let Ok(open) = self.session(&it.session_id)
            {
                let _ = open.requests.send(SessionRequest::Cancel { prompt: None });
            }
        } else if method == PROTOCOL_LEVEL_METHOD_NAMES.cancel_request {
            let Ok(it) = read::<CancelRequestNotification>(params) else { return };
            for open in lock(&self.open).values() {
                let prompt = Some(it.request_id.clone());
                let _ = open.requests.send(SessionRequest::Cancel { prompt });
            }
        } else {
            tracing::debug!(method, "a notification that slug does not know");
        }
    }

    /// Answers a request, or hands it to its session, which answers.
    async fn request(
        &mut self,
        id: &RequestId,
        method: &str,
        params: Value,
    ) -> Result<(), ProtocolError> {
        let names = AGENT_METHOD_NAMES;
        if method == names.initialize {
            let request: InitializeRequest = read(params)?;
            self.features = Some(EditorFeatures::of(&request));
            let answer = capabilities::answer(&request, self.program.as_deref());
            self.editor.respond(id.clone(), Ok(answer)).await;
            return Ok(());
        }
        let Some(features) = self.features else {
            let text = "The first request has to be `initialize`.".to_owned();
            return Err(ProtocolError::invalid_request().data(text));
        };
        let id = id.clone();
        let opening = |cwd, added, servers, start| AcpOpening {
            cwd,
            added,
            servers: servers::table(servers),
            start,
            files: None,
        };
        if method == names.session_new {
            let it: NewSessionRequest = read(params)?;
            let start = InitialSession::New;
            let opening = opening(it.cwd, it.additional_directories, it.mcp_servers, start);
            self.open(id, OpeningKind::New, features, opening)
        } else if method == names.session_load {
            let it: LoadSessionRequest = read(params)?;
            let start = InitialSession::Resume(session_id(&it.session_id)?);
            let opening = opening(it.cwd, it.additional_directories, it.mcp_servers, start);
            self.open(id, OpeningKind::Load, features, opening)
        } else if method == names.session_resume {
            let it: ResumeSessionRequest = read(params)?;
            let start = InitialSession::Resume(session_id(&it.session_id)?);
            let opening = opening(it.cwd, it.additional_directories, it.mcp_servers, start);
            self.open(id, OpeningKind::Resume, features, opening)
        } else if method == names.session_list {
            let request: ListSessionsRequest = read(params)?;
            let store = self.host.store().clone();
            let listed = tokio::task::spawn_blocking(move || list(&store, &request)).await;
            let answer = listed.map_err(|error| internal(error.to_string()))??;
            self.editor.respond(id, Ok(answer)).await;
            Ok(())
        } else if method == names.session_delete {
            let session = session_id(&read::<DeleteSessionRequest>(params)?.session_id)?;
            self.delete(id, session);
            Ok(())
        } else if method == names.session_close {
            let it: CloseSessionRequest = read(params)?;
            self.hand_over(&it.session_id, SessionRequest::Close { id: Some(id) })
        } else if method == names.session_prompt {
            let it: PromptRequest = read(params)?;
            self.hand_over(&it.session_id, SessionRequest::Prompt { id, blocks: it.prompt })
        } else if method == names.session_set_mode {
            let it: SetSessionModeRequest = read(params)?;
            let mode = it.mode_id.0.to_string();
            self.hand_over(&it.session_id, SessionRequest::SetMode { id, mode })
        } else if method == names.session_set_config_option {
            let it: SetSessionConfigOptionRequest = read(params)?;
            let option = it.config_id.0.to_string();
            let request = SessionRequest::SetOption { id, option, value: it.value };
            self.hand_over(&it.session_id, request)
        } else if method == names.authenticate {
            let it: AuthenticateRequest = read(params)?;
            if &*it.method_id.0 != SETUP_METHOD {
                let text = format!("There is no way to sign in by `{}`.", it.method_id.0);
                return Err(ProtocolError::invalid_params().data(text));
            }
            self.host.check_model().await.map_err(refusal)?;
            self.editor.respond(id, Ok(AuthenticateResponse::new())).await;
            Ok(())
        } else {
            Err(ProtocolError::method_not_found().data(method.to_owned()))
        }
    }

    /// Opens a session on a task of its own, which then serves it.
    fn open(
        &mut self,
        id: RequestId,
        kind: OpeningKind,
        features: EditorFeatures,
        opening: AcpOpening,
    ) -> Result<(), ProtocolError> {
        for folder in std::iter::once(&opening.cwd).chain(&opening.added) {
            if !folder.is_absolute() {
                let text = format!("{} is not an absolute path.", folder.display());
                return Err(ProtocolError::invalid_params().data(text));
            }
        }
        let (editor, host, open) = (self.editor.clone(), self.host.clone(), self.open.clone());
        // A session that is open here is opened anew, with what the editor sends now.
        let earlier = match opening.start {
            InitialSession::Resume(session) => lock(&self.open).remove(&session),
            InitialSession::New | InitialSession::Fork(_) => None,
        };
        let ending = self.ending.clone();
        self.tasks.spawn(async move {
            if let Some(earlier) = earlier {
                drop(earlier.requests);
                earlier.ended.cancelled().await;
            }
            let start = opening.start;
            let found = match start {
                InitialSession::Resume(session) => find(&host, session, &opening.cwd).await,
                InitialSession::New | InitialSession::Fork(_) => Ok(()),
            };
            let opened = match found {
                Ok(()) => EditorSession::open(editor.clone(), features, host, opening).await,
                Err(error) => Err(error),
            };
            let mut session = match opened {
                Ok(session) => session,
                Err(error) => return editor.respond::<()>(id, Err(error)).await,
            };
            let (requests, received) = mpsc::unbounded_channel();
            let ended = CancellationToken::new();
            let _guard = ended.clone().drop_guard();
            let name = session.session();
            lock(&open).insert(name, OpenSession { requests, ended: ended.clone() });
            if let Err(error) = session.answer_opening(id.clone(), kind).await {
                editor.respond::<()>(id, Err(error)).await;
                lock(&open).remove(&name);
            }
            session.run(received, &ending).await;
            let mut open = lock(&open);
            // It may be open again by now.
            if open.get(&name).is_some_and(|it| it.requests.is_closed()) {
                open.remove(&name);
            }
        });
        Ok(())
    }

    /// Moves a session to the trash, after its end.
    fn delete(&mut self, id: RequestId, session: SessionId) {
        let earlier = lock(&self.open).remove(&session);
        let (editor, store) = (self.editor.clone(), self.host.store().clone());
        self.tasks.spawn(async move {
            if let Some(earlier) = earlier {
                drop(earlier.requests);
                earlier.ended.cancelled().await;
            }
            let trashed = tokio::task::spawn_blocking(move || {
                // A session without a message has no log, and one that is gone is deleted.
                if store.has_log(session)? { store.trash(session) } else { Ok(()) }
            });
            let answer = match trashed.await {
                Ok(Ok(())) => Ok(DeleteSessionResponse::new()),
                Ok(Err(error)) => Err(internal(error.to_string())),
                Err(error) => Err(internal(error.to_string())),
            };
            editor.respond(id, answer).await;
        });
    }

    fn hand_over(
        &self,
        session: &EditorSessionId,
        request: SessionRequest,
    ) -> Result<(), ProtocolError> {
        let sent = self.session(session)?.requests.send(request);
        sent.map_err(|_| ProtocolError::session_not_found(session.clone()))
    }

    fn session(&self, id: &EditorSessionId) -> Result<OpenSession, ProtocolError> {
        let found = session_id(id).ok().and_then(|session| lock(&self.open).get(&session).cloned());
        found.ok_or_else(|| ProtocolError::session_not_found(id.clone()))
    }
}

/// Checks that there is such a session, and that it is of this folder.
async fn find(
    host: &Arc<dyn AcpHost>,
    session: SessionId,
    cwd: &Path,
) -> Result<(), ProtocolError> {
    let (store, cwd) = (host.store().clone(), cwd.to_owned());
    let found = tokio::task::spawn_blocking(move || {
        if !matches!(store.has_log(session), Ok(true)) {
            let id = EditorSessionId::new(session.to_string());
            return Err(ProtocolError::session_not_found(id));
        }
        let listed = store.list().map_err(|error| internal(error.to_string()))?;
        let of = listed.into_iter().find(|it| it.session_id == session);
        let Some(folder) = of.map(|it| it.working_directory) else { return Ok(()) };
        let real = std::fs::canonicalize(&cwd).unwrap_or(cwd);
        if folder.as_os_str().is_empty() || folder == real {
            return Ok(());
        }
        let text = format!("This session belongs to {}. Open that folder.", folder.display());
        Err(ProtocolError::invalid_params().data(text))
    });
    found.await.map_err(|error| internal(error.to_string()))?
}

/// A page of the sessions, the most recently used first. The cursor is the id of the last one.
fn list(
    store: &SessionStore,
    request: &ListSessionsRequest,
) -> Result<ListSessionsResponse, ProtocolError> {
    let sessions = store.list().map_err(|error| internal(error.to_string()))?;
    let folder = request.cwd.as_ref();
    let folder = folder.map(|cwd| std::fs::canonicalize(cwd).unwrap_or_else(|_| cwd.clone()));
    let is_of_folder =
        |it: &&SessionMeta| folder.as_ref().is_none_or(|folder| *folder == it.working_directory);
    let mut found: Vec<&SessionMeta> = sessions
        .iter()
        .filter(is_of_folder)
        .filter(|it| it.working_directory.is_absolute())
        .collect();
    if let Some(cursor) = &request.cursor {
        let last = found.iter().position(|it| it.session_id.to_string() == *cursor);
        let last = last.ok_or_else(|| {
            ProtocolError::invalid_params()
                .data("Unknown `cursor`. List the sessions again without one.".to_owned())
        })?;
        found.drain(..=last);
    }
    let rest = found.split_off(found.len().min(PAGE));
    let next = found.last().filter(|_| !rest.is_empty()).map(|it| it.session_id.to_string());
    let infos = found.into_iter().map(|it| {
        SessionInfo::new(it.session_id.to_string(), it.working_directory.clone())
            .title(it.title.clone())
            .updated_at(it.last_used_at.to_rfc3339())
    });
    Ok(ListSessionsResponse::new(infos.collect()).next_cursor(next))
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, ProtocolError> {
    let params = if params.is_null() { Value::Object(serde_json::Map::new()) } else { params };
    let wrong = |error: serde_json::Error| ProtocolError::invalid_params().data(error.to_string());
    serde_json::from_value(params).map_err(wrong)
}

fn session_id(id: &EditorSessionId) -> Result<SessionId, ProtocolError> {
    id.0.parse().map_err(|_| ProtocolError::session_not_found(id.clone()))
}

fn internal(text: String) -> ProtocolError {
    ProtocolError::internal_error().data(text)
}

fn lock(open: &OpenSessions) -> MutexGuard<'_, BTreeMap<SessionId, OpenSession>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}
