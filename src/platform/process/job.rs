//! Jobs: commands with an input and an output that go on beside everything else.
//!
//! One task of the host owns a job: it reads the output into the sink, passes on what the handles
//! ask for, and ends when the supervisor has gone, which is when nothing of the job runs any more.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::{Mutex, mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::domain::{ExitCause, JobEnd};
use crate::tools::{
    DetachedScript, JobBelongings, JobHandle, JobSpec, JobStreams, OutputSink, TerminalSize,
};

use super::super::supervisor::{CommandInput, SupervisorCommand, SupervisorReport};
use super::child_process::{CHUNK, ChildNews, ChildOutput, ChildProcess};
use super::pseudo_terminal::PseudoTerminal;
use super::{DRAIN, ProcessHost, output_pipe};

/// The pause after each [`CHUNK`] of a job's output: 32 MB/s at most, so that a job that prints all
/// the time leaves the machine to others.
const OUTPUT_PAUSE: Duration = Duration::from_millis(2);

/// What terminals call the kind that programs find everywhere.
const TERMINAL_KIND: &str = "xterm-256color";

/// Characters that a terminal acts on: ctrl+c and ctrl+d.
const INTERRUPT: u8 = 0x03;
const END_OF_INPUT: u8 = 0x04;

impl ProcessHost {
    /// Starts a job, and returns once its command runs.
    pub(super) async fn start_job(
        &self,
        job: JobSpec,
        sink: Box<dyn OutputSink>,
    ) -> io::Result<Arc<dyn JobHandle>> {
        let scratch = job.scratch.as_deref();
        let mut command = self.supervisor(&job.cwd, job.search_path.as_deref(), scratch)?;
        let JobBelongings { variables, folder } = job.belongings;
        command.envs(variables);
        let (output, input, kind) = match job.streams {
            JobStreams::Pipes => {
                let (output, write_end) = output_pipe()?;
                let (read_end, input) = io::pipe()?;
                // The supervisor takes the command's input from here; see `CommandInput::Pipe`.
                command.stdout(write_end).stderr(read_end);
                let input = pipe::Sender::from_owned_fd(OwnedFd::from(input))?;
                (output, JobInput::Pipe(Mutex::new(Some(input))), CommandInput::Pipe)
            }
            JobStreams::Terminal(size) => {
                let (terminal, theirs) = PseudoTerminal::open(size)?;
                command.env("TERM", TERMINAL_KIND);
                command.stdout(theirs.try_clone()?).stderr(theirs);
                let output = ChildOutput::Terminal(terminal.clone());
                (output, JobInput::Terminal(terminal), CommandInput::Terminal)
            }
        };
        let mut child =
            self.start_child(command, output, job.text, kind, (scratch, folder)).await?;
        let failed = match child.report().await {
            Some(SupervisorReport::NotStarted(number)) => io::Error::from_raw_os_error(number),
            Some(SupervisorReport::NotConfined(why)) => io::Error::other(why),
            Some(
                SupervisorReport::Started
                | SupervisorReport::Code(_)
                | SupervisorReport::Signal(_)
                | SupervisorReport::Refused(_),
            ) => {
                let end_all = self.end_all.child_token();
                let limit = job.time_limit.map(|limit| Instant::now() + limit);
                return Ok(watch_job(child, input, sink, limit, &self.leftovers, end_all));
            }
            None => io::Error::other("its supervisor was killed before the command began"),
        };
        Err(failed)
    }
}

/// A script that still runs and goes on without its call.
pub(super) struct DetachedChild {
    pub(super) child: ChildProcess,
    pub(super) began: Instant,
    pub(super) leftovers: TaskTracker,
    pub(super) end_all: CancellationToken,
}

impl DetachedScript for DetachedChild {
    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn into_job(self: Box<Self>, output: Box<dyn OutputSink>) -> Arc<dyn JobHandle> {
        let Self { child, leftovers, end_all, .. } = *self;
        watch_job(child, JobInput::Nothing, output, None, &leftovers, end_all)
    }
}

/// Has a task of the host watch a job that runs.
fn watch_job(
    child: ChildProcess,
    input: JobInput,
    sink: Box<dyn OutputSink>,
    limit: Option<Instant>,
    tasks: &TaskTracker,
    end_all: CancellationToken,
) -> Arc<dyn JobHandle> {
    let (requests, asked) = mpsc::unbounded_channel();
    let (tell_end, end) = watch::channel(None);
    let task = JobTask { child, sink, limit, end: JobEnd::Lost, ended_by: None };
    tasks.spawn(task.watch(asked, end_all, tell_end));
    Arc::new(StartedJob { requests, input, end })
}

/// slug's end of a job's standard input.
enum JobInput {
    /// `/dev/null`, as a script has it.
    Nothing,
    /// `None` once it is closed.
    Pipe(Mutex<Option<pipe::Sender>>),
    Terminal(PseudoTerminal),
}

/// The handle of a job. Its drop closes the channel, which ends the job.
struct StartedJob {
    requests: mpsc::UnboundedSender<SupervisorCommand>,
    input: JobInput,
    end: watch::Receiver<Option<JobEnd>>,
}

