//! What lies over the chat: a stack, of which the topmost gets the keys.
//!
//! A component here is a state with `fn key(..) -> Step` and a file in `view`; what a [`Step`]
//! asks for is done by `keys`.

use std::sync::Arc;

use crate::agent::RewindPlan;
use crate::domain::{Answer, ApprovalId, ModelName};
use crate::session::Rewound;

use super::approval::Approval;
use super::changes::ChangesPage;
use super::geometry::Extent;
use super::keymap::{self, Press, ReadingKey, Scrolling};
use super::pager::Pager;
use super::picker::{Choice, Picker};
use super::rewind::RewindDialog;
use super::rules::RulesPage;

/// Something over the chat.
#[derive(Debug, Clone, PartialEq)]
pub enum Overlay {
    /// A permission question.
    Approval(Box<Approval>),
    /// A list to choose from.
    Picker(Box<Picker>),
    /// Something to read.
    Reading(Reading),
    /// The whole of something long.
    Pager(Box<Pager>),
    /// What the session changed.
    Changes(Box<ChangesPage>),
    /// The permission rules.
    Rules(Box<RulesPage>),
    /// Going back in the session.
    Rewind(Box<RewindDialog>),
}

/// What a key in an overlay comes to.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// The overlay goes on.
    Stay,
    /// It closes.
    Close,
    /// The question is answered.
    Answer(ApprovalId, Answer),
    /// A row was chosen.
    Choose(Choice),
    /// What was shown of going back is to be done.
    Rewind(Arc<RewindPlan>, Rewound),
    /// The mark of a model is set, or taken off.
    Mark(ModelName),
}

/// Something to read.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// What.
    pub page: Page,
    /// Rows above the screen.
    pub scroll: usize,
}

/// What there is to read.
#[derive(Debug, Clone, PartialEq)]
pub enum Page {
    /// Keys and commands.
    Help,
    /// The plan as it stands.
    Todos,
    /// The session, its model, and what was taken.
    Status,
}

impl Reading {
    /// A page from its beginning.
    pub fn new(page: Page) -> Self {
        Self { page, scroll: 0 }
    }

    /// A key.
    pub fn key(&mut self, key: &Press<'_>, extent: Extent) -> Step {
        match keymap::find(keymap::READING, key) {
            Some(ReadingKey::Back) => return Step::Close,
            Some(ReadingKey::Scroll(how)) => self.scroll = scrolled(self.scroll, how, extent),
            None => {}
        }
        Step::Stay
    }
}

/// Where a scrolling part stands after a key.
pub fn scrolled(at: usize, how: Scrolling, extent: Extent) -> usize {
    let last = extent.rows.saturating_sub(extent.shown);
    let page = extent.shown.saturating_sub(1).max(1);
    let to = match how {
        Scrolling::LineUp => at.saturating_sub(1),
        Scrolling::LineDown => at + 1,
        Scrolling::HalfUp => at.saturating_sub(page.div_ceil(2)),
        Scrolling::HalfDown => at + page.div_ceil(2),
        Scrolling::PageUp => at.saturating_sub(page),
        Scrolling::PageDown => at + page,
        Scrolling::Top => 0,
        Scrolling::Bottom => last,
    };
    to.min(last)
}
