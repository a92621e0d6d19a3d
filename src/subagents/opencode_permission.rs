//! What `permission` in an agent's file of opencode's takes away. Asking is a matter of slug's own rules and
//! mode; what is denied is heeded, for a tool as a whole.
//!
//! In doubt less is given: a tool with patterns of which some deny is taken away, and a denial holds whatever
//! stands behind it.

use serde_json::Value;

use super::definition::ToolSelection;

/// The tools that a name of opencode's means.
const MEANT: &[(&str, &[&str])] = &[
    ("edit", &["Edit", "Write", "NotebookEdit"]),
    ("write", &["Edit", "Write", "NotebookEdit"]),
    ("list", &["Glob"]),
    ("bash", &["Bash", "BashOutput", "KillBash"]),
    ("webfetch", &["WebFetch", "WebSearch"]),
];

/// The name that stands for all tools.
const EVERYTHING: &str = "*";

/// What is left of a choice of tools. Warnings are parts of sentences.
pub(super) fn narrow(
    mut selection: ToolSelection,
    permission: &Value,
    warnings: &mut Vec<String>,
) -> ToolSelection {
    let whole = Value::Null;
    let entries: Vec<(&str, &Value)> = match permission {
        Value::Object(table) => table.iter().map(|(name, it)| (name.as_str(), it)).collect(),
        Value::String(_) => vec![(EVERYTHING, permission)],
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            vec![(EVERYTHING, &whole)]
        }
    };
    // The tools that are named behind the last denial of everything; `None` where there is none.
    let mut allowed: Option<Vec<String>> = None;
    for (name, actions) in entries {
        match (name, is_denied(name, actions, warnings)) {
            (EVERYTHING, true) => allowed = Some(Vec::new()),
            (EVERYTHING, false) => {}
            (_, true) => selection.without.extend(meant(name)),
            (_, false) => allowed.iter_mut().for_each(|it| it.extend(meant(name))),
        }
    }
    if let Some(allowed) = allowed {
        let is_allowed = |name: &String| allowed.iter().any(|it| it.eq_ignore_ascii_case(name));
        selection.only = Some(match selection.only {
            Some(only) => only.into_iter().filter(is_allowed).collect(),
            None => allowed,
        });
    }
    selection
}

/// Whether a name is denied: by one word, or by the actions for patterns.
fn is_denied(name: &str, actions: &Value, warnings: &mut Vec<String>) -> bool {
    let is_deny = |action: &Value| action.as_str() == Some("deny");
    let Value::Object(patterns) = actions else { return is_deny(actions) };
    let denied = patterns.values().filter(|action| is_deny(action)).count();
    if denied > 0 && denied < patterns.len() {
        warnings.push(format!(
            "the agent has no `{name}`, because slug cannot hold it to the patterns in `permission.{name}`"
        ));
    }
    denied > 0
}

/// The names of slug's that a name of opencode's stands for, which writes the tools of a server as
/// `SERVER_TOOL`.
fn meant(name: &str) -> Vec<String> {
    match MEANT.iter().find(|(other, _)| *other == name) {
        Some((_, tools)) => tools.iter().map(|tool| (*tool).to_owned()).collect(),
        None if name.contains('_') => vec![name.to_owned(), format!("mcp__{name}")],
        None => vec![name.to_owned()],
    }
}
