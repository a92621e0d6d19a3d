//! The activity of the running turn, for the line that shows it.

use std::time::Duration;

use crate::domain::TurnId;
use crate::providers::PrefillProgress;
use crate::providers::retry::RetryAttempt;

/// Whether a turn runs, and what it does. Times are since slug's start.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum TurnActivity {
    #[default]
    Idle,
    /// A message was sent to the agent, which has not started the turn yet.
    Starting {
        since: Duration,
    },
    Running(RunningTurn),
}

/// The state of a running turn. Times are since slug's start.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningTurn {
    pub id: TurnId,
    pub since: Duration,
    pub phase: RunningTurnPhase,
    /// Output tokens of the turn's finished responses.
    pub tokens: u64,
    pub streamed: StreamedBytes,
    /// How long the response has streamed whose record comes next.
    pub streamed_for: Duration,
    /// How the server gets on with reading the prompt.
    prefill: Option<PrefillPace>,
}

/// The first and the newest that a server has said of its reading: when, and how many tokens it had read.
#[derive(Debug, Clone, Copy, PartialEq)]
struct PrefillPace {
    first: (Duration, u64),
    newest: (Duration, u64),
}

/// How fast a server reads a prompt, and what is left of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrefillRate {
    /// Tokens a second.
    pub rate: f64,
    pub left: Duration,
}

/// The amount of text that a response has streamed so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StreamedBytes {
    /// About four bytes make a token.
    pub bytes: u64,
    /// When the first bytes came.
    pub since: Option<Duration>,
}

/// The present step of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum RunningTurnPhase {
    /// The model has not begun to answer.
    Waiting,
    /// The conversation is made shorter before it is sent. Holds how much of it the server has read
    /// for the summary, where it reports this.
    Compacting(Option<PrefillProgress>),
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
    /// The response failed and will be requested again.
    Retrying {
        /// When the next try begins.
        at: Duration,
        /// The number of this try, and of all tries.
        again: RetryAttempt,
        reason: String,
    },
    /// The request waits because the server limits the rate.
    RateLimited {
        /// When the wait ends.
        at: Duration,
        reason: String,
    },
    /// The user has stopped the turn.
    Stopping,
}

impl TurnActivity {
    /// The running turn; `None` while idle or starting.
    pub fn running(&self) -> Option<&RunningTurn> {
        match self {
            Self::Running(running) => Some(running),
            Self::Idle | Self::Starting { .. } => None,
        }
    }

    /// The running turn, if it has this id: events of another turn are stale.
    pub fn of(&mut self, id: TurnId) -> Option<&mut RunningTurn> {
        match self {
            Self::Running(running) if running.id == id => Some(running),
            Self::Idle | Self::Starting { .. } | Self::Running(_) => None,
        }
    }

    /// Enters a phase of the running turn, if it has this id.
    pub fn enter(&mut self, id: TurnId, phase: RunningTurnPhase) {
        if let Some(running) = self.of(id) {
            running.enter(phase);
        }
    }

    /// Whether no turn runs or starts.
    pub fn is_idle(&self) -> bool {
        *self == Self::Idle
    }

    /// When the turn was started, also before the agent began it.
    pub fn since(&self) -> Option<Duration> {
        match self {
            Self::Idle => None,
            Self::Starting { since } => Some(*since),
            Self::Running(running) => Some(running.since),
        }
    }
}

impl RunningTurn {
    /// A turn that begins now and waits for the model.
    pub fn new(id: TurnId, now: Duration) -> Self {
        let streamed = StreamedBytes::default();
        Self {
            id,
            since: now,
            phase: RunningTurnPhase::Waiting,
            tokens: 0,
            streamed,
            streamed_for: Duration::ZERO,
            prefill: None,
        }
    }

    /// Notes how much of the prompt has been read by now.
    pub fn note_prefill(&mut self, progress: &PrefillProgress, now: Duration) {
        let newest = (now, progress.processed);
        match &mut self.prefill {
            // A smaller number is of another request.
            Some(pace) if pace.newest.1 <= progress.processed => pace.newest = newest,
            Some(_) | None => self.prefill = Some(PrefillPace { first: newest, newest }),
        }
    }

    /// How fast the server reads the prompt now; `None` in the first half second, and while it reads none.
    pub fn prefill_rate(&self, now: Duration) -> Option<PrefillRate> {
        let (RunningTurnPhase::Prefill(progress), Some(pace)) = (&self.phase, self.prefill) else {
            return None;
        };
        let seconds = pace.newest.0.checked_sub(pace.first.0)?.as_secs_f64();
        let read = pace.newest.1.checked_sub(pace.first.1).filter(|&read| read > 0)?;
        if seconds <= 0.5 {
            return None;
        }
        let rate = read as f64 / seconds;
        let unread = progress.total.saturating_sub(progress.processed) as f64;
        let left = Duration::try_from_secs_f64(unread / rate).ok()?;
        Some(PrefillRate { rate, left: left.saturating_sub(now.saturating_sub(pace.newest.0)) })
    }

    /// Enters a phase; a turn that the user has stopped stays [`RunningTurnPhase::Stopping`].
    pub fn enter(&mut self, phase: RunningTurnPhase) {
        if self.phase != RunningTurnPhase::Stopping {
            self.phase = phase;
        }
        if self.phase == RunningTurnPhase::Waiting {
            self.prefill = None;
        }
    }

    /// Counts a streamed piece of the response.
    pub fn stream(&mut self, bytes: usize, now: Duration) {
        self.streamed.bytes += bytes as u64;
        self.streamed.since.get_or_insert(now);
    }

    /// Output tokens so far, and whether a part of them is an estimate.
    pub fn tokens(&self) -> (u64, TokenCountCertainty) {
        match self.streamed.bytes {
            0 => (self.tokens, TokenCountCertainty::Measured),
            bytes => (self.tokens + bytes / 4, TokenCountCertainty::Estimated),
        }
    }

    /// Estimated tokens a second of the streaming response; `None` in its first half second, and
    /// while none streams.
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
            | RunningTurnPhase::Compacting(_)
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

/// Whether a figure was counted or estimated. Estimates are shown with `~`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenCountCertainty {
    /// The provider counted it.
    Measured,
    /// slug estimated it from the streamed bytes.
    Estimated,
}
