//! Keys that wait for the end of what was typed in one go. A letter answers a question only if it was
//! typed alone: text that arrives in one piece (pasted where the terminal does not mark pastes, sent
//! by another program, or held up on the way) is text, whatever letter it begins with.
//!
//! A letter waits no longer than the loop takes to find no further input ([`ScreenMsg::InputIdle`]).
//!
//! [`ScreenMsg::InputIdle`]: super::ScreenMsg::InputIdle

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::effect::ScreenEffect;
use super::guard::QuestionGuard;
use super::keymap::{KeyContext, KeyPress};
use super::keys;
use super::model::ScreenModel;

/// Handles a key event: holds it if it may answer a question or be the beginning of a text.
pub fn key(model: &mut ScreenModel, key: KeyEvent) -> Vec<ScreenEffect> {
    if key.kind != KeyEventKind::Release && may_answer(&key) {
        if asks_for_a_letter(model) || !model.held_keys.is_empty() {
            model.held_keys.push(key);
            return Vec::new();
        }
    } else if !model.held_keys.is_empty() && key.kind != KeyEventKind::Release {
        let mut effects = type_text(model);
        effects.extend(keys::key(model, key));
        return effects;
    }
    keys::key(model, key)
}

/// Handles the held keys once no more input is there. One key, however often, is that key; different
/// ones are a text.
pub fn input_idle(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    if model.held_keys.windows(2).any(|pair| pair[0].code != pair[1].code) {
        return type_text(model);
    }
    let held = std::mem::take(&mut model.held_keys);
    held.into_iter().flat_map(|key| keys::key(model, key)).collect()
}

/// Whether a key writes or corrects a text.
pub fn is_text(key: &KeyEvent) -> bool {
    let is_command =
        key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SUPER);
    matches!(key.code, KeyCode::Char(_) | KeyCode::Backspace) && !is_command
}

/// Enters the held keys as text. The question takes no answer before the user has stopped typing; if
/// text cannot go to the input under it, the keys are dropped.
fn type_text(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let now = model.shared.now;
    model.dialogs.on_guard(|guard| guard.text_typed(now));
    let held = std::mem::take(&mut model.held_keys);
    let keymap = Arc::clone(&model.shared.settings.keys);
    let is_dropped = |key: &KeyEvent| {
        let press = KeyPress::new(&keymap, Vec::new(), *key);
        model.dialogs.top().is_some_and(|dialog| dialog.early_key(&press).is_none())
    };
    if held.first().is_some_and(is_dropped) {
        return Vec::new();
    }
    held.into_iter().flat_map(|key| keys::key(model, key)).collect()
}

fn may_answer(key: &KeyEvent) -> bool {
    is_text(key) || key.code == KeyCode::Enter
}

/// Whether the topmost dialog takes letters for answers now. Where it has a text field, they are text.
fn asks_for_a_letter(model: &ScreenModel) -> bool {
    model.dialogs.top().is_some_and(|dialog| {
        dialog.guard().is_some_and(QuestionGuard::is_armed)
            && !dialog.place().contexts().contains(&KeyContext::Editing)
    })
}
