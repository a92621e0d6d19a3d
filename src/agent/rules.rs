//! What the person asks of the rules themselves: to see them, to change one, to try a call on them.

use std::path::PathBuf;

use serde_json::json;

use crate::domain::{PermissionMode, ToolAccess};
use crate::permissions::store::RuleEdit;
use crate::permissions::{HookPermission, PermissionQuery, PermissionTestReport, RuleListReport};
use crate::tools::{ToolRegistry, WorkingDirectory};

use super::AgentEvent;
use super::agent_loop::Agent;

/// Something wanted of the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleRequest {
    /// To see them all.
    List,
    /// To change one.
    Change {
        /// The settings file; without one it is a rule that holds until slug ends.
        file: Option<PathBuf>,
        /// What is to become of it.
        edit: RuleEdit,
    },
    /// To be told what they say of a call, which is not made.
    Try(String),
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleReply {
    /// All rules as they hold now.
    Listed {
        /// They, and what is wrong in their files.
        list: RuleListReport,
        /// The files that they can be kept in, the person's own first.
        files: Vec<PathBuf>,
        /// Why the change that was asked for does not hold.
        failed: Option<String>,
    },
    /// A call was tried.
    Tried {
        /// As it was typed.
        typed: String,
        /// The mode in which.
        mode: PermissionMode,
        /// What would be decided, or why that cannot be said.
        report: Result<PermissionTestReport, String>,
    },
}

/// What a call of `tool` with this command or path would touch, as the tool says.
pub fn accesses_of(
    registry: &ToolRegistry,
    tool: &str,
    text: &str,
    place: &WorkingDirectory,
) -> Result<Vec<ToolAccess>, String> {
    let tool = registry.get(tool).map_err(|error| error.to_string())?;
    let input = json!({
        "command": text,
        "file_path": text,
        "path": text,
        "pattern": "*",
        "content": "",
        "old_string": "a",
        "new_string": "b",
        "todos": [],
    });
    tool.access(&input, place).map_err(|error| error.to_string())
}

impl Agent {
    pub(super) async fn rules(&mut self, order: RuleRequest) {
        let news = match order {
            RuleRequest::List => self.listed(None),
            RuleRequest::Change { file, edit } => {
                let changed = self.permissions.change(file, edit).await;
                self.listed(changed.err().map(|error| error.to_string()))
            }
            RuleRequest::Try(typed) => {
                let report = self.try_out(&typed).await;
                RuleReply::Tried { typed, mode: self.permissions.mode(), report }
            }
        };
        self.events.tell(AgentEvent::Rules(Box::new(news))).await;
    }

    fn listed(&self, failed: Option<String>) -> RuleReply {
        let (list, files) = self.permissions.list();
        RuleReply::Listed { list, files, failed }
    }

    /// `typed` is a command, or the name of another tool and what it is to touch.
    async fn try_out(&self, typed: &str) -> Result<PermissionTestReport, String> {
        let registry = &self.setup.registry;
        let (first, rest) = typed.trim().split_once(' ').unwrap_or((typed.trim(), ""));
        let (tool, text) = match registry.get(first) {
            Ok(_) => (first.to_owned(), rest.trim().to_owned()),
            Err(_) => ("Bash".to_owned(), typed.trim().to_owned()),
        };
        let accesses = accesses_of(registry, &tool, &text, &self.setup.place)?;
        let workspace = self.setup.workspace.clone();
        let resolve = move || PermissionQuery::resolve(&tool, &accesses, &workspace);
        let query = tokio::task::spawn_blocking(resolve).await.map_err(|it| it.to_string())?;
        Ok(PermissionTestReport::from(&self.permissions.decide(&query, &HookPermission::Nothing).0))
    }
}
