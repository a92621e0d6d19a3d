//! What a key does: the topmost overlay gets it, else the part of the chat that has the focus.
//!
//! Sequences are followed here: a key that begins one waits for the next, and one that does not go
//! on with it ends it and does nothing else, but for the keys that work everywhere.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};

use crate::agent;
use crate::commands::CopyArgument;
use crate::domain::{ModelName, NoticeLevel};

use super::approval::{Stage, Stray};
use super::caret;
use super::changes;
use super::commands;
use super::complete;
use super::completing;
use super::editor::{Edit, Unfolded};
use super::effect::Effect;
use super::folds::{self, Reach};
use super::images;
use super::keymap::{
    self, ActionId, AlwaysKey, ChatKey, Chord, CompletionKey, Context, EmptyInputKey, InputKey,
    PATIENCE, PaneKey, Pending, Press, Progress, Scrolling,
};
use super::model::{Focus, Model};
use super::moving;
use super::msg::Mark;
use super::overlay::{Overlay, Page, Reading, Step};
use super::pager;
use super::picker::Choice;
use super::queue::Goes;
use super::recall;
use super::rewind;
use super::rules;
use super::scroll::Anchor;
use super::search;
use super::sidebar;
use super::transcript::BlockId;
use super::turn::{Phase, Turn};
use super::vi;

/// A key.
pub fn key(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    if key.kind == KeyEventKind::Release {
        return Vec::new();
    }
    let keys = Arc::clone(&model.settings.keys);
    let begun = model.pending.take().map_or_else(Vec::new, |pending| pending.chords);
    let press = Press::new(&keys, begun, key);
    let mut effects = pressed(model, &press);
    match (press.progress(), press.chords()) {
        (Progress::Waits, chords) => {
            let until = model.now + PATIENCE;
            model.pending = Some(Pending { chords: chords.to_vec(), until });
        }
        (Progress::Known, _) | (Progress::Unknown, [] | [_]) => {}
        (Progress::Unknown, chords) => effects.extend(broken_off(model, key, chords)),
    }
    effects
}

/// Does what the key of an action would do, had it one.
pub fn perform(model: &mut Model, action: ActionId) -> Vec<Effect> {
    let keys = Arc::clone(&model.settings.keys);
    pressed(model, &Press::action(&keys, action))
}

/// The contexts that a key is asked for where the focus is now, in the order they are asked.
pub fn contexts(model: &Model) -> &'static [Context] {
    match model.overlays.last() {
        Some(Overlay::Approval(approval)) => match approval.stage {
            Stage::Choosing => &[Context::Approval, Context::Always],
            Stage::Rule(..) | Stage::Command(_) | Stage::Instruction(_) => {
                &[Context::Field, Context::Editing, Context::Always]
            }
        },
        Some(Overlay::Picker(picker)) if matches!(picker.list.chosen(), Some(Choice::Model(_))) => {
            &[Context::Models, Context::List, Context::Editing, Context::Always]
        }
        Some(Overlay::Picker(_)) => &[Context::List, Context::Editing, Context::Always],
        Some(Overlay::Reading(_)) => &[Context::Reading, Context::Always],
        Some(Overlay::Pager(pager)) => match pager.prompt {
            Some(_) => &[Context::Find, Context::Editing, Context::Always],
            None => &[Context::Pager, Context::Always],
        },
        Some(Overlay::Changes(_)) => &[Context::Changes, Context::Always],
        Some(Overlay::Rules(page)) => match page.stage {
            rules::Stage::Choosing | rules::Stage::Removing => &[Context::Rules, Context::Always],
            rules::Stage::Typing(_) => &[Context::Field, Context::Editing, Context::Always],
        },
        Some(Overlay::Rewind(_)) => &[Context::Rewind, Context::Always],
        None if search::is_typed(model) => &[Context::Search, Context::Editing, Context::Always],
        None => match model.focus {
            Focus::Pane(_) if model.search.is_some() => {
                &[Context::Match, Context::Panes, Context::Chat, Context::Always]
            }
            Focus::Caret(_) => &[Context::Caret, Context::Chat, Context::Always],
            Focus::Pane(_) => &[Context::Panes, Context::Chat, Context::Always],
            Focus::Sidebar => &[Context::Sessions, Context::Chat, Context::Always],
            Focus::Input if model.composer.is_empty() => {
                &[Context::EmptyInput, Context::Input, Context::Chat, Context::Always]
            }
            Focus::Input => &[Context::Input, Context::Editing, Context::Chat, Context::Always],
        },
    }
}

