//! Runs a command that stands in the person's own configuration: in a process group of its own,
//! without a terminal, within a time, and without slug's keys in its environment.
//!
//! What it starts ends with it. It must be the person's own: no project gets here.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use super::environment::{self, ChildEnvironment};

/// As much of its output is read.
const MOST: u64 = 16 * 1024;

/// What is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserCommandLine {
    /// A line for `sh -c`.
    Shell(String),
    /// A program with its arguments.
    Program(PathBuf, Vec<String>),
}

/// How it is run.
#[derive(Debug, Clone, Copy)]
pub struct UserCommandRun<'a> {
    /// What.
    pub line: &'a UserCommandLine,
    /// Where.
    pub folder: &'a Path,
    /// On its standard input.
    pub input: &'a str,
    /// How long it may take.
    pub limit: Duration,
    /// What it gets of slug's environment.
    pub variables: UserCommandVariables<'a>,
}

/// What of slug's environment a command gets.
#[derive(Debug, Clone, Copy)]
pub enum UserCommandVariables<'a> {
    /// All but slug's own keys: those that slug knows by name, and these.
    AllButKeys(&'a [String]),
    /// What the model's own commands get.
    OfCommands(&'a ChildEnvironment),
}

/// What it printed.
#[derive(Debug)]
pub struct UserCommandOutput {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// Why there is no output.
#[derive(Debug, thiserror::Error)]
pub enum UserCommandError {
    /// It could not be started or talked to.
    #[error("it cannot be run: {0}")]
    Run(#[from] io::Error),
    /// It took too long.
    #[error("it took longer than {} seconds and was ended", .0.as_secs())]
    TooLong(Duration),
}

/// Runs it to its end.
pub async fn run(run: UserCommandRun<'_>) -> Result<UserCommandOutput, UserCommandError> {
    let mut command = match run.line {
        UserCommandLine::Shell(line) => {
            let mut command = Command::new("/bin/sh");
            command.arg("-c").arg(line);
            command
        }
        UserCommandLine::Program(program, arguments) => {
            let mut command = Command::new(program);
            command.args(arguments);
            command
        }
    };
    match run.variables {
        UserCommandVariables::AllButKeys(keys) => {
            let names = std::env::vars_os().map(|(name, _)| name);
            for name in environment::keys_among(names, keys) {
                command.env_remove(name);
            }
        }
        UserCommandVariables::OfCommands(environment) => {
            command.env_clear().envs(environment.variables());
        }
    }
    // Where a program that asks for a passphrase would draw itself over the screen.
    command.env_remove("GPG_TTY");
    let mut child = command
        .current_dir(run.folder)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let group = ProcessGroupGuard(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
    let ran = tokio::time::timeout(run.limit, talk(&mut child, run.input)).await;
    // What it has left behind goes, too.
    drop(group);
    Ok(ran.map_err(|_| UserCommandError::TooLong(run.limit))??)
}

/// Ends a process group when it is dropped, however that comes about.
struct ProcessGroupGuard(Option<Pid>);

impl Drop for ProcessGroupGuard {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may be gone already.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

async fn talk(child: &mut Child, input: &str) -> io::Result<UserCommandOutput> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let tell = async move {
        if let Some(mut stdin) = stdin {
            // A command that does not care to read is none that fails.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
    };
    let (_, output, complaint) = tokio::join!(tell, read(stdout), read(stderr));
    let status = child.wait().await?;
    Ok(UserCommandOutput { status, stdout: output?, stderr: complaint? })
}

async fn read(from: Option<impl AsyncRead + Unpin>) -> io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(MOST).read_to_end(&mut bytes).await?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
