//! The keys of the caret in the transcript.

use super::{CaretMark, PendingCaretMove, TranscriptCaret, TranscriptCell, place};
use crate::tui::app::conversation::Conversation;
use crate::tui::app::conversation::block::BlockId;
use crate::tui::app::conversation::copying;
use crate::tui::app::conversation::navigation::{is_at_end, scroll};
use crate::tui::app::conversation::select::{
    SelectionCharKind, SelectionUnit, TranscriptRange, TranscriptSelection, range_at,
};
use crate::tui::app::conversation::source::{self, TranscriptPosition};
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::focus::KeyboardFocus;
use crate::tui::app::geometry::VisibleRow;
use crate::tui::app::keymap::{self, CaretKey, CaretMotion, KeyPress, ScrollAction};
use crate::tui::app::shared::SharedState;

/// Puts the caret on a pane, or on the first row with text if the pane shows none.
pub fn enter(conversation: &mut Conversation, block: BlockId) {
    let rows = &conversation.geometry.rows;
    let has_text = |row: &&VisibleRow| !row.runs.is_empty();
    let row = rows.iter().filter(has_text).find(|row| row.block == block);
    let Some(row) = row.or_else(|| rows.iter().find(has_text)) else { return };
    let position = position_at(row, row.runs.first().map_or(0, |run| run.column));
    let column = row.runs.first().map_or(0, |run| run.column);
    conversation.selection = None;
    conversation.focus =
        KeyboardFocus::Caret(TranscriptCaret { position, mark: None, column, pending: None });
}

/// Handles a key while the caret is in the transcript; `None` if the key does nothing here.
pub fn key(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    caret: TranscriptCaret,
    key: &KeyPress<'_>,
) -> Option<Vec<ScreenEffect>> {
    match keymap::find(keymap::CARET, key)? {
        CaretKey::Move(motion) => go(conversation, shared, caret, motion),
        CaretKey::Extend(motion) => {
            let caret = if caret.mark.is_none() {
                marked(conversation, caret, SelectionUnit::Char)
            } else {
                caret
            };
            go(conversation, shared, caret, motion);
        }
        CaretKey::Mark => toggle(conversation, caret, SelectionUnit::Char),
        CaretKey::MarkLines => toggle(conversation, caret, SelectionUnit::Line),
        CaretKey::Copy => return Some(copy(conversation, caret)),
        CaretKey::Back if caret.mark.is_some() => {
            put(conversation, TranscriptCaret { mark: None, ..caret });
        }
        CaretKey::Back => leave(conversation, caret),
    }
    Some(Vec::new())
}

/// Finishes a pending move after a frame was drawn.
pub fn drawn(conversation: &mut Conversation, shared: &mut SharedState) {
    let KeyboardFocus::Caret(caret) = conversation.focus else { return };
    let Some(pending) = caret.pending else { return };
    let rows = &conversation.geometry.rows;
    let row = pending.row.min(rows.len().saturating_sub(1));
    let empty = rows.get(row).is_none_or(|row| row.runs.is_empty());
    shared.needs_redraw = true;
    if empty && pending.search != 0 && !is_at_end(conversation, pending.search) {
        conversation.scroll.by(pending.search, conversation.transcript.lines());
        return;
    }
    let nearest =
        (0..rows.len()).filter(|at| !rows[*at].runs.is_empty()).min_by_key(|at| at.abs_diff(row));
    match nearest {
        Some(at) => {
            let column = nearest_stop(&rows[at], pending.column);
            let keep = TranscriptCaret { pending: None, ..caret };
            stand(conversation, keep, (at, column));
        }
        None => {
            conversation.focus = KeyboardFocus::Caret(TranscriptCaret { pending: None, ..caret });
        }
    }
}

