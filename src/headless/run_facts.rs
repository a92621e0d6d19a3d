//! What is known of a run besides the agent's events: where it runs, how it ended, and why it has no
//! answer.

use std::path::PathBuf;
use std::time::Duration;

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
    Up,
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
            (Some(TurnOutcome::Interrupted) | None, TimeState::Up) => (
                "timeout",
                "Stopped: the time is up (--timeout). Continue with --continue.".to_owned(),
            ),
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
