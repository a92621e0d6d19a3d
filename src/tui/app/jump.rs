//! From a place that was found in all sessions to that place in the transcript.
//!
//! The session is opened where it is not; the newest part of a long one is there first, so the
//! place may have to be waited for. What is gone to is marked as a match of a search of the
//! transcript, with its keys: the next one, and back to the list.

use crate::agent::AgentCommand;
use crate::domain::{CallId, EntryId, NoticeLevel, SessionId};
use crate::session::SessionSearchHit;

use super::block::{BlockBody, TranscriptBlock};
use super::commands;
use super::effect::ScreenEffect;
use super::model::ScreenModel;
use super::search;
use super::transcript::BlockId;

/// A place to be gone to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingJump {
    session: SessionId,
    entry: EntryId,
    call: Option<CallId>,
    /// What was looked for.
    text: String,
}

/// Whether the older part of the session may still come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackfillState {
    /// It may.
    Pending,
    /// All is there.
    Complete,
}

impl PendingJump {
    /// A place in a session, and the text that was found there.
    pub fn new(session: SessionId, place: &SessionSearchHit, text: String) -> Self {
        Self { session, entry: place.entry, call: place.call.clone(), text }
    }

    /// Whether the place is in a block: of its line, or of the call that its line answers.
    fn is_in(&self, block: &TranscriptBlock) -> bool {
        block.entry == Some(self.entry)
            || matches!((&block.body, &self.call), (BlockBody::Tool(tool), Some(call)) if tool.call == *call)
    }
}

/// Goes to a place, and opens its session first.
pub fn go(model: &mut ScreenModel, goal: PendingJump) -> Vec<ScreenEffect> {
    let session = goal.session;
    if model.status.session == Some(session) {
        model.pending_jump = Some(goal);
        arrive(model, BackfillState::Complete);
        return Vec::new();
    }
    let effects = commands::when_idle(model, AgentCommand::Resume { session });
    model.pending_jump = Some(goal).filter(|_| !effects.is_empty());
    effects
}

/// Goes to the place that is wanted, if what is there of its session has it by now.
pub fn arrive(model: &mut ScreenModel, part: BackfillState) {
    let Some(goal) = &model.pending_jump else { return };
    if model.status.session != Some(goal.session) {
        model.pending_jump = None;
        return;
    }
    let blocks = model.transcript.blocks().iter().filter(|block| goal.is_in(block));
    let blocks: Vec<BlockId> = blocks.map(|block| block.id).collect();
    if blocks.is_empty() && part == BackfillState::Pending {
        return;
    }
    if let Some(goal) = model.pending_jump.take()
        && !search::open_at_match(model, &blocks, &goal.text)
    {
        model.toast(NoticeLevel::Info, "That place is no longer part of what is shown.");
    }
}
