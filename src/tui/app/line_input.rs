//! Handles whole lines of input, for the front end without keys (`tui::linear`). A line answers the
//! open question, names a row of the open list, or is a message or command.
//!
//! A line has the same effects as the keys of the full screen: only the entry point differs.

use crate::domain::{NoticeLevel, SessionId};
use crate::tui::dialogs::line::{ExpectedLine, LineAnswerError};

use super::conversation::queue::Delivery;
use super::conversation::sending;
use super::effect::ScreenEffect;
use super::focus::KeyboardFocus;
use super::intent::Intent;
use super::keys;
use super::model::ScreenModel;
use super::shared::SharedState;
use super::sidebar::{self, Sidebar, SidebarVisibility};

/// How the next line will be understood, by what is open.
pub fn expected_line(model: &ScreenModel) -> ExpectedLine {
    match model.dialogs.top() {
        Some(dialog) => dialog.expected_line(),
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
    model.dialogs.printed_is_over();
    let Some(at) = model.dialogs.len().checked_sub(1) else {
        if has_session_list(model) {
            let open = model.conversation.status.session;
            let wanted = open_session(&mut model.sidebar, &mut model.shared, open, text);
            return keys::carry_out(model, None, wanted);
        }
        // This also closes a list of sessions that could not be loaded.
        let wanted = sidebar::leave(&mut model.sidebar, &mut model.shared);
        let mut effects = keys::carry_out(model, None, wanted);
        model.conversation.composer.load(text);
        let (conversation, shared) = (&mut model.conversation, &mut model.shared);
        let wanted = sending::submit(conversation, shared, Delivery::Queue);
        effects.extend(keys::carry_out(model, None, wanted));
        // A text that could not be sent is dropped: the next line starts with an empty input.
        model.conversation.composer.load("");
        return effects;
    };
    let outcome = if model.dialogs.takes_answers() {
        model.dialogs.top_mut().map_or(Ok(Vec::new()), |dialog| dialog.line(text))
    } else {
        Err(LineAnswerError::TooSoon)
    };
    match outcome {
        Ok(intents) => keys::carry_out(model, Some(at), intents),
        Err(error) => {
            model.shared.toast(NoticeLevel::Warning, error.to_string());
            Vec::new()
        }
    }
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

/// Opens the session whose number in the list a line names; an empty line closes the list. `open` is
/// the session in the chat.
fn open_session(
    sidebar: &mut Sidebar,
    shared: &mut SharedState,
    open: Option<SessionId>,
    text: &str,
) -> Vec<Intent> {
    let text = text.trim();
    if text.is_empty() {
        return sidebar::leave(sidebar, shared);
    }
    let rows = sidebar.sessions();
    let number: Option<usize> = text.parse().ok();
    let line = number.and_then(|number| rows.get(number.checked_sub(1)?).map(|row| row.0));
    match line {
        Some(line) => sidebar::open_line(sidebar, shared, open, line),
        None => {
            shared.toast(NoticeLevel::Warning, LineAnswerError::NoRow.to_string());
            Vec::new()
        }
    }
}
