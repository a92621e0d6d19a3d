//! What the responses of a session have taken: tokens and money, by model, by turn, and by what
//! they were asked for.
//!
//! Each response counts in the session that asked for it. The part that a fork has taken over was
//! paid for in the session it comes from and is kept apart, so that adding up all sessions counts
//! each response once. A line is older than its session's first exactly where it was taken over:
//! ids grow with time.

use std::ops::AddAssign;

use crate::domain::{EntryId, ModelName, Money, RequestSource, TokenUsage, TurnId};

use super::{LogRecord, MessageEntry};

/// The sums over a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionSpending {
    by_model: Vec<ModelSpending>,
    by_source: SpendingBySource,
    taken_over: SpendingSum,
    last_turn: TurnId,
    of_turn: SpendingBySource,
    last: Option<TokenUsage>,
    began: Option<EntryId>,
}

/// What a model has taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSpending {
    /// The model.
    pub model: ModelName,
    /// All its responses.
    pub spent: SpendingSum,
}

/// Sums by what the responses were asked for, in the order in which that first was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpendingBySource(Vec<(RequestSource, SpendingSum)>);

/// What one response, or several together, took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpendingSum {
    /// Tokens.
    pub usage: TokenUsage,
    /// Money, of those responses whose price is known.
    pub cost: Money,
    /// How many there were.
    pub responses: u64,
    /// How many of them have no known price.
    pub unpriced: u64,
}

impl SpendingSum {
    /// The cost, where that of any response is known.
    pub fn known_cost(&self) -> Option<Money> {
        (self.responses > self.unpriced).then_some(self.cost)
    }

    /// The tokens that had to be worked for: all but those that came from a cache.
    pub fn worked(&self) -> u64 {
        let TokenUsage { input, output, cache_read, .. } = self.usage;
        input.saturating_sub(cache_read).saturating_add(output)
    }
}

impl SpendingBySource {
    /// Each sum with what it is of.
    pub fn iter(&self) -> impl Iterator<Item = (RequestSource, &SpendingSum)> {
        self.0.iter().map(|(source, spent)| (*source, spent))
    }

    /// All of them together.
    pub fn total(&self) -> SpendingSum {
        let mut total = SpendingSum::default();
        for (_, spent) in &self.0 {
            total += *spent;
        }
        total
    }

    fn add(&mut self, source: RequestSource, spent: SpendingSum) {
        match self.0.iter_mut().find(|(of, _)| *of == source) {
            Some((_, sum)) => *sum += spent,
            None => self.0.push((source, spent)),
        }
    }
}

impl AddAssign for SpendingSum {
    fn add_assign(&mut self, other: Self) {
        self.usage += other.usage;
        self.cost += other.cost;
        self.responses += other.responses;
        self.unpriced += other.unpriced;
    }
}

impl SessionSpending {
    /// By model, in the order in which they first answered.
    pub fn by_model(&self) -> &[ModelSpending] {
        &self.by_model
    }

    /// By what they were asked for.
    pub fn by_source(&self) -> &SpendingBySource {
        &self.by_source
    }

    /// The session's own responses together.
    pub fn total(&self) -> SpendingSum {
        self.by_source.total()
    }

    /// How a row is called: by the provider, too, where there are several.
    pub fn name(&self, row: &ModelSpending) -> String {
        let one = self.by_model.iter().all(|other| other.model.provider == row.model.provider);
        if one { row.model.model.clone() } else { row.model.to_string() }
    }

    /// What was taken over from the session that this is a fork of, and counts there.
    pub fn taken_over(&self) -> SpendingSum {
        self.taken_over
    }

    /// What a turn has taken; nothing for any but the newest.
    pub fn turn(&self, turn: TurnId) -> SpendingSum {
        self.turn_by_source(turn).map(SpendingBySource::total).unwrap_or_default()
    }

    /// The same by what it was asked for.
    pub fn turn_by_source(&self, turn: TurnId) -> Option<&SpendingBySource> {
        (self.last_turn == turn).then_some(&self.of_turn)
    }

    /// What the last response took, where its server said.
    pub fn last(&self) -> Option<TokenUsage> {
        self.last
    }

    /// The session's first line.
    pub(super) fn begin(&mut self, first: EntryId) {
        self.began = Some(first);
    }

    /// A message of the log; of those only responses, which `model` gave, take anything.
    pub(super) fn take(&mut self, record: &LogRecord, said: &MessageEntry, model: ModelName) {
        if said.stop_reason.is_none() {
            return;
        }
        self.last = said.usage;
        let spent = SpendingSum {
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
            (self.last_turn, self.of_turn) = (record.turn, SpendingBySource::default());
        }
        self.of_turn.add(said.source, spent);
        self.by_source.add(said.source, spent);
        match self.by_model.iter_mut().find(|row| row.model == model) {
            Some(row) => row.spent += spent,
            None => self.by_model.push(ModelSpending { model, spent }),
        }
    }
}
