//! Overlays over the chat: a stack, of which the topmost gets the keys.
//!
//! Each overlay is a state with `fn key(..) -> OverlayOutcome` and a file in `view`; `keys` carries
//! out the [`OverlayOutcome`].

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

/// A dialog, list or page over the chat.
#[derive(Debug, Clone, PartialEq)]
pub enum Overlay {
    /// A permission question.
    Approval(Box<ApprovalDialog>),
    /// A list to choose from.
    Picker(Box<Picker>),
    /// A short page to read.
    Reading(ReadingOverlay),
    /// A long text in full.
    Pager(Box<Pager>),
    /// The files that the session changed.
    Changes(Box<ChangesPage>),
    /// The permission rules.
    Rules(Box<RulesPage>),
    /// The rewind dialog.
    Rewind(Box<RewindDialog>),
}

/// What `keys` has to do after a key in an overlay.
#[derive(Debug, Clone, PartialEq)]
pub enum OverlayOutcome {
    /// Keep the overlay open.
    Stay,
    Close,
    /// Answer the permission question.
    Answer(ApprovalId, ApprovalAnswer),
    /// Carry out the chosen row.
    Choose(PickerChoice),
    /// Carry out the rewind that the dialog shows.
    Rewind(Arc<RewindPlan>, RewindScope),
    /// Toggle the favourite mark of a model.
    Mark(ModelName),
}

/// A short page to read, and how far it is scrolled.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadingOverlay {
    pub page: ReadingPage,
    /// Rows above the visible part.
    pub scroll: usize,
}

/// The pages that a [`ReadingOverlay`] can show.
#[derive(Debug, Clone, PartialEq)]
pub enum ReadingPage {
    /// Keys and commands.
    Help,
    /// The model's plan.
    Todos,
    /// The session, its model, and the tokens it used.
    Status,
    /// The question whether the changed hooks of a project are trusted.
    HookTrust(Box<HookTrustQuestion>),
}

impl Overlay {
    /// The guard that delays answers; `None` if this overlay asks no question.
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

    /// A copy of what [`Self::guard_mut`] borrows.
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

    /// Whether an answer counts now: the question's guard is armed, or there is no question.
    pub fn takes_answers(&self) -> bool {
        self.guard().is_none_or(QuestionGuard::is_armed)
    }
}

impl ReadingOverlay {
    /// Opens a page at its beginning.
    pub fn new(page: ReadingPage) -> Self {
        Self { page, scroll: 0 }
    }

    /// Handles a key: the trust question sees it first, then scrolling and closing.
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

    /// Takes over the extent of the last frame, so that the trust question knows how much of it was
    /// shown.
    pub fn drawn(&mut self, extent: ScrollExtent) {
        if let ReadingPage::HookTrust(question) = &mut self.page {
            question.end.drawn(self.scroll, extent);
        }
    }
}

/// The new scroll offset in rows after a scroll key, at most the one that shows the last row.
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
