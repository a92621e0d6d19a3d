//! A step of the model's plan, as every list of them shows it.

use crate::domain::sanitize::sanitize_line;
use crate::domain::{TodoItem, TodoStatus};
use crate::tui::layout::{StyleRole, StyledSpan};

use super::paint::span;

/// The step with its sign: done, under way, or still to come.
pub fn step(todo: &TodoItem) -> Vec<StyledSpan> {
    let (sign, role) = match todo.status {
        TodoStatus::Completed => ("✓ ", StyleRole::Success),
        TodoStatus::InProgress => ("→ ", StyleRole::Strong),
        TodoStatus::Pending => ("· ", StyleRole::Muted),
    };
    vec![span(sign, role), span(sanitize_line(&todo.content), role)]
}
