//! The facts for the first line of the screen: the project, the model, the mode and how full the
//! context window is.

use std::time::Duration;

use crate::domain::{
    ContextWindow, JobId, JobInfo, PermissionMode, ReasoningEffort, SessionId, TokenUsage,
    pluralise,
};
use crate::providers::{ModelLoading, ProviderFault};
use crate::session::{SessionSpending, StoreSize};

/// What is known about the session and its model. Unknown facts are not shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConversationStatus {
    /// Name of the working folder.
    pub project: String,
    /// `None` outside a git repository, and until it has been read.
    pub git: Option<GitSummary>,
    /// Name of the model that answers.
    pub model: String,
    /// The model's provider, by its name in the configuration.
    pub provider: String,
    /// What is wrong with the provider, since the last failure until it is used again.
    pub fault: Option<ProviderFault>,
    /// How far the model is loaded, while it is.
    pub loading: Option<ModelLoading>,
    /// The thinking effort, if the user set one.
    pub effort: Option<ReasoningEffort>,
    /// The model's context window; `None` until it is known.
    pub window: Option<ContextWindow>,
    pub host: ModelHost,
    pub mode: PermissionMode,
    /// Tokens of the last response; their sum is what fills the context window.
    pub usage: Option<TokenUsage>,
    /// What the agent estimates to fill the context window, where that has changed since the last
    /// response.
    pub estimate: Option<u64>,
    /// Tokens and cost of the session so far.
    pub spending: SessionSpending,
    /// Why the server's cache last missed a prompt that it should have had.
    pub cache_miss: Option<String>,
    /// Tokens a second of the last response, as measured.
    pub rate: Option<f64>,
    pub session: Option<SessionId>,
    pub title: Option<String>,
    /// What a started agent is called, whatever the title of its session is; `None` of any other.
    pub started_as: Option<String>,
    /// What runs beside the conversation, in the order in which it was started.
    pub jobs: Vec<JobInfo>,
    /// Size of the store on disk; `None` until it was queried.
    pub store: Option<StoreSize>,
}

impl ConversationStatus {
    /// A job runs no more.
    pub fn job_ended(&mut self, job: JobId) {
        self.jobs.retain(|running| running.id != job);
    }

    /// The jobs that end with the session, as the rest of a sentence: the command of a single one, or
    /// how many there are. `None` without jobs.
    pub fn jobs_phrase(&self) -> Option<String> {
        match self.jobs.as_slice() {
            [] => None,
            [job] => Some(format!("`{}`", job.command)),
            jobs => Some(pluralise(jobs.len() as u64, "job")),
        }
    }
}

/// Whether the model runs on this machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ModelHost {
    /// On this machine: rates and cache hits are worth showing.
    Local,
    /// On another machine.
    #[default]
    Remote,
}

/// The state of the working tree, in files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitSummary {
    /// The branch, or the short hash of a detached commit.
    pub branch: String,
    pub added: usize,
    pub changed: usize,
    pub removed: usize,
}

/// Seconds as a clock: `0:07`, `12:30`, `1:02:03`.
pub fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        hours => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}
