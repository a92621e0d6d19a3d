//! The ports for jobs: commands that outlive the call that started them.
//!
//! `Processes::start` starts one. A job has three sides: its [`JobSpec`] goes in, what it prints comes
//! out into an [`OutputSink`], and a [`JobHandle`] holds and steers it. A tool that wants a job to
//! belong to the session asks the [`JobStarter`] of its context, which also keeps the output to be
//! read from any place.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;

use crate::domain::{
    JobEnd, JobId, JobOutputPiece, JobState, TerminalFrame, TerminalInput, TerminalSize,
    TerminalText,
};

use super::{DetachPolicy, DetachedScript, ProcessError};

/// A command that outlives the call that started it, and its surroundings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSpec {
    /// Text for `bash -c`.
    pub text: String,
    pub cwd: PathBuf,
    pub streams: JobStreams,
    /// The value of `PATH`; `None`: the one that all scripts get.
    pub search_path: Option<OsString>,
    /// The scratch folder, as for a script.
    pub scratch: Option<PathBuf>,
    /// After this time it is ended.
    pub time_limit: Option<Duration>,
    pub belongings: JobBelongings,
}

/// What is a job's alone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobBelongings {
    /// Variables besides those that every command gets. Its supervisor has them as well, so none may
    /// change what a program loads.
    pub variables: Vec<(String, String)>,
    /// A folder that is removed once nothing of the job runs, even if slug has died before.
    pub folder: Option<PathBuf>,
}

/// What the command has as standard input and output. Standard error goes where standard output
/// goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobStreams {
    /// A pipe for the input, and one for the output.
    Pipes,
    /// A pseudo-terminal of its own.
    Terminal(TerminalSize),
}

/// Takes what a job prints, in order. A job that prints faster than its sink takes it waits, as for
/// any full pipe.
#[async_trait]
pub trait OutputSink: Send {
    /// Takes the next bytes.
    async fn write(&mut self, bytes: &[u8]);

    /// The output is over. Nothing is written after this.
    async fn end(&mut self);
}

/// Steers a running job. Dropping the last handle ends the job.
#[async_trait]
pub trait JobHandle: Send + Sync {
    /// Writes to the job's standard input, and waits as long as the job does not read.
    ///
    /// # Errors
    ///
    /// When the input is closed, by [`Self::close_input`] or by the job.
    async fn write(&self, bytes: &[u8]) -> io::Result<()>;

    /// Ends the job's standard input. A job with a terminal gets what ctrl+d sends, which a program
    /// takes for the end only at the start of a line, and can ignore.
    async fn close_input(&self);

    /// Changes the size of the job's terminal.
    ///
    /// # Errors
    ///
    /// When the job has no terminal.
    fn resize(&self, size: TerminalSize) -> io::Result<()>;

    /// Whether a program reads a line from the job's terminal without showing it, as for a password.
    /// Programs that read single keys do not show them either, and are not meant.
    fn hides_input(&self) -> bool {
        false
    }

    /// Does what ctrl+c does: the processes in the foreground get INT, or, from a terminal that was
    /// told so, the character.
    fn interrupt(&self);

    /// Ends the job and all that it started: TERM now, KILL two seconds later.
    fn terminate(&self);

    /// Ends the job and all that it started with KILL, at once.
    fn kill(&self);

    /// How the job has ended; `None` while something of it runs.
    fn ended(&self) -> Option<JobEnd>;

    /// Waits until nothing of the job runs any more, and all of its output is with the sink.
    async fn wait(&self) -> JobEnd;
}

/// What a job has printed so far, within bounds: the first and the last megabytes.
#[async_trait]
pub trait JobOutput: Send + Sync {
    /// The output from byte `from` on: what is there, a piece of it where that is much. Where
    /// nothing is there yet, waits for more, or for the end.
    ///
    /// # Errors
    ///
    /// When the output could not be kept or cannot be read.
    async fn follow(&self, from: u64) -> io::Result<JobOutputPiece>;

    /// The length of the output so far in bytes, with what is no longer kept.
    fn length(&self) -> u64;
}

/// The terminal of a job: what it shows, and a way to type into it.
#[async_trait]
pub trait JobTerminal: Send + Sync {
    /// The text on its screen, and of what has scrolled off it since a place; 0 is the start.
    fn text(&self, since: u64) -> TerminalText;

    /// What its screen shows.
    fn frame(&self) -> TerminalFrame;

    /// How many bytes the job has printed.
    fn printed(&self) -> u64;

    /// Waits until what it shows is another state than that of this number, and returns the number of the
    /// new one; 0 is before the first.
    async fn changed(&self, from: u64) -> u64;

    /// Types all of this, in order, as the program has asked for it. Does not wait for the program.
    ///
    /// # Errors
    ///
    /// When the program has left too much unread, or the job has ended. Nothing is typed then.
    fn type_in(&self, typed: &[TerminalInput]) -> io::Result<()>;

    /// Changes its size.
    fn resize(&self, size: TerminalSize);

    /// As [`JobHandle::hides_input`].
    fn hides_input(&self) -> bool;
}

/// Where what a job prints can be read.
#[derive(Clone)]
pub enum PrintedOutput {
    Stream(Arc<dyn JobOutput>),
    Terminal(Arc<dyn JobTerminal>),
}

