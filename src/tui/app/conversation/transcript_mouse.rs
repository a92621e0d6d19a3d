//! What the mouse does in a conversation: the wheel scrolls; a click folds a pane, sets the caret or
//! jumps; a drag selects text or moves the scroll bar.
//!
//! While a selection is dragged past the edge, the view scrolls by itself as long as the button is
//! held. This is the only time at which the mouse needs a timer.

use std::time::Duration;

use crossterm::event::{KeyModifiers, MouseEvent};

use super::Conversation;
use super::block::BlockBody;
use super::copying;
use super::navigation::{self, is_at_end};
use super::search;
use super::select::{MouseDrag, SelectionUnit, TranscriptRange, TranscriptSelection, range_at};
use super::start_screen;
use crate::tui::app::chat_keys;
use crate::tui::app::focus::KeyboardFocus;
use crate::tui::app::geometry::{ConversationGeometry, TranscriptRowKind, VisibleRow};
use crate::tui::app::intent::{Intent, intents};
use crate::tui::app::shared::SharedState;
use crate::tui::app::softwrap;

/// Time between two steps while the view scrolls by itself.
const STEP: Duration = Duration::from_millis(50);
/// Most rows in one such step, however far beyond the edge the mouse is.
const FASTEST: u16 = 6;

/// When the view next scrolls by itself; `None` if it does not.
pub fn wake_at(conversation: &Conversation) -> Option<Duration> {
    match conversation.drag {
        Some(MouseDrag::Selection { next, .. }) => next,
        Some(MouseDrag::Bar { .. }) | None => None,
    }
}

/// Scrolls the view while the mouse is held past its edge.
pub fn tick(conversation: &mut Conversation, shared: &SharedState) {
    let Some(MouseDrag::Selection { column, row, next: Some(next) }) = conversation.drag else {
        return;
    };
    if next > shared.now {
        return;
    }
    let past = past_edge(&conversation.geometry, row);
    if past == 0 || is_at_end(conversation, past) {
        conversation.drag = Some(MouseDrag::Selection { column, row, next: None });
        return;
    }
    conversation.scroll.by(past, conversation.transcript.lines());
    conversation.pending_drag_end = Some((column, row));
    conversation.drag = Some(MouseDrag::Selection { column, row, next: Some(shared.now + STEP) });
}

/// After a frame: the rows under the held mouse may be other ones, so the selection is extended to
/// what is under the mouse now.
pub fn drawn(conversation: &mut Conversation, shared: &mut SharedState) {
    if let Some((column, row)) = conversation.pending_drag_end.take() {
        extend(conversation, column, row);
        shared.needs_redraw = true;
    }
}

/// Scrolls the transcript by rows; negative is up.
pub fn wheel(conversation: &mut Conversation, rows: i32) {
    conversation.scroll.by(rows, conversation.transcript.lines());
    // A selection in progress is extended to the row now under the mouse.
    if let Some(MouseDrag::Selection { column, row, .. }) = conversation.drag {
        conversation.pending_drag_end = Some((column, row));
    }
}

/// Handles a press of the left button.
pub fn press(
    conversation: &mut Conversation,
    shared: &SharedState,
    event: MouseEvent,
) -> Vec<Intent> {
    let (column, row) = (event.column, event.row);
    let mut recent = conversation.geometry.recent.iter();
    if let Some(number) = recent.position(|place| place.inside(column, row).is_some())
        && let Some(opened) = start_screen::open_numbered(conversation, shared, number)
    {
        return opened;
    }
    let below = conversation.geometry.below.and_then(|below| below.inside(column, row));
    if let Some((column, row)) = conversation.geometry.input.inside(column, row) {
        conversation.selection = None;
        conversation.focus = KeyboardFocus::Input;
        search::keys::stop_typing(conversation);
        let editor = &mut conversation.composer.editor;
        let rows = editor.rows(conversation.geometry.input.width);
        if let Some(row) = rows.get(usize::from(row) + conversation.geometry.input_above) {
            let at = softwrap::at(&editor.text(), row, column, editor.chips());
            editor.set_caret(at);
        }
    } else if below.is_some() {
        conversation.scroll.to_tail();
    } else if let Some(pinned) =
        conversation.geometry.pinned.filter(|it| it.area.inside(column, row).is_some())
    {
        navigation::go_to(conversation, pinned.block);
    } else if !grab_bar(conversation, column, row) {
        begin(conversation, shared, event);
    }
    Vec::new()
}

/// Handles a move with the left button held.
pub fn drag(conversation: &mut Conversation, shared: &SharedState, event: MouseEvent) {
    match conversation.drag {
        Some(MouseDrag::Bar { grip }) => {
            let Some(bar) = conversation.geometry.bar else { return };
            let start = event.row.saturating_sub(bar.area.y).saturating_sub(grip);
            navigation::drag_bar(conversation, &bar, start);
        }
        Some(MouseDrag::Selection { next, .. }) => {
            let past = past_edge(&conversation.geometry, event.row);
            let next = (past != 0).then(|| next.unwrap_or(shared.now));
            conversation.drag =
                Some(MouseDrag::Selection { column: event.column, row: event.row, next });
            extend(conversation, event.column, event.row);
        }
        None => {}
    }
}

