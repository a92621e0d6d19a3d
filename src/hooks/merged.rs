//! The verdicts of the hooks of one moment as one. Pure.
//!
//! The strictest word holds: block, then ask, then allow; of equals the first in the hooks' order.
//! Two hooks that would change a call in different ways block it, for either change may be what
//! makes the call harmless.

use serde_json::Value;

use super::hook::Origin;
use super::verdict::{Told, Verdict};

/// What the hooks of a moment want.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Merged {
    /// Whether it may go on.
    pub word: Word,
    /// The call's arguments as they are to be, and who says so.
    pub input: Option<(Value, Origin)>,
    /// For the model, in the hooks' order.
    pub contexts: Vec<String>,
    /// For the person: what hooks have to say, and what went wrong.
    pub messages: Vec<Said>,
    /// What went wrong without blocking.
    pub faults: Vec<Said>,
    /// Why the turn is to end.
    pub stop: Option<Said>,
}

/// Whether it may go on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Word {
    /// No hook says anything of it.
    #[default]
    Nothing,
    /// A hook says yes.
    Allow(Said),
    /// A hook wants the person asked.
    Ask(Said),
    /// A hook says no.
    Block(Said),
}

/// Something that a hook says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// What.
    pub text: String,
    /// Which hook.
    pub origin: Origin,
}

impl Merged {
    /// Of these verdicts, in the order of their hooks.
    pub fn of<'a>(verdicts: impl IntoIterator<Item = (&'a Origin, Verdict)>) -> Self {
        let mut merged = Self::default();
        for (origin, verdict) in verdicts {
            let said = |text: String| Said { text, origin: origin.clone() };
            let word = match verdict.word {
                Told::Nothing => Word::Nothing,
                Told::Allow(reason) => Word::Allow(said(reason)),
                Told::Ask(reason) => Word::Ask(said(reason)),
                Told::Block(reason) => Word::Block(said(reason)),
            };
            merged.hear(word);
            match (&merged.input, verdict.input) {
                (_, None) => {}
                (None, Some(input)) => merged.input = Some((input, origin.clone())),
                (Some((before, _)), Some(input)) if *before == input => {}
                (Some((_, first)), Some(_)) => {
                    let text = format!("It and {first} would change the call in different ways.");
                    merged.hear(Word::Block(said(text)));
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

    fn hear(&mut self, word: Word) {
        if word.strictness() > self.word.strictness() {
            self.word = word;
        }
    }
}

impl Word {
    fn strictness(&self) -> u8 {
        match self {
            Self::Nothing => 0,
            Self::Allow(_) => 1,
            Self::Ask(_) => 2,
            Self::Block(_) => 3,
        }
    }
}
