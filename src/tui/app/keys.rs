//! What a key does: the topmost overlay gets it, otherwise the part of the chat with the focus.
//!
//! Key sequences are followed here. A key that starts a sequence waits for the next key. A key that
//! does not continue the sequence ends it and does nothing else, except for the keys that work
//! everywhere.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};

use crate::agent;
use crate::commands::CopyArgument;
use crate::domain::{ModelName, NoticeLevel};

use super::approval::{ApprovalStage, EarlyKey};
use super::caret;
use super::changes;
use super::commands;
use super::completion_items;
use super::completion_state;
use super::editor::{ChipExpansion, EditAction};
use super::effect::ScreenEffect;
use super::focus::KeyboardFocus;
use super::folds::{self, FoldScope};
use super::history_picker;
use super::images;
use super::keymap::{
    self, AlwaysKey, ChatKey, CompletionKey, EmptyInputKey, InputKey, KeyActionId, KeyChord,
    KeyContext, KeyPress, KeyPressProgress, PaneKey, PendingKeys, SEQUENCE_TIMEOUT, ScrollAction,
};
use super::model::ScreenModel;
use super::msg::FavouriteMark;
use super::navigation;
use super::overlay::{Overlay, OverlayOutcome, ReadingOverlay, ReadingPage};
use super::pager;
use super::picker::PickerChoice;
use super::queue::Delivery;
use super::rewind;
use super::rules;
use super::scroll::ScrollAnchor;
use super::search;
use super::sidebar;
use super::transcript::BlockId;
use super::turn::{RunningTurnPhase, TurnActivity};
use super::vi;

/// Handles a key event. Starts, continues or ends a key sequence.
pub fn key(model: &mut ScreenModel, key: KeyEvent) -> Vec<ScreenEffect> {
    if key.kind == KeyEventKind::Release {
        return Vec::new();
    }
    let keys = Arc::clone(&model.shared.settings.keys);
    let begun = model.shared.pending.take().map_or_else(Vec::new, |pending| pending.chords);
    let press = KeyPress::new(&keys, begun, key);
    let mut effects = pressed(model, &press);
    match (press.progress(), press.chords()) {
        (KeyPressProgress::Incomplete, chords) => {
            let until = model.shared.now + SEQUENCE_TIMEOUT;
            model.shared.pending = Some(PendingKeys { chords: chords.to_vec(), until });
        }
        (KeyPressProgress::Known, _) | (KeyPressProgress::Unknown, [] | [_]) => {}
        (KeyPressProgress::Unknown, chords) => {
            effects.extend(on_broken_sequence(model, key, chords));
        }
    }
    effects
}

/// Does an action as if its key had been pressed, whether or not it has one.
pub fn perform(model: &mut ScreenModel, action: KeyActionId) -> Vec<ScreenEffect> {
    let keys = Arc::clone(&model.shared.settings.keys);
    pressed(model, &KeyPress::action(&keys, action))
}