/// Text in one piece, for whatever is being typed.
pub fn paste(model: &mut Model, text: &str) -> Vec<Effect> {
    let searches = search::is_typed(model);
    match model.overlays.last_mut() {
        Some(Overlay::Approval(approval)) if approval.stage != Stage::Choosing => {
            approval.paste(text);
        }
        Some(Overlay::Approval(approval)) if approval.guard.is_armed() => {}
        Some(Overlay::Approval(approval)) if approval.stray == Stray::Nowhere => {}
        Some(Overlay::Picker(picker)) => {
            picker.filter.paste(text);
            picker.list.set_query(&picker.filter.text());
        }
        None if searches => search::paste(model, text),
        None if model.focus == Focus::Sidebar => return sidebar::paste(model, text),
        Some(Overlay::Pager(_)) => return pager::paste(model, text),
        Some(Overlay::Rules(page)) => {
            if let Some(field) = page.field() {
                field.paste(text);
            }
        }
        Some(Overlay::Rewind(_)) => {}
        Some(Overlay::Reading(Reading { page: Page::HookTrust(_), .. })) => {}
        Some(Overlay::Approval(_) | Overlay::Reading(_) | Overlay::Changes(_)) | None => {
            model.focus = Focus::Input;
            let home = model.settings.home.as_deref();
            if let Some(files) = images::dropped(text, &model.settings.cwd, home) {
                return images::take_files(model, files);
            }
            model.composer.paste(text);
            return completing::refresh(model);
        }
    }
    Vec::new()
}

/// Does what a key of the chat does.
pub fn chat_action(model: &mut Model, key: ChatKey) -> Vec<Effect> {
    match key {
        ChatKey::Help => model.overlays.push(Overlay::Reading(Reading::new(Page::Help))),
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
        ChatKey::Jump(to) => moving::jump(model, to),
        ChatKey::CopyAnswer => return commands::copy(model, CopyArgument::Answer),
        ChatKey::CopyCode => return commands::copy(model, CopyArgument::Code),
        ChatKey::Search => search::open(model),
    }
    Vec::new()
}

/// Folds or unfolds a pane; the rows above it stay where they are.
pub fn toggle(model: &mut Model, block: BlockId) -> Vec<Effect> {
    hold(model);
    folds::toggle(model, block)
}

/// Moves through the transcript.
pub fn scroll(model: &mut Model, how: Scrolling) {
    let page = i32::from(model.geometry.transcript.height).max(2) - 1;
    let lines = model.transcript.lines();
    match how {
        Scrolling::LineUp => model.scroll.by(-1, lines),
        Scrolling::LineDown => model.scroll.by(1, lines),
        Scrolling::HalfUp => model.scroll.by(-(page / 2).max(1), lines),
        Scrolling::HalfDown => model.scroll.by((page / 2).max(1), lines),
        Scrolling::PageUp => model.scroll.by(-page, lines),
        Scrolling::PageDown => model.scroll.by(page, lines),
        Scrolling::Top => {
            if let Some(first) = model.transcript.blocks().first() {
                model.scroll.to(first.id, 0, lines);
            }
        }
        Scrolling::Bottom => model.scroll.to_tail(),
    }
}

