//! Slash commands: what they are, where they come from, and the parser.
//!
//! This module is pure: a line of text becomes a [`SlashCommand`] or an error that says what to
//! type instead. What a command does is up to the front end.

mod built_in;
mod registry;

use crate::domain::{PermissionMode, ReasoningEffort, SessionId, UnknownMode};

pub use built_in::EFFORT_WORDS;
pub use registry::{
    CommandConflict, CommandDescriptor, CommandPart, CommandRegistry, CommandTiming, ParsedCommand,
    RegisteredCommand,
};

/// A command that the user typed, with its argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlashCommand {
    /// Shows the keys and commands.
    Help,
    /// Begins an empty session.
    New,
    /// Lists the sessions, or opens one.
    Sessions(Option<SessionId>),
    /// Forks the open session: all of it, or before a message.
    Fork(Option<MessageArgument>),
    /// Has a fork of the session work on this in the background.
    ForkAgent(String),
    /// Has two models answer a message. Holds what follows the name: one model or two, then the message.
    Race(String),
    /// Changes the model, or asks which.
    Model(Option<String>),
    /// Opens the page that connects models.
    Connect,
    /// Changes the mode, or asks which.
    Mode(Option<PermissionMode>),
    /// Shows what fills the context window.
    Context,
    /// Shows the jobs and their output.
    Jobs,
    /// Shows the agents that the model has started.
    Agents,
    /// Shows the permission rules.
    Permissions,
    /// Has the model think harder or less, or lists how hard it can.
    Effort(Option<EffortArgument>),
    /// Lists the hooks.
    Hooks,
    /// Shows the skills and custom commands.
    Skills,
    /// Shows the instruction files.
    Memory,
    /// Shows the MCP servers.
    Mcp,
    /// Shows the language servers.
    Lsp,
    /// Lists the settings, to change them.
    Settings,
    /// Takes the last turn back.
    Undo,
    /// Brings back what was taken back.
    Redo,
    /// Goes back before a message, or lists those that can be gone back before.
    Rewind(Option<MessageArgument>),
    /// Leaves out older parts of the conversation that is sent to the model; the summary keeps this
    /// above all.
    Compact(Option<String>),
    /// Takes the last compaction back.
    UndoCompaction,
    /// Starts over with nothing in the conversation.
    Clear,
    /// Copies a part of the session.
    Copy(CopyArgument),
    /// Shows what this session changed, from this file on.
    Diff(Option<String>),
    /// Reviews what the last turn, another one, or the session changed.
    Review(Option<ReviewArgument>),
    /// Opens the transcript in `$PAGER`.
    Pager,
    /// Folds or unfolds panes: all, or those of a kind.
    Fold(Option<FoldArgument>),
    /// Shows the plan.
    Todos,
    /// Shows the session, its model, and what it has spent.
    Status,
    /// Changes the theme, or asks which.
    Theme(Option<String>),
    /// Sends the last message again.
    Retry,
    /// Turns Vi's keys on or off; without an argument, toggles them.
    Vi(Option<OnOffArgument>),
    /// Shows or hides the panel beside the transcript.
    Panel(Option<OnOffArgument>),
    /// Says that all is saved, and where.
    Save,
    /// Gives the session a title.
    Rename(String),
    /// Writes the session as a web page.
    Export,
    /// Sends a prompt of an MCP server, or the text of a skill or custom command.
    Prompt {
        /// The name of the command.
        command: String,
        /// What follows it; may be empty.
        arguments: String,
    },
    /// Leaves slug.
    Quit,
}

/// A message of the user's, as `/fork` and `/rewind` name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageArgument {
    /// Counted from the last one, which is 1.
    Nth(usize),
    /// The newest message that contains this text.
    Containing(String),
}

/// What `/review` shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewArgument {
    /// The whole session.
    Session,
    /// The turn of this message.
    Message(MessageArgument),
}

/// What `/copy` copies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CopyArgument {
    /// The last answer.
    #[default]
    Answer,
    /// The last code block.
    Code,
    /// Everything.
    All,
}

/// How hard the model is to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffortArgument {
    /// What is configured for the provider.
    Default,
    /// The step that the user named.
    Level(ReasoningEffort),
}

impl EffortArgument {
    /// The effort to request; `None` for the provider's own.
    pub fn effort(self) -> Option<ReasoningEffort> {
        match self {
            Self::Default => None,
            Self::Level(effort) => Some(effort),
        }
    }
}

/// The argument of a command that switches something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnOffArgument {
    On,
    Off,
}

