//! Budgets: before each request, what is spent plus the minimum that the request will take is
//! compared with the limits. When that is too much, slug asks the user; a headless run ends its
//! turn.
//!
//! The minimum is the input: the tokens of the previous request and response count as read from the
//! cache, the rest as new. The size of the answer is not known in advance, so one answer can
//! overdraw a budget, and no more than one.

use std::fmt;
use std::future::pending;

use serde_json::json;
use tokio::sync::oneshot;

use crate::domain::{
    AgentBudgets, ApprovalAnswer, ApprovalId, ApprovalKind, CallId, CallInput, Message,
    MessageRole, ModelPrice, Money, NoticeLevel, TokenUsage, ToolCall, TurnId, UsageBudget,
};
use crate::session::{SessionSpending, SpendingSum};

use super::agent_loop::Agent;
use super::tool_gate::{Interactivity, ToolGate};

/// The limits that hold now: the configured budgets, and what the user has raised them to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BudgetLimits {
    configured: AgentBudgets,
    session: UsageBudget,
    turn: (TurnId, UsageBudget),
}

/// A budget that the next request would overdraw. Its `Display` is the sentence that the user sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BudgetOverdraft {
    scope: BudgetScope,
    spent: BudgetAmount,
    least: BudgetAmount,
    limit: BudgetAmount,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BudgetScope {
    Turn,
    Session,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BudgetAmount {
    Money(Money),
    Tokens(u64),
}

/// The minimum that a request will take. `cost` is `None` for a model without a known price.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct MinimumUsage {
    tokens: u64,
    cost: Option<Money>,
}

/// The open question whether a turn may go on over its budget; no request is made before its
/// answer.
#[derive(Debug)]
pub(super) struct BudgetQuestion {
    pub(super) id: ApprovalId,
    pub(super) overdraft: BudgetOverdraft,
    answer: oneshot::Receiver<ApprovalAnswer>,
}

/// Whether the next request may be made.
pub(super) enum BudgetVerdict {
    /// It is within the budgets.
    Fits,
    /// The user is asked; the request waits for the answer.
    Asked(BudgetQuestion),
    /// The run is headless, so the turn ends. Holds the reason, as a sentence.
    Stop(String),
}

/// Waits for the answer to `question`. Waits for ever when there is no question.
pub(super) async fn answered(question: &mut Option<BudgetQuestion>) -> ApprovalAnswer {
    match question {
        Some(question) => {
            let no = ApprovalAnswer::Deny { instruction: None };
            (&mut question.answer).await.unwrap_or(no)
        }
        None => pending().await,
    }
}

impl BudgetLimits {
    /// The configured limits, with nothing raised.
    pub(super) fn new(configured: AgentBudgets) -> Self {
        Self {
            configured,
            session: configured.session,
            turn: (TurnId::default(), UsageBudget::default()),
        }
    }

    /// Forgets what the user has raised: that held for the previous session only.
    pub(super) fn begin_session(&mut self) {
        *self = Self::new(self.configured);
    }

    /// Doubles the limit that `overdraft` names: for this turn, or for the rest of the session.
    pub(super) fn double(&mut self, turn: TurnId, overdraft: &BudgetOverdraft) {
        match overdraft.scope {
            BudgetScope::Session => self.session = self.session.times(2),
            BudgetScope::Turn => self.turn = (turn, self.of_turn(turn).times(2)),
        }
    }

    fn of_turn(&self, turn: TurnId) -> UsageBudget {
        if self.turn.0 == turn { self.turn.1 } else { self.configured.turn }
    }

    fn has_money(&self) -> bool {
        self.configured.turn.money.or(self.configured.session.money).is_some()
    }

    /// The budget that the next request would overdraw; the turn's comes before the session's.
    fn overdraft(
        &self,
        spending: &SessionSpending,
        turn: TurnId,
        least: MinimumUsage,
    ) -> Option<BudgetOverdraft> {
        let of_turn = (BudgetScope::Turn, self.of_turn(turn), spending.turn(turn));
        let of_session = (BudgetScope::Session, self.session, spending.total());
        [of_turn, of_session]
            .into_iter()
            .find_map(|(scope, budget, spent)| overdrawn(scope, budget, &spent, least))
    }
}

fn overdrawn(
    scope: BudgetScope,
    budget: UsageBudget,
    spent: &SpendingSum,
    least: MinimumUsage,
) -> Option<BudgetOverdraft> {
    let draft = |spent, least, limit| Some(BudgetOverdraft { scope, spent, least, limit });
    if let Some(limit) = budget.money {
        let next = least.cost.unwrap_or_default();
        let mut then = spent.cost;
        then += next;
        if then > limit {
            return draft(
                BudgetAmount::Money(spent.cost),
                BudgetAmount::Money(next),
                BudgetAmount::Money(limit),
            );
        }
    }
    let limit = budget.tokens?;
    let (spent, next) = (spent.worked(), least.tokens);
    (spent.saturating_add(next) > limit).then(|| {
        draft(BudgetAmount::Tokens(spent), BudgetAmount::Tokens(next), BudgetAmount::Tokens(limit))
    })?
}

