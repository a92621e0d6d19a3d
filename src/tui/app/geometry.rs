//! What `update` needs to know about the screen. The view measures it while it draws.

use std::ops::Range;
use std::sync::Arc;

use crate::tui::layout::SourceRun;

use super::keymap::ApprovalKey;
use super::page_position::{PageEnd, PageRow};
use super::pictures::PictureRequest;
use super::scroll::ScrollAnchor;
use super::transcript::BlockId;

/// The screen as it was last drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct ScreenGeometry {
    pub width: u16,
    pub height: u16,
    pub transcript: CellRect,
    /// What each row of the transcript shows, from the top.
    pub rows: Vec<VisibleRow>,
    /// The position of the top row, also while the view follows the tail.
    pub top: ScrollAnchor,
    /// The scroll position as the view resolved it; `Tail` while it follows the end.
    pub anchor: ScrollAnchor,
    /// The pictures on screen, including those that are not ready yet.
    pub pictures: Vec<PictureRequest>,
    /// The scroll bar of the transcript; `None` if everything fits.
    pub bar: Option<ScrollBar>,
    /// The line that says how many rows are new below.
    pub below: Option<CellRect>,
    /// The area of the input's text.
    pub input: CellRect,
    /// Rows of the input scrolled past above its area.
    pub input_above: usize,
    /// The page that covers the whole screen.
    pub page: Option<PageGeometry>,
    /// The scrolling part of the open dialog.
    pub dialog: Option<ScrollExtent>,
    /// The rows of that part that each change of an edit takes.
    pub changes: Arc<[Range<usize>]>,
    /// The checkboxes of these changes on screen, with the index of each change.
    pub boxes: Vec<(CellRect, usize)>,
    /// The answers of the dialog and other clickable parts, with the key that each stands for.
    pub answers: Vec<(CellRect, ApprovalKey)>,
    /// The rows of the open list.
    pub list: Option<CellRect>,
    /// The rows of the session list.
    pub sidebar: Option<CellRect>,
}

/// A rectangle of cells, counted from the top left of the screen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CellRect {
    /// The left column.
    pub x: u16,
    /// The top row.
    pub y: u16,
    pub width: u16,
    pub height: u16,
}

/// A row of the transcript on screen, and the text that it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisibleRow {
    pub block: BlockId,
    /// The index of the row within its block.
    pub row: usize,
    pub kind: TranscriptRowKind,
    /// The byte of the source where the row begins.
    pub source: usize,
    /// Which columns show which bytes of the source.
    pub runs: Vec<SourceRun>,
}

/// The transcript's scroll bar and its thumb.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScrollBar {
    pub area: CellRect,
    /// Rows above the thumb, from the top of `area`.
    pub start: u16,
    /// Rows of the thumb.
    pub size: u16,
    /// The share of the transcript that is on screen, from 0 to 1.
    pub span: f64,
}

/// Which part of a block a row shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptRowKind {
    /// The empty row above a block.
    Gap,
    /// The line that names a pane; a click on it folds the pane.
    Head,
    /// The content of the block.
    Body,
}

/// The visible part of a page that covers the whole screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageGeometry {
    /// The area of the page's rows.
    pub area: CellRect,
    /// For each row from the top, the index of its line.
    pub rows: Vec<usize>,
    /// The position of the top row.
    pub top: PageRow,
    /// Whether the end of the page is on screen.
    pub end: PageEnd,
    /// The area of the page's list, and the index of the item in its first row.
    pub list: Option<(CellRect, usize)>,
}

/// The size of something that scrolls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScrollExtent {
    /// All rows, on screen or not.
    pub rows: usize,
    /// The rows on screen.
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
    /// The bytes that a column shows. For a column without text, an empty range at the nearest
    /// text.
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

    /// The column ranges that show any of these bytes; adjacent runs join into one range.
    pub fn columns(&self, bytes: &Range<usize>) -> Vec<(u16, u16)> {
        let mut columns: Vec<(u16, u16)> = Vec::new();
        let mut continues = false;
        for run in &self.runs {
            let Some((from, to)) = run.columns(bytes) else {
                continues = false;
                continue;
            };
            match columns.last_mut() {
                Some(last) if continues && from == run.column => last.1 = to,
                Some(_) | None => columns.push((from, to)),
            }
            continues = to == run.end();
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
    /// The position of a screen cell inside the rectangle, as column and row from its top left;
    /// `None` if it is outside.
    pub fn inside(&self, column: u16, row: u16) -> Option<(u16, u16)> {
        let column = column.checked_sub(self.x).filter(|column| *column < self.width)?;
        let row = row.checked_sub(self.y).filter(|row| *row < self.height)?;
        Some((column, row))
    }
}
