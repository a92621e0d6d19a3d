//! Selecting with the keyboard: a caret that moves over the text of the transcript.
//!
//! The caret moves from cell to cell of the rows drawn last. Where a move leaves these rows, the
//! view scrolls, and the caret takes its new place once the next frame has been drawn.

use super::commands;
use super::effect::ScreenEffect;
use super::focus::KeyboardFocus;
use super::geometry::{ScreenGeometry, VisibleRow};
use super::keymap::{self, CaretKey, CaretMotion, KeyPress, ScrollAction};
use super::keys;
use super::model::ScreenModel;
use super::mouse::is_at_end;
use super::select::{
    SelectionCharKind, SelectionUnit, TranscriptRange, TranscriptSelection, range_at,
};
use super::source::{self, TranscriptPosition};
use super::transcript::BlockId;

/// A caret in the transcript, which selects text with the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TranscriptCaret {
    pub position: TranscriptPosition,
    /// The start of the selection; `None` while nothing is selected.
    pub mark: Option<CaretMark>,
    /// The column that vertical moves aim for.
    column: u16,
    /// The cell to move to once the next frame is drawn.
    pending: Option<PendingCaretMove>,
}

/// Where a selection began, and in which steps it grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaretMark {
    range: TranscriptRange,
    unit: SelectionUnit,
}

/// A move to a cell that is not drawn yet, and what to do if that cell has no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PendingCaretMove {
    row: usize,
    column: u16,
    /// Rows to scroll by to search for text, negative for upwards; 0 takes the nearest row on
    /// screen.
    search: i32,
}

/// A cell of the transcript on screen: row and column.
type TranscriptCell = (usize, u16);

/// Puts the caret on a pane, or on the first row with text if the pane shows none.
pub fn enter(model: &mut ScreenModel, block: BlockId) {
    let rows = &model.shared.geometry.rows;
    let has_text = |row: &&VisibleRow| !row.runs.is_empty();
    let row = rows.iter().filter(has_text).find(|row| row.block == block);
    let Some(row) = row.or_else(|| rows.iter().find(has_text)) else { return };
    let position = position_at(row, row.runs.first().map_or(0, |run| run.column));
    let column = row.runs.first().map_or(0, |run| run.column);
    model.conversation.selection = None;
    model.conversation.focus =
        KeyboardFocus::Caret(TranscriptCaret { position, mark: None, column, pending: None });
}

/// Handles a key while the caret is in the transcript; `None` if the key does nothing here.
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
            put(model, TranscriptCaret { mark: None, ..caret });
        }
        CaretKey::Back => leave(model, caret),
    }
    Some(Vec::new())
}

/// Finishes a pending move after a frame was drawn.
pub fn drawn(model: &mut ScreenModel) {
    let KeyboardFocus::Caret(caret) = model.conversation.focus else { return };
    let Some(pending) = caret.pending else { return };
    let rows = &model.shared.geometry.rows;
    let row = pending.row.min(rows.len().saturating_sub(1));
    let empty = rows.get(row).is_none_or(|row| row.runs.is_empty());
    model.shared.needs_redraw = true;
    if empty && pending.search != 0 && !is_at_end(model, pending.search) {
        model.conversation.scroll.by(pending.search, model.conversation.transcript.lines());
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
        None => {
            model.conversation.focus =
                KeyboardFocus::Caret(TranscriptCaret { pending: None, ..caret });
        }
    }
}

/// The cell of a position on screen; `None` if it is not on screen.
pub fn place(geometry: &ScreenGeometry, position: TranscriptPosition) -> Option<TranscriptCell> {
    let rows = geometry.rows.iter().enumerate();
    let mut here =
        rows.filter(|(_, row)| (row.block, row.kind.part()) == (position.block, position.part));
    here.find_map(|(at, row)| {
        let columns = row.columns(&(position.at..position.at + 1));
        columns.first().map(|(column, _)| (at, *column))
    })
}

