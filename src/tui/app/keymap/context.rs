//! The contexts in which keys are pressed, and which actions belong to each.

use std::fmt::Debug;

use super::actions::{
    AgentsKey, AlwaysKey, ApprovalKey, CaretKey, ChangesKey, ChatKey, CompletionKey, EmptyInputKey,
    FieldKey, FindKey, InputKey, JobsKey, LedgerKey, ListKey, LspKey, McpKey, MemoryKey,
    ModelListKey, PagerKey, PaneKey, QuestionKey, RaceKey, ReadingKey, ReviewKey, RewindKey,
    RulesKey, SearchKey, SearchMatchKey, SidebarKey,
};
use super::tables::{
    AGENTS, ALWAYS, APPROVAL, CARET, CHANGES, CHAT, COMPLETION, EDITING, EMPTY_INPUT, FIELD, FIND,
    FOUND, INPUT, JOBS, KeyBinding, LEDGER, LIST, LSP, MCP, MEMORY, MODELS, PAGER, PANES,
    QUESTIONS, RACE, READING, REVIEW, REWIND, RULES, SEARCH, SIDEBAR,
};
use crate::tui::app::keymap::actions::EditAction;

/// A context in which a key is pressed; each is a table of `keys.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyContext {
    /// Everywhere.
    Always,
    /// The chat, whichever part of it has the focus.
    Chat,
    Input,
    /// The input while it is empty.
    EmptyInput,
    /// Every text that can be edited.
    Editing,
    /// The completion list under the caret.
    Completion,
    /// The panes of the transcript.
    Panes,
    /// The transcript search, while the query is being typed.
    Search,
    /// The panes, while a search is on a match.
    Match,
    /// The caret in the transcript.
    Caret,
    /// A permission question.
    Approval,
    /// A question of the model is on screen.
    Questions,
    /// A text field of a dialog.
    Field,
    /// A list to choose from.
    List,
    /// The list of models.
    Models,
    /// The list of sessions.
    Sessions,
    /// A page of text.
    Reading,
    Pager,
    /// The search field of the pager.
    Find,
    /// The page of the session's changes.
    Changes,
    /// The page of what fills the context window.
    Context,
    /// The page of permission rules.
    Rules,
    /// The rewind dialog.
    Rewind,
    /// The review of a turn.
    Review,
    /// The page of jobs.
    Jobs,
    /// The page of agents.
    Agents,
    /// The page of a race.
    Race,
    /// The page of MCP servers.
    Mcp,
    /// The page of language servers.
    Lsp,
    /// The page of instruction files.
    Memory,
}

/// The actions of one context.
pub trait KeyAction: Copy + PartialEq + Debug + 'static {
    /// The context that these actions belong to.
    const CONTEXT: KeyContext;
    /// The context's actions with slug's default keys.
    const TABLE: &'static [KeyBinding<Self>];

    /// The character that the action's key types into the input, for actions that are named by a
    /// sign such as `@`.
    fn types(self) -> Option<char> {
        None
    }
}

impl KeyContext {
    /// All contexts, in the order of the help.
    pub const ALL: [Self; 30] = [
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
        Self::Context,
        Self::Rules,
        Self::Rewind,
        Self::Review,
        Self::Jobs,
        Self::Agents,
        Self::Race,
        Self::Mcp,
        Self::Lsp,
        Self::Memory,
        Self::Approval,
        Self::Questions,
        Self::Field,
        Self::List,
        Self::Models,
        Self::Sessions,
        Self::Always,
    ];

    /// The name of the context's table in `keys.toml`.
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
            Self::Questions => "questions",
            Self::Field => "field",
            Self::List => "list",
            Self::Models => "models",
            Self::Sessions => "sessions",
            Self::Reading => "reading",
            Self::Pager => "pager",
            Self::Find => "find",
            Self::Changes => "changes",
            Self::Context => "context",
            Self::Jobs => "jobs",
            Self::Agents => "agents",
            Self::Race => "race",
            Self::Mcp => "mcp",
            Self::Lsp => "lsp",
            Self::Memory => "memory",
            Self::Rules => "rules",
            Self::Rewind => "rewind",
            Self::Review => "review",
        }
    }

    /// Whether these are the keys of every text, or those that work everywhere: the last line names
    /// neither.
    pub fn is_general(self) -> bool {
        matches!(self, Self::Editing | Self::Always)
    }

    /// The context's heading in the help.
    pub fn title(self) -> &'static str {
        match self {
            Self::Always => "Everywhere",
            Self::Chat => "Chat",
            Self::Input => "Input",
            Self::EmptyInput => "Input, while empty",
            Self::Editing => "Editing",
            Self::Completion => "List under the input",
            Self::Panes => "Panes",
            Self::Search => "Search",
            Self::Match => "Panes, while a match is selected",
            Self::Caret => "Text cursor in the transcript",
            Self::Approval => "Permission question",
            Self::Questions => "Question of the model",
            Self::Field => "Text fields in dialogs",
            Self::List => "Lists",
            Self::Models => "Model list",
            Self::Sessions => "Sessions",
            Self::Reading => "Reading pages",
            Self::Pager => "Full view of a pane",
            Self::Find => "Search in the full view",
            Self::Changes => "Session changes",
            Self::Context => "Context window",
            Self::Jobs => "Jobs",
            Self::Agents => "Agents",
            Self::Race => "Race of two models",
            Self::Mcp => "MCP servers",
            Self::Lsp => "Language servers",
            Self::Memory => "Instruction files",
            Self::Rules => "Permission rules",
            Self::Rewind => "Rewind",
            Self::Review => "Review of a turn",
        }
    }

    /// The context with this name in `keys.toml`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|context| context.name() == name)
    }
}

