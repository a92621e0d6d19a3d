//! What takes the guided tour on.
//!
//! A mark waits for what it names to happen in the real program, and blocks nothing: every key does
//! what it always does, and a mark whose moment has passed is over. So the tour looks at the state of
//! the conversation and of what lies over it, and never at keys.

use crate::tui::dialogs::reading::{ReadingDialog, ReadingPage};
use crate::tui::dialogs::{DialogStack, OpenDialog};

use super::conversation::Conversation;
use super::conversation::block::BlockBody;
use crate::tui::app::keymap::KeyPlace;
use crate::tui::app::shared::SharedState;
use crate::tui::app::tour::{QuestionExtent, TourMark};

/// Leaves the marks behind whose end has come, and opens the card after the last one.
pub fn advance(conversation: &Conversation, shared: &mut SharedState, dialogs: &mut DialogStack) {
    let Some(tour) = &mut shared.tour else { return };
    while !tour.is_over() {
        if tour.mark().is_some_and(|mark| !is_over(mark, conversation, dialogs)) {
            return;
        }
        tour.skip();
    }
    shared.tour = None;
    dialogs.push(ReadingDialog::new(ReadingPage::Tour));
}

fn is_over(mark: TourMark, conversation: &Conversation, dialogs: &DialogStack) -> bool {
    let is_idle = conversation.turn.is_idle();
    // A message is on record a moment before its turn begins.
    let has_ended = is_idle && conversation.transcript.has_ended_turn();
    let place = dialogs.top().map(|dialog| dialog.place());
    let edit = edit_question(dialogs);
    match mark {
        TourMark::Send => !is_idle || has_ended,
        TourMark::Watch => edit.is_some() || has_ended,
        TourMark::LeaveOut => edit.is_none_or(|left_out| left_out > 0),
        TourMark::TakeIn => edit.is_none_or(|left_out| left_out == 0),
        TourMark::AllowEdit => edit.is_none(),
        TourMark::RunTests => has_ended || has_run(conversation),
        TourMark::Answer => has_ended,
        TourMark::OpenPalette => place == Some(KeyPlace::List),
        TourMark::ClosePalette => dialogs.is_empty(),
        TourMark::OpenChanges => {
            place == Some(KeyPlace::Changes) || conversation.changes.changed().next().is_none()
        }
        TourMark::Undo => place == Some(KeyPlace::Rewind) || !has_message(conversation),
        TourMark::Rewind => place != Some(KeyPlace::Rewind),
    }
}

/// How many changes are left out of the edit that is asked about; `None` without such a question.
fn edit_question(dialogs: &DialogStack) -> Option<usize> {
    dialogs.iter().find_map(|dialog| match dialog {
        OpenDialog::Approval(question) if question.request.preview.is_some() => {
            Some(question.hunks.as_ref().map_or(0, |hunks| hunks.left_out.count()))
        }
        _ => None,
    })
}

/// How much of the question on screen has been shown.
pub fn shown_extent(dialogs: &DialogStack) -> QuestionExtent {
    let is_read = dialogs.iter().all(|dialog| match dialog {
        OpenDialog::Approval(question) => question.is_seen(),
        _ => true,
    });
    if is_read { QuestionExtent::Whole } else { QuestionExtent::InPart }
}

fn has_message(conversation: &Conversation) -> bool {
    conversation.transcript.blocks().iter().any(|block| matches!(block.body, BlockBody::User(_)))
}

/// Whether a command has run, or was refused.
fn has_run(conversation: &Conversation) -> bool {
    let calls = conversation.transcript.blocks().iter().rev().filter_map(|it| it.body.tool_call());
    calls.take(4).any(|call| call.is_command() && call.is_over())
}
