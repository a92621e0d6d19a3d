//! A server for one root: started when it is first needed, again where it has ended, and ended when
//! nobody has needed it for a while.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::platform::server_program::{
    ServerErrorOutput, ServerProgram, ServerProgramSearch, ServerProgramSpec,
};
use crate::tools::Processes;

use super::connection::{LspError, lsp_text};
use super::definition::LspServerDefinition;
use super::session::{LspSession, LspStart};
use super::status::{LspNews, LspServerPhase, LspServerStatus};

/// How often a server is started again that has ended by itself.
const MAX_RESTARTS: usize = 3;

/// How long a server that could not start is left alone.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// The most characters that are shown of the last line that a server has said.
const MAX_LAST_LINE: usize = 300;

/// What servers get of slug's environment, besides what every server gets: where tools and caches are.
pub(super) const PASSED_VARIABLES: &str = "USER|TMPDIR|LC_*|XDG_*|CARGO_HOME|RUSTUP_HOME|RUSTUP_TOOLCHAIN|GOPATH|\
    GOROOT|GOCACHE|GOMODCACHE|GOFLAGS|JAVA_HOME|VIRTUAL_ENV|CONDA_PREFIX|NVM_DIR|NODE_PATH|GEM_HOME|\
    GEM_PATH|DOTNET_ROOT|COMPOSER_HOME|OPAMROOT|ANDROID_HOME";

/// What servers share.
#[derive(Clone)]
pub struct LspPorts {
    pub processes: Arc<dyn Processes>,
    pub programs: ServerProgramSearch,
    /// The most memory that a process of a server may ask for, in bytes.
    pub memory_limit: u64,
    /// A server that has not been used for so long is ended.
    pub idle_limit: Duration,
}

/// A server of one root.
pub(super) struct LspSlot {
    pub(super) definition: Arc<LspServerDefinition>,
    pub(super) root: PathBuf,
    ports: LspPorts,
    errors: ServerErrorOutput,
    news: LspNews,
    run: tokio::sync::Mutex<SlotRun>,
    /// The running session, to be looked at without waiting for a start.
    running: Mutex<Weak<LspSession>>,
    phase: Mutex<LspServerPhase>,
}

#[derive(Default)]
struct SlotRun {
    current: Option<Arc<LspSession>>,
    starts: usize,
    /// The user has ended it.
    is_stopped: bool,
    /// When and why it could not start last.
    failure: Option<(Instant, String)>,
}

impl LspSlot {
    pub(super) fn new(
        definition: Arc<LspServerDefinition>,
        root: PathBuf,
        ports: LspPorts,
        news: LspNews,
    ) -> Self {
        let (errors, run, running) = Default::default();
        let phase = Mutex::new(LspServerPhase::NotNeeded);
        Self { definition, root, ports, errors, news, run, running, phase }
    }

