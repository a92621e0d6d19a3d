//! Adds up what the responses of a session took: tokens and money, by model, by turn, and by what
//! they were asked for.
//!
//! Each response counts in the session that asked for it. The responses that a fork copied were
//! paid for in the parent session and are kept apart, so that a sum over all sessions counts each
//! response once. A line was copied exactly where its id is older than that of the session's first
//! line: ids grow with time.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::domain::{EntryId, ModelName, Money, RequestSource, TokenUsage, TurnId};

use super::{LogRecord, MessageEntry};

/// What the responses of a session took, in total and by model, source and turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SessionSpending {
    by_model: Vec<ModelSpending>,
    by_source: SpendingBySource,
    taken_over: SpendingSum,
    last_turn: TurnId,
    of_turn: SpendingBySource,
    last: Option<TokenUsage>,
    began: Option<EntryId>,
}

/// What the responses of one model took in a session.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ModelSpending {
    pub model: ModelName,
    /// The sum of all its responses.
    pub spent: SpendingSum,
}

/// Sums by what the responses were asked for, in the order in which each purpose first came up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SpendingBySource(Vec<(RequestSource, SpendingSum)>);

/// What one response took, or several together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SpendingSum {
    /// The tokens, as far as servers reported them.
    pub usage: TokenUsage,
    /// The cost of those responses whose price is known.
    pub cost: Money,
    /// The number of responses.
    pub responses: u64,
    /// The number of responses without a known price.
    pub unpriced: u64,
}

impl SpendingSum {
    /// What a response took.
    pub fn of(response: &MessageEntry) -> Self {
        Self {
            usage: response.usage.unwrap_or_default(),
            cost: response.cost.unwrap_or_default(),
            responses: 1,
            unpriced: u64::from(response.cost.is_none()),
        }
    }

    /// The cost; `None` where no response has a known price.
    pub fn known_cost(&self) -> Option<Money> {
        (self.responses > self.unpriced).then_some(self.cost)
    }

    /// The tokens that the model had to process: all except those that came from a cache.
    pub fn worked(&self) -> u64 {
        let TokenUsage { input, output, cache_read, .. } = self.usage;
        input.saturating_sub(cache_read).saturating_add(output)
    }
}

impl SpendingBySource {
    /// Each purpose with its sum.
    pub fn iter(&self) -> impl Iterator<Item = (RequestSource, &SpendingSum)> {
        self.0.iter().map(|(source, spent)| (*source, spent))
    }

    /// The sum over all purposes.
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
    /// The sums of the session's own responses by model, in the order in which the models first
    /// answered.
    pub fn by_model(&self) -> &[ModelSpending] {
        &self.by_model
    }

    /// The sums of the session's own responses by what they were asked for.
    pub fn by_source(&self) -> &SpendingBySource {
        &self.by_source
    }

    /// The sum of the session's own responses.
    pub fn total(&self) -> SpendingSum {
        self.by_source.total()
    }

    /// The name to show for a row: with the provider, where there are several providers.
    pub fn name(&self, row: &ModelSpending) -> String {
        let one = self.by_model.iter().all(|other| other.model.provider == row.model.provider);
        if one { row.model.model.clone() } else { row.model.to_string() }
    }

    /// The sum of the responses that a fork copied from its parent, where they were paid for.
    pub fn taken_over(&self) -> SpendingSum {
        self.taken_over
    }

    /// What a turn took; zero for any turn but the newest.
    pub fn turn(&self, turn: TurnId) -> SpendingSum {
        self.turn_by_source(turn).map(SpendingBySource::total).unwrap_or_default()
    }

    /// What a turn took by what it was asked for; `None` for any turn but the newest.
    pub fn turn_by_source(&self, turn: TurnId) -> Option<&SpendingBySource> {
        (self.last_turn == turn).then_some(&self.of_turn)
    }

    /// The tokens of the conversation's last response; `None` where its server did not report them.
    pub fn last(&self) -> Option<TokenUsage> {
        self.last
    }

    /// Notes the id of the session's first line, which tells copied lines apart.
    pub(super) fn begin(&mut self, first: EntryId) {
        self.began = Some(first);
    }

    /// Adds a message of the log. Only responses, which `model` gave, take anything, and none that was
    /// taken over from an agent, with which it was counted.
    pub fn take(&mut self, record: &LogRecord, message: &MessageEntry, model: ModelName) {
        if message.stop_reason.is_none() {
            return;
        }
        if message.taken_from.is_some() {
            self.last = None;
            return;
        }
        if message.source.is_main() {
            self.last = message.usage;
        }
        let spent = SpendingSum::of(message);
        if self.began.is_some_and(|began| record.id < began) {
            self.taken_over += spent;
            return;
        }
        if self.last_turn != record.turn {
            (self.last_turn, self.of_turn) = (record.turn, SpendingBySource::default());
        }
        self.of_turn.add(message.source, spent);
        self.by_source.add(message.source, spent);
        match self.by_model.iter_mut().find(|row| row.model == model) {
            Some(row) => row.spent += spent,
            None => self.by_model.push(ModelSpending { model, spent }),
        }
    }
}
