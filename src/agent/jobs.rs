//! The jobs of a session: who started them is gone, so the session holds them until it is left.
//!
//! A job survives its call and its turn. It ends by itself, by the user's command, or with its
//! session; slug's own end takes it along however it comes (`platform::supervisor`). Its output lies in
//! a spool beside the contents. The log has the numbers of jobs alone: a session that is opened again has
//! none of its jobs, and new ones have other numbers.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::domain::{
    JobId, JobInfo, JobOutputPiece, NoticeLevel, TerminalInput, TerminalSize, first_line,
};
use crate::platform::redact::Redactor;
use crate::session::{BlobStore, SpoolReader, SpoolWriter};
use crate::tools::{
    DetachPolicy, DetachedScript, JobHandle, JobOutput, JobProgress, JobSpec, JobStarter,
    JobStreams, OutputSink, PrintedOutput, ProcessError, Processes, SessionJob,
};

use super::blocking::blocking;
use super::event::AgentEvent;
use super::event_queue::AgentEventSender;
use super::job_terminal::JobScreen;

/// How many jobs that have ended a session still knows, with their output: each holds a file.
const MAX_ENDED_JOBS: usize = 16;

/// The most characters of a command that front ends are told.
const MAX_COMMAND_CHARACTERS: usize = 200;

/// What the user is told who wants a command in the background that slug would ask about there.
const STAYS: &str = "This command stays here: in the background slug would ask about it, because its paths \
    may lead elsewhere before it opens them.";

/// Holds the jobs of one session. Its drop ends them.
#[derive(Default)]
pub(super) struct SessionJobs {
    state: Mutex<SessionJobsState>,
    watchers: TaskTracker,
    /// Marked whenever a job begins or ends.
    changes: watch::Sender<()>,
}

#[derive(Default)]
struct SessionJobsState {
    /// In the order in which they were started.
    jobs: BTreeMap<JobId, (JobInfo, SessionJob)>,
    /// The session was left, or is one that no job can outlive: nothing starts any more.
    is_closed: bool,
    /// Cancelled when the command that a call waits for now is to go on as a job.
    foreground: CancellationToken,
    /// Whether that command would not be allowed as a job.
    foreground_stays: bool,
}

impl SessionJobs {
    /// Takes a job that runs, and tells the front end about it, and later about its end. `false` when
    /// the session was left meanwhile.
    fn hold(self: &Arc<Self>, info: JobInfo, job: SessionJob, events: &AgentEventSender) -> bool {
        {
            let mut state = self.lock();
            if state.is_closed {
                return false;
            }
            state.forget_ended();
            state.jobs.insert(info.id, (info.clone(), job.clone()));
        }
        events.send(AgentEvent::JobStarted(info));
        self.changes.send_replace(());
        let (events, changes) = (events.clone(), self.changes.clone());
        self.watchers.spawn(async move {
            let end = job.process.wait().await;
            job.progress.end();
            events.send(AgentEvent::JobEnded { job: job.id, end });
            changes.send_replace(());
        });
        true
    }

    /// A job of the session that runs, or has ended not long ago.
    pub(super) fn find(&self, job: JobId) -> Option<SessionJob> {
        self.lock().jobs.get(&job).map(|(_, job)| job.clone())
    }

    /// All jobs, in the order in which they were started.
    pub(super) fn all(&self) -> Vec<SessionJob> {
        self.lock().jobs.values().map(|(_, job)| job.clone()).collect()
    }

    /// All jobs as front ends know them, in the order in which they were started.
    pub(super) fn reported(&self) -> Vec<(JobInfo, SessionJob)> {
        self.lock().jobs.values().cloned().collect()
    }

    /// Changes whenever a job begins or ends.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Starts no job: there is nothing that one could outlive its call in.
    pub(super) fn refuse_all(&self) {
        self.lock().is_closed = true;
    }

    /// Lets the command that a call waits for go on as a job, where it would be allowed as one; else
    /// tells the user why it stays. Does nothing where there is none.
    pub(super) fn detach_foreground(&self, events: &AgentEventSender) {
        let state = self.lock();
        if state.foreground_stays {
            events.notice(NoticeLevel::Info, STAYS);
        } else {
            state.foreground.cancel();
        }
    }

    /// The token that the command of the next call is detached by.
    fn next_foreground(&self, may_go_on: bool) -> Option<CancellationToken> {
        let mut state = self.lock();
        state.foreground = CancellationToken::new();
        state.foreground_stays = !may_go_on;
        (!state.is_closed).then(|| state.foreground.clone())
    }

    /// Ends a job, with a moment for it to end by itself. Does nothing where there is no such job.
    pub(super) fn end(&self, job: JobId) {
        if let Some(job) = self.find(job) {
            job.process.terminate();
        }
    }

    /// Types something into the terminal of a job; tells the user where that cannot be done. Does
    /// nothing where there is no such job or terminal.
    pub(super) fn type_into(&self, job: JobId, typed: &TerminalInput, events: &AgentEventSender) {
        let found = self.find(job);
        let terminal = found.as_ref().and_then(|job| job.output.terminal());
        if let Some(Err(error)) =
            terminal.map(|terminal| terminal.type_in(std::slice::from_ref(typed)))
        {
            let text = format!("Nothing was typed into job {}: {error}.", job.0);
            events.notice(NoticeLevel::Warning, text);
        }
    }

