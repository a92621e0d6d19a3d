//! Jumps from a hit of the search over all sessions to its place in the transcript.
//!
//! A jump opens the session if it is not open. The newest part of a long session is loaded first,
//! so the jump may have to wait for the older part. The place is then shown like a match of a
//! transcript search, with the same keys for the next match and for going back to the list.

use crate::agent::AgentCommand;
use crate::domain::{CallId, EntryId, NoticeLevel, SessionId};
use crate::session::SessionSearchHit;

use super::block::{BlockBody, TranscriptBlock};
use super::commands;
use super::effect::ScreenEffect;
use super::model::ScreenModel;
use super::search;
use super::transcript::BlockId;

/// A place to go to once it is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingJump {
    session: SessionId,
    entry: EntryId,
    call: Option<CallId>,
    /// The text that was searched for.
    text: String,
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
    fn is_in(&self, block: &TranscriptBlock) -> bool {
        block.entry == Some(self.entry)
            || matches!((&block.body, &self.call), (BlockBody::Tool(tool), Some(call)) if tool.call == *call)
    }
}

/// Goes to a place; opens its session first if another one is open.
pub fn go(model: &mut ScreenModel, jump: PendingJump) -> Vec<ScreenEffect> {
    let session = jump.session;
    if model.conversation.status.session == Some(session) {
        model.conversation.pending_jump = Some(jump);
        arrive(model, BackfillState::Complete);
        return Vec::new();
    }
    let effects = commands::when_idle(model, AgentCommand::Resume { session });
    model.conversation.pending_jump = Some(jump).filter(|_| !effects.is_empty());
    effects
}

/// Finishes the pending jump if its place is loaded by now; warns if it is not in the whole
/// session.
pub fn arrive(model: &mut ScreenModel, backfill: BackfillState) {
    let Some(jump) = &model.conversation.pending_jump else { return };
    if model.conversation.status.session != Some(jump.session) {
        model.conversation.pending_jump = None;
        return;
    }
    let blocks = model.conversation.transcript.blocks().iter().filter(|block| jump.is_in(block));
    let blocks: Vec<BlockId> = blocks.map(|block| block.id).collect();
    if blocks.is_empty() && backfill == BackfillState::Pending {
        return;
    }
    if let Some(jump) = model.conversation.pending_jump.take()
        && !search::open_at_match(model, &blocks, &jump.text)
    {
        model.shared.toast(NoticeLevel::Info, "That place is no longer part of what is shown.");
    }
}
