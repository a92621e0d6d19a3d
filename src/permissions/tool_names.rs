//! The names of tools as rules may write them.
//!
//! What tools there are is a matter of `tools`, which this room does not know; `launch` holds the two lists
//! to be the same.

/// The tools that a rule may name in any case and with `-` and `_` in the name, as models may.
pub(super) const OWN_TOOLS: [&str; 27] = [
    "Agent",
    "AskUser",
    "Bash",
    "BashInput",
    "BashOutput",
    "Call",
    "Edit",
    "EnterPlanMode",
    "ExitPlanMode",
    "Glob",
    "Grep",
    "KillBash",
    "Lsp",
    "MultiEdit",
    "NotebookEdit",
    "Read",
    "Skill",
    "Sleep",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Write",
];

/// Names that other agents have for a tool, besides `MultiEdit`, which is a family of rules.
pub(super) const OTHER_NAMES: [(&str, &str); 1] = [("Task", "Agent")];

/// The name by which slug knows a tool of its own.
pub(super) fn own_name(name: &str) -> Option<&'static str> {
    let plain = name.replace(['-', '_'], "");
    let is_it = |own: &str| own.eq_ignore_ascii_case(&plain);
    let other = OTHER_NAMES.into_iter().find(|(other, _)| is_it(other)).map(|(_, own)| own);
    other.or_else(|| OWN_TOOLS.into_iter().find(|own| is_it(own)))
}

/// Whether a name is that of a server, `mcp__server`, which stands for all of its tools.
pub(super) fn is_server(name: &str) -> bool {
    name.strip_prefix("mcp__").is_some_and(|server| !server.is_empty() && !server.contains("__"))
}

/// The name of the tool in a rule, and what stands in its brackets; `None` where these are not closed.
pub(super) fn parts(rule: &str) -> Option<(&str, Option<&str>)> {
    match rule.trim().split_once('(') {
        Some((tool, rest)) => Some((tool, Some(rest.strip_suffix(')')?))),
        None => Some((rule.trim(), None)),
    }
}
