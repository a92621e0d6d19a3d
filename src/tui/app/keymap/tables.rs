//! Slug's default keys: one table for each context. Each row has the text for the help and the word
//! for the last line.

use crossterm::event::{KeyCode, KeyModifiers};

use crate::tui::app::editor::EditAction;
use crate::tui::app::navigation::TranscriptJump;

use super::actions::{
    AlwaysKey, ApprovalKey, CaretKey, CaretMotion, ChangesKey, ChatKey, CompletionKey,
    EmptyInputKey, FieldKey, FindKey, InputKey, ListKey, ModelListKey, PagerKey, PaneKey,
    ReadingKey, RewindKey, RulesKey, ScrollAction, SearchKey, SearchMatchKey, SidebarKey,
};
use super::chord::KeyChord;

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
    row(&[ctrl('y')], EditAction::Yank, "put back what was removed last"),
    row(&[alt('y')], EditAction::YankOlder, "put back what was removed before it instead"),
    // Terminals send ctrl+_ as the code that crossterm reads as ctrl+7.
    row(&[ctrl('_'), ctrl('7'), ctrl('/')], EditAction::Undo, "undo"),
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
