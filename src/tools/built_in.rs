//! The tools that are part of slug, and what is known of a tool by its name alone.
//!
//! A log holds names only, also of tools that other agents have. So whoever shows a call asks here
//! by name; of a name that is not known nothing is claimed.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::agent::AgentTool;
use super::ask_user::{ASK_USER, AskUserTool};
use super::bash::{BashInputTool, BashOutputTool, BashTool, KillBashTool};
use super::call::CallTool;
use super::edit::EditTool;
use super::glob::GlobTool;
use super::grep::GrepTool;
use super::lsp::LspTool;
use super::notebook_edit::NotebookEditTool;
use super::plan_mode::{ENTER_PLAN_MODE, EXIT_PLAN_MODE, EnterPlanModeTool, ExitPlanModeTool};
use super::read::ReadTool;
use super::registry::ToolPart;
use super::servers::{READ_RESOURCE_TOOL, resource_title};
use super::skill::SkillTool;
use super::sleep::SleepTool;
use super::task_read::{TaskGetTool, TaskListTool};
use super::task_write::{TaskCreateTool, TaskUpdateTool};
use super::todo_write::TodoWriteTool;
use super::tool_search::{TOOL_SEARCH, ToolSearchTool};
use super::web_fetch::WebFetchTool;
use super::web_search::WebSearchTool;
use super::write::WriteTool;
use super::{AGENT_TOOL, Tool, titles};
use crate::domain::{CALL_TOOL, ToolKind};

/// The tool that runs command lines, those that the user types among them.
pub const SHELL_TOOL: &str = "Bash";

/// Names that other agents have for a built-in tool, as in imported sessions.
const OTHER_NAMES: &[(&str, &str)] = &[("MultiEdit", "Edit"), ("Task", AGENT_TOOL)];

/// In the order in which models are told of them; those that are deferred are last.
static TOOLS: [&dyn Tool; 26] = [
    &BashTool,
    &ReadTool,
    &WriteTool,
    &EditTool,
    &GlobTool,
    &GrepTool,
    &TodoWriteTool,
    &ToolSearchTool,
    &CallTool,
    &AskUserTool,
    &AgentTool,
    &BashOutputTool,
    &BashInputTool,
    &KillBashTool,
    &WebFetchTool,
    &WebSearchTool,
    &EnterPlanModeTool,
    &ExitPlanModeTool,
    &NotebookEditTool,
    &SleepTool,
    &TaskCreateTool,
    &TaskUpdateTool,
    &TaskListTool,
    &TaskGetTool,
    &LspTool,
    &SkillTool,
];

impl ToolPart {
    /// The tools that are part of slug.
    pub fn built_in() -> Self {
        Self {
            source: "slug itself".to_owned(),
            tools: vec![
                Arc::new(BashTool),
                Arc::new(ReadTool),
                Arc::new(WriteTool),
                Arc::new(EditTool),
                Arc::new(GlobTool),
                Arc::new(GrepTool),
                Arc::new(TodoWriteTool),
                Arc::new(ToolSearchTool),
                Arc::new(CallTool),
                Arc::new(AskUserTool),
                Arc::new(AgentTool),
                Arc::new(BashOutputTool),
                Arc::new(BashInputTool),
                Arc::new(KillBashTool),
                Arc::new(WebFetchTool),
                Arc::new(WebSearchTool),
                Arc::new(EnterPlanModeTool),
                Arc::new(ExitPlanModeTool),
                Arc::new(NotebookEditTool),
                Arc::new(SleepTool),
                Arc::new(TaskCreateTool),
                Arc::new(TaskUpdateTool),
                Arc::new(TaskListTool),
                Arc::new(TaskGetTool),
                Arc::new(LspTool),
                Arc::new(SkillTool),
            ],
        }
    }
}

/// The name that a tool has here, for the name that a call gives it; any other name stays.
pub fn own_name(name: &str) -> &str {
    named(name).map_or(name, |tool| &tool.descriptor().name)
}

/// What the calls of a tool do, as far as its name tells.
pub fn kind_of(name: &str) -> ToolKind {
    named(name).map_or(ToolKind::Other, |tool| tool.descriptor().kind)
}

/// Whether the calls of a tool are for the user: they ask, or change the mode. An agent that was started
/// by another one has no such tool.
pub fn is_for_user(name: &str) -> bool {
    [ASK_USER, ENTER_PLAN_MODE, EXIT_PLAN_MODE].contains(&name)
}

/// Whether the calls of a tool lead to those that are not in the tools array.
pub fn reaches_deferred(name: &str) -> bool {
    [TOOL_SEARCH, CALL_TOOL].contains(&name)
}

