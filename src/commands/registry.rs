//! The slash commands of a session, put together from parts: what completion, help, the linear front
//! end and the parser go by.

use std::fmt;
use std::sync::Arc;

use crate::domain::nearest;

use super::{SlashArgumentKind, SlashCommand, SlashCommandError};

/// What a command is to whoever lists, completes or runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandDescriptor {
    /// The name without the slash: small letters and hyphens.
    pub name: String,
    /// Other names that do the same, which lists do not show.
    pub aliases: Vec<String>,
    pub argument: SlashArgumentKind,
    /// What it does, as a phrase for lists.
    pub summary: String,
    pub timing: CommandTiming,
    /// What it comes from, as the user reads it in a sentence: "slug itself".
    pub source: String,
}

/// Whether a command may run while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandTiming {
    Always,
    /// While a turn runs, only without its argument: then it lists what there is.
    WithoutArgument,
    /// Only while no turn runs.
    BetweenTurns,
}

/// A command with what reads its argument.
#[derive(Clone)]
pub struct RegisteredCommand {
    pub descriptor: CommandDescriptor,
    read: Arc<ArgumentParser>,
}

/// Makes the command of its argument; `None` where nothing follows the name.
type ArgumentParser = dyn Fn(Option<&str>) -> Result<SlashCommand, SlashCommandError> + Send + Sync;

/// The commands that come from one source: slug itself, the user's files, a project, a server.
pub struct CommandPart {
    /// In the order that lists show them.
    pub commands: Vec<RegisteredCommand>,
}

/// All slash commands there are.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandRegistry {
    commands: Arc<[RegisteredCommand]>,
}

/// A name that was taken. The command that came first keeps it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "/{name} from {second} is ignored: {first} already has a command of that name. Rename \
    it."
)]
pub struct CommandConflict {
    pub name: String,
    /// The source of the command that has the name.
    pub first: String,
    /// The source of the command that does not get it.
    pub second: String,
}

/// A line that is a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedCommand {
    pub command: SlashCommand,
    /// Whether it may run while a turn runs.
    pub may_run_in_turn: bool,
}

impl RegisteredCommand {
    /// A command whose argument `read` understands; it gets no argument that the descriptor rules out.
    pub fn new(
        descriptor: CommandDescriptor,
        read: impl Fn(Option<&str>) -> Result<SlashCommand, SlashCommandError> + Send + Sync + 'static,
    ) -> Self {
        Self { descriptor, read: Arc::new(read) }
    }

    /// The command that sends a prompt of a server, or the text of a skill or custom command. It is sent as a message is, so it may wait for the
    /// end of a turn.
    pub fn prompt(name: String, summary: String, source: String) -> Self {
        let command = name.clone();
        let descriptor = CommandDescriptor {
            name,
            aliases: Vec::new(),
            argument: SlashArgumentKind::Prompt,
            summary,
            timing: CommandTiming::Always,
            source,
        };
        Self::new(descriptor, move |given| {
            let arguments = given.unwrap_or_default().to_owned();
            Ok(SlashCommand::Prompt { command: command.clone(), arguments })
        })
    }

    fn has_name(&self, name: &str) -> bool {
        self.descriptor.name == name || self.descriptor.aliases.iter().any(|alias| alias == name)
    }

    fn parse(&self, argument: &str) -> Result<ParsedCommand, SlashCommandError> {
        let CommandDescriptor { name, argument: kind, timing, .. } = &self.descriptor;
        let given = (!argument.is_empty()).then_some(argument);
        match (kind, given) {
            (SlashArgumentKind::None, Some(_)) => {
                return Err(SlashCommandError::NoArgument(name.clone()));
            }
            (SlashArgumentKind::OneOf(words), Some(given))
                if !words.iter().any(|(word, _)| *word == given) =>
            {
                let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                let words = words.join(" or ");
                return Err(SlashCommandError::NoSuchWord { name: name.clone(), words });
            }
            (_, _) => {}
        }
        let may_run_in_turn = match timing {
            CommandTiming::Always => true,
            CommandTiming::WithoutArgument => given.is_none(),
            CommandTiming::BetweenTurns => false,
        };
        Ok(ParsedCommand { command: (self.read)(given)?, may_run_in_turn })
    }
}

