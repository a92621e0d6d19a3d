//! Detects a tool whose calls fail in the same way again and again, each time with other arguments.
//!
//! What counts is responses in a row, since the model reads the errors of one only before the next. A
//! call that succeeds ends the streak of its tool. Arguments that are not those of the tool, and names
//! that no tool has, count as the same failure whatever their values; other errors only if their
//! text is the same. A command that ran and failed is a result and no failure of its tool.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::domain::ContentHash;

/// From so many responses on, the model is told what a valid call looks like.
pub(super) const HINT_FROM: u32 = 5;

/// After so many, the user is asked; without a user the turn ends.
pub(super) const MAX_FAILURES: u32 = 10;

/// In what way a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FailureKind {
    /// The call named no tool that there is, or had arguments that its tool does not take.
    InvalidCall,
    /// With this text.
    Error(ContentHash),
}

/// The failures of each tool in one turn.
#[derive(Debug, Default)]
pub(super) struct RepeatedFailures {
    state: Mutex<RepeatedFailuresState>,
}

#[derive(Debug, Default)]
struct RepeatedFailuresState {
    response: u32,
    /// By the name of the tool.
    streaks: HashMap<String, FailureStreak>,
}

#[derive(Debug)]
struct FailureStreak {
    kind: FailureKind,
    times: u32,
    /// The response that was counted last.
    response: u32,
}

impl RepeatedFailures {
    /// The calls from now on are those of another response.
    pub(super) fn begin_response(&self) {
        self.lock().response += 1;
    }

    /// Counts a failure. Returns in how many responses in a row the tool has failed so.
    pub(super) fn count(&self, tool: &str, kind: FailureKind) -> u32 {
        let mut state = self.lock();
        let response = state.response;
        match state.streaks.get_mut(tool) {
            Some(streak) if streak.kind == kind => {
                streak.times += u32::from(streak.response != response);
                streak.response = response;
                streak.times
            }
            Some(_) | None => {
                state.streaks.insert(tool.to_owned(), FailureStreak { kind, times: 1, response });
                1
            }
        }
    }

    /// Ends the streak of a tool: it has succeeded, or the user lets the model go on.
    pub(super) fn forget(&self, tool: &str) {
        self.lock().streaks.remove(tool);
    }

    /// Ends the streaks of all tools.
    pub(super) fn forget_all(&self) {
        self.lock().streaks.clear();
    }

    /// In how many responses in a row the tool has failed, once that is too often.
    pub(super) fn too_many(&self, tool: &str) -> Option<u32> {
        let times = self.lock().streaks.get(tool)?.times;
        (times >= MAX_FAILURES).then_some(times)
    }

    fn lock(&self) -> MutexGuard<'_, RepeatedFailuresState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> FailureKind {
        FailureKind::Error(ContentHash::of(text.as_bytes()))
    }

    #[test]
    fn the_same_failure_counts_once_for_each_response() {
        let failures = RepeatedFailures::default();
        for times in 1..=MAX_FAILURES {
            assert_eq!(failures.too_many("Read"), None);
            failures.begin_response();
            for _ in 0..4 {
                assert_eq!(failures.count("Read", FailureKind::InvalidCall), times);
            }
        }
        assert_eq!(failures.too_many("Read"), Some(MAX_FAILURES));
        assert_eq!(failures.too_many("Edit"), None);
        failures.forget("Read");
        assert_eq!(failures.too_many("Read"), None);
    }

    #[test]
    fn another_failure_and_another_tool_count_for_themselves() {
        let failures = RepeatedFailures::default();
        for (tool, kind, times) in [
            ("Edit", FailureKind::InvalidCall, 1),
            ("Read", FailureKind::InvalidCall, 1),
            ("Edit", FailureKind::InvalidCall, 2),
            ("Edit", error("a"), 1),
            ("Edit", error("a"), 2),
            ("Edit", error("b"), 1),
            ("Read", FailureKind::InvalidCall, 2),
        ] {
            failures.begin_response();
            assert_eq!(failures.count(tool, kind), times);
        }
    }
}
