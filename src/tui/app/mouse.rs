//! What the mouse does: the wheel scrolls what is under it; a click folds a pane, sets the caret or
//! jumps; a drag selects text or moves the scroll bar.
//!
//! While a selection is dragged past the edge, the view scrolls by itself as long as the button is
//! held. This is the only time at which the mouse needs a timer.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use super::block::BlockBody;
use super::changes;
use super::commands;
use super::effect::ScreenEffect;
use super::focus::KeyboardFocus;
use super::geometry::{CellRect, ScreenGeometry, TranscriptRowKind, VisibleRow};
use super::keymap::ScrollAction;
use super::keys;
use super::model::ScreenModel;
use super::navigation;
use super::overlay::{Overlay, OverlayOutcome, scrolled};
use super::pager::{self, PagerDrag};
use super::scroll::{BlockPosition, ScrollAnchor};
use super::search;
use super::select::{SelectionUnit, TranscriptRange, TranscriptSelection, range_at};
use super::sidebar;
use super::softwrap;

/// Time between two steps while the view scrolls by itself.
const STEP: Duration = Duration::from_millis(50);
/// Most rows in one such step, however far beyond the edge the mouse is.
const FASTEST: u16 = 6;

/// What the held mouse button drags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseDrag {
    /// The end of the selection.
    Selection {
        column: u16,
        row: u16,
        /// When the view scrolls next; `None` unless the mouse is past its edge.
        next: Option<Duration>,
    },
    /// The thumb of the scroll bar.
    Bar {
        /// Rows from the thumb's top to the mouse.
        grip: u16,
    },
}

/// Handles a mouse event. One over the sidebar is for the sidebar, unless a drag is under way.
pub fn mouse(model: &mut ScreenModel, event: MouseEvent) -> Vec<ScreenEffect> {
    let turned = match event.kind {
        MouseEventKind::ScrollUp => {
            Some(model.shared.wheel_remainder.by(-1, model.shared.settings.wheel))
        }
        MouseEventKind::ScrollDown => {
            Some(model.shared.wheel_remainder.by(1, model.shared.settings.wheel))
        }
        MouseEventKind::Down(_)
        | MouseEventKind::Up(_)
        | MouseEventKind::Drag(_)
        | MouseEventKind::Moved
        | MouseEventKind::ScrollLeft
        | MouseEventKind::ScrollRight => None,
    };
    if turned == Some(0) {
        return Vec::new();
    }
    if let Some(effects) =
        sidebar::mouse(model, event).filter(|_| model.conversation.drag.is_none())
    {
        return effects;
    }
    match (event.kind, turned) {
        (_, Some(rows)) => wheel(model, rows),
        (MouseEventKind::Down(MouseButton::Left), None) => return down(model, event),
        (MouseEventKind::Drag(MouseButton::Left), None) => drag(model, event),
        (MouseEventKind::Up(MouseButton::Left), None) => return up(model),
        (_, None) => {}
    }
    Vec::new()
}

/// When the view next scrolls by itself; `None` if it does not.
pub fn wake_at(model: &ScreenModel) -> Option<Duration> {
    match model.conversation.drag {
        Some(MouseDrag::Selection { next, .. }) => next,
        Some(MouseDrag::Bar { .. }) | None => None,
    }
}

/// Scrolls the view while the mouse is held past its edge.
pub fn tick(model: &mut ScreenModel) {
    let Some(MouseDrag::Selection { column, row, next: Some(next) }) = model.conversation.drag
    else {
        return;
    };
    if next > model.shared.now {
        return;
    }
    let past = past_edge(&model.shared.geometry, row);
    if past == 0 || is_at_end(model, past) {
        model.conversation.drag = Some(MouseDrag::Selection { column, row, next: None });
        return;
    }
    model.conversation.scroll.by(past, model.conversation.transcript.lines());
    model.conversation.pending_drag_end = Some((column, row));
    model.conversation.drag =
        Some(MouseDrag::Selection { column, row, next: Some(model.shared.now + STEP) });
}

/// After a frame: the rows under the held mouse may be other ones, so the selection is extended to
/// what is under the mouse now.
pub fn drawn(model: &mut ScreenModel) {
    if let Some((column, row)) = model.conversation.pending_drag_end.take() {
        extend(model, column, row);
        model.shared.needs_redraw = true;
    }
}

