//! One `llama-server` for a model file: started, watched and ended by slug.
//!
//! It listens on a socket in a folder of slug's that only this user can enter, and wants the key that is
//! there. Whoever holds the folder's lock runs the server; other sessions of the same file use it, and one
//! of them starts it again when its owner has gone. A server that slug did not start is left alone.
//!
//! It is started when a request first needs it. One that ends while it loads is not started again by
//! itself; one that ends later is, after a pause, and at most [`MAX_STARTS`] times in a while.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use tokio::sync::{Mutex, OnceCell, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::domain::{ExitCause, JobEnd};
use crate::net::{HttpClient, HttpEndpoint, HttpFailure, HttpTarget, fetch};
use crate::platform::memory::mapped_files;
use crate::platform::paths::{private_dir, private_file};
use crate::platform::server_program::{
    ServerErrorOutput, ServerProgram, ServerProgramSpec, ServerProgramStreams,
};
use crate::providers::ModelLoading;
use crate::tools::{Processes, ScriptSpec};

use super::log_words;
use super::model_files::ModelFile;
use super::server_flags::{self, ServerWish};

/// How often a server that has run is started in [`RESTART_SPAN`].
const MAX_STARTS: usize = 3;
const RESTART_SPAN: Duration = Duration::from_secs(120);

/// The pauses before the second and the third start.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];

/// How often a server that loads is asked whether it is ready.
const POLL: Duration = Duration::from_millis(100);

/// How often it is looked, at most, for the last lines of a server that has ended.
const LAST_LOOKS: usize = 8;

/// How long a failed start stands for the next question, so that one message does not start it twice.
const FAILURE_SPAN: Duration = Duration::from_secs(3);

/// How long after a broken answer the end of its server may show.
const END_SPAN: Duration = Duration::from_secs(1);

/// How long a server may take to print its help.
const HELP_LIMIT: Duration = Duration::from_secs(30);

/// The most bytes of a help text.
const MAX_HELP: usize = 1 << 20;

/// The most bytes of a socket's path: the shortest that systems have, with its end.
const MAX_SOCKET_PATH: usize = 103;

/// What choosing a graphics card and finding libraries takes of slug's environment. The server's own
/// variables (`LLAMA_ARG_…`) are not among them.
const PASSED: &str = "CUDA_*|HIP_*|ROCR_*|HSA_*|GGML_*|VK_*|SYCL_*|ONEAPI_*|LD_LIBRARY_PATH";

/// Which server is started, and how.
#[derive(Debug, Clone)]
pub struct LocalServerPlan {
    pub model: ModelFile,
    /// In tokens.
    pub window: u64,
    /// The program, as a path.
    pub program: String,
    /// The user's own arguments.
    pub args: Vec<String>,
    /// The value of PATH for the server.
    pub search_path: OsString,
    /// The most memory for prompts that the server remembers, in megabytes.
    pub cache_megabytes: u64,
    /// How long it may take to load.
    pub load_limit: Duration,
}

/// Why no server answers: sentences for the user, with a remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LocalServerError(pub String);

/// The files of a server that are there whether it runs or not.
#[derive(Debug, Clone)]
pub struct LocalServerFolder {
    folder: PathBuf,
    key: SecretString,
}

/// A model's server, which runs or will.
pub struct LocalServer {
    plan: LocalServerPlan,
    folder: LocalServerFolder,
    processes: Arc<dyn Processes>,
    http: Arc<HttpClient>,
    endpoint: HttpEndpoint,
    help: OnceCell<String>,
    state: Mutex<LocalServerState>,
    loading: watch::Sender<Option<ModelLoading>>,
}

#[derive(Default)]
struct LocalServerState {
    running: Option<StartedServer>,
    /// When servers that became ready were started.
    starts: Vec<Instant>,
    failure: Option<(Instant, LocalServerError)>,
}

