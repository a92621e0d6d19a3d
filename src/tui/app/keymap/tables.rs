//! Slug's default keys: one table for each context. Each row has the text for the help and the word
//! for the last line.

mod pages;
mod transcript;

use crossterm::event::{KeyCode, KeyModifiers};

use crate::tui::app::keymap::actions::EditAction;
use crate::tui::app::keymap::actions::TranscriptJump;

use super::actions::{
    AlwaysKey, ApprovalKey, ChatKey, CompletionKey, EmptyInputKey, FieldKey, InputKey, ListKey,
    ModelListKey, ScrollAction, SidebarKey,
};
use super::chord::KeyChord;

pub use pages::*;
pub use transcript::*;

/// An action with its default keys and its texts on screen.
#[derive(Debug, Clone, Copy)]
pub struct KeyBinding<A: 'static> {
    /// The keys unless a preset or the user binds others; the first one is shown. Empty if only a
    /// preset binds some.
    pub keys: &'static [KeyChord],
    pub action: A,
    /// The text in the help.
    pub help: &'static str,
    /// The word in the last line; `None` if the action is not mentioned there.
    pub hint: Option<&'static str>,
}

const NONE: KeyModifiers = KeyModifiers::NONE;
const CTRL: KeyModifiers = KeyModifiers::CONTROL;
const ALT: KeyModifiers = KeyModifiers::ALT;
const SHIFT: KeyModifiers = KeyModifiers::SHIFT;

const fn key(code: KeyCode) -> KeyChord {
    KeyChord { code, modifiers: NONE }
}

const fn char(c: char) -> KeyChord {
    KeyChord { code: KeyCode::Char(c), modifiers: NONE }
}

const fn ctrl(c: char) -> KeyChord {
    KeyChord { code: KeyCode::Char(c), modifiers: CTRL }
}

const fn alt(c: char) -> KeyChord {
    KeyChord { code: KeyCode::Char(c), modifiers: ALT }
}

const fn held(modifiers: KeyModifiers, code: KeyCode) -> KeyChord {
    KeyChord { code, modifiers }
}

const fn row<A>(keys: &'static [KeyChord], action: A, help: &'static str) -> KeyBinding<A> {
    KeyBinding { keys, action, help, hint: None }
}

const fn hinted<A>(
    keys: &'static [KeyChord],
    action: A,
    help: &'static str,
    hint: &'static str,
) -> KeyBinding<A> {
    KeyBinding { keys, action, help, hint: Some(hint) }
}

/// The keys that work everywhere.
pub const ALWAYS: &[KeyBinding<AlwaysKey>] = &[
    row(&[ctrl('c')], AlwaysKey::Cancel, "clear the input, then stop the turn, then leave"),
    row(&[ctrl('l')], AlwaysKey::Redraw, "draw the screen anew"),
    row(&[ctrl('z')], AlwaysKey::Suspend, "back to the shell; `fg` returns"),
];