/// The contexts that a key is looked up in for the current focus, in order.
pub fn contexts(model: &ScreenModel) -> &'static [KeyContext] {
    match model.overlays.last() {
        Some(Overlay::Approval(approval)) => match approval.stage {
            ApprovalStage::Choosing => &[KeyContext::Approval, KeyContext::Always],
            ApprovalStage::Rule(..) | ApprovalStage::Command(_) | ApprovalStage::Instruction(_) => {
                &[KeyContext::Field, KeyContext::Editing, KeyContext::Always]
            }
        },
        Some(Overlay::Picker(picker))
            if matches!(picker.list.chosen(), Some(PickerChoice::Model(_))) =>
        {
            &[KeyContext::Models, KeyContext::List, KeyContext::Editing, KeyContext::Always]
        }
        Some(Overlay::Picker(_)) => &[KeyContext::List, KeyContext::Editing, KeyContext::Always],
        Some(Overlay::Reading(_)) => &[KeyContext::Reading, KeyContext::Always],
        Some(Overlay::Pager(pager)) => match pager.prompt {
            Some(_) => &[KeyContext::Find, KeyContext::Editing, KeyContext::Always],
            None => &[KeyContext::Pager, KeyContext::Always],
        },
        Some(Overlay::Changes(_)) => &[KeyContext::Changes, KeyContext::Always],
        Some(Overlay::Rules(page)) => match page.stage {
            rules::RulesStage::Choosing | rules::RulesStage::Removing => {
                &[KeyContext::Rules, KeyContext::Always]
            }
            rules::RulesStage::Typing(_) => {
                &[KeyContext::Field, KeyContext::Editing, KeyContext::Always]
            }
        },
        Some(Overlay::Rewind(_)) => &[KeyContext::Rewind, KeyContext::Always],
        None if search::is_typed(model) => {
            &[KeyContext::Search, KeyContext::Editing, KeyContext::Always]
        }
        None => match model.conversation.focus {
            KeyboardFocus::Pane(_) if model.conversation.search.is_some() => {
                &[KeyContext::Match, KeyContext::Panes, KeyContext::Chat, KeyContext::Always]
            }
            KeyboardFocus::Caret(_) => &[KeyContext::Caret, KeyContext::Chat, KeyContext::Always],
            KeyboardFocus::Pane(_) => &[KeyContext::Panes, KeyContext::Chat, KeyContext::Always],
            KeyboardFocus::Sidebar => &[KeyContext::Sessions, KeyContext::Chat, KeyContext::Always],
            KeyboardFocus::Input if model.conversation.composer.is_empty() => {
                &[KeyContext::EmptyInput, KeyContext::Input, KeyContext::Chat, KeyContext::Always]
            }
            KeyboardFocus::Input => {
                &[KeyContext::Input, KeyContext::Editing, KeyContext::Chat, KeyContext::Always]
            }
        },
    }
}

/// Inserts text in one piece into whatever is being typed.
pub fn paste(model: &mut ScreenModel, text: &str) -> Vec<ScreenEffect> {
    let searches = search::is_typed(model);
    match model.overlays.last_mut() {
        Some(Overlay::Approval(approval)) if approval.stage != ApprovalStage::Choosing => {
            approval.paste(text);
        }
        Some(Overlay::Approval(approval)) if approval.guard.is_armed() => {}
        Some(Overlay::Approval(approval)) if approval.early_key == EarlyKey::Discard => {}
        Some(Overlay::Picker(picker)) => {
            picker.filter.paste(text);
            picker.list.set_query(&picker.filter.text());
        }
        None if searches => search::paste(model, text),
        None if model.conversation.focus == KeyboardFocus::Sidebar => {
            return sidebar::paste(model, text);
        }
        Some(Overlay::Pager(_)) => return pager::paste(model, text),
        Some(Overlay::Rules(page)) => {
            if let Some(field) = page.field() {
                field.paste(text);
            }
        }
        Some(Overlay::Rewind(_)) => {}
        Some(Overlay::Reading(ReadingOverlay { page: ReadingPage::HookTrust(_), .. })) => {}
        Some(Overlay::Approval(_) | Overlay::Reading(_) | Overlay::Changes(_)) | None => {
            model.conversation.focus = KeyboardFocus::Input;
            let home = model.shared.settings.home.as_deref();
            if let Some(files) = images::dropped(text, &model.shared.settings.cwd, home) {
                return images::take_files(model, files);
            }
            model.conversation.composer.paste(text);
            return completion_state::refresh(model);
        }
    }
    Vec::new()
}

/// Does an action of the chat.
pub fn chat_action(model: &mut ScreenModel, key: ChatKey) -> Vec<ScreenEffect> {
    match key {
        ChatKey::Help => {
            model.overlays.push(Overlay::Reading(ReadingOverlay::new(ReadingPage::Help)));
        }
        ChatKey::Palette => commands::open_palette(model),
        ChatKey::Sessions => return sidebar::toggle(model),
        ChatKey::FoldAll => {
            hold(model);
            return folds::toggle_all(model);
        }
        ChatKey::Focus => swap_focus(model),
        ChatKey::NextMode => return commands::next_mode(model),
        ChatKey::Back => return back(model),
        ChatKey::Scroll(how) => scroll(model, how),
        ChatKey::Jump(to) => navigation::jump(model, to),
        ChatKey::CopyAnswer => return commands::copy(model, CopyArgument::Answer),
        ChatKey::CopyCode => return commands::copy(model, CopyArgument::Code),
        ChatKey::Search => search::open(model),
    }
    Vec::new()
}

