//! How much of a transcript pane is shown. The session log stores it.

use serde::{Deserialize, Serialize};

/// How much of a pane is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PaneFold {
    /// Only the head.
    Closed,
    /// The head and the first rows.
    Preview,
    /// Every row.
    Open,
}
