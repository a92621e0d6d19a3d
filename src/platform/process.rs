//! Runs shell scripts for the tools, each below a supervisor of its own (`platform::supervisor`).
//!
//! One long-lived thread starts the supervisors, because the kernel ties them to the thread that
//! started them. A run is over when its direct child has exited and the pipe has been read, at most
//! 200 ms later, even if another process still holds the pipe. A task of the host watches what is
//! left until it ends or the host does; its output is read and dropped at a bounded rate, so that
//! it neither blocks at once nor loads the machine.

use std::ffi::OsStr;
use std::io::{self, PipeReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::domain::{ContentHash, SandboxProfile, ScanExtent};
use crate::tools::{ExitCause, ProcessError, Processes, ScriptExit, ScriptSpec};

use super::environment::ChildEnvironment;
use super::sandbox::{HostSandboxPolicy, ProfileSource, SandboxBackend};
use super::supervisor::{self, GRACE, SupervisorReport, SupervisorRequest};
use super::which;

mod piped_command;

pub use piped_command::{PipedCommand, PipedOutput};

/// How long output is still read after the direct child has exited.
const DRAIN: Duration = Duration::from_millis(200);

/// How long slug waits after KILL before it gives a child up.
const UNKILLABLE: Duration = Duration::from_secs(1);

/// The pause between reads of [`CHUNK`] from a process that was left running: 3 MB/s at most.
const BEHIND_PAUSE: Duration = Duration::from_millis(20);

const CHUNK: usize = 64 * 1024;

/// The interval at which ending supervisors are checked.
const REAP_EVERY: Duration = Duration::from_millis(100);

/// The programs that a host runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPrograms {
    /// slug itself; [`supervisor::program`] except in tests.
    pub slug: PathBuf,
    /// The path from [`which::find`]; `None`: every run fails.
    pub bash: Option<PathBuf>,
}

impl HostPrograms {
    /// Finds the running binary, and bash in `path` (the value of PATH) outside `workspace`.
    ///
    /// # Errors
    ///
    /// When the system does not tell the path of the running binary. A missing bash is no error
    /// here.
    pub fn find(path: &OsStr, workspace: &Path) -> io::Result<Self> {
        Ok(Self { slug: supervisor::program()?, bash: which::find("bash", path, workspace) })
    }
}

/// Runs scripts, and owns the processes that they leave running.
#[derive(Debug)]
pub struct ProcessHost {
    programs: HostPrograms,
    environment: ChildEnvironment,
    starter: mpsc::Sender<StarterRequest>,
    leftovers: TaskTracker,
    end_all: CancellationToken,
    /// The sandbox for every run; `None` where no sandbox is in force.
    policy: Option<HostSandboxPolicy>,
}

impl ProcessHost {
    /// Starts the host's thread. Scripts get `environment` and no other variables.
    ///
    /// # Errors
    ///
    /// When the thread cannot be started.
    pub fn new(programs: HostPrograms, environment: ChildEnvironment) -> io::Result<Self> {
        let (starter, jobs) = mpsc::channel();
        thread::Builder::new().name("children".to_owned()).spawn(move || start_and_reap(&jobs))?;
        Ok(Self {
            programs,
            environment,
            starter,
            leftovers: TaskTracker::new(),
            end_all: CancellationToken::new(),
            policy: None,
        })
    }

    /// Ends all processes that earlier scripts have left running, and returns when they are gone:
    /// after three seconds at most, even if one hangs in the kernel.
    pub async fn end_all(&self) {
        self.end_all.cancel();
        self.leftovers.close();
        // A supervisor that takes longer continues by itself; slug need not wait for it.
        let _ = tokio::time::timeout(GRACE + UNKILLABLE, self.leftovers.wait()).await;
    }

    /// The same host with the sandbox that `source` describes. A caller that gets only this host
    /// cannot run anything outside the sandbox.
    pub fn with_sandbox(&self, backend: SandboxBackend, source: ProfileSource) -> Self {
        self.with_policy(HostSandboxPolicy::new(backend, source))
    }

    /// The same host with a sandbox in which only `scratch` can be changed. `None` where there is
    /// no sandbox to narrow.
    pub fn read_only(&self, scratch: PathBuf) -> Option<Self> {
        let narrow = move |profile: SandboxProfile| profile.into_read_only(scratch.clone());
        Some(self.with_policy(self.policy.as_ref()?.narrowed(narrow)))
    }