fn wheel(model: &mut ScreenModel, rows: i32) {
    let extent = model.shared.geometry.dialog.unwrap_or_default();
    let how = if rows < 0 { ScrollAction::LineUp } else { ScrollAction::LineDown };
    let scroll = |at: usize| (0..rows.abs()).fold(at, |at, _| scrolled(at, how, extent));
    match model.overlays.last_mut() {
        Some(Overlay::Picker(picker)) => picker.list.step(rows.signum() as isize),
        Some(Overlay::Approval(approval)) => {
            approval.scroll_to(scroll(approval.scroll), extent, &model.shared.geometry.changes);
        }
        Some(Overlay::Reading(reading)) => reading.scroll = scroll(reading.scroll),
        Some(Overlay::Pager(pager)) => {
            pager::wheel(pager, rows, model.shared.geometry.page.as_ref());
        }
        Some(Overlay::Changes(page)) => page.position.by(isize::try_from(rows).unwrap_or(0)),
        Some(Overlay::Rules(page)) => {
            page.step(rows.signum() as isize, &model.conversation.denied_calls);
        }
        Some(Overlay::Rewind(dialog)) => dialog.scroll = scroll(dialog.scroll),
        None => {
            model.conversation.scroll.by(rows, model.conversation.transcript.lines());
            // A selection in progress is extended to the row now under the mouse.
            if let Some(MouseDrag::Selection { column, row, .. }) = model.conversation.drag {
                model.conversation.pending_drag_end = Some((column, row));
            }
        }
    }
}

fn down(model: &mut ScreenModel, event: MouseEvent) -> Vec<ScreenEffect> {
    if let Some(Overlay::Picker(picker)) = model.overlays.last_mut() {
        let Some((_, row)) =
            model.shared.geometry.list.and_then(|list| list.inside(event.column, event.row))
        else {
            return Vec::new();
        };
        let page = model.shared.geometry.list.map_or(1, |list| usize::from(list.height)).max(1);
        let first = (picker.list.selected() + 1).saturating_sub(page);
        picker.list.select(first + usize::from(row));
        let step = picker.choose();
        return keys::take(model, model.overlays.len() - 1, step);
    }
    match model.overlays.last() {
        Some(Overlay::Pager(_)) => pager::drag(model, event.column, event.row, PagerDrag::Down),
        Some(Overlay::Changes(_)) => changes::click(model, event.column, event.row),
        Some(Overlay::Approval(_)) => return answer(model, event.column, event.row),
        Some(Overlay::Picker(_) | Overlay::Reading(_) | Overlay::Rules(_) | Overlay::Rewind(_))
        | None => {}
    }
    if !model.overlays.is_empty() {
        return Vec::new();
    }
    let (column, row) = (event.column, event.row);
    let below = model.shared.geometry.below.and_then(|below| below.inside(column, row));
    if let Some((column, row)) = model.shared.geometry.input.inside(column, row) {
        model.conversation.selection = None;
        model.conversation.focus = KeyboardFocus::Input;
        search::stop_typing(model);
        let editor = &mut model.conversation.composer.editor;
        let rows = editor.rows(model.shared.geometry.input.width);
        if let Some(row) = rows.get(usize::from(row) + model.shared.geometry.input_above) {
            let at = softwrap::at(&editor.text(), row, column, editor.chips());
            editor.set_caret(at);
        }
    } else if below.is_some() {
        model.conversation.scroll.to_tail();
    } else if !grab_bar(model, column, row) {
        begin(model, event);
    }
    Vec::new()
}

/// Handles a click on an answer of the permission dialog, or on the box of a change. The guard
/// delays clicks as it delays keys: the user may have aimed at something else.
fn answer(model: &mut ScreenModel, column: u16, row: u16) -> Vec<ScreenEffect> {
    let geometry = &model.shared.geometry;
    let is_under = |area: &CellRect| area.inside(column, row).is_some();
    let key = geometry.answers.iter().find(|(area, _)| is_under(area)).map(|(_, key)| *key);
    let change = geometry.boxes.iter().find(|(area, _)| is_under(area)).map(|(_, change)| *change);
    let (extent, places) = (geometry.dialog.unwrap_or_default(), Arc::clone(&geometry.changes));
    let step = match model.overlays.last_mut() {
        Some(Overlay::Approval(approval)) if approval.guard.is_armed() => {
            if let Some(change) = change {
                approval.pick(change);
            }
            key.map_or(OverlayOutcome::Stay, |key| approval.press(key, extent, &places))
        }
        Some(
            Overlay::Approval(_)
            | Overlay::Picker(_)
            | Overlay::Reading(_)
            | Overlay::Pager(_)
            | Overlay::Changes(_)
            | Overlay::Rules(_)
            | Overlay::Rewind(_),
        )
        | None => OverlayOutcome::Stay,
    };
    keys::take(model, model.overlays.len().saturating_sub(1), step)
}

/// Grabs the scroll bar's thumb; on another part of the bar, moves the thumb there first. Returns
/// false if the cell is not on the bar.
fn grab_bar(model: &mut ScreenModel, column: u16, row: u16) -> bool {
    let Some(bar) = model.shared.geometry.bar else { return false };
    let Some((_, row)) = bar.area.inside(column, row) else { return false };
    let grip = match row.checked_sub(bar.start).filter(|grip| *grip < bar.size) {
        Some(grip) => grip,
        None => {
            let grip = bar.size / 2;
            navigation::drag_bar(model, &bar, row.saturating_sub(grip));
            grip
        }
    };
    model.conversation.drag = Some(MouseDrag::Bar { grip });
    true
}

