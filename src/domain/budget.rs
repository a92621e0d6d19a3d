//! How much money and how many tokens may be spent before slug asks the user.

use std::fmt;
use std::str::FromStr;

use super::Money;

/// A budget in money, in tokens, or in both; the limit that is reached first counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsageBudget {
    /// The limit in money; `None` for no limit.
    pub money: Option<Money>,
    /// The limit in tokens that a model has to read or write; cached tokens do not count. `None`
    /// for no limit.
    pub tokens: Option<u64>,
}

/// The limits of one agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AgentBudgets {
    /// The limit of each turn.
    pub turn: UsageBudget,
    /// The limit of the whole session.
    pub session: UsageBudget,
}

/// The text is not a budget.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a budget: write 2.50 (dollars), 500k tokens, or both with a comma between them")]
pub struct ParseBudgetError;

impl UsageBudget {
    /// The budget multiplied by `factor`, capped at the largest number.
    #[must_use]
    pub fn times(self, factor: u64) -> Self {
        Self {
            money: self.money.map(|money| money.times(factor)),
            tokens: self.tokens.map(|tokens| tokens.saturating_mul(factor)),
        }
    }
}

impl FromStr for UsageBudget {
    type Err = ParseBudgetError;

    fn from_str(text: &str) -> Result<Self, ParseBudgetError> {
        let mut budget = Self::default();
        for part in text.split(',') {
            let part = part.trim();
            match part.strip_suffix("tokens").or_else(|| part.strip_suffix("token")) {
                Some(count) if budget.tokens.is_none() => budget.tokens = Some(tokens(count)?),
                None if budget.money.is_none() => {
                    let money: Money = part.parse().map_err(|_| ParseBudgetError)?;
                    budget.money = Some(money);
                }
                Some(_) | None => return Err(ParseBudgetError),
            }
        }
        if budget.money == Some(Money::ZERO) || budget.tokens == Some(0) {
            return Err(ParseBudgetError);
        }
        Ok(budget)
    }
}

/// Reads a whole number, with an optional suffix for thousands or millions.
fn tokens(text: &str) -> Result<u64, ParseBudgetError> {
    let text = text.trim();
    let (digits, unit) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000),
        None => text.strip_suffix(['m', 'M']).map_or((text, 1), |digits| (digits, 1_000_000)),
    };
    let count: u64 = digits.trim().parse().map_err(|_| ParseBudgetError)?;
    count.checked_mul(unit).ok_or(ParseBudgetError)
}

impl fmt::Display for UsageBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.money, self.tokens) {
            (Some(money), Some(tokens)) => write!(f, "{money}, {tokens} tokens"),
            (Some(money), None) => write!(f, "{money}"),
            (None, Some(tokens)) => write!(f, "{tokens} tokens"),
            (None, None) => f.write_str("none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_read_in_money_and_tokens() {
        let budget = |nanos: Option<u64>, tokens| {
            Some(UsageBudget { money: nanos.map(Money::from_nanos), tokens })
        };
        let table = [
            ("2.50", budget(Some(2_500_000_000), None)),
            ("$2.50", budget(Some(2_500_000_000), None)),
            ("500k tokens", budget(None, Some(500_000))),
            ("2M tokens", budget(None, Some(2_000_000))),
            ("1200tokens", budget(None, Some(1200))),
            ("$1, 500k tokens", budget(Some(1_000_000_000), Some(500_000))),
            ("", None),
            ("0", None),
            ("0 tokens", None),
            ("-1", None),
            ("1, 2", None),
            ("many tokens", None),
            ("99999999999999999999M tokens", None),
        ];
        for (text, expected) in table {
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
    }
}
