//! Slug's default keys in the transcript: those of the panes, the search and the caret.

use crossterm::event::KeyCode;

use crate::tui::app::keymap::actions::TranscriptJump;
use crate::tui::app::keymap::actions::{
    CaretKey, CaretMotion, PaneKey, ScrollAction, SearchKey, SearchMatchKey,
};

use super::{ALT, CTRL, KeyBinding, SHIFT, alt, char, ctrl, held, hinted, key, row};

/// The keys of the panes.
pub const PANES: &[KeyBinding<PaneKey>] = &[
    hinted(
        &[key(KeyCode::Enter), char(' ')],
        PaneKey::Toggle,
        "fold or unfold the pane",
        "fold/unfold",
    ),
    hinted(&[key(KeyCode::Up), char('k')], PaneKey::Previous, "the pane above", "above"),
    hinted(&[key(KeyCode::Down), char('j')], PaneKey::Next, "the pane below", "below"),
    hinted(&[char('p')], PaneKey::View, "the whole of it: search, follow, copy", "view"),
    hinted(&[char('c')], PaneKey::Copy, "copy its text", "copy"),
    hinted(&[char('z')], PaneKey::ToggleKind, "fold or unfold all panes of this kind", "all such"),
    row(&[char('Z')], PaneKey::ToggleTools, "fold or unfold all calls"),
    hinted(&[char('f')], PaneKey::Fork, "fork the session after this message", "fork"),
    row(&[char('r')], PaneKey::Rewind, "go back before this message: files, conversation, or both"),
    row(&[char('b')], PaneKey::CopyCode, "copy its last code block"),
    hinted(&[char('v')], PaneKey::Select, "select with a caret", "select"),
    hinted(&[char('/')], PaneKey::Search, "search the transcript", "search"),
    row(&[char('[')], PaneKey::Jump(TranscriptJump::PreviousMessage), "your message above"),
    row(&[char(']')], PaneKey::Jump(TranscriptJump::NextMessage), "your message below"),
    row(&[char('(')], PaneKey::Jump(TranscriptJump::PreviousError), "the error above"),
    row(&[char(')')], PaneKey::Jump(TranscriptJump::NextError), "the error below"),
    row(&[char('u')], PaneKey::Scroll(ScrollAction::HalfUp), "half a page up"),
    row(&[char('d')], PaneKey::Scroll(ScrollAction::HalfDown), "half a page down"),
    row(&[], PaneKey::Scroll(ScrollAction::LineUp), "a line up"),
    row(&[], PaneKey::Scroll(ScrollAction::LineDown), "a line down"),
    row(&[], PaneKey::Scroll(ScrollAction::PageUp), "a page up"),
    row(&[], PaneKey::Scroll(ScrollAction::PageDown), "a page down"),
    row(&[char('g'), key(KeyCode::Home)], PaneKey::Scroll(ScrollAction::Top), "to the beginning"),
    row(&[char('G'), key(KeyCode::End)], PaneKey::Scroll(ScrollAction::Bottom), "to the end"),
    hinted(&[char('?')], PaneKey::Help, "these keys", "keys"),
];

/// The keys of the transcript search while the query is being typed.
pub const SEARCH: &[KeyBinding<SearchKey>] = &[
    row(&[key(KeyCode::Up), ctrl('p')], SearchKey::Previous, "the match above"),
    row(&[key(KeyCode::Down), ctrl('n')], SearchKey::Next, "the match below"),
    row(&[alt('r')], SearchKey::Regex, "as a regular expression, or letter by letter"),
    hinted(&[key(KeyCode::Enter)], SearchKey::Stay, "stay on the match", "stay"),
    hinted(&[key(KeyCode::Esc)], SearchKey::Back, "back to where it began", "back"),
];

/// The keys of the panes while a search is on a match.
pub const FOUND: &[KeyBinding<SearchMatchKey>] = &[
    hinted(&[char('n')], SearchMatchKey::Next, "the match below", "next"),
    hinted(&[char('N')], SearchMatchKey::Previous, "the match above", "previous"),
    hinted(&[char('/')], SearchMatchKey::Edit, "change the query", "change"),
    hinted(&[key(KeyCode::Esc)], SearchMatchKey::Close, "end the search", "end"),
];

