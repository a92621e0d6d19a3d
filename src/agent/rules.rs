//! What the user asks about the rules themselves: list them, change one, test a call on them.

use serde_json::{Value, json};

use crate::domain::ToolAccess;
use crate::permissions::{HookPermission, PermissionQuery, PermissionTestReport};
use crate::tools::{SHELL_TOOL, ToolRegistry, WorkingDirectory};

use super::AgentEvent;
use super::agent_loop::Agent;
use super::rule_request::{RuleChangeError, RuleReply, RuleRequest, RuleTestError};

/// What a call of `tool` with this command or path would touch, as the tool reports it.
///
/// # Errors
///
/// When there is no such tool, or the tool does not accept the text as its argument.
pub fn accesses_of(
    registry: &ToolRegistry,
    tool: &str,
    text: &str,
    place: &WorkingDirectory,
) -> Result<Vec<ToolAccess>, RuleTestError> {
    let tool = registry.get(tool).map_err(|error| RuleTestError::UnknownTool(error.to_string()))?;
    let mut input = json!({
        "command": text,
        "file_path": text,
        "path": text,
        "url": text,
        "query": text,
        "pattern": "*",
        "content": "",
        "old_string": "a",
        "new_string": "b",
        "todos": [],
    });
    let schema = tool.spec().input_schema;
    if let (Some(fields), Some(known)) = (input.as_object_mut(), schema["properties"].as_object()) {
        fields.retain(|name, _| known.contains_key(name));
        // A server's tool wants arguments of its own, and touches the same whatever they are.
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            fields.entry(name).or_insert(json!(text));
        }
    }
    tool.access(&input, place).map_err(|error| RuleTestError::Argument(error.to_string()))
}

impl Agent {
    pub(super) async fn rules(&mut self, request: RuleRequest) {
        let reply = match request {
            RuleRequest::List => self.listed(None),
            RuleRequest::Change { file, edit } => {
                let changed = self.permissions.change(file, edit).await;
                self.listed(changed.err())
            }
            RuleRequest::Try(typed) => {
                let report = self.try_out(&typed).await;
                RuleReply::Tried { typed, mode: self.permissions.mode(), report }
            }
        };
        self.events.send(AgentEvent::Rules(Box::new(reply)));
    }

    fn listed(&self, failed: Option<RuleChangeError>) -> RuleReply {
        let (list, files) = self.permissions.list();
        RuleReply::Listed { list, files, failed }
    }

    /// Tests a call: `typed` is a command line, or the name of another tool and its path.
    async fn try_out(&self, typed: &str) -> Result<PermissionTestReport, RuleTestError> {
        let registry = &self.setup.registry;
        let (first, rest) = typed.trim().split_once(' ').unwrap_or((typed.trim(), ""));
        let (tool, text) = match registry.get(first) {
            Ok(tool) => (tool.descriptor().name.to_string(), rest.trim().to_owned()),
            Err(_) => (SHELL_TOOL.to_owned(), typed.trim().to_owned()),
        };
        let accesses = accesses_of(registry, &tool, &text, &self.setup.place)?;
        let workspace = self.setup.workspace.clone();
        let resolve = move || PermissionQuery::resolve(&tool, &accesses, &workspace);
        let query = tokio::task::spawn_blocking(resolve).await?;
        Ok(PermissionTestReport::from(&self.permissions.decide(&query, &HookPermission::Nothing).0))
    }
}
