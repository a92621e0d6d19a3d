//! From the command line to a running slug: the one room that knows all the others.
//!
//! Nothing is decided here that a room could decide; this is where what they need is put together
//! and handed over.

mod build;
mod first_model;
mod hook_trust;
mod hooks;
mod linear;
mod maintenance;
mod print;
mod questions;
mod run_context;
mod sandbox_setup;
mod screen;
mod screen_services;
mod server_discovery;
mod servers;
mod single_prompt;
mod subcommands;
mod themes;
mod workspace;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use secrecy::ExposeSecret;

use crate::cli::{self, Cli, CliExitStatus};
use crate::permissions::store::ProjectSettingsTrust;
use crate::platform::process_privacy::{self, StartMemory};
use crate::platform::{child, environment, terminal};

use run_context::RunContext;
use sandbox_setup::SandboxSetupError;

/// Runs slug as its arguments say.
pub fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|first| first == child::COMMAND) {
        // The kernel refuses it to nobody, and nobody is there to be told.
        let _ = process_privacy::close_process();
        return child::main(std::env::args_os().skip(2));
    }
    let memory = StartMemory::open();
    let closed = process_privacy::close_process();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    tell_unless_hidden(closed.and_then(|()| memory.take_out(environment::KEY_VARIABLES, None)));
    terminal::install_panic_hook();
    let cli = match cli::parse(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Nothing is left to tell it to when standard error is closed.
            let _ = error.print();
            return ExitCode::from(
                u8::try_from(error.exit_code()).unwrap_or(CliExitStatus::Usage.code()),
            );
        }
    };
    match run(&cli, &memory) {
        Ok(exit) => exit.into(),
        Err(error) => {
            print::complain(&format!("{error:#}"));
            if error.is::<SandboxSetupError>() {
                CliExitStatus::NoSandbox
            } else {
                CliExitStatus::Failed
            }
            .into()
        }
    }
}

fn run(cli: &Cli, memory: &StartMemory) -> anyhow::Result<CliExitStatus> {
    if cli.reset_tty {
        terminal::reset(&mut io::stdout())?;
        return Ok(CliExitStatus::Answered);
    }
    match &cli.command {
        Some(cli::CliCommand::Completions { shell }) => {
            cli::completions(*shell, &mut io::stdout())?;
            return Ok(CliExitStatus::Answered);
        }
        Some(cli::CliCommand::Man) => {
            cli::man(&mut io::stdout())?;
            return Ok(CliExitStatus::Answered);
        }
        Some(
            cli::CliCommand::Config { .. }
            | cli::CliCommand::Keys { .. }
            | cli::CliCommand::Models { .. }
            | cli::CliCommand::Tools(_)
            | cli::CliCommand::Sessions(_)
            | cli::CliCommand::Permissions(_)
            | cli::CliCommand::Prompt { .. }
            | cli::CliCommand::Doctor { .. },
        )
        | None => {}
    }
    let ground = RunContext::find(cli)?;
    tell_unless_hidden(take_out_keys(cli, &ground, memory));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result = runtime.block_on(async {
        match (&cli.command, &cli.prompt) {
            (Some(command), _) => subcommands::run(cli, &ground, command).await,
            (None, Some(prompt)) => single_prompt::run(cli, &ground, prompt.as_deref()).await,
            (None, None) if linear::is_wanted(cli) => linear::run(cli, &ground).await,
            (None, None) => screen::run(cli, &ground).await,
        }
    });
    // What blocks on a stalled disk must not hold up the end.
    runtime.shutdown_background();
    let exit = result?;
    io::stdout().flush()?;
    Ok(exit)
}

/// Takes out what only the configuration and the flags know to be a key.
fn take_out_keys(cli: &Cli, ground: &RunContext, memory: &StartMemory) -> io::Result<()> {
    // What is wrong with it is told by whoever needs it.
    let config = ground.config(cli, ProjectSettingsTrust::Untrusted).ok();
    let named = config.iter().flat_map(|config| &config.key_variables).map(String::as_str);
    memory.take_out(named, cli.api_key.as_ref().map(ExposeSecret::expose_secret))
}

fn tell_unless_hidden(hidden: io::Result<()>) {
    if let Err(error) = hidden {
        print::complain(&format!(
            "slug's key stays in slug's environment and arguments, where others can see it: \
             {error}. Keep it in the keyring instead."
        ));
    }
}
