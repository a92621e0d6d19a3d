//! The verdicts of the hooks of one moment as one. Pure.
//!
//! The strictest word holds: block, then ask, then allow; of equals the first in the hooks' order.
//! Two hooks that would change a call in different ways block it, for either change may be what
//! makes the call harmless.

use serde_json::Value;

use super::hook::HookOrigin;
use super::verdict::{HookDecision, HookVerdict};

/// What the hooks of a moment want.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MergedHookVerdict {
    /// Whether it may go on.
    pub decision: MergedHookDecision,
    /// The call's arguments as they are to be, and who says so.
    pub input: Option<(Value, HookOrigin)>,
    /// For the model, in the hooks' order.
    pub contexts: Vec<String>,
    /// For the person: what hooks have to say, and what went wrong.
    pub messages: Vec<HookMessage>,
    /// What went wrong without blocking.
    pub faults: Vec<HookMessage>,
    /// Why the turn is to end.
    pub stop: Option<HookMessage>,
}

/// Whether it may go on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum MergedHookDecision {
    /// No hook says anything of it.
    #[default]
    Nothing,
    /// A hook says yes.
    Allow(HookMessage),
    /// A hook wants the person asked.
    Ask(HookMessage),
    /// A hook says no.
    Block(HookMessage),
}

/// Something that a hook says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookMessage {
    /// What.
    pub text: String,
    /// Which hook.
    pub origin: HookOrigin,
}

impl MergedHookVerdict {
    /// Of these verdicts, in the order of their hooks.
    pub fn of<'a>(verdicts: impl IntoIterator<Item = (&'a HookOrigin, HookVerdict)>) -> Self {
        let mut merged = Self::default();
        for (origin, verdict) in verdicts {
            let said = |text: String| HookMessage { text, origin: origin.clone() };
            let word = match verdict.decision {
                HookDecision::Nothing => MergedHookDecision::Nothing,
                HookDecision::Allow(reason) => MergedHookDecision::Allow(said(reason)),
                HookDecision::Ask(reason) => MergedHookDecision::Ask(said(reason)),
                HookDecision::Block(reason) => MergedHookDecision::Block(said(reason)),
            };
            merged.apply_decision(word);
            match (&merged.input, verdict.input) {
                (_, None) => {}
                (None, Some(input)) => merged.input = Some((input, origin.clone())),
                (Some((before, _)), Some(input)) if *before == input => {}
                (Some((_, first)), Some(_)) => {
                    let text = format!("It and {first} would change the call in different ways.");
                    merged.apply_decision(MergedHookDecision::Block(said(text)));
                }
            }
            merged.contexts.extend(verdict.context);
            merged.messages.extend(verdict.message.map(said));
            merged.faults.extend(verdict.fault.map(said));
            if merged.stop.is_none() {
                merged.stop = verdict.stop.map(said);
            }
        }
        merged
    }

    fn apply_decision(&mut self, word: MergedHookDecision) {
        if word.strictness() > self.decision.strictness() {
            self.decision = word;
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
