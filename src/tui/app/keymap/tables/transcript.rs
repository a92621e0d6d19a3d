//! Slug's default keys in the transcript: those of the panes, the search and the caret.

use crossterm::event::KeyCode;

use crate::tui::app::keymap::actions::TranscriptJump;
use crate::tui::app::keymap::actions::{
    CaretKey, CaretMotion, PaneKey, ScrollAction, SearchKey, SearchMatchKey,
};

use super::{
    ALT, Action, CTRL, KeyBinding, Motion, SHIFT, alt, char, ctrl, held, hinted, key, row,
};

/// The keys of the panes.
pub const PANES: &[KeyBinding<PaneKey>] = &[
    hinted(
        &[key(KeyCode::Enter), char(' ')],
        PaneKey::Toggle,
        "fold or unfold the pane",
        "fold/unfold",
    )
    .on(Action, "fold, unfold"),
    hinted(&[key(KeyCode::Up), char('k')], PaneKey::Previous, "previous pane", "previous")
        .on(Motion, "pane above"),
    hinted(&[key(KeyCode::Down), char('j')], PaneKey::Next, "next pane", "next")
        .on(Motion, "pane below"),
    hinted(&[char('p')], PaneKey::View, "full view: search, follow, copy", "view")
        .on(Action, "full view"),
    hinted(&[char('c')], PaneKey::Copy, "copy the text", "copy").on(Action, "copy"),
    hinted(
        &[char('z')],
        PaneKey::ToggleKind,
        "fold or unfold all panes of this kind",
        "this \
        kind",
    )
    .on(Action, "fold kind"),
    row(&[char('Z')], PaneKey::ToggleTools, "fold or unfold all calls"),
    hinted(&[char('f')], PaneKey::Fork, "fork the session after this message", "fork")
        .on(Action, "fork here"),
    row(&[char('r')], PaneKey::Rewind, "rewind to before this message").on(Action, "rewind here"),
    row(&[char('R')], PaneKey::Review, "review what this turn changed").on(Action, "review turn"),
    hinted(&[char('u')], PaneKey::Undo, "undo this edit", "undo").on(Action, "undo edit"),
    hinted(
        &[char('x')],
        PaneKey::Explain,
        "explain: why it ran, what was sent, what it took",
        "explain",
    ),
    row(&[char('b')], PaneKey::CopyCode, "copy its last code block"),
    hinted(&[char('v')], PaneKey::Select, "select text", "select").on(Action, "select text"),
    hinted(&[char('/')], PaneKey::Search, "search the transcript", "search").on(Motion, "search"),
    row(&[char('[')], PaneKey::Jump(TranscriptJump::PreviousMessage), "your previous message")
        .on(Motion, "last message"),
    row(&[char(']')], PaneKey::Jump(TranscriptJump::NextMessage), "your next message"),
    row(&[char('(')], PaneKey::Jump(TranscriptJump::PreviousError), "previous error"),
    row(&[char(')')], PaneKey::Jump(TranscriptJump::NextError), "next error"),
    row(&[], PaneKey::Scroll(ScrollAction::HalfUp), "half a page up"),
    row(&[], PaneKey::Scroll(ScrollAction::HalfDown), "half a page down"),
    row(&[], PaneKey::Scroll(ScrollAction::LineUp), "line up"),
    row(&[], PaneKey::Scroll(ScrollAction::LineDown), "line down"),
    row(&[], PaneKey::Scroll(ScrollAction::PageUp), "page up"),
    row(&[], PaneKey::Scroll(ScrollAction::PageDown), "page down"),
    row(&[char('g'), key(KeyCode::Home)], PaneKey::Scroll(ScrollAction::Top), "go to the start"),
    row(&[char('G'), key(KeyCode::End)], PaneKey::Scroll(ScrollAction::Bottom), "go to the end")
        .on(Motion, "to the end"),
    hinted(&[char('?')], PaneKey::Help, "show the keys", "keys"),
];

/// The keys of the transcript search while the query is being typed.
pub const SEARCH: &[KeyBinding<SearchKey>] = &[
    row(&[key(KeyCode::Up), ctrl('p')], SearchKey::Previous, "previous match"),
    row(&[key(KeyCode::Down), ctrl('n')], SearchKey::Next, "next match"),
    row(&[alt('r')], SearchKey::Regex, "toggle regular expression"),
    hinted(&[key(KeyCode::Enter)], SearchKey::Stay, "keep this match", "keep"),
    hinted(&[key(KeyCode::Esc)], SearchKey::Back, "cancel", "back"),
];

