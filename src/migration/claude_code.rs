//! The settings of Claude Code: `permissions` and `hooks` of its `settings.json`.

use serde_json::Value;

use super::{MigrationItem, SettingsOwner, shown};
use crate::domain::{RuleKind, jsonc};
use crate::permissions::Workspace;

/// Its tools that work on files, whose patterns are paths.
const FILE_TOOLS: [&str; 8] =
    ["Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "Glob", "Grep", "LS"];

pub(super) fn settings(
    text: &str,
    owner: SettingsOwner,
    workspace: &Workspace,
) -> Result<Vec<MigrationItem>, String> {
    let document = jsonc::parse(text).map_err(|error| error.text)?;
    let settings = document.value.as_object().ok_or("it is not an object")?;
    let mut items = Vec::new();
    for (key, value) in settings {
        match key.as_str() {
            "$schema" => {}
            "permissions" => items.extend(permissions(value, owner, workspace)),
            "hooks" => items.extend(hooks(value)),
            "enableAllProjectMcpServers" | "enabledMcpjsonServers" | "disabledMcpjsonServers" => {
                items.push(MigrationItem::left(
                    key,
                    "slug reads .mcp.json: trust the folder, then allow each server in /mcp",
                ));
            }
            "model" => {
                let name = format!("model {}", shown(value));
                items.push(MigrationItem::left(name, "choose one with /model"));
            }
            "statusLine" => {
                items.push(MigrationItem::left(key, "set `ui.status_command` to your command"));
            }
            "sandbox" => {
                items.push(MigrationItem::left(
                    key,
                    "to run commands in a sandbox, set `permission_mode = \"sandbox\"`",
                ));
            }
            "env" => items.push(MigrationItem::left(key, "set the variables in your shell")),
            _ => {
                items.push(MigrationItem::left(key, "not copied: slug does not know this setting"));
            }
        }
    }
    Ok(items)
}

fn permissions(value: &Value, owner: SettingsOwner, workspace: &Workspace) -> Vec<MigrationItem> {
    let mut items = Vec::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        let kind = RuleKind::ALL.into_iter().find(|kind| kind.word() == key);
        let name = format!("permissions.{key} {}", shown(value));
        match (kind, key.as_str()) {
            (Some(kind), _) => {
                let written = value.as_array().into_iter().flatten();
                items.extend(written.map(|it| rule(kind, it, owner, workspace)));
            }
            (None, "additionalDirectories") => {
                items.push(MigrationItem::left(name, "start slug with --add-dir FOLDER"));
            }
            (None, "defaultMode") => {
                items.push(MigrationItem::left(
                    name,
                    "set `permission_mode` in ~/.slug/config.toml",
                ));
            }
            (None, _) => {
                items
                    .push(MigrationItem::left(name, "not copied: slug does not know this setting"));
            }
        }
    }
    items
}

fn rule(
    kind: RuleKind,
    written: &Value,
    owner: SettingsOwner,
    workspace: &Workspace,
) -> MigrationItem {
    let name = format!("{} {}", kind.word(), shown(written));
    let Some(written) = written.as_str() else {
        return MigrationItem::left(name, "it is no rule");
    };
    let parts = written.trim().strip_suffix(')').and_then(|it| it.split_once('('));
    let rule = match parts {
        Some((tool, pattern)) if FILE_TOOLS.contains(&tool) => match path(pattern, owner) {
            Ok(pattern) => format!("{tool}({pattern})"),
            Err(why) => return MigrationItem::left(name, why),
        },
        Some(("Bash", "*")) => "Bash".to_owned(),
        Some(_) | None => written.trim().to_owned(),
    };
    MigrationItem::rule(name, kind, rule, workspace)
}

/// A path of Claude Code's rules as slug writes it: there `//` is the root, and `/` the folder of the
/// settings.
fn path(pattern: &str, owner: SettingsOwner) -> Result<String, String> {
    match (pattern.strip_prefix("//"), pattern.strip_prefix('/'), owner) {
        (Some(absolute), _, _) => Ok(format!("/{absolute}")),
        (None, Some(below), SettingsOwner::Project) => Ok(format!("./{below}")),
        (None, Some(_), SettingsOwner::User) => {
            Err("the path begins in ~/.claude; write it from the root or from ~".to_owned())
        }
        (None, None, _) => Ok(pattern.to_owned()),
    }
}

fn hooks(value: &Value) -> Vec<MigrationItem> {
    let mut items = Vec::new();
    for (event, entries) in value.as_object().into_iter().flatten() {
        let Some(entries) = entries.as_array() else {
            items.push(MigrationItem::left(format!("hook {event}"), "it is no list"));
            continue;
        };
        for entry in entries {
            let commands = entry.get("hooks").and_then(Value::as_array).into_iter().flatten();
            let commands: Vec<String> = commands
                .filter_map(|it| it.get("command").or_else(|| it.get("type")))
                .map(shown)
                .collect();
            let matcher = entry.get("matcher").map(shown).filter(|it| !it.is_empty());
            let matcher = matcher.map(|it| format!(" {it}")).unwrap_or_default();
            let name = format!("hook {event}{matcher}: {}", commands.join("; "));
            items.push(MigrationItem::hook(name, event, entry));
        }
    }
    items
}