impl StartedJob {
    fn ask(&self, command: SupervisorCommand) {
        // Fails only when the job is over.
        let _ = self.requests.send(command);
    }
}

#[async_trait]
impl JobHandle for StartedJob {
    async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match &self.input {
            JobInput::Pipe(pipe) => match pipe.lock().await.as_mut() {
                Some(pipe) => pipe.write_all(bytes).await,
                None => Err(io::ErrorKind::BrokenPipe.into()),
            },
            JobInput::Terminal(terminal) => terminal.write(bytes).await,
            JobInput::Nothing => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    async fn close_input(&self) {
        match &self.input {
            JobInput::Pipe(pipe) => *pipe.lock().await = None,
            JobInput::Terminal(terminal) => terminal.type_now(END_OF_INPUT),
            JobInput::Nothing => {}
        }
    }

    fn resize(&self, size: TerminalSize) -> io::Result<()> {
        let JobInput::Terminal(terminal) = &self.input else {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "the job has no terminal"));
        };
        terminal.resize(size)?;
        self.ask(SupervisorCommand::WindowChanged);
        Ok(())
    }

    fn hides_input(&self) -> bool {
        match &self.input {
            JobInput::Terminal(terminal) => terminal.hides_input(),
            JobInput::Pipe(_) | JobInput::Nothing => false,
        }
    }

    fn interrupt(&self) {
        if let JobInput::Terminal(terminal) = &self.input {
            terminal.type_now(INTERRUPT);
        }
        self.ask(SupervisorCommand::Interrupt);
    }

    fn terminate(&self) {
        self.ask(SupervisorCommand::Terminate);
    }

    fn kill(&self) {
        self.ask(SupervisorCommand::Kill);
    }

    fn ended(&self) -> Option<JobEnd> {
        *self.end.borrow()
    }

    async fn wait(&self) -> JobEnd {
        let mut end = self.end.clone();
        // The task ends without a word only with the runtime.
        let ended = end.wait_for(Option::is_some).await;
        ended.ok().and_then(|end| *end).unwrap_or(JobEnd::Lost)
    }
}

/// A running job.
struct JobTask {
    child: ChildProcess,
    sink: Box<dyn OutputSink>,
    /// How the command has ended, as far as it is known.
    end: JobEnd,
    /// What it counts as if slug has ended it.
    ended_by: Option<ExitCause>,
    /// When it is ended.
    limit: Option<Instant>,
}

impl JobTask {
    /// Watches the job until nothing of it runs any more.
    async fn watch(
        mut self,
        mut asked: mpsc::UnboundedReceiver<SupervisorCommand>,
        end_all: CancellationToken,
        tell_end: watch::Sender<Option<JobEnd>>,
    ) {
        let mut buffer = vec![0; CHUNK];
        let (mut may_read_at, mut unpaused) = (Instant::now(), 0);
        let (mut has_handles, mut is_ending) = (true, false);
        loop {
            tokio::select! {
                command = asked.recv(), if has_handles => {
                    has_handles = command.is_some();
                    self.carry_out(command.unwrap_or(SupervisorCommand::Terminate)).await;
                }
                () = at(self.limit) => {
                    self.limit = None;
                    self.ended_by.get_or_insert(ExitCause::TimedOut);
                    self.child.tell(SupervisorCommand::Terminate).await;
                }
                () = end_all.cancelled(), if !is_ending => {
                    is_ending = true;
                    self.carry_out(SupervisorCommand::Terminate).await;
                }
                news = self.child.report_or_output(may_read_at, &mut buffer) => match news {
                    ChildNews::Report(report) => self.take_report(&report),
                    ChildNews::Output(count) => {
                        self.sink.write(buffer.get(..count).unwrap_or_default()).await;
                        unpaused += count;
                        if unpaused >= CHUNK {
                            (unpaused, may_read_at) = (0, Instant::now() + OUTPUT_PAUSE);
                        }
                    }
                    ChildNews::Gone => break,
                },
            }
        }
        // Whoever still holds the pipe may print for ever.
        let until = Instant::now() + DRAIN;
        while Instant::now() < until {
            match self.child.rest(&mut buffer).await {
                0 => break,
                count => self.sink.write(buffer.get(..count).unwrap_or_default()).await,
            }
        }
        self.sink.end().await;
        // Fails only when no handle is left to hear of it.
        let _ = tell_end.send(Some(self.end));
    }

    async fn carry_out(&mut self, command: SupervisorCommand) {
        if command.ends() {
            self.ended_by.get_or_insert(ExitCause::Cancelled);
        }
        self.child.tell(command).await;
    }

    fn take_report(&mut self, report: &SupervisorReport) {
        let cause = match report {
            SupervisorReport::Code(code) => self.ended_by.unwrap_or(ExitCause::Code(*code)),
            SupervisorReport::Signal(signal) => self.ended_by.unwrap_or(ExitCause::Signal(*signal)),
            // A job is told about hosts by its own failed connections.
            SupervisorReport::Refused(_)
            | SupervisorReport::Started
            | SupervisorReport::NotStarted(_)
            | SupervisorReport::NotConfined(_) => return,
        };
        self.end = JobEnd::Exited(cause);
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