/// The keys of the caret in the transcript.
pub const CARET: &[KeyBinding<CaretKey>] = &[
    row(&[key(KeyCode::Left), char('h')], CaretKey::Move(CaretMotion::Left), "a character left"),
    row(&[key(KeyCode::Right), char('l')], CaretKey::Move(CaretMotion::Right), "a character right"),
    row(&[key(KeyCode::Up), char('k')], CaretKey::Move(CaretMotion::Up), "a row up"),
    row(&[key(KeyCode::Down), char('j')], CaretKey::Move(CaretMotion::Down), "a row down"),
    row(
        &[held(CTRL, KeyCode::Left), held(ALT, KeyCode::Left), char('b')],
        CaretKey::Move(CaretMotion::WordLeft),
        "a word left",
    ),
    row(
        &[held(CTRL, KeyCode::Right), held(ALT, KeyCode::Right), char('w')],
        CaretKey::Move(CaretMotion::WordRight),
        "a word right",
    ),
    row(
        &[key(KeyCode::Home), char('0'), char('^')],
        CaretKey::Move(CaretMotion::RowStart),
        "to the beginning of the row",
    ),
    row(
        &[key(KeyCode::End), char('$')],
        CaretKey::Move(CaretMotion::RowEnd),
        "to the end of the row",
    ),
    row(
        &[held(ALT, KeyCode::Up), ctrl('u')],
        CaretKey::Move(CaretMotion::HalfUp),
        "half a page up",
    ),
    row(
        &[held(ALT, KeyCode::Down), ctrl('d')],
        CaretKey::Move(CaretMotion::HalfDown),
        "half a page down",
    ),
    row(&[key(KeyCode::PageUp)], CaretKey::Move(CaretMotion::PageUp), "a page up"),
    row(&[key(KeyCode::PageDown)], CaretKey::Move(CaretMotion::PageDown), "a page down"),
    row(
        &[char('g'), held(CTRL, KeyCode::Home)],
        CaretKey::Move(CaretMotion::Top),
        "to the beginning",
    ),
    row(&[char('G'), held(CTRL, KeyCode::End)], CaretKey::Move(CaretMotion::Bottom), "to the end"),
    row(&[held(SHIFT, KeyCode::Left)], CaretKey::Extend(CaretMotion::Left), "select to the left"),
    row(
        &[held(SHIFT, KeyCode::Right)],
        CaretKey::Extend(CaretMotion::Right),
        "select to the right",
    ),
    row(&[held(SHIFT, KeyCode::Up)], CaretKey::Extend(CaretMotion::Up), "select upwards"),
    row(&[held(SHIFT, KeyCode::Down)], CaretKey::Extend(CaretMotion::Down), "select downwards"),
    row(
        &[held(CTRL.union(SHIFT), KeyCode::Left)],
        CaretKey::Extend(CaretMotion::WordLeft),
        "select a word to the left",
    ),
    row(
        &[held(CTRL.union(SHIFT), KeyCode::Right)],
        CaretKey::Extend(CaretMotion::WordRight),
        "select a word to the right",
    ),
    row(
        &[held(SHIFT, KeyCode::Home)],
        CaretKey::Extend(CaretMotion::RowStart),
        "select to the beginning of the row",
    ),
    row(
        &[held(SHIFT, KeyCode::End)],
        CaretKey::Extend(CaretMotion::RowEnd),
        "select to the end of the row",
    ),
    hinted(&[char('v'), char(' ')], CaretKey::Mark, "select from here, or no longer", "from here"),
    hinted(&[char('V')], CaretKey::MarkLines, "select whole lines, or no longer", "lines"),
    hinted(
        &[char('y'), key(KeyCode::Enter)],
        CaretKey::Copy,
        "copy what is selected, or else the line",
        "copy",
    ),
    hinted(&[key(KeyCode::Esc), char('q')], CaretKey::Back, "select no longer, then leave", "back"),
];
