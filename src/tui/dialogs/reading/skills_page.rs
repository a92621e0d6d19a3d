//! The rows of `/skills`: all skills and custom commands, who hides whom, and what is wrong with them.
//! The full screen and the line mode show the same rows.

use crate::domain::{format_tokens, pluralise};
use crate::skills::{PromptFileRow, PromptLibraryReport};
use crate::tui::app::prompt_files;

/// The most characters of a description that the page shows: a list is there to be looked over.
const MAX_DESCRIPTION: usize = 200;

/// A row of the page, before it is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillsPageRow {
    /// An empty row.
    Gap,
    /// The title of the rows that follow.
    Heading(&'static str),
    /// How a file is called, and whose it is, with its size.
    Entry { call: String, about: String },
    /// A line about the entry above.
    Detail(String),
    /// Something wrong with the entry above, or with a file that is not loaded.
    Warning(String),
    /// A sentence.
    Note(String),
}

/// The rows of the page.
pub fn rows(report: &PromptLibraryReport) -> Vec<SkillsPageRow> {
    let listed = report.rows.iter().filter(|row| row.is_listed).count();
    let told = match listed {
        0 => "No skills for the model. Only you can call slug's own skills.".to_owned(),
        count => {
            format!("The model is told of {}, and loads what it needs.", pluralise(count, "skill"))
        }
    };
    let places = "Skills are in .slug/skills, .agents/skills and .claude/skills, commands in \
                  .slug/commands and those of other agents: here and in your home folder.";
    let mut rows = vec![SkillsPageRow::Note(told), SkillsPageRow::Note(places.to_owned())];
    if !report.refused.is_empty() {
        rows.extend([SkillsPageRow::Gap, SkillsPageRow::Heading("Not loaded")]);
        rows.extend(report.refused.iter().cloned().map(SkillsPageRow::Warning));
    }
    for (heading, is_skill) in [("Skills", true), ("Commands", false)] {
        let of_kind: Vec<&PromptFileRow> =
            report.rows.iter().filter(|row| row.is_skill == is_skill).collect();
        if !of_kind.is_empty() {
            rows.extend([SkillsPageRow::Gap, SkillsPageRow::Heading(heading)]);
            rows.extend(of_kind.into_iter().flat_map(entry));
        }
    }
    rows
}

fn entry(row: &PromptFileRow) -> Vec<SkillsPageRow> {
    let call = match (&row.command, &row.argument_hint) {
        (Some(command), Some(hint)) => format!("/{command} {hint}"),
        (Some(command), None) => format!("/{command}"),
        (None, _) => row.name.clone(),
    };
    let path = if row.path.is_empty() { String::new() } else { format!(" · {}", row.path) };
    let tokens = format_tokens(row.tokens);
    let listed = if row.is_listed { " · the model knows it" } else { "" };
    let about = format!("{} · {tokens} tokens{listed}{path}", prompt_files::source(row));
    let mut rows = vec![SkillsPageRow::Entry { call, about }];
    let about = match row.description.char_indices().nth(MAX_DESCRIPTION) {
        Some((end, _)) => format!("{}…", row.description[..end].trim_end()),
        None => row.description.clone(),
    };
    rows.push(SkillsPageRow::Detail(about));
    if let Some(hidden_by) = &row.hidden_by {
        let how = match &row.command {
            Some(command) => format!("/{} is {hidden_by}: type /{command} for this one", row.name),
            None => format!("hidden by {hidden_by}"),
        };
        rows.push(SkillsPageRow::Detail(how));
    } else if row.command.is_none() {
        rows.push(SkillsPageRow::Detail("only the model loads it".to_owned()));
    }
    if !row.allowed_tools.is_empty() {
        let allowed = row.allowed_tools.join(", ");
        rows.push(SkillsPageRow::Detail(format!("allows for its turn: {allowed}")));
    }
    rows.extend(row.warnings.iter().cloned().map(SkillsPageRow::Warning));
    rows
}
