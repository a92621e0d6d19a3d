//! The ports for jobs: commands that outlive the call that started them.
//!
//! `Processes::start` starts one. A job has three sides: its [`JobSpec`] goes in, what it prints comes
//! out into an [`OutputSink`], and a [`JobHandle`] holds and steers it. A tool that wants a job to
//! belong to the session asks the [`JobStarter`] of its context, which also keeps the output to be
//! read from any place.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;

use crate::domain::{JobEnd, JobId, JobOutputPiece};

use super::ProcessError;

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

/// The size of a job's terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    pub columns: u16,
    pub rows: u16,
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

/// A job of a session. Clones are the same job.
#[derive(Clone)]
pub struct SessionJob {
    pub id: JobId,
    pub process: Arc<dyn JobHandle>,
    pub output: Arc<dyn JobOutput>,
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

    /// A job of this session, running or ended not long ago.
    fn find(&self, job: JobId) -> Option<SessionJob>;
}

/// The jobs of a call that belongs to no session: there are none, and none can be started.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSessionJobs;

#[async_trait]
impl JobStarter for NoSessionJobs {
    async fn start(&self, job: JobSpec) -> Result<SessionJob, ProcessError> {
        Err(no_jobs(job.cwd))
    }

    fn find(&self, _job: JobId) -> Option<SessionJob> {
        None
    }
}

/// The error where a job cannot be started, whatever its command is.
pub(super) fn no_jobs(cwd: PathBuf) -> ProcessError {
    let source = io::Error::new(io::ErrorKind::Unsupported, "no jobs can be started here");
    ProcessError { cwd, source }
}
