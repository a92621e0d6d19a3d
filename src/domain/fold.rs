//! How much of something is shown: a pane of the transcript, and what is remembered of it.

use serde::{Deserialize, Serialize};

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PaneFold {
    /// Its head alone.
    Closed,
    /// Some rows.
    Preview,
    /// All of it.
    Open,
}
