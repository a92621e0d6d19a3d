//! The commands that are part of slug: the table, and how each reads its argument.

use crate::domain::{ReasoningEffort, SessionId};

use super::registry::{CommandDescriptor, CommandPart, CommandTiming, RegisteredCommand};
use super::{
    CopyArgument, EffortArgument, FoldArgument, FoldSetting, MessageArgument, OnOffArgument,
    ReviewArgument, SlashArgumentKind, SlashCommand, SlashCommandError,
};

/// The words that `/effort` takes, each with its meaning.
pub const EFFORT_WORDS: &[(&str, &str)] = &[
    ("default", "provider default"),
    ("none", "off, where the model allows it"),
    ("minimal", "almost none"),
    ("low", "a little: quick and cheap"),
    ("medium", "for most tasks"),
    ("high", "for hard tasks"),
    ("xhigh", "very high"),
    ("max", "maximum"),
];

const SWITCH: &[(&str, &str)] = &[("on", "use vi keys"), ("off", "use ordinary keys")];

const PANEL: &[(&str, &str)] =
    &[("on", "show it where there is room"), ("off", "leave the whole width to the chat")];

/// A row of the table: name, argument, when it may run, what it does, how its argument is read.
struct CommandRow {
    name: &'static str,
    aliases: &'static [&'static str],
    argument: SlashArgumentKind,
    timing: CommandTiming,
    summary: &'static str,
    read: fn(Option<&str>) -> Result<SlashCommand, SlashCommandError>,
}

