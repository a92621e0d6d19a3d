//! A run for a script, without a screen: what is checked before it begins, the agent, and its end. What is
//! said in between is `crate::headless`.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use async_trait::async_trait;

use crate::agent::{
    self, AgentEventReceiver, AgentHandle, InitialSession, Interactivity, UnnamedModel,
};
use crate::cli::{Cli, CliExitStatus};
use crate::config::ResolvedConfig;
use crate::domain::PermissionMode;
use crate::headless::{BackgroundProcesses, RunFacts};
use crate::mcp::McpServers;
use crate::permissions::store::{self, ProjectSettingsTrust};
use crate::platform::logging::{self, LogGuard};
use crate::platform::process::ProcessHost;
use crate::platform::redact::Redactor;
use crate::platform::signals::{HandledSignal, SignalStream, raise_again};
use crate::platform::supervisor;
use crate::session::SessionStore;
use crate::trust;

use super::build::{self, RunParticipants, RunParts};
use super::no_model;
use super::print;
use super::run_context::RunContext;
use super::startup::{ScratchFolder, report_config_errors};

/// How long a run waits for MCP servers before it begins without those that are still starting.
pub(super) const SERVERS_LIMIT: Duration = Duration::from_secs(5);

/// How long a stopped run may take to save its session.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// What is known before anything is started.
pub(super) struct CheckedRun {
    run_context: RunContext,
    /// The folder that a demo works in.
    scratch: Option<ScratchFolder>,
    project: ProjectSettingsTrust,
    config: ResolvedConfig,
}

/// A run whose agent is there.
pub(super) struct ScriptRun {
    pub(super) agent: AgentHandle,
    pub(super) events: AgentEventReceiver,
    pub(super) facts: RunFacts,
    pub(super) store: SessionStore,
    pub(super) opening: InitialSession,
    pub(super) mode: PermissionMode,
    pub(super) has_sandbox: bool,
    pub(super) background: LeftProcesses,
    signals: SignalStream,
    _servers: Arc<McpServers>,
    log: Option<LogGuard>,
    scratch: Option<ScratchFolder>,
}

impl CheckedRun {
    /// Reads configuration, trust and rules. `Err` has the status with which slug ends, once the reasons
    /// were printed.
    pub(super) async fn of(
        cli: &Cli,
        run_context: &RunContext,
    ) -> anyhow::Result<Result<Self, CliExitStatus>> {
        let scratch = ScratchFolder::for_demo(cli)?;
        let moved = scratch.as_ref().map(|scratch| scratch.moved(run_context));
        let run_context = moved.unwrap_or_else(|| run_context.clone());
        let project = run_context.project(cli)?;
        let config = match run_context.config(cli, project) {
            Ok(config) => config,
            Err(errors) => return Ok(Err(report_config_errors(&errors))),
        };
        let rules = store::load(&run_context.workspace(project), project);
        if !rules.faults().is_empty() {
            rules.faults().iter().for_each(|fault| print::complain(&fault.to_string()));
            print::complain(
                "slug cannot tell what these settings forbid, and nobody is here to ask, so nothing \
                 ran",
            );
            return Ok(Err(CliExitStatus::Usage));
        }
        if cli.demo.is_none() && config.nothing_configured() {
            no_model::check(&run_context, &config).await?;
        }
        Ok(Ok(Self { run_context, scratch, project, config }))
    }

