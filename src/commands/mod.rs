//! Slash commands: the table and the parser.
//!
//! This module is pure: a line of text becomes a [`SlashCommand`] or an error that says what to
//! type instead. What a command does is up to the front end.

use crate::domain::{PermissionMode, ReasoningEffort, SessionId, UnknownMode};

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
    /// Changes the model, or asks which.
    Model(Option<String>),
    /// Changes the mode, or asks which.
    Mode(Option<PermissionMode>),
    /// Shows the permission rules.
    Permissions,
    /// Has the model think harder or less, or lists how hard it can.
    Effort(Option<EffortArgument>),
    /// Lists the hooks.
    Hooks,
    /// Takes the last turn back.
    Undo,
    /// Brings back what was taken back.
    Redo,
    /// Goes back before a message, or lists those that can be gone back before.
    Rewind(Option<MessageArgument>),
    /// Leaves out older parts of the conversation that is sent to the model.
    Compact,
    /// Starts over with nothing in the conversation.
    Clear,
    /// Copies a part of the session.
    Copy(CopyArgument),
    /// Shows what this session changed, from this file on.
    Diff(Option<String>),
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

/// The words that `/effort` takes, each with its meaning.
pub const EFFORT_WORDS: &[(&str, &str)] = &[
    ("default", "as the model's provider has it"),
    ("none", "not at all, where the model can do that"),
    ("minimal", "hardly"),
    ("low", "a little: quick and cheap"),
    ("medium", "for most tasks"),
    ("high", "for hard tasks"),
    ("xhigh", "longer still"),
    ("max", "as long as it takes"),
];

/// The argument of a command that switches something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnOffArgument {
    On,
    Off,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlashCommandSpec {
    /// The name without the slash.
    pub name: &'static str,
    /// What may follow it.
    pub argument: SlashArgumentKind,
    /// What it does, as a phrase for lists.
    pub help: &'static str,
}