/// Folds or unfolds a pane; the rows above it keep their place.
pub fn toggle(model: &mut ScreenModel, block: BlockId) -> Vec<ScreenEffect> {
    hold(model);
    folds::toggle(model, block)
}

/// Scrolls the transcript.
pub fn scroll(model: &mut ScreenModel, how: ScrollAction) {
    let page = i32::from(model.shared.geometry.transcript.height).max(2) - 1;
    let lines = model.conversation.transcript.lines();
    match how {
        ScrollAction::LineUp => model.conversation.scroll.by(-1, lines),
        ScrollAction::LineDown => model.conversation.scroll.by(1, lines),
        ScrollAction::HalfUp => model.conversation.scroll.by(-(page / 2).max(1), lines),
        ScrollAction::HalfDown => model.conversation.scroll.by((page / 2).max(1), lines),
        ScrollAction::PageUp => model.conversation.scroll.by(-page, lines),
        ScrollAction::PageDown => model.conversation.scroll.by(page, lines),
        ScrollAction::Top => {
            if let Some(first) = model.conversation.transcript.blocks().first() {
                model.conversation.scroll.to(first.id, 0, lines);
            }
        }
        ScrollAction::Bottom => model.conversation.scroll.to_tail(),
    }
}

fn pressed(model: &mut ScreenModel, key: &KeyPress<'_>) -> Vec<ScreenEffect> {
    if let Some(key) = keymap::find(keymap::ALWAYS, key) {
        return always_key(model, key);
    }
    model.shared.leaving = None;
    match overlay_key(model, key) {
        Some(effects) => effects,
        None => chat_key(model, key),
    }
}

/// Handles a key that does not continue a started sequence; `chords` includes it.
fn on_broken_sequence(
    model: &mut ScreenModel,
    key: KeyEvent,
    chords: &[KeyChord],
) -> Vec<ScreenEffect> {
    let keys = Arc::clone(&model.shared.settings.keys);
    let alone = KeyPress::new(&keys, Vec::new(), key);
    if let Some(key) = keymap::find(keymap::ALWAYS, &alone) {
        return always_key(model, key);
    }
    if key.code != KeyCode::Esc {
        model
            .shared
            .toast(NoticeLevel::Info, format!("{} means nothing here", keymap::in_words(chords)));
    }
    Vec::new()
}

fn always_key(model: &mut ScreenModel, key: AlwaysKey) -> Vec<ScreenEffect> {
    match key {
        AlwaysKey::Redraw => vec![ScreenEffect::Redraw],
        AlwaysKey::Suspend => vec![ScreenEffect::Suspend],
        AlwaysKey::Cancel => match model.overlays.last() {
            Some(
                Overlay::Picker(_)
                | Overlay::Reading(_)
                | Overlay::Pager(_)
                | Overlay::Changes(_)
                | Overlay::Rules(_)
                | Overlay::Rewind(_),
            ) => {
                model.overlays.pop();
                Vec::new()
            }
            Some(Overlay::Approval(_)) => stop_turn(model),
            None if search::is_typed(model) => {
                search::back(model);
                Vec::new()
            }
            None => cancel(model),
        },
    }
}

/// What ctrl+c does in a front end without keys.
pub fn cancel_all(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    always_key(model, AlwaysKey::Cancel)
}

/// Clears the input, else stops the turn, else asks once, then leaves.
fn cancel(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    if !model.conversation.composer.is_empty() {
        let text = model.conversation.composer.take();
        model.conversation.completion = None;
        return commands::remember(model, &text);
    }
    if commands::is_busy(model) {
        return stop_turn(model);
    }
    if model.shared.leaving.is_some_and(|until| model.shared.now < until) {
        return vec![ScreenEffect::Quit];
    }
    let text = format!("{} again leaves slug", model.shared.settings.keys.key(AlwaysKey::Cancel));
    model.shared.toast(NoticeLevel::Info, text);
    model.shared.leaving = model.shared.toast.as_ref().map(|toast| toast.until);
    Vec::new()
}

