//! Where keys are pressed, and which actions belong to each place.

use std::fmt::Debug;

use super::actions::{
    AlwaysKey, ApprovalKey, CaretKey, ChangesKey, ChatKey, CompletionKey, EmptyInputKey, FieldKey,
    FindKey, FoundKey, InputKey, ListKey, ModelKey, PagerKey, PaneKey, ReadingKey, RewindKey,
    RulesKey, SearchKey, SidebarKey,
};
use super::tables::{
    ALWAYS, APPROVAL, Binding, CARET, CHANGES, CHAT, COMPLETION, EDITING, EMPTY_INPUT, FIELD, FIND,
    FOUND, INPUT, LIST, MODELS, PAGER, PANES, READING, REWIND, RULES, SEARCH, SIDEBAR,
};
use crate::tui::app::editor::Edit;

/// Where a key is pressed: a table of `keys.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Context {
    /// Wherever the focus is.
    Always,
    /// In the chat, whichever part of it has the focus.
    Chat,
    /// In the input.
    Input,
    /// In the input while nothing is typed.
    EmptyInput,
    /// In every text that can be typed in.
    Editing,
    /// In the list under the caret.
    Completion,
    /// On the panes of the transcript.
    Panes,
    /// In the search, while its query is typed.
    Search,
    /// On the panes, while a search stands on a match.
    Match,
    /// With the caret in the transcript.
    Caret,
    /// In a permission question.
    Approval,
    /// In a text field of a dialog.
    Field,
    /// In a list to choose from.
    List,
    /// In the list of models.
    Models,
    /// In the list of sessions.
    Sessions,
    /// In something to read.
    Reading,
    /// In the pager.
    Pager,
    /// In the pager's field for what to look for.
    Find,
    /// In what the session changed.
    Changes,
    /// In the permission rules.
    Rules,
    /// In the dialog for going back.
    Rewind,
}

/// What a key can do in one context.
pub trait Action: Copy + PartialEq + Debug + 'static {
    /// Where.
    const CONTEXT: Context;
    /// The context's actions, with the keys that slug comes with.
    const TABLE: &'static [Binding<Self>];

    /// What it types besides, where it is a sign that means something to the input.
    fn types(self) -> Option<char> {
        None
    }
}

impl Context {
    /// All of them, in the order of the help.
    pub const ALL: [Self; 21] = [
        Self::Chat,
        Self::Input,
        Self::EmptyInput,
        Self::Editing,
        Self::Completion,
        Self::Panes,
        Self::Search,
        Self::Match,
        Self::Caret,
        Self::Reading,
        Self::Pager,
        Self::Find,
        Self::Changes,
        Self::Rules,
        Self::Rewind,
        Self::Approval,
        Self::Field,
        Self::List,
        Self::Models,
        Self::Sessions,
        Self::Always,
    ];

    /// Places where several contexts hold at once, in the order in which they are asked. The list
    /// under the input, a match, the caret and the sessions are left alone with the keys that work everywhere: what
    /// they take from the input and from the chat, they take on purpose.
    pub const TOGETHER: &[(&str, &[Self])] = &[
        ("the input", &[Self::Always, Self::Input, Self::Editing, Self::Chat]),
        ("the empty input", &[Self::Always, Self::EmptyInput, Self::Chat]),
        ("the list under the input", &[Self::Always, Self::Completion]),
        ("the panes", &[Self::Always, Self::Panes, Self::Chat]),
        ("the search", &[Self::Always, Self::Search, Self::Editing]),
        ("a match", &[Self::Always, Self::Match]),
        ("the caret", &[Self::Always, Self::Caret]),
        ("a permission question", &[Self::Always, Self::Approval]),
        ("a field", &[Self::Always, Self::Field, Self::Editing]),
        ("a list", &[Self::Always, Self::List, Self::Editing]),
        ("the models", &[Self::Always, Self::Models, Self::List, Self::Editing]),
        ("the sessions", &[Self::Always, Self::Sessions]),
        ("a page to read", &[Self::Always, Self::Reading]),
        ("the pager", &[Self::Always, Self::Pager]),
        ("the pager's search", &[Self::Always, Self::Find, Self::Editing]),
        ("the changes", &[Self::Always, Self::Changes]),
        ("the rules", &[Self::Always, Self::Rules]),
        ("going back", &[Self::Always, Self::Rewind]),
    ];