/// What a call is about, on one line: the path it reads, the command it runs. Paths inside `cwd` are
/// relative. Empty where the arguments do not say.
pub fn call_title(name: &str, input: &Value, cwd: &Path) -> String {
    let Some(tool) = named(name) else {
        let is_resource = is_same_name(name, READ_RESOURCE_TOOL);
        return if is_resource { resource_title(input) } else { titles::first_text(input) };
    };
    tool.call_title(&tool.canonical_input(input.clone()), cwd)
}

fn named(name: &str) -> Option<&'static dyn Tool> {
    let name = other_name(name).unwrap_or(name);
    TOOLS.iter().copied().find(|tool| is_same_name(&tool.descriptor().name, name))
}

/// The name of the built-in tool that other agents call so.
pub(super) fn other_name(name: &str) -> Option<&'static str> {
    OTHER_NAMES.iter().find(|(other, _)| is_same_name(other, name)).map(|(_, own)| *own)
}

/// Whether two names are the same but for case, `_` and `-`: models write `bash` and `todo_write`.
pub(super) fn is_same_name(a: &str, b: &str) -> bool {
    let letters =
        |name: &str| name.bytes().filter(|byte| !matches!(byte, b'_' | b'-')).collect::<Vec<u8>>();
    a == b || letters(a).eq_ignore_ascii_case(&letters(b))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kinds_follow_from_names() {
        for (name, kind) in [
            (SHELL_TOOL, ToolKind::Execute),
            ("Read", ToolKind::Read),
            ("Write", ToolKind::Edit),
            ("Edit", ToolKind::Edit),
            ("MultiEdit", ToolKind::Edit),
            ("Glob", ToolKind::Search),
            ("Grep", ToolKind::Search),
            ("TodoWrite", ToolKind::Think),
            ("ToolSearch", ToolKind::Search),
            ("Call", ToolKind::Other),
            ("NotebookEdit", ToolKind::Edit),
            ("mcp__server__read", ToolKind::Other),
            ("bash", ToolKind::Execute),
            ("todo_write", ToolKind::Think),
            ("multi_edit", ToolKind::Edit),
            ("browser", ToolKind::Other),
            ("web_fetch", ToolKind::Fetch),
            ("web_search", ToolKind::Search),
            ("task_create", ToolKind::Think),
            ("TaskList", ToolKind::Think),
            ("Lsp", ToolKind::Search),
        ] {
            assert_eq!(kind_of(name), kind, "{name}");
        }
    }

    #[test]
    fn a_tool_is_known_by_the_name_that_it_is_called_by() {
        let part: Vec<_> = ToolPart::built_in().tools;
        assert_eq!(part.len(), TOOLS.len());
        for (tool, known) in part.iter().zip(TOOLS) {
            assert_eq!(tool.spec().name, tool.descriptor().name);
            assert_eq!(tool.descriptor(), known.descriptor());
        }
    }

    #[test]
    fn a_call_is_named_by_what_it_is_about() {
        let cases = [
            ("Read", json!({"file_path": "/w/src/cart.rs", "limit": 120}), "src/cart.rs 1-120"),
            ("Read", json!({"file_path": "/etc/hosts", "offset": 5, "limit": 2}), "/etc/hosts 5-6"),
            ("Edit", json!({"file_path": "/w/a.rs", "old_string": "x"}), "a.rs"),
            ("MultiEdit", json!({"file_path": "/w/a.rs"}), "a.rs"),
            ("Bash", json!({"command": "cargo test\necho"}), "cargo test …"),
            ("bash", json!({"cmd": ["ls", "my dir"]}), "ls 'my dir'"),
            ("read", json!({"file": "/w/a.rs"}), "a.rs"),
            ("Grep", json!({"pattern": "fn total", "path": "/w/src"}), "\"fn total\" src"),
            ("Glob", json!({"pattern": "**/*.rs"}), "**/*.rs"),
            ("TodoWrite", json!({"todos": [{"status": "completed"}, {}]}), "1 of 2 done"),
            ("ReadMcpResource", json!({"server": "notes", "uri": "note://a"}), "notes:note://a"),
            ("mcp__tracker__find", json!({"n": 1, "query": "open bugs"}), "open bugs"),
            (
                "WebFetch",
                json!({"format": "text", "url": "https://a.example"}),
                "https://a.example",
            ),
            ("Read", json!([]), ""),
        ];
        for (name, input, expected) in cases {
            assert_eq!(call_title(name, &input, Path::new("/w")), expected);
        }
    }
}