/// Commands with the same descriptor are the same: what reads the argument belongs to it.
impl PartialEq for RegisteredCommand {
    fn eq(&self, other: &Self) -> bool {
        self.descriptor == other.descriptor
    }
}

impl fmt::Debug for RegisteredCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.descriptor.fmt(f)
    }
}

/// The built-in commands.
impl Default for CommandRegistry {
    fn default() -> Self {
        Self::built_in()
    }
}

impl CommandRegistry {
    /// The commands of these parts, one part after another, and the names that two of them have. The
    /// built-in part goes first, so that no other source takes a name of it.
    pub fn from_parts(parts: Vec<CommandPart>) -> (Self, Vec<CommandConflict>) {
        let mut commands: Vec<RegisteredCommand> = Vec::new();
        let mut conflicts = Vec::new();
        for mut command in parts.into_iter().flat_map(|part| part.commands) {
            let descriptor = &mut command.descriptor;
            let mut is_free = |name: &String| {
                let holder = commands.iter().find(|other| other.has_name(name));
                conflicts.extend(holder.map(|holder| CommandConflict {
                    name: name.clone(),
                    first: holder.descriptor.source.clone(),
                    second: descriptor.source.clone(),
                }));
                holder.is_none()
            };
            let is_named = is_free(&descriptor.name);
            let mut aliases = std::mem::take(&mut descriptor.aliases);
            aliases.retain(&mut is_free);
            descriptor.aliases = aliases;
            if is_named {
                commands.push(command);
            }
        }
        (Self { commands: commands.into() }, conflicts)
    }

    /// The built-in commands alone.
    pub fn built_in() -> Self {
        Self { commands: CommandPart::built_in().commands.into() }
    }

    /// The same commands, with these prompts in the place of those there were. One whose name is taken is
    /// left out.
    pub fn with_prompts(&self, prompts: Vec<RegisteredCommand>) -> Self {
        let is_other =
            |it: &&RegisteredCommand| it.descriptor.argument != SlashArgumentKind::Prompt;
        let others =
            CommandPart { commands: self.commands.iter().filter(is_other).cloned().collect() };
        Self::from_parts(vec![others, CommandPart { commands: prompts }]).0
    }

    /// All commands, in the order that lists show them.
    pub fn all(&self) -> impl Iterator<Item = &CommandDescriptor> {
        self.commands.iter().map(|command| &command.descriptor)
    }

    /// The command of this name or alias.
    pub fn find(&self, name: &str) -> Option<&CommandDescriptor> {
        self.entry(name).map(|command| &command.descriptor)
    }

    /// Parses a line. `None` when it is not meant as a command, such as a path
    /// (`/usr/bin is full`), nor a prompt of a server that is known. The words with which other programs
    /// are left or asked to save do the same here, when they stand alone.
    pub fn parse(&self, line: &str) -> Option<Result<ParsedCommand, SlashCommandError>> {
        let rest = match line.trim() {
            word @ ("exit" | "quit" | "save") => word,
            _ => line.trim_end().strip_prefix('/')?,
        };
        let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let is_plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        let is_name = is_plain || self.entry(name).is_some();
        is_name.then(|| self.entry(name).ok_or_else(|| self.unknown(name))?.parse(argument.trim()))
    }

    fn unknown(&self, name: &str) -> SlashCommandError {
        let names = self.all().flat_map(|it| [&it.name].into_iter().chain(&it.aliases));
        let near = nearest(name, names.map(String::as_str)).map(str::to_owned);
        SlashCommandError::Unknown { name: name.to_owned(), near }
    }

