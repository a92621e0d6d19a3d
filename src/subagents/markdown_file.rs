//! An agent as Claude Code and opencode write it: Markdown with a head. Its text is what the agent is told.

use std::time::Duration;

use serde_json::Value;

use crate::domain::{ReasoningEffort, UsageBudget};
use crate::skills::PromptFrontmatter;

use super::definition::{SubagentType, ToolSelection};
use super::files::SkippedFile;
use super::opencode_permission;

/// The longest deadline, in seconds.
const LONGEST: u64 = 24 * 60 * 60;

/// Reads such a file, and says what in it slug cannot hold. `name` is the name that the file gives an agent
/// whose head has none.
pub(super) fn read(
    text: &str,
    name: Option<&str>,
) -> Result<(SubagentType, Vec<String>), SkippedFile> {
    let head = PromptFrontmatter::read(text.strip_prefix('\u{feff}').unwrap_or(text));
    let name = head.text("name").or_else(|| name.map(str::to_owned));
    let Some(name) = name.filter(|_| !head.fields.is_empty()) else {
        return Err(SkippedFile::Document);
    };
    if head.text("mode").as_deref() == Some("primary") || is_set(&head, &["disable", "disabled"]) {
        return Err(SkippedFile::Document);
    }
    let Some(description) = head.text("description") else {
        return Err(SkippedFile::Broken("it has no `description`".to_owned()));
    };
    let mut kind = SubagentType::new(&name, &description);
    let mut warnings = Vec::new();
    kind.tools = tools(&head, &mut warnings)?;
    let body = head.body.trim();
    kind.instructions =
        head.text("prompt").filter(|_| body.is_empty()).unwrap_or_else(|| body.to_owned());
    let mode = first_text(&head, &["permissionMode", "permission_mode"]);
    kind.is_read_only = mode.as_deref() == Some("plan") || is_set(&head, &["read_only"]);
    kind.model = head.text("model").and_then(|text| model(&text));
    kind.effort = head.text("effort").and_then(|text| effort(&text));
    kind.in_background = is_set(&head, &["background"]);
    if let Some(rounds) = number(&head, &["maxTurns", "max_turns", "steps", "rounds"])? {
        kind.rounds = rounds;
    }
    if let Some(budget) = head.text("budget") {
        kind.budget = budget.parse::<UsageBudget>().map_err(|error| {
            SkippedFile::Broken(format!("its `budget` cannot be read: {error}"))
        })?;
    }
    if let Some(minutes) = number(&head, &["deadline_minutes"])? {
        kind.deadline = Duration::from_secs((u64::from(minutes) * 60).clamp(60, LONGEST));
    }
    Ok((kind, warnings))
}

/// The model of a file. A family of one provider's says nothing on another's server, so such a name
/// leaves the model as it is.
pub(super) fn model(text: &str) -> Option<String> {
    let is_family = matches!(text, "inherit" | "opus" | "sonnet" | "haiku" | "default");
    (!is_family).then(|| text.to_owned())
}

pub(super) fn effort(text: &str) -> Option<ReasoningEffort> {
    serde_json::from_value(Value::String(text.to_ascii_lowercase())).ok()
}

/// The text of the first of these fields that has one.
fn first_text(head: &PromptFrontmatter, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| head.text(name))
}

/// Whether one of these fields says yes.
fn is_set(head: &PromptFrontmatter, names: &[&str]) -> bool {
    names.iter().any(|name| head.switch(name) == Some(true))
}

fn number(head: &PromptFrontmatter, keys: &[&str]) -> Result<Option<u32>, SkippedFile> {
    let Some(text) = first_text(head, keys) else { return Ok(None) };
    match text.parse::<u32>() {
        Ok(number @ 1..) => Ok(Some(number)),
        Ok(0) | Err(_) => {
            Err(SkippedFile::Broken(format!("its `{}` must be a number of 1 or more", keys[0])))
        }
    }
}

/// The tools of a head. What cannot be held as it is written is taken away whole, with a warning.
fn tools(
    head: &PromptFrontmatter,
    warnings: &mut Vec<String>,
) -> Result<ToolSelection, SkippedFile> {
    let mut selection = ToolSelection::default();
    let mut whole = |listed: Vec<String>, left_out: &mut Vec<String>| -> Vec<String> {
        let name = |written: String| match written.split_once('(') {
            None => Some(written),
            Some((name, pattern)) if is_any(pattern.trim_end_matches(')')) => {
                Some(name.trim().to_owned())
            }
            Some((name, _)) => {
                warnings.push(format!(
                    "the agent does not get the tool {}, because slug cannot limit the tool to \
                     `{written}`",
                    name.trim()
                ));
                left_out.push(name.trim().to_owned());
                None
            }
        };
        listed.into_iter().filter_map(name).collect()
    };
    match head.fields.get("tools") {
        None => {}
        Some(Value::Object(table)) => {
            let off = table.iter().filter(|(_, value)| **value == Value::Bool(false));
            selection.without.extend(off.map(|(name, _)| name.clone()));
        }
        Some(_) => {
            let listed = head.words("tools");
            if listed.is_empty() {
                return Err(SkippedFile::Broken("its list of `tools` is empty".to_owned()));
            }
            let listed = whole(listed, &mut selection.without);
            selection.only = Some(listed).filter(|listed| listed != &["*"]);
        }
    }
    for name in ["disallowedTools", "disallowed_tools"] {
        let listed = whole(head.words(name), &mut selection.without);
        selection.without.extend(listed);
    }
    Ok(match head.fields.get("permission") {
        Some(permission) => opencode_permission::narrow(selection, permission, warnings),
        None => selection,
    })
}

/// Whether the pattern behind a tool's name stands for all of its calls.
fn is_any(pattern: &str) -> bool {
    matches!(pattern.trim(), "" | "*" | "**" | ":*")
}