/// The keys of the panes while a search is on a match.
pub const FOUND: &[KeyBinding<SearchMatchKey>] = &[
    hinted(&[char('n')], SearchMatchKey::Next, "next match", "next"),
    hinted(&[char('N')], SearchMatchKey::Previous, "previous match", "previous"),
    hinted(&[char('/')], SearchMatchKey::Edit, "edit the query", "change"),
    hinted(&[key(KeyCode::Esc)], SearchMatchKey::Close, "end the search", "end"),
];

/// The keys of the caret in the transcript.
pub const CARET: &[KeyBinding<CaretKey>] = &[
    row(&[key(KeyCode::Left), char('h')], CaretKey::Move(CaretMotion::Left), "character left"),
    row(&[key(KeyCode::Right), char('l')], CaretKey::Move(CaretMotion::Right), "character right"),
    row(&[key(KeyCode::Up), char('k')], CaretKey::Move(CaretMotion::Up), "a row up"),
    row(&[key(KeyCode::Down), char('j')], CaretKey::Move(CaretMotion::Down), "row down"),
    row(
        &[held(CTRL, KeyCode::Left), held(ALT, KeyCode::Left), char('b')],
        CaretKey::Move(CaretMotion::WordLeft),
        "word left",
    )
    .on(Motion, "word left"),
    row(
        &[held(CTRL, KeyCode::Right), held(ALT, KeyCode::Right), char('w')],
        CaretKey::Move(CaretMotion::WordRight),
        "word right",
    )
    .on(Motion, "word right"),
    row(
        &[key(KeyCode::Home), char('0'), char('^')],
        CaretKey::Move(CaretMotion::RowStart),
        "start of the row",
    ),
    row(&[key(KeyCode::End), char('$')], CaretKey::Move(CaretMotion::RowEnd), "end of the row"),
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
    row(&[key(KeyCode::PageUp)], CaretKey::Move(CaretMotion::PageUp), "page up"),
    row(&[key(KeyCode::PageDown)], CaretKey::Move(CaretMotion::PageDown), "page down"),
    row(
        &[char('g'), held(CTRL, KeyCode::Home)],
        CaretKey::Move(CaretMotion::Top),
        "go to the start",
    ),
    row(
        &[char('G'), held(CTRL, KeyCode::End)],
        CaretKey::Move(CaretMotion::Bottom),
        "go to the \
        end",
    )
    .on(Motion, "to the end"),
    row(
        &[held(SHIFT, KeyCode::Left)],
        CaretKey::Extend(CaretMotion::Left),
        "extend the \
        selection left",
    ),
    row(
        &[held(SHIFT, KeyCode::Right)],
        CaretKey::Extend(CaretMotion::Right),
        "extend the selection right",
    ),
    row(&[held(SHIFT, KeyCode::Up)], CaretKey::Extend(CaretMotion::Up), "extend the selection up"),
    row(
        &[held(SHIFT, KeyCode::Down)],
        CaretKey::Extend(CaretMotion::Down),
        "extend the \
        selection down",
    ),
    row(
        &[held(CTRL.union(SHIFT), KeyCode::Left)],
        CaretKey::Extend(CaretMotion::WordLeft),
        "extend the selection a word left",
    ),
    row(
        &[held(CTRL.union(SHIFT), KeyCode::Right)],
        CaretKey::Extend(CaretMotion::WordRight),
        "extend the selection a word right",
    ),
    row(
        &[held(SHIFT, KeyCode::Home)],
        CaretKey::Extend(CaretMotion::RowStart),
        "extend the selection to the row's start",
    ),
    row(
        &[held(SHIFT, KeyCode::End)],
        CaretKey::Extend(CaretMotion::RowEnd),
        "extend the selection to the row's end",
    ),
    hinted(&[char('v'), char(' ')], CaretKey::Mark, "start or end the selection", "select")
        .on(Action, "select"),
    hinted(&[char('V')], CaretKey::MarkLines, "select whole lines", "lines")
        .on(Action, "select lines"),
    hinted(
        &[char('y'), key(KeyCode::Enter)],
        CaretKey::Copy,
        "copy the selection, or the line",
        "copy",
    )
    .on(Action, "copy"),
    hinted(
        &[key(KeyCode::Esc), char('q')],
        CaretKey::Back,
        "clear the selection, then leave",
        "back",
    )
    .on(Action, "back"),
];
