//! Merges the verdicts of all hooks of one event into one. Pure.
//!
//! The strictest decision holds: block, then ask, then allow; among equals, that of the first hook
//! in order. Two hooks that would change a call in different ways block it, because either change
//! may be the one that makes the call harmless.

use serde_json::Value;

use super::hook::HookOrigin;
use super::verdict::{HookDecision, HookVerdict};

/// What the hooks of one event want, all together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MergedHookVerdict {
    pub decision: MergedHookDecision,
    /// The changed arguments of the call, and the hook that changed them.
    pub input: Option<(Value, HookOrigin)>,
    /// Texts for the model, in the hooks' order.
    pub contexts: Vec<String>,
    /// Texts for the user: what hooks say, and what went wrong.
    pub messages: Vec<HookMessage>,
    /// Failures that do not block.
    pub faults: Vec<HookMessage>,
    /// Why the turn is to end; `None` lets it continue.
    pub stop: Option<HookMessage>,
}

/// Whether the event may continue, and which hook decided that.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum MergedHookDecision {
    /// No hook decided.
    #[default]
    Nothing,
    Allow(HookMessage),
    /// A hook wants the user to be asked.
    Ask(HookMessage),
    Block(HookMessage),
}

/// A text from a hook, with the hook that it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookMessage {
    pub text: String,
    pub origin: HookOrigin,
}

impl MergedHookVerdict {
    /// Merges the verdicts, given in the order of their hooks.
    pub fn of<'a>(verdicts: impl IntoIterator<Item = (&'a HookOrigin, HookVerdict)>) -> Self {
        let mut merged = Self::default();
        for (origin, verdict) in verdicts {
            let message = |text: String| HookMessage { text, origin: origin.clone() };
            let decision = match verdict.decision {
                HookDecision::Nothing => MergedHookDecision::Nothing,
                HookDecision::Allow(reason) => MergedHookDecision::Allow(message(reason)),
                HookDecision::Ask(reason) => MergedHookDecision::Ask(message(reason)),
                HookDecision::Block(reason) => MergedHookDecision::Block(message(reason)),
            };
            merged.apply_decision(decision);
            match (&merged.input, verdict.input) {
                (_, None) => {}
                (None, Some(input)) => merged.input = Some((input, origin.clone())),
                (Some((before, _)), Some(input)) if *before == input => {}
                (Some((_, first)), Some(_)) => {
                    let text = format!(
                        "This hook and {first} change the call in different ways. Keep one of them."
                    );
                    merged.apply_decision(MergedHookDecision::Block(message(text)));
                }
            }
            merged.contexts.extend(verdict.context);
            merged.messages.extend(verdict.message.map(message));
            merged.faults.extend(verdict.fault.map(message));
            if merged.stop.is_none() {
                merged.stop = verdict.stop.map(message);
            }
        }
        merged
    }

    fn apply_decision(&mut self, decision: MergedHookDecision) {
        if decision.strictness() > self.decision.strictness() {
            self.decision = decision;
        }
    }
}

impl MergedHookDecision {
    fn strictness(&self) -> u8 {
        match self {
            Self::Nothing => 0,
            Self::Allow(_) => 1,
            Self::Ask(_) => 2,
            Self::Block(_) => 3,
        }
    }
}