/// A server of this slug. Dropping it ends the server and gives the lock to others.
struct StartedServer {
    program: ServerProgram,
    errors: ServerErrorOutput,
    began: Instant,
    is_ready: bool,
    /// The end of its input would end it.
    _streams: ServerProgramStreams,
    _lock: File,
}

/// What a server says of itself.
enum ServerHealth {
    Ready,
    Loading,
    /// Nothing listens.
    Silent,
}

impl LocalServerFolder {
    /// The folder of a model file's server below `root`, made if it is not there.
    ///
    /// # Errors
    ///
    /// When it cannot be made or its key not be read, and when its path is too long for a socket.
    pub fn open(root: &Path, name: &str) -> io::Result<Self> {
        let folder = root.join(name);
        private_dir(root)?;
        private_dir(&folder)?;
        let path = folder.join("key");
        if !path.exists() {
            let mut file = tempfile::NamedTempFile::new_in(&folder)?;
            let [one, other] = [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()];
            writeln!(file, "{}{}", one.simple(), other.simple())?;
            // Another slug may have been faster; its key counts then.
            let _ = file.persist_noclobber(&path);
        }
        let key = fs::read_to_string(&path)?;
        let folder = Self { folder, key: key.trim().into() };
        if folder.socket().as_os_str().len() > MAX_SOCKET_PATH {
            let text = "the path is too long for a socket: set SLUG_HOME to a shorter one";
            return Err(io::Error::other(text));
        }
        Ok(folder)
    }

    /// Where the server listens.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("llama.sock")
    }

    /// The key that the server wants.
    pub fn key(&self) -> &SecretString {
        &self.key
    }
}

impl LocalServer {
    /// A server that does not run yet. `http` leads to the socket of `folder`, whatever `endpoint` says.
    pub fn new(
        plan: LocalServerPlan,
        folder: LocalServerFolder,
        processes: Arc<dyn Processes>,
        (http, endpoint): (Arc<HttpClient>, HttpEndpoint),
    ) -> Self {
        Self {
            plan,
            folder,
            processes,
            http,
            endpoint,
            help: OnceCell::new(),
            state: Mutex::default(),
            loading: watch::Sender::new(None),
        }
    }

    /// How far it has loaded, while it does.
    pub fn loading(&self) -> watch::Receiver<Option<ModelLoading>> {
        self.loading.subscribe()
    }

    /// Returns once the server answers; starts it if nobody has. If this is given up, a server that loads
    /// goes on.
    ///
    /// # Errors
    ///
    /// When no server can be started, or it ends or does not become ready.
    pub async fn ready(&self) -> Result<(), LocalServerError> {
        let mut state = self.state.lock().await;
        if let Some(server) = &state.running
            && server.is_ready
            && server.program.ended().is_none()
        {
            return Ok(());
        }
        if let Some((at, failure)) = &state.failure
            && at.elapsed() < FAILURE_SPAN
        {
            return Err(failure.clone());
        }
        let _shown = LoadingShown(&self.loading);
        let up = self.bring_up(&mut state).await;
        state.failure = up.as_ref().err().map(|error| (Instant::now(), error.clone()));
        up
    }

    /// What has become of the server, where an answer has just broken off: `None` while it runs, and where
    /// another slug runs it.
    pub async fn end(&self) -> Option<LocalServerError> {
        let until = Instant::now() + END_SPAN;
        loop {
            let state = self.state.lock().await;
            let server = state.running.as_ref()?;
            if let Some(end) = server.program.ended() {
                return Some(self.ended(end, "answered with", &server.errors).await);
            }
            drop(state);
            if Instant::now() > until {
                return None;
            }
            tokio::time::sleep(POLL / 4).await;
        }
    }

