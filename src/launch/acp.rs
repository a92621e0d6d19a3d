//! `slug acp`: starts the front end for editors, and puts an agent together for each session.
//!
//! A folder counts as trusted only if the user has said so before, in slug itself: nobody can be asked
//! here. What the editor passes on, MCP servers and folders, is the user's own.

use std::io::{IsTerminal, stdin, stdout};
use std::sync::Arc;

use anyhow::bail;
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::acp::{AcpAgent, AcpHost, AcpOpenError, AcpOpening, AcpStreams, serve};
use crate::agent::{self, Interactivity};
use crate::cli::{Cli, CliExitStatus};
use crate::config::{ConfigError, ConfigOrigin, ConfigValue, ResolvedConfig};
use crate::domain::{MessageImage, ModelName};
use crate::mcp::{McpPrompt, McpServerState, McpServers};
use crate::permissions::store::ProjectSettingsTrust;
use crate::platform::files::DiskFiles;
use crate::platform::redact::Redactor;
use crate::platform::signals::{SignalStream, raise_again};
use crate::platform::{logging, supervisor, terminal};
use crate::session::SessionStore;
use crate::trust;

use super::build::{self, RunParticipants, RunParts};
use super::run_context::RunContext;
use super::screen::ScreenStartup;
use super::script_run::SERVERS_LIMIT;
use super::startup::{StartupModel, StartupOutcome, StartupQuestions, report_config_errors};
use super::{maintenance, no_model, print};

/// What the origin of a server that the editor passes on is called.
const EDITOR_SERVERS: &str = "mcpServers of the editor";

pub(super) async fn run(cli: &Cli, run_context: &RunContext) -> anyhow::Result<CliExitStatus> {
    let redactor = Redactor::default();
    let filter = std::env::var("RUST_LOG").ok();
    let log = logging::start(&run_context.home.logs(), filter.as_deref(), redactor.clone());
    if let Err(error) = &log {
        print::complain(&error.to_string());
    }
    if stdin().is_terminal() {
        print::complain(BY_HAND);
    }
    let mut signals = SignalStream::listen()?;
    let store = build::store(run_context);
    maintenance::start(store.clone());
    let host = EditorAgents { cli: cli.clone(), run_context: run_context.clone(), redactor, store };
    let program = supervisor::program()?;
    let streams = AcpStreams::start(stdin(), stdout());
    let shutdown = CancellationToken::new();
    // A name that another program can start.
    let path = std::env::current_exe().ok().and_then(|path| path.to_str().map(str::to_owned));
    let served = serve(Arc::new(host), streams, path, shutdown.clone());
    tokio::pin!(served);
    let signal = loop {
        tokio::select! {
            () = &mut served => break None,
            signal = signals.next() => {
                if signal.is_ending() {
                    shutdown.cancel();
                    served.as_mut().await;
                    break Some(signal);
                }
            }
        }
    };
    drop(log);
    if let Some(signal) = signal {
        raise_again(signal, &program);
    }
    Ok(CliExitStatus::Answered)
}

/// `slug acp --setup`: the question about the model, on the terminal that the editor has opened.
pub(super) async fn set_up(cli: &Cli, run_context: &RunContext) -> anyhow::Result<CliExitStatus> {
    if !terminal::is_capable() {
        bail!("Choosing a model needs a terminal. Run `slug` in one, or write config.toml.");
    }
    let config = match run_context.config(cli, ProjectSettingsTrust::Untrusted) {
        Ok(config) => config,
        Err(errors) => return Ok(report_config_errors(&errors)),
    };
    let mut questions = ScreenStartup::open(run_context, &config)?;
    let answer = questions.model(cli, run_context, &config).await?;
    drop(questions);
    match answer {
        StartupOutcome::Answer(StartupModel::Configured) => Ok(CliExitStatus::Answered),
        StartupOutcome::Answer(StartupModel::Demo) | StartupOutcome::Quit => {
            bail!("No model was chosen.")
        }
        StartupOutcome::Signal(signal) => raise_again(signal, &supervisor::program()?),
    }
}

const BY_HAND: &str = "an editor starts this, and talks with it over standard input and output. Run `slug` \
    to chat here; ctrl+d ends this.";

/// The agents of an editor's sessions.
struct EditorAgents {
    cli: Cli,
    run_context: RunContext,
    redactor: Redactor,
    store: SessionStore,
}