impl MinimumUsage {
    /// The minimum for a request with these messages, when the previous response took `before`.
    fn of(messages: &[Message], before: Option<TokenUsage>, price: Option<&ModelPrice>) -> Self {
        let new = match before {
            Some(_) => {
                let last =
                    messages.iter().rposition(|message| message.role == MessageRole::Assistant);
                &messages[last.map_or(0, |last| last + 1)..]
            }
            None => messages,
        };
        let bytes: usize = new.iter().map(size).sum();
        // About four bytes make a token.
        let tokens = bytes as u64 / 4;
        let known = before.map_or(0, |usage| usage.input.saturating_add(usage.output));
        let usage =
            TokenUsage { input: known + tokens, cache_read: known, ..TokenUsage::default() };
        Self { tokens, cost: price.map(|price| price.of(usage)) }
    }
}

/// The size of a message in bytes of JSON, which is close to what is sent.
fn size(message: &Message) -> usize {
    serde_json::to_string(message).map_or(0, |text| text.len())
}

impl Agent {
    /// Checks the budgets before the next request of a turn, and asks the user when one is
    /// overdrawn.
    pub(super) async fn within_budget(&mut self, gate: &ToolGate, model: &str) -> BudgetVerdict {
        match (self.overdraft(gate.turn, model).await, self.setup.interactivity) {
            (None, _) => BudgetVerdict::Fits,
            // The user is asked about the budget of the agent that has started this one, if at all.
            (Some(overdraft), _) if self.setup.parent.is_some() => {
                BudgetVerdict::Stop(overdraft.to_string())
            }
            (Some(overdraft), Interactivity::Headless) => {
                BudgetVerdict::Stop(overdraft.to_string())
            }
            (Some(overdraft), Interactivity::Interactive) => {
                BudgetVerdict::Asked(self.ask_for_more(gate, overdraft))
            }
        }
    }

    /// Tells the children what is left.
    pub(super) fn note_budgets(&self, turn: TurnId) {
        let spending = &self.session.conversation.spending;
        self.session.agents.budget.note(
            (self.allowance.of_turn(turn), spending.turn(turn)),
            (self.allowance.session, spending.total()),
        );
    }

    /// The budget that one more request of this turn would overdraw.
    pub(super) async fn overdraft(&mut self, turn: TurnId, model: &str) -> Option<BudgetOverdraft> {
        if self.allowance.configured == AgentBudgets::default() {
            return None;
        }
        self.session.catch_up();
        let facts = self.facts(model).await;
        let price = facts.and_then(|facts| facts.price);
        if price.is_none() && self.allowance.has_money() {
            self.tell_unpriced(model);
        }
        let conversation = &self.session.conversation;
        let messages: Vec<Message> =
            conversation.messages.iter().map(|(_, message)| message.clone()).collect();
        let least = MinimumUsage::of(&messages, conversation.spending.last(), price.as_ref());
        self.allowance.overdraft(&conversation.spending, turn, least)
    }

    fn ask_for_more(&self, gate: &ToolGate, overdraft: BudgetOverdraft) -> BudgetQuestion {
        let (id, answer) = gate.approvals.open();
        let input = json!({});
        let call = ToolCall {
            id: CallId::generate(),
            name: "Budget".into(),
            input: CallInput::Valid(input.clone()),
        };
        let why = (ApprovalKind::Budget, overdraft.to_string());
        gate.ask_user(gate.question(id, &call, &input, why));
        BudgetQuestion { id, overdraft, answer }
    }

    fn tell_unpriced(&mut self, model: &str) {
        let text = format!(
            "{model} has no known price, so a budget in money does not work. Set one in tokens: \
             --budget \"500k tokens\"."
        );
        if self.warned.insert(text.clone()) {
            self.events.notice(NoticeLevel::Warning, text);
        }
    }
}

impl fmt::Display for BudgetScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Turn => "this turn",
            Self::Session => "this session",
        })
    }
}

impl fmt::Display for BudgetAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Money(money) => money.fmt(f),
            Self::Tokens(count) => write!(f, "{count} tokens"),
        }
    }
}