/// In the order that lists show them.
const TABLE: &[CommandRow] = &[
    CommandRow {
        name: "help",
        aliases: &["keys", "commands"],
        argument: SlashArgumentKind::None,
        timing: CommandTiming::Always,
        summary: "show keys and commands",
        read: |_| Ok(SlashCommand::Help),
    },
    CommandRow {
        name: "new",
        aliases: &[],
        argument: SlashArgumentKind::None,
        timing: CommandTiming::BetweenTurns,
        summary: "start a new session",
        read: |_| Ok(SlashCommand::New),
    },
    CommandRow {
        name: "sessions",
        aliases: &["resume", "continue", "history"],
        argument: SlashArgumentKind::Session,
        timing: CommandTiming::WithoutArgument,
        summary: "open a past session",
        read: |given| Ok(SlashCommand::Sessions(given.map(session).transpose()?)),
    },
    CommandRow {
        name: "fork",
        aliases: &["branch"],
        argument: SlashArgumentKind::Message,
        timing: CommandTiming::BetweenTurns,
        summary: "fork this session at a message, or in the background (--background TEXT)",
        read: fork,
    },
    CommandRow {
        name: "model",
        aliases: &["models"],
        argument: SlashArgumentKind::Model,
        timing: CommandTiming::WithoutArgument,
        summary: "switch the model",
        read: |given| Ok(SlashCommand::Model(given.map(model).transpose()?)),
    },
    CommandRow {
        name: "race",
        aliases: &["compare"],
        argument: SlashArgumentKind::Race,
        timing: CommandTiming::BetweenTurns,
        summary: "have two models answer a message, and take one answer",
        read: race,
    },
    CommandRow {
        name: "effort",
        aliases: &["think", "reasoning"],
        argument: SlashArgumentKind::OneOf(EFFORT_WORDS),
        timing: CommandTiming::WithoutArgument,
        summary: "set how hard the model thinks",
        read: |given| Ok(SlashCommand::Effort(given.map(thinking))),
    },
    CommandRow {
        name: "mode",
        aliases: &[],
        argument: SlashArgumentKind::Mode,
        timing: CommandTiming::Always,
        summary: "change the permission mode",
        read: |given| Ok(SlashCommand::Mode(given.map(str::parse).transpose()?)),
    },
    CommandRow {
        name: "compact",
        aliases: &["summarize"],
        argument: SlashArgumentKind::Focus,
        timing: CommandTiming::BetweenTurns,
        summary: "shorten the conversation",
        read: |given| Ok(compaction(given)),
    },
    CommandRow {
        name: "context",
        aliases: &["tokens"],
        argument: SlashArgumentKind::None,
        timing: CommandTiming::Always,
        summary: "show and trim the context window",
        read: |_| Ok(SlashCommand::Context),
    },
    CommandRow {
        name: "memory",
        aliases: &["instructions"],
        argument: SlashArgumentKind::None,
        timing: CommandTiming::Always,
        summary: "show and edit the instruction files",
        read: |_| Ok(SlashCommand::Memory),
    },
    CommandRow {
        name: "permissions",
        aliases: &["rules"],
        argument: SlashArgumentKind::None,
        timing: CommandTiming::Always,
        summary: "show, change and test the rules",
        read: |_| Ok(SlashCommand::Permissions),
    },
    CommandRow {
        name: "settings",
        aliases: &["config", "preferences", "options"],
        argument: SlashArgumentKind::None,
        timing: CommandTiming::Always,
        summary: "show and change every setting",
        read: |_| Ok(SlashCommand::Settings),
    },
    CommandRow {
        name: "hooks",
        aliases: &[],
        argument: SlashArgumentKind::None,
        timing: CommandTiming::Always,
        summary: "list, switch and test hooks",
        read: |_| Ok(SlashCommand::Hooks),
    },
    CommandRow {
        name: "skills",
        aliases: &[],
        argument: SlashArgumentKind::None,
        timing: CommandTiming::Always,
        summary: "show skills and custom commands",
        read: |_| Ok(SlashCommand::Skills),
    },
    CommandRow {
        name: "mcp",
        aliases: &[],
        argument: SlashArgumentKind::None,
        timing: CommandTiming::Always,
        summary: "show MCP servers and their tools, allow and restart them",
        read: |_| Ok(SlashCommand::Mcp),
    },
    CommandRow {
        name: "lsp",
        aliases: &[],
        argument: SlashArgumentKind::None,
        timing: CommandTiming::Always,
        summary: "show language servers with their findings, restart and stop them",
        read: |_| Ok(SlashCommand::Lsp),
    },
    CommandRow {
        name: "connect",
        aliases: &["login"],
        argument: SlashArgumentKind::None,
        timing: CommandTiming::Always,
        summary: "add, test, change or remove a provider",
        read: |_| Ok(SlashCommand::Connect),
    },
    CommandRow {
        name: "clear",
        aliases: &["reset"],
        argument: SlashArgumentKind::None,
        timing: CommandTiming::BetweenTurns,
        summary: "start over; this session is kept",
        read: |_| Ok(SlashCommand::Clear),
    },
    CommandRow {
        name: "undo",
        aliases: &[],
        argument: SlashArgumentKind::None,
        timing: CommandTiming::BetweenTurns,
        summary: "undo the last turn",
        read: |_| Ok(SlashCommand::Undo),
    },
    CommandRow {
        name: "redo",
        aliases: &[],
        argument: SlashArgumentKind::None,
        timing: CommandTiming::BetweenTurns,
        summary: "redo what was undone",
        read: |_| Ok(SlashCommand::Redo),
    },
    CommandRow {
        name: "rewind",
        aliases: &["checkpoint"],
        argument: SlashArgumentKind::Message,
        timing: CommandTiming::WithoutArgument,
        summary: "rewind to an earlier message",
        read: |given| Ok(SlashCommand::Rewind(given.map(message_argument).transpose()?)),
    },
    CommandRow {
        name: "copy",
        aliases: &[],
        argument: SlashArgumentKind::Copy,
        timing: CommandTiming::Always,
        summary: "copy the last answer, code, or all",
        read: |given| Ok(SlashCommand::Copy(given.map_or(Ok(CopyArgument::Answer), str::parse)?)),
    },
    CommandRow {
        name: "diff",
        aliases: &["changes"],
        argument: SlashArgumentKind::File,
        timing: CommandTiming::Always,
        summary: "show what this session changed",
        read: |given| Ok(SlashCommand::Diff(given.map(str::to_owned))),
    },
    CommandRow {
        name: "review",
        aliases: &[],
        argument: SlashArgumentKind::Message,
        timing: CommandTiming::Always,
        summary: "review a turn, and reject changes",
        read: |given| Ok(SlashCommand::Review(given.map(review_argument).transpose()?)),
    },
    CommandRow {
        name: "pager",
        aliases: &[],
        argument: SlashArgumentKind::None,
        timing: CommandTiming::Always,
        summary: "open the transcript in $PAGER",
        read: |_| Ok(SlashCommand::Pager),
    },
    CommandRow {
        name: "fold",
        aliases: &[],
        argument: SlashArgumentKind::Fold,
        timing: CommandTiming::Always,
        summary: "fold thinking, tools, messages or Bash",
        read: |given| Ok(SlashCommand::Fold(given.map(fold_order).transpose()?)),
    },
    CommandRow {
        name: "todos",
        aliases: &["todo"],
        argument: SlashArgumentKind::None,
        timing: CommandTiming::Always,
        summary: "show the plan",
        read: |_| Ok(SlashCommand::Todos),
    },
    CommandRow {
        name: "jobs",
        aliases: &["bashes"],
        argument: SlashArgumentKind::None,
        timing: CommandTiming::Always,
        summary: "show commands in the background, and end one",
        read: |_| Ok(SlashCommand::Jobs),
    },
    CommandRow {
        name: "agents",
        aliases: &["subagents"],
        argument: SlashArgumentKind::None,
        timing: CommandTiming::Always,
        summary: "show the agents that the model has started, open or stop one",
        read: |_| Ok(SlashCommand::Agents),
    },
    CommandRow {
        name: "status",
        aliases: &["cost", "usage", "stats"],
        argument: SlashArgumentKind::None,
        timing: CommandTiming::Always,
        summary: "show tokens and cost by model",
        read: |_| Ok(SlashCommand::Status),
    },
    CommandRow {
        name: "theme",
        aliases: &["color", "colors"],
        argument: SlashArgumentKind::Theme,
        timing: CommandTiming::Always,
        summary: "change the colour theme",
        read: |given| Ok(SlashCommand::Theme(given.map(str::to_owned))),
    },
    CommandRow {
        name: "retry",
        aliases: &[],
        argument: SlashArgumentKind::None,
        timing: CommandTiming::BetweenTurns,
        summary: "send the last message again",
        read: |_| Ok(SlashCommand::Retry),
    },
    CommandRow {
        name: "vi",
        aliases: &["vim"],
        argument: SlashArgumentKind::OneOf(SWITCH),
        timing: CommandTiming::Always,
        summary: "turn vi keys on or off",
        read: |given| Ok(SlashCommand::Vi(given.map(switch))),
    },
    CommandRow {
        name: "panel",
        aliases: &[],
        argument: SlashArgumentKind::OneOf(PANEL),
        timing: CommandTiming::Always,
        summary: "show or hide the panel of a wide screen",
        read: |given| Ok(SlashCommand::Panel(given.map(switch))),
    },
    CommandRow {
        name: "save",
        aliases: &[],
        argument: SlashArgumentKind::None,
        timing: CommandTiming::Always,
        summary: "show where the session is saved",
        read: |_| Ok(SlashCommand::Save),
    },
    CommandRow {
        name: "rename",
        aliases: &["title"],
        argument: SlashArgumentKind::Title,
        timing: CommandTiming::Always,
        summary: "rename this session",
        read: |given| {
            let title = given.ok_or(SlashCommandError::Title)?;
            Ok(SlashCommand::Rename(title.to_owned()))
        },
    },
    CommandRow {
        name: "export",
        aliases: &["share"],
        argument: SlashArgumentKind::None,
        timing: CommandTiming::Always,
        summary: "export this session as HTML, without secrets",
        read: |_| Ok(SlashCommand::Export),
    },
    CommandRow {
        name: "quit",
        aliases: &["exit"],
        argument: SlashArgumentKind::None,
        timing: CommandTiming::Always,
        summary: "quit slug",
        read: |_| Ok(SlashCommand::Quit),
    },
];

