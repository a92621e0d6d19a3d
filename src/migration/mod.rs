//! What slug takes over from the settings of another agent: permission rules and hooks. Each setting is
//! an item, with what slug makes of it or why slug leaves it.
//!
//! A rule that would allow more in slug than it does there, or deny less, is left: its user writes it
//! anew. Nothing is read from disk here and nothing written.

mod claude_code;
mod codex;
mod opencode;

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::domain::RuleKind;
use crate::hooks;
use crate::permissions::store::RuleEntry;
use crate::permissions::{RuleSet, Workspace};

/// Another agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MigrationSource {
    ClaudeCode,
    Codex,
    Opencode,
}

/// The form of a file of another agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MigrationFormat {
    /// Claude Code's `settings.json`, of the user or of a project.
    ClaudeCodeSettings(SettingsOwner),
    /// Codex's `config.toml`.
    CodexConfig,
    /// Codex's rules about commands, `*.rules`.
    CodexRules,
    /// opencode's `opencode.json`.
    OpencodeConfig,
}

/// Whose a settings file is. Paths that begin with a slash depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsOwner {
    User,
    Project,
}

/// A setting of another agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationItem {
    /// The setting, in a few words: `deny Bash(git push:*)`.
    pub name: String,
    pub outcome: MigrationOutcome,
}

/// What slug makes of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MigrationOutcome {
    /// A permission rule.
    Rule(RuleEntry),
    /// An entry of this event in the `hooks` of a hook file.
    Hook { event: String, entry: Value },
    /// Nothing: why, and what to do instead, as a phrase without a full stop.
    Left(String),
}

impl MigrationSource {
    pub const ALL: [Self; 3] = [Self::ClaudeCode, Self::Codex, Self::Opencode];

    /// The word on the command line.
    pub fn id(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
        }
    }

    /// The name that the agent gives itself.
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::Opencode => "opencode",
        }
    }
}

/// Reads a file of another agent. The workspace is the one in which the rules would apply.
///
/// # Errors
///
/// When the text is not of this form; a phrase without a full stop.
pub fn read(
    format: MigrationFormat,
    text: &str,
    workspace: &Workspace,
) -> Result<Vec<MigrationItem>, String> {
    match format {
        MigrationFormat::ClaudeCodeSettings(owner) => claude_code::settings(text, owner, workspace),
        MigrationFormat::CodexConfig => codex::config(text),
        MigrationFormat::CodexRules => Ok(codex::rules(text, workspace)),
        MigrationFormat::OpencodeConfig => opencode::config(text, workspace),
    }
}

/// The text of a `hooks.json` with these entries, in their order; `None` without any.
pub fn hook_file<'a>(entries: impl IntoIterator<Item = (&'a str, &'a Value)>) -> Option<String> {
    let mut events: Map<String, Value> = Map::new();
    for (event, entry) in entries {
        let listed = events.entry(event).or_insert_with(|| json!([]));
        listed.as_array_mut().into_iter().for_each(|listed| listed.push(entry.clone()));
    }
    let text = || serde_json::to_string_pretty(&json!({"hooks": events})).ok();
    if events.is_empty() { None } else { text().map(|text| text + "\n") }
}

impl MigrationItem {
    fn left(name: impl Into<String>, why: impl Into<String>) -> Self {
        Self { name: name.into(), outcome: MigrationOutcome::Left(why.into()) }
    }

    /// The item of a rule that slug would write so; left where slug cannot use it.
    fn rule(name: String, kind: RuleKind, rule: String, workspace: &Workspace) -> Self {
        if let Err(error) = RuleSet::check(&rule, kind, workspace) {
            return Self::left(name, error.why());
        }
        // A rule that has no effect is worse than none: its user relies on it.
        let mut rules = RuleSet::new();
        let settings = json!({"permissions": {kind.word(): [&rule]}}).to_string();
        rules.add_settings(&settings, Path::new("settings.json"), workspace);
        match rules.warnings().first() {
            Some(warning) => Self::left(name, warning.text.trim_end_matches('.')),
            None => Self { name, outcome: MigrationOutcome::Rule((kind, rule)) },
        }
    }

    /// The item of a hook entry in the long form; left where slug cannot run all of it.
    fn hook(name: String, event: &str, entry: &Value) -> Self {
        let text = json!({"hooks": {event: [entry]}}).to_string();
        let (found, warnings) = hooks::read(&text, Path::new("hooks.json"));
        match (warnings.first(), found.is_empty()) {
            (Some(warning), _) => Self::left(name, warning.text.trim_end_matches('.')),
            (None, true) => Self::left(name, "it does nothing"),
            (None, false) => Self {
                name,
                outcome: MigrationOutcome::Hook { event: event.to_owned(), entry: entry.clone() },
            },
        }
    }
}

/// A value in a few words, for the name of an item.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    }
}

#[cfg(test)]
mod tests;
