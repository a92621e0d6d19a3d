//! What is known of a run besides the agent's events: where it runs, how it ended, and why it has no
//! answer.

use std::path::PathBuf;
use std::time::Duration;

use crate::domain::format_tokens;
use crate::session::{FileDelta, TurnOutcome};

/// What does not change while a run lasts.
#[derive(Debug, Clone, Default)]
pub struct RunFacts {
    /// slug's version.
    pub version: &'static str,
    pub cwd: PathBuf,
    /// The names of the tools that the model can call.
    pub tools: Vec<String>,
}

/// What is known once a run is over.
#[derive(Debug, Clone, Default)]
pub(super) struct RunEnd {
    pub(super) elapsed: Duration,
    /// The files that the run changed.
    pub(super) files: Vec<FileDelta>,
    /// The commands of which something still runs, which slug is about to end.
    pub(super) background: Vec<String>,
}

/// Whether the time of a run is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeState {
    Left,
    /// It is, and this is what the response was doing then.
    Up(AwaitedResponse),
}

/// Whether a request waits for the first word of its response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum AwaitedResponse {
    /// The response streams, or something else runs.
    #[default]
    No,
    /// Nothing has come, and the server does not say what it does.
    Silent,
    /// The server has said how much of the prompt it has read, in tokens.
    Prefill { read: u64, total: u64 },
}

impl AwaitedResponse {
    /// What a run whose time is up ends with.
    fn timeout_text(self) -> String {
        match self {
            Self::No => "Stopped: the time is up (--timeout). Continue with --continue.".to_owned(),
            Self::Silent => "Stopped: the time was up (--timeout) before the server sent any of its answer. \
                             It may still have been reading the prompt: give it more time, or continue with \
                             --continue."
                .to_owned(),
            Self::Prefill { read, total } => format!(
                "Stopped: the time was up (--timeout) while the server was still reading the prompt ({} of {} \
                 tokens). Give it more time, or continue with --continue.",
                format_tokens(read),
                format_tokens(total)
            ),
        }
    }
}

/// Why a run has no answer, or not the whole one.
pub(super) struct RunError {
    /// Part of the interface for scripts: a name that does not change.
    pub(super) kind: &'static str,
    pub(super) message: String,
}

impl RunError {
    /// The error of a run that ended like this; `None` stands for a turn that has not ended.
    pub(super) fn of(outcome: Option<&TurnOutcome>, time: TimeState) -> Option<Self> {
        let (kind, message) = match (outcome, time) {
            (Some(TurnOutcome::Answered), _) => return None,
            (Some(TurnOutcome::Interrupted) | None, TimeState::Up(awaited)) => {
                ("timeout", awaited.timeout_text())
            }
            (Some(TurnOutcome::Interrupted) | None, TimeState::Left) => {
                ("interrupted", "Interrupted.".to_owned())
            }
            (Some(TurnOutcome::RoundLimit), _) => (
                "round_limit",
                "Stopped: the turn used all its rounds of tool calls. Continue with --continue, \
                 or raise `max_tool_rounds` (--max-rounds)."
                    .to_owned(),
            ),
            (Some(TurnOutcome::Budget(message)), _) => ("budget", message.clone()),
            (Some(TurnOutcome::Failed(message)), _) => ("failed", message.clone()),
            (Some(TurnOutcome::ModelFailed(failure)), _) => (failure.name(), failure.to_string()),
        };
        Some(Self { kind, message })
    }
}
