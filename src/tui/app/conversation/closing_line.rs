//! The line that closes a turn: how it ended, and what it took and changed.

use std::time::Duration;

use crate::domain::Money;
use crate::session::{TurnChanges, TurnEnd, TurnOutcome};

/// Shorter times are not told: everything that takes less is quick.
const SHORTEST_TIME: Duration = Duration::from_millis(500);

/// The line that closes a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosingLine {
    pub ending: TurnEnding,
    /// Whether the turn was no more than a compaction that the user asked for.
    pub is_compaction: bool,
    /// `None` where it is not known, or too short to be told.
    pub elapsed: Option<Duration>,
    pub changes: Option<TurnChanges>,
    /// The tokens that the model wrote; 0 where they are not known.
    pub tokens: u64,
    /// The cost of the responses whose price is known.
    pub cost: Option<Money>,
}

/// How a turn ended, in a word. Why it did is said above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEnding {
    Answered,
    /// The user stopped it.
    Stopped,
    RoundLimit,
    Budget,
    Failed,
}

impl ClosingLine {
    /// The line for a turn that the user stopped, before its figures are known.
    pub fn stopped() -> Self {
        Self {
            ending: TurnEnding::Stopped,
            is_compaction: false,
            elapsed: None,
            changes: None,
            tokens: 0,
            cost: None,
        }
    }

    /// The line for a turn that ended like this.
    pub fn of(end: &TurnEnd) -> Self {
        let elapsed = Duration::from_millis(end.elapsed_ms);
        Self {
            ending: TurnEnding::of(&end.outcome),
            is_compaction: end.is_compaction,
            elapsed: Some(elapsed).filter(|elapsed| *elapsed >= SHORTEST_TIME),
            changes: end.changes,
            tokens: end.usage.output,
            cost: end.cost.filter(|cost| *cost != Money::default()),
        }
    }

    /// What the line says of the ending; `None` for an answer, which speaks for itself.
    pub fn label(&self) -> Option<&'static str> {
        match self.ending {
            TurnEnding::Answered => None,
            TurnEnding::Stopped if self.is_compaction => Some("You stopped the compaction"),
            TurnEnding::Stopped => Some("You stopped the turn"),
            TurnEnding::RoundLimit => Some("Round limit reached"),
            TurnEnding::Budget => Some("Budget used up"),
            TurnEnding::Failed => Some("Failed"),
        }
    }

    /// Whether the line says more than what is said above it.
    pub fn is_worth_a_line(&self) -> bool {
        self.ending == TurnEnding::Stopped
            || self.elapsed.is_some()
            || self.changes.is_some()
            || self.tokens > 0
            || self.cost.is_some()
    }
}

impl TurnEnding {
    fn of(outcome: &TurnOutcome) -> Self {
        match outcome {
            TurnOutcome::Answered => Self::Answered,
            TurnOutcome::Interrupted => Self::Stopped,
            TurnOutcome::RoundLimit => Self::RoundLimit,
            TurnOutcome::Budget(_) => Self::Budget,
            TurnOutcome::Failed(_) | TurnOutcome::ModelFailed(_) => Self::Failed,
        }
    }
}
