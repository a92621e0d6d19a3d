//! What happens to keys and pastes that come while a question is on screen and are no answers to it.

use std::time::Duration;

use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{self, KeyPress};

use super::dialog::EarlyKey;

/// What happens to a key before a question takes answers; `None` if the question takes the key. A letter
/// that answers nothing begins a text for the input.
pub(super) fn early_key(
    guard: QuestionGuard,
    early_key: EarlyKey,
    key: &KeyPress<'_>,
    answers: bool,
) -> Option<EarlyKey> {
    let is_text = key.event().is_some_and(|key| keymap::is_text(&key));
    match (guard.is_armed(), early_key) {
        (true, _) | (false, EarlyKey::PassThrough) if is_text && !answers => Some(EarlyKey::Text),
        (true, _) => None,
        (false, _) if guard.is_typing() => Some(EarlyKey::PassThrough),
        (false, early_key) => Some(early_key),
    }
}

/// Takes a paste, which is text: it goes to the input (`None`), except one that came before the user was
/// back here.
pub(super) fn paste(
    guard: &mut QuestionGuard,
    early_key: EarlyKey,
    now: Duration,
) -> Option<Vec<Intent>> {
    let is_for_input = guard.is_armed() || guard.is_typing();
    if !is_for_input && early_key == EarlyKey::Discard {
        return Some(Vec::new());
    }
    guard.text_typed(now);
    None
}
