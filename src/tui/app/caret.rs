//! Selecting with the keyboard: a caret that goes over the text of the transcript.
//!
//! It moves from cell to cell of the rows that were drawn last. Where it would leave them the view
//! goes on, and the caret is put where it belongs when the next frame has shown what is there.

use super::commands;
use super::effect::Effect;
use super::geometry::{Geometry, VisibleRow};
use super::keymap::{self, CaretKey, Motion, Press, Scrolling};
use super::keys;
use super::model::{Focus, Model};
use super::mouse::is_at_end;
use super::select::{Kind, Reach, Selection, Unit, reach};
use super::source::{self, Spot};
use super::transcript::BlockId;

/// The caret in the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caret {
    /// Where it stands.
    pub spot: Spot,
    /// What was selected first, while something is.
    pub mark: Option<Mark>,
    /// The column that moving up and down keeps to.
    column: u16,
    /// The cell that it goes to once the next frame is drawn.
    pending: Option<Pending>,
}

/// Where a selection began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    reach: Reach,
    unit: Unit,
}

/// A cell to go to, and what to do where it has no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pending {
    row: usize,
    column: u16,
    /// Rows to scroll on in search of text; 0 takes the nearest on screen.
    search: i32,
}

/// A cell: row and column of the transcript on screen.
type Cell = (usize, u16);

/// Puts the caret on a pane, or else where there is text.
pub fn enter(model: &mut Model, block: BlockId) {
    let rows = &model.geometry.rows;
    let has_text = |row: &&VisibleRow| !row.runs.is_empty();
    let row = rows.iter().filter(has_text).find(|row| row.block == block);
    let Some(row) = row.or_else(|| rows.iter().find(has_text)) else { return };
    let spot = spot_at(row, row.runs.first().map_or(0, |run| run.column));
    let column = row.runs.first().map_or(0, |run| run.column);
    model.selection = None;
    model.focus = Focus::Caret(Caret { spot, mark: None, column, pending: None });
}

/// A key while the caret is in the transcript; `None` where it means nothing here.
pub fn key(model: &mut Model, caret: Caret, key: &Press<'_>) -> Option<Vec<Effect>> {
    match keymap::find(keymap::CARET, key)? {
        CaretKey::Move(motion) => go(model, caret, motion),
        CaretKey::Extend(motion) => {
            let caret = if caret.mark.is_none() { marked(model, caret, Unit::Char) } else { caret };
            go(model, caret, motion);
        }
        CaretKey::Mark => toggle(model, caret, Unit::Char),
        CaretKey::MarkLines => toggle(model, caret, Unit::Line),
        CaretKey::Copy => return Some(copy(model, caret)),
        CaretKey::Back if caret.mark.is_some() => put(model, Caret { mark: None, ..caret }),
        CaretKey::Back => leave(model, caret),
    }
    Some(Vec::new())
}

/// A frame was drawn: the caret goes where it could not be put before.
pub fn drawn(model: &mut Model) {
    let Focus::Caret(caret) = model.focus else { return };
    let Some(pending) = caret.pending else { return };
    let rows = &model.geometry.rows;
    let row = pending.row.min(rows.len().saturating_sub(1));
    let empty = rows.get(row).is_none_or(|row| row.runs.is_empty());
    model.restless = true;
    if empty && pending.search != 0 && !is_at_end(model, pending.search) {
        model.scroll.by(pending.search, model.transcript.lines());
        return;
    }
    let nearest =
        (0..rows.len()).filter(|at| !rows[*at].runs.is_empty()).min_by_key(|at| at.abs_diff(row));
    match nearest {
        Some(at) => {
            let column = nearest_stop(&rows[at], pending.column);
            let keep = Caret { pending: None, ..caret };
            stand(model, keep, (at, column));
        }
        None => model.focus = Focus::Caret(Caret { pending: None, ..caret }),
    }
}