impl EditorAgents {
    fn config(
        &self,
        run_context: &RunContext,
        project: ProjectSettingsTrust,
    ) -> Result<ResolvedConfig, AcpOpenError> {
        run_context.config(&self.cli, project).map_err(|errors| {
            let errors = errors.iter().map(ConfigError::to_string).collect::<Vec<_>>();
            AcpOpenError::Other(errors.join(" "))
        })
    }

    async fn check(
        &self,
        run_context: &RunContext,
        config: &ResolvedConfig,
    ) -> Result<(), AcpOpenError> {
        if self.cli.demo.is_some() || !config.nothing_configured() {
            return Ok(());
        }
        let checked = no_model::check(run_context, config).await;
        checked.map_err(|error| AcpOpenError::NoModel(error.to_string()))
    }
}

#[async_trait]
impl AcpHost for EditorAgents {
    async fn open(&self, opening: AcpOpening) -> Result<AcpAgent, AcpOpenError> {
        let other = |error: anyhow::Error| AcpOpenError::Other(format!("{error:#}"));
        let moved = self.run_context.opened_in(&opening.cwd, &opening.added);
        let run_context = &moved.map_err(|error| AcpOpenError::Request(format!("{error:#}")))?;
        let project = run_context.project(&self.cli).map_err(other)?;
        let mut config = self.config(run_context, project)?;
        self.check(run_context, &config).await?;
        config.mcp.extend(opening.servers.into_iter().map(|(name, value)| {
            (name, ConfigValue { value, origin: ConfigOrigin::Flag(EDITOR_SERVERS) })
        }));
        let script = self.cli.demo_choice();
        let debug = build::debug_log(&self.cli, run_context, &self.redactor).map_err(other)?;
        let services =
            build::services(run_context, &config, script.as_ref(), &self.redactor, &debug);
        let (providers, notices) = services.map_err(other)?;
        let participants = RunParticipants {
            providers: providers.clone(),
            interactivity: Interactivity::Interactive,
            last_models: script.is_none().then(|| run_context.home.last_models()),
            debug,
            notices,
        };
        let parts = build::parts(run_context, &config, project, participants, &self.redactor);
        let RunParts { mut setup, processes, servers, .. } = parts.map_err(other)?;
        setup.notices.extend(run_context.too_wide_notice(project).map_err(other)?);
        if project == ProjectSettingsTrust::Untrusted
            && !trust::inventory(&run_context.cwd, run_context.user_home.as_deref()).is_empty()
        {
            setup.notices.push(UNTRUSTED.to_owned());
        }
        if let Some(files) = opening.files {
            setup.files = Arc::new(files.over(Arc::new(DiskFiles)));
        }
        let current = setup.providers.current();
        let model =
            setup.model.as_ref().map(|it| ModelName::new(current.name.as_str(), it.as_str()));
        let effort = setup.effort.or(current.effort);
        let (registry, place) = (setup.registry.clone(), setup.place.clone());
        let (mode, has_sandbox) = (setup.mode, setup.escalation.is_some());
        servers.start();
        let (handle, events) = agent::spawn(setup, opening.start);
        let (of_servers, starting) = (servers.clone(), servers.clone());
        Ok(AcpAgent {
            handle,
            events,
            registry,
            place,
            providers,
            mode,
            has_sandbox,
            model,
            effort,
            prompts: Arc::new(move || prompts(&of_servers)),
            settle: Arc::new(move || {
                let servers = starting.clone();
                Box::pin(async move { servers.settle(SERVERS_LIMIT).await })
            }),
            end: Box::new(move || {
                Box::pin(async move {
                    processes.end_all().await;
                    drop(servers);
                })
            }),
        })
    }

    async fn check_model(&self) -> Result<(), AcpOpenError> {
        let config = self.config(&self.run_context, ProjectSettingsTrust::Untrusted)?;
        self.check(&self.run_context, &config).await
    }

    fn store(&self) -> &SessionStore {
        &self.store
    }

    fn keep_image(&self, name: &str, bytes: Vec<u8>) -> Result<MessageImage, String> {
        build::keep_image(&self.store, name, bytes)
    }
}

const UNTRUSTED: &str = "This folder is not trusted: its settings, hooks and instruction files are \
    not used. To trust it, run `slug` in it once and answer the question.";

/// The prompts of the servers that are there now, as slash commands.
fn prompts(servers: &McpServers) -> Vec<(String, String)> {
    let ready = servers.status().into_iter().filter(|it| it.state == McpServerState::Ready);
    let prompts = ready.flat_map(|server| {
        let of = |it: &McpPrompt| (it.command(&server.name), it.description.clone());
        server.offers.prompts.iter().map(of).collect::<Vec<_>>()
    });
    prompts.collect()
}
