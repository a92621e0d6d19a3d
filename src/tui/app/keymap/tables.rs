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
    /// The place on the sheet of keys, and the words there, at most 12 characters; `None` if it has none.
    pub sheet: Option<(KeySheetColumn, &'static str)>,
}

/// Where a key stands on the sheet: with those for writing a message, for looking around, or for acting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeySheetColumn {
    Typing,
    Motion,
    Action,
}

impl KeySheetColumn {
    /// All columns, from left to right.
    pub const ALL: [Self; 3] = [Self::Typing, Self::Motion, Self::Action];

    /// The column's heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Typing => "Type",
            Self::Motion => "Move",
            Self::Action => "Act",
        }
    }
}

impl<A: Copy> KeyBinding<A> {
    /// The same binding, also on the sheet of keys.
    const fn on(self, column: KeySheetColumn, words: &'static str) -> Self {
        Self { sheet: Some((column, words)), ..self }
    }
}

use KeySheetColumn::{Action, Motion, Typing};

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
    KeyBinding { keys, action, help, hint: None, sheet: None }
}

const fn hinted<A>(
    keys: &'static [KeyChord],
    action: A,
    help: &'static str,
    hint: &'static str,
) -> KeyBinding<A> {
    KeyBinding { keys, action, help, hint: Some(hint), sheet: None }
}

/// The keys that work everywhere.
pub const ALWAYS: &[KeyBinding<AlwaysKey>] = &[
    row(&[ctrl('c')], AlwaysKey::Cancel, "clear the input, else stop the turn, else quit")
        .on(Action, "stop or quit"),
    row(&[ctrl('l')], AlwaysKey::Redraw, "redraw the screen"),
    row(&[ctrl('z')], AlwaysKey::Suspend, "suspend to the shell; `fg` returns")
        .on(Action, "suspend"),
    row(&[key(KeyCode::F(8))], AlwaysKey::SkipMark, "in the tour: next step"),
    row(&[key(KeyCode::F(9))], AlwaysKey::LeaveTour, "in the tour: leave it"),
];

/// The keys of the chat.
pub const CHAT: &[KeyBinding<ChatKey>] = &[
    hinted(&[key(KeyCode::Esc)], ChatKey::Back, "close what is open, else stop the turn", "stop")
        .on(Action, "stop turn"),
    // ctrl+b is the prefix of tmux, so there is a second key.
    hinted(&[ctrl('b'), alt('s')], ChatKey::Sessions, "open a past session", "sessions")
        .on(Motion, "sessions"),
    row(&[ctrl('p')], ChatKey::Palette, "command palette").on(Action, "all commands"),
    row(&[key(KeyCode::F(1))], ChatKey::Help, "show the keys"),
    hinted(&[key(KeyCode::Tab)], ChatKey::Focus, "switch between input and panes", "panes")
        .on(Motion, "input, panes"),
    row(&[ctrl('o')], ChatKey::FoldAll, "fold or unfold all panes").on(Action, "fold all"),
    row(&[held(SHIFT, KeyCode::Tab)], ChatKey::NextMode, "next mode: plan, ask, allow-edits")
        .on(Action, "next mode"),
    row(&[key(KeyCode::PageUp)], ChatKey::Scroll(ScrollAction::PageUp), "page up")
        .on(Motion, "page up"),
    row(&[key(KeyCode::PageDown)], ChatKey::Scroll(ScrollAction::PageDown), "page down"),
    row(&[held(ALT, KeyCode::Up)], ChatKey::Scroll(ScrollAction::HalfUp), "half a page up"),
    row(&[held(ALT, KeyCode::Down)], ChatKey::Scroll(ScrollAction::HalfDown), "half a page down"),
    row(&[held(SHIFT, KeyCode::Up)], ChatKey::Scroll(ScrollAction::LineUp), "line up"),
    row(&[held(SHIFT, KeyCode::Down)], ChatKey::Scroll(ScrollAction::LineDown), "line down"),
    row(&[held(CTRL, KeyCode::Home)], ChatKey::Scroll(ScrollAction::Top), "go to the start"),
    row(&[held(CTRL, KeyCode::End)], ChatKey::Scroll(ScrollAction::Bottom), "go to the end")
        .on(Motion, "to the end"),
    row(&[alt('p')], ChatKey::Jump(TranscriptJump::PreviousMessage), "your previous message")
        .on(Motion, "last message"),
    row(&[alt('n')], ChatKey::Jump(TranscriptJump::NextMessage), "your next message"),
    row(&[alt('e')], ChatKey::Jump(TranscriptJump::PreviousError), "previous error")
        .on(Motion, "last error"),
    row(
        &[held(ALT.union(SHIFT), KeyCode::Char('e'))],
        ChatKey::Jump(TranscriptJump::NextError),
        "next error",
    ),
    row(&[ctrl('f'), key(KeyCode::F(3))], ChatKey::Search, "search the transcript")
        .on(Motion, "search"),
    row(&[alt('c')], ChatKey::CopyAnswer, "copy the last answer").on(Action, "copy answer"),
    row(&[alt('k')], ChatKey::CopyCode, "copy the last code block").on(Action, "copy code"),
    row(&[key(KeyCode::F(6))], ChatKey::NextConversation, "next agent").on(Motion, "next agent"),
    row(&[alt('t')], ChatKey::Agents, "agents that the model has started").on(Motion, "agents"),
    hinted(
        &[alt('j'), key(KeyCode::F(7))],
        ChatKey::Background,
        "let the running command go on in the background",
        "background",
    ),
    hinted(&[alt('u')], ChatKey::UndoEdit, "undo the last edit", "undo edit"),
];