/// Begins a selection, or extends the present one if shift is held.
fn begin(model: &mut ScreenModel, event: MouseEvent) {
    let (column, row) = (event.column, event.row);
    let extends =
        event.modifiers.contains(KeyModifiers::SHIFT) && model.conversation.selection.is_some();
    if extends {
        extend(model, column, row);
    } else {
        model.conversation.selection = None;
        let Some((row_at, x)) = row_under(&model.shared.geometry, column, row) else { return };
        let unit = match row_at.kind {
            TranscriptRowKind::Head => SelectionUnit::Char,
            TranscriptRowKind::Gap | TranscriptRowKind::Body => {
                model.conversation.clicks.down(column, row, model.shared.now)
            }
        };
        let (id, kind) = (row_at.block, row_at.kind);
        // A long user message has no head row: its first row takes that part.
        let first = kind == TranscriptRowKind::Body
            && row_at.source == 0
            && model
                .conversation
                .transcript
                .get(id)
                .is_some_and(|it| matches!(it.body, BlockBody::User(_)));
        model.conversation.pressed = (first || kind == TranscriptRowKind::Head).then_some(id);
        model.conversation.selection =
            range_under(model, column, row, unit, x).map(|it| TranscriptSelection::new(it, unit));
    }
    model.conversation.drag = Some(MouseDrag::Selection { column, row, next: None });
}

fn range_under(
    model: &ScreenModel,
    column: u16,
    row: u16,
    unit: SelectionUnit,
    x: u16,
) -> Option<TranscriptRange> {
    let (row, _) = row_under(&model.shared.geometry, column, row)?;
    range_at(model, row, x, unit)
}

fn drag(model: &mut ScreenModel, event: MouseEvent) {
    if let Some(Overlay::Pager(_)) = model.overlays.last() {
        return pager::drag(model, event.column, event.row, PagerDrag::Moved);
    }
    match model.conversation.drag {
        Some(MouseDrag::Bar { grip }) => {
            let Some(bar) = model.shared.geometry.bar else { return };
            let start = event.row.saturating_sub(bar.area.y).saturating_sub(grip);
            navigation::drag_bar(model, &bar, start);
        }
        Some(MouseDrag::Selection { next, .. }) => {
            let past = past_edge(&model.shared.geometry, event.row);
            let next = (past != 0).then(|| next.unwrap_or(model.shared.now));
            model.conversation.drag =
                Some(MouseDrag::Selection { column: event.column, row: event.row, next });
            extend(model, event.column, event.row);
        }
        None => {}
    }
}

fn up(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    if let Some(Overlay::Pager(pager)) = model.overlays.last_mut() {
        return pager::on_button_up(pager);
    }
    let pressed = model.conversation.pressed.take();
    match model.conversation.drag.take() {
        Some(MouseDrag::Selection { .. }) => {}
        Some(MouseDrag::Bar { .. }) | None => return Vec::new(),
    }
    let Some(selection) = model.conversation.selection else { return Vec::new() };
    if selection.covers() {
        return commands::copy_selection(model);
    }
    model.conversation.selection = None;
    if let Some(block) = pressed {
        return keys::toggle(model, block);
    }
    Vec::new()
}

/// Extends the selection to a cell, or to the nearest cell of the transcript.
fn extend(model: &mut ScreenModel, column: u16, row: u16) {
    let Some(TranscriptSelection { unit, .. }) = model.conversation.selection else { return };
    let Some((row, x)) = nearest_row(&model.shared.geometry, column, row) else { return };
    let Some(head) = range_at(model, row, x, unit) else { return };
    if let Some(selection) = &mut model.conversation.selection {
        selection.head = head;
    }
}

/// The row under a cell, and the column in it.
fn row_under(geometry: &ScreenGeometry, column: u16, row: u16) -> Option<(&VisibleRow, u16)> {
    let (column, row) = geometry.transcript.inside(column, row)?;
    Some((geometry.rows.get(usize::from(row))?, column))
}

fn nearest_row(geometry: &ScreenGeometry, column: u16, row: u16) -> Option<(&VisibleRow, u16)> {
    let area = geometry.transcript;
    let last = geometry.rows.len().checked_sub(1)?;
    let row = usize::from(row.saturating_sub(area.y)).min(last);
    let column = column.saturating_sub(area.x).min(area.width.saturating_sub(1));
    Some((geometry.rows.get(row)?, column))
}

/// How many rows to scroll because the mouse is past the edge of the transcript; negative is up, 0
/// is inside.
fn past_edge(geometry: &ScreenGeometry, row: u16) -> i32 {
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

/// Whether the transcript cannot be scrolled further in a direction; negative is up.
pub fn is_at_end(model: &ScreenModel, direction: i32) -> bool {
    let first = model.conversation.transcript.blocks().first().map(|block| block.id);
    match model.shared.geometry.top {
        _ if direction > 0 => model.shared.geometry.anchor == ScrollAnchor::Tail,
        ScrollAnchor::At { block, place: BlockPosition::Head(0) } => Some(block) == first,
        ScrollAnchor::At { .. } | ScrollAnchor::Tail => false,
    }
}