fn back(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    model.conversation.selection = None;
    if model.conversation.search.is_some() {
        search::close(model);
        return Vec::new();
    }
    if commands::is_busy(model) {
        return stop_turn(model);
    }
    rewind::escape(model)
}

fn stop_turn(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    if let TurnActivity::Running(running) = &mut model.conversation.turn {
        running.phase = RunningTurnPhase::Stopping;
    }
    vec![ScreenEffect::CancelTurn(model.conversation.agent)]
}

/// Handles a key for the topmost overlay; `None` if the key goes to the chat.
fn overlay_key(model: &mut ScreenModel, key: &KeyPress<'_>) -> Option<Vec<ScreenEffect>> {
    let extent = model.shared.geometry.dialog.unwrap_or_default();
    let hunk_rows = Arc::clone(&model.shared.geometry.changes);
    let page = model.shared.geometry.list.map_or(1, |list| usize::from(list.height));
    // A dialog that does not take keys yet leaves them to what is under it.
    let below = match model.overlays.last_mut()? {
        // Text typed into a field of the dialog is no answer.
        Overlay::Approval(approval)
            if approval.stage == ApprovalStage::Choosing
                && !approval.guard.is_armed()
                && !is_no(key) =>
        {
            Some(approval.early_key)
        }
        Overlay::Approval(_)
        | Overlay::Picker(_)
        | Overlay::Reading(_)
        | Overlay::Pager(_)
        | Overlay::Changes(_)
        | Overlay::Rules(_)
        | Overlay::Rewind(_) => None,
    };
    let depth = match below {
        None => 1,
        Some(EarlyKey::PassThrough) => 2,
        Some(EarlyKey::Discard) => return Some(Vec::new()),
    };
    let at = model.overlays.len().checked_sub(depth)?;
    let outcome = match model.overlays.get_mut(at)? {
        Overlay::Approval(approval) => approval.key(key, extent, &hunk_rows),
        Overlay::Picker(picker) => picker.key(key, page),
        Overlay::Reading(reading) => reading.key(key, extent),
        Overlay::Pager(_) => return Some(pager::key(model, at, key)),
        Overlay::Changes(_) => return Some(changes::key(model, at, key)),
        Overlay::Rules(_) => return Some(rules::key(model, at, key)),
        Overlay::Rewind(dialog) => dialog.key(key, extent),
    };
    Some(take(model, at, outcome))
}

/// Whether the key is Escape: a "no" that needs no guard, since nobody types it by accident.
fn is_no(key: &KeyPress<'_>) -> bool {
    key.event().is_some_and(|key| key.code == KeyCode::Esc)
}

/// Does what an overlay's key handler asks for; `at` is the overlay's index.
pub fn take(model: &mut ScreenModel, at: usize, outcome: OverlayOutcome) -> Vec<ScreenEffect> {
    match outcome {
        OverlayOutcome::Stay => Vec::new(),
        OverlayOutcome::Close => {
            model.overlays.remove(at);
            Vec::new()
        }
        OverlayOutcome::Answer(id, answer) => {
            model.overlays.remove(at);
            commands::next_question(model, EarlyKey::Discard);
            vec![ScreenEffect::Agent(
                model.conversation.agent,
                agent::AgentCommand::Answer { id, answer },
            )]
        }
        OverlayOutcome::Choose(choice) => {
            model.overlays.remove(at);
            commands::choose(model, choice)
        }
        OverlayOutcome::Rewind(plan, what) => {
            vec![ScreenEffect::Agent(
                model.conversation.agent,
                agent::AgentCommand::Rewind { plan, what },
            )]
        }
        OverlayOutcome::Mark(name) => mark(model, at, name),
    }
}

/// Marks a model as a favourite in the list at overlay `at`, or removes the mark.
fn mark(model: &mut ScreenModel, at: usize, name: ModelName) -> Vec<ScreenEffect> {
    for row in model.shared.models.iter_mut().filter(|row| row.name == name) {
        row.mark = match row.mark {
            FavouriteMark::Favourite => FavouriteMark::None,
            FavouriteMark::None => FavouriteMark::Favourite,
        };
    }
    let items = completion_items::models(model);
    if let Some(Overlay::Picker(picker)) = model.overlays.get_mut(at) {
        picker.list.replace(items);
    }
    vec![ScreenEffect::ToggleFavourite(name)]
}

