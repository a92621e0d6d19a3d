//! A running command as its host sees it: the socket to its supervisor, and the end of its output.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::domain::{ExitCause, ScanExtent};
use crate::tools::DetachPolicy;

use super::super::supervisor::{GRACE, SupervisorCommand, SupervisorReport};
use super::pseudo_terminal::PseudoTerminal;
use super::starter::SupervisorHandle;
use super::{DRAIN, UNKILLABLE};

/// The pause between reads of [`CHUNK`] from a process that was left running: 3 MB/s at most.
const BEHIND_PAUSE: Duration = Duration::from_millis(20);

/// The most bytes of output that are read at once.
pub(super) const CHUNK: usize = 64 * 1024;

/// How the wait for the direct child ended.
pub(super) enum ChildOutcome {
    Exited(ExitCause),
    Cancelled,
    /// With `PipeHolder::Yes`, KILL did not end it either.
    TimedOut(PipeHolder),
    /// It still runs and goes on as a job.
    Detached,
    NotStarted(i32),
    /// The sandbox could not be set up; the reason.
    NotConfined(String),
    /// The supervisor ended without a report.
    Lost,
}

/// Whether a process still runs and holds the pipe of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PipeHolder {
    Yes,
    No,
}

/// The host's end of what a command prints to.
#[derive(Debug)]
pub(super) enum ChildOutput {
    Pipe(pipe::Receiver),
    Terminal(PseudoTerminal),
}

impl ChildOutput {
    /// Reads what is there: 0 at the end, and on an error. A terminal reports its end as an error.
    async fn read(&mut self, buffer: &mut [u8]) -> usize {
        let count = match self {
            Self::Pipe(pipe) => pipe.read(buffer).await,
            Self::Terminal(terminal) => terminal.read(buffer).await,
        };
        count.unwrap_or(0)
    }
}

/// A running command with its supervisor. The drop closes the socket, which ends both.
#[derive(Debug)]
pub(super) struct ChildProcess {
    pub(super) control: UnixStream,
    /// `None` when no process holds the other end any more.
    pub(super) output: Option<ChildOutput>,
    received: Vec<u8>,
    /// Hosts that the sandbox has kept the command from reaching.
    pub(super) refused: Vec<String>,
    /// How far the scan for files that the sandbox denies got.
    pub(super) denied: ScanExtent,
    _supervisor: SupervisorHandle,
}

impl ChildProcess {
    pub(super) fn new(
        control: UnixStream,
        output: ChildOutput,
        denied: ScanExtent,
        supervisor: SupervisorHandle,
    ) -> Self {
        let (received, refused) = (Vec::new(), Vec::new());
        let output = Some(output);
        Self { control, output, received, refused, denied, _supervisor: supervisor }
    }