/// What may follow a command's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlashArgumentKind {
    /// Nothing.
    None,
    /// A model's name.
    Model,
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
    #[error("There is no command /{0}. Type / to see them all.")]
    Unknown(String),
    /// The command takes no argument.
    #[error("/{0} takes nothing after it.")]
    NoArgument(&'static str),
    /// There is no such thing to copy.
    #[error("/copy takes `code` or `all`; alone it copies the last answer.")]
    Copied,
    /// There is no such way to fold.
    #[error("Panes cannot be folded \"{0}\". Say open, closed or auto.")]
    Fold(String),
    /// The command takes other words.
    #[error("/{name} takes {words} after it.")]
    NoSuchWord {
        name: &'static str,
        /// The words that it takes, joined by "or".
        words: String,
    },
    /// No server could have a model of this name.
    #[error("`{0}` is no name of a model. /model alone lists those that there are.")]
    Model(String),
    /// No message has this number.
    #[error("Your messages are counted from the last one, which is 1.")]
    Earlier,
    /// It is no session.
    #[error("`{0}` is no session. /sessions alone lists them all.")]
    Session(String),
    /// The mode does not exist.
    #[error(transparent)]
    Mode(#[from] UnknownMode),
}

/// All commands, in the order that lists show them.
pub const TABLE: [SlashCommandSpec; 24] = [
    SlashCommandSpec { name: "help", argument: SlashArgumentKind::None, help: "keys and commands" },
    SlashCommandSpec {
        name: "new",
        argument: SlashArgumentKind::None,
        help: "begin an empty session",
    },
    SlashCommandSpec {
        name: "sessions",
        argument: SlashArgumentKind::Session,
        help: "open a past session",
    },
    SlashCommandSpec {
        name: "fork",
        argument: SlashArgumentKind::Message,
        help: "go on in a copy, also from an earlier message",
    },
    SlashCommandSpec {
        name: "model",
        argument: SlashArgumentKind::Model,
        help: "change the model",
    },
    SlashCommandSpec {
        name: "effort",
        argument: SlashArgumentKind::OneOf(EFFORT_WORDS),
        help: "have the model think harder or less",
    },
    SlashCommandSpec {
        name: "mode",
        argument: SlashArgumentKind::Mode,
        help: "change how much is asked",
    },
    SlashCommandSpec {
        name: "compact",
        argument: SlashArgumentKind::None,
        help: "send less of the older conversation",
    },
    SlashCommandSpec {
        name: "permissions",
        argument: SlashArgumentKind::None,
        help: "rules: see, change and test them",
    },
    SlashCommandSpec {
        name: "hooks",
        argument: SlashArgumentKind::None,
        help: "list, switch and try hooks",
    },
    SlashCommandSpec {
        name: "clear",
        argument: SlashArgumentKind::None,
        help: "start over; this session is kept",
    },
    SlashCommandSpec {
        name: "undo",
        argument: SlashArgumentKind::None,
        help: "take the last turn back",
    },
    SlashCommandSpec {
        name: "redo",
        argument: SlashArgumentKind::None,
        help: "bring back what was taken back",
    },
    SlashCommandSpec {
        name: "rewind",
        argument: SlashArgumentKind::Message,
        help: "go back before an earlier message",
    },
    SlashCommandSpec {
        name: "copy",
        argument: SlashArgumentKind::Copy,
        help: "copy the last answer, code, or all",
    },
    SlashCommandSpec {
        name: "diff",
        argument: SlashArgumentKind::File,
        help: "what this session changed",
    },
    SlashCommandSpec {
        name: "pager",
        argument: SlashArgumentKind::None,
        help: "the transcript in $PAGER",
    },
    SlashCommandSpec {
        name: "fold",
        argument: SlashArgumentKind::Fold,
        help: "fold thinking, tools, messages or Bash",
    },
    SlashCommandSpec {
        name: "todos",
        argument: SlashArgumentKind::None,
        help: "the plan, step by step",
    },
    SlashCommandSpec {
        name: "status",
        argument: SlashArgumentKind::None,
        help: "tokens and cost by model",
    },
    SlashCommandSpec {
        name: "theme",
        argument: SlashArgumentKind::Theme,
        help: "change the colours",
    },
    SlashCommandSpec {
        name: "retry",
        argument: SlashArgumentKind::None,
        help: "send the last message again",
    },
    SlashCommandSpec {
        name: "vi",
        argument: SlashArgumentKind::OneOf(SWITCH),
        help: "Vi keys in the input",
    },
    SlashCommandSpec { name: "quit", argument: SlashArgumentKind::None, help: "leave slug" },
];

impl SlashArgumentKind {
    /// What it is, as the end of "/copy takes …".
    pub fn meaning(self) -> &'static str {
        match self {
            Self::None => "nothing after it",
            Self::Model => "the name of a model; alone it lists them",
            Self::Mode => "a mode: how much slug may do without asking",
            Self::Copy => "what to copy; alone it copies the last answer",
            Self::Theme => "a theme; alone it lists them and tries them on",
            Self::Fold => "a kind of panes, and how; alone it folds or unfolds them all",
            Self::File => "a file to begin with; alone it shows all of them",
            Self::Session => "a past session; alone it lists them",
            Self::Message => "a message of yours: words of it, or its number from the last one",
            Self::OneOf(_) => "one of these words",
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

const SWITCH: &[(&str, &str)] = &[("on", "from now on"), ("off", "no longer")];

/// Parses a line. `None` when it is not meant as a command, such as a path (`/usr/bin is full`). The
/// words that leave a shell leave slug, too, when they stand alone.
pub fn parse(line: &str) -> Option<Result<SlashCommand, SlashCommandError>> {
    if matches!(line.trim(), "exit" | "quit") {
        return Some(Ok(SlashCommand::Quit));
    }
    let rest = line.trim_end().strip_prefix('/')?;
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    is_name.then(|| command(name, argument.trim()))
}

/// The row of the command with this name; `/exit` is another name of `/quit`.
pub fn find(name: &str) -> Option<&'static SlashCommandSpec> {
    let name = if name == "exit" { "quit" } else { name };
    TABLE.iter().find(|spec| spec.name == name)
}

fn command(name: &str, argument: &str) -> Result<SlashCommand, SlashCommandError> {
    let spec = find(name).ok_or_else(|| SlashCommandError::Unknown(name.to_owned()))?;
    if spec.argument == SlashArgumentKind::None && !argument.is_empty() {
        return Err(SlashCommandError::NoArgument(spec.name));
    }
    if let SlashArgumentKind::OneOf(words) = spec.argument
        && !argument.is_empty()
        && !words.iter().any(|(word, _)| *word == argument)
    {
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        return Err(SlashCommandError::NoSuchWord { name: spec.name, words: words.join(" or ") });
    }
    let given = (!argument.is_empty()).then_some(argument);
    Ok(match spec.name {
        "help" => SlashCommand::Help,
        "new" => SlashCommand::New,
        "sessions" => SlashCommand::Sessions(given.map(session).transpose()?),
        "fork" => SlashCommand::Fork(given.map(message_argument).transpose()?),
        "model" => SlashCommand::Model(given.map(model).transpose()?),
        "effort" => SlashCommand::Effort(given.map(thinking)),
        "mode" => SlashCommand::Mode(given.map(str::parse).transpose()?),
        "permissions" => SlashCommand::Permissions,
        "hooks" => SlashCommand::Hooks,
        "undo" => SlashCommand::Undo,
        "redo" => SlashCommand::Redo,
        "rewind" => SlashCommand::Rewind(given.map(message_argument).transpose()?),
        "compact" => SlashCommand::Compact,
        "clear" => SlashCommand::Clear,
        "copy" => SlashCommand::Copy(given.map_or(Ok(CopyArgument::Answer), str::parse)?),
        "diff" => SlashCommand::Diff(given.map(str::to_owned)),
        "pager" => SlashCommand::Pager,
        "fold" => SlashCommand::Fold(given.map(fold_order).transpose()?),
        "todos" => SlashCommand::Todos,
        "status" => SlashCommand::Status,
        "theme" => SlashCommand::Theme(given.map(str::to_owned)),
        "retry" => SlashCommand::Retry,
        "vi" => SlashCommand::Vi(given.map(|word| match word {
            "on" => OnOffArgument::On,
            _ => OnOffArgument::Off,
        })),
        "quit" => SlashCommand::Quit,
        other => return Err(SlashCommandError::Unknown(other.to_owned())),
    })
}

/// Names of models can contain slashes, but do not begin with one; such a text is another command.
fn model(given: &str) -> Result<String, SlashCommandError> {
    if given.starts_with('/') || given.contains(char::is_whitespace) {
        return Err(SlashCommandError::Model(given.to_owned()));
    }
    Ok(given.to_owned())
}

fn session(given: &str) -> Result<SessionId, SlashCommandError> {
    given.parse().map_err(|_| SlashCommandError::Session(given.to_owned()))
}

fn message_argument(given: &str) -> Result<MessageArgument, SlashCommandError> {
    if !given.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(MessageArgument::Containing(given.to_owned()));
    }
    let number = given.parse().ok().filter(|number| *number > 0);
    number.map(MessageArgument::Nth).ok_or(SlashCommandError::Earlier)
}

/// The table has already checked the word, so one that is no effort is `default`.
fn thinking(given: &str) -> EffortArgument {
    ReasoningEffort::parse(given).map_or(EffortArgument::Default, EffortArgument::Level)
}

fn fold_order(given: &str) -> Result<FoldArgument, SlashCommandError> {
    let (kind, how) = given.split_once(char::is_whitespace).unwrap_or((given, ""));
    let how = match how.trim() {
        "" => None,
        "open" => Some(FoldSetting::Open),
        "closed" => Some(FoldSetting::Closed),
        "auto" => Some(FoldSetting::Auto),
        other => return Err(SlashCommandError::Fold(other.to_owned())),
    };
    Ok(FoldArgument { kind: kind.to_owned(), how })
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
                Some(Err(SlashCommandError::NoSuchWord { name: "vi", words: "on or off".into() })),
            ),
            ("/fork", Some(Ok(SlashCommand::Fork(None)))),
            ("/fork 3", Some(Ok(SlashCommand::Fork(Some(MessageArgument::Nth(3)))))),
            ("/fork 0", Some(Err(SlashCommandError::Earlier))),
            (
                "/rewind 3 free items",
                Some(Ok(SlashCommand::Rewind(Some(MessageArgument::Containing(
                    "3 free items".into(),
                ))))),
            ),
            ("/sessions", Some(Ok(SlashCommand::Sessions(None)))),
            ("/sessions cart", Some(Err(SlashCommandError::Session("cart".into())))),
            ("/new now", Some(Err(SlashCommandError::NoArgument("new")))),
            ("/nwe", Some(Err(SlashCommandError::Unknown("nwe".into())))),
            ("/usr/bin is full", None),
            ("/", None),
            ("say /help", None),
            ("", None),
        ];
        for (line, want) in rows {
            assert_eq!(parse(line), want, "{line}");
        }
    }

    #[test]
    fn every_row_of_the_table_is_a_command() {
        for spec in TABLE {
            assert!(matches!(parse(&format!("/{}", spec.name)), Some(Ok(_))), "{}", spec.name);
        }
    }
}