impl fmt::Display for BudgetOverdraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scope, spent, least, limit } = self;
        write!(
            f,
            "The budget of {limit} for {scope} would be exceeded: {spent} spent, and the next \
             request takes at least {least}."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{EntryId, RequestSource, StopReason, TokenRate, TokenRates};
    use crate::session::{LogEntry, LogRecord, MessageEntry, ReplayedConversation};

    fn budget(text: &str) -> UsageBudget {
        text.parse().unwrap()
    }

    fn spent(cost: u64, input: u64, cached: u64) -> SpendingSum {
        SpendingSum {
            usage: TokenUsage { input, output: 0, cache_read: cached, cache_write: 0 },
            cost: Money::from_nanos(cost),
            responses: 1,
            unpriced: 0,
        }
    }

    #[test]
    fn a_budget_holds_until_the_next_request_would_overdraw_it() {
        let least = MinimumUsage { tokens: 100, cost: Some(Money::from_nanos(10)) };
        let table = [
            ("0.000000100", spent(90, 0, 0), false),
            ("0.000000100", spent(91, 0, 0), true),
            ("1000 tokens", spent(0, 900, 0), false),
            ("1000 tokens", spent(0, 901, 0), true),
            ("1000 tokens", spent(0, 9_000, 8_500), false),
            ("1, 1000 tokens", spent(0, 901, 0), true),
        ];
        for (text, spent, is_overdrawn) in table {
            let found = overdrawn(BudgetScope::Turn, budget(text), &spent, least);
            assert_eq!(found.is_some(), is_overdrawn, "{text} {spent:?}");
        }
        assert_eq!(
            overdrawn(BudgetScope::Turn, UsageBudget::default(), &spent(u64::MAX, 9, 0), least),
            None
        );
    }

    #[test]
    fn a_budget_in_money_does_not_hold_where_no_price_is_known() {
        let least = MinimumUsage { tokens: 100, cost: None };
        assert_eq!(
            overdrawn(BudgetScope::Turn, budget("0.01"), &spent(0, 1 << 40, 0), least),
            None
        );
    }

    #[test]
    fn the_least_is_what_is_new_and_what_the_cache_has() {
        let rate = |dollars| TokenRate::per_million(dollars).unwrap();
        let rates = TokenRates {
            input: rate(10.0),
            output: rate(50.0),
            cache_read: Some(rate(1.0)),
            cache_write: None,
        };
        let price = ModelPrice { rates, above: Vec::new() };
        let answer = Message { role: MessageRole::Assistant, content: Vec::new() };
        let messages = [Message::user("old ".repeat(1000)), answer, Message::user("new")];
        let tokens = size(&messages[2]) as u64 / 4;
        let before = TokenUsage { input: 1000, output: 200, ..TokenUsage::default() };
        let least = MinimumUsage::of(&messages, Some(before), Some(&price));
        assert_eq!(least.tokens, tokens);
        assert_eq!(least.cost, Some(Money::from_nanos(1200 * 1000 + tokens * 10_000)));
        assert!(MinimumUsage::of(&messages, None, None).tokens > 1000);
    }

    #[test]
    fn what_is_asked_beside_the_conversation_counts() {
        let mut records = Vec::new();
        for source in [RequestSource::Main, RequestSource::Title, RequestSource::Compaction] {
            let message =
                MessageEntry::new(Message { role: MessageRole::Assistant, content: Vec::new() });
            let usage = Some(TokenUsage { output: 400, ..TokenUsage::default() });
            let stop_reason = Some(StopReason::EndTurn);
            let entry = LogEntry::Message(MessageEntry { source, usage, stop_reason, ..message });
            let (id, timestamp) = (EntryId::generate(), chrono::Utc::now());
            records.push(LogRecord { id, timestamp, turn: TurnId(1), entry });
        }
        let spending = |records: &[LogRecord]| ReplayedConversation::of(records).spending;
        let limits = BudgetLimits::new(AgentBudgets {
            turn: budget("1000 tokens"),
            session: UsageBudget::default(),
        });
        let least = MinimumUsage::default();
        assert_eq!(limits.overdraft(&spending(&records[..1]), TurnId(1), least), None);
        let draft = limits.overdraft(&spending(&records), TurnId(1), least).unwrap();
        assert_eq!(draft.scope, BudgetScope::Turn);
    }

    #[test]
    fn twice_the_budget_of_a_turn_is_for_that_turn_alone() {
        let mut limits =
            BudgetLimits::new(AgentBudgets { turn: budget("1"), session: budget("100 tokens") });
        let least = MinimumUsage { tokens: 0, cost: Some(Money::from_nanos(2_000_000_000)) };
        let draft = limits.overdraft(&SessionSpending::default(), TurnId(1), least).unwrap();
        assert_eq!(draft.scope, BudgetScope::Turn);
        limits.double(TurnId(1), &draft);
        assert_eq!(limits.overdraft(&SessionSpending::default(), TurnId(1), least), None);
        assert!(limits.overdraft(&SessionSpending::default(), TurnId(2), least).is_some());
    }
}