    /// What is known of the server now. Waits for nothing.
    pub(super) fn status(&self) -> LspServerStatus {
        let mut status = LspServerStatus::of(&self.definition);
        status.phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner).clone();
        status.root = Some(self.root.clone());
        status.error_output = self.errors.text();
        match self.running() {
            Some(session) => {
                status.implementation.clone_from(&session.implementation);
                status.is_busy = session.state.is_busy();
                status.counts = session.state.counts();
            }
            None if status.phase == LspServerPhase::Ready => {
                let why = format!("It has ended by itself{}.", self.last_words());
                status.phase = LspServerPhase::Failed(why);
            }
            None => {}
        }
        status
    }

    fn enter(&self, phase: LspServerPhase) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
        self.news.tell();
    }

    /// Ends the server, which then stays ended until [`Self::restart`].
    pub(super) async fn stop(&self) {
        let session = {
            let mut run = self.run.lock().await;
            self.enter(LspServerPhase::Stopped);
            run.is_stopped = true;
            run.starts = 0;
            run.current.take()
        };
        if let Some(session) = session {
            session.stop().await;
        }
    }

    /// Ends the server if it runs, and starts it anew, however often it has failed.
    ///
    /// # Errors
    ///
    /// As [`Self::session`].
    pub(super) async fn restart(self: &Arc<Self>) -> Result<(), String> {
        self.stop().await;
        {
            let mut run = self.run.lock().await;
            (run.is_stopped, run.failure) = (false, None);
        }
        self.session().await.map(drop)
    }

    /// The session that runs now, without starting one.
    pub(super) fn running(&self) -> Option<Arc<LspSession>> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        running.filter(|session| !session.connection.is_closed())
    }

    /// The running session, which is started first where there is none.
    ///
    /// # Errors
    ///
    /// When it cannot start, has ended too often, or could not start a moment ago; a sentence.
    pub(super) async fn session(self: &Arc<Self>) -> Result<Arc<LspSession>, String> {
        let mut run = self.run.lock().await;
        if let Some(current) = run.current.take_if(|it| it.connection.is_closed()) {
            tracing::info!(server = %self.definition.name, "a language server has ended");
            drop(current);
        }
        if let Some(current) = &run.current {
            current.touch();
            return Ok(current.clone());
        }
        if run.is_stopped {
            return Err(format!(
                "The user has stopped the language server {}. They can start it in /lsp.",
                self.definition.name
            ));
        }
        if let Some((when, why)) = &run.failure
            && when.elapsed() < RETRY_AFTER
        {
            return Err(why.clone());
        }
        if run.starts > MAX_RESTARTS {
            return Err(format!(
                "The language server {} has ended too often. slug starts it again in the next session.",
                self.definition.name
            ));
        }
        self.enter(LspServerPhase::Starting);
        match self.start().await {
            Ok(session) => {
                let session = Arc::new(session);
                tokio::spawn(tell_news(
                    session.state.follow(),
                    session.connection.end(),
                    self.news.clone(),
                ));
                *self.running.lock().unwrap_or_else(PoisonError::into_inner) =
                    Arc::downgrade(&session);
                (run.current, run.failure) = (Some(session.clone()), None);
                run.starts += 1;
                self.enter(LspServerPhase::Ready);
                tokio::spawn(end_when_idle(Arc::downgrade(self), self.ports.idle_limit));
                Ok(session)
            }
            Err(why) => {
                run.failure = Some((Instant::now(), why.clone()));
                self.enter(LspServerPhase::Failed(why.clone()));
                Err(why)
            }
        }
    }

    async fn start(&self) -> Result<LspSession, String> {
        let name = &self.definition.name;
        let search_path = self.ports.programs.path(&self.definition.env);
        let Some((command, args)) = self.definition.command.split_first() else {
            return Err(format!("The language server {name} has no command."));
        };
        let program = find_program(&self.definition, &self.ports.programs)?;
        tracing::info!(server = %name, root = %self.root.display(), command, "starting");
        let spec = ServerProgramSpec {
            command: &program,
            args,
            env: &self.definition.env,
            search_path,
            cwd: self.root.clone(),
            passed: PASSED_VARIABLES,
            memory_limit: Some(self.ports.memory_limit),
        };
        let started = ServerProgram::start(spec, &*self.ports.processes, &self.errors).await;
        let (program, streams) = started
            .map_err(|error| format!("The language server {name} cannot be started: {error}."))?;
        let start = LspStart {
            root: &self.root,
            settings: settings_for(&self.definition, &self.root),
            initialization: self.definition.initialization.clone(),
            limit: self.definition.start_limit,
        };
        let begun = LspSession::start(start, streams.output, streams.input, Some(program)).await;
        begun.map_err(|error| match error {
            // A proxy of rustup's, or a script without its interpreter, ends like this.
            LspError::Gone(_) => format!(
                "The language server {name} ended at once{}. It may not be installed{}.",
                self.last_words(),
                install_hint(&self.definition)
            ),
            other => format!("The language server {name} did not start. {other}"),
        })
    }

    /// The last line that the server has said on standard error, in brackets.
    fn last_words(&self) -> String {
        let text = self.errors.text();
        let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let line = lsp_text(line, MAX_LAST_LINE);
        if line.is_empty() { line } else { format!(" (it said: {line})") }
    }

    /// Ends the session if it has not been used for `limit`; how long to wait before the next look, `None`
    /// where nothing runs any more.
    async fn end_if_idle(&self, limit: Duration) -> Option<Duration> {
        let mut run = self.run.lock().await;
        let current = run.current.as_ref().filter(|it| !it.connection.is_closed())?;
        let left = limit.saturating_sub(current.last_use().elapsed());
        // Somebody who still holds it is using it.
        if !left.is_zero() || Arc::strong_count(current) > 1 {
            return Some(left.max(limit / 10).max(Duration::from_millis(1)));
        }
        let session = run.current.take()?;
        // It did not end by itself.
        run.starts -= 1;
        self.enter(LspServerPhase::NotNeeded);
        drop(run);
        session.stop().await;
        None
    }
}