/// The keys of the input.
pub const INPUT: &[KeyBinding<InputKey>] = &[
    hinted(&[key(KeyCode::Enter)], InputKey::Send, "send; while a turn runs, queue", "send")
        .on(Typing, "send, queue"),
    hinted(
        &[held(SHIFT, KeyCode::Enter), held(ALT, KeyCode::Enter), ctrl('j')],
        InputKey::Newline,
        "new line",
        "newline",
    )
    .on(Typing, "new line"),
    row(&[ctrl('s')], InputKey::Steer, "send into the running turn").on(Typing, "send now"),
    row(&[key(KeyCode::Up)], InputKey::Up, "row up, then older prompts").on(Typing, "past prompt"),
    row(&[key(KeyCode::Down)], InputKey::Down, "row down, then newer prompts"),
    row(&[ctrl('r')], InputKey::History, "search the prompt history").on(Typing, "find prompt"),
    row(&[ctrl('g')], InputKey::OpenEditor, "write in $EDITOR").on(Typing, "use $EDITOR"),
    row(&[alt('o')], InputKey::Unfold, "unfold the paste at the cursor"),
    row(&[ctrl('v'), alt('v')], InputKey::PasteImage, "paste an image from the clipboard")
        .on(Typing, "paste image"),
    hinted(&[char('@')], InputKey::File, "mention a file", "file").on(Typing, "name a file"),
];

/// The keys of the input while it is empty; they come before [`INPUT`].
pub const EMPTY_INPUT: &[KeyBinding<EmptyInputKey>] = &[
    hinted(&[char('/')], EmptyInputKey::Command, "start a command", "command")
        .on(Typing, "command"),
    hinted(&[char('!')], EmptyInputKey::Shell, "run a shell command", "shell").on(Typing, "shell"),
    hinted(&[char('?')], EmptyInputKey::Help, "show the keys", "keys"),
    row(
        &[alt('1'), alt('2'), alt('3'), alt('4'), alt('5'), alt('6'), alt('7'), alt('8'), alt('9')],
        EmptyInputKey::Recent,
        "open a recent session, by its number",
    ),
];

