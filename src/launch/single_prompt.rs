//! `slug -p`: one question, its answer, and an exit status for a script.

use std::io::{IsTerminal, Read};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use async_trait::async_trait;

use crate::agent::{self, AgentHandle, InitialSession};
use crate::cli::{Cli, CliExitStatus};
use crate::headless::{self, BackgroundProcesses, HeadlessRun, RunFacts};
use crate::permissions::store::{self, ProjectSettingsTrust};
use crate::platform::process::ProcessHost;
use crate::platform::redact::Redactor;
use crate::platform::signals::{HandledSignal, SignalStream, raise_again};
use crate::platform::{logging, supervisor};
use crate::trust;

use super::build::{self, RunParticipants, RunParts};
use super::no_model;
use super::print;
use super::run_context::RunContext;
use super::startup::{ScratchFolder, report_config_errors};

/// How long a run waits for MCP servers before it begins without those that are still starting.
pub(super) const SERVERS_LIMIT: Duration = Duration::from_secs(5);

/// The most bytes of standard input that are read as context.
const INPUT_LIMIT: u64 = 4 << 20;
/// How long a stopped run may take to save its session.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

pub(super) async fn run(
    cli: &Cli,
    run_context: &RunContext,
    prompt: Option<&str>,
) -> anyhow::Result<CliExitStatus> {
    let scratch = ScratchFolder::for_demo(cli)?;
    let moved = scratch.as_ref().map(|scratch| scratch.moved(run_context));
    let run_context = moved.as_ref().unwrap_or(run_context);
    let project = run_context.project(cli)?;
    let config = match run_context.config(cli, project) {
        Ok(config) => config,
        Err(errors) => return Ok(report_config_errors(&errors)),
    };
    let rules = store::load(&run_context.workspace(project), project);
    if !rules.faults().is_empty() {
        rules.faults().iter().for_each(|fault| print::complain(&fault.to_string()));
        print::complain(
            "slug cannot tell what these settings forbid, and nobody is here to ask, so nothing \
             ran",
        );
        return Ok(CliExitStatus::Usage);
    }
    if cli.demo.is_none() && config.nothing_configured() {
        no_model::check(run_context, &config).await?;
    }
    let text = prompt_text(prompt)?;
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
    let participants = RunParticipants::headless(cli, run_context, &config, &redactor)?;
    let RunParts { mut setup, processes, servers, .. } =
        build::parts(run_context, &config, project, participants, &redactor)?;
    setup.notices.extend(log.as_ref().err().map(ToString::to_string));
    let start = start(cli, run_context)?;
    let facts = RunFacts {
        version: env!("CARGO_PKG_VERSION"),
        cwd: run_context.cwd.clone(),
        tools: setup.registry.specs().iter().map(|spec| spec.name.clone()).collect(),
    };
    let store = setup.store.clone();
    let mut signals = SignalStream::listen()?;
    servers.start();
    servers.settle(SERVERS_LIMIT).await;
    for status in servers.status() {
        if let Some(why) = status.state.failure() {
            print::complain(&format!("MCP server {}: {why}", status.name));
        }
    }
    let (agent, mut events) = agent::spawn(setup, start);

    let mut streams =
        (print::PrintWriter::new(std::io::stdout()), print::PrintWriter::new(std::io::stderr()));
    let mut signal: Option<HandledSignal> = None;
    let report = {
        let streams: (&mut dyn std::io::Write, &mut dyn std::io::Write) =
            (&mut streams.0, &mut streams.1);
        let given = HeadlessRun {
            prompt: text,
            format: cli.output_format,
            facts,
            time_limit: cli.timeout,
            store,
            background: &LeftProcesses { processes: processes.clone(), redactor },
        };
        let answering = headless::run(given, &agent, &mut events, streams);
        tokio::pin!(answering);
        loop {
            tokio::select! {
                report = &mut answering => break Some(report),
                received = signals.next(), if signal.is_none() => {
                    if received.is_ending() {
                        signal = Some(received);
                        agent.stop.stop_all();
                    }
                }
                () = tokio::time::sleep(SHUTDOWN_TIMEOUT), if signal.is_some() => break None,
            }
        }
    };
    let AgentHandle { commands, task, .. } = agent;
    drop((commands, events));
    // Saves the session and ends the child processes before slug ends.
    let saved = tokio::time::timeout(SHUTDOWN_TIMEOUT, task).await;
    processes.end_all().await;
    if let Some(signal) = signal {
        drop((log, scratch));
        raise_again(signal, &supervisor::program()?);
    }
    if saved.is_err() {
        bail!("The session could not be saved in time.");
    }
    match report {
        Some(report) => Ok(report?.exit()),
        None => bail!("Stopped."),
    }
}

/// What commands have left running, without slug's keys in it.
struct LeftProcesses {
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

/// The text of `-p`, followed by standard input unless that is a terminal.
fn prompt_text(prompt: Option<&str>) -> anyhow::Result<String> {
    let stdin = std::io::stdin();
    let mut input = String::new();
    if !stdin.is_terminal() {
        let mut bytes = Vec::new();
        stdin.lock().take(INPUT_LIMIT + 1).read_to_end(&mut bytes).context("Standard input")?;
        if bytes.len() as u64 > INPUT_LIMIT {
            bail!("Standard input is larger than 4 MB. Write it to a file and name that instead.");
        }
        input = String::from_utf8_lossy(&bytes).into_owned();
    }
    match (prompt, input.trim()) {
        (None, "") => bail!("No prompt: give text after -p, or on standard input."),
        (None, input) => Ok(input.to_owned()),
        (Some(prompt), "") => Ok(prompt.to_owned()),
        (Some(prompt), input) => Ok(format!("{prompt}\n\n<stdin>\n{input}\n</stdin>")),
    }
}
