//! The subcommands. Each prints what another module knows, as text or as JSON.

mod eval;
mod export_import;
mod gc;
mod keys;
mod language_servers;
mod mcp;
mod migrate;
mod model_files;
mod models;
mod permissions;
mod sessions;
mod tools;
mod trials;

use std::path::Path;

use crate::catalogue::CatalogueCache;
use crate::cli::{Cli, CliCommand, CliExitStatus, ModelsCommand};
use crate::config::{self, ConfigError};
use crate::context::{FIXED_PROMPT, GitExecutable, PromptReport};
use crate::disk;
use crate::doctor::{self, BinaryPlace, DoctorInput, DoctorStatus, DoctorTerminal};
use crate::permissions::store;
use crate::platform::redact::Redactor;
use crate::providers::Provider;

use super::run_context::RunContext;
use super::sandbox_setup;
use super::servers::ServerConnector;
use super::{acp, build, local, lsp, print, replay, stream_session};

pub(super) use export_import::write_file;

pub(super) async fn run(
    cli: &Cli,
    run_context: &RunContext,
    command: &CliCommand,
) -> anyhow::Result<CliExitStatus> {
    match command {
        CliCommand::Config { format } => {
            let mut config = match run_context.config(cli, run_context.project(cli)?) {
                Ok(config) => config,
                Err(errors) => return Ok(report_config_errors(&errors)),
            };
            config.warnings.extend(run_context.keys(&config).1);
            if format.json {
                config::write_json(&config, &mut print::out())?;
            } else {
                config::write_text(&config, &mut print::out())?;
            }
            Ok(CliExitStatus::Answered)
        }
        CliCommand::Keys { format } => match run_context.config(cli, run_context.project(cli)?) {
            Ok(config) => keys::run(run_context, &config, *format),
            Err(errors) => Ok(report_config_errors(&errors)),
        },
        CliCommand::Models { command: Some(ModelsCommand::Refresh), .. } => {
            models::refresh(cli, run_context).await
        }
        CliCommand::Models { command: Some(ModelsCommand::Local(format)), .. } => {
            model_files::list(cli, run_context, format.json)
        }
        CliCommand::Models { command: Some(ModelsCommand::List(list)), .. }
        | CliCommand::Models { command: None, list } => models::list(cli, run_context, list).await,
        CliCommand::Tools(command) => tools::run(cli, run_context, command).await,
        CliCommand::Mcp(command) => mcp::run(cli, run_context, command).await,
        CliCommand::Sessions(command) => sessions::run(run_context, command),
        CliCommand::Permissions(command) => permissions::run(cli, run_context, command),
        CliCommand::Prompt { format } => {
            let tools = build::tool_registry()?.specs();
            let report = PromptReport { prompt: FIXED_PROMPT, tools: &tools };
            if format.json {
                report.write_json(&mut print::out())?;
            } else {
                report.write_text(&mut print::out())?;
            }
            Ok(CliExitStatus::Answered)
        }
        CliCommand::Acp { setup: false } => acp::run(cli, run_context).await,
        CliCommand::Serve { socket } => stream_session::serve(cli, run_context, socket).await,
        CliCommand::Acp { setup: true } => acp::set_up(cli, run_context).await,
        CliCommand::Replay(what) => replay::run(cli, run_context, what).await,
        CliCommand::Eval(arguments) => eval::run(cli, run_context, arguments).await,
        CliCommand::Migrate(arguments) => migrate::run(cli, run_context, arguments),
        CliCommand::Doctor { format } => examine(cli, run_context, format.json).await,
        // These two need no `RunContext` and are answered before there is one.
        CliCommand::Completions { .. } | CliCommand::Man => Ok(CliExitStatus::Answered),
    }
}

/// Prints the errors of the configuration, and returns the exit status for them.
fn report_config_errors(errors: &[ConfigError]) -> CliExitStatus {
    print::config_errors(errors);
    CliExitStatus::Usage
}

async fn examine(cli: &Cli, run_context: &RunContext, json: bool) -> anyhow::Result<CliExitStatus> {
    let project = run_context.project(cli)?;
    let mut config = run_context.config(cli, project);
    if let Ok(config) = &mut config {
        config.warnings.extend(run_context.keys(config).1);
    }
    let redactor = Redactor::default();
    let local = config.as_ref().ok().and_then(|config| local::found(run_context, config));
    let server = match &config {
        // It is not started for this.
        Ok(_) if local.is_some() => None,
        Ok(config) => {
            ServerConnector::new(run_context, config, &redactor).with_key(&config.server).await
        }
        Err(_) => None,
    };
    let (provider, key) = server.unzip();
    let changeable = match &config {
        Ok(config) => sandbox_setup::changeable(run_context, config),
        Err(_) => disk::project_top(&run_context.cwd, run_context.user_home.as_deref()),
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let git = GitExecutable::find(&path, std::slice::from_ref(&changeable));
    let network = config.as_ref().map(sandbox_setup::network).unwrap_or_default();
    let (mcp_servers, mcp_problems) = match &config {
        Ok(config) => mcp::probe(run_context, config, project).await?,
        Err(_) => (Vec::new(), Vec::new()),
    };
    let servers = match &config {
        Ok(config) => language_servers::survey(run_context, config, project).await?,
        Err(_) => Vec::new(),
    };
    let binary = std::env::current_exe().and_then(|it| it.canonicalize()).ok();
    let findings = doctor::examine(&DoctorInput {
        config: config.as_ref().map_err(Vec::as_slice),
        provider: provider.as_deref().map(|provider| provider as &dyn Provider),
        local,
        key: key.unwrap_or(Ok(())),
        catalogue: &CatalogueCache::new(run_context.home.catalogue()),
        binary: binary.as_deref().map(|binary| BinaryPlace { binary, root: Path::new("/") }),
        home: run_context.home.root(),
        rules: &store::load(&run_context.workspace(project), project),
        cwd: &run_context.cwd,
        user_home: run_context.user_home.as_deref(),
        git: git.as_ref(),
        terminal: &DoctorTerminal::read(|name| std::env::var_os(name)),
        sandboxes: &trials::run(run_context, &changeable, &network).await,
        network: &network,
        mcp_servers: &mcp_servers,
        mcp_problems: &mcp_problems,
        language_servers: &servers,
        is_trusted: lsp::may_start(run_context, project),
        extent: trials::extent(run_context),
    })
    .await;
    if json {
        doctor::write_json(&findings, &mut print::out())?;
    } else {
        doctor::write_text(&findings, &mut print::out())?;
    }
    Ok(match doctor::worst(&findings) {
        DoctorStatus::Ok | DoctorStatus::Warn => CliExitStatus::Answered,
        DoctorStatus::Fail => CliExitStatus::Failed,
    })
}