/// Where the caret is on screen.
pub fn place(geometry: &Geometry, spot: Spot) -> Option<Cell> {
    let rows = geometry.rows.iter().enumerate();
    let mut here = rows.filter(|(_, row)| (row.block, row.kind.part()) == (spot.block, spot.part));
    here.find_map(|(at, row)| {
        let columns = row.columns(&(spot.at..spot.at + 1));
        columns.first().map(|(column, _)| (at, *column))
    })
}

fn go(model: &mut Model, caret: Caret, motion: Motion) {
    let Some((row, column)) = place(&model.geometry, caret.spot) else {
        // It is not on screen any more: it comes to where the person looks.
        let pending = Some(Pending { row: 0, column: caret.column, search: 0 });
        model.focus = Focus::Caret(Caret { pending, ..caret });
        drawn(model);
        return;
    };
    let rows = &model.geometry.rows;
    let last = model.geometry.rows.len().saturating_sub(1);
    let height = rows.len().max(2);
    match motion {
        Motion::Up => vertical(model, caret, row, -1),
        Motion::Down => vertical(model, caret, row, 1),
        Motion::Left | Motion::Right | Motion::WordLeft | Motion::WordRight => {
            horizontal(model, caret, (row, column), motion);
        }
        Motion::RowStart => {
            let start = rows[row].runs.first().map_or(0, |run| run.column);
            stand(model, Caret { column: start, ..caret }, (row, start));
        }
        Motion::RowEnd => {
            let end = nearest_stop(&rows[row], u16::MAX);
            stand(model, Caret { column: u16::MAX, ..caret }, (row, end));
        }
        Motion::HalfUp => {
            page(model, caret, row, Scrolling::HalfUp, row.saturating_sub(height / 2));
        }
        Motion::HalfDown => {
            page(model, caret, row, Scrolling::HalfDown, (row + height / 2).min(last));
        }
        Motion::PageUp => page(model, caret, row, Scrolling::PageUp, 0),
        Motion::PageDown => page(model, caret, row, Scrolling::PageDown, last),
        Motion::Top => page(model, caret, 0, Scrolling::Top, 0),
        Motion::Bottom => page(model, caret, last, Scrolling::Bottom, last),
    }
}

/// Up or down to the next row with text.
fn vertical(model: &mut Model, caret: Caret, from: usize, by: i32) {
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
    beyond(model, caret, Pending { row, column: caret.column, search: by });
}

fn horizontal(model: &mut Model, caret: Caret, from: Cell, motion: Motion) {
    let by = if matches!(motion, Motion::Left | Motion::WordLeft) { -1 } else { 1 };
    let words = matches!(motion, Motion::WordLeft | Motion::WordRight);
    let rows = &model.geometry.rows;
    let cells: Vec<Cell> = rows
        .iter()
        .enumerate()
        .flat_map(|(at, row)| stops(row).map(move |column| (at, column)))
        .collect();
    let Ok(mut at) = cells.binary_search(&from) else { return };
    let kind = |at: usize| cells.get(at).map_or(Kind::Blank, |cell| kind_of(model, *cell));
    let breaks = |a: usize, b: usize| kind(a) != kind(b) || cells[a].0 != cells[b].0;
    let step = |at: usize| at.checked_add_signed(by as isize).filter(|at| *at < cells.len());
    if !words {
        match step(at) {
            Some(next) => at = next,
            None => return horizontally_beyond(model, caret, by),
        }
    } else if by > 0 {
        // To the beginning of the next word.
        while let Some(next) = step(at) {
            let begins = breaks(at, next) && kind(next) != Kind::Blank;
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
            if begins && kind(at) != Kind::Blank {
                break;
            }
        }
    }
    if cells[at] == from {
        return horizontally_beyond(model, caret, by);
    }
    let cell = cells[at];
    stand(model, Caret { column: cell.1, ..caret }, cell);
}

fn horizontally_beyond(model: &mut Model, caret: Caret, by: i32) {
    let last = model.geometry.rows.len().saturating_sub(1);
    let (row, column) = if by < 0 { (0, u16::MAX) } else { (last, 0) };
    beyond(model, caret, Pending { row, column, search: by });
}

