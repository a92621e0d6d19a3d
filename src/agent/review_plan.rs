//! What a part of the session changed, for a review by the user.

use serde::{Deserialize, Serialize};

use crate::domain::{EntryId, TurnId};
use crate::session::undo::ReviewFiles;

/// The part of the session that is reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum ReviewScope {
    /// The last turn that changed a file.
    LastTurn,
    Turn(TurnId),
    /// The turn of this message.
    Message(EntryId),
    /// All turns.
    Session,
}

/// What a part of the session changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReviewPlan {
    /// The part, resolved: a turn or the session.
    pub scope: ReviewScope,
    /// How the message begins that the turn answered; empty for the session.
    pub title: String,
    /// The nearest earlier turn that changed a file, and the nearest later one.
    pub earlier: Option<TurnId>,
    pub later: Option<TurnId>,
    pub changes: ReviewFiles,
}
