//! Budgets: before each request it is seen whether what is spent and the least that the request
//! will take still fit. Where they do not, the person is asked; where nobody is there, the turn
//! ends.
//!
//! The least is the input: what the request before had is counted as coming from the cache, the
//! rest as read anew. What the answer takes is not known before it is there, so a budget can be
//! overdrawn by one answer, and by no more.

use std::fmt;
use std::future::pending;

use serde_json::json;
use tokio::sync::oneshot;

use crate::domain::{
    Answer, ApprovalId, Budget, Budgets, CallId, CallInput, Matter, Message, Money, NoticeLevel,
    Price, Role, ToolCall, TurnId, Usage,
};
use crate::session::{SessionSpending, SpendingSum};

use super::driver::Agent;
use super::gate::{Gate, Person};

/// What holds now: the configured budgets, and what the person has made of them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Allowance {
    configured: Budgets,
    session: Budget,
    turn: (TurnId, Budget),
}

/// Which budget would be overdrawn, by what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Overdraft {
    scope: Scope,
    spent: Amount,
    least: Amount,
    limit: Amount,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Turn,
    Session,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Amount {
    Money(Money),
    Tokens(u64),
}

/// The least that a request will take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Least {
    tokens: u64,
    cost: Option<Money>,
}

/// A question that a turn waits for before its next request.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) id: ApprovalId,
    pub(super) overdraft: Overdraft,
    answer: oneshot::Receiver<Answer>,
}

/// What may become of a request.
pub(super) enum Verdict {
    /// It is within the budgets.
    Fits,
    /// The person is asked.
    Asked(Question),
    /// Nobody is there to be asked.
    Stop(String),
}

/// The answer to a question; never, where there is none.
pub(super) async fn answered(question: &mut Option<Question>) -> Answer {
    match question {
        Some(question) => {
            let no = Answer::Deny { instruction: None };
            (&mut question.answer).await.unwrap_or(no)
        }
        None => pending().await,
    }
}

impl Allowance {
    /// What is configured.
    pub(super) fn new(configured: Budgets) -> Self {
        Self {
            configured,
            session: configured.session,
            turn: (TurnId::default(), Budget::default()),
        }
    }

    /// Another session is open: what the person said of the one before does not hold for it.
    pub(super) fn begin_session(&mut self) {
        *self = Self::new(self.configured);
    }

    /// Twice as much from here on.
    pub(super) fn double(&mut self, turn: TurnId, overdraft: &Overdraft) {
        match overdraft.scope {
            Scope::Session => self.session = self.session.times(2),
            Scope::Turn => self.turn = (turn, self.of_turn(turn).times(2)),
        }
    }

    fn of_turn(&self, turn: TurnId) -> Budget {
        if self.turn.0 == turn { self.turn.1 } else { self.configured.turn }
    }

    fn has_money(&self) -> bool {
        self.configured.turn.money.or(self.configured.session.money).is_some()
    }

    /// The budget that the next request would overdraw.
    fn overdraft(
        &self,
        spending: &SessionSpending,
        turn: TurnId,
        least: Least,
    ) -> Option<Overdraft> {
        let of_turn = (Scope::Turn, self.of_turn(turn), spending.turn(turn));
        let of_session = (Scope::Session, self.session, spending.total());
        [of_turn, of_session]
            .into_iter()
            .find_map(|(scope, budget, spent)| overdrawn(scope, budget, &spent, least))
    }
}

fn overdrawn(scope: Scope, budget: Budget, spent: &SpendingSum, least: Least) -> Option<Overdraft> {
    let draft = |spent, least, limit| Some(Overdraft { scope, spent, least, limit });
    if let Some(limit) = budget.money {
        let next = least.cost.unwrap_or_default();
        let mut then = spent.cost;
        then += next;
        if then > limit {
            return draft(Amount::Money(spent.cost), Amount::Money(next), Amount::Money(limit));
        }
    }
    let limit = budget.tokens?;
    let (spent, next) = (spent.worked(), least.tokens);
    (spent.saturating_add(next) > limit)
        .then(|| draft(Amount::Tokens(spent), Amount::Tokens(next), Amount::Tokens(limit)))?
}

impl Least {
    /// Of a request with these messages, where the response before took `before`.
    fn of(messages: &[Message], before: Option<Usage>, price: Option<&Price>) -> Self {
        let new = match before {
            Some(_) => {
                let last = messages.iter().rposition(|message| message.role == Role::Assistant);
                &messages[last.map_or(0, |last| last + 1)..]
            }
            None => messages,
        };
        let bytes: usize = new.iter().map(size).sum();
        // Four bytes make about a token.
        let tokens = bytes as u64 / 4;
        let known = before.map_or(0, |usage| usage.input.saturating_add(usage.output));
        let usage = Usage { input: known + tokens, cache_read: known, ..Usage::default() };
        Self { tokens, cost: price.map(|price| price.of(usage)) }
    }
}

/// As JSON, which is close to what is sent.
fn size(message: &Message) -> usize {
    serde_json::to_string(message).map_or(0, |text| text.len())
}

