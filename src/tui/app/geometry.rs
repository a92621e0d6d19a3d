//! What `update` needs to know of the screen. The view measures it while it draws.

use std::ops::Range;
use std::sync::Arc;

use crate::tui::layout::SourceRun;

use super::keymap::ApprovalKey;
use super::page_position::{PageEnd, PageRow};
use super::pictures::PictureRequest;
use super::scroll::ScrollAnchor;
use super::transcript::BlockId;

/// The screen as it was drawn last.
#[derive(Debug, Clone, PartialEq)]
pub struct ScreenGeometry {
    /// Columns of the screen.
    pub width: u16,
    /// Rows of the screen.
    pub height: u16,
    /// Where the transcript is.
    pub transcript: CellRect,
    /// What each row of the transcript shows, from the top.
    pub rows: Vec<VisibleRow>,
    /// What the top row shows, also while the view follows the tail.
    pub top: ScrollAnchor,
    /// Where the position was found to be.
    pub anchor: ScrollAnchor,
    /// The pictures on screen, there or not.
    pub pictures: Vec<PictureRequest>,
    /// The bar that says where in the session the rows are.
    pub bar: Option<ScrollBar>,
    /// The line that says how much is new below.
    pub below: Option<CellRect>,
    /// Where the input's text is.
    pub input: CellRect,
    /// Rows of the input above what is shown.
    pub input_above: usize,
    /// What is on screen of a page over the whole of it.
    pub page: Option<PageGeometry>,
    /// The open dialog's scrolling part.
    pub dialog: Option<ScrollExtent>,
    /// Which of that part's rows each change of an edit takes.
    pub changes: Arc<[Range<usize>]>,
    /// The boxes of these changes that are on screen.
    pub boxes: Vec<(CellRect, usize)>,
    /// The dialog's answers, and what else of it can be clicked.
    pub answers: Vec<(CellRect, ApprovalKey)>,
    /// The open list's rows.
    pub list: Option<CellRect>,
    /// The rows of the list of sessions.
    pub sidebar: Option<CellRect>,
}

/// A rectangle of cells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CellRect {
    /// Its left column.
    pub x: u16,
    /// Its top row.
    pub y: u16,
    /// Its columns.
    pub width: u16,
    /// Its rows.
    pub height: u16,
}

/// A row of the transcript on screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisibleRow {
    /// The block that it is of.
    pub block: BlockId,
    /// Which row of the block.
    pub row: usize,
    /// What kind of row.
    pub kind: TranscriptRowKind,
    /// Where it begins in the source.
    pub source: usize,
    /// Which of its columns show which bytes of the source.
    pub runs: Vec<SourceRun>,
}

/// The scroll bar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScrollBar {
    /// All of it.
    pub area: CellRect,
    /// Rows above the thumb.
    pub start: u16,
    /// Rows of the thumb.
    pub size: u16,
    /// Which share of the transcript is on screen.
    pub span: f64,
}

/// What kind of row it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptRowKind {
    /// The empty row above a block.
    Gap,
    /// The line that names a pane; a click folds it.
    Head,
    /// What it shows.
    Body,
}

/// What is on screen of a page over the whole of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageGeometry {
    /// Where its rows are.
    pub area: CellRect,
    /// Which of its lines each row is of, from the top.
    pub rows: Vec<usize>,
    /// What the top row is.
    pub top: PageRow,
    /// Whether its end is on screen.
    pub end: PageEnd,
    /// Where its list is, and which item the first row of that shows.
    pub list: Option<(CellRect, usize)>,
}

/// How much there is of something that scrolls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScrollExtent {
    /// Rows in all.
    pub rows: usize,
    /// Rows on screen.
    pub shown: usize,
}

impl ScreenGeometry {
    /// A screen that has not been drawn yet.
    pub fn of_size(width: u16, height: u16) -> Self {
        Self {
            width,
            height,
            transcript: CellRect { x: 0, y: 2, width, height: height.saturating_sub(6) },
            rows: Vec::new(),
            pictures: Vec::new(),
            top: ScrollAnchor::Tail,
            anchor: ScrollAnchor::Tail,
            bar: None,
            below: None,
            input: CellRect {
                x: 3,
                y: height.saturating_sub(3),
                width: width.saturating_sub(4).max(1),
                height: 1,
            },
            input_above: 0,
            page: None,
            dialog: None,
            changes: Arc::default(),
            boxes: Vec::new(),
            answers: Vec::new(),
            list: None,
            sidebar: None,
        }
    }
}

impl VisibleRow {
    /// The bytes that a column shows; an empty range at the nearest text where it shows none.
    pub fn at(&self, column: u16) -> Range<usize> {
        let next = self.runs.partition_point(|run| run.end() <= column);
        match (self.runs.get(next), next.checked_sub(1).and_then(|last| self.runs.get(last))) {
            (Some(run), _) if run.column <= column => run.at(column),
            (Some(run), None) => run.source..run.source,
            (_, Some(before)) => before.range().end..before.range().end,
            (None, None) => self.source..self.source,
        }
    }

    /// Whether a column is left of the first text.
    pub fn is_before_text(&self, column: u16) -> bool {
        self.runs.first().is_some_and(|run| column < run.column)
    }

    /// The columns that show any of these bytes; what lies between two runs of them is one.
    pub fn columns(&self, bytes: &Range<usize>) -> Vec<(u16, u16)> {
        let mut columns: Vec<(u16, u16)> = Vec::new();
        let mut goes_on = false;
        for run in &self.runs {
            let Some((from, to)) = run.columns(bytes) else {
                goes_on = false;
                continue;
            };
            match columns.last_mut() {
                Some(last) if goes_on && from == run.column => last.1 = to,
                Some(_) | None => columns.push((from, to)),
            }
            goes_on = to == run.end();
        }
        columns
    }
}

impl Default for PageGeometry {
    fn default() -> Self {
        let (area, top) = (CellRect::default(), PageRow::default());
        Self { area, rows: Vec::new(), top, end: PageEnd::Visible, list: None }
    }
}

impl CellRect {
    /// The row and column of a cell inside, counted from the top left.
    pub fn inside(&self, column: u16, row: u16) -> Option<(u16, u16)> {
        let column = column.checked_sub(self.x).filter(|column| *column < self.width)?;
        let row = row.checked_sub(self.y).filter(|row| *row < self.height)?;
        Some((column, row))
    }
}
