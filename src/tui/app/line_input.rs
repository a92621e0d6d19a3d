//! Handles whole lines of input, for the front end without keys (`tui::linear`). A line answers the
//! open question, names a row of the open list, or is a message or command.
//!
//! A line has the same effects as the keys of the full screen: only the entry point differs.

use crate::domain::NoticeLevel;

use super::approval::LineAnswerError;
use super::commands;
use super::effect::ScreenEffect;
use super::focus::KeyboardFocus;
use super::keys;
use super::model::ScreenModel;
use super::overlay::{Overlay, OverlayOutcome, ReadingOverlay, ReadingPage};
use super::picker::{Picker, PickerLoading};
use super::queue::Delivery;
use super::rewind;
use super::sidebar::{self, SidebarVisibility};

/// How the next line will be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedLine {
    /// A message or a command.
    Message,
    /// An answer to a permission question.
    Answer,
    /// The shell command to run in place of the one that the model proposed.
    Command,
    /// Text that tells the model what to do instead.
    Instruction,
    /// A row of a list, by its number or name.
    Row,
    /// Nothing: what is open has not been loaded yet.
    Nothing,
}

/// How the next line will be understood, by what is open.
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

/// Handles one line of input. A line that does not fit the open question or list shows a warning
/// and changes nothing.
pub fn line(model: &mut ScreenModel, text: &str) -> Vec<ScreenEffect> {
    model.shared.leaving = None;
    // A page to read is finished once it has been printed.
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
        // This also closes a list of sessions that could not be loaded.
        let mut effects = sidebar::leave(model);
        effects.extend(say(model, text));
        return effects;
    };
    let outcome = match &mut model.overlays[at] {
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
    match outcome {
        Ok(step) => keys::take(model, at, step),
        Err(error) => {
            model.shared.toast(NoticeLevel::Warning, error.to_string());
            Vec::new()
        }
    }
}

/// Handles ctrl+c: stops what runs; when nothing runs, the second ctrl+c leaves.
pub fn interrupt(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    keys::cancel_all(model)
}

fn say(model: &mut ScreenModel, text: &str) -> Vec<ScreenEffect> {
    model.conversation.composer.load(text);
    let effects = commands::submit(model, Delivery::Queue);
    // A text that could not be sent is dropped: the next line starts with an empty input.
    model.conversation.composer.load("");
    effects
}

/// Whether the list of sessions is still loading.
fn is_listing(model: &ScreenModel) -> bool {
    let sidebar = &model.sidebar;
    model.conversation.focus == KeyboardFocus::Sidebar
        && sidebar.tree.is_none()
        && sidebar.note.is_none()
}

/// Whether the list of sessions is loaded and shown.
fn has_session_list(model: &ScreenModel) -> bool {
    model.conversation.focus == KeyboardFocus::Sidebar
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
            model.shared.toast(NoticeLevel::Warning, LineAnswerError::NoRow.to_string());
            Vec::new()
        }
    }
}

/// Chooses the row that a line names, by number from 1 or by label. An empty line closes the list;
/// `None` if there is no such row.
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