/// The keys of the chat.
pub const CHAT: &[KeyBinding<ChatKey>] = &[
    hinted(&[key(KeyCode::Esc)], ChatKey::Back, "close what is open, else stop the turn", "stop"),
    // ctrl+b is the prefix of tmux, so there is a second key.
    hinted(&[ctrl('b'), alt('s')], ChatKey::Sessions, "open a past session", "sessions"),
    row(&[ctrl('p')], ChatKey::Palette, "every command"),
    row(&[key(KeyCode::F(1))], ChatKey::Help, "these keys"),
    hinted(&[key(KeyCode::Tab)], ChatKey::Focus, "between the input and the panes", "panes"),
    row(&[ctrl('o')], ChatKey::FoldAll, "fold or unfold all panes"),
    row(&[held(SHIFT, KeyCode::Tab)], ChatKey::NextMode, "next mode: plan, ask, allow-edits"),
    row(&[key(KeyCode::PageUp)], ChatKey::Scroll(ScrollAction::PageUp), "a page up"),
    row(&[key(KeyCode::PageDown)], ChatKey::Scroll(ScrollAction::PageDown), "a page down"),
    row(&[held(ALT, KeyCode::Up)], ChatKey::Scroll(ScrollAction::HalfUp), "half a page up"),
    row(&[held(ALT, KeyCode::Down)], ChatKey::Scroll(ScrollAction::HalfDown), "half a page down"),
    row(&[held(SHIFT, KeyCode::Up)], ChatKey::Scroll(ScrollAction::LineUp), "a line up"),
    row(&[held(SHIFT, KeyCode::Down)], ChatKey::Scroll(ScrollAction::LineDown), "a line down"),
    row(&[held(CTRL, KeyCode::Home)], ChatKey::Scroll(ScrollAction::Top), "to the beginning"),
    row(&[held(CTRL, KeyCode::End)], ChatKey::Scroll(ScrollAction::Bottom), "to the end"),
    row(&[alt('p')], ChatKey::Jump(TranscriptJump::PreviousMessage), "your message above"),
    row(&[alt('n')], ChatKey::Jump(TranscriptJump::NextMessage), "your message below"),
    row(&[alt('e')], ChatKey::Jump(TranscriptJump::PreviousError), "the error above"),
    row(
        &[held(ALT.union(SHIFT), KeyCode::Char('e'))],
        ChatKey::Jump(TranscriptJump::NextError),
        "the error below",
    ),
    row(&[ctrl('f'), key(KeyCode::F(3))], ChatKey::Search, "search the transcript"),
    row(&[alt('c')], ChatKey::CopyAnswer, "copy the last answer"),
    row(&[alt('k')], ChatKey::CopyCode, "copy the last code block"),
    row(
        &[key(KeyCode::F(6))],
        ChatKey::NextConversation,
        "the next agent, where there are several",
    ),
];

/// The keys of the input.
pub const INPUT: &[KeyBinding<InputKey>] = &[
    hinted(&[key(KeyCode::Enter)], InputKey::Send, "send; while a turn runs, after it", "send"),
    hinted(
        &[held(SHIFT, KeyCode::Enter), held(ALT, KeyCode::Enter), ctrl('j')],
        InputKey::Newline,
        "new line",
        "newline",
    ),
    row(&[ctrl('s')], InputKey::Steer, "send into the running turn, at its next step"),
    row(&[key(KeyCode::Up)], InputKey::Up, "a row up, then older texts"),
    row(&[key(KeyCode::Down)], InputKey::Down, "a row down, then newer texts"),
    row(&[ctrl('r')], InputKey::History, "search what was sent before"),
    row(&[ctrl('g')], InputKey::OpenEditor, "write in $EDITOR"),
    row(&[alt('o')], InputKey::Unfold, "unfold the paste at the caret"),
    row(&[ctrl('v'), alt('v')], InputKey::PasteImage, "paste an image from the clipboard"),
    hinted(&[char('@')], InputKey::File, "name a file", "file"),
];

/// The keys of the input while it is empty; they come before [`INPUT`].
pub const EMPTY_INPUT: &[KeyBinding<EmptyInputKey>] = &[
    hinted(&[char('/')], EmptyInputKey::Command, "a command", "command"),
    hinted(&[char('!')], EmptyInputKey::Shell, "run a shell command", "shell"),
    hinted(&[char('?')], EmptyInputKey::Help, "these keys", "keys"),
];

