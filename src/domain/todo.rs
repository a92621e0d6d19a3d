//! The model's plan as it keeps it with TodoWrite.

use serde::{Deserialize, Serialize};

/// One step of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TodoItem {
    /// What is to be done: "Run the tests".
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
    /// The same while it is being done: "Running the tests".
    pub active_form: String,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Being done now.
    InProgress,
    /// Done.
    Completed,
}
