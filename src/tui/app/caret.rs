//! Selecting with the keyboard: a caret that goes over the text of the transcript.
//!
//! It moves from cell to cell of the rows that were drawn last. Where it would leave them the view
//! goes on, and the caret is put where it belongs when the next frame has shown what is there.

use super::commands;
use super::effect::ScreenEffect;
use super::geometry::{ScreenGeometry, VisibleRow};
use super::keymap::{self, CaretKey, CaretMotion, KeyPress, ScrollAction};
use super::keys;
use super::model::{KeyboardFocus, ScreenModel};
use super::mouse::is_at_end;
use super::select::{
    SelectionCharKind, SelectionUnit, TranscriptRange, TranscriptSelection, range_at,
};
use super::source::{self, TranscriptPosition};
use super::transcript::BlockId;

/// The caret in the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TranscriptCaret {
    /// Where it stands.
    pub position: TranscriptPosition,
    /// What was selected first, while something is.
    pub mark: Option<CaretMark>,
    /// The column that moving up and down keeps to.
    column: u16,
    /// The cell that it goes to once the next frame is drawn.
    pending: Option<PendingCaretMove>,
}

/// Where a selection began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaretMark {
    range: TranscriptRange,
    unit: SelectionUnit,
}

/// A cell to go to, and what to do where it has no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PendingCaretMove {
    row: usize,
    column: u16,
    /// Rows to scroll on in search of text; 0 takes the nearest on screen.
    search: i32,
}

/// A cell: row and column of the transcript on screen.
type TranscriptCell = (usize, u16);

/// Puts the caret on a pane, or else where there is text.
pub fn enter(model: &mut ScreenModel, block: BlockId) {
    let rows = &model.geometry.rows;
    let has_text = |row: &&VisibleRow| !row.runs.is_empty();
    let row = rows.iter().filter(has_text).find(|row| row.block == block);
    let Some(row) = row.or_else(|| rows.iter().find(has_text)) else { return };
    let spot = spot_at(row, row.runs.first().map_or(0, |run| run.column));
    let column = row.runs.first().map_or(0, |run| run.column);
    model.selection = None;
    model.focus =
        KeyboardFocus::Caret(TranscriptCaret { position: spot, mark: None, column, pending: None });
}

/// A key while the caret is in the transcript; `None` where it means nothing here.
pub fn key(
    model: &mut ScreenModel,
    caret: TranscriptCaret,
    key: &KeyPress<'_>,
) -> Option<Vec<ScreenEffect>> {
    match keymap::find(keymap::CARET, key)? {
        CaretKey::Move(motion) => go(model, caret, motion),
        CaretKey::Extend(motion) => {
            let caret = if caret.mark.is_none() {
                marked(model, caret, SelectionUnit::Char)
            } else {
                caret
            };
            go(model, caret, motion);
        }
        CaretKey::Mark => toggle(model, caret, SelectionUnit::Char),
        CaretKey::MarkLines => toggle(model, caret, SelectionUnit::Line),
        CaretKey::Copy => return Some(copy(model, caret)),
        CaretKey::Back if caret.mark.is_some() => {
            put(model, TranscriptCaret { mark: None, ..caret })
        }
        CaretKey::Back => leave(model, caret),
    }
    Some(Vec::new())
}

/// A frame was drawn: the caret goes where it could not be put before.
pub fn drawn(model: &mut ScreenModel) {
    let KeyboardFocus::Caret(caret) = model.focus else { return };
    let Some(pending) = caret.pending else { return };
    let rows = &model.geometry.rows;
    let row = pending.row.min(rows.len().saturating_sub(1));
    let empty = rows.get(row).is_none_or(|row| row.runs.is_empty());
    model.needs_redraw = true;
    if empty && pending.search != 0 && !is_at_end(model, pending.search) {
        model.scroll.by(pending.search, model.transcript.lines());
        return;
    }
    let nearest =
        (0..rows.len()).filter(|at| !rows[*at].runs.is_empty()).min_by_key(|at| at.abs_diff(row));
    match nearest {
        Some(at) => {
            let column = nearest_stop(&rows[at], pending.column);
            let keep = TranscriptCaret { pending: None, ..caret };
            stand(model, keep, (at, column));
        }
        None => model.focus = KeyboardFocus::Caret(TranscriptCaret { pending: None, ..caret }),
    }
}

/// Where the caret is on screen.
pub fn place(geometry: &ScreenGeometry, spot: TranscriptPosition) -> Option<TranscriptCell> {
    let rows = geometry.rows.iter().enumerate();
    let mut here = rows.filter(|(_, row)| (row.block, row.kind.part()) == (spot.block, spot.part));
    here.find_map(|(at, row)| {
        let columns = row.columns(&(spot.at..spot.at + 1));
        columns.first().map(|(column, _)| (at, *column))
    })
}