/// The keys of every text that can be edited.
pub const EDITING: &[KeyBinding<EditAction>] = &[
    row(&[key(KeyCode::Left)], EditAction::Left, "a character left"),
    row(&[key(KeyCode::Right)], EditAction::Right, "a character right"),
    row(
        &[held(ALT, KeyCode::Left), held(CTRL, KeyCode::Left), alt('b')],
        EditAction::WordLeft,
        "a word left",
    ),
    row(
        &[held(ALT, KeyCode::Right), held(CTRL, KeyCode::Right), alt('f')],
        EditAction::WordRight,
        "a word right",
    ),
    row(
        &[key(KeyCode::Home), ctrl('a')],
        EditAction::Home,
        "to the beginning of the row, then of the line",
    ),
    row(
        &[key(KeyCode::End), ctrl('e')],
        EditAction::End,
        "to the end of the row, then of the line",
    ),
    row(&[held(SHIFT, KeyCode::Left)], EditAction::SelectLeft, "select a character to the left"),
    row(&[held(SHIFT, KeyCode::Right)], EditAction::SelectRight, "select a character to the right"),
    row(
        &[held(CTRL.union(SHIFT), KeyCode::Left), held(ALT.union(SHIFT), KeyCode::Left)],
        EditAction::SelectWordLeft,
        "select a word to the left",
    ),
    row(
        &[held(CTRL.union(SHIFT), KeyCode::Right), held(ALT.union(SHIFT), KeyCode::Right)],
        EditAction::SelectWordRight,
        "select a word to the right",
    ),
    row(
        &[held(SHIFT, KeyCode::Home)],
        EditAction::SelectHome,
        "select to the beginning of the row",
    ),
    row(&[held(SHIFT, KeyCode::End)], EditAction::SelectEnd, "select to the end of the row"),
    row(&[alt('a')], EditAction::SelectAll, "select all"),
    row(&[ctrl('x')], EditAction::Cut, "cut what is selected"),
    row(
        &[key(KeyCode::Backspace), held(SHIFT, KeyCode::Backspace), ctrl('h')],
        EditAction::Backspace,
        "remove the character before",
    ),
    row(&[key(KeyCode::Delete), ctrl('d')], EditAction::Delete, "remove the character behind"),
    row(
        &[ctrl('w'), held(ALT, KeyCode::Backspace), held(CTRL, KeyCode::Backspace)],
        EditAction::KillWordLeft,
        "remove the word before",
    ),
    row(
        &[alt('d'), held(CTRL, KeyCode::Delete)],
        EditAction::KillWordRight,
        "remove the word behind",
    ),
    row(&[ctrl('u')], EditAction::KillHome, "remove back to the beginning of the line"),
    row(&[ctrl('k')], EditAction::KillEnd, "remove up to the end of the line"),
    hinted(&[ctrl('y')], EditAction::Yank, "put back what was removed last", "put back"),
    row(&[alt('y')], EditAction::YankOlder, "put back what was removed before it instead"),
    // Terminals send ctrl+_ as the code that crossterm reads as ctrl+7.
    hinted(&[ctrl('_'), ctrl('7'), ctrl('/')], EditAction::Undo, "undo", "undo"),
    row(
        &[alt('_'), alt('/'), held(CTRL.union(SHIFT), KeyCode::Char('_'))],
        EditAction::Redo,
        "redo",
    ),
];

/// The keys of the completion list under the caret.
pub const COMPLETION: &[KeyBinding<CompletionKey>] = &[
    hinted(&[key(KeyCode::Enter)], CompletionKey::Accept, "take it", "take"),
    hinted(&[key(KeyCode::Tab)], CompletionKey::Complete, "put it in and go on", "put in"),
    row(&[key(KeyCode::Up)], CompletionKey::Previous, "the row above"),
    row(&[key(KeyCode::Down)], CompletionKey::Next, "the row below"),
    hinted(&[key(KeyCode::Esc)], CompletionKey::Dismiss, "close the list", "close"),
];

/// The keys of a permission question.
pub const APPROVAL: &[KeyBinding<ApprovalKey>] = &[
    row(&[char('y')], ApprovalKey::Once, "yes, once"),
    row(&[char('s')], ApprovalKey::Session, "yes, for this session"),
    row(&[char('a')], ApprovalKey::Always, "yes, always"),
    row(&[char('n'), key(KeyCode::Esc)], ApprovalKey::No, "no"),
    row(&[char('d')], ApprovalKey::Never, "no, always"),
    row(&[char('e')], ApprovalKey::EditCommand, "edit the command"),
    row(&[char('t')], ApprovalKey::Instruct, "no, and tell it what to do instead"),
    row(&[key(KeyCode::Tab)], ApprovalKey::EditRule, "edit the rule"),
    hinted(
        &[char(' ')],
        ApprovalKey::Pick,
        "take the change of an edit, or leave it out; else a page down",
        "take or leave",
    ),
    hinted(
        &[key(KeyCode::Right), char(']')],
        ApprovalKey::NextChange,
        "the next change",
        "next change",
    ),
    hinted(
        &[key(KeyCode::Left), char('[')],
        ApprovalKey::PreviousChange,
        "the change before",
        "change before",
    ),
    row(&[key(KeyCode::Up)], ApprovalKey::Scroll(ScrollAction::LineUp), "a line up"),
    row(&[key(KeyCode::Down)], ApprovalKey::Scroll(ScrollAction::LineDown), "a line down"),
    hinted(&[key(KeyCode::PageUp)], ApprovalKey::Scroll(ScrollAction::PageUp), "a page up", "up"),
    hinted(
        &[key(KeyCode::PageDown)],
        ApprovalKey::Scroll(ScrollAction::PageDown),
        "a page down",
        "down",
    ),
    row(&[key(KeyCode::Home)], ApprovalKey::Scroll(ScrollAction::Top), "to the beginning"),
    row(&[key(KeyCode::End)], ApprovalKey::Scroll(ScrollAction::Bottom), "to the end"),
];

