//! An agent as Claude Code and opencode write it: Markdown with a head. Its text is what the agent is told.

use std::time::Duration;

use crate::domain::{ReasoningEffort, UsageBudget};

use super::definition::{SubagentType, ToolSelection};
use super::files::SkippedFile;
use super::front_matter::{FrontMatter, HeadValue, items, split};

/// The longest deadline, in seconds.
const LONGEST: u64 = 24 * 60 * 60;

/// What `permission` of opencode forbids by one word.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("edit", &["Edit", "Write", "NotebookEdit"]),
    ("bash", &["Bash"]),
    ("webfetch", &["WebFetch", "WebSearch"]),
];

/// Reads such a file. `name` is the name that the file gives an agent whose head has none.
pub(super) fn read(text: &str, name: Option<&str>) -> Result<SubagentType, SkippedFile> {
    let Some((head, body)) = split(text) else { return Err(SkippedFile::Document) };
    let Some(name) = head.text(&["name"]).or(name) else { return Err(SkippedFile::Document) };
    if head.text(&["mode"]) == Some("primary") || head.flag(&["disable", "disabled"]) {
        return Err(SkippedFile::Document);
    }
    let Some(description) = head.text(&["description"]) else {
        return Err(SkippedFile::Broken("it has no `description`".to_owned()));
    };
    let mut kind = SubagentType::new(name, description);
    kind.tools = tools(&head)?;
    kind.instructions =
        head.text(&["prompt"]).filter(|_| body.is_empty()).unwrap_or(body).to_owned();
    kind.is_read_only = head.text(&["permissionMode", "permission_mode"]) == Some("plan")
        || head.flag(&["read_only"]);
    kind.model = head.text(&["model"]).and_then(model);
    kind.effort = head.text(&["effort"]).and_then(effort);
    kind.in_background = head.flag(&["background"]);
    if let Some(rounds) = number(&head, &["maxTurns", "max_turns", "steps", "rounds"])? {
        kind.rounds = rounds;
    }
    if let Some(budget) = head.text(&["budget"]) {
        kind.budget = budget.parse::<UsageBudget>().map_err(|error| {
            SkippedFile::Broken(format!("its `budget` cannot be read: {error}"))
        })?;
    }
    if let Some(minutes) = number(&head, &["deadline_minutes"])? {
        kind.deadline = Duration::from_secs((u64::from(minutes) * 60).clamp(60, LONGEST));
    }
    Ok(kind)
}

/// The model of a file. A family of one provider's says nothing on another's server, so such a name
/// leaves the model as it is.
pub(super) fn model(text: &str) -> Option<String> {
    let is_family = matches!(text, "inherit" | "opus" | "sonnet" | "haiku" | "default");
    (!is_family).then(|| text.to_owned())
}

pub(super) fn effort(text: &str) -> Option<ReasoningEffort> {
    serde_json::from_value(serde_json::Value::String(text.to_ascii_lowercase())).ok()
}

fn number(head: &FrontMatter, keys: &[&str]) -> Result<Option<u32>, SkippedFile> {
    let Some(text) = head.text(keys) else { return Ok(None) };
    match text.parse::<u32>() {
        Ok(number @ 1..) => Ok(Some(number)),
        Ok(0) | Err(_) => {
            Err(SkippedFile::Broken(format!("its `{}` is no number from 1 on", keys[0])))
        }
    }
}

fn tools(head: &FrontMatter) -> Result<ToolSelection, SkippedFile> {
    let mut selection = ToolSelection::default();
    match head.get(&["tools"]) {
        None => {}
        Some(HeadValue::Text(text)) if text == "*" => {}
        Some(HeadValue::Text(text)) => selection.only = Some(items(text)),
        Some(HeadValue::List(list)) => selection.only = Some(list.clone()),
        Some(HeadValue::Table(table)) => {
            let off = table.iter().filter(|(_, value)| value == "false");
            selection.without.extend(off.map(|(name, _)| name.clone()));
        }
    }
    if let Some(listed) = &mut selection.only {
        listed.retain(|name| !name.trim().is_empty());
        if listed.is_empty() {
            return Err(SkippedFile::Broken("its list of `tools` is empty".to_owned()));
        }
    }
    match head.get(&["disallowedTools", "disallowed_tools"]) {
        Some(HeadValue::Text(text)) => selection.without.extend(items(text)),
        Some(HeadValue::List(list)) => selection.without.extend(list.clone()),
        Some(HeadValue::Table(_)) | None => {}
    }
    if let Some(HeadValue::Table(table)) = head.get(&["permission"]) {
        for (what, tools) in FORBIDDEN {
            if table.iter().any(|(name, value)| name == what && value == "deny") {
                selection.without.extend(tools.iter().map(|tool| (*tool).to_owned()));
            }
        }
    }
    Ok(selection)
}