    /// Changes the size of a job's terminal. Does nothing where there is none.
    pub(super) fn resize(&self, job: JobId, size: TerminalSize) {
        if let Some(terminal) = self.find(job).as_ref().and_then(|job| job.output.terminal()) {
            terminal.resize(size);
        }
    }

    /// Ends all jobs because the session is left, and returns those that were running.
    pub(super) fn end_all(&self) -> Vec<JobInfo> {
        let jobs = {
            let mut state = self.lock();
            state.is_closed = true;
            std::mem::take(&mut state.jobs)
        };
        let running = jobs.into_values().filter(|(_, job)| job.process.ended().is_none());
        running
            .map(|(info, job)| {
                job.process.terminate();
                info
            })
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, SessionJobsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SessionJobs {
    fn drop(&mut self) {
        self.end_all();
    }
}

impl SessionJobsState {
    /// Forgets the oldest jobs that have ended.
    fn forget_ended(&mut self) {
        let ended = self.jobs.values().filter(|(_, job)| job.process.ended().is_some());
        let ended: Vec<JobId> = ended.map(|(info, _)| info.id).collect();
        for job in ended.iter().take((ended.len() + 1).saturating_sub(MAX_ENDED_JOBS)) {
            self.jobs.remove(job);
        }
    }
}

/// Starts jobs for a call, as the call may run commands.
#[derive(Clone)]
pub(super) struct CallJobs {
    pub(super) jobs: Arc<SessionJobs>,
    pub(super) processes: Arc<dyn Processes>,
    pub(super) blobs: BlobStore,
    pub(super) redactor: Redactor,
    pub(super) events: AgentEventSender,
    /// Whether the command of the call may go on as a job: whether it would be allowed as one.
    pub(super) may_outlive: bool,
}

impl CallJobs {
    async fn spool(&self) -> io::Result<(SpoolWriter, SpoolReader)> {
        let blobs = self.blobs.clone();
        let spool = blocking(move || blobs.spool()).await;
        spool.map_err(io::Error::other).and_then(|it| it.map_err(io::Error::other))
    }

    fn hold(
        &self,
        text: &str,
        process: Arc<dyn JobHandle>,
        output: PrintedOutput,
        progress: JobProgress,
    ) -> io::Result<SessionJob> {
        let text = self.redactor.redact_own(text).into_owned();
        let command: String = first_line(&text).chars().take(MAX_COMMAND_CHARACTERS).collect();
        let id = JobId::generate();
        let shared = Arc::from(&*command);
        let job = SessionJob { id, command: shared, process, output, progress: Arc::new(progress) };
        if self.jobs.hold(JobInfo { id, command }, job.clone(), &self.events) {
            return Ok(job);
        }
        job.process.terminate();
        Err(io::Error::other("the session was left meanwhile"))
    }
}

#[async_trait]
impl JobStarter for CallJobs {
    async fn start(&self, job: JobSpec) -> Result<SessionJob, ProcessError> {
        let (cwd, text) = (job.cwd.clone(), job.text.clone());
        let failed = |source| ProcessError { cwd: cwd.clone(), source };
        let (process, output) = match job.streams {
            JobStreams::Pipes => {
                let (writer, reader) = self.spool().await.map_err(failed)?;
                let process = self.processes.start(job, Box::new(writer)).await?;
                (process, PrintedOutput::Stream(Arc::new(reader)))
            }
            JobStreams::Terminal(size) => {
                let screen = JobScreen::new(size);
                let process = self.processes.start(job, Box::new(screen.sink())).await?;
                let terminal = screen.of_job(Arc::clone(&process), self.redactor.clone());
                (process, PrintedOutput::Terminal(Arc::new(terminal)))
            }
        };
        self.hold(&text, process, output, JobProgress::default()).map_err(failed)
    }

    async fn adopt(
        &self,
        script: Box<dyn DetachedScript>,
        text: &str,
        printed: &[u8],
    ) -> io::Result<SessionJob> {
        let (mut writer, reader) = self.spool().await?;
        SpoolWriter::write(&mut writer, printed).await;
        let progress = JobProgress::after(script.elapsed());
        let output = PrintedOutput::Stream(Arc::new(reader));
        self.hold(text, script.into_job(Box::new(writer)), output, progress)
    }

    fn detach_policy(&self) -> Option<DetachPolicy> {
        let asked = self.jobs.next_foreground(self.may_outlive)?;
        Some(DetachPolicy { asked, at_time_limit: self.may_outlive })
    }

    fn all(&self) -> Vec<SessionJob> {
        self.jobs.all()
    }
}

#[async_trait]
impl OutputSink for SpoolWriter {
    async fn write(&mut self, bytes: &[u8]) {
        Self::write(self, bytes).await;
    }

    async fn end(&mut self) {
        Self::end(self);
    }
}

#[async_trait]
impl JobOutput for SpoolReader {
    async fn follow(&self, from: u64) -> io::Result<JobOutputPiece> {
        Self::follow(self, from).await
    }

    fn length(&self) -> u64 {
        Self::length(self)
    }
}

/// What the user is told when a session is left that had these jobs.
pub(super) fn ended_with_session(jobs: &[JobInfo]) -> Option<String> {
    let commands: Vec<String> = jobs.iter().map(|job| format!("`{}`", job.command)).collect();
    let what = if jobs.len() == 1 { "The job" } else { "The jobs" };
    (!jobs.is_empty()).then(|| format!("{what} {} ended with the session.", commands.join(", ")))
}