fn chat_key(model: &mut ScreenModel, key: &KeyPress<'_>) -> Vec<ScreenEffect> {
    if search::is_typed(model) {
        return search::typing_key(model, key);
    }
    match model.conversation.focus {
        KeyboardFocus::Pane(block) => {
            if let Some(effects) = search::found_key(model, key) {
                return effects;
            }
            match keymap::find(keymap::PANES, key) {
                Some(key) => pane_key(model, block, key),
                None => general_key(model, key),
            }
        }
        KeyboardFocus::Caret(caret) => {
            caret::key(model, caret, key).unwrap_or_else(|| general_key(model, key))
        }
        KeyboardFocus::Input => input_key(model, key),
        KeyboardFocus::Sidebar => {
            sidebar::key(model, key).unwrap_or_else(|| general_key(model, key))
        }
    }
}

fn general_key(model: &mut ScreenModel, key: &KeyPress<'_>) -> Vec<ScreenEffect> {
    keymap::find(keymap::CHAT, key).map_or_else(Vec::new, |key| chat_action(model, key))
}

fn input_key(model: &mut ScreenModel, key: &KeyPress<'_>) -> Vec<ScreenEffect> {
    if let Some(key) = keymap::find(keymap::COMPLETION, key) {
        if let Some(effects) = completion_state::key(model, key) {
            return effects;
        }
        let is_shell = model.conversation.composer.is_inserting()
            && model.conversation.composer.editor.text().starts_with('!');
        if key == CompletionKey::Complete && is_shell {
            return completion_state::open_shell(model);
        }
    }
    let width = model.shared.geometry.input.width;
    match key.event().and_then(|key| model.conversation.composer.vi_key(key, width)) {
        Some(vi::ViOutcome::Done) => return completion_state::refresh(model),
        Some(vi::ViOutcome::Older) => return older(model),
        Some(vi::ViOutcome::Newer) => {
            model.conversation.composer.newer();
            return Vec::new();
        }
        Some(vi::ViOutcome::Pass) | None => {}
    }
    let empty = model.conversation.composer.is_empty();
    if let Some(key) = empty.then(|| keymap::find(keymap::EMPTY_INPUT, key)).flatten() {
        return match key {
            EmptyInputKey::Command => type_in(model, '/'),
            EmptyInputKey::Shell => type_in(model, '!'),
            EmptyInputKey::Help => chat_action(model, ChatKey::Help),
        };
    }
    if let Some(key) = keymap::find(keymap::INPUT, key) {
        return typing_key(model, key);
    }
    if let Some(edit) = keymap::find(keymap::EDITING, key) {
        return edit_input(model, edit);
    }
    match keymap::typed(key) {
        Some(c) => type_in(model, c),
        None => general_key(model, key),
    }
}

/// Brings back the last queued message, or else an older text of the history.
fn older(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    if model.conversation.composer.is_empty() && !model.conversation.queue.items().is_empty() {
        return commands::take_back(model);
    }
    model.conversation.composer.older();
    Vec::new()
}

fn edit_input(model: &mut ScreenModel, edit: EditAction) -> Vec<ScreenEffect> {
    model.conversation.composer.edit(edit, model.shared.geometry.input.width);
    completion_state::refresh(model)
}

fn type_in(model: &mut ScreenModel, c: char) -> Vec<ScreenEffect> {
    if c == ':' {
        return completion_state::colon(model);
    }
    model.conversation.composer.type_char(c);
    completion_state::refresh(model)
}

