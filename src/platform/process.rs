//! Runs shell scripts for the tools and starts their jobs, each below a supervisor of its own
//! (`platform::supervisor`).
//!
//! Scripts, jobs and the commands of hooks are all started in one way (`ProcessHost::start_child`);
//! they differ in what their host then waits for. A job is watched until nothing of it runs (`job`). A
//! run is over when its direct child has exited and the pipe has been read, at most
//! 200 ms later, even if another process still holds the pipe. A task of the host watches what is
//! left until it ends or the host does; its output is read and dropped at a bounded rate, so that
//! it neither blocks at once nor loads the machine.

use std::ffi::OsStr;
use std::io::{self, PipeWriter};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::domain::{
    ContentHash, ExitCause, SCRATCH_VARIABLE, SandboxNetwork, SandboxProfile, ScanExtent,
};
use crate::tools::{
    DetachPolicy, JobHandle, JobSpec, OutputSink, ProcessError, Processes, ScriptExit,
    ScriptOutcome, ScriptSpec,
};

use super::environment::ChildEnvironment;
use super::sandbox::{HostSandboxPolicy, ProfileSource, SandboxBackend};
use super::supervisor::{self, CommandInput, GRACE, SupervisorRequest};
use super::which;
use child_process::{ChildOutcome, ChildOutput, ChildProcess, PipeHolder};
use job::DetachedChild;
use starter::SupervisorStarter;

mod child_process;
mod job;
mod left_running;
mod piped_command;
mod pseudo_terminal;
mod starter;

use left_running::LeftRunning;

pub use piped_command::{PIPED_OUTPUT_LIMIT, PipedCommand, PipedOutput};

/// How long output is still read after the direct child has exited.
const DRAIN: Duration = Duration::from_millis(200);

/// How long slug waits after KILL before it gives a child up.
const UNKILLABLE: Duration = Duration::from_secs(1);

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
    starter: SupervisorStarter,
    leftovers: TaskTracker,
    left_running: LeftRunning,
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
        Ok(Self {
            programs,
            environment,
            starter: SupervisorStarter::new()?,
            leftovers: TaskTracker::new(),
            left_running: LeftRunning::default(),
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

    /// The texts of the earlier scripts of which something still runs, in the order in which they
    /// ended. Waits a moment for what ends just now.
    pub async fn left_running(&self) -> Vec<String> {
        self.leftovers.close();
        let _ = tokio::time::timeout(DRAIN, self.leftovers.wait()).await;
        self.leftovers.reopen();
        self.left_running.texts()
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

    /// The same as [`Self::read_only`], without any network.
    pub fn read_only_offline(&self, scratch: PathBuf) -> Option<Self> {
        let narrow = move |profile: SandboxProfile| SandboxProfile {
            network: SandboxNetwork::Off,
            ..profile.into_read_only(scratch.clone())
        };
        Some(self.with_policy(self.policy.as_ref()?.narrowed(narrow)))
    }

    fn with_policy(&self, policy: HostSandboxPolicy) -> Self {
        Self {
            programs: self.programs.clone(),
            environment: self.environment.clone(),
            starter: self.starter.clone(),
            leftovers: self.leftovers.clone(),
            left_running: self.left_running.clone(),
            end_all: self.end_all.child_token(),
            policy: Some(policy),
        }
    }

    async fn start_script(&self, script: &ScriptSpec) -> io::Result<ChildProcess> {
        let (output, write_end) = output_pipe()?;
        let (search_path, scratch) = (script.search_path.as_deref(), script.scratch.as_deref());
        let mut command = self.supervisor(&script.cwd, search_path, scratch)?;
        command.stdout(write_end.try_clone()?).stderr(write_end);
        let text = script.text.clone();
        self.start_child(command, output, text, CommandInput::Nothing, (scratch, None)).await
    }

    /// The protected places that commands in the sandbox have made since the last look.
    async fn made(&self) -> Vec<String> {
        match &self.policy {
            Some(policy) => policy.made().await,
            None => Vec::new(),
        }
    }

    fn bash(&self) -> io::Result<&Path> {
        self.programs.bash.as_deref().ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, "bash is not in PATH: install it")
        })
    }

    /// The command line of a supervisor whose command runs in `cwd`, with all variables; the caller
    /// sets its outputs.
    fn supervisor(
        &self,
        cwd: &Path,
        search_path: Option<&OsStr>,
        scratch: Option<&Path>,
    ) -> io::Result<Command> {
        let mut command = supervisor::command(&self.programs.slug, self.bash()?);
        command.current_dir(cwd).env_clear().envs(self.environment.variables());
        command.envs(search_path.map(|path| ("PATH", path))).env("PWD", cwd);
        command.envs(scratch.map(|path| (SCRATCH_VARIABLE, path)));
        Ok(command)
    }

    /// Starts a supervisor and sends its request.
    async fn start_child(
        &self,
        mut command: Command,
        output: ChildOutput,
        script: String,
        input: CommandInput,
        (scratch, folder): (Option<&Path>, Option<PathBuf>),
    ) -> io::Result<ChildProcess> {
        let mut confinement = match &self.policy {
            Some(policy) => Some(policy.current().await?),
            None => None,
        };
        if let Some(confinement) = &mut confinement {
            // A folder that is gone cannot be mounted, and the command can do without it.
            let scratch = scratch.filter(|path| is_folder(path));
            confinement.view.scratch = scratch.map(Path::to_owned);
        }
        let denied = confinement.as_ref().map_or(ScanExtent::Whole, |it| it.view.denied);
        let variables = supervisor::for_loader(&mut command);
        let request = SupervisorRequest { script, input, variables, confinement, folder };
        let (control, theirs) = StdUnixStream::pair()?;
        control.set_nonblocking(true)?;
        let mut control = UnixStream::from_std(control)?;
        command.stdin(OwnedFd::from(theirs));
        let supervisor = self.starter.start(command).await?;

        let mut request = serde_json::to_vec(&request)?;
        request.push(b'\n');
        control.write_all(&request).await?;
        Ok(ChildProcess::new(control, output, denied, supervisor))
    }

    /// Reads what is still in the pipe after the direct child has exited.
    async fn finish(
        &self,
        script: &ScriptSpec,
        mut running: ChildProcess,
        output: &mut (dyn FnMut(&[u8]) + Send),
        cancel: &CancellationToken,
        cause: ExitCause,
    ) -> (ExitCause, PipeHolder) {
        let held = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                self.leave_behind(running, cancel, None);
                return (ExitCause::Cancelled, PipeHolder::No);
            }
            held = running.drain(Instant::now() + DRAIN, output) => held,
        };
        self.leave_behind(running, &self.end_all, Some(script));
        (cause, held)
    }

    /// Watches what is left of a run until it ends. Cancelling `end` makes it end. Meanwhile the
    /// script is named by [`Self::left_running`].
    fn leave_behind(
        &self,
        running: ChildProcess,
        end: &CancellationToken,
        script: Option<&ScriptSpec>,
    ) {
        let named = script.map(|script| self.left_running.add(script.text.clone()));
        let end = end.clone();
        self.leftovers.spawn(async move {
            running.follow(end).await;
            drop(named);
        });
    }
}

