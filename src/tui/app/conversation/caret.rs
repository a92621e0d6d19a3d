//! Selecting with the keyboard: a caret that moves over the text of the transcript.
//!
//! The caret moves from cell to cell of the rows drawn last. Where a move leaves these rows, the
//! view scrolls, and the caret takes its new place once the next frame has been drawn.

pub mod keys;

use super::select::{SelectionUnit, TranscriptRange};
use super::source::TranscriptPosition;
use crate::tui::app::geometry::ConversationGeometry;

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

/// The cell of a position on screen; `None` if it is not on screen.
pub fn place(
    geometry: &ConversationGeometry,
    position: TranscriptPosition,
) -> Option<TranscriptCell> {
    let rows = geometry.rows.iter().enumerate();
    let mut here =
        rows.filter(|(_, row)| (row.block, row.kind.part()) == (position.block, position.part));
    here.find_map(|(at, row)| {
        let columns = row.columns(&(position.at..position.at + 1));
        columns.first().map(|(column, _)| (at, *column))
    })
}