fn pressed(model: &mut Model, key: &Press<'_>) -> Vec<Effect> {
    if let Some(key) = keymap::find(keymap::ALWAYS, key) {
        return always_key(model, key);
    }
    model.leaving = None;
    match overlay_key(model, key) {
        Some(effects) => effects,
        None => chat_key(model, key),
    }
}

/// The last of these keys does not go on with the sequence.
fn broken_off(model: &mut Model, key: KeyEvent, chords: &[Chord]) -> Vec<Effect> {
    let keys = Arc::clone(&model.settings.keys);
    let alone = Press::new(&keys, Vec::new(), key);
    if let Some(key) = keymap::find(keymap::ALWAYS, &alone) {
        return always_key(model, key);
    }
    if key.code != KeyCode::Esc {
        model.toast(NoticeLevel::Info, format!("{} means nothing here", keymap::in_words(chords)));
    }
    Vec::new()
}

fn always_key(model: &mut Model, key: AlwaysKey) -> Vec<Effect> {
    match key {
        AlwaysKey::Redraw => vec![Effect::Redraw],
        AlwaysKey::Suspend => vec![Effect::Suspend],
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

/// What ctrl+c does where there are no keys.
pub fn cancel_all(model: &mut Model) -> Vec<Effect> {
    always_key(model, AlwaysKey::Cancel)
}

/// Clears the input, then stops the turn, then asks once, then leaves.
fn cancel(model: &mut Model) -> Vec<Effect> {
    if !model.composer.is_empty() {
        let text = model.composer.take();
        model.completion = None;
        return commands::remember(model, &text);
    }
    if commands::something_runs(model) {
        return stop_turn(model);
    }
    if model.leaving.is_some_and(|until| model.now < until) {
        return vec![Effect::Quit];
    }
    let text = format!("{} again leaves slug", model.settings.keys.key(AlwaysKey::Cancel));
    model.toast(NoticeLevel::Info, text);
    model.leaving = model.toast.as_ref().map(|toast| toast.until);
    Vec::new()
}

fn back(model: &mut Model) -> Vec<Effect> {
    model.selection = None;
    if model.search.is_some() {
        search::close(model);
        return Vec::new();
    }
    if commands::something_runs(model) {
        return stop_turn(model);
    }
    rewind::escape(model)
}

fn stop_turn(model: &mut Model) -> Vec<Effect> {
    if let Turn::Running(running) = &mut model.turn {
        running.phase = Phase::Stopping;
    }
    vec![Effect::CancelTurn]
}

/// A key for the topmost overlay. `None` where it goes to the chat.
fn overlay_key(model: &mut Model, key: &Press<'_>) -> Option<Vec<Effect>> {
    let extent = model.geometry.dialog.unwrap_or_default();
    let places = Arc::clone(&model.geometry.changes);
    let page = model.geometry.list.map_or(1, |list| usize::from(list.height));
    // A dialog that does not take keys yet leaves them to what is below it.
    let below = match model.overlays.last_mut()? {
        // What is typed into one of its fields is no answer.
        Overlay::Approval(approval)
            if approval.stage == Stage::Choosing && !approval.guard.is_armed() && !is_no(key) =>
        {
            Some(approval.stray)
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
        Some(Stray::Below) => 2,
        Some(Stray::Nowhere) => return Some(Vec::new()),
    };
    let at = model.overlays.len().checked_sub(depth)?;
    let step = match model.overlays.get_mut(at)? {
        Overlay::Approval(approval) => approval.key(key, extent, &places),
        Overlay::Picker(picker) => picker.key(key, page),
        Overlay::Reading(reading) => reading.key(key, extent),
        Overlay::Pager(_) => return Some(pager::key(model, at, key)),
        Overlay::Changes(_) => return Some(changes::key(model, at, key)),
        Overlay::Rules(_) => return Some(rules::key(model, at, key)),
        Overlay::Rewind(dialog) => dialog.key(key, extent),
    };
    Some(take(model, at, step))
}

/// Escape is a "no" that nobody types by accident.
fn is_no(key: &Press<'_>) -> bool {
    key.event().is_some_and(|key| key.code == KeyCode::Esc)
}

/// Does what an overlay's step asks for.
pub fn take(model: &mut Model, at: usize, step: Step) -> Vec<Effect> {
    match step {
        Step::Stay => Vec::new(),
        Step::Close => {
            model.overlays.remove(at);
            Vec::new()
        }
        Step::Answer(id, answer) => {
            model.overlays.remove(at);
            commands::next_question(model, Stray::Nowhere);
            vec![Effect::Agent(agent::AgentCommand::Answer { id, answer })]
        }
        Step::Choose(choice) => {
            model.overlays.remove(at);
            commands::choose(model, choice)
        }
        Step::Rewind(plan, what) => {
            vec![Effect::Agent(agent::AgentCommand::Rewind { plan, what })]
        }
        Step::Mark(name) => mark(model, at, name),
    }
}

/// Marks a model in the list that is open at `at`, or takes its mark off.
fn mark(model: &mut Model, at: usize, name: ModelName) -> Vec<Effect> {
    for row in model.models.iter_mut().filter(|row| row.name == name) {
        row.mark = match row.mark {
            Mark::Favourite => Mark::None,
            Mark::None => Mark::Favourite,
        };
    }
    let items = complete::models(model);
    if let Some(Overlay::Picker(picker)) = model.overlays.get_mut(at) {
        picker.list.replace(items);
    }
    vec![Effect::ToggleFavourite(name)]
}

fn chat_key(model: &mut Model, key: &Press<'_>) -> Vec<Effect> {
    if search::is_typed(model) {
        return search::typing_key(model, key);
    }
    match model.focus {
        Focus::Pane(block) => {
            if let Some(effects) = search::found_key(model, key) {
                return effects;
            }
            match keymap::find(keymap::PANES, key) {
                Some(key) => pane_key(model, block, key),
                None => general_key(model, key),
            }
        }
        Focus::Caret(caret) => {
            caret::key(model, caret, key).unwrap_or_else(|| general_key(model, key))
        }
        Focus::Input => input_key(model, key),
        Focus::Sidebar => sidebar::key(model, key).unwrap_or_else(|| general_key(model, key)),
    }
}

fn general_key(model: &mut Model, key: &Press<'_>) -> Vec<Effect> {
    keymap::find(keymap::CHAT, key).map_or_else(Vec::new, |key| chat_action(model, key))
}

fn input_key(model: &mut Model, key: &Press<'_>) -> Vec<Effect> {
    if let Some(key) = keymap::find(keymap::COMPLETION, key) {
        if let Some(effects) = completing::key(model, key) {
            return effects;
        }
        let is_shell =
            model.composer.is_inserting() && model.composer.editor.text().starts_with('!');
        if key == CompletionKey::Complete && is_shell {
            return completing::open_shell(model);
        }
    }
    let width = model.geometry.input.width;
    match key.event().and_then(|key| model.composer.vi_key(key, width)) {
        Some(vi::Step::Done) => return completing::refresh(model),
        Some(vi::Step::Older) => return older(model),
        Some(vi::Step::Newer) => {
            model.composer.newer();
            return Vec::new();
        }
        Some(vi::Step::Pass) | None => {}
    }
    let empty = model.composer.is_empty();
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

/// The message that waits, else the text sent before.
fn older(model: &mut Model) -> Vec<Effect> {
    if model.composer.is_empty() && !model.queue.items().is_empty() {
        return commands::take_back(model);
    }
    model.composer.older();
    Vec::new()
}

fn edit_input(model: &mut Model, edit: Edit) -> Vec<Effect> {
    model.composer.edit(edit, model.geometry.input.width);
    completing::refresh(model)
}

fn type_in(model: &mut Model, c: char) -> Vec<Effect> {
    if c == ':' {
        return completing::colon(model);
    }
    model.composer.type_char(c);
    completing::refresh(model)
}

fn typing_key(model: &mut Model, key: InputKey) -> Vec<Effect> {
    let width = model.geometry.input.width;
    match key {
        InputKey::Send if model.composer.continue_line() => return completing::refresh(model),
        InputKey::Send => return commands::submit(model, Goes::AfterTurn),
        InputKey::Steer => return commands::submit(model, Goes::NextStep),
        InputKey::Newline => return type_in(model, '\n'),
        InputKey::File => return type_in(model, '@'),
        InputKey::Up if model.composer.is_empty() && !model.queue.items().is_empty() => {
            return commands::take_back(model);
        }
        InputKey::Up => model.composer.up(width),
        InputKey::Down => model.composer.down(width),
        InputKey::History => return recall::open(model),
        InputKey::OpenEditor => {
            return vec![Effect::OpenEditor { text: model.composer.expanded() }];
        }
        InputKey::PasteImage => return images::take_clipboard(model),
        InputKey::Unfold => match model.composer.editor.unfold() {
            Unfolded::Done => return completing::refresh(model),
            Unfolded::TooLong => {
                let key = model.settings.keys.key(InputKey::OpenEditor);
                let text = format!(
                    "This paste is too long to be edited here. {key} opens it in your editor."
                );
                model.toast(NoticeLevel::Warning, text);
            }
            Unfolded::NoChip => {
                model.toast(NoticeLevel::Info, "Put the caret beside a paste to unfold it.");
            }
        },
    }
    Vec::new()
}

fn pane_key(model: &mut Model, block: BlockId, key: PaneKey) -> Vec<Effect> {
    match key {
        PaneKey::Toggle => {
            return search::open_hidden(model).unwrap_or_else(|| toggle(model, block));
        }
        PaneKey::ToggleKind => {
            hold(model);
            return folds::toggle_like(model, block, Reach::Kind);
        }
        PaneKey::ToggleTools => {
            hold(model);
            return folds::toggle_like(model, block, Reach::Wider);
        }
        PaneKey::Previous => step_pane(model, block, -1),
        PaneKey::Next => step_pane(model, block, 1),
        PaneKey::View => return commands::view_block(model, block),
        PaneKey::Copy => return commands::copy_block(model, block),
        PaneKey::Fork => return commands::fork_at(model, block),
        PaneKey::Rewind => return rewind::at(model, block),
        PaneKey::Help => return chat_action(model, ChatKey::Help),
        PaneKey::Scroll(how) => scroll(model, how),
        PaneKey::Jump(to) => moving::jump(model, to),
        PaneKey::CopyCode => return commands::copy_code_of(model, block),
        PaneKey::Search => search::open(model),
        PaneKey::Select => caret::enter(model, block),
    }
    Vec::new()
}

/// To the lowest block on screen, or back to the input.
fn swap_focus(model: &mut Model) {
    model.focus = match model.focus {
        Focus::Pane(_) | Focus::Caret(_) | Focus::Sidebar => Focus::Input,
        Focus::Input => {
            let shown = model.geometry.rows.iter().rev().map(|row| row.block);
            let pane = shown
                .clone()
                .find(|id| model.transcript.get(*id).is_some_and(super::block::Block::is_pane));
            match pane.or_else(|| shown.clone().next()) {
                Some(block) => Focus::Pane(block),
                None => Focus::Input,
            }
        }
    };
}

fn step_pane(model: &mut Model, from: BlockId, by: isize) {
    let at = model.transcript.index(from).saturating_add_signed(by);
    let Some(block) = model.transcript.blocks().get(at).map(|block| block.id) else { return };
    model.focus = Focus::Pane(block);
    let visible = model.geometry.rows.iter().any(|row| row.block == block);
    if !visible {
        model.scroll.to(block, 2, model.transcript.lines());
    }
}

/// Keeps the top row where it is while something below it changes its height.
pub fn hold(model: &mut Model) {
    let top = model.geometry.top;
    if top != Anchor::Tail {
        model.scroll.hold(top, model.transcript.lines());
    }
}
