//! From the command line to a running slug: the one room that knows all the others.
//!
//! Nothing is decided here that a room could decide; this is where what they need is put together
//! and handed over.

mod boundary;
mod build;
mod candidates;
mod first_model;
mod ground;
mod hooks;
mod linear;
mod once;
mod print;
mod questions;
mod screen;
mod servers;
mod services;
mod subcommands;
mod themes;
mod trusting;
mod upkeep;
mod workspace;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use crate::cli::{self, Cli, Exit};
use crate::platform::{child, terminal};

use boundary::NoSandbox;
use ground::Ground;

/// Runs slug as its arguments say.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if arguments.get(1).is_some_and(|first| first == child::COMMAND) {
        return child::main(arguments.into_iter().skip(2));
    }
    terminal::tame_panics();
    let cli = match cli::parse(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Nothing is left to tell it to when standard error is closed.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage.code()));
        }
    };
    match run(&cli) {
        Ok(exit) => exit.into(),
        Err(error) => {
            print::complain(&format!("{error:#}"));
            if error.is::<NoSandbox>() { Exit::NoSandbox } else { Exit::Failed }.into()
        }
    }
}

fn run(cli: &Cli) -> anyhow::Result<Exit> {
    if cli.reset_tty {
        terminal::reset(&mut std::io::stdout())?;
        return Ok(Exit::Answered);
    }
    match &cli.command {
        Some(cli::Command::Completions { shell }) => {
            cli::completions(*shell, &mut std::io::stdout())?;
            return Ok(Exit::Answered);
        }
        Some(cli::Command::Man) => {
            cli::man(&mut std::io::stdout())?;
            return Ok(Exit::Answered);
        }
        Some(
            cli::Command::Config { .. }
            | cli::Command::Keys { .. }
            | cli::Command::Models { .. }
            | cli::Command::Tools(_)
            | cli::Command::Sessions(_)
            | cli::Command::Permissions(_)
            | cli::Command::Prompt { .. }
            | cli::Command::Doctor { .. },
        )
        | None => {}
    }
    let ground = Ground::find(cli)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result = runtime.block_on(async {
        match (&cli.command, &cli.prompt) {
            (Some(command), _) => subcommands::run(cli, &ground, command).await,
            (None, Some(prompt)) => once::run(cli, &ground, prompt.as_deref()).await,
            (None, None) if linear::is_wanted(cli) => linear::run(cli, &ground).await,
            (None, None) => screen::run(cli, &ground).await,
        }
    });
    // What blocks on a stalled disk must not hold up the end.
    runtime.shutdown_background();
    let exit = result?;
    std::io::stdout().flush()?;
    Ok(exit)
}
