//! Slug's default keys on pages: those of rules, a rewind, a text, the pager and the changes.

use crossterm::event::KeyCode;

use crate::tui::app::keymap::actions::{
    ChangesKey, FindKey, LedgerKey, PagerKey, ReadingKey, RewindKey, RulesKey, ScrollAction,
};

use super::{KeyBinding, SHIFT, char, held, hinted, key, row};

/// The keys of the page of permission rules.
pub const RULES: &[KeyBinding<RulesKey>] = &[
    row(&[key(KeyCode::Up), char('k')], RulesKey::Previous, "the row above"),
    row(&[key(KeyCode::Down), char('j')], RulesKey::Next, "the row below"),
    row(&[key(KeyCode::PageUp)], RulesKey::PageUp, "a page up"),
    row(&[key(KeyCode::PageDown)], RulesKey::PageDown, "a page down"),
    row(&[key(KeyCode::Home), char('g')], RulesKey::First, "the first row"),
    row(&[key(KeyCode::End), char('G')], RulesKey::Last, "the last row"),
    hinted(&[char('a')], RulesKey::Add, "add a rule", "add"),
    hinted(&[char('e'), key(KeyCode::Enter)], RulesKey::Edit, "edit the rule", "edit"),
    hinted(
        &[char('d'), key(KeyCode::Delete)],
        RulesKey::Remove,
        "remove the rule; once more does it",
        "remove",
    ),
    hinted(&[char('t')], RulesKey::Try, "test a command or a path on the rules", "test"),
    hinted(&[key(KeyCode::Esc), char('q')], RulesKey::Back, "close", "close"),
];

/// The keys of the page of what fills the context window.
pub const LEDGER: &[KeyBinding<LedgerKey>] = &[
    row(&[key(KeyCode::Up), char('k')], LedgerKey::Previous, "the row above"),
    row(&[key(KeyCode::Down), char('j')], LedgerKey::Next, "the row below"),
    row(&[key(KeyCode::PageUp)], LedgerKey::PageUp, "a page up"),
    row(&[key(KeyCode::PageDown)], LedgerKey::PageDown, "a page down"),
    row(&[key(KeyCode::Home), char('g')], LedgerKey::First, "the first row"),
    row(&[key(KeyCode::End), char('G')], LedgerKey::Last, "the last row"),
    hinted(&[key(KeyCode::Enter)], LedgerKey::Toggle, "open a source, or close it", "open"),
    row(&[key(KeyCode::Right), char('l')], LedgerKey::Open, "open a source"),
    row(&[key(KeyCode::Left), char('h')], LedgerKey::Close, "close a source"),
    hinted(
        &[char('x'), char(' ')],
        LedgerKey::Fold,
        "fold an item out of what is sent, or bring it back",
        "fold out",
    ),
    hinted(
        &[char('p')],
        LedgerKey::Pin,
        "pin an item, so that compactions leave it alone, or no longer",
        "pin",
    ),
    row(&[char('r')], LedgerKey::Reload, "measure anew"),
    hinted(&[key(KeyCode::Esc), char('q')], LedgerKey::Back, "close", "close"),
];

/// The keys of the rewind dialog.
pub const REWIND: &[KeyBinding<RewindKey>] = &[
    hinted(&[char('y'), key(KeyCode::Enter)], RewindKey::Accept, "all that is offered", "go back"),
    row(&[char('f')], RewindKey::Files, "the files alone"),
    row(&[char('c')], RewindKey::Conversation, "the conversation alone"),
    row(&[char(' ')], RewindKey::Answer, "take a file back that you changed, or leave it"),
    row(&[key(KeyCode::Tab)], RewindKey::NextQuestion, "the next file that you changed"),
    row(&[key(KeyCode::Up), char('k')], RewindKey::Scroll(ScrollAction::LineUp), "a line up"),
    row(&[key(KeyCode::Down), char('j')], RewindKey::Scroll(ScrollAction::LineDown), "a line down"),
    row(&[key(KeyCode::PageUp)], RewindKey::Scroll(ScrollAction::PageUp), "a page up"),
    row(&[key(KeyCode::PageDown)], RewindKey::Scroll(ScrollAction::PageDown), "a page down"),
    hinted(
        &[key(KeyCode::Esc), char('n'), char('q')],
        RewindKey::Back,
        "leave everything as it is",
        "nothing",
    ),
];

/// The keys of a page of text.
pub const READING: &[KeyBinding<ReadingKey>] = &[
    row(&[key(KeyCode::Up), char('k')], ReadingKey::Scroll(ScrollAction::LineUp), "a line up"),
    row(
        &[key(KeyCode::Down), char('j')],
        ReadingKey::Scroll(ScrollAction::LineDown),
        "a line down",
    ),
    hinted(
        &[key(KeyCode::PageUp), char('u')],
        ReadingKey::Scroll(ScrollAction::PageUp),
        "a page up",
        "up",
    ),
    hinted(
        &[key(KeyCode::PageDown), char(' '), char('d')],
        ReadingKey::Scroll(ScrollAction::PageDown),
        "a page down",
        "down",
    ),
    row(&[], ReadingKey::Scroll(ScrollAction::HalfUp), "half a page up"),
    row(&[], ReadingKey::Scroll(ScrollAction::HalfDown), "half a page down"),
    row(
        &[key(KeyCode::Home), char('g')],
        ReadingKey::Scroll(ScrollAction::Top),
        "to the beginning",
    ),
    row(&[key(KeyCode::End), char('G')], ReadingKey::Scroll(ScrollAction::Bottom), "to the end"),
    hinted(
        &[key(KeyCode::Esc), char('q'), char('?'), key(KeyCode::F(1))],
        ReadingKey::Back,
        "close",
        "close",
    ),
];