/// Handles the release of the left button: copies what was selected, or folds the pane that was
/// clicked.
pub fn release(conversation: &mut Conversation) -> Vec<Intent> {
    let pressed = conversation.pressed.take();
    match conversation.drag.take() {
        Some(MouseDrag::Selection { .. }) => {}
        Some(MouseDrag::Bar { .. }) | None => return Vec::new(),
    }
    let Some(selection) = conversation.selection else { return Vec::new() };
    if selection.covers() {
        return intents(copying::copy_selection(conversation));
    }
    conversation.selection = None;
    if let Some(block) = pressed {
        return chat_keys::activate(conversation, block);
    }
    Vec::new()
}

/// Grabs the scroll bar's thumb. A mark on another part of the bar leads to its block; elsewhere the thumb
/// moves there first. Returns false if the cell is not on the bar.
fn grab_bar(conversation: &mut Conversation, column: u16, row: u16) -> bool {
    let Some(bar) = conversation.geometry.bar else { return false };
    let Some((_, row)) = bar.area.inside(column, row) else { return false };
    let grip = match row.checked_sub(bar.start).filter(|grip| *grip < bar.size) {
        Some(grip) => grip,
        None => {
            let mark = conversation.geometry.timeline.iter().find(|mark| mark.row == row);
            if let Some(block) = mark.map(|mark| mark.block) {
                navigation::go_to(conversation, block);
                return true;
            }
            let grip = bar.size / 2;
            navigation::drag_bar(conversation, &bar, row.saturating_sub(grip));
            grip
        }
    };
    conversation.drag = Some(MouseDrag::Bar { grip });
    true
}

/// Begins a selection, or extends the present one if shift is held.
fn begin(conversation: &mut Conversation, shared: &SharedState, event: MouseEvent) {
    let (column, row) = (event.column, event.row);
    let extends = event.modifiers.contains(KeyModifiers::SHIFT) && conversation.selection.is_some();
    if extends {
        extend(conversation, column, row);
    } else {
        conversation.selection = None;
        let Some((row_at, x)) = row_under(&conversation.geometry, column, row) else { return };
        let unit = match row_at.kind {
            TranscriptRowKind::Head => SelectionUnit::Char,
            TranscriptRowKind::Gap | TranscriptRowKind::Body => {
                conversation.clicks.down(column, row, shared.now)
            }
        };
        let (id, kind) = (row_at.block, row_at.kind);
        // A long user message and the end of a turn have no head row: their first row takes that part.
        let first = kind == TranscriptRowKind::Body
            && row_at.source == 0
            && conversation
                .transcript
                .get(id)
                .is_some_and(|it| matches!(it.body, BlockBody::User(_) | BlockBody::TurnEnd(_)));
        conversation.pressed = (first || kind == TranscriptRowKind::Head).then_some(id);
        conversation.selection = range_under(conversation, column, row, unit, x)
            .map(|it| TranscriptSelection::new(it, unit));
    }
    conversation.drag = Some(MouseDrag::Selection { column, row, next: None });
}

fn range_under(
    conversation: &Conversation,
    column: u16,
    row: u16,
    unit: SelectionUnit,
    x: u16,
) -> Option<TranscriptRange> {
    let (row, _) = row_under(&conversation.geometry, column, row)?;
    range_at(&conversation.transcript, &conversation.geometry.rows, row, x, unit)
}

/// Extends the selection to a cell, or to the nearest cell of the transcript.
fn extend(conversation: &mut Conversation, column: u16, row: u16) {
    let Some(TranscriptSelection { unit, .. }) = conversation.selection else { return };
    let Some((row, x)) = nearest_row(&conversation.geometry, column, row) else { return };
    let Some(head) = range_at(&conversation.transcript, &conversation.geometry.rows, row, x, unit)
    else {
        return;
    };
    if let Some(selection) = &mut conversation.selection {
        selection.head = head;
    }
}

/// The row under a cell, and the column in it.
fn row_under(geometry: &ConversationGeometry, column: u16, row: u16) -> Option<(&VisibleRow, u16)> {
    let (column, row) = geometry.transcript.inside(column, row)?;
    Some((geometry.rows.get(usize::from(row))?, column))
}

fn nearest_row(
    geometry: &ConversationGeometry,
    column: u16,
    row: u16,
) -> Option<(&VisibleRow, u16)> {
    let area = geometry.transcript;
    let last = geometry.rows.len().checked_sub(1)?;
    let row = usize::from(row.saturating_sub(area.y)).min(last);
    let column = column.saturating_sub(area.x).min(area.width.saturating_sub(1));
    Some((geometry.rows.get(row)?, column))
}

/// How many rows to scroll because the mouse is past the edge of the transcript; negative is up, 0
/// is inside.
fn past_edge(geometry: &ConversationGeometry, row: u16) -> i32 {
    let area = geometry.transcript;
    let bottom = area.y + area.height;
    if row < area.y {
        -i32::from((area.y - row).min(FASTEST))
    } else if row >= bottom {
        i32::from((row + 1 - bottom).min(FASTEST))
    } else {
        0
    }
}