/// What may follow a command's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlashArgumentKind {
    /// Nothing.
    None,
    /// A model's name.
    Model,
    /// One or two names of models, then a message.
    Race,
    /// A mode's name.
    Mode,
    /// A part of the session: see [`CopyArgument`].
    Copy,
    /// A theme's name.
    Theme,
    /// A kind of panes, and how they are to be folded.
    Fold,
    /// A file of the workspace.
    File,
    /// A past session: chosen by its title, written as its id.
    Session,
    /// A message of the user's: chosen by its words, written as its number from the end.
    Message,
    /// What a summary is to keep above all, or `undo`.
    Focus,
    /// A title for the session.
    Title,
    /// What a prompt of a server, a skill or a custom command is filled in with.
    Prompt,
    /// One of these words, each with what it means.
    OneOf(&'static [(&'static str, &'static str)]),
}

/// What is asked of all panes of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldArgument {
    /// "thinking", "messages", "tools", or the name of a tool.
    pub kind: String,
    /// The new state; `None` takes the next one.
    pub how: Option<FoldSetting>,
}

/// How panes are to be folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldSetting {
    /// Shows all of each pane.
    Open,
    /// Shows only the head of each pane.
    Closed,
    /// Lets each pane choose by its content.
    Auto,
}

/// Why a line is no command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SlashCommandError {
    /// No command has this name.
    #[error("There is no command /{name}.{} Type / to list them.", suggestion(near.as_deref()))]
    Unknown { name: String, near: Option<String> },
    /// `/rename` without a title.
    #[error("Type a title after /rename.")]
    Title,
    /// `/fork --background` without a text.
    #[error("Type what the fork is to do after /fork --background.")]
    ForkText,
    /// `/race` without a model or without a message.
    #[error(
        "Type a model and the message after /race: /race MODEL TEXT, or /race MODEL MODEL TEXT."
    )]
    Race,
    /// The command takes no argument.
    #[error("/{0} takes no arguments.")]
    NoArgument(String),
    /// There is no such thing to copy.
    #[error("/copy takes `code` or `all`. On its own it copies the last answer.")]
    Copied,
    /// There is no such way to fold.
    #[error("There is no fold state \"{0}\". Use open, closed or auto.")]
    Fold(String),
    /// The command takes other words.
    #[error("/{name} takes {words}.")]
    NoSuchWord {
        name: String,
        /// The words that it takes, joined by "or".
        words: String,
    },
    /// No server could have a model of this name.
    #[error("There is no model `{0}`. /model lists the models.")]
    Model(String),
    /// No message has this number.
    #[error("Messages are numbered from the last one, which is 1.")]
    Earlier,
    /// It is no session.
    #[error("There is no session `{0}`. /sessions lists them all.")]
    Session(String),
    /// The mode does not exist.
    #[error(transparent)]
    Mode(#[from] UnknownMode),
}

impl SlashArgumentKind {
    /// What it is, as the end of "/copy takes …".
    pub fn meaning(self) -> &'static str {
        match self {
            Self::None => "no arguments",
            Self::Model => "a model; on its own it lists them",
            Self::Race => "one or two models, then the message",
            Self::Mode => "a permission mode",
            Self::Copy => "code or all; on its own it copies the last answer",
            Self::Theme => "a theme; on its own it lists and previews them",
            Self::Fold => "a kind of pane and a state; on its own it folds or unfolds all",
            Self::File => "a file to start with; on its own it shows all",
            Self::Session => "a past session; on its own it lists them",
            Self::Message => {
                "one of your messages: words from it, or its number counted from \
                the last"
            }
            Self::Focus => "what the summary must keep; `undo` reverts the last compaction",
            Self::Title => "a title for this session",
            Self::Prompt => "arguments, in order or as name=value",
            Self::OneOf(_) => "a word of this list",
        }
    }
}

impl CopyArgument {
    /// All parts, in the order of the completion list.
    pub const ALL: [Self; 3] = [Self::Answer, Self::Code, Self::All];

    /// The word that `/copy` takes for this part.
    pub fn name(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Code => "code",
            Self::All => "all",
        }
    }

    /// What it is, as a phrase for lists.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Answer => "the last answer",
            Self::Code => "the last code block",
            Self::All => "the whole session, as Markdown",
        }
    }
}

impl std::str::FromStr for CopyArgument {
    type Err = SlashCommandError;

    fn from_str(name: &str) -> Result<Self, SlashCommandError> {
        Self::ALL.into_iter().find(|it| it.name() == name).ok_or(SlashCommandError::Copied)
    }
}