/// The keys of the pager.
pub const PAGER: &[KeyBinding<PagerKey>] = &[
    row(&[key(KeyCode::Up), char('k')], PagerKey::Scroll(ScrollAction::LineUp), "a line up"),
    row(&[key(KeyCode::Down), char('j')], PagerKey::Scroll(ScrollAction::LineDown), "a line down"),
    row(&[key(KeyCode::PageUp), char('b')], PagerKey::Scroll(ScrollAction::PageUp), "a page up"),
    row(
        &[key(KeyCode::PageDown), char(' ')],
        PagerKey::Scroll(ScrollAction::PageDown),
        "a page down",
    ),
    row(&[char('u')], PagerKey::Scroll(ScrollAction::HalfUp), "half a page up"),
    row(&[char('d')], PagerKey::Scroll(ScrollAction::HalfDown), "half a page down"),
    row(&[key(KeyCode::Home), char('g')], PagerKey::Scroll(ScrollAction::Top), "to the beginning"),
    row(&[key(KeyCode::End), char('G')], PagerKey::Scroll(ScrollAction::Bottom), "to the end"),
    hinted(&[key(KeyCode::Esc), char('q')], PagerKey::Back, "end marking, else close", "close"),
    hinted(&[char('/')], PagerKey::Search, "look for something", "search"),
    hinted(&[char('n')], PagerKey::Next, "the next match", "next"),
    row(&[char('N')], PagerKey::Previous, "the match before"),
    hinted(&[char('c')], PagerKey::Copy, "copy the marked lines, or all", "copy"),
    hinted(&[char('v')], PagerKey::Mark, "begin or end marking lines", "mark"),
    hinted(&[char('w')], PagerKey::Wrap, "wrap long lines, or cut them", "wrap"),
    hinted(&[char('#')], PagerKey::Numbers, "line numbers", "numbers"),
    hinted(&[char('F')], PagerKey::Follow, "keep the end in sight while more comes", "follow"),
    row(&[key(KeyCode::Left)], PagerKey::Left, "to the left of cut lines"),
    row(&[key(KeyCode::Right)], PagerKey::Right, "to the right of cut lines"),
    row(&[char('P')], PagerKey::OpenPager, "open it in $PAGER"),
];

/// The keys of the pager's search field.
pub const FIND: &[KeyBinding<FindKey>] = &[
    hinted(&[key(KeyCode::Enter)], FindKey::Accept, "stay there", "take"),
    hinted(&[key(KeyCode::Esc)], FindKey::Back, "back to where it was", "back"),
    hinted(&[key(KeyCode::Tab)], FindKey::Regex, "as a regular expression, or not", "regex"),
    hinted(&[key(KeyCode::Down)], FindKey::Next, "the next match", "next"),
    hinted(&[key(KeyCode::Up)], FindKey::Previous, "the match before", "previous"),
];

/// The keys of the changes page.
pub const CHANGES: &[KeyBinding<ChangesKey>] = &[
    row(&[key(KeyCode::Up), char('k')], ChangesKey::Scroll(ScrollAction::LineUp), "a line up"),
    row(
        &[key(KeyCode::Down), char('j')],
        ChangesKey::Scroll(ScrollAction::LineDown),
        "a line down",
    ),
    row(&[key(KeyCode::PageUp), char('b')], ChangesKey::Scroll(ScrollAction::PageUp), "a page up"),
    row(
        &[key(KeyCode::PageDown), char(' ')],
        ChangesKey::Scroll(ScrollAction::PageDown),
        "a page down",
    ),
    row(&[char('u')], ChangesKey::Scroll(ScrollAction::HalfUp), "half a page up"),
    row(&[char('d')], ChangesKey::Scroll(ScrollAction::HalfDown), "half a page down"),
    row(
        &[key(KeyCode::Home), char('g')],
        ChangesKey::Scroll(ScrollAction::Top),
        "to the beginning",
    ),
    row(&[key(KeyCode::End), char('G')], ChangesKey::Scroll(ScrollAction::Bottom), "to the end"),
    hinted(&[key(KeyCode::Esc), char('q')], ChangesKey::Back, "close", "close"),
    hinted(
        &[key(KeyCode::Tab), key(KeyCode::Right)],
        ChangesKey::NextFile,
        "the next file",
        "next file",
    ),
    row(
        &[held(SHIFT, KeyCode::Tab), key(KeyCode::Left)],
        ChangesKey::PreviousFile,
        "the file before",
    ),
    hinted(&[char('n'), char(']')], ChangesKey::NextHunk, "the next change", "next change"),
    row(&[char('N'), char('[')], ChangesKey::PreviousHunk, "the change before"),
    hinted(&[char('s')], ChangesKey::Sides, "side by side, or unified", "sides"),
    hinted(&[char('x')], ChangesKey::Context, "show what did not change, or fold it", "context"),
    hinted(&[key(KeyCode::Enter)], ChangesKey::Unfold, "open the first fold", "unfold"),
    hinted(&[char('c')], ChangesKey::Copy, "copy the file's patch, for git apply", "copy patch"),
    row(&[char('C')], ChangesKey::CopyAll, "copy the patch of all files"),
    row(&[char('r')], ChangesKey::Reload, "read the files anew"),
];