/// Whether there is a folder, and no link, at the end of `path`.
fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
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
        let detach = DetachPolicy::never();
        let cwd = script.cwd.clone();
        match self.run_detachable(script, detach, output, cancel).await? {
            ScriptOutcome::Ended(exit) => Ok(exit),
            // Nobody has asked for that.
            ScriptOutcome::Detached(_) => {
                let source = io::Error::other("the command went on without its call");
                Err(ProcessError { cwd, source })
            }
        }
    }

    async fn run_detachable(
        &self,
        script: ScriptSpec,
        detach: DetachPolicy,
        output: &mut (dyn for<'a> FnMut(&'a [u8]) + Send),
        cancel: CancellationToken,
    ) -> Result<ScriptOutcome, ProcessError> {
        let began = Instant::now();
        let failed = |source| ProcessError { cwd: script.cwd.clone(), source };
        let exit = |(cause, held), (refused, denied), made| {
            ScriptOutcome::Ended(ScriptExit {
                cause,
                elapsed: began.elapsed(),
                left_running: held == PipeHolder::Yes,
                refused,
                denied,
                made,
            })
        };

        let mut running = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                let cancelled = (ExitCause::Cancelled, PipeHolder::No);
                return Ok(exit(cancelled, Default::default(), Vec::new()));
            }
            started = self.start_script(&script) => started.map_err(failed)?,
        };
        let over = running.until_over(began + script.timeout, &detach, output, &cancel).await;
        let denied_access = (std::mem::take(&mut running.refused), running.denied);
        match over {
            ChildOutcome::Exited(cause) => {
                let end = self.finish(&script, running, output, &cancel, cause).await;
                Ok(exit(end, denied_access, self.made().await))
            }
            ChildOutcome::Cancelled => {
                self.leave_behind(running, &cancel, None);
                Ok(exit((ExitCause::Cancelled, PipeHolder::No), denied_access, self.made().await))
            }
            ChildOutcome::TimedOut(held) => {
                self.leave_behind(running, &self.end_all, Some(&script));
                Ok(exit((ExitCause::TimedOut, held), denied_access, self.made().await))
            }
            ChildOutcome::Detached => {
                let (leftovers, end_all) = (self.leftovers.clone(), self.end_all.child_token());
                Ok(ScriptOutcome::Detached(Box::new(DetachedChild {
                    child: running,
                    began,
                    leftovers,
                    end_all,
                })))
            }
            ChildOutcome::NotStarted(number) => Err(failed(io::Error::from_raw_os_error(number))),
            ChildOutcome::NotConfined(why) => Err(failed(io::Error::other(why))),
            ChildOutcome::Lost => Err(failed(io::Error::other(
                "its supervisor was killed; the command may be half done",
            ))),
        }
    }

    async fn start(
        &self,
        job: JobSpec,
        output: Box<dyn OutputSink>,
    ) -> Result<Arc<dyn JobHandle>, ProcessError> {
        let cwd = job.cwd.clone();
        let started = self.start_job(job, output).await;
        started.map_err(|source| ProcessError { cwd, source })
    }
}

/// A pipe for what a command prints: slug's end, and the command's.
fn output_pipe() -> io::Result<(ChildOutput, PipeWriter)> {
    let (output, write_end) = io::pipe()?;
    Ok((ChildOutput::Pipe(pipe::Receiver::from_owned_fd(OwnedFd::from(output))?), write_end))
}