fn go(model: &mut ScreenModel, caret: TranscriptCaret, motion: CaretMotion) {
    let Some((row, column)) = place(&model.geometry, caret.position) else {
        // It is not on screen any more: it comes to where the person looks.
        let pending = Some(PendingCaretMove { row: 0, column: caret.column, search: 0 });
        model.focus = KeyboardFocus::Caret(TranscriptCaret { pending, ..caret });
        drawn(model);
        return;
    };
    let rows = &model.geometry.rows;
    let last = model.geometry.rows.len().saturating_sub(1);
    let height = rows.len().max(2);
    match motion {
        CaretMotion::Up => vertical(model, caret, row, -1),
        CaretMotion::Down => vertical(model, caret, row, 1),
        CaretMotion::Left | CaretMotion::Right | CaretMotion::WordLeft | CaretMotion::WordRight => {
            horizontal(model, caret, (row, column), motion);
        }
        CaretMotion::RowStart => {
            let start = rows[row].runs.first().map_or(0, |run| run.column);
            stand(model, TranscriptCaret { column: start, ..caret }, (row, start));
        }
        CaretMotion::RowEnd => {
            let end = nearest_stop(&rows[row], u16::MAX);
            stand(model, TranscriptCaret { column: u16::MAX, ..caret }, (row, end));
        }
        CaretMotion::HalfUp => {
            page(model, caret, row, ScrollAction::HalfUp, row.saturating_sub(height / 2));
        }
        CaretMotion::HalfDown => {
            page(model, caret, row, ScrollAction::HalfDown, (row + height / 2).min(last));
        }
        CaretMotion::PageUp => page(model, caret, row, ScrollAction::PageUp, 0),
        CaretMotion::PageDown => page(model, caret, row, ScrollAction::PageDown, last),
        CaretMotion::Top => page(model, caret, 0, ScrollAction::Top, 0),
        CaretMotion::Bottom => page(model, caret, last, ScrollAction::Bottom, last),
    }
}

/// Up or down to the next row with text.
fn vertical(model: &mut ScreenModel, caret: TranscriptCaret, from: usize, by: i32) {
    let rows = &model.geometry.rows;
    let has_text = |at: &usize| rows.get(*at).is_some_and(|row| !row.runs.is_empty());
    let ahead =
        if by < 0 { (0..from).rev().find(has_text) } else { (from + 1..rows.len()).find(has_text) };
    if let Some(row) = ahead {
        let column = nearest_stop(&rows[row], caret.column);
        stand(model, caret, (row, column));
        return;
    }
    let row = if by < 0 { 0 } else { rows.len().saturating_sub(1) };
    scroll_past_edge(model, caret, PendingCaretMove { row, column: caret.column, search: by });
}

fn horizontal(
    model: &mut ScreenModel,
    caret: TranscriptCaret,
    from: TranscriptCell,
    motion: CaretMotion,
) {
    let by = if matches!(motion, CaretMotion::Left | CaretMotion::WordLeft) { -1 } else { 1 };
    let words = matches!(motion, CaretMotion::WordLeft | CaretMotion::WordRight);
    let rows = &model.geometry.rows;
    let cells: Vec<TranscriptCell> = rows
        .iter()
        .enumerate()
        .flat_map(|(at, row)| stops(row).map(move |column| (at, column)))
        .collect();
    let Ok(mut at) = cells.binary_search(&from) else { return };
    let kind =
        |at: usize| cells.get(at).map_or(SelectionCharKind::Blank, |cell| kind_of(model, *cell));
    let breaks = |a: usize, b: usize| kind(a) != kind(b) || cells[a].0 != cells[b].0;
    let step = |at: usize| at.checked_add_signed(by as isize).filter(|at| *at < cells.len());
    if !words {
        match step(at) {
            Some(next) => at = next,
            None => return scroll_past_edge_sideways(model, caret, by),
        }
    } else if by > 0 {
        // To the beginning of the next word.
        while let Some(next) = step(at) {
            let begins = breaks(at, next) && kind(next) != SelectionCharKind::Blank;
            at = next;
            if begins {
                break;
            }
        }
    } else {
        // To the beginning of this word, or of the one before.
        while let Some(next) = step(at) {
            at = next;
            let begins = step(at).is_none_or(|before| breaks(before, at));
            if begins && kind(at) != SelectionCharKind::Blank {
                break;
            }
        }
    }
    if cells[at] == from {
        return scroll_past_edge_sideways(model, caret, by);
    }
    let cell = cells[at];
    stand(model, TranscriptCaret { column: cell.1, ..caret }, cell);
}

fn scroll_past_edge_sideways(model: &mut ScreenModel, caret: TranscriptCaret, by: i32) {
    let last = model.geometry.rows.len().saturating_sub(1);
    let (row, column) = if by < 0 { (0, u16::MAX) } else { (last, 0) };
    scroll_past_edge(model, caret, PendingCaretMove { row, column, search: by });
}

/// Goes on beyond what is on screen.
fn scroll_past_edge(model: &mut ScreenModel, caret: TranscriptCaret, pending: PendingCaretMove) {
    if is_at_end(model, pending.search) {
        return;
    }
    model.scroll.by(pending.search, model.transcript.lines());
    model.focus = KeyboardFocus::Caret(TranscriptCaret { pending: Some(pending), ..caret });
}

