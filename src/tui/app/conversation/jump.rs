//! Jumps from a hit of the search over all sessions to its place in the transcript.
//!
//! A jump opens the session if it is not open. The newest part of a long session is loaded first,
//! so the jump may have to wait for the older part. The place is then shown like a match of a
//! transcript search, with the same keys for the next match and for going back to the list.

use crate::agent::AgentCommand;
use crate::domain::NoticeLevel;

use super::Conversation;
use super::block::BlockId;
use super::pending_jump::{BackfillState, PendingJump};
use super::search;
use super::sending;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::shared::SharedState;

/// Goes to a place; opens its session first if another one is open.
pub fn go(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    jump: PendingJump,
) -> Vec<ScreenEffect> {
    let session = jump.session;
    if conversation.status.session == Some(session) {
        conversation.pending_jump = Some(jump);
        arrive(conversation, shared, BackfillState::Complete);
        return Vec::new();
    }
    let effects = sending::when_idle(conversation, shared, AgentCommand::Resume { session });
    conversation.pending_jump = Some(jump).filter(|_| !effects.is_empty());
    effects
}

/// Finishes the pending jump if its place is loaded by now; warns if it is not in the whole
/// session.
pub fn arrive(conversation: &mut Conversation, shared: &mut SharedState, backfill: BackfillState) {
    let Some(jump) = &conversation.pending_jump else { return };
    if conversation.status.session != Some(jump.session) {
        conversation.pending_jump = None;
        return;
    }
    let blocks = conversation.transcript.blocks().iter().filter(|block| jump.is_in(block));
    let blocks: Vec<BlockId> = blocks.map(|block| block.id).collect();
    if blocks.is_empty() && backfill == BackfillState::Pending {
        return;
    }
    if let Some(jump) = conversation.pending_jump.take()
        && !search::keys::open_at_match(conversation, &blocks, &jump.text)
    {
        shared.toast(NoticeLevel::Info, "That message is no longer in the transcript.");
    }
}
