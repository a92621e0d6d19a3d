//! The subcommands: each prints what a room knows, as text or as JSON.

mod gc;
mod keys;
mod models;
mod moving;
mod permissions;
mod sessions;
mod tools;
mod trials;

use crate::catalogue::CatalogueCache;
use crate::cli::{Cli, Command, Exit, ModelsCommand};
use crate::config::{self, ConfigError};
use crate::context::{FIXED_PROMPT, Git, PromptReport};
use crate::doctor::{self, Checkup, State, Terminal};
use crate::platform::redact::Redactor;
use crate::providers::Provider;
use crate::tools::ToolRegistry;

use super::boundary;
use super::ground::Ground;
use super::print;
use super::servers::Servers;

pub(super) async fn run(cli: &Cli, ground: &Ground, command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Config { format } => {
            let mut config = match ground.config(cli, ground.project(cli)?) {
                Ok(config) => config,
                Err(errors) => return Ok(wrong(&errors)),
            };
            config.warnings.extend(ground.keys(&config).1);
            if format.json {
                config::write_json(&config, &mut print::out())?;
            } else {
                config::write_text(&config, &mut print::out())?;
            }
            Ok(Exit::Answered)
        }
        Command::Keys { format } => match ground.config(cli, ground.project(cli)?) {
            Ok(config) => keys::run(ground, &config, *format),
            Err(errors) => Ok(wrong(&errors)),
        },
        Command::Models { command: Some(ModelsCommand::Refresh), .. } => {
            models::refresh(cli, ground).await
        }
        Command::Models { command: Some(ModelsCommand::List(list)), .. }
        | Command::Models { command: None, list } => models::list(cli, ground, list).await,
        Command::Tools(command) => tools::run(cli, ground, command).await,
        Command::Sessions(command) => sessions::run(ground, command),
        Command::Permissions(command) => permissions::run(cli, ground, command),
        Command::Prompt { format } => {
            let tools = ToolRegistry::standard().specs();
            let report = PromptReport { prompt: FIXED_PROMPT, tools: &tools };
            if format.json {
                report.write_json(&mut print::out())?;
            } else {
                report.write_text(&mut print::out())?;
            }
            Ok(Exit::Answered)
        }
        Command::Doctor { format } => examine(cli, ground, format.json).await,
        // These two need no ground and are answered before there is one.
        Command::Completions { .. } | Command::Man => Ok(Exit::Answered),
    }
}

/// Says what is wrong with the configuration.
fn wrong(errors: &[ConfigError]) -> Exit {
    print::config_errors(errors);
    Exit::Usage
}

async fn examine(cli: &Cli, ground: &Ground, json: bool) -> anyhow::Result<Exit> {
    let mut config = ground.config(cli, ground.project(cli)?);
    if let Ok(config) = &mut config {
        config.warnings.extend(ground.keys(config).1);
    }
    let redactor = Redactor::default();
    let server = match &config {
        Ok(config) => Servers::new(ground, config, &redactor).with_key(&config.server).await,
        Err(_) => None,
    };
    let (provider, key) = server.unzip();
    let changeable = match &config {
        Ok(config) => boundary::changeable(ground, config),
        Err(_) => ground.cwd.clone(),
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let git = Git::find(&path, std::slice::from_ref(&changeable));
    let network = config.as_ref().map(boundary::network).unwrap_or_default();
    let findings = doctor::examine(&Checkup {
        config: config.as_ref().map_err(Vec::as_slice),
        provider: provider.as_deref().map(|provider| provider as &dyn Provider),
        key: key.unwrap_or(Ok(())),
        catalogue: &CatalogueCache::new(ground.home.catalogue()),
        home: ground.home.root(),
        cwd: &ground.cwd,
        user_home: ground.user_home.as_deref(),
        git: git.as_ref(),
        terminal: &Terminal::read(|name| std::env::var_os(name)),
        sandboxes: &trials::run(ground, &changeable, &network).await,
        network: &network,
        extent: trials::extent(ground),
    })
    .await;
    if json {
        doctor::write_json(&findings, &mut print::out())?;
    } else {
        doctor::write_text(&findings, &mut print::out())?;
    }
    Ok(match doctor::worst(&findings) {
        State::Ok | State::Warn => Exit::Answered,
        State::Fail => Exit::Failed,
    })
}
