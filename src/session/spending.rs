//! What the responses of a session have taken: tokens and money, by model, by turn, and by what
//! they were asked for.
//!
//! Each response counts in the session that asked for it. The part that a fork has taken over was
//! paid for in the session it comes from and is kept apart, so that adding up all sessions counts
//! each response once. A line is older than its session's first exactly where it was taken over:
//! ids grow with time.

use std::ops::AddAssign;

use crate::domain::{EntryId, ModelName, Money, Source, TurnId, Usage};

use super::{MessageEntry, Record};

/// The sums over a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spending {
    by_model: Vec<ModelSpent>,
    by_source: BySource,
    taken_over: Spent,
    last_turn: TurnId,
    of_turn: BySource,
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

/// Sums by what the responses were asked for, in the order in which that first was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BySource(Vec<(Source, Spent)>);

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

impl BySource {
    /// Each sum with what it is of.
    pub fn iter(&self) -> impl Iterator<Item = (Source, &Spent)> {
        self.0.iter().map(|(source, spent)| (*source, spent))
    }

    /// All of them together.
    pub fn total(&self) -> Spent {
        let mut total = Spent::default();
        for (_, spent) in &self.0 {
            total += *spent;
        }
        total
    }

    fn add(&mut self, source: Source, spent: Spent) {
        match self.0.iter_mut().find(|(of, _)| *of == source) {
            Some((_, sum)) => *sum += spent,
            None => self.0.push((source, spent)),
        }
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

    /// By what they were asked for.
    pub fn by_source(&self) -> &BySource {
        &self.by_source
    }

    /// The session's own responses together.
    pub fn total(&self) -> Spent {
        self.by_source.total()
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
        self.turn_by_source(turn).map(BySource::total).unwrap_or_default()
    }

    /// The same by what it was asked for.
    pub fn turn_by_source(&self, turn: TurnId) -> Option<&BySource> {
        (self.last_turn == turn).then_some(&self.of_turn)
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
            (self.last_turn, self.of_turn) = (record.turn, BySource::default());
        }
        self.of_turn.add(said.source, spent);
        self.by_source.add(said.source, spent);
        match self.by_model.iter_mut().find(|row| row.model == model) {
            Some(row) => row.spent += spent,
            None => self.by_model.push(ModelSpent { model, spent }),
        }
    }
}