    fn with_policy(&self, policy: HostSandboxPolicy) -> Self {
        Self {
            programs: self.programs.clone(),
            environment: self.environment.clone(),
            starter: self.starter.clone(),
            leftovers: self.leftovers.clone(),
            end_all: self.end_all.child_token(),
            policy: Some(policy),
        }
    }

    async fn start(&self, script: &ScriptSpec) -> io::Result<ChildProcess> {
        let bash = self.bash()?;
        let (output, write_end) = io::pipe()?;
        let mut command = supervisor::command(&self.programs.slug, bash);
        command.current_dir(&script.cwd).env_clear().envs(self.environment.variables());
        command.envs(script.search_path.iter().map(|path| ("PATH", path)));
        command.env("PWD", &script.cwd).stdout(write_end.try_clone()?).stderr(write_end);
        self.start_supervisor(command, output, script.text.clone(), None).await
    }

    fn bash(&self) -> io::Result<&Path> {
        self.programs.bash.as_deref().ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, "there is no bash in PATH: install bash")
        })
    }

    /// Starts a supervisor and sends its request.
    async fn start_supervisor(
        &self,
        mut command: Command,
        output: PipeReader,
        script: String,
        input: Option<String>,
    ) -> io::Result<ChildProcess> {
        let confinement = match &self.policy {
            Some(policy) => Some(policy.current().await?),
            None => None,
        };
        let denied = confinement.as_ref().map_or(ScanExtent::Whole, |it| it.view.denied);
        let variables = supervisor::for_loader(&mut command);
        let request = SupervisorRequest { script, input, variables, confinement };
        let (control, theirs) = StdUnixStream::pair()?;
        control.set_nonblocking(true)?;
        let mut control = UnixStream::from_std(control)?;
        let output = pipe::Receiver::from_owned_fd(OwnedFd::from(output))?;
        command.stdin(OwnedFd::from(theirs));
        let supervisor = self.spawn(command).await?;

        let mut request = serde_json::to_vec(&request)?;
        request.push(b'\n');
        control.write_all(&request).await?;
        let (received, refused) = (Vec::new(), Vec::new());
        let output = Some(output);
        Ok(ChildProcess { control, output, received, refused, denied, _supervisor: supervisor })
    }

    async fn spawn(&self, command: Command) -> io::Result<SupervisorHandle> {
        let (reply, started) = oneshot::channel();
        let gone = || io::Error::other("the thread that starts commands has ended");
        let job = StarterRequest::Start { command: Box::new(command), reply };
        self.starter.send(job).map_err(|_| gone())?;
        let child = started.await.map_err(|_| gone())??;
        Ok(SupervisorHandle { child: Some(child), reaper: self.starter.clone() })
    }

    /// Reads what is still in the pipe after the direct child has exited.
    async fn finish(
        &self,
        mut running: ChildProcess,
        output: &mut (dyn FnMut(&[u8]) + Send),
        cancel: &CancellationToken,
        cause: ExitCause,
    ) -> (ExitCause, PipeHolder) {
        let held = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                self.leave_behind(running, cancel);
                return (ExitCause::Cancelled, PipeHolder::No);
            }
            held = running.drain(Instant::now() + DRAIN, output) => held,
        };
        self.leave_behind(running, &self.end_all);
        (cause, held)
    }

    /// Watches what is left of a run until it ends. Cancelling `end` makes it end.
    fn leave_behind(&self, running: ChildProcess, end: &CancellationToken) {
        self.leftovers.spawn(running.follow(end.clone()));
    }
}

impl Drop for ProcessHost {
    fn drop(&mut self) {
        self.end_all.cancel();
    }
}

#[async_trait]
impl Processes for ProcessHost {
    fn environment(&self) -> ContentHash {
        self.environment.hash()
    }

