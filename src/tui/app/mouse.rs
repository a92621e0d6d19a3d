//! What the mouse does: the wheel scrolls, a click folds or puts the caret, a drag selects.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use super::effect::Effect;
use super::geometry::{Geometry, RowKind, VisibleRow};
use super::keymap::Scrolling;
use super::keys;
use super::model::{Focus, Model};
use super::overlay::{Overlay, scrolled};
use super::select::{Selection, Spot, Unit};
use super::sidebar;
use super::softwrap;

/// Rows a notch of the wheel goes.
const WHEEL: i32 = 3;

/// A mouse event.
pub fn mouse(model: &mut Model, event: MouseEvent) -> Vec<Effect> {
    if let Some(effects) = sidebar::mouse(model, event) {
        return effects;
    }
    match event.kind {
        MouseEventKind::ScrollUp => wheel(model, -WHEEL),
        MouseEventKind::ScrollDown => wheel(model, WHEEL),
        MouseEventKind::Down(MouseButton::Left) => return down(model, event),
        MouseEventKind::Drag(MouseButton::Left) => drag(model, event),
        MouseEventKind::Up(MouseButton::Left) => return up(model),
        MouseEventKind::Down(_)
        | MouseEventKind::Up(_)
        | MouseEventKind::Drag(_)
        | MouseEventKind::Moved
        | MouseEventKind::ScrollLeft
        | MouseEventKind::ScrollRight => {}
    }
    Vec::new()
}

fn wheel(model: &mut Model, rows: i32) {
    let extent = model.geometry.dialog.unwrap_or_default();
    let how = if rows < 0 { Scrolling::LineUp } else { Scrolling::LineDown };
    match model.overlays.last_mut() {
        Some(Overlay::Picker(picker)) => picker.list.step(rows.signum() as isize),
        Some(Overlay::Approval(approval)) => {
            for _ in 0..WHEEL {
                approval.scroll = scrolled(approval.scroll, how, extent);
            }
        }
        Some(Overlay::Reading(reading)) => {
            for _ in 0..WHEEL {
                reading.scroll = scrolled(reading.scroll, how, extent);
            }
        }
        None => model.scroll.by(rows, model.transcript.lines()),
    }
}

fn down(model: &mut Model, event: MouseEvent) -> Vec<Effect> {
    model.selection = None;
    if let Some(Overlay::Picker(picker)) = model.overlays.last_mut() {
        let Some((_, row)) =
            model.geometry.list.and_then(|list| list.inside(event.column, event.row))
        else {
            return Vec::new();
        };
        let page = model.geometry.list.map_or(1, |list| usize::from(list.height)).max(1);
        let first = (picker.list.selected() + 1).saturating_sub(page);
        picker.list.select(first + usize::from(row));
        let step = picker.choose();
        return keys::take(model, model.overlays.len() - 1, step);
    }
    if !model.overlays.is_empty() {
        return Vec::new();
    }
    if let Some((column, row)) = model.geometry.input.inside(event.column, event.row) {
        model.focus = Focus::Input;
        let editor = &mut model.composer.editor;
        let rows = editor.rows(model.geometry.input.width);
        if let Some(row) = rows.get(usize::from(row) + model.geometry.input_above) {
            let at = softwrap::at(&editor.text(), row, column, editor.chips());
            editor.set_caret(at);
        }
    } else if let Some((spot, kind)) = spot(&model.geometry, event) {
        let unit = match kind {
            RowKind::Head => Unit::Char,
            RowKind::Gap | RowKind::Body => model.clicks.down(event.column, event.row, model.now),
        };
        model.selection = Some(Selection { from: spot, to: spot, unit });
    }
    Vec::new()
}

fn drag(model: &mut Model, event: MouseEvent) {
    let area = model.geometry.transcript;
    // At the edge the view follows, so that more can be selected than fits.
    if model.selection.is_some() {
        let lines = model.transcript.lines();
        if event.row < area.y {
            model.scroll.by(-1, lines);
        } else if event.row >= area.y + area.height {
            model.scroll.by(1, lines);
        }
    }
    let clamped = MouseEvent {
        row: event.row.clamp(area.y, (area.y + area.height).saturating_sub(1).max(area.y)),
        column: event.column.clamp(area.x, (area.x + area.width).saturating_sub(1).max(area.x)),
        ..event
    };
    if let (Some((spot, _)), Some(selection)) =
        (spot(&model.geometry, clamped), &mut model.selection)
    {
        selection.to = spot;
    }
}

fn up(model: &mut Model) -> Vec<Effect> {
    let Some(selection) = model.selection else { return Vec::new() };
    if selection.covers() {
        return vec![Effect::CopySelection(selection)];
    }
    model.selection = None;
    let clicked = model
        .geometry
        .rows
        .iter()
        .find(|row| (row.block, row.row) == (selection.from.block, selection.from.row));
    if let Some(VisibleRow { block, kind: RowKind::Head, .. }) = clicked.copied() {
        keys::toggle(model, block);
    }
    Vec::new()
}

/// The cell of the transcript under the mouse.
fn spot(geometry: &Geometry, event: MouseEvent) -> Option<(Spot, RowKind)> {
    let (column, row) = geometry.transcript.inside(event.column, event.row)?;
    let row = geometry.rows.get(usize::from(row))?;
    Some((Spot { block: row.block, row: row.row, column }, row.kind))
}
