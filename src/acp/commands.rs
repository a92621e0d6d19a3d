//! The slash commands that an editor offers: those of slug's that need no dialog, the prompts of MCP servers,
//! and skills and custom commands. All others are the editor's own business or have options of their own.

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, SessionUpdate,
    UnstructuredCommandInput,
};

use crate::agent::AgentCommand;
use crate::commands::{CommandPart, CommandRegistry, SlashArgumentKind, SlashCommand};
use crate::skills::{PromptFileRow, PromptLibraryReport};

/// What a prompt that begins with a slash asks for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PromptCommand {
    /// A turn of the agent's.
    Turn(AgentCommand),
    /// Something that is done at once.
    AtOnce(AgentCommand),
    /// The command is not used as it should be; a sentence.
    Wrong(String),
}

/// What the command does in an editor; `None` for those that need slug's own screen.
fn in_editor(command: &SlashCommand) -> Option<PromptCommand> {
    Some(match command {
        SlashCommand::Compact(focus) => {
            PromptCommand::Turn(AgentCommand::Compact { focus: focus.clone() })
        }
        SlashCommand::UndoCompaction => PromptCommand::AtOnce(AgentCommand::UndoCompaction),
        SlashCommand::Retry => PromptCommand::Turn(AgentCommand::Retry),
        SlashCommand::Rename(title) => PromptCommand::AtOnce(AgentCommand::SetTitle(title.clone())),
        SlashCommand::Race(_) => PromptCommand::Wrong(NO_RACE.to_owned()),
        SlashCommand::Help
        | SlashCommand::New
        | SlashCommand::Sessions(_)
        | SlashCommand::Fork(_)
        | SlashCommand::ForkAgent(_)
        | SlashCommand::Model(_)
        | SlashCommand::Connect
        | SlashCommand::Mode(_)
        | SlashCommand::Context
        | SlashCommand::Jobs
        | SlashCommand::Permissions
        | SlashCommand::Effort(_)
        | SlashCommand::Hooks
        | SlashCommand::Skills
        | SlashCommand::Memory
        | SlashCommand::Agents
        | SlashCommand::Mcp
        | SlashCommand::Lsp
        | SlashCommand::Settings
        | SlashCommand::Undo
        | SlashCommand::Redo
        | SlashCommand::Rewind(_)
        | SlashCommand::Clear
        | SlashCommand::Copy(_)
        | SlashCommand::Diff(_)
        | SlashCommand::Review(_)
        | SlashCommand::Pager
        | SlashCommand::Fold(_)
        | SlashCommand::Todos
        | SlashCommand::Status
        | SlashCommand::Theme(_)
        | SlashCommand::Vi(_)
        | SlashCommand::Panel(_)
        | SlashCommand::Save
        | SlashCommand::Export
        | SlashCommand::Prompt { .. }
        | SlashCommand::Quit => return None,
    })
}

/// Why there is no race in an editor.
const NO_RACE: &str =
    "/race shows two answers side by side, which needs slug's own screen. Run slug in a terminal.";

/// The commands that are offered, by name.
const OFFERED: [(&str, Option<&str>); 3] =
    [("compact", Some("what to keep")), ("rename", Some("title")), ("retry", None)];

/// The skills and custom commands that the user can call: name and description.
pub(super) fn of_files(report: &PromptLibraryReport) -> Vec<(String, String)> {
    let row = |row: &PromptFileRow| Some((row.command.clone()?, row.description.clone()));
    report.rows.iter().filter_map(row).collect()
}

/// The update that lists the commands. `called` are prompts of servers, skills and custom commands: what the
/// agent knows in a message by its name.
pub(super) fn update(called: impl Iterator<Item = (String, String)>) -> SessionUpdate {
    let registry = registry();
    let own = OFFERED.iter().filter_map(|(name, hint)| {
        let found = registry.find(name)?;
        Some(command((*name).to_owned(), found.summary.clone(), *hint))
    });
    let called = called.map(|(name, words)| command(name, words, Some("arguments")));
    SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(
        own.chain(called).collect(),
    ))
}

/// Reads a prompt as a command; `None` where it is a message for the model.
pub(super) fn read(text: &str) -> Option<PromptCommand> {
    let line = text.trim();
    let name = line.strip_prefix('/')?.split_whitespace().next()?;
    let registry = registry();
    let found = registry.find(name)?;
    // It needs two panes, and is said to: a model would take it for a message.
    let is_race = found.argument == SlashArgumentKind::Race;
    if !is_race && !OFFERED.iter().any(|(offered, _)| *offered == found.name) {
        return None;
    }
    let has_argument = found.argument != SlashArgumentKind::None;
    match registry.parse(line)? {
        Ok(parsed) => in_editor(&parsed.command),
        Err(error) if has_argument => Some(PromptCommand::Wrong(error.to_string())),
        // A sentence that begins with the name.
        Err(_) => None,
    }
}

fn registry() -> CommandRegistry {
    CommandRegistry::from_parts(vec![CommandPart::built_in()]).0
}

fn command(name: String, summary: String, hint: Option<&str>) -> AvailableCommand {
    let input = hint.map(|hint| {
        AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint.to_owned()))
    });
    AvailableCommand::new(name, summary).input(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_that_is_offered_does_something() {
        let update =
            serde_json::to_value(update([("s:p".into(), "a prompt".into())].into_iter())).unwrap();
        let listed = update["availableCommands"].as_array().unwrap();
        let names: Vec<&str> = listed.iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["compact", "rename", "retry", "s:p"]);
        let compact = AgentCommand::Compact { focus: Some("the tests".into()) };
        assert_eq!(read("/compact the tests"), Some(PromptCommand::Turn(compact)));
        assert_eq!(read("/retry"), Some(PromptCommand::Turn(AgentCommand::Retry)));
        let race = PromptCommand::Wrong(NO_RACE.to_owned());
        assert_eq!(read("/race qwen3 why"), Some(race));
        let title = AgentCommand::SetTitle("A name".into());
        assert_eq!(read("/rename A name"), Some(PromptCommand::AtOnce(title)));
        assert!(matches!(read("/rename"), Some(PromptCommand::Wrong(_))));
    }

    #[test]
    fn what_is_no_command_goes_to_the_model() {
        for text in ["/usr/bin is full", "/quit", "hello", "/retry the test please", "/", ""] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }
}