fn suggestion(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!(" Did you mean /{near}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(kind: &str, how: FoldSetting) -> FoldArgument {
        FoldArgument { kind: kind.to_owned(), how: Some(how) }
    }

    #[test]
    fn lines_become_commands() {
        let rows = [
            ("/help", Some(Ok(SlashCommand::Help))),
            ("/quit", Some(Ok(SlashCommand::Quit))),
            ("/exit", Some(Ok(SlashCommand::Quit))),
            ("exit", Some(Ok(SlashCommand::Quit))),
            ("quit ", Some(Ok(SlashCommand::Quit))),
            ("exit now", None),
            ("/save", Some(Ok(SlashCommand::Save))),
            ("save", Some(Ok(SlashCommand::Save))),
            ("save it", None),
            ("how do I quit", None),
            ("/model", Some(Ok(SlashCommand::Model(None)))),
            ("/model  qwen3 ", Some(Ok(SlashCommand::Model(Some("qwen3".into()))))),
            ("/model /effort", Some(Err(SlashCommandError::Model("/effort".into())))),
            ("/model a b", Some(Err(SlashCommandError::Model("a b".into())))),
            (
                "/effort high",
                Some(Ok(SlashCommand::Effort(Some(EffortArgument::Level(ReasoningEffort::High))))),
            ),
            ("/effort default", Some(Ok(SlashCommand::Effort(Some(EffortArgument::Default))))),
            ("/mode plan", Some(Ok(SlashCommand::Mode(Some(PermissionMode::Plan))))),
            ("/mode fast", Some(Err(SlashCommandError::Mode(UnknownMode("fast".into()))))),
            ("/copy", Some(Ok(SlashCommand::Copy(CopyArgument::Answer)))),
            ("/copy code", Some(Ok(SlashCommand::Copy(CopyArgument::Code)))),
            ("/copy it", Some(Err(SlashCommandError::Copied))),
            ("/diff src/a b.rs", Some(Ok(SlashCommand::Diff(Some("src/a b.rs".into()))))),
            ("/fold", Some(Ok(SlashCommand::Fold(None)))),
            (
                "/fold Bash  open",
                Some(Ok(SlashCommand::Fold(Some(fold("Bash", FoldSetting::Open))))),
            ),
            ("/fold tools up", Some(Err(SlashCommandError::Fold("up".into())))),
            ("/vi on", Some(Ok(SlashCommand::Vi(Some(OnOffArgument::On))))),
            (
                "/vi maybe",
                Some(Err(SlashCommandError::NoSuchWord {
                    name: "vi".into(),
                    words: "on or off".into(),
                })),
            ),
            ("/fork", Some(Ok(SlashCommand::Fork(None)))),
            ("/fork 3", Some(Ok(SlashCommand::Fork(Some(MessageArgument::Nth(3)))))),
            (
                "/fork --background  look there ",
                Some(Ok(SlashCommand::ForkAgent("look there".into()))),
            ),
            ("/fork --background", Some(Err(SlashCommandError::ForkText))),
            (
                "/fork --backgrounds",
                Some(Ok(SlashCommand::Fork(Some(MessageArgument::Containing(
                    "--backgrounds".into(),
                ))))),
            ),
            ("/fork 0", Some(Err(SlashCommandError::Earlier))),
            ("/race", Some(Err(SlashCommandError::Race))),
            ("/race qwen3 ", Some(Err(SlashCommandError::Race))),
            ("/race  qwen3 why\nso ", Some(Ok(SlashCommand::Race("qwen3 why\nso".into())))),
            (
                "/rewind 3 free items",
                Some(Ok(SlashCommand::Rewind(Some(MessageArgument::Containing(
                    "3 free items".into(),
                ))))),
            ),
            ("/sessions", Some(Ok(SlashCommand::Sessions(None)))),
            ("/sessions cart", Some(Err(SlashCommandError::Session("cart".into())))),
            ("/new now", Some(Err(SlashCommandError::NoArgument("new".into())))),
            (
                "/nwe",
                Some(Err(SlashCommandError::Unknown {
                    name: "nwe".into(),
                    near: Some("new".into()),
                })),
            ),
            ("/usr/bin is full", None),
            ("/", None),
            ("say /help", None),
            ("", None),
        ];
        for (line, want) in rows {
            let parsed = CommandRegistry::built_in().parse(line);
            let parsed = parsed.map(|it| it.map(|it| it.command));
            assert_eq!(parsed, want, "{line}");
        }
    }

    #[test]
    fn every_command_parses_by_each_of_its_names() {
        let (registry, conflicts) = CommandRegistry::from_parts(vec![CommandPart::built_in()]);
        assert_eq!(conflicts, []);
        for descriptor in registry.all() {
            for name in [&descriptor.name].into_iter().chain(&descriptor.aliases) {
                let title = match descriptor.argument {
                    SlashArgumentKind::Title | SlashArgumentKind::Race => " x y",
                    _ => "",
                };
                let parsed = registry.parse(&format!("/{name}{title}"));
                assert!(matches!(parsed, Some(Ok(_))), "{name}");
            }
        }
    }

    #[test]
    fn a_running_turn_is_left_alone() {
        let registry = CommandRegistry::built_in();
        for (line, may_run) in [
            ("/new", false),
            ("/retry", false),
            ("/undo", false),
            ("/fork 2", false),
            ("/rewind", true),
            ("/rewind 2", false),
            ("/sessions", true),
            ("/mode plan", true),
            ("/model", true),
            ("/model qwen3", false),
            ("/effort high", false),
            ("/quit", true),
        ] {
            assert_eq!(registry.parse(line).unwrap().unwrap().may_run_in_turn, may_run, "{line}");
        }
    }
}