impl Agent {
    /// Whether the next request of a turn may be made.
    pub(super) async fn within_budget(&mut self, gate: &Gate, model: &str) -> Verdict {
        if self.allowance.configured == Budgets::default() {
            return Verdict::Fits;
        }
        self.open.catch_up();
        let facts = self.facts(model).await;
        let price = facts.and_then(|facts| facts.price);
        if price.is_none() && self.allowance.has_money() {
            self.tell_unpriced(model).await;
        }
        let conversation = &self.open.conversation;
        let messages: Vec<Message> =
            conversation.messages.iter().map(|(_, message)| message.clone()).collect();
        let least = Least::of(&messages, conversation.spending.last(), price.as_ref());
        let overdraft = self.allowance.overdraft(&conversation.spending, gate.turn, least);
        match (overdraft, self.setup.person) {
            (None, _) => Verdict::Fits,
            (Some(overdraft), Person::Absent) => Verdict::Stop(overdraft.to_string()),
            (Some(overdraft), Person::Present) => {
                Verdict::Asked(self.ask_for_more(gate, overdraft).await)
            }
        }
    }

    async fn ask_for_more(&self, gate: &Gate, overdraft: Overdraft) -> Question {
        let (id, answer) = gate.asks.open();
        let input = json!({});
        let call = ToolCall {
            id: CallId::generate(),
            name: "Budget".into(),
            input: CallInput::Valid(input.clone()),
        };
        let why = (Matter::Budget, overdraft.to_string());
        gate.put(gate.question(id, &call, &input, why)).await;
        Question { id, overdraft, answer }
    }

    async fn tell_unpriced(&mut self, model: &str) {
        let text = format!(
            "No price is known for {model}, so a budget in money cannot be kept for it. One in \
             tokens can: --budget \"500k tokens\"."
        );
        if self.warned.insert(text.clone()) {
            self.events.notice(NoticeLevel::Warning, text).await;
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Turn => "this turn",
            Self::Session => "this session",
        })
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Money(money) => money.fmt(f),
            Self::Tokens(count) => write!(f, "{count} tokens"),
        }
    }
}

impl fmt::Display for Overdraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scope, spent, least, limit } = self;
        write!(
            f,
            "The budget of {limit} for {scope} would be overdrawn: {spent} are spent, and the \
             next request takes {least} at least."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Rate, Rates};

    fn budget(text: &str) -> Budget {
        text.parse().unwrap()
    }

    fn spent(cost: u64, input: u64, cached: u64) -> SpendingSum {
        SpendingSum {
            usage: Usage { input, output: 0, cache_read: cached, cache_write: 0 },
            cost: Money::from_nanos(cost),
            responses: 1,
            unpriced: 0,
        }
    }

    #[test]
    fn a_budget_holds_until_the_next_request_would_overdraw_it() {
        let least = Least { tokens: 100, cost: Some(Money::from_nanos(10)) };
        let table = [
            ("0.000000100", spent(90, 0, 0), false),
            ("0.000000100", spent(91, 0, 0), true),
            ("1000 tokens", spent(0, 900, 0), false),
            ("1000 tokens", spent(0, 901, 0), true),
            ("1000 tokens", spent(0, 9_000, 8_500), false),
            ("1, 1000 tokens", spent(0, 901, 0), true),
        ];
        for (text, spent, is_overdrawn) in table {
            let found = overdrawn(Scope::Turn, budget(text), &spent, least);
            assert_eq!(found.is_some(), is_overdrawn, "{text} {spent:?}");
        }
        assert_eq!(overdrawn(Scope::Turn, Budget::default(), &spent(u64::MAX, 9, 0), least), None);
    }

    #[test]
    fn a_budget_in_money_does_not_hold_where_no_price_is_known() {
        let least = Least { tokens: 100, cost: None };
        assert_eq!(overdrawn(Scope::Turn, budget("0.01"), &spent(0, 1 << 40, 0), least), None);
    }

    #[test]
    fn the_least_is_what_is_new_and_what_the_cache_has() {
        let rate = |dollars| Rate::per_million(dollars).unwrap();
        let rates = Rates {
            input: rate(10.0),
            output: rate(50.0),
            cache_read: Some(rate(1.0)),
            cache_write: None,
        };
        let price = Price { rates, above: Vec::new() };
        let answer = Message { role: Role::Assistant, content: Vec::new() };
        let messages = [Message::user("old ".repeat(1000)), answer, Message::user("new")];
        let tokens = size(&messages[2]) as u64 / 4;
        let before = Usage { input: 1000, output: 200, ..Usage::default() };
        let least = Least::of(&messages, Some(before), Some(&price));
        assert_eq!(least.tokens, tokens);
        assert_eq!(least.cost, Some(Money::from_nanos(1200 * 1000 + tokens * 10_000)));
        assert!(Least::of(&messages, None, None).tokens > 1000);
    }

    #[test]
    fn twice_the_budget_of_a_turn_is_for_that_turn_alone() {
        let mut allowance =
            Allowance::new(Budgets { turn: budget("1"), session: budget("100 tokens") });
        let least = Least { tokens: 0, cost: Some(Money::from_nanos(2_000_000_000)) };
        let draft = allowance.overdraft(&SessionSpending::default(), TurnId(1), least).unwrap();
        assert_eq!(draft.scope, Scope::Turn);
        allowance.double(TurnId(1), &draft);
        assert_eq!(allowance.overdraft(&SessionSpending::default(), TurnId(1), least), None);
        assert!(allowance.overdraft(&SessionSpending::default(), TurnId(2), least).is_some());
    }
}
