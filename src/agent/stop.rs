//! Stopping: one token for the agent, a child for each turn, and a handle that waits behind no
//! queue.

use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

/// Stops what an agent is doing. Front ends keep a clone.
#[derive(Debug, Clone)]
pub struct Stop {
    all: CancellationToken,
    turn: Arc<Mutex<CancellationToken>>,
}

impl Stop {
    pub(super) fn new() -> Self {
        let all = CancellationToken::new();
        let turn = Arc::new(Mutex::new(all.child_token()));
        Self { all, turn }
    }

    /// Stops the turn that runs now, if one does. The next one is not touched.
    pub fn turn(&self) {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner).cancel();
    }

    /// Stops everything the agent ever started, for good.
    pub fn everything(&self) {
        self.all.cancel();
    }

    /// The token of a new turn.
    pub(super) fn begin(&self) -> CancellationToken {
        let token = self.all.child_token();
        *self.turn.lock().unwrap_or_else(PoisonError::into_inner) = token.clone();
        token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stopping_a_turn_leaves_the_next_one_alone() {
        let stop = Stop::new();
        let first = stop.begin();
        stop.turn();
        assert!(first.is_cancelled());
        let second = stop.begin();
        assert!(!second.is_cancelled());
        stop.everything();
        assert!(second.is_cancelled());
        assert!(stop.begin().is_cancelled());
    }
}
