//! From a place that was found in all sessions to that place in the transcript.
//!
//! The session is opened where it is not; the newest part of a long one is there first, so the
//! place may have to be waited for. What is gone to is marked as a match of a search of the
//! transcript, with its keys: the next one, and back to the list.

use crate::agent::AgentCommand;
use crate::domain::{CallId, EntryId, NoticeLevel, SessionId};
use crate::session::SessionSearchHit;

use super::block::{Block, Body};
use super::commands;
use super::effect::Effect;
use super::model::Model;
use super::search;
use super::transcript::BlockId;

/// A place to be gone to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Goal {
    session: SessionId,
    entry: EntryId,
    call: Option<CallId>,
    /// What was looked for.
    text: String,
}

/// Whether the older part of the session may still come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// It may.
    Newest,
    /// All is there.
    Whole,
}

impl Goal {
    /// A place in a session, and the text that was found there.
    pub fn new(session: SessionId, place: &SessionSearchHit, text: String) -> Self {
        Self { session, entry: place.entry, call: place.call.clone(), text }
    }

    /// Whether the place is in a block: of its line, or of the call that its line answers.
    fn is_in(&self, block: &Block) -> bool {
        block.entry == Some(self.entry)
            || matches!((&block.body, &self.call), (Body::Tool(tool), Some(call)) if tool.call == *call)
    }
}

/// Goes to a place, and opens its session first.
pub fn go(model: &mut Model, goal: Goal) -> Vec<Effect> {
    let session = goal.session;
    if model.status.session == Some(session) {
        model.goal = Some(goal);
        arrive(model, Part::Whole);
        return Vec::new();
    }
    let effects = commands::when_idle(model, AgentCommand::Resume { session });
    model.goal = Some(goal).filter(|_| !effects.is_empty());
    effects
}

/// Goes to the place that is wanted, if what is there of its session has it by now.
pub fn arrive(model: &mut Model, part: Part) {
    let Some(goal) = &model.goal else { return };
    if model.status.session != Some(goal.session) {
        model.goal = None;
        return;
    }
    let blocks = model.transcript.blocks().iter().filter(|block| goal.is_in(block));
    let blocks: Vec<BlockId> = blocks.map(|block| block.id).collect();
    if blocks.is_empty() && part == Part::Newest {
        return;
    }
    if let Some(goal) = model.goal.take()
        && !search::stand_at(model, &blocks, &goal.text)
    {
        model.toast(NoticeLevel::Info, "That place is no longer part of what is shown.");
    }
}