    pub(super) async fn until_over(
        &mut self,
        deadline: Instant,
        detach: &DetachPolicy,
        output: &mut (dyn FnMut(&[u8]) + Send),
        cancel: &CancellationToken,
    ) -> ChildOutcome {
        let mut buffer = vec![0; CHUNK];
        let mut timed_out = false;
        let mut limit = deadline;
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return ChildOutcome::Cancelled,
                () = detach.asked.cancelled(), if !timed_out => return ChildOutcome::Detached,
                () = sleep_until(limit) => {
                    if detach.at_time_limit {
                        return ChildOutcome::Detached;
                    }
                    if timed_out {
                        return ChildOutcome::TimedOut(PipeHolder::Yes);
                    }
                    timed_out = true;
                    limit = deadline + GRACE + UNKILLABLE;
                    self.end().await;
                }
                report = receive_report(&mut self.control, &mut self.received) => {
                    let over = match report {
                        Some(SupervisorReport::Started) => continue,
                        Some(SupervisorReport::Refused(hosts)) => {
                            self.refused.extend(hosts);
                            continue;
                        }
                        Some(SupervisorReport::Code(code)) => ChildOutcome::Exited(ExitCause::Code(code)),
                        Some(SupervisorReport::Signal(signal)) => ChildOutcome::Exited(ExitCause::Signal(signal)),
                        Some(SupervisorReport::NotStarted(number)) => ChildOutcome::NotStarted(number),
                        Some(SupervisorReport::NotConfined(why)) => ChildOutcome::NotConfined(why),
                        None => ChildOutcome::Lost,
                    };
                    if timed_out {
                        // What was written before the end belongs to the result all the same.
                        self.drain(Instant::now() + DRAIN, output).await;
                        return ChildOutcome::TimedOut(PipeHolder::No);
                    }
                    return over;
                }
                count = read(&mut self.output, &mut buffer) => {
                    self.forward_output(count, &buffer, output);
                }
            }
        }
    }

    /// Reads until no process holds the pipe, or until `by`. What is in the pipe is always read.
    pub(super) async fn drain(
        &mut self,
        by: Instant,
        output: &mut (dyn FnMut(&[u8]) + Send),
    ) -> PipeHolder {
        let mut buffer = vec![0; CHUNK];
        while self.output.is_some() {
            tokio::select! {
                biased;
                count = read(&mut self.output, &mut buffer) => self.forward_output(count, &buffer, output),
                () = sleep_until(by) => return PipeHolder::Yes,
            }
            // A process that writes all the time always has more.
            if Instant::now() >= by && self.output.is_some() {
                return PipeHolder::Yes;
            }
        }
        PipeHolder::No
    }

    fn forward_output(
        &mut self,
        count: usize,
        buffer: &[u8],
        output: &mut (dyn FnMut(&[u8]) + Send),
    ) {
        match buffer.get(..count) {
            Some(bytes) if !bytes.is_empty() => output(bytes),
            Some(_) | None => self.output = None,
        }
    }

    /// Waits until the supervisor is gone and drops the output; cancelling `end` ends the command.
    pub(super) async fn follow(mut self, end: CancellationToken) {
        let mut buffer = vec![0; CHUNK];
        let mut asked = false;
        let mut next_read = Instant::now();
        loop {
            tokio::select! {
                () = end.cancelled(), if !asked => {
                    asked = true;
                    self.end().await;
                }
                report = receive_report(&mut self.control, &mut self.received) => match report {
                    // The report of a cancelled or late child, for which nobody waits.
                    Some(_) => {}
                    None => return,
                },
                count = async {
                    sleep_until(next_read).await;
                    read(&mut self.output, &mut buffer).await
                } => {
                    next_read = Instant::now() + BEHIND_PAUSE;
                    self.forward_output(count, &buffer, &mut |_| {});
                }
            }
        }
    }

    /// The next report of the supervisor; `None` when it has gone. Cancel-safe.
    pub(super) async fn report(&mut self) -> Option<SupervisorReport> {
        receive_report(&mut self.control, &mut self.received).await
    }

    /// Waits for a report, or for output, of which at most `buffer` is read: `Ok` has its length, 0 at
    /// its end. Cancel-safe.
    pub(super) async fn report_or_output(
        &mut self,
        may_read_at: Instant,
        buffer: &mut [u8],
    ) -> ChildNews {
        tokio::select! {
            report = receive_report(&mut self.control, &mut self.received) => {
                report.map_or(ChildNews::Gone, ChildNews::Report)
            }
            count = async {
                sleep_until(may_read_at).await;
                read(&mut self.output, buffer).await
            } => {
                if count == 0 {
                    self.output = None;
                }
                ChildNews::Output(count)
            }
        }
    }

    /// Reads what is still in the pipe, for at most [`DRAIN`]; 0 when nothing is left.
    pub(super) async fn rest(&mut self, buffer: &mut [u8]) -> usize {
        if self.output.is_none() {
            return 0;
        }
        tokio::time::timeout(DRAIN, read(&mut self.output, buffer)).await.unwrap_or(0)
    }

    /// Tells the supervisor something. Fails only when the supervisor has gone, which the next report
    /// shows.
    pub(super) async fn tell(&mut self, command: SupervisorCommand) {
        let _ = self.control.write_all(&[command.byte()]).await;
    }

    /// Tells the supervisor to end everything.
    pub(super) async fn end(&mut self) {
        // Fails only when the supervisor has gone, which `receive_report` below notices.
        let _ = self.control.shutdown().await;
    }
}

/// What a running command has to say next.
pub(super) enum ChildNews {
    Report(SupervisorReport),
    /// So many bytes of output; 0 when no process holds it any more.
    Output(usize),
    /// The supervisor has gone.
    Gone,
}

/// The next report; `None` when the supervisor has gone. Cancel-safe.
async fn receive_report(
    control: &mut UnixStream,
    received: &mut Vec<u8>,
) -> Option<SupervisorReport> {
    loop {
        if let Some(end) = received.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = received.drain(..=end).collect();
            return serde_json::from_slice(&line).ok();
        }
        match control.read_buf(received).await {
            Ok(0) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

/// Reads what is there: 0 at the end of the pipe. Waits for ever when `output` is `None`.
async fn read(output: &mut Option<ChildOutput>, buffer: &mut [u8]) -> usize {
    match output {
        Some(output) => output.read(buffer).await,
        None => std::future::pending().await,
    }
}