/// The keys of every text that can be edited.
pub const EDITING: &[KeyBinding<EditAction>] = &[
    row(&[key(KeyCode::Left)], EditAction::Left, "character left"),
    row(&[key(KeyCode::Right)], EditAction::Right, "character right"),
    row(
        &[held(ALT, KeyCode::Left), held(CTRL, KeyCode::Left), alt('b')],
        EditAction::WordLeft,
        "word left",
    ),
    row(
        &[held(ALT, KeyCode::Right), held(CTRL, KeyCode::Right), alt('f')],
        EditAction::WordRight,
        "word right",
    ),
    row(&[key(KeyCode::Home), ctrl('a')], EditAction::Home, "start of the row, then of the line"),
    row(&[key(KeyCode::End), ctrl('e')], EditAction::End, "end of the row, then of the line"),
    row(&[held(SHIFT, KeyCode::Left)], EditAction::SelectLeft, "extend the selection left"),
    row(&[held(SHIFT, KeyCode::Right)], EditAction::SelectRight, "extend the selection right"),
    row(
        &[held(CTRL.union(SHIFT), KeyCode::Left), held(ALT.union(SHIFT), KeyCode::Left)],
        EditAction::SelectWordLeft,
        "extend the selection a word left",
    ),
    row(
        &[held(CTRL.union(SHIFT), KeyCode::Right), held(ALT.union(SHIFT), KeyCode::Right)],
        EditAction::SelectWordRight,
        "extend the selection a word right",
    ),
    row(
        &[held(SHIFT, KeyCode::Home)],
        EditAction::SelectHome,
        "extend the selection to the row's start",
    ),
    row(
        &[held(SHIFT, KeyCode::End)],
        EditAction::SelectEnd,
        "extend the selection to the row's \
        end",
    ),
    row(&[alt('a')], EditAction::SelectAll, "select all"),
    row(&[ctrl('x')], EditAction::Cut, "cut the selection"),
    row(
        &[key(KeyCode::Backspace), held(SHIFT, KeyCode::Backspace), ctrl('h')],
        EditAction::Backspace,
        "delete backward",
    ),
    row(&[key(KeyCode::Delete), ctrl('d')], EditAction::Delete, "delete forward"),
    row(
        &[ctrl('w'), held(ALT, KeyCode::Backspace), held(CTRL, KeyCode::Backspace)],
        EditAction::KillWordLeft,
        "delete the previous word",
    ),
    row(
        &[alt('d'), held(CTRL, KeyCode::Delete)],
        EditAction::KillWordRight,
        "delete the next word",
    ),
    row(&[ctrl('u')], EditAction::KillHome, "delete to the start of the line"),
    row(&[ctrl('k')], EditAction::KillEnd, "delete to the end of the line"),
    hinted(&[ctrl('y')], EditAction::Yank, "paste the last deletion", "paste"),
    row(&[alt('y')], EditAction::YankOlder, "paste the one before"),
    // Terminals send ctrl+_ as the code that crossterm reads as ctrl+7.
    hinted(&[ctrl('_'), ctrl('7'), ctrl('/')], EditAction::Undo, "undo", "undo")
        .on(Typing, "undo typing"),
    row(
        &[alt('_'), alt('/'), held(CTRL.union(SHIFT), KeyCode::Char('_'))],
        EditAction::Redo,
        "redo",
    ),
];

/// The keys of the completion list under the caret.
pub const COMPLETION: &[KeyBinding<CompletionKey>] = &[
    hinted(&[key(KeyCode::Enter)], CompletionKey::Accept, "accept", "select"),
    hinted(&[key(KeyCode::Tab)], CompletionKey::Complete, "insert and keep completing", "insert"),
    row(&[key(KeyCode::Up)], CompletionKey::Previous, "previous row"),
    row(&[key(KeyCode::Down)], CompletionKey::Next, "next row"),
    hinted(&[key(KeyCode::Esc)], CompletionKey::Dismiss, "close the list", "close"),
];