    /// Starts the servers and the agent.
    pub(super) async fn start(
        self,
        cli: &Cli,
        interactivity: Interactivity,
    ) -> anyhow::Result<ScriptRun> {
        let Self { run_context, scratch, project, config } = self;
        let run_context = &run_context;
        if project == ProjectSettingsTrust::Untrusted
            && !trust::inventory(&run_context.cwd, run_context.user_home.as_deref()).is_empty()
        {
            print::complain(
                "this folder is not trusted: its settings and instruction files are ignored \
                 (--trust-workspace uses them for this run)",
            );
        }
        let redactor = Redactor::default();
        let filter = std::env::var("RUST_LOG").ok();
        let log = logging::start(&run_context.home.logs(), filter.as_deref(), redactor.clone());
        let participants = RunParticipants {
            interactivity,
            ..RunParticipants::headless(cli, run_context, &config, &redactor)?
        };
        let RunParts { mut setup, processes, servers, .. } =
            build::parts(run_context, &config, project, participants, &redactor)?;
        setup.notices.extend(log.as_ref().err().map(ToString::to_string));
        // A script answers questions, and has no list to choose a model from.
        setup.unnamed_model = UnnamedModel::TakeFirst;
        let opening = start(cli, run_context)?;
        let facts = RunFacts {
            version: env!("CARGO_PKG_VERSION"),
            cwd: run_context.cwd.clone(),
            tools: setup.registry.specs().iter().map(|spec| spec.name.clone()).collect(),
        };
        let store = setup.store.clone();
        let (mode, has_sandbox) = (setup.mode, setup.escalation.is_some());
        let signals = SignalStream::listen()?;
        servers.start();
        servers.settle(SERVERS_LIMIT).await;
        for status in servers.status() {
            if let Some(why) = status.state.failure() {
                print::complain(&format!("MCP server {}: {why}", status.name));
            }
        }
        let (agent, events) = agent::spawn(setup, opening);
        let background = LeftProcesses { processes, redactor };
        let log = log.ok();
        Ok(ScriptRun {
            agent,
            events,
            facts,
            store,
            opening,
            mode,
            has_sandbox,
            background,
            signals,
            _servers: servers,
            log,
            scratch,
        })
    }
}

/// Waits for the work of a run. A signal that ends slug is told to it once; then it has a moment left.
pub(super) async fn until_end<T>(
    work: impl Future<Output = T>,
    signals: &mut SignalStream,
    stop: impl Fn(),
) -> (Option<T>, Option<HandledSignal>) {
    tokio::pin!(work);
    let mut signal: Option<HandledSignal> = None;
    loop {
        tokio::select! {
            done = &mut work => return (Some(done), signal),
            received = signals.next(), if signal.is_none() => {
                if received.is_ending() {
                    signal = Some(received);
                    stop();
                }
            }
            () = tokio::time::sleep(SHUTDOWN_TIMEOUT), if signal.is_some() => return (None, signal),
        }
    }
}

impl ScriptRun {
    /// The parts that the work of a run needs at the same time.
    pub(super) fn split(
        &mut self,
    ) -> (&AgentHandle, &mut AgentEventReceiver, &LeftProcesses, &mut SignalStream) {
        (&self.agent, &mut self.events, &self.background, &mut self.signals)
    }

    /// Saves the session and ends the child processes before slug ends.
    pub(super) async fn end(
        self,
        exit: Option<anyhow::Result<CliExitStatus>>,
        signal: Option<HandledSignal>,
    ) -> anyhow::Result<CliExitStatus> {
        let AgentHandle { commands, task, .. } = self.agent;
        drop((commands, self.events));
        let saved = tokio::time::timeout(SHUTDOWN_TIMEOUT, task).await;
        self.background.processes.end_all().await;
        if let Some(signal) = signal {
            drop((self.log, self.scratch));
            raise_again(signal, &supervisor::program()?);
        }
        if saved.is_err() {
            bail!("The session could not be saved in time.");
        }
        match exit {
            Some(exit) => exit,
            None => bail!("Stopped."),
        }
    }
}

/// What commands have left running, without slug's keys in it.
pub(super) struct LeftProcesses {
    processes: Arc<ProcessHost>,
    redactor: Redactor,
}

#[async_trait]
impl BackgroundProcesses for LeftProcesses {
    async fn left_running(&self) -> Vec<String> {
        let commands = self.processes.left_running().await;
        commands.iter().map(|text| self.redactor.redact_own(text).into_owned()).collect()
    }
}

/// The session that the agent opens: a new one, or the one that the command line names.
pub(super) fn start(cli: &Cli, run_context: &RunContext) -> anyhow::Result<InitialSession> {
    let store = build::store(run_context);
    if let Some(prefix) = &cli.resume {
        return Ok(InitialSession::Resume(store.resolve(prefix)?));
    }
    if let Some(prefix) = &cli.fork_session {
        return Ok(InitialSession::Fork(store.resolve(prefix)?));
    }
    if !cli.continue_newest {
        return Ok(InitialSession::New);
    }
    match store.newest_in(&run_context.cwd)? {
        Some(session) => Ok(InitialSession::Resume(session)),
        None => bail!("This folder has no session to continue. Run `slug` to start one."),
    }
}