fn go(model: &mut ScreenModel, caret: TranscriptCaret, motion: CaretMotion) {
    let Some((row, column)) = place(&model.shared.geometry, caret.position) else {
        // The caret is no longer on screen: bring it to the rows that the user sees.
        let pending = Some(PendingCaretMove { row: 0, column: caret.column, search: 0 });
        model.conversation.focus = KeyboardFocus::Caret(TranscriptCaret { pending, ..caret });
        drawn(model);
        return;
    };
    let rows = &model.shared.geometry.rows;
    let last = model.shared.geometry.rows.len().saturating_sub(1);
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

/// Moves up or down to the next row with text.
fn vertical(model: &mut ScreenModel, caret: TranscriptCaret, from: usize, by: i32) {
    let rows = &model.shared.geometry.rows;
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
    let rows = &model.shared.geometry.rows;
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
        // To the start of the next word.
        while let Some(next) = step(at) {
            let begins = breaks(at, next) && kind(next) != SelectionCharKind::Blank;
            at = next;
            if begins {
                break;
            }
        }
    } else {
        // To the start of this word, or of the previous one.
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
    let last = model.shared.geometry.rows.len().saturating_sub(1);
    let (row, column) = if by < 0 { (0, u16::MAX) } else { (last, 0) };
    scroll_past_edge(model, caret, PendingCaretMove { row, column, search: by });
}

/// Scrolls on and leaves the move pending, unless the transcript ends here.
fn scroll_past_edge(model: &mut ScreenModel, caret: TranscriptCaret, pending: PendingCaretMove) {
    if is_at_end(model, pending.search) {
        return;
    }
    model.conversation.scroll.by(pending.search, model.conversation.transcript.lines());
    model.conversation.focus =
        KeyboardFocus::Caret(TranscriptCaret { pending: Some(pending), ..caret });
}

/// Scrolls; at the end of the transcript, moves the caret to row `edge` instead.
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
    model.conversation.focus = KeyboardFocus::Caret(TranscriptCaret { pending, ..caret });
}

/// Puts the caret on a cell and updates the selection.
fn stand(model: &mut ScreenModel, caret: TranscriptCaret, (row, column): TranscriptCell) {
    let Some(row) = model.shared.geometry.rows.get(row) else { return };
    let position = position_at(row, column);
    put(model, TranscriptCaret { position, ..caret });
}

fn put(model: &mut ScreenModel, caret: TranscriptCaret) {
    model.conversation.focus = KeyboardFocus::Caret(caret);
    model.conversation.selection = caret.mark.and_then(|mark| {
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
    let mark = at_caret(model, caret, unit).map(|range| CaretMark { range, unit });
    TranscriptCaret { mark, ..caret }
}

/// Copies the selection, or the caret's line if nothing is selected, and leaves the transcript.
fn copy(model: &mut ScreenModel, caret: TranscriptCaret) -> Vec<ScreenEffect> {
    if model.conversation.selection.is_none() {
        let line = at_caret(model, caret, SelectionUnit::Line);
        model.conversation.selection =
            line.map(|line| TranscriptSelection::new(line, SelectionUnit::Line));
    }
    let effects = commands::copy_selection(model);
    leave(model, caret);
    effects
}

fn leave(model: &mut ScreenModel, caret: TranscriptCaret) {
    model.conversation.selection = None;
    model.conversation.focus = KeyboardFocus::Pane(caret.position.block);
}

/// The character, word or line at the caret.
fn at_caret(
    model: &ScreenModel,
    caret: TranscriptCaret,
    unit: SelectionUnit,
) -> Option<TranscriptRange> {
    if let Some((row, column)) = place(&model.shared.geometry, caret.position) {
        return range_at(model, model.shared.geometry.rows.get(row)?, column, unit);
    }
    let block = model.conversation.transcript.get(caret.position.block)?;
    let text = source::text(block, caret.position.part);
    let range = match unit {
        SelectionUnit::Char | SelectionUnit::Word => {
            caret.position.at..text.ceil_char_boundary(caret.position.at + 1)
        }
        SelectionUnit::Line => source::line_around(&text, caret.position.at),
    };
    let position = |at: usize| TranscriptPosition { at: at.min(text.len()), ..caret.position };
    Some(TranscriptRange { from: position(range.start), to: position(range.end) })
}

fn position_at(row: &VisibleRow, column: u16) -> TranscriptPosition {
    TranscriptPosition { block: row.block, part: row.kind.part(), at: row.at(column).start }
}

/// The columns of a row where the caret can stand.
fn stops(row: &VisibleRow) -> impl Iterator<Item = u16> + '_ {
    row.runs.iter().flat_map(|run| {
        let each = if usize::from(run.width) == run.bytes { run.width } else { 1 };
        run.column..run.column + each
    })
}

/// The last stop at or before a column, or the first stop if there is none.
fn nearest_stop(row: &VisibleRow, column: u16) -> u16 {
    let before = stops(row).take_while(|stop| *stop <= column).last();
    before.or_else(|| stops(row).next()).unwrap_or(0)
}

fn kind_of(model: &ScreenModel, (row, column): TranscriptCell) -> SelectionCharKind {
    let Some(row) = model.shared.geometry.rows.get(row) else { return SelectionCharKind::Blank };
    let Some(block) = model.conversation.transcript.get(row.block) else {
        return SelectionCharKind::Blank;
    };
    let text = source::text(block, row.kind.part());
    let at = text.floor_char_boundary(row.at(column).start);
    text[at..].chars().next().map_or(SelectionCharKind::Blank, SelectionCharKind::of)
}