/// The keys of a permission question.
pub const APPROVAL: &[KeyBinding<ApprovalKey>] = &[
    hinted(
        &[key(KeyCode::Enter)],
        ApprovalKey::Accept,
        "select the marked answer; dangerous calls need y",
        "select",
    ),
    hinted(&[key(KeyCode::Esc)], ApprovalKey::Stop, "no, and stop the turn", "no and stop"),
    row(&[key(KeyCode::Up)], ApprovalKey::PreviousAnswer, "mark the answer above"),
    row(&[key(KeyCode::Down)], ApprovalKey::NextAnswer, "mark the answer below"),
    row(&[char('y')], ApprovalKey::Once, "yes, once"),
    row(&[char('Y')], ApprovalKey::AllWaiting, "yes, and to the calls listed as waiting"),
    row(
        &[char('s')],
        ApprovalKey::Session,
        "yes, for this session: this rule, or all edits in the workspace",
    ),
    hinted(
        &[held(SHIFT, KeyCode::Tab)],
        ApprovalKey::AllowEdits,
        "yes, and to all edits in the workspace: mode allow-edits",
        "all edits",
    ),
    row(&[char('a')], ApprovalKey::Always, "yes, always: edit the rule, then save it"),
    row(&[char('n')], ApprovalKey::No, "no; the turn goes on"),
    row(&[char('d')], ApprovalKey::Never, "no, always: edit the rule, then save it"),
    hinted(
        &[char('p')],
        ApprovalKey::OnTerminal,
        "yes, on a terminal that you can take over",
        "yes, on a terminal",
    ),
    row(&[char('e')], ApprovalKey::EditCommand, "edit the command"),
    row(&[char('t')], ApprovalKey::Instruct, "no, and say what to do instead"),
    hinted(
        &[char(' ')],
        ApprovalKey::Pick,
        "include a change of an edit, or leave it out; else page down",
        "include",
    ),
    hinted(
        &[key(KeyCode::Right), char(']')],
        ApprovalKey::NextChange,
        "next change",
        "next change",
    ),
    hinted(
        &[key(KeyCode::Left), char('[')],
        ApprovalKey::PreviousChange,
        "previous change",
        "previous change",
    ),
    row(
        &[held(SHIFT, KeyCode::Up)],
        ApprovalKey::Scroll(ScrollAction::LineUp),
        "line up: in a long question, else in the chat",
    ),
    row(&[held(SHIFT, KeyCode::Down)], ApprovalKey::Scroll(ScrollAction::LineDown), "line down"),
    hinted(
        &[key(KeyCode::PageUp)],
        ApprovalKey::Scroll(ScrollAction::PageUp),
        "page up: in a long question, else in the chat",
        "up",
    ),
    hinted(
        &[key(KeyCode::PageDown)],
        ApprovalKey::Scroll(ScrollAction::PageDown),
        "page down",
        "down",
    ),
    row(&[key(KeyCode::Home)], ApprovalKey::Scroll(ScrollAction::Top), "go to the start"),
    row(&[key(KeyCode::End)], ApprovalKey::Scroll(ScrollAction::Bottom), "go to the end"),
    row(
        &[held(ALT, KeyCode::Up)],
        ApprovalKey::Chat(ScrollAction::HalfUp),
        "half a page up in the chat",
    ),
    row(
        &[held(ALT, KeyCode::Down)],
        ApprovalKey::Chat(ScrollAction::HalfDown),
        "half a page down in the chat",
    ),
    row(
        &[held(CTRL, KeyCode::End)],
        ApprovalKey::Chat(ScrollAction::Bottom),
        "go to the end of the chat",
    ),
];

