//! The places in which keys are pressed, and the contexts that hold in each. This is the one list:
//! keys are dispatched by it, and the palette, the last line and the check for conflicts show it.

use super::context::KeyContext;

/// A part of the screen, in a state that has keys of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyPlace {
    Input,
    EmptyInput,
    /// The input with a list under it.
    InputList,
    Panes,
    /// A pane, while a search is on a match in it.
    Match,
    /// The query of the search in the transcript.
    Search,
    /// The caret in the transcript.
    Caret,
    Approval,
    /// A question of the model.
    Questions,
    /// A text field of a dialog or of the list of sessions.
    Field,
    /// A list, or the filter of the list of sessions.
    List,
    /// A list without a filter.
    Choice,
    /// A list with a model selected.
    Models,
    Sessions,
    /// A page to read.
    Reading,
    Pager,
    /// The search field of the pager.
    PagerSearch,
    Changes,
    Context,
    Jobs,
    Agents,
    Race,
    Mcp,
    Lsp,
    Memory,
    Rules,
    Rewind,
    /// The review of a turn.
    Review,
}

impl KeyPlace {
    /// All places, in the order in which conflicts are reported.
    pub const ALL: [Self; 28] = [
        Self::Input,
        Self::EmptyInput,
        Self::InputList,
        Self::Panes,
        Self::Search,
        Self::Match,
        Self::Caret,
        Self::Approval,
        Self::Questions,
        Self::Field,
        Self::List,
        Self::Choice,
        Self::Models,
        Self::Sessions,
        Self::Reading,
        Self::Pager,
        Self::PagerSearch,
        Self::Changes,
        Self::Context,
        Self::Jobs,
        Self::Agents,
        Self::Race,
        Self::Mcp,
        Self::Lsp,
        Self::Memory,
        Self::Rules,
        Self::Rewind,
        Self::Review,
    ];

    /// The contexts in which a key is looked up, in order. The first that knows the key takes it.
    pub fn contexts(self) -> &'static [KeyContext] {
        use KeyContext as Context;
        match self {
            Self::Input => &[Context::Always, Context::Input, Context::Editing, Context::Chat],
            Self::EmptyInput => &[
                Context::Always,
                Context::EmptyInput,
                Context::Input,
                Context::Editing,
                Context::Chat,
            ],
            Self::InputList => &[
                Context::Always,
                Context::Completion,
                Context::Input,
                Context::Editing,
                Context::Chat,
            ],
            Self::Panes => &[Context::Always, Context::Panes, Context::Chat],
            Self::Match => &[Context::Always, Context::Match, Context::Panes, Context::Chat],
            Self::Search => &[Context::Always, Context::Search, Context::Editing],
            Self::Caret => &[Context::Always, Context::Caret, Context::Chat],
            Self::Approval => &[Context::Always, Context::Approval],
            Self::Questions => &[Context::Always, Context::Questions],
            Self::Field => &[Context::Always, Context::Field, Context::Editing],
            Self::List => &[Context::Always, Context::List, Context::Editing],
            Self::Choice => &[Context::Always, Context::List],
            Self::Models => &[Context::Always, Context::Models, Context::List, Context::Editing],
            Self::Sessions => &[Context::Always, Context::Sessions, Context::Chat],
            Self::Reading => &[Context::Always, Context::Reading],
            Self::Pager => &[Context::Always, Context::Pager],
            Self::PagerSearch => &[Context::Always, Context::Find, Context::Editing],
            Self::Changes => &[Context::Always, Context::Changes],
            Self::Context => &[Context::Always, Context::Context],
            Self::Jobs => &[Context::Always, Context::Jobs],
            Self::Agents => &[Context::Always, Context::Agents],
            Self::Race => &[Context::Always, Context::Race],
            Self::Mcp => &[Context::Always, Context::Mcp],
            Self::Lsp => &[Context::Always, Context::Lsp],
            Self::Memory => &[Context::Always, Context::Memory],
            Self::Rules => &[Context::Always, Context::Rules],
            Self::Rewind => &[Context::Always, Context::Rewind],
            Self::Review => &[Context::Always, Context::Review],
        }
    }

    /// The same contexts as lists show them: the keys that work everywhere come last.
    pub fn listed(self) -> impl Iterator<Item = KeyContext> {
        let contexts = self.contexts().iter().copied();
        let is_everywhere = |context: &KeyContext| *context == KeyContext::Always;
        let everywhere = contexts.clone().filter(is_everywhere);
        contexts.filter(move |context| !is_everywhere(context)).chain(everywhere)
    }

    /// The contexts whose keys must not hide each other. The completion list, a match, the caret and the
    /// sessions override keys of the input and the chat on purpose.
    pub fn exclusive(self) -> &'static [KeyContext] {
        match self {
            Self::InputList | Self::Match | Self::Caret | Self::Sessions => &self.contexts()[..2],
            Self::Input
            | Self::EmptyInput
            | Self::Panes
            | Self::Search
            | Self::Approval
            | Self::Questions
            | Self::Field
            | Self::List
            | Self::Choice
            | Self::Models
            | Self::Reading
            | Self::Pager
            | Self::PagerSearch
            | Self::Changes
            | Self::Context
            | Self::Jobs
            | Self::Agents
            | Self::Race
            | Self::Mcp
            | Self::Lsp
            | Self::Memory
            | Self::Rules
            | Self::Rewind
            | Self::Review => self.contexts(),
        }
    }

    /// The place in a sentence.
    pub fn title(self) -> &'static str {
        match self {
            Self::Input => "the input",
            Self::EmptyInput => "the empty input",
            Self::InputList => "the completion list",
            Self::Panes => "the panes",
            Self::Search => "the search",
            Self::Match => "a match",
            Self::Caret => "the caret",
            Self::Approval => "a permission question",
            Self::Questions => "a question of the model",
            Self::Field => "a field",
            Self::List => "a list",
            Self::Choice => "a choice",
            Self::Models => "the models",
            Self::Sessions => "the sessions",
            Self::Reading => "a reading page",
            Self::Pager => "the pager",
            Self::PagerSearch => "the pager's search",
            Self::Changes => "the session changes",
            Self::Context => "the context window",
            Self::Jobs => "the jobs",
            Self::Agents => "the agents",
            Self::Race => "a race",
            Self::Mcp => "the MCP servers",
            Self::Lsp => "the language servers",
            Self::Memory => "the instruction files",
            Self::Rules => "the rules",
            Self::Rewind => "the rewind dialog",
            Self::Review => "the review",
        }
    }
}