impl PrintedOutput {
    /// The length of all that was printed in bytes, with what is no longer kept.
    pub fn length(&self) -> u64 {
        match self {
            Self::Stream(output) => output.length(),
            Self::Terminal(terminal) => terminal.printed(),
        }
    }

    /// The terminal of a job that has one.
    pub fn terminal(&self) -> Option<&Arc<dyn JobTerminal>> {
        match self {
            Self::Stream(_) => None,
            Self::Terminal(terminal) => Some(terminal),
        }
    }
}

/// A job of a session. Clones are the same job.
#[derive(Clone)]
pub struct SessionJob {
    pub id: JobId,
    /// The first line of its command, as front ends are told.
    pub command: Arc<str>,
    pub process: Arc<dyn JobHandle>,
    pub output: PrintedOutput,
    pub progress: Arc<JobProgress>,
}

impl SessionJob {
    /// Whether the job runs now.
    pub fn state(&self) -> JobState {
        match self.process.ended() {
            None => JobState::Running(self.id),
            Some(_) => JobState::Ended(self.id),
        }
    }
}

/// How long a job has run, and how much of it the model knows.
#[derive(Debug)]
pub struct JobProgress {
    started: Instant,
    elapsed: OnceLock<Duration>,
    seen: AtomicU64,
    is_end_told: AtomicBool,
}

impl Default for JobProgress {
    fn default() -> Self {
        let (seen, is_end_told) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { started: Instant::now(), elapsed: OnceLock::new(), seen, is_end_told }
    }
}

impl JobProgress {
    /// The progress of a job that has run for so long before it became one.
    pub fn after(ran: Duration) -> Self {
        let started = Instant::now();
        Self { started: started.checked_sub(ran).unwrap_or(started), ..Self::default() }
    }

    /// How long the job has run; once it has ended, in all.
    pub fn elapsed(&self) -> Duration {
        self.elapsed.get().copied().unwrap_or_else(|| self.started.elapsed())
    }

    /// Stops the clock.
    pub fn end(&self) {
        self.elapsed.get_or_init(|| self.started.elapsed());
    }

    /// The place in the output up to which the model has looked; on a terminal, the number of lines
    /// that had scrolled off it.
    pub fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }

    /// Notes that the model has looked at the output up to this place.
    pub fn set_seen(&self, place: u64) {
        self.seen.fetch_max(place, Ordering::Relaxed);
    }

    /// Whether the model was told of the end.
    pub fn is_end_told(&self) -> bool {
        self.is_end_told.load(Ordering::Relaxed)
    }

    /// Notes that the model is told of the end. `false` where it was told before.
    pub fn tell_end(&self) -> bool {
        !self.is_end_told.swap(true, Ordering::Relaxed)
    }
}

/// Starts jobs that belong to the session, and finds them again: they survive the call and the turn,
/// and end with the session or by hand.
#[async_trait]
pub trait JobStarter: Send + Sync {
    /// Starts a job as the call may run commands, in the same sandbox.
    ///
    /// # Errors
    ///
    /// When the job cannot be started, or there is no place for its output.
    async fn start(&self, job: JobSpec) -> Result<SessionJob, ProcessError>;

    /// Takes a script that goes on without its call. `text` is its command, and `printed` what it
    /// has printed so far.
    ///
    /// # Errors
    ///
    /// When there is no place for its output. The script is ended then.
    async fn adopt(
        &self,
        script: Box<dyn DetachedScript>,
        text: &str,
        printed: &[u8],
    ) -> io::Result<SessionJob>;

    /// When the command of this call goes on as a job; `None` where it cannot.
    fn detach_policy(&self) -> Option<DetachPolicy>;

    /// The jobs of this session, running or ended not long ago, in the order in which they started.
    fn all(&self) -> Vec<SessionJob>;

    /// A job of this session.
    fn find(&self, job: JobId) -> Option<SessionJob> {
        self.all().into_iter().find(|it| it.id == job)
    }
}

/// The jobs of a call that belongs to no session: there are none, and none can be started.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSessionJobs;

#[async_trait]
impl JobStarter for NoSessionJobs {
    async fn start(&self, job: JobSpec) -> Result<SessionJob, ProcessError> {
        Err(no_jobs(job.cwd))
    }

    async fn adopt(
        &self,
        _script: Box<dyn DetachedScript>,
        _text: &str,
        _printed: &[u8],
    ) -> io::Result<SessionJob> {
        Err(unsupported())
    }

    fn detach_policy(&self) -> Option<DetachPolicy> {
        None
    }

    fn all(&self) -> Vec<SessionJob> {
        Vec::new()
    }
}

/// The error where a job cannot be started, whatever its command is.
pub(super) fn no_jobs(cwd: PathBuf) -> ProcessError {
    ProcessError { cwd, source: unsupported() }
}

fn unsupported() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "no jobs can be started here")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_has_run_since_its_command_began() {
        let progress = JobProgress::after(Duration::from_secs(40));
        assert!(progress.elapsed() >= Duration::from_secs(40));
        progress.end();
        assert_eq!(progress.elapsed(), progress.elapsed(), "the clock stands");
    }
}
