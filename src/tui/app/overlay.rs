//! What lies over the chat: a stack, of which the topmost gets the keys.
//!
//! A component here is a state with `fn key(..) -> OverlayOutcome` and a file in `view`; what a [`OverlayOutcome`]
//! asks for is done by `keys`.

use std::sync::Arc;

use crate::agent::RewindPlan;
use crate::domain::{ApprovalAnswer, ApprovalId, ModelName};
use crate::session::RewindScope;

use super::approval::ApprovalDialog;
use super::changes::ChangesPage;
use super::geometry::ScrollExtent;
use super::guard::QuestionGuard;
use super::hooks::HookTrustQuestion;
use super::keymap::{self, KeyPress, ReadingKey, ScrollAction};
use super::pager::Pager;
use super::picker::{Picker, PickerChoice};
use super::rewind::RewindDialog;
use super::rules::RulesPage;

/// Something over the chat.
#[derive(Debug, Clone, PartialEq)]
pub enum Overlay {
    /// A permission question.
    Approval(Box<ApprovalDialog>),
    /// A list to choose from.
    Picker(Box<Picker>),
    /// Something to read.
    Reading(ReadingOverlay),
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
pub enum OverlayOutcome {
    /// The overlay goes on.
    Stay,
    /// It closes.
    Close,
    /// The question is answered.
    Answer(ApprovalId, ApprovalAnswer),
    /// A row was chosen.
    Choose(PickerChoice),
    /// What was shown of going back is to be done.
    Rewind(Arc<RewindPlan>, RewindScope),
    /// The mark of a model is set, or taken off.
    Mark(ModelName),
}

/// Something to read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadingOverlay {
    /// What.
    pub page: ReadingPage,
    /// Rows above the screen.
    pub scroll: usize,
}

/// What there is to read.
#[derive(Debug, Clone, PartialEq)]
pub enum ReadingPage {
    /// Keys and commands.
    Help,
    /// The plan as it stands.
    Todos,
    /// The session, its model, and what was taken.
    Status,
    /// The question whether the changed hooks of a project are trusted.
    HookTrust(Box<HookTrustQuestion>),
}

impl Overlay {
    /// The guard of its question, where it asks one.
    pub fn guard_mut(&mut self) -> Option<&mut QuestionGuard> {
        match self {
            Self::Approval(approval) => Some(&mut approval.guard),
            Self::Rewind(dialog) => Some(&mut dialog.guard),
            Self::Picker(picker) => picker.guard.as_mut(),
            Self::Rules(page) => page.guard_mut(),
            Self::Reading(reading) => match &mut reading.page {
                ReadingPage::HookTrust(question) => Some(&mut question.guard),
                ReadingPage::Help | ReadingPage::Todos | ReadingPage::Status => None,
            },
            Self::Pager(_) | Self::Changes(_) => None,
        }
    }

    /// The same, to look at.
    pub fn guard(&self) -> Option<QuestionGuard> {
        match self {
            Self::Approval(approval) => Some(approval.guard),
            Self::Rewind(dialog) => Some(dialog.guard),
            Self::Picker(picker) => picker.guard,
            Self::Rules(page) => page.guard(),
            Self::Reading(reading) => match &reading.page {
                ReadingPage::HookTrust(question) => Some(question.guard),
                ReadingPage::Help | ReadingPage::Todos | ReadingPage::Status => None,
            },
            Self::Pager(_) | Self::Changes(_) => None,
        }
    }

    /// Whether an answer would be taken: its question is armed, or it asks none.
    pub fn takes_answers(&self) -> bool {
        self.guard().is_none_or(QuestionGuard::is_armed)
    }
}

impl ReadingOverlay {
    /// A page from its beginning.
    pub fn new(page: ReadingPage) -> Self {
        Self { page, scroll: 0 }
    }

    /// A key.
    pub fn key(&mut self, key: &KeyPress<'_>, extent: ScrollExtent) -> OverlayOutcome {
        if let ReadingPage::HookTrust(question) = &self.page
            && let Some(step) = question.key(key)
        {
            return step;
        }
        match keymap::find(keymap::READING, key) {
            Some(ReadingKey::Back) => return OverlayOutcome::Close,
            Some(ReadingKey::Scroll(how)) => self.scroll = scrolled(self.scroll, how, extent),
            None => {}
        }
        OverlayOutcome::Stay
    }

    /// What was drawn of it.
    pub fn drawn(&mut self, extent: ScrollExtent) {
        if let ReadingPage::HookTrust(question) = &mut self.page {
            question.end.drawn(self.scroll, extent);
        }
    }
}

/// Where a scrolling part stands after a key.
pub fn scrolled(at: usize, how: ScrollAction, extent: ScrollExtent) -> usize {
    let last = extent.rows.saturating_sub(extent.shown);
    let page = extent.shown.saturating_sub(1).max(1);
    let to = match how {
        ScrollAction::LineUp => at.saturating_sub(1),
        ScrollAction::LineDown => at + 1,
        ScrollAction::HalfUp => at.saturating_sub(page.div_ceil(2)),
        ScrollAction::HalfDown => at + page.div_ceil(2),
        ScrollAction::PageUp => at.saturating_sub(page),
        ScrollAction::PageDown => at + page,
        ScrollAction::Top => 0,
        ScrollAction::Bottom => last,
    };
    to.min(last)
}