fn typing_key(model: &mut ScreenModel, key: InputKey) -> Vec<ScreenEffect> {
    let width = model.shared.geometry.input.width;
    match key {
        InputKey::Send if model.conversation.composer.continue_line() => {
            return completion_state::refresh(model);
        }
        InputKey::Send => return commands::submit(model, Delivery::Queue),
        InputKey::Steer => return commands::submit(model, Delivery::Steer),
        InputKey::Newline => return type_in(model, '\n'),
        InputKey::File => return type_in(model, '@'),
        InputKey::Up
            if model.conversation.composer.is_empty()
                && !model.conversation.queue.items().is_empty() =>
        {
            return commands::take_back(model);
        }
        InputKey::Up => model.conversation.composer.up(width),
        InputKey::Down => model.conversation.composer.down(width),
        InputKey::History => return history_picker::open(model),
        InputKey::OpenEditor => {
            return vec![ScreenEffect::OpenEditor { text: model.conversation.composer.expanded() }];
        }
        InputKey::PasteImage => return images::take_clipboard(model),
        InputKey::Unfold => match model.conversation.composer.editor.expand_chip() {
            ChipExpansion::Done => return completion_state::refresh(model),
            ChipExpansion::TooLong => {
                let key = model.shared.settings.keys.key(InputKey::OpenEditor);
                let text = format!(
                    "This paste is too long to be edited here. {key} opens it in your editor."
                );
                model.shared.toast(NoticeLevel::Warning, text);
            }
            ChipExpansion::NoChip => {
                model.shared.toast(NoticeLevel::Info, "Put the caret beside a paste to unfold it.");
            }
        },
    }
    Vec::new()
}

fn pane_key(model: &mut ScreenModel, block: BlockId, key: PaneKey) -> Vec<ScreenEffect> {
    match key {
        PaneKey::Toggle => {
            return search::open_hidden(model).unwrap_or_else(|| toggle(model, block));
        }
        PaneKey::ToggleKind => {
            hold(model);
            return folds::toggle_like(model, block, FoldScope::Kind);
        }
        PaneKey::ToggleTools => {
            hold(model);
            return folds::toggle_like(model, block, FoldScope::AllCalls);
        }
        PaneKey::Previous => step_pane(model, block, -1),
        PaneKey::Next => step_pane(model, block, 1),
        PaneKey::View => return commands::view_block(model, block),
        PaneKey::Copy => return commands::copy_block(model, block),
        PaneKey::Fork => return commands::fork_at(model, block),
        PaneKey::Rewind => return rewind::at(model, block),
        PaneKey::Help => return chat_action(model, ChatKey::Help),
        PaneKey::Scroll(how) => scroll(model, how),
        PaneKey::Jump(to) => navigation::jump(model, to),
        PaneKey::CopyCode => return commands::copy_code_of(model, block),
        PaneKey::Search => search::open(model),
        PaneKey::Select => caret::enter(model, block),
    }
    Vec::new()
}

/// Moves the focus to the lowest pane on screen, or back to the input.
fn swap_focus(model: &mut ScreenModel) {
    model.conversation.focus = match model.conversation.focus {
        KeyboardFocus::Pane(_) | KeyboardFocus::Caret(_) | KeyboardFocus::Sidebar => {
            KeyboardFocus::Input
        }
        KeyboardFocus::Input => {
            let shown = model.shared.geometry.rows.iter().rev().map(|row| row.block);
            let pane = shown.clone().find(|id| {
                model
                    .conversation
                    .transcript
                    .get(*id)
                    .is_some_and(super::block::TranscriptBlock::is_pane)
            });
            match pane.or_else(|| shown.clone().next()) {
                Some(block) => KeyboardFocus::Pane(block),
                None => KeyboardFocus::Input,
            }
        }
    };
}

fn step_pane(model: &mut ScreenModel, from: BlockId, by: isize) {
    let at = model.conversation.transcript.index(from).saturating_add_signed(by);
    let Some(block) = model.conversation.transcript.blocks().get(at).map(|block| block.id) else {
        return;
    };
    model.conversation.focus = KeyboardFocus::Pane(block);
    let visible = model.shared.geometry.rows.iter().any(|row| row.block == block);
    if !visible {
        model.conversation.scroll.to(block, 2, model.conversation.transcript.lines());
    }
}

/// Keeps the top row in place while something below it changes its height.
pub fn hold(model: &mut ScreenModel) {
    let top = model.shared.geometry.top;
    if top != ScrollAnchor::Tail {
        model.conversation.scroll.hold(top, model.conversation.transcript.lines());
    }
}
