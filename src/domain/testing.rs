//! Helpers for the tests of several rooms.

use std::path::Path;
use std::process::Command;

use super::{AgentId, CallId, SubagentState, SubagentSummary, TaskId, TaskItem, TodoStatus};

/// Makes a FIFO with the `mkfifo` program: no system call for it exists on every system.
pub fn make_fifo(path: &Path) {
    let made = Command::new("mkfifo").args(["-m", "600"]).arg(path).status().unwrap();
    assert!(made.success(), "mkfifo {}", path.display());
}

/// A task without words of its own.
pub fn task(id: u64, status: TodoStatus, blocked_by: &[u64]) -> TaskItem {
    TaskItem {
        id: TaskId(id),
        subject: format!("task {id}"),
        description: String::new(),
        active_form: None,
        owner: None,
        status,
        blocked_by: blocked_by.iter().copied().map(TaskId).collect(),
    }
}

/// An agent that has done nothing yet.
pub fn subagent(state: SubagentState) -> SubagentSummary {
    SubagentSummary {
        agent: AgentId(7),
        call: CallId::new("c1"),
        session: None,
        kind: "explore".into(),
        task: "find the callers".into(),
        model: None,
        state,
        in_background: false,
        tool_calls: 0,
        refused_calls: 0,
        tokens: 0,
        cost: None,
        elapsed_ms: 0,
    }
}