impl KeyAction for AlwaysKey {
    const CONTEXT: KeyContext = KeyContext::Always;
    const TABLE: &'static [KeyBinding<Self>] = ALWAYS;
}

impl KeyAction for ChatKey {
    const CONTEXT: KeyContext = KeyContext::Chat;
    const TABLE: &'static [KeyBinding<Self>] = CHAT;
}

impl KeyAction for InputKey {
    const CONTEXT: KeyContext = KeyContext::Input;
    const TABLE: &'static [KeyBinding<Self>] = INPUT;

    fn types(self) -> Option<char> {
        (self == Self::File).then_some('@')
    }
}

impl KeyAction for EmptyInputKey {
    const CONTEXT: KeyContext = KeyContext::EmptyInput;
    const TABLE: &'static [KeyBinding<Self>] = EMPTY_INPUT;

    fn types(self) -> Option<char> {
        match self {
            Self::Command => Some('/'),
            Self::Shell => Some('!'),
            Self::Help | Self::Recent => None,
        }
    }
}

impl KeyAction for EditAction {
    const CONTEXT: KeyContext = KeyContext::Editing;
    const TABLE: &'static [KeyBinding<Self>] = EDITING;
}

impl KeyAction for CompletionKey {
    const CONTEXT: KeyContext = KeyContext::Completion;
    const TABLE: &'static [KeyBinding<Self>] = COMPLETION;
}

impl KeyAction for PaneKey {
    const CONTEXT: KeyContext = KeyContext::Panes;
    const TABLE: &'static [KeyBinding<Self>] = PANES;
}

impl KeyAction for SearchKey {
    const CONTEXT: KeyContext = KeyContext::Search;
    const TABLE: &'static [KeyBinding<Self>] = SEARCH;
}

impl KeyAction for SearchMatchKey {
    const CONTEXT: KeyContext = KeyContext::Match;
    const TABLE: &'static [KeyBinding<Self>] = FOUND;
}

impl KeyAction for CaretKey {
    const CONTEXT: KeyContext = KeyContext::Caret;
    const TABLE: &'static [KeyBinding<Self>] = CARET;
}

impl KeyAction for QuestionKey {
    const CONTEXT: KeyContext = KeyContext::Questions;
    const TABLE: &'static [KeyBinding<Self>] = QUESTIONS;
}

impl KeyAction for ApprovalKey {
    const CONTEXT: KeyContext = KeyContext::Approval;
    const TABLE: &'static [KeyBinding<Self>] = APPROVAL;
}

impl KeyAction for FieldKey {
    const CONTEXT: KeyContext = KeyContext::Field;
    const TABLE: &'static [KeyBinding<Self>] = FIELD;
}

impl KeyAction for ListKey {
    const CONTEXT: KeyContext = KeyContext::List;
    const TABLE: &'static [KeyBinding<Self>] = LIST;
}

impl KeyAction for ModelListKey {
    const CONTEXT: KeyContext = KeyContext::Models;
    const TABLE: &'static [KeyBinding<Self>] = MODELS;
}

impl KeyAction for SidebarKey {
    const CONTEXT: KeyContext = KeyContext::Sessions;
    const TABLE: &'static [KeyBinding<Self>] = SIDEBAR;
}

impl KeyAction for ReadingKey {
    const CONTEXT: KeyContext = KeyContext::Reading;
    const TABLE: &'static [KeyBinding<Self>] = READING;
}

impl KeyAction for PagerKey {
    const CONTEXT: KeyContext = KeyContext::Pager;
    const TABLE: &'static [KeyBinding<Self>] = PAGER;
}

impl KeyAction for FindKey {
    const CONTEXT: KeyContext = KeyContext::Find;
    const TABLE: &'static [KeyBinding<Self>] = FIND;
}

impl KeyAction for ChangesKey {
    const CONTEXT: KeyContext = KeyContext::Changes;
    const TABLE: &'static [KeyBinding<Self>] = CHANGES;
}

impl KeyAction for RulesKey {
    const CONTEXT: KeyContext = KeyContext::Rules;
    const TABLE: &'static [KeyBinding<Self>] = RULES;
}

impl KeyAction for LedgerKey {
    const CONTEXT: KeyContext = KeyContext::Context;
    const TABLE: &'static [KeyBinding<Self>] = LEDGER;
}

impl KeyAction for AgentsKey {
    const CONTEXT: KeyContext = KeyContext::Agents;
    const TABLE: &'static [KeyBinding<Self>] = AGENTS;
}

impl KeyAction for RaceKey {
    const CONTEXT: KeyContext = KeyContext::Race;
    const TABLE: &'static [KeyBinding<Self>] = RACE;
}

impl KeyAction for JobsKey {
    const CONTEXT: KeyContext = KeyContext::Jobs;
    const TABLE: &'static [KeyBinding<Self>] = JOBS;
}

impl KeyAction for McpKey {
    const CONTEXT: KeyContext = KeyContext::Mcp;
    const TABLE: &'static [KeyBinding<Self>] = MCP;
}

impl KeyAction for LspKey {
    const CONTEXT: KeyContext = KeyContext::Lsp;
    const TABLE: &'static [KeyBinding<Self>] = LSP;
}

impl KeyAction for MemoryKey {
    const CONTEXT: KeyContext = KeyContext::Memory;
    const TABLE: &'static [KeyBinding<Self>] = MEMORY;
}

impl KeyAction for RewindKey {
    const CONTEXT: KeyContext = KeyContext::Rewind;
    const TABLE: &'static [KeyBinding<Self>] = REWIND;
}

impl KeyAction for ReviewKey {
    const CONTEXT: KeyContext = KeyContext::Review;
    const TABLE: &'static [KeyBinding<Self>] = REVIEW;
}
