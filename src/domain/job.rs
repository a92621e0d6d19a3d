//! Jobs: commands that run beside the conversation and outlive the call that started them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::TerminalFrame;

/// Identifies a job. No two jobs of a process have the same id, also not those of two agents, and none
/// has the id of a job in a log that the process has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct JobId(pub u64);

static NEXT_JOB: AtomicU64 = AtomicU64::new(1);

impl JobId {
    /// The next id of this process; the first is 1.
    pub fn generate() -> Self {
        Self(NEXT_JOB.fetch_add(1, Ordering::Relaxed))
    }

    /// Lets the next ids follow this one, which a conversation names already.
    pub fn reserve(self) {
        NEXT_JOB.fetch_max(self.0.saturating_add(1), Ordering::Relaxed);
    }
}

/// A job as front ends are told about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct JobInfo {
    pub id: JobId,
    /// The first line of the command, at most 200 characters of it, without slug's own keys.
    pub command: String,
}

/// How a job stands, for a list of jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct JobReport {
    pub job: JobInfo,
    /// How long it has run; once it has ended, in all.
    pub elapsed: Duration,
    /// How it ended; `None` while something of it runs.
    pub end: Option<JobEnd>,
    /// The length of its output in bytes, with what is no longer kept.
    pub printed: u64,
    /// The end of its output as plain text: at most 5 lines, and 1 KB.
    pub last_lines: String,
    /// Whether it runs on a terminal, whose screen is told in the place of its output.
    #[serde(default)]
    pub has_terminal: bool,
}

/// What a front end wants to be told about the jobs of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FollowedJobs {
    /// The job whose output it wants, beside how all of them stand.
    pub output_of: Option<JobId>,
}

/// News of the output of a job that is followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum FollowedOutput {
    /// The next part, as the job printed it: sequences that a terminal would obey are still in it.
    Printed {
        job: JobId,
        /// How many bytes of the output between the part before and this one are left out.
        skipped: u64,
        text: String,
    },
    /// What its terminal shows now.
    Screen {
        job: JobId,
        frame: TerminalFrame,
        /// The lines that have scrolled off it since the last time, without colours.
        scrolled: Vec<String>,
    },
    /// The output cannot be told, or no more of it.
    Lost {
        job: JobId,
        /// Why, as a sentence.
        reason: String,
    },
}

/// A job when a call of it was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    Running(JobId),
    Ended(JobId),
}

impl JobState {
    /// The job, whether it still runs or not.
    pub fn id(self) -> JobId {
        match self {
            Self::Running(job) | Self::Ended(job) => job,
        }
    }
}

/// What ended a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum ExitCause {
    /// The exit status.
    Code(i32),
    /// The number of the signal that killed it.
    Signal(i32),
    /// The command reached its time limit and was killed.
    TimedOut,
    /// The user stopped it, or it ended with its session.
    Cancelled,
}

/// How a job ended: nothing of it runs any more, as far as slug can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum JobEnd {
    /// Its command has exited, and so have all processes that it started.
    Exited(ExitCause),
    /// Its supervisor was killed: slug does not know how the command ended, or whether.
    Lost,
}

/// A part of what a job has printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobOutputPiece {
    /// How many bytes before this piece are no longer kept; 0 where it begins where it was asked
    /// for.
    pub skipped: u64,
    pub bytes: Vec<u8>,
    /// Where the next piece begins, counted in bytes from the start of the output.
    pub next: u64,
    /// Whether nothing follows: the output has ended here.
    pub is_last: bool,
}
