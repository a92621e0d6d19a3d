//! Runs a command from the user's own configuration: in a process group of its own, without a
//! terminal, within a time limit, and without slug's keys in its environment.
//!
//! The processes that it starts end with it. Only the user's own configuration may name such a
//! command, never a project's, and no relative entry of PATH finds a project's program for it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use super::environment::{self, ChildEnvironment};
use super::which;

/// The most bytes that are read of each output.
const MOST: u64 = 16 * 1024;

/// The two forms in which a configuration gives a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserCommandLine {
    /// Text for `sh -c`.
    Shell(String),
    Program(PathBuf, Vec<String>),
}

/// A command and its surroundings.
#[derive(Debug, Clone, Copy)]
pub struct UserCommandRun<'a> {
    pub line: &'a UserCommandLine,
    /// The current folder of the command.
    pub folder: &'a Path,
    /// Text for its standard input.
    pub input: &'a str,
    pub limit: Duration,
    pub variables: UserCommandVariables<'a>,
}

/// Which variables of slug's environment a command gets.
#[derive(Debug, Clone, Copy)]
pub enum UserCommandVariables<'a> {
    /// All except slug's own keys: those that slug knows by name, and these names.
    AllButKeys(&'a [String]),
    /// The variables that the model's own commands get.
    OfCommands(&'a ChildEnvironment),
}

/// The result of a user's command.
#[derive(Debug)]
pub struct UserCommandOutput {
    pub status: ExitStatus,
    /// At most 16 KB; invalid UTF-8 is replaced.
    pub stdout: String,
    /// At most 16 KB; invalid UTF-8 is replaced.
    pub stderr: String,
}

/// Why there is no output. The messages complete a sentence for the user.
#[derive(Debug, thiserror::Error)]
pub enum UserCommandError {
    /// The command could not be started, written to or read from.
    #[error("it cannot be run: {0}")]
    Run(#[from] io::Error),
    /// The command took longer than its limit.
    #[error("it took longer than {} seconds and was killed", .0.as_secs())]
    TooLong(Duration),
}

/// Runs the command to its end, and kills what it has left running.
///
/// # Errors
///
/// When it cannot be started or talked to, or takes too long. A command that ends with an error is
/// none; see [`UserCommandOutput::status`].
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
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", which::absolute(&path));
    }
    // With it, a program that asks for a passphrase would draw over the screen.
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
    // Ends what the command has left running.
    drop(group);
    Ok(ran.map_err(|_| UserCommandError::TooLong(run.limit))??)
}

/// Kills a process group when it is dropped, however that comes about.
struct ProcessGroupGuard(Option<Pid>);

impl Drop for ProcessGroupGuard {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // The group may be gone already.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

async fn talk(child: &mut Child, input: &str) -> io::Result<UserCommandOutput> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let tell = async move {
        if let Some(mut stdin) = stdin {
            // A command that does not read its input does not fail for that.
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
