//! The budget of a session, as the children count against it: what the parent had spent when it last
//! looked, and what the children have spent since.
//!
//! A child is stopped after the response that overdraws it, as a parent makes no further request.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::domain::UsageBudget;
use crate::session::SpendingSum;

/// Shared by a parent and its children.
#[derive(Debug, Default)]
pub(in crate::agent) struct FamilyBudget(Mutex<FamilyBudgetState>);

#[derive(Debug, Default, Clone, Copy)]
struct FamilyBudgetState {
    turn: (UsageBudget, SpendingSum),
    session: (UsageBudget, SpendingSum),
}

impl FamilyBudget {
    /// Notes the limits that hold and what is spent of them by now, children included.
    pub(in crate::agent) fn note(
        &self,
        turn: (UsageBudget, SpendingSum),
        session: (UsageBudget, SpendingSum),
    ) {
        *self.lock() = FamilyBudgetState { turn, session };
    }

    fn lock(&self) -> MutexGuard<'_, FamilyBudgetState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a response of a child. Returns which limit is used up by it, as the end of a sentence.
    pub(super) fn spend(&self, spent: SpendingSum) -> Option<&'static str> {
        let mut state = self.lock();
        state.turn.1 += spent;
        state.session.1 += spent;
        if is_used_up(&state.turn) {
            return Some("the turn that started it");
        }
        is_used_up(&state.session).then_some("the session")
    }
}

fn is_used_up((limit, spent): &(UsageBudget, SpendingSum)) -> bool {
    limit.money.is_some_and(|limit| spent.cost >= limit)
        || limit.tokens.is_some_and(|limit| spent.worked() >= limit)
}