/// Tells what a session finds, and its end.
async fn tell_news(mut found: watch::Receiver<u64>, end: CancellationToken, news: LspNews) {
    loop {
        tokio::select! {
            changed = found.changed() => if changed.is_err() { break },
            () = end.cancelled() => break,
        }
        news.tell();
    }
    news.tell();
}

/// Looks from time to time whether a server is still used.
async fn end_when_idle(slot: Weak<LspSlot>, limit: Duration) {
    let mut pause = limit;
    loop {
        tokio::time::sleep(pause).await;
        let Some(slot) = slot.upgrade() else { return };
        match slot.end_if_idle(limit).await {
            Some(next) => pause = next,
            None => return,
        }
    }
}

/// The program of a server: one that PATH has outside of the project, or an absolute path that leads
/// outside (cases S63 and S64). Blocks.
///
/// # Errors
///
/// When there is none; a sentence that names the command that installs it.
pub(super) fn find_program(
    server: &LspServerDefinition,
    programs: &ServerProgramSearch,
) -> Result<String, String> {
    let name = &server.name;
    let command = server.command.first().map(String::as_str).unwrap_or_default();
    if !command.contains('/') {
        let found = programs.program(command, &programs.path(&server.env));
        return found.ok_or_else(|| {
            format!(
                "The language server {name} is not installed: there is no program {command}{}.",
                install_hint(server)
            )
        });
    }
    let project = programs.project.canonicalize().unwrap_or_else(|_| programs.project.clone());
    match Path::new(command).canonicalize() {
        Ok(real) if Path::new(command).is_absolute() && !real.starts_with(&project) => {
            Ok(command.to_owned())
        }
        Ok(_) => Err(format!(
            "The language server {name} is not started: {command} is not an absolute path outside of \
             the folder."
        )),
        Err(error) => Err(format!("The language server {name}: {command}: {error}.")),
    }
}

fn install_hint(server: &LspServerDefinition) -> String {
    match server.install.is_empty() {
        true => String::new(),
        false => format!(". The user can install it: {}", server.install),
    }
}

/// The settings of a definition, for Python with the interpreter of the root, which only a trusted folder
/// gets so far.
fn settings_for(server: &LspServerDefinition, root: &Path) -> Value {
    let mut settings = server.settings.clone();
    let wants_python = matches!(server.name.as_str(), "pyright" | "basedpyright");
    if wants_python && settings.pointer("/python/pythonPath").is_none() {
        let own = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from).into_iter();
        let folders = own.chain([root.join(".venv"), root.join("venv")]);
        let interpreter = folders.map(|it| it.join("bin/python")).find(|it| it.exists());
        if let Some(interpreter) = interpreter {
            if !settings.is_object() {
                settings = json!({});
            }
            if !settings["python"].is_object() {
                settings["python"] = json!({});
            }
            settings["python"]["pythonPath"] = interpreter.to_string_lossy().into();
        }
    }
    settings
}
