//! What a rewind would do, and what its traces in the conversation are.

use serde::{Deserialize, Serialize};

use crate::domain::{ContentBlock, EntryId, UserInput};
use crate::session::RewindScope;
use crate::session::undo::FilesPlan;

/// The name of the context block that tells the model about restored files.
pub(super) const CONTEXT: &str = "rewind";

/// The point in the session that a rewind goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RewindDestination {
    /// Before the last message of the user's that no rewind has taken back yet.
    Last,
    /// Before this message of the user's.
    Before(EntryId),
    /// Reverses the last rewind.
    Redo,
}

/// What a rewind would do.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RewindPlan {
    /// The destination, resolved: never [`RewindDestination::Last`].
    pub to: RewindDestination,
    /// The message that the rewind goes back before; for a redo, that the reversed rewind did.
    pub before: EntryId,
    /// The text of that message, which goes back into the input.
    pub message: UserInput,
    /// The scopes that the user can choose from.
    pub offers: Vec<RewindScope>,
    /// How many messages the rewind removes, or the redo brings back.
    pub messages: u64,
    /// What happens to each file.
    pub files: FilesPlan,
}

/// Why a rewind cannot be planned or done. Each text is a sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum RewindError {
    /// The session is open for reading only; holds the reason.
    #[error("{0}")]
    ReadOnlySession(String),
    #[error("This session has no messages yet.")]
    EmptySession,
    /// A call that was stopped may still be writing. The same request works a little later.
    #[error("A stopped call is still cleaning up. Try again in a moment.")]
    LateWrites,
    /// Agents that calls have started may still change files; holds their names.
    #[error("Agents still run: {0}. Stop them in /agents, or wait for them, before you rewind.")]
    AgentsRunning(String),
    #[error("No message to rewind to.")]
    NoMessage,
    #[error("Nothing to redo.")]
    NothingToRedo,
    #[error("No turn of this session has changed a file.")]
    NothingChanged,
    /// Files changed between the plan and the rewind. The same request makes a new plan.
    #[error("The files have just changed. Try again.")]
    FilesChanged,
    #[error("Nothing was undone, because the change could not be recorded. {0}")]
    NotRecorded(String),
    /// What a file holds now could not be stored, or the file cannot be read.
    #[error("{0}")]
    Files(String),
    /// The session's log cannot be read or written.
    #[error("{0}")]
    Log(String),
}

/// Whether this block is the note about restored files.
pub(super) fn tells_of_rewind(block: &ContentBlock) -> bool {
    matches!(block, ContentBlock::Context { name, .. } if name == CONTEXT)
}