fn go(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    caret: TranscriptCaret,
    motion: CaretMotion,
) {
    let Some((row, column)) = place(&conversation.geometry, caret.position) else {
        // The caret is no longer on screen: bring it to the rows that the user sees.
        let pending = Some(PendingCaretMove { row: 0, column: caret.column, search: 0 });
        conversation.focus = KeyboardFocus::Caret(TranscriptCaret { pending, ..caret });
        drawn(conversation, shared);
        return;
    };
    let rows = &conversation.geometry.rows;
    let last = conversation.geometry.rows.len().saturating_sub(1);
    let height = rows.len().max(2);
    match motion {
        CaretMotion::Up => vertical(conversation, caret, row, -1),
        CaretMotion::Down => vertical(conversation, caret, row, 1),
        CaretMotion::Left | CaretMotion::Right | CaretMotion::WordLeft | CaretMotion::WordRight => {
            horizontal(conversation, caret, (row, column), motion);
        }
        CaretMotion::RowStart => {
            let start = rows[row].runs.first().map_or(0, |run| run.column);
            stand(conversation, TranscriptCaret { column: start, ..caret }, (row, start));
        }
        CaretMotion::RowEnd => {
            let end = nearest_stop(&rows[row], u16::MAX);
            stand(conversation, TranscriptCaret { column: u16::MAX, ..caret }, (row, end));
        }
        CaretMotion::HalfUp => {
            page(conversation, caret, row, ScrollAction::HalfUp, row.saturating_sub(height / 2));
        }
        CaretMotion::HalfDown => {
            page(conversation, caret, row, ScrollAction::HalfDown, (row + height / 2).min(last));
        }
        CaretMotion::PageUp => page(conversation, caret, row, ScrollAction::PageUp, 0),
        CaretMotion::PageDown => page(conversation, caret, row, ScrollAction::PageDown, last),
        CaretMotion::Top => page(conversation, caret, 0, ScrollAction::Top, 0),
        CaretMotion::Bottom => page(conversation, caret, last, ScrollAction::Bottom, last),
    }
}

/// Moves up or down to the next row with text.
fn vertical(conversation: &mut Conversation, caret: TranscriptCaret, from: usize, by: i32) {
    let rows = &conversation.geometry.rows;
    let has_text = |at: &usize| rows.get(*at).is_some_and(|row| !row.runs.is_empty());
    let ahead =
        if by < 0 { (0..from).rev().find(has_text) } else { (from + 1..rows.len()).find(has_text) };
    if let Some(row) = ahead {
        let column = nearest_stop(&rows[row], caret.column);
        stand(conversation, caret, (row, column));
        return;
    }
    let row = if by < 0 { 0 } else { rows.len().saturating_sub(1) };
    scroll_past_edge(
        conversation,
        caret,
        PendingCaretMove { row, column: caret.column, search: by },
    );
}

