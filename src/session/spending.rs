//! What the responses of a session have taken: tokens and money, by model and by turn.
//!
//! Each response counts in the session that asked for it. The part that a fork has taken over was
//! paid for in the session it comes from and is kept apart, so that adding up all sessions counts
//! each response once. A line is older than its session's first exactly where it was taken over:
//! ids grow with time.

use std::ops::AddAssign;

use crate::domain::{EntryId, ModelName, Money, TurnId, Usage};

use super::{MessageEntry, Record};

/// The sums over a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spending {
    by_model: Vec<ModelSpent>,
    taken_over: Spent,
    last_turn: TurnId,
    of_turn: Spent,
    last: Option<Usage>,
    began: Option<EntryId>,
}

/// What a model has taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSpent {
    /// The model.
    pub model: ModelName,
    /// All its responses.
    pub spent: Spent,
}

/// What one response, or several together, took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Tokens.
    pub usage: Usage,
    /// Money, of those responses whose price is known.
    pub cost: Money,
    /// How many there were.
    pub responses: u64,
    /// How many of them have no known price.
    pub unpriced: u64,
}

impl Spent {
    /// The cost, where that of any response is known.
    pub fn known_cost(&self) -> Option<Money> {
        (self.responses > self.unpriced).then_some(self.cost)
    }

    /// The tokens that had to be worked for: all but those that came from a cache.
    pub fn worked(&self) -> u64 {
        let Usage { input, output, cache_read, .. } = self.usage;
        input.saturating_sub(cache_read).saturating_add(output)
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.usage += other.usage;
        self.cost += other.cost;
        self.responses += other.responses;
        self.unpriced += other.unpriced;
    }
}

impl Spending {
    /// By model, in the order in which they first answered.
    pub fn by_model(&self) -> &[ModelSpent] {
        &self.by_model
    }

    /// The session's own responses together.
    pub fn total(&self) -> Spent {
        let mut total = Spent::default();
        for row in &self.by_model {
            total += row.spent;
        }
        total
    }

    /// How a row is called: by the provider, too, where there are several.
    pub fn name(&self, row: &ModelSpent) -> String {
        let one = self.by_model.iter().all(|other| other.model.provider == row.model.provider);
        if one { row.model.model.clone() } else { row.model.to_string() }
    }

    /// What was taken over from the session that this is a fork of, and counts there.
    pub fn taken_over(&self) -> Spent {
        self.taken_over
    }

    /// What a turn has taken; nothing for any but the newest.
    pub fn turn(&self, turn: TurnId) -> Spent {
        if self.last_turn == turn { self.of_turn } else { Spent::default() }
    }

    /// What the last response took, where its server said.
    pub fn last(&self) -> Option<Usage> {
        self.last
    }

    /// The session's first line.
    pub(super) fn begin(&mut self, first: EntryId) {
        self.began = Some(first);
    }

    /// A message of the log; of those only responses, which `model` gave, take anything.
    pub(super) fn take(&mut self, record: &Record, said: &MessageEntry, model: ModelName) {
        if said.stop_reason.is_none() {
            return;
        }
        self.last = said.usage;
        let spent = Spent {
            usage: said.usage.unwrap_or_default(),
            cost: said.cost.unwrap_or_default(),
            responses: 1,
            unpriced: u64::from(said.cost.is_none()),
        };
        if self.began.is_some_and(|began| record.id < began) {
            self.taken_over += spent;
            return;
        }
        if self.last_turn != record.turn {
            (self.last_turn, self.of_turn) = (record.turn, Spent::default());
        }
        self.of_turn += spent;
        match self.by_model.iter_mut().find(|row| row.model == model) {
            Some(row) => row.spent += spent,
            None => self.by_model.push(ModelSpent { model, spent }),
        }
    }
}
