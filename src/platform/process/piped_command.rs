//! Runs a command line with a text on its standard input and its two outputs apart; hooks and
//! formatters use it.
//!
//! The command runs below a supervisor like every script, so it has no terminal and dies with slug.
//! A script may leave processes running; here they are ended with the command.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::tools::{DetachPolicy, ExitCause, ProcessError, ScriptExit};

use super::super::supervisor::CommandInput;
use super::{ChildOutcome, ChildProcess, DRAIN, PipeHolder, ProcessHost, output_pipe};

/// The most bytes that are kept of standard error, and usually of standard output; the rest is read
/// and dropped.
pub const PIPED_OUTPUT_LIMIT: usize = 64 * 1024;

/// A command line and its surroundings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipedCommand {
    /// Text for `sh -c`.
    pub line: String,
    pub cwd: PathBuf,
    pub timeout: Duration,
    /// Text for the standard input.
    pub input: String,
    /// The most bytes that are kept of standard output.
    pub output_limit: usize,
    /// Variables in addition to those that every command gets.
    pub variables: Vec<(&'static str, OsString)>,
}

/// The result of a piped command.
#[derive(Debug)]
pub struct PipedOutput {
    pub exit: ScriptExit,
    /// At most as much as was to be kept; invalid UTF-8 is replaced.
    pub stdout: String,
    /// At most 64 KB, and a note about the hosts that the sandbox refused.
    pub stderr: String,
}

impl PipedOutput {
    /// The exit status; `None` when a signal, the time limit or a cancel ended the command.
    pub fn code(&self) -> Option<i32> {
        match self.exit.cause {
            ExitCause::Code(code) => Some(code),
            ExitCause::Signal(_) | ExitCause::TimedOut | ExitCause::Cancelled => None,
        }
    }
}

impl ProcessHost {
    /// Runs a command line to its end, and ends what it has left running.
    ///
    /// # Errors
    ///
    /// When the command or its sandbox cannot be started, or its supervisor dies. A command that
    /// fails, takes too long or is cancelled is no error; see [`PipedOutput::exit`].
    pub async fn run_piped(
        &self,
        piped: PipedCommand,
        cancel: &CancellationToken,
    ) -> Result<PipedOutput, ProcessError> {
        let began = Instant::now();
        let cwd = piped.cwd.clone();
        let failed = |source| ProcessError { cwd: cwd.clone(), source };
        let (deadline, output_limit) = (began + piped.timeout, piped.output_limit);
        let (mut running, mut errors) = self.begin(piped).await.map_err(failed)?;

        let (mut output, mut complaint) = (Vec::new(), Vec::new());
        let mut take = |bytes: &[u8]| keep(&mut output, bytes, output_limit);
        let mut reading = Box::pin(read_all(&mut errors, &mut complaint));
        let mut all_read = false;
        let over = {
            let mut waiting = Box::pin(async {
                let over =
                    running.until_over(deadline, &DetachPolicy::never(), &mut take, cancel).await;
                if let ChildOutcome::Exited(_) = over {
                    running.drain(Instant::now() + DRAIN, &mut take).await;
                }
                over
            });
            loop {
                tokio::select! {
                    over = &mut waiting => break over,
                    () = &mut reading, if !all_read => all_read = true,
                }
            }
        };
        if !all_read && !matches!(over, ChildOutcome::Cancelled) {
            // Another process may hold the pipe for ever.
            let _ = timeout(DRAIN, &mut reading).await;
        }
        drop(reading);
        running.end().await;
        let (refused, denied) = (std::mem::take(&mut running.refused), running.denied);
        self.leave_behind(running, &self.end_all, None);
        let cause = match over {
            ChildOutcome::Exited(cause) => cause,
            ChildOutcome::Cancelled => ExitCause::Cancelled,
            ChildOutcome::TimedOut(PipeHolder::Yes | PipeHolder::No) => ExitCause::TimedOut,
            ChildOutcome::NotConfined(why) => return Err(failed(io::Error::other(why))),
            ChildOutcome::NotStarted(number) => {
                return Err(failed(io::Error::from_raw_os_error(number)));
            }
            // Nobody has asked for that.
            ChildOutcome::Detached => return Err(failed(io::Error::other("it went on alone"))),
            ChildOutcome::Lost => {
                return Err(failed(io::Error::other("its supervisor was killed")));
            }
        };
        let (elapsed, left_running) = (began.elapsed(), false);
        // What a hook makes the next command tells of.
        let made = Vec::new();
        let exit = ScriptExit { cause, elapsed, left_running, refused, denied, made };
        let mut complaint = text(&complaint);
        if let Some(note) = exit.refused_note() {
            complaint.push_str(&format!("{note}\n"));
        }
        Ok(PipedOutput { exit, stdout: text(&output), stderr: complaint })
    }

    async fn begin(&self, piped: PipedCommand) -> io::Result<(ChildProcess, pipe::Receiver)> {
        let (output, write_end) = output_pipe()?;
        let (errors, write_errors) = io::pipe()?;
        let errors = pipe::Receiver::from_owned_fd(OwnedFd::from(errors))?;
        let mut command = self.supervisor(&piped.cwd, None, None)?;
        command.envs(piped.variables).stdout(write_end).stderr(write_errors);
        // Not the sh of PATH, which may contain folders of the workspace.
        let script = format!("exec /bin/sh -c '{}'", piped.line.replace('\'', r"'\''"));
        let input = CommandInput::Text(piped.input);
        Ok((self.start_child(command, output, script, input, (None, None)).await?, errors))
    }
}

fn keep(kept: &mut Vec<u8>, bytes: &[u8], limit: usize) {
    kept.extend(bytes.iter().take(limit.saturating_sub(kept.len())));
}

/// Reads until no process holds the pipe. A drop keeps what was read so far.
async fn read_all(pipe: &mut pipe::Receiver, kept: &mut Vec<u8>) {
    let mut buffer = vec![0; 8 * 1024];
    while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
        keep(kept, buffer.get(..count).unwrap_or_default(), PIPED_OUTPUT_LIMIT);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