/// Goes on beyond what is on screen.
fn beyond(model: &mut Model, caret: Caret, pending: Pending) {
    if is_at_end(model, pending.search) {
        return;
    }
    model.scroll.by(pending.search, model.transcript.lines());
    model.focus = Focus::Caret(Caret { pending: Some(pending), ..caret });
}

/// Scrolls; at the end of the transcript the caret goes to `edge` instead.
fn page(model: &mut Model, caret: Caret, row: usize, how: Scrolling, edge: usize) {
    let direction = match how {
        Scrolling::LineUp | Scrolling::HalfUp | Scrolling::PageUp | Scrolling::Top => -1,
        Scrolling::LineDown | Scrolling::HalfDown | Scrolling::PageDown | Scrolling::Bottom => 1,
    };
    let row = if is_at_end(model, direction) { edge } else { row };
    keys::scroll(model, how);
    let pending = Some(Pending { row, column: caret.column, search: 0 });
    model.focus = Focus::Caret(Caret { pending, ..caret });
}

/// Puts the caret on a cell; what is selected follows.
fn stand(model: &mut Model, caret: Caret, (row, column): Cell) {
    let Some(row) = model.geometry.rows.get(row) else { return };
    let spot = spot_at(row, column);
    put(model, Caret { spot, ..caret });
}

fn put(model: &mut Model, caret: Caret) {
    model.focus = Focus::Caret(caret);
    model.selection = caret.mark.and_then(|mark| {
        let head = at_caret(model, caret, mark.unit)?;
        Some(Selection { anchor: mark.reach, head, unit: mark.unit })
    });
}

fn toggle(model: &mut Model, caret: Caret, unit: Unit) {
    let caret = match caret.mark {
        Some(mark) if mark.unit == unit => Caret { mark: None, ..caret },
        Some(_) | None => marked(model, caret, unit),
    };
    put(model, caret);
}

fn marked(model: &Model, caret: Caret, unit: Unit) -> Caret {
    let mark = at_caret(model, caret, unit).map(|reach| Mark { reach, unit });
    Caret { mark, ..caret }
}

/// Copies what is selected, or else the line, and leaves.
fn copy(model: &mut Model, caret: Caret) -> Vec<Effect> {
    if model.selection.is_none() {
        let line = at_caret(model, caret, Unit::Line);
        model.selection = line.map(|line| Selection::new(line, Unit::Line));
    }
    let effects = commands::copy_selection(model);
    leave(model, caret);
    effects
}

fn leave(model: &mut Model, caret: Caret) {
    model.selection = None;
    model.focus = Focus::Pane(caret.spot.block);
}

/// What is taken at the caret.
fn at_caret(model: &Model, caret: Caret, unit: Unit) -> Option<Reach> {
    if let Some((row, column)) = place(&model.geometry, caret.spot) {
        return reach(model, model.geometry.rows.get(row)?, column, unit);
    }
    let block = model.transcript.get(caret.spot.block)?;
    let text = source::text(block, caret.spot.part);
    let range = match unit {
        Unit::Char | Unit::Word => caret.spot.at..text.ceil_char_boundary(caret.spot.at + 1),
        Unit::Line => source::line_around(&text, caret.spot.at),
    };
    let spot = |at: usize| Spot { at: at.min(text.len()), ..caret.spot };
    Some(Reach { from: spot(range.start), to: spot(range.end) })
}

fn spot_at(row: &VisibleRow, column: u16) -> Spot {
    Spot { block: row.block, part: row.kind.part(), at: row.at(column).start }
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

fn kind_of(model: &Model, (row, column): Cell) -> Kind {
    let Some(row) = model.geometry.rows.get(row) else { return Kind::Blank };
    let Some(block) = model.transcript.get(row.block) else { return Kind::Blank };
    let text = source::text(block, row.kind.part());
    let at = text.floor_char_boundary(row.at(column).start);
    text[at..].chars().next().map_or(Kind::Blank, Kind::of)
}
