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
use std::io::{self, Write};
use std::process::ExitCode;

use secrecy::ExposeSecret;

use crate::cli::{self, Cli, Exit};
use crate::permissions::store::ProjectFiles;
use crate::platform::{child, clean_start, environment, terminal};

use boundary::NoSandbox;
use ground::Ground;

/// Runs slug as its arguments say.
pub fn main() -> ExitCode {
    let closed = clean_start::close_process();
    if std::env::args_os().nth(1).is_some_and(|first| first == child::COMMAND) {
        return child::main(std::env::args_os().skip(2));
    }
    let arguments = clean_start::arguments();
    let cleaned =
        closed.and_then(|()| clean_start::take_out(&arguments, environment::KEY_VARIABLES, None));
    tell_unless_clean(cleaned);
    terminal::tame_panics();
    let cli = match cli::parse(arguments.clone()) {
        Ok(cli) => cli,
        Err(error) => {
            // Nothing is left to tell it to when standard error is closed.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage.code()));
        }
    };
    match run(&cli, &arguments) {
        Ok(exit) => exit.into(),
        Err(error) => {
            print::complain(&format!("{error:#}"));
            if error.is::<NoSandbox>() { Exit::NoSandbox } else { Exit::Failed }.into()
        }
    }
}

fn run(cli: &Cli, arguments: &[OsString]) -> anyhow::Result<Exit> {
    if cli.reset_tty {
        terminal::reset(&mut io::stdout())?;
        return Ok(Exit::Answered);
    }
    match &cli.command {
        Some(cli::Command::Completions { shell }) => {
            cli::completions(*shell, &mut io::stdout())?;
            return Ok(Exit::Answered);
        }
        Some(cli::Command::Man) => {
            cli::man(&mut io::stdout())?;
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
    tell_unless_clean(take_out_keys(cli, &ground, arguments));
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
    io::stdout().flush()?;
    Ok(exit)
}

/// Takes out what only the configuration and the flags know to be a key.
fn take_out_keys(cli: &Cli, ground: &Ground, arguments: &[OsString]) -> io::Result<()> {
    // What is wrong with it is told by whoever needs it.
    let config = ground.config(cli, ProjectFiles::Untrusted).ok();
    let named = config.iter().flat_map(|config| &config.key_variables).map(String::as_str);
    let key = cli.api_key.as_ref().map(ExposeSecret::expose_secret);
    clean_start::take_out(arguments, named, key)
}

fn tell_unless_clean(cleaned: io::Result<()>) {
    if let Err(error) = cleaned {
        print::complain(&format!(
            "slug's key can be read by other programs of yours, in /proc: {error}. Keep it in the \
             keyring, or mount /proc."
        ));
    }
}
