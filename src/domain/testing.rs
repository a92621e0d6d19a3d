//! Helpers for the tests of several rooms.

use std::path::Path;
use std::process::Command;

use super::{TaskId, TaskItem, TodoStatus};

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
