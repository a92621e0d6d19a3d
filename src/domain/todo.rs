//! The steps of the model's plan, which it maintains with TodoWrite.

use serde::{Deserialize, Serialize};

/// One step of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TodoItem {
    /// The step as a task: "Run the tests".
    pub content: String,
    /// The progress of the step.
    pub status: TodoStatus,
    /// The step while it is in progress: "Running the tests".
    pub active_form: String,
}

/// The progress of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Being done now.
    InProgress,
    /// Done.
    Completed,
}

impl TodoStatus {
    /// The status that models mean by a word in small letters with `_` between them.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "pending" | "todo" | "open" => Some(Self::Pending),
            "in_progress" | "inprogress" | "active" | "doing" => Some(Self::InProgress),
            "completed" | "complete" | "done" => Some(Self::Completed),
            _ => None,
        }
    }
}