fn horizontal(
    conversation: &mut Conversation,
    caret: TranscriptCaret,
    from: TranscriptCell,
    motion: CaretMotion,
) {
    let by = if matches!(motion, CaretMotion::Left | CaretMotion::WordLeft) { -1 } else { 1 };
    let words = matches!(motion, CaretMotion::WordLeft | CaretMotion::WordRight);
    let rows = &conversation.geometry.rows;
    let cells: Vec<TranscriptCell> = rows
        .iter()
        .enumerate()
        .flat_map(|(at, row)| stops(row).map(move |column| (at, column)))
        .collect();
    let Ok(mut at) = cells.binary_search(&from) else { return };
    let kind = |at: usize| {
        cells.get(at).map_or(SelectionCharKind::Blank, |cell| kind_of(conversation, *cell))
    };
    let breaks = |a: usize, b: usize| kind(a) != kind(b) || cells[a].0 != cells[b].0;
    let step = |at: usize| at.checked_add_signed(by as isize).filter(|at| *at < cells.len());
    if !words {
        match step(at) {
            Some(next) => at = next,
            None => return scroll_past_edge_sideways(conversation, caret, by),
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
        return scroll_past_edge_sideways(conversation, caret, by);
    }
    let cell = cells[at];
    stand(conversation, TranscriptCaret { column: cell.1, ..caret }, cell);
}

fn scroll_past_edge_sideways(conversation: &mut Conversation, caret: TranscriptCaret, by: i32) {
    let last = conversation.geometry.rows.len().saturating_sub(1);
    let (row, column) = if by < 0 { (0, u16::MAX) } else { (last, 0) };
    scroll_past_edge(conversation, caret, PendingCaretMove { row, column, search: by });
}

/// Scrolls on and leaves the move pending, unless the transcript ends here.
fn scroll_past_edge(
    conversation: &mut Conversation,
    caret: TranscriptCaret,
    pending: PendingCaretMove,
) {
    if is_at_end(conversation, pending.search) {
        return;
    }
    conversation.scroll.by(pending.search, conversation.transcript.lines());
    conversation.focus = KeyboardFocus::Caret(TranscriptCaret { pending: Some(pending), ..caret });
}

/// Scrolls; at the end of the transcript, moves the caret to row `edge` instead.
fn page(
    conversation: &mut Conversation,
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
    let row = if is_at_end(conversation, direction) { edge } else { row };
    scroll(conversation, how);
    let pending = Some(PendingCaretMove { row, column: caret.column, search: 0 });
    conversation.focus = KeyboardFocus::Caret(TranscriptCaret { pending, ..caret });
}

/// Puts the caret on a cell and updates the selection.
fn stand(conversation: &mut Conversation, caret: TranscriptCaret, (row, column): TranscriptCell) {
    let Some(row) = conversation.geometry.rows.get(row) else { return };
    let position = position_at(row, column);
    put(conversation, TranscriptCaret { position, ..caret });
}

fn put(conversation: &mut Conversation, caret: TranscriptCaret) {
    conversation.focus = KeyboardFocus::Caret(caret);
    conversation.selection = caret.mark.and_then(|mark| {
        let head = at_caret(conversation, caret, mark.unit)?;
        Some(TranscriptSelection { anchor: mark.range, head, unit: mark.unit })
    });
}

fn toggle(conversation: &mut Conversation, caret: TranscriptCaret, unit: SelectionUnit) {
    let caret = match caret.mark {
        Some(mark) if mark.unit == unit => TranscriptCaret { mark: None, ..caret },
        Some(_) | None => marked(conversation, caret, unit),
    };
    put(conversation, caret);
}

fn marked(
    conversation: &Conversation,
    caret: TranscriptCaret,
    unit: SelectionUnit,
) -> TranscriptCaret {
    let mark = at_caret(conversation, caret, unit).map(|range| CaretMark { range, unit });
    TranscriptCaret { mark, ..caret }
}

/// Copies the selection, or the caret's line if nothing is selected, and leaves the transcript.
fn copy(conversation: &mut Conversation, caret: TranscriptCaret) -> Vec<ScreenEffect> {
    if conversation.selection.is_none() {
        let line = at_caret(conversation, caret, SelectionUnit::Line);
        conversation.selection =
            line.map(|line| TranscriptSelection::new(line, SelectionUnit::Line));
    }
    let effects = copying::copy_selection(conversation);
    leave(conversation, caret);
    effects
}

fn leave(conversation: &mut Conversation, caret: TranscriptCaret) {
    conversation.selection = None;
    conversation.focus = KeyboardFocus::Pane(caret.position.block);
}

/// The character, word or line at the caret.
fn at_caret(
    conversation: &Conversation,
    caret: TranscriptCaret,
    unit: SelectionUnit,
) -> Option<TranscriptRange> {
    if let Some((row, column)) = place(&conversation.geometry, caret.position) {
        return range_at(
            &conversation.transcript,
            &conversation.geometry.rows,
            conversation.geometry.rows.get(row)?,
            column,
            unit,
        );
    }
    let block = conversation.transcript.get(caret.position.block)?;
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

fn kind_of(conversation: &Conversation, (row, column): TranscriptCell) -> SelectionCharKind {
    let Some(row) = conversation.geometry.rows.get(row) else { return SelectionCharKind::Blank };
    let Some(block) = conversation.transcript.get(row.block) else {
        return SelectionCharKind::Blank;
    };
    let text = source::text(block, row.kind.part());
    let at = text.floor_char_boundary(row.at(column).start);
    text[at..].chars().next().map_or(SelectionCharKind::Blank, SelectionCharKind::of)
}
