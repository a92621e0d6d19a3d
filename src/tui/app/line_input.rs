//! What a whole line means, from a front end without keys: an answer to what is asked, a row of
//! the list that is open, or something to say.
//!
//! What a line does is what the keys of the full screen do; only the way in is another.

use crate::domain::NoticeLevel;

use super::approval::LineAnswerError;
use super::commands;
use super::effect::ScreenEffect;
use super::keys;
use super::model::{KeyboardFocus, ScreenModel};
use super::overlay::{Overlay, OverlayOutcome, ReadingOverlay, ReadingPage};
use super::picker::{Picker, PickerLoading};
use super::queue::Delivery;
use super::rewind;
use super::sidebar::{self, SidebarVisibility};

/// What a line will be taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedLine {
    /// A message or a command.
    Message,
    /// An answer to a permission question.
    Answer,
    /// The command to run instead.
    Command,
    /// What the model should do instead.
    Instruction,
    /// A row of a list, by its number or name.
    Row,
    /// A list that is not there yet.
    Nothing,
}

/// What the next line will be taken for.
pub fn expected_line(model: &ScreenModel) -> ExpectedLine {
    match model.overlays.last() {
        Some(Overlay::Approval(approval)) => approval.expected_line(),
        Some(Overlay::Picker(picker)) => match picker.state {
            PickerLoading::Ready => ExpectedLine::Row,
            PickerLoading::Waiting(_) => ExpectedLine::Nothing,
            PickerLoading::Failed(_) => ExpectedLine::Message,
        },
        Some(Overlay::Changes(page)) if page.asked.is_some() => ExpectedLine::Nothing,
        Some(Overlay::Rules(page)) if page.list.is_none() => ExpectedLine::Nothing,
        Some(Overlay::Rewind(dialog)) => match dialog.stage {
            rewind::RewindStage::Planned(_) => ExpectedLine::Row,
            rewind::RewindStage::Planning | rewind::RewindStage::Going => ExpectedLine::Nothing,
        },
        Some(Overlay::Reading(ReadingOverlay { page: ReadingPage::HookTrust(_), .. })) => {
            ExpectedLine::Answer
        }
        Some(Overlay::Reading(_) | Overlay::Pager(_) | Overlay::Changes(_) | Overlay::Rules(_)) => {
            ExpectedLine::Message
        }
        None if has_session_list(model) => ExpectedLine::Row,
        None if is_listing(model) => ExpectedLine::Nothing,
        None => ExpectedLine::Message,
    }
}

/// A line.
pub fn line(model: &mut ScreenModel, text: &str) -> Vec<ScreenEffect> {
    model.leaving = None;
    // What is read is read once it was read out.
    model.overlays.retain(|overlay| match overlay {
        Overlay::Reading(reading) => matches!(reading.page, ReadingPage::HookTrust(_)),
        Overlay::Pager(_) | Overlay::Changes(_) | Overlay::Rules(_) => false,
        Overlay::Picker(picker) => !matches!(picker.state, PickerLoading::Failed(_)),
        Overlay::Approval(_) | Overlay::Rewind(_) => true,
    });
    let Some(at) = model.overlays.len().checked_sub(1) else {
        if has_session_list(model) {
            return open_session(model, text);
        }
        // A list of sessions that could not be had is done with, too.
        let mut effects = sidebar::leave(model);
        effects.extend(say(model, text));
        return effects;
    };
    let heard = match &mut model.overlays[at] {
        overlay if !overlay.takes_answers() => Err(LineAnswerError::TooSoon),
        Overlay::Approval(approval) => approval.line(text),
        Overlay::Picker(picker) => row(picker, text).ok_or(LineAnswerError::NoRow),
        Overlay::Rewind(dialog) => dialog.line(text).ok_or(LineAnswerError::NoRow),
        Overlay::Reading(reading) => match &reading.page {
            ReadingPage::HookTrust(question) => question.line(text).ok_or(LineAnswerError::YesOrNo),
            ReadingPage::Help | ReadingPage::Todos | ReadingPage::Status => {
                Ok(OverlayOutcome::Close)
            }
        },
        Overlay::Pager(_) | Overlay::Changes(_) | Overlay::Rules(_) => Ok(OverlayOutcome::Close),
    };
    match heard {
        Ok(step) => keys::take(model, at, step),
        Err(misheard) => {
            model.toast(NoticeLevel::Warning, misheard.to_string());
            Vec::new()
        }
    }
}

/// ctrl+c: stops what runs, else leaves at the second time.
pub fn interrupt(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    keys::cancel_all(model)
}

fn say(model: &mut ScreenModel, text: &str) -> Vec<ScreenEffect> {
    model.composer.load(text);
    let effects = commands::submit(model, Delivery::Queue);
    // What could not be sent is not left lying: the next line is typed anew.
    model.composer.load("");
    effects
}

/// Whether the list of sessions is on its way.
fn is_listing(model: &ScreenModel) -> bool {
    let sidebar = &model.sidebar;
    model.focus == KeyboardFocus::Sidebar && sidebar.tree.is_none() && sidebar.note.is_none()
}

/// Whether the list of sessions is there to choose from.
fn has_session_list(model: &ScreenModel) -> bool {
    model.focus == KeyboardFocus::Sidebar
        && model.sidebar.visibility == SidebarVisibility::Shown
        && model.sidebar.tree.is_some()
}

fn open_session(model: &mut ScreenModel, text: &str) -> Vec<ScreenEffect> {
    let text = text.trim();
    if text.is_empty() {
        return sidebar::leave(model);
    }
    let rows = model.sidebar.sessions();
    let number: Option<usize> = text.parse().ok();
    let line = number.and_then(|number| rows.get(number.checked_sub(1)?).map(|row| row.0));
    match line {
        Some(line) => sidebar::open_line(model, line),
        None => {
            model.toast(NoticeLevel::Warning, LineAnswerError::NoRow.to_string());
            Vec::new()
        }
    }
}

/// The row that a line names. An empty one closes the list.
fn row(picker: &mut Picker, text: &str) -> Option<OverlayOutcome> {
    let text = text.trim();
    if text.is_empty() {
        return Some(OverlayOutcome::Close);
    }
    let number: Option<usize> = text.parse().ok();
    let by_number = number.and_then(|number| number.checked_sub(1));
    let by_name = || {
        let label = |at: &usize| picker.list.row(*at).is_some_and(|(label, ..)| label == text);
        (0..picker.list.len()).find(label)
    };
    let at = by_number.filter(|at| *at < picker.list.len()).or_else(by_name)?;
    picker.list.select(at);
    Some(picker.choose())
}