/// The keys of a text field in a dialog.
pub const FIELD: &[KeyBinding<FieldKey>] = &[
    hinted(&[key(KeyCode::Enter)], FieldKey::Accept, "take what is typed", "take"),
    hinted(&[key(KeyCode::Esc)], FieldKey::Back, "leave it as it was", "back"),
    row(&[key(KeyCode::Tab)], FieldKey::Next, "the next rule"),
    row(
        &[held(SHIFT, KeyCode::Enter), held(ALT, KeyCode::Enter), ctrl('j')],
        FieldKey::Newline,
        "new line",
    ),
];

/// The keys of a list to choose from.
pub const LIST: &[KeyBinding<ListKey>] = &[
    hinted(&[key(KeyCode::Enter)], ListKey::Accept, "take it", "take"),
    row(&[key(KeyCode::Up), ctrl('p')], ListKey::Previous, "the row above"),
    row(&[key(KeyCode::Down), ctrl('n')], ListKey::Next, "the row below"),
    row(&[key(KeyCode::PageUp)], ListKey::PageUp, "a page up"),
    row(&[key(KeyCode::PageDown)], ListKey::PageDown, "a page down"),
    hinted(&[key(KeyCode::Esc)], ListKey::Back, "close the list", "close"),
];

/// The keys of the list of models, in addition to [`LIST`].
pub const MODELS: &[KeyBinding<ModelListKey>] = &[hinted(
    &[key(KeyCode::Tab)],
    ModelListKey::Mark,
    "a favourite, or no longer one",
    "favourite",
)];

/// The keys of the list of sessions.
pub const SIDEBAR: &[KeyBinding<SidebarKey>] = &[
    row(&[key(KeyCode::Up), char('k')], SidebarKey::Previous, "the session above"),
    row(&[key(KeyCode::Down), char('j')], SidebarKey::Next, "the session below"),
    row(&[key(KeyCode::PageUp)], SidebarKey::PageUp, "a page up"),
    row(&[key(KeyCode::PageDown)], SidebarKey::PageDown, "a page down"),
    row(&[key(KeyCode::Home)], SidebarKey::First, "the first session"),
    row(&[key(KeyCode::End)], SidebarKey::Last, "the last session"),
    hinted(&[key(KeyCode::Enter)], SidebarKey::Open, "open the session", "open"),
    hinted(&[char('f')], SidebarKey::Fork, "fork the session and open the fork", "fork"),
    hinted(&[char('r')], SidebarKey::Rename, "edit the title", "rename"),
    hinted(
        &[char('d'), key(KeyCode::Delete)],
        SidebarKey::Delete,
        "move the session to the trash",
        "delete",
    ),
    hinted(&[char('x')], SidebarKey::Export, "export the session as a web page", "export"),
    hinted(&[char('p')], SidebarKey::Preview, "what was said in the session", "preview"),
    row(&[char('K')], SidebarKey::PreviousMessage, "a message up in the preview, to fork there"),
    row(&[char('J')], SidebarKey::NextMessage, "a message down in the preview, to fork there"),
    row(&[char('c')], SidebarKey::Compare, "compare: press it on one, then on another"),
    row(&[char('s')], SidebarKey::SumUp, "put a summary of the session into the input"),
    hinted(&[char('v')], SidebarKey::Group, "by project, by date, or by forks", "view"),
    hinted(&[char('g')], SidebarKey::Scope, "all projects, or this one", "projects"),
    row(&[char('u')], SidebarKey::Undo, "bring back what was deleted last"),
    row(&[char('/')], SidebarKey::Filter, "search titles and all that was said"),
    row(&[char('?')], SidebarKey::Help, "these keys"),
    row(&[key(KeyCode::Tab)], SidebarKey::Leave, "back to the input; the list stays"),
    row(&[key(KeyCode::Esc)], SidebarKey::Close, "close the list"),
];