/// The keys of a text field in a dialog.
pub const FIELD: &[KeyBinding<FieldKey>] = &[
    hinted(&[key(KeyCode::Enter)], FieldKey::Accept, "confirm", "confirm"),
    hinted(&[key(KeyCode::Esc)], FieldKey::Back, "cancel", "back"),
    row(&[key(KeyCode::Tab)], FieldKey::Next, "next rule"),
    row(
        &[held(SHIFT, KeyCode::Enter), held(ALT, KeyCode::Enter), ctrl('j')],
        FieldKey::Newline,
        "new line",
    ),
];

/// The keys of a list to choose from.
pub const LIST: &[KeyBinding<ListKey>] = &[
    hinted(&[key(KeyCode::Enter)], ListKey::Accept, "accept", "select"),
    row(&[key(KeyCode::Up), ctrl('p')], ListKey::Previous, "previous row"),
    row(&[key(KeyCode::Down), ctrl('n')], ListKey::Next, "next row"),
    row(&[key(KeyCode::PageUp)], ListKey::PageUp, "page up"),
    row(&[key(KeyCode::PageDown)], ListKey::PageDown, "page down"),
    hinted(&[key(KeyCode::Esc)], ListKey::Back, "close the list", "close"),
];

/// The keys of the list of models, in addition to [`LIST`].
pub const MODELS: &[KeyBinding<ModelListKey>] =
    &[hinted(&[key(KeyCode::Tab)], ModelListKey::Mark, "toggle favourite", "favourite")];

/// The keys of the list of sessions.
pub const SIDEBAR: &[KeyBinding<SidebarKey>] = &[
    row(&[key(KeyCode::Up), char('k')], SidebarKey::Previous, "previous session"),
    row(&[key(KeyCode::Down), char('j')], SidebarKey::Next, "next session"),
    row(&[key(KeyCode::PageUp)], SidebarKey::PageUp, "page up"),
    row(&[key(KeyCode::PageDown)], SidebarKey::PageDown, "page down"),
    row(&[key(KeyCode::Home)], SidebarKey::First, "first session"),
    row(&[key(KeyCode::End)], SidebarKey::Last, "last session"),
    hinted(&[key(KeyCode::Enter)], SidebarKey::Open, "open the session", "open").on(Action, "open"),
    hinted(&[char('f')], SidebarKey::Fork, "fork the session", "fork").on(Action, "fork"),
    hinted(&[char('r')], SidebarKey::Rename, "rename the session", "rename").on(Action, "rename"),
    hinted(
        &[char('d'), key(KeyCode::Delete)],
        SidebarKey::Delete,
        "move the session to the trash",
        "delete",
    )
    .on(Action, "delete"),
    hinted(&[char('x')], SidebarKey::Export, "export the session as HTML", "export")
        .on(Action, "export"),
    hinted(&[char('p')], SidebarKey::Preview, "preview the session", "preview")
        .on(Action, "preview"),
    row(
        &[char('K')],
        SidebarKey::PreviousMessage,
        "previous message in the preview, to fork \
        there",
    ),
    row(&[char('J')], SidebarKey::NextMessage, "next message in the preview, to fork there"),
    row(&[char('c')], SidebarKey::Compare, "compare: press on one session, then on another")
        .on(Action, "compare"),
    row(&[char('s')], SidebarKey::SumUp, "put a summary into the input"),
    hinted(&[char('v')], SidebarKey::Group, "group by project, date or fork", "group")
        .on(Motion, "group"),
    hinted(&[char('g')], SidebarKey::Scope, "toggle all projects", "projects")
        .on(Motion, "all projects"),
    row(&[char('u')], SidebarKey::Undo, "restore the last deleted session")
        .on(Action, "undo delete"),
    row(&[char('/')], SidebarKey::Filter, "search titles and messages").on(Motion, "search"),
    row(&[char('?')], SidebarKey::Help, "show the keys"),
    row(&[key(KeyCode::Tab)], SidebarKey::Leave, "back to the input; keep the list open")
        .on(Motion, "to the input"),
    row(&[key(KeyCode::Esc)], SidebarKey::Close, "close the list"),
];