    fn entry(&self, name: &str) -> Option<&RegisteredCommand> {
        self.commands.iter().find(|command| command.has_name(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(name: &str, aliases: &[&str], source: &str) -> RegisteredCommand {
        let descriptor = CommandDescriptor {
            name: name.into(),
            aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            argument: SlashArgumentKind::File,
            summary: "a command of a test".into(),
            timing: CommandTiming::WithoutArgument,
            source: source.into(),
        };
        RegisteredCommand::new(descriptor, |given| Ok(SlashCommand::Diff(given.map(str::to_owned))))
    }

    fn registry(own: Vec<RegisteredCommand>) -> (CommandRegistry, Vec<CommandConflict>) {
        CommandRegistry::from_parts(vec![CommandPart::built_in(), CommandPart { commands: own }])
    }

    #[test]
    fn a_command_of_another_source_is_listed_found_and_parsed() {
        let (registry, conflicts) = registry(vec![command("ship", &["release"], "this project")]);
        assert_eq!(conflicts, []);
        assert_eq!(registry.all().last().unwrap().name, "ship");
        assert_eq!(registry.find("release").unwrap().source, "this project");
        for (line, argument, may_run_in_turn) in
            [("/ship", None, true), ("/release a b ", Some("a b"), false)]
        {
            let command = SlashCommand::Diff(argument.map(str::to_owned));
            let parsed = ParsedCommand { command, may_run_in_turn };
            assert_eq!(registry.parse(line), Some(Ok(parsed)), "{line}");
        }
    }

    #[test]
    fn prompts_come_and_go_and_other_commands_stay() {
        let prompt = |name: &str| {
            RegisteredCommand::prompt(name.into(), "a prompt".into(), "the server s".into())
        };
        let built_in = CommandRegistry::built_in();
        let with = built_in.with_prompts(vec![prompt("s:Re_view"), prompt("s:b")]);
        let sent = |arguments: &str| SlashCommand::Prompt {
            command: "s:Re_view".into(),
            arguments: arguments.into(),
        };
        for (line, wanted) in [
            ("/s:Re_view", sent("")),
            ("/s:Re_view  12 why=\"a\nb\" ", sent("12 why=\"a\nb\"")),
            ("/help", SlashCommand::Help),
        ] {
            let parsed = with.parse(line).unwrap().unwrap();
            assert_eq!((parsed.command, parsed.may_run_in_turn), (wanted, true), "{line}");
        }
        assert_eq!(with.parse("/s:none 1"), None, "it is sent as a message");
        assert_eq!(
            with.with_prompts(vec![prompt("s:b")]).all().count(),
            built_in.all().count() + 1
        );
        assert_eq!(with.with_prompts(Vec::new()), built_in);
    }

    #[test]
    fn a_name_that_is_taken_stays_with_the_first_source_and_is_told() {
        let own = vec![
            command("help", &["ship"], "this project"),
            command("exit", &[], "this project"),
            command("deploy", &["quit", "release"], "this project"),
            command("release", &[], "the server x"),
        ];
        let (registry, conflicts) = registry(own);
        assert_eq!(registry.parse("/help").unwrap().unwrap().command, SlashCommand::Help);
        assert_eq!(registry.parse("/exit").unwrap().unwrap().command, SlashCommand::Quit);
        assert_eq!(registry.find("release").unwrap().name, "deploy");
        assert_eq!(registry.find("ship"), None);
        let told: Vec<String> = conflicts.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "/help from this project is ignored: slug itself already has a command of that \
                 name. Rename it.",
                "/exit from this project is ignored: slug itself already has a command of that \
                 name. Rename it.",
                "/quit from this project is ignored: slug itself already has a command of that \
                 name. Rename it.",
                "/release from the server x is ignored: this project already has a command of \
                 that name. Rename it.",
            ]
        );
    }
}
