//! The settings of opencode: `permission` of its `opencode.json`.
//!
//! There the last pattern that matches decides; in slug a deny rule beats an ask rule, and that an allow
//! rule. So a pattern is taken only where the order makes no difference.

use serde_json::Value;

use super::{MigrationItem, shown};
use crate::domain::{RuleKind, jsonc};
use crate::permissions::Workspace;

/// Its permissions, and slug's tools that they are about.
const TOOLS: [(&str, &str); 5] = [
    ("edit", "Edit"),
    ("bash", "Bash"),
    ("webfetch", "WebFetch"),
    ("websearch", "WebSearch"),
    ("read", "Read"),
];

pub(super) fn config(text: &str, workspace: &Workspace) -> Result<Vec<MigrationItem>, String> {
    let document = jsonc::parse(text).map_err(|error| error.text)?;
    let config = document.value.as_object().ok_or("it is not an object")?;
    let mut items = Vec::new();
    for (key, value) in config {
        match key.as_str() {
            // Servers have an import of their own; slug reads commands and agents in files of their own.
            "$schema" | "mcp" => {}
            "permission" => items.extend(permissions(value, workspace)),
            "instructions" => {
                items.push(MigrationItem::left(key, "name the files in SLUG.md, each as @path"));
            }
            "model" | "small_model" => {
                let name = format!("{key} {}", shown(value));
                items.push(MigrationItem::left(name, "choose one with /model"));
            }
            "provider" => items.push(MigrationItem::left(key, "add it with /connect")),
            "agent" | "command" => items.push(MigrationItem::left(
                key,
                "put each in a file of .opencode, where slug reads it",
            )),
            "theme" => items.push(MigrationItem::left(key, "choose one with /theme")),
            "keybinds" => items.push(MigrationItem::left(key, "see docs/keys.md for slug's")),
            _ => {
                items.push(MigrationItem::left(key, "not copied: slug does not know this setting"));
            }
        }
    }
    Ok(items)
}

fn permissions(value: &Value, workspace: &Workspace) -> Vec<MigrationItem> {
    if let Value::String(_) = value {
        let name = format!("permission {}", shown(value));
        return vec![MigrationItem::left(name, "set `permission_mode` in ~/.slug/config.toml")];
    }
    let mut items = Vec::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        let name = format!("{key} {}", shown(value));
        let Some((_, tool)) = TOOLS.into_iter().find(|(other, _)| other == key) else {
            items.push(MigrationItem::left(name, "slug has no rule about this"));
            continue;
        };
        match value {
            Value::Object(patterns) if tool == "Bash" => {
                let of_all = patterns.get("*").and_then(kind);
                let all =
                    patterns.iter().map(|(pattern, value)| bash(pattern, value, of_all, workspace));
                items.extend(all);
            }
            Value::Object(_) => items.push(MigrationItem::left(
                name,
                "its patterns for paths mean something else; write slug's with /permissions",
            )),
            _ => items.push(match kind(value) {
                // slug asks anyhow, and a rule to ask would also beat those that allow.
                Some(RuleKind::Ask) => MigrationItem::left(name, "slug does so without a rule"),
                Some(kind) => MigrationItem::rule(name, kind, tool.to_owned(), workspace),
                None => MigrationItem::left(name, "it is none of allow, ask and deny"),
            }),
        }
    }
    items
}

/// The rule for one pattern of commands; `of_all` is what holds for all others.
fn bash(
    pattern: &str,
    value: &Value,
    of_all: Option<RuleKind>,
    workspace: &Workspace,
) -> MigrationItem {
    let name = format!("bash {pattern:?} {}", shown(value));
    match (kind(value), pattern) {
        (None, _) => MigrationItem::left(name, "it is none of allow, ask and deny"),
        (Some(RuleKind::Ask), "*") => MigrationItem::left(name, "slug does so without a rule"),
        (Some(RuleKind::Deny), "*") => MigrationItem::left(
            name,
            "a rule that denies all commands beats those that allow some; slug asks about the others",
        ),
        (Some(RuleKind::Allow), "*") => {
            MigrationItem::rule(name, RuleKind::Allow, "Bash".to_owned(), workspace)
        }
        (Some(RuleKind::Ask), _) if of_all != Some(RuleKind::Allow) => {
            MigrationItem::left(name, "slug does so without a rule")
        }
        (Some(kind), pattern) => {
            // `git push*` is meant for `git push` and what follows it.
            let words = pattern.strip_suffix('*').filter(|it| !it.ends_with([' ', '*']));
            let pattern = words.map_or_else(|| pattern.to_owned(), |words| format!("{words} *"));
            MigrationItem::rule(name, kind, format!("Bash({pattern})"), workspace)
        }
    }
}

fn kind(value: &Value) -> Option<RuleKind> {
    RuleKind::ALL.into_iter().find(|kind| value == kind.word())
}
