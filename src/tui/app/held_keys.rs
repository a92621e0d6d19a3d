//! Keys that wait for the end of what was typed in one go. A letter answers a question only if it was
//! typed alone: text that arrives in one piece (pasted where the terminal does not mark pastes, sent
//! by another program, or held up on the way) is text, whatever letter it begins with.
//!
//! A letter waits no longer than the loop takes to find no further input ([`ScreenMsg::InputIdle`]).
//!
//! [`ScreenMsg::InputIdle`]: super::ScreenMsg::InputIdle

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};

use crate::tui::dialogs::DialogStack;

use super::guard::QuestionGuard;
use super::keymap::{KeyContext, KeyPress, Keymap, is_text};

/// The keys that wait, in the order in which they were typed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeldKeys {
    keys: Vec<KeyEvent>,
}

impl HeldKeys {
    /// Whether no key waits.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Takes a key event that was read at `now`, and returns the events to handle. A key that may answer
    /// the question on top, or begin a text, is held.
    pub fn add(
        &mut self,
        key: KeyEvent,
        dialogs: &mut DialogStack,
        keymap: &Keymap,
        now: Duration,
    ) -> Vec<KeyEvent> {
        if key.kind == KeyEventKind::Release {
            return vec![key];
        }
        if may_answer(&key) && (asks_for_a_letter(dialogs) || !self.is_empty()) {
            self.keys.push(key);
            return Vec::new();
        }
        let mut keys =
            if self.is_empty() { Vec::new() } else { self.as_text(dialogs, keymap, now) };
        keys.push(key);
        keys
    }

    /// Returns the keys to handle, as no more input is there. One key, however often, is that key;
    /// different ones are a text.
    pub fn settle(
        &mut self,
        dialogs: &mut DialogStack,
        keymap: &Keymap,
        now: Duration,
    ) -> Vec<KeyEvent> {
        if self.keys.windows(2).any(|pair| pair[0].code != pair[1].code) {
            return self.as_text(dialogs, keymap, now);
        }
        std::mem::take(&mut self.keys)
    }

    /// Returns the keys as a text. The question takes no answer before the user has stopped typing; if
    /// text cannot go to the input under it, the keys are dropped.
    fn as_text(
        &mut self,
        dialogs: &mut DialogStack,
        keymap: &Keymap,
        now: Duration,
    ) -> Vec<KeyEvent> {
        dialogs.on_guard(|guard| guard.text_typed(now));
        let is_dropped = |key: &KeyEvent| {
            let press = KeyPress::new(keymap, Vec::new(), *key);
            dialogs.top().is_some_and(|dialog| dialog.early_key(&press).is_none())
        };
        let keys = std::mem::take(&mut self.keys);
        if keys.first().is_some_and(is_dropped) { Vec::new() } else { keys }
    }
}

fn may_answer(key: &KeyEvent) -> bool {
    is_text(key) || key.code == KeyCode::Enter
}

/// Whether the topmost dialog takes letters for answers now. Where it has a text field, they are text.
fn asks_for_a_letter(dialogs: &DialogStack) -> bool {
    dialogs.top().is_some_and(|dialog| {
        dialog.guard().is_some_and(QuestionGuard::is_armed)
            && !dialog.place().contexts().contains(&KeyContext::Editing)
    })
}
