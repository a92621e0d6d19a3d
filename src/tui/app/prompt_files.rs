//! Skills and custom commands as slash commands. What they say is the agent's to send.

use crate::commands::RegisteredCommand;
use crate::skills::{PromptFileRow, PromptLibraryReport};

/// A command for each file that the user can call.
pub fn commands(report: &PromptLibraryReport) -> impl Iterator<Item = RegisteredCommand> + '_ {
    report.rows.iter().filter_map(|row| {
        let name = row.command.clone()?;
        Some(RegisteredCommand::prompt(name, row.description.clone(), source(row)))
    })
}

/// What a file is and whose, as a phrase for lists.
pub fn source(row: &PromptFileRow) -> String {
    let kind = if row.is_skill { "skill" } else { "command" };
    match row.origin.as_str() {
        "yours" => format!("your {kind}"),
        origin => format!("{kind} of {origin}"),
    }
}

/// What a file takes, as the line under the input says it.
pub fn usage(report: &PromptLibraryReport, command: &str) -> Option<String> {
    let row = report.rows.iter().find(|row| row.command.as_deref() == Some(command))?;
    Some(match &row.argument_hint {
        Some(hint) => format!("/{command} {hint}"),
        None => format!("/{command} takes what its text is to work on"),
    })
}