    async fn run(
        &self,
        script: ScriptSpec,
        output: &mut (dyn for<'a> FnMut(&'a [u8]) + Send),
        cancel: CancellationToken,
    ) -> Result<ScriptExit, ProcessError> {
        let began = Instant::now();
        let failed = |source| ProcessError { cwd: script.cwd.clone(), source };
        let exit = |(cause, held), (refused, denied)| ScriptExit {
            cause,
            elapsed: began.elapsed(),
            left_running: held == PipeHolder::Yes,
            refused,
            denied,
        };

        let mut running = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                return Ok(exit((ExitCause::Cancelled, PipeHolder::No), Default::default()));
            }
            started = self.start(&script) => started.map_err(failed)?,
        };
        let over = running.until_over(began + script.timeout, output, &cancel).await;
        let denied_access = (std::mem::take(&mut running.refused), running.denied);
        match over {
            ChildOutcome::Exited(cause) => {
                Ok(exit(self.finish(running, output, &cancel, cause).await, denied_access))
            }
            ChildOutcome::Cancelled => {
                self.leave_behind(running, &cancel);
                Ok(exit((ExitCause::Cancelled, PipeHolder::No), denied_access))
            }
            ChildOutcome::TimedOut(held) => {
                self.leave_behind(running, &self.end_all);
                Ok(exit((ExitCause::TimedOut, held), denied_access))
            }
            ChildOutcome::NotStarted(number) => Err(failed(io::Error::from_raw_os_error(number))),
            ChildOutcome::NotConfined(why) => Err(failed(io::Error::other(why))),
            ChildOutcome::Lost => Err(failed(io::Error::other(
                "its supervisor was killed; what the command had begun may be half done",
            ))),
        }
    }
}

/// How the wait for the direct child ended.
enum ChildOutcome {
    Exited(ExitCause),
    Cancelled,
    /// With `PipeHolder::Yes`, KILL did not end it either.
    TimedOut(PipeHolder),
    NotStarted(i32),
    /// The sandbox could not be set up; the reason.
    NotConfined(String),
    /// The supervisor ended without a report.
    Lost,
}

/// Whether a process still runs and holds the pipe of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PipeHolder {
    Yes,
    No,
}

/// A running command with its supervisor. The drop closes the socket, which ends both.
#[derive(Debug)]
struct ChildProcess {
    control: UnixStream,
    /// `None` when no process holds the other end any more.
    output: Option<pipe::Receiver>,
    received: Vec<u8>,
    /// Hosts that the sandbox has kept the command from reaching.
    refused: Vec<String>,
    /// How far the scan for files that the sandbox denies got.
    denied: ScanExtent,
    _supervisor: SupervisorHandle,
}

impl ChildProcess {
    async fn until_over(
        &mut self,
        deadline: Instant,
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
                () = sleep_until(limit) => {
                    if timed_out {
                        return ChildOutcome::TimedOut(PipeHolder::Yes);
                    }
                    timed_out = true;
                    limit = deadline + GRACE + UNKILLABLE;
                    self.end().await;
                }
                report = receive_report(&mut self.control, &mut self.received) => {
                    let over = match report {
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
    async fn drain(&mut self, by: Instant, output: &mut (dyn FnMut(&[u8]) + Send)) -> PipeHolder {
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
    async fn follow(mut self, end: CancellationToken) {
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

    /// Tells the supervisor to end everything.
    async fn end(&mut self) {
        // Fails only when the supervisor has gone, which `receive_report` below notices.
        let _ = self.control.shutdown().await;
    }
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
async fn read(output: &mut Option<pipe::Receiver>, buffer: &mut [u8]) -> usize {
    match output {
        // An error counts as the end of the pipe.
        Some(pipe) => pipe.read(buffer).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

/// A started supervisor. The drop hands it back to the thread, which reaps it.
#[derive(Debug)]
struct SupervisorHandle {
    child: Option<Child>,
    reaper: mpsc::Sender<StarterRequest>,
}

impl Drop for SupervisorHandle {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            // The thread lives as long as a sender does.
            let _ = self.reaper.send(StarterRequest::Reap(child));
        }
    }
}

/// A request to the thread that starts supervisors.
enum StarterRequest {
    Start { command: Box<Command>, reply: oneshot::Sender<io::Result<Child>> },
    Reap(Child),
}

/// Runs the thread. Supervisors end by themselves when their socket closes; the thread only waits
/// for them, so that they do not stay as zombies.
fn start_and_reap(jobs: &mpsc::Receiver<StarterRequest>) {
    let mut ending: Vec<Child> = Vec::new();
    loop {
        let job = if ending.is_empty() {
            jobs.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected)
        } else {
            jobs.recv_timeout(REAP_EVERY)
        };
        match job {
            Ok(StarterRequest::Start { mut command, reply }) => {
                let started = command.spawn();
                // Only the children may hold the writing end of the pipe.
                drop(command);
                if let Err(Ok(child)) = reply.send(started) {
                    ending.push(child);
                }
            }
            Ok(StarterRequest::Reap(child)) => ending.push(child),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
        }
        ending.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    }
}