    async fn bring_up(&self, state: &mut LocalServerState) -> Result<(), LocalServerError> {
        let began = Instant::now();
        loop {
            if let Some(end) = state.running.as_ref().and_then(|it| it.program.ended())
                && let Some(StartedServer { errors, is_ready, .. }) = state.running.take()
                && !is_ready
            {
                return Err(self.ended(end, "loaded", &errors).await);
            }
            if state.running.is_none()
                && let Some(lock) = self.lock().map_err(|error| self.no_folder(&error))?
            {
                self.pause(&mut state.starts).await?;
                state.running = Some(self.start(lock).await?);
            }
            let health = self.health().await;
            if let (ServerHealth::Ready, Some(server)) = (&health, &mut state.running) {
                server.is_ready = true;
                state.starts.push(server.began);
            }
            match health {
                ServerHealth::Ready => return Ok(()),
                ServerHealth::Loading | ServerHealth::Silent => {}
            }
            let percent = state.running.as_ref().and_then(|server| self.percent(server));
            self.loading.send_replace(Some(ModelLoading { percent }));
            if began.elapsed() > self.plan.load_limit {
                return Err(self.never_ready(state.running.take().as_ref()));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// The lock of the folder; `None` while another slug has it.
    fn lock(&self) -> io::Result<Option<File>> {
        let path = self.folder.folder.join("lock");
        let (file, _) = private_file(&path, OpenOptions::new().write(true).create(true))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            // Without locks each slug runs a server of its own, the last one at the socket.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                Ok(Some(file))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Waits before a server that has run is started again.
    async fn pause(&self, starts: &mut Vec<Instant>) -> Result<(), LocalServerError> {
        starts.retain(|start| start.elapsed() < RESTART_SPAN);
        if starts.len() >= MAX_STARTS {
            return Err(LocalServerError(format!(
                "llama-server has ended {MAX_STARTS} times within two minutes with {}. slug does not \
                 start it again by itself. Wait two minutes and send /retry, or try another model or \
                 a smaller window.",
                self.plan.model.name()
            )));
        }
        if let Some(pause) = starts.len().checked_sub(1).and_then(|at| PAUSES.get(at)) {
            tokio::time::sleep(*pause).await;
        }
        Ok(())
    }

    async fn start(&self, lock: File) -> Result<StartedServer, LocalServerError> {
        let help = self.help.get_or_try_init(|| self.read_help()).await?;
        let socket = self.folder.socket();
        let name = self.plan.model.name();
        let wish = ServerWish {
            model: &self.plan.model.path,
            name: &name,
            socket: &socket,
            key_file: &self.folder.folder.join("key"),
            window: self.plan.window,
            cache_megabytes: self.plan.cache_megabytes,
            own: &self.plan.args,
        };
        let args = server_flags::arguments(help, wish).map_err(LocalServerError)?;
        tracing::info!(program = self.plan.program, ?args, "starting a model server");
        // One that was killed leaves its socket behind.
        let _ = fs::remove_file(&socket);
        let errors = ServerErrorOutput::default();
        let spec = ServerProgramSpec {
            command: &self.plan.program,
            args: &args,
            env: &BTreeMap::new(),
            search_path: self.plan.search_path.clone(),
            cwd: self.folder.folder.clone(),
            passed: PASSED,
            memory_limit: None,
        };
        let started = ServerProgram::start(spec, &*self.processes, &errors).await;
        let (program, streams) = started.map_err(|error| {
            LocalServerError(format!("Cannot start {}: {error}.", self.plan.program))
        })?;
        Ok(StartedServer {
            program,
            errors,
            began: Instant::now(),
            is_ready: false,
            _streams: streams,
            _lock: lock,
        })
    }

    async fn read_help(&self) -> Result<String, LocalServerError> {
        let quoted = format!("'{}'", self.plan.program.replace('\'', r"'\''"));
        let script = ScriptSpec {
            search_path: Some(self.plan.search_path.clone()),
            ..ScriptSpec::new(
                format!("exec {quoted} --help"),
                self.folder.folder.clone(),
                HELP_LIMIT,
            )
        };
        let mut text = Vec::new();
        let mut take = |bytes: &[u8]| {
            let room = MAX_HELP.saturating_sub(text.len()).min(bytes.len());
            text.extend_from_slice(bytes.get(..room).unwrap_or_default());
        };
        let ran = self.processes.run(script, &mut take, CancellationToken::new()).await;
        let failed = match ran {
            Ok(exit) if exit.cause == ExitCause::Code(0) => None,
            Ok(exit) => Some(cause_words(exit.cause)),
            Err(error) => Some(error.to_string()),
        };
        let text = String::from_utf8_lossy(&text).into_owned();
        match failed {
            None => Ok(text),
            Some(why) => Err(LocalServerError(format!(
                "{} does not run here: `--help` {why}.{}Check `local.server`, or install llama.cpp \
                 again.",
                self.plan.program,
                log_words::quoted(&text)
            ))),
        }
    }

    async fn health(&self) -> ServerHealth {
        let Ok(client) = self.http.client(&self.endpoint) else { return ServerHealth::Silent };
        let request = client.get(self.endpoint.beside("health"));
        match fetch(request, &HttpTarget::default(), 4096).await {
            Ok(_) => ServerHealth::Ready,
            Err(HttpFailure::Refused(refused)) if refused.status == 503 => ServerHealth::Loading,
            Err(HttpFailure::Refused(_)) => ServerHealth::Ready,
            Err(HttpFailure::Transport(_)) => ServerHealth::Silent,
        }
    }

    /// How much of the model is in memory.
    fn percent(&self, server: &StartedServer) -> Option<u8> {
        let mapped = mapped_files(server.program.pid()?)?;
        let percent = mapped.saturating_mul(100).checked_div(self.plan.model.size)?;
        u8::try_from(percent.min(99)).ok()
    }

    async fn ended(&self, end: JobEnd, what: &str, errors: &ServerErrorOutput) -> LocalServerError {
        let how = match end {
            JobEnd::Exited(cause) => cause_words(cause),
            JobEnd::Lost => "was lost".to_owned(),
        };
        let name = self.plan.model.name();
        let log = last_words(errors).await;
        log_words::keep(&log);
        LocalServerError(format!(
            "llama-server {how} while it {what} {name}.{}{}",
            log_words::quoted(&log),
            log_words::remedy(&log)
        ))
    }

    fn never_ready(&self, server: Option<&StartedServer>) -> LocalServerError {
        let log = server.map(|server| server.errors.text()).unwrap_or_default();
        log_words::keep(&log);
        LocalServerError(format!(
            "llama-server has not become ready with {} within {} minutes, so slug has ended it.{}Try \
             a smaller model, or one on a faster disk.",
            self.plan.model.name(),
            self.plan.load_limit.as_secs() / 60,
            log_words::quoted(&log)
        ))
    }

    fn no_folder(&self, error: &io::Error) -> LocalServerError {
        let folder = self.folder.folder.display();
        LocalServerError(format!("Cannot use {folder} for the model server: {error}."))
    }
}

/// Takes the progress from the screen when the wait is over, or given up.
struct LoadingShown<'a>(&'a watch::Sender<Option<ModelLoading>>);

impl Drop for LoadingShown<'_> {
    fn drop(&mut self) {
        self.0.send_replace(None);
    }
}

fn cause_words(cause: ExitCause) -> String {
    match cause {
        ExitCause::Code(code) => format!("ended with status {code}"),
        // What the kernel sends when memory runs out.
        ExitCause::Signal(9) => {
            "was killed (signal 9, as the system does without memory)".to_owned()
        }
        ExitCause::Signal(signal) => format!("was ended by signal {signal}"),
        ExitCause::TimedOut => "took too long".to_owned(),
        ExitCause::Cancelled => "was stopped".to_owned(),
    }
}

/// What a server has printed in all: it may have ended before its last lines were read.
async fn last_words(errors: &ServerErrorOutput) -> String {
    let mut text = errors.text();
    for _ in 0..LAST_LOOKS {
        tokio::time::sleep(POLL / 4).await;
        let now = errors.text();
        if now == text && !now.is_empty() {
            break;
        }
        text = now;
    }
    text
}
