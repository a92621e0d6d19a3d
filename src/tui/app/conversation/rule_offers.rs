//! Counts equal answers of a session: who has said yes to the same call five times is offered a rule for
//! it once.
//!
//! The offer is a line in the next question about that call. It moves no mark and takes no key that the
//! question does not have. Any other answer than a yes starts the count over, and an offer that was not
//! taken is not repeated in the session.

use std::collections::BTreeMap;

use crate::domain::{ApprovalAnswer, ApprovalKind, ApprovalRequest, SessionId};

/// How many times the same call was allowed before a rule is offered.
pub const ENOUGH_YESES: usize = 5;
/// The most different calls that are counted.
const MOST_CALLS: usize = 1_000;

/// The answers of a session to calls that a rule could allow, by these rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleOffers {
    session: Option<SessionId>,
    calls: BTreeMap<Vec<String>, AnswerCount>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct AnswerCount {
    yeses: usize,
    is_refused: bool,
}

/// The rules by which a request is counted; none where no rule is offered: for what is hard to take back
/// or imitates something else, for protected places, and for edits, of which the question offers all.
pub fn counted_rules(request: &ApprovalRequest) -> &[String] {
    let is_plain = request.kind == ApprovalKind::Permission
        && request.dangers.is_empty()
        && request.preview.is_none()
        && request.lookalikes().is_empty();
    if is_plain { &request.allow_rules } else { &[] }
}

impl RuleOffers {
    /// How many times a call with these rules was allowed, if that is often enough for an offer.
    pub fn offered(&self, session: Option<SessionId>, rules: &[String]) -> Option<usize> {
        let count = self.calls.get(rules).filter(|_| session == self.session)?;
        (count.yeses >= ENOUGH_YESES && !count.is_refused).then_some(count.yeses)
    }

    /// Counts an answer to a call with these rules.
    pub fn note(&mut self, session: Option<SessionId>, rules: &[String], answer: &ApprovalAnswer) {
        if session != self.session {
            *self = Self { session, calls: BTreeMap::new() };
        }
        let is_new = !self.calls.contains_key(rules);
        if rules.is_empty() || (is_new && self.calls.len() >= MOST_CALLS) {
            return;
        }
        let was_offered = self.offered(session, rules).is_some();
        let count = self.calls.entry(rules.to_owned()).or_default();
        match answer {
            ApprovalAnswer::Once => count.yeses += 1,
            ApprovalAnswer::Session { .. }
            | ApprovalAnswer::Always { .. }
            | ApprovalAnswer::OnTerminal
            | ApprovalAnswer::Part { .. }
            | ApprovalAnswer::Edited { .. }
            | ApprovalAnswer::Deny { .. }
            | ApprovalAnswer::Never { .. } => count.yeses = 0,
        }
        count.is_refused |= was_offered;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO: ApprovalAnswer = ApprovalAnswer::Deny { instruction: None };

    #[test]
    fn five_yeses_in_a_row_offer_a_rule_once() {
        let rules = |rule: &str| vec![rule.to_owned()];
        let (test, make) = (rules("Bash(cargo test)"), rules("Bash(make)"));
        let mut offers = RuleOffers::default();
        for round in 0..ENOUGH_YESES {
            assert_eq!(offers.offered(None, &test), None, "{round}");
            offers.note(None, &test, &ApprovalAnswer::Once);
            offers.note(None, &make, &if round == 3 { NO } else { ApprovalAnswer::Once });
        }
        assert_eq!(offers.offered(None, &test), Some(5));
        assert_eq!(offers.offered(None, &make), None, "a no starts over");
        assert_eq!(offers.offered(Some(SessionId::generate()), &test), None, "another session");
        // The yes that takes no rule refuses the offer.
        for _ in 0..20 {
            offers.note(None, &test, &ApprovalAnswer::Once);
            assert_eq!(offers.offered(None, &test), None);
        }
        // So is a rule that was saved and removed again.
        for _ in 0..6 {
            offers.note(None, &make, &ApprovalAnswer::Once);
        }
        offers.note(None, &make, &ApprovalAnswer::Always { rules: make.clone() });
        for _ in 0..6 {
            offers.note(None, &make, &ApprovalAnswer::Once);
        }
        assert_eq!(offers.offered(None, &make), None);
        offers.note(Some(SessionId::generate()), &test, &ApprovalAnswer::Once);
        assert_eq!(offers.calls.len(), 1, "counts of the session before are gone");
    }

    #[test]
    fn the_count_is_bounded() {
        let mut offers = RuleOffers::default();
        for number in 0..MOST_CALLS + 50 {
            offers.note(None, &[number.to_string()], &ApprovalAnswer::Once);
        }
        offers.note(None, &[], &ApprovalAnswer::Once);
        assert_eq!(offers.calls.len(), MOST_CALLS);
    }
}
