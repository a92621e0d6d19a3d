//! From the command line to a running slug: the only module that uses all the others.
//!
//! It builds what the other modules need and hands it over. Decisions belong into those modules.

mod acp;
mod build;
mod completion_files;
mod connections;
mod first_model;
mod formatters;
mod hook_trust;
mod hooks;
mod linear;
mod live_settings;
mod local;
mod lsp;
mod maintenance;
mod mcp;
mod no_model;
#[cfg(test)]
mod power_places_tests;
mod print;
mod questions;
mod replay;
mod run_context;
mod sandbox_setup;
mod screen;
mod screen_services;
mod script_run;
mod server_discovery;
mod servers;
mod single_prompt;
mod startup;
mod stream_session;
mod subagents;
mod subcommands;
mod themes;
mod web;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use secrecy::ExposeSecret;

use crate::cli::{self, Cli, CliExitStatus};
use crate::permissions::store::ProjectSettingsTrust;
use crate::platform::process_privacy::{self, StartMemory};
use crate::platform::{environment, reader_process, supervisor, terminal};

use run_context::RunContext;
use sandbox_setup::SandboxSetupError;

/// Runs slug with the arguments of the process. Returns the exit status; errors go to standard
/// error.
pub fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|first| first == supervisor::COMMAND) {
        // This does not fail on any supported kernel, and the child has nobody to tell.
        let _ = process_privacy::close_process();
        return supervisor::main(std::env::args_os().skip(2));
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == reader_process::COMMAND) {
        let words: Vec<OsString> = std::env::args_os().skip(2).collect();
        return match words.split_first() {
            Some((program, arguments)) => reader_process::run_program(program, arguments),
            None => crate::web::reader_main(),
        };
    }
    let memory = StartMemory::open();
    let closed = process_privacy::close_process();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    tell_unless_hidden(closed.and_then(|()| memory.take_out(environment::KEY_VARIABLES, None)));
    terminal::install_panic_hook();
    let cli = match cli::parse(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // When standard error is closed, the message cannot be shown anywhere.
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
            | cli::CliCommand::Mcp(_)
            | cli::CliCommand::Sessions(_)
            | cli::CliCommand::Permissions(_)
            | cli::CliCommand::Prompt { .. }
            | cli::CliCommand::Doctor { .. }
            | cli::CliCommand::Migrate(_)
            | cli::CliCommand::Replay(_)
            | cli::CliCommand::Acp { .. }
            | cli::CliCommand::Serve { .. }
            | cli::CliCommand::Eval(_),
        )
        | None => {}
    }
    let run_context = RunContext::find(cli)?;
    tell_unless_hidden(take_out_keys(cli, &run_context, memory));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result = runtime.block_on(async {
        match (&cli.command, &cli.prompt) {
            (Some(command), _) => subcommands::run(cli, &run_context, command).await,
            (None, Some(prompt)) => single_prompt::run(cli, &run_context, prompt.as_deref()).await,
            (None, None) if linear::is_wanted(cli) => linear::run(cli, &run_context).await,
            (None, None) => screen::run(cli, &run_context).await,
        }
    });
    // A thread that blocks on a stalled disk must not delay the end.
    runtime.shutdown_background();
    let exit = result?;
    io::stdout().flush()?;
    Ok(exit)
}

/// Removes from the memory of the process the keys that only configuration and flags name.
fn take_out_keys(cli: &Cli, run_context: &RunContext, memory: &StartMemory) -> io::Result<()> {
    // Errors in the configuration are reported by the code that needs it.
    let config = run_context.config(cli, ProjectSettingsTrust::Untrusted).ok();
    let named = config.iter().flat_map(|config| &config.key_variables).map(String::as_str);
    memory.take_out(named, cli.api_key.as_ref().map(ExposeSecret::expose_secret))
}

fn tell_unless_hidden(hidden: io::Result<()>) {
    if let Err(error) = hidden {
        print::complain(&format!(
            "slug's key stays visible in its environment and arguments: {error}. Keep it in the \
             keyring instead."
        ));
    }
}
