//! What the turn machine does about a conversation that is too long for the model.

use crate::agent::compaction::plan::CompactionTrigger;
use crate::providers::ProviderError;
use crate::session::TurnOutcome;

use super::{TurnAction, TurnMachine, TurnMachinePhase};

/// Whether a compaction has left anything out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactionResult {
    /// The conversation is shorter now.
    Shorter,
    /// There was nothing to leave out, or a hook keeps the conversation as it is.
    NothingLeft,
    /// It does not fit into the window, whatever is left out; the text says why.
    TooLarge(String),
}

/// Why the conversation is made shorter, and so what follows.
#[derive(Debug, Clone)]
pub(super) enum CompactionCause {
    Full,
    Refused(ProviderError),
    Asked,
}

/// After how many refusals in a row a conversation is not made any shorter.
const MAX_TOO_LONG: u32 = 4;

impl TurnMachine {
    pub(super) fn compaction_asked(&mut self) -> Vec<TurnAction> {
        match self.phase {
            TurnMachinePhase::Idle => self.compact(CompactionCause::Asked),
            TurnMachinePhase::Streaming(_)
            | TurnMachinePhase::Running(_)
            | TurnMachinePhase::Pausing
            | TurnMachinePhase::Compacting(_)
            | TurnMachinePhase::Ending
            | TurnMachinePhase::Over => Vec::new(),
        }
    }

    /// The request that was asked for was not sent.
    pub(super) fn context_full(&mut self) -> Vec<TurnAction> {
        match self.phase {
            TurnMachinePhase::Streaming(_) => self.compact(CompactionCause::Full),
            TurnMachinePhase::Idle
            | TurnMachinePhase::Running(_)
            | TurnMachinePhase::Pausing
            | TurnMachinePhase::Compacting(_)
            | TurnMachinePhase::Ending
            | TurnMachinePhase::Over => Vec::new(),
        }
    }

    /// Makes the conversation shorter for a server that refuses it, but not for ever.
    pub(super) fn shorten(&mut self, error: ProviderError) -> Vec<TurnAction> {
        self.too_long += 1;
        if self.too_long > MAX_TOO_LONG {
            return self.request_failed(error);
        }
        self.compact(CompactionCause::Refused(error))
    }

    fn compact(&mut self, cause: CompactionCause) -> Vec<TurnAction> {
        let trigger = match cause {
            CompactionCause::Full => CompactionTrigger::Full,
            CompactionCause::Refused(_) => CompactionTrigger::Refused,
            CompactionCause::Asked => CompactionTrigger::Asked,
        };
        self.phase = TurnMachinePhase::Compacting(cause);
        vec![TurnAction::Compact(trigger)]
    }

    pub(super) fn compacted(&mut self, outcome: CompactionResult) -> Vec<TurnAction> {
        let TurnMachinePhase::Compacting(cause) = &self.phase else { return Vec::new() };
        match (cause.clone(), outcome) {
            (CompactionCause::Asked, _) => self.end(TurnOutcome::Answered),
            (_, CompactionResult::TooLarge(why)) => self.end(TurnOutcome::Failed(why)),
            (CompactionCause::Full, _) => self.request(),
            (CompactionCause::Refused(_), CompactionResult::Shorter) => self.ask_anew(),
            (CompactionCause::Refused(error), CompactionResult::NothingLeft) => {
                self.request_failed(error)
            }
        }
    }
}
