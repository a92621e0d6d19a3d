//! What the running turn is doing, for the one line that says so.

use std::time::Duration;

use crate::domain::TurnId;
use crate::providers::PrefillProgress;
use crate::providers::retry::RetryAttempt;

/// Whether a turn runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum TurnActivity {
    /// None does.
    #[default]
    Idle,
    /// A message is on its way to the agent.
    Starting {
        /// Since when.
        since: Duration,
    },
    /// One does.
    Running(RunningTurn),
}

/// A running turn.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningTurn {
    /// Its number.
    pub id: TurnId,
    /// Since when.
    pub since: Duration,
    /// What it is doing.
    pub phase: RunningTurnPhase,
    /// Tokens of its finished responses.
    pub tokens: u64,
    /// What the running response has streamed.
    pub streamed: StreamedBytes,
}

/// What a response has streamed so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StreamedBytes {
    /// In bytes; four make about a token.
    pub bytes: u64,
    /// When the first ones came.
    pub since: Option<Duration>,
}

/// What a turn is doing.
#[derive(Debug, Clone, PartialEq)]
pub enum RunningTurnPhase {
    /// The model has not begun to answer.
    Waiting,
    /// The server reads the prompt.
    Prefill(PrefillProgress),
    /// The model thinks.
    Thinking,
    /// The model writes.
    Answering,
    /// The model writes a call of this tool.
    Calling(String),
    /// This tool runs.
    Tool(String),
    /// The response failed; it is asked for again at this time.
    Retrying {
        /// When.
        at: Duration,
        /// Which try that is, of how many.
        again: RetryAttempt,
        /// What went wrong.
        reason: String,
    },
    /// The request waits until this time: the server asked to be left alone.
    RateLimited {
        /// When.
        at: Duration,
        /// What the server said.
        reason: String,
    },
    /// The person has stopped it.
    Stopping,
}

impl TurnActivity {
    /// The running turn.
    pub fn running(&self) -> Option<&RunningTurn> {
        match self {
            Self::Running(running) => Some(running),
            Self::Idle | Self::Starting { .. } => None,
        }
    }

    /// The running turn if it is this one: what belongs to another is stale.
    pub fn of(&mut self, id: TurnId) -> Option<&mut RunningTurn> {
        match self {
            Self::Running(running) if running.id == id => Some(running),
            Self::Idle | Self::Starting { .. } | Self::Running(_) => None,
        }
    }

    /// Whether nothing runs.
    pub fn is_idle(&self) -> bool {
        *self == Self::Idle
    }

    /// Since when something runs.
    pub fn since(&self) -> Option<Duration> {
        match self {
            Self::Idle => None,
            Self::Starting { since } => Some(*since),
            Self::Running(running) => Some(running.since),
        }
    }
}

impl RunningTurn {
    /// A turn that has just begun.
    pub fn new(id: TurnId, now: Duration) -> Self {
        let streamed = StreamedBytes::default();
        Self { id, since: now, phase: RunningTurnPhase::Waiting, tokens: 0, streamed }
    }

    /// Goes on to `phase`; what the person has stopped stays stopped.
    pub fn enter(&mut self, phase: RunningTurnPhase) {
        if self.phase != RunningTurnPhase::Stopping {
            self.phase = phase;
        }
    }

    /// Counts a piece of the response.
    pub fn stream(&mut self, bytes: usize, now: Duration) {
        self.streamed.bytes += bytes as u64;
        self.streamed.since.get_or_insert(now);
    }

    /// Tokens so far, and whether some of them are an estimate.
    pub fn tokens(&self) -> (u64, TokenCountCertainty) {
        match self.streamed.bytes {
            0 => (self.tokens, TokenCountCertainty::Measured),
            bytes => (self.tokens + bytes / 4, TokenCountCertainty::Estimated),
        }
    }

    /// Tokens a second of the response that streams, estimated, once there is enough to tell.
    pub fn rate(&self, now: Duration) -> Option<f64> {
        match self.phase {
            RunningTurnPhase::Thinking
            | RunningTurnPhase::Answering
            | RunningTurnPhase::Calling(_)
                if self.streamed.bytes > 0 => {}
            RunningTurnPhase::Thinking
            | RunningTurnPhase::Answering
            | RunningTurnPhase::Calling(_)
            | RunningTurnPhase::Waiting
            | RunningTurnPhase::Prefill(_)
            | RunningTurnPhase::Tool(_)
            | RunningTurnPhase::Retrying { .. }
            | RunningTurnPhase::RateLimited { .. }
            | RunningTurnPhase::Stopping => return None,
        }
        let seconds = now.checked_sub(self.streamed.since?)?.as_secs_f64();
        (seconds > 0.5).then(|| self.streamed.bytes as f64 / 4.0 / seconds)
    }
}

/// Whether a figure was counted or guessed. Guesses are shown with `~`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenCountCertainty {
    /// The provider counted it.
    Measured,
    /// slug guessed it.
    Estimated,
}