/// What `/fork` takes before a text for an agent in the background.
const IN_BACKGROUND: &str = "--background";

impl CommandPart {
    /// The commands that are part of slug.
    pub fn built_in() -> Self {
        let command = |row: &CommandRow| {
            let descriptor = CommandDescriptor {
                name: row.name.to_owned(),
                aliases: row.aliases.iter().map(|alias| (*alias).to_owned()).collect(),
                argument: row.argument,
                summary: row.summary.to_owned(),
                timing: row.timing,
                source: BUILT_IN.to_owned(),
            };
            RegisteredCommand::new(descriptor, row.read)
        };
        Self { commands: TABLE.iter().map(command).collect() }
    }
}

/// What the built-in commands come from, as the user reads it in a sentence.
const BUILT_IN: &str = "slug itself";

/// Names of models can contain slashes, but do not begin with one; such a text is another command.
fn model(given: &str) -> Result<String, SlashCommandError> {
    if given.starts_with('/') || given.contains(char::is_whitespace) {
        return Err(SlashCommandError::Model(given.to_owned()));
    }
    Ok(given.to_owned())
}

/// `/compact undo` takes the last one back; any other words say what is to be kept.
fn compaction(given: Option<&str>) -> SlashCommand {
    match given {
        Some("undo") => SlashCommand::UndoCompaction,
        focus => SlashCommand::Compact(focus.map(str::to_owned)),
    }
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

/// `--background` in front of a text has an agent work on that text; anything else names a message.
fn fork(given: Option<&str>) -> Result<SlashCommand, SlashCommandError> {
    let words = given.unwrap_or_default();
    let (first, text) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    match (first, text.trim()) {
        (IN_BACKGROUND, "") => Err(SlashCommandError::ForkText),
        (IN_BACKGROUND, text) => Ok(SlashCommand::ForkAgent(text.to_owned())),
        _ => Ok(SlashCommand::Fork(given.map(message_argument).transpose()?)),
    }
}

/// Which of the words are models, the agent knows: here there have to be a model and a message.
fn race(given: Option<&str>) -> Result<SlashCommand, SlashCommandError> {
    let given = given.unwrap_or_default();
    let has_text = given.contains(char::is_whitespace);
    has_text.then(|| SlashCommand::Race(given.to_owned())).ok_or(SlashCommandError::Race)
}

/// `session` stands for the whole session.
fn review_argument(given: &str) -> Result<ReviewArgument, SlashCommandError> {
    match given {
        "session" => Ok(ReviewArgument::Session),
        message => message_argument(message).map(ReviewArgument::Message),
    }
}

/// The table has already checked the word, so one that is no effort is `default`.
fn thinking(given: &str) -> EffortArgument {
    ReasoningEffort::parse(given).map_or(EffortArgument::Default, EffortArgument::Level)
}

/// The table has already checked the word.
fn switch(given: &str) -> OnOffArgument {
    if given == "on" { OnOffArgument::On } else { OnOffArgument::Off }
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
