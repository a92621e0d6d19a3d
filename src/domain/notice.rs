//! What is shown beside the conversation: notices, and the size of the context window.

use serde::{Deserialize, Serialize};

/// The model's context window in tokens, and where the number comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ContextWindow {
    /// The server reports it.
    Served(u64),
    /// The model catalogue has it.
    Known(u64),
    /// It is configured, or assumed because no one gives it.
    Assumed(u64),
}

impl ContextWindow {
    /// The size, however certain it is.
    pub fn tokens(self) -> u64 {
        match self {
            Self::Served(tokens) | Self::Known(tokens) | Self::Assumed(tokens) => tokens,
        }
    }
}

/// The severity of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    /// For information only.
    Info,
    /// Something is wrong, and work can go on.
    Warning,
    /// Something failed.
    Error,
}
