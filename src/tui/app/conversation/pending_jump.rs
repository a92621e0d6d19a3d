//! A jump to a place in a session that is not loaded yet.

use crate::domain::{CallId, EntryId, SessionId};
use crate::session::SessionSearchHit;

use super::block::{BlockBody, TranscriptBlock};

/// A place to go to once it is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingJump {
    pub session: SessionId,
    entry: EntryId,
    call: Option<CallId>,
    /// The text that was searched for.
    pub text: String,
}

/// Whether the older part of the session may still arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackfillState {
    Pending,
    /// The whole session is loaded.
    Complete,
}

impl PendingJump {
    /// A jump to a hit in a session, and the text that was searched for.
    pub fn new(session: SessionId, hit: &SessionSearchHit, text: String) -> Self {
        Self { session, entry: hit.entry, call: hit.call.clone(), text }
    }

    /// Whether the hit is in a block: one of its log entry, or of the tool call whose result it is.
    pub fn is_in(&self, block: &TranscriptBlock) -> bool {
        block.entry == Some(self.entry)
            || matches!((&block.body, &self.call), (BlockBody::Tool(tool), Some(call)) if tool.call == *call)
    }
}