    /// Its table in `keys.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Chat => "chat",
            Self::Input => "input",
            Self::EmptyInput => "empty-input",
            Self::Editing => "editing",
            Self::Completion => "completion",
            Self::Panes => "panes",
            Self::Search => "search",
            Self::Match => "match",
            Self::Caret => "caret",
            Self::Approval => "approval",
            Self::Field => "field",
            Self::List => "list",
            Self::Models => "models",
            Self::Sessions => "sessions",
            Self::Reading => "reading",
            Self::Pager => "pager",
            Self::Find => "find",
            Self::Changes => "changes",
            Self::Rules => "rules",
            Self::Rewind => "rewind",
        }
    }

    /// Its heading in the help.
    pub fn title(self) -> &'static str {
        match self {
            Self::Always => "Everywhere",
            Self::Chat => "Chat",
            Self::Input => "Input",
            Self::EmptyInput => "Input, while nothing is typed",
            Self::Editing => "Editing",
            Self::Completion => "List under the input",
            Self::Panes => "Panes",
            Self::Search => "Search",
            Self::Match => "Panes, while a search stands on a match",
            Self::Caret => "Caret in the transcript",
            Self::Approval => "Permission question",
            Self::Field => "Fields in a dialog",
            Self::List => "Lists",
            Self::Models => "List of models",
            Self::Sessions => "Sessions",
            Self::Reading => "Pages to read",
            Self::Pager => "The whole of a pane",
            Self::Find => "Search in the whole of a pane",
            Self::Changes => "Changes of the session",
            Self::Rules => "Permission rules",
            Self::Rewind => "Going back",
        }
    }

    /// The context of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|context| context.name() == name)
    }
}

impl Action for AlwaysKey {
    const CONTEXT: Context = Context::Always;
    const TABLE: &'static [Binding<Self>] = ALWAYS;
}

impl Action for ChatKey {
    const CONTEXT: Context = Context::Chat;
    const TABLE: &'static [Binding<Self>] = CHAT;
}

impl Action for InputKey {
    const CONTEXT: Context = Context::Input;
    const TABLE: &'static [Binding<Self>] = INPUT;

    fn types(self) -> Option<char> {
        (self == Self::File).then_some('@')
    }
}

impl Action for EmptyInputKey {
    const CONTEXT: Context = Context::EmptyInput;
    const TABLE: &'static [Binding<Self>] = EMPTY_INPUT;

    fn types(self) -> Option<char> {
        match self {
            Self::Command => Some('/'),
            Self::Shell => Some('!'),
            Self::Help => None,
        }
    }
}

impl Action for Edit {
    const CONTEXT: Context = Context::Editing;
    const TABLE: &'static [Binding<Self>] = EDITING;
}

impl Action for CompletionKey {
    const CONTEXT: Context = Context::Completion;
    const TABLE: &'static [Binding<Self>] = COMPLETION;
}

impl Action for PaneKey {
    const CONTEXT: Context = Context::Panes;
    const TABLE: &'static [Binding<Self>] = PANES;
}

impl Action for SearchKey {
    const CONTEXT: Context = Context::Search;
    const TABLE: &'static [Binding<Self>] = SEARCH;
}

impl Action for FoundKey {
    const CONTEXT: Context = Context::Match;
    const TABLE: &'static [Binding<Self>] = FOUND;
}

impl Action for CaretKey {
    const CONTEXT: Context = Context::Caret;
    const TABLE: &'static [Binding<Self>] = CARET;
}

impl Action for ApprovalKey {
    const CONTEXT: Context = Context::Approval;
    const TABLE: &'static [Binding<Self>] = APPROVAL;
}

impl Action for FieldKey {
    const CONTEXT: Context = Context::Field;
    const TABLE: &'static [Binding<Self>] = FIELD;
}

impl Action for ListKey {
    const CONTEXT: Context = Context::List;
    const TABLE: &'static [Binding<Self>] = LIST;
}

impl Action for ModelKey {
    const CONTEXT: Context = Context::Models;
    const TABLE: &'static [Binding<Self>] = MODELS;
}

impl Action for SidebarKey {
    const CONTEXT: Context = Context::Sessions;
    const TABLE: &'static [Binding<Self>] = SIDEBAR;
}

impl Action for ReadingKey {
    const CONTEXT: Context = Context::Reading;
    const TABLE: &'static [Binding<Self>] = READING;
}

impl Action for PagerKey {
    const CONTEXT: Context = Context::Pager;
    const TABLE: &'static [Binding<Self>] = PAGER;
}

impl Action for FindKey {
    const CONTEXT: Context = Context::Find;
    const TABLE: &'static [Binding<Self>] = FIND;
}

impl Action for ChangesKey {
    const CONTEXT: Context = Context::Changes;
    const TABLE: &'static [Binding<Self>] = CHANGES;
}

impl Action for RulesKey {
    const CONTEXT: Context = Context::Rules;
    const TABLE: &'static [Binding<Self>] = RULES;
}

impl Action for RewindKey {
    const CONTEXT: Context = Context::Rewind;
    const TABLE: &'static [Binding<Self>] = REWIND;
}