/// Scrolls; at the end of the transcript the caret goes to `edge` instead.
fn page(
    model: &mut ScreenModel,
    caret: TranscriptCaret,
    row: usize,
    how: ScrollAction,
    edge: usize,
) {
    let direction = match how {
        ScrollAction::LineUp | ScrollAction::HalfUp | ScrollAction::PageUp | ScrollAction::Top => {
            -1
        }
        ScrollAction::LineDown
        | ScrollAction::HalfDown
        | ScrollAction::PageDown
        | ScrollAction::Bottom => 1,
    };
    let row = if is_at_end(model, direction) { edge } else { row };
    keys::scroll(model, how);
    let pending = Some(PendingCaretMove { row, column: caret.column, search: 0 });
    model.focus = KeyboardFocus::Caret(TranscriptCaret { pending, ..caret });
}

/// Puts the caret on a cell; what is selected follows.
fn stand(model: &mut ScreenModel, caret: TranscriptCaret, (row, column): TranscriptCell) {
    let Some(row) = model.geometry.rows.get(row) else { return };
    let spot = spot_at(row, column);
    put(model, TranscriptCaret { position: spot, ..caret });
}

fn put(model: &mut ScreenModel, caret: TranscriptCaret) {
    model.focus = KeyboardFocus::Caret(caret);
    model.selection = caret.mark.and_then(|mark| {
        let head = at_caret(model, caret, mark.unit)?;
        Some(TranscriptSelection { anchor: mark.range, head, unit: mark.unit })
    });
}

fn toggle(model: &mut ScreenModel, caret: TranscriptCaret, unit: SelectionUnit) {
    let caret = match caret.mark {
        Some(mark) if mark.unit == unit => TranscriptCaret { mark: None, ..caret },
        Some(_) | None => marked(model, caret, unit),
    };
    put(model, caret);
}

fn marked(model: &ScreenModel, caret: TranscriptCaret, unit: SelectionUnit) -> TranscriptCaret {
    let mark = at_caret(model, caret, unit).map(|reach| CaretMark { range: reach, unit });
    TranscriptCaret { mark, ..caret }
}

/// Copies what is selected, or else the line, and leaves.
fn copy(model: &mut ScreenModel, caret: TranscriptCaret) -> Vec<ScreenEffect> {
    if model.selection.is_none() {
        let line = at_caret(model, caret, SelectionUnit::Line);
        model.selection = line.map(|line| TranscriptSelection::new(line, SelectionUnit::Line));
    }
    let effects = commands::copy_selection(model);
    leave(model, caret);
    effects
}

fn leave(model: &mut ScreenModel, caret: TranscriptCaret) {
    model.selection = None;
    model.focus = KeyboardFocus::Pane(caret.position.block);
}

/// What is taken at the caret.
fn at_caret(
    model: &ScreenModel,
    caret: TranscriptCaret,
    unit: SelectionUnit,
) -> Option<TranscriptRange> {
    if let Some((row, column)) = place(&model.geometry, caret.position) {
        return range_at(model, model.geometry.rows.get(row)?, column, unit);
    }
    let block = model.transcript.get(caret.position.block)?;
    let text = source::text(block, caret.position.part);
    let range = match unit {
        SelectionUnit::Char | SelectionUnit::Word => {
            caret.position.at..text.ceil_char_boundary(caret.position.at + 1)
        }
        SelectionUnit::Line => source::line_around(&text, caret.position.at),
    };
    let spot = |at: usize| TranscriptPosition { at: at.min(text.len()), ..caret.position };
    Some(TranscriptRange { from: spot(range.start), to: spot(range.end) })
}

fn spot_at(row: &VisibleRow, column: u16) -> TranscriptPosition {
    TranscriptPosition { block: row.block, part: row.kind.part(), at: row.at(column).start }
}

/// The columns of a row at which the caret can stand.
fn stops(row: &VisibleRow) -> impl Iterator<Item = u16> + '_ {
    row.runs.iter().flat_map(|run| {
        let each = if usize::from(run.width) == run.bytes { run.width } else { 1 };
        run.column..run.column + each
    })
}

/// The stop at or before a column, else the first.
fn nearest_stop(row: &VisibleRow, column: u16) -> u16 {
    let before = stops(row).take_while(|stop| *stop <= column).last();
    before.or_else(|| stops(row).next()).unwrap_or(0)
}

fn kind_of(model: &ScreenModel, (row, column): TranscriptCell) -> SelectionCharKind {
    let Some(row) = model.geometry.rows.get(row) else { return SelectionCharKind::Blank };
    let Some(block) = model.transcript.get(row.block) else { return SelectionCharKind::Blank };
    let text = source::text(block, row.kind.part());
    let at = text.floor_char_boundary(row.at(column).start);
    text[at..].chars().next().map_or(SelectionCharKind::Blank, SelectionCharKind::of)
}
