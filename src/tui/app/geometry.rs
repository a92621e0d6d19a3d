//! What `update` needs to know about the screen. The view measures it while it draws.

use std::ops::Range;

use crate::commands::SlashCommand;
use crate::tui::dialogs::geometry::DialogGeometry;
use crate::tui::layout::SourceRun;

use super::conversation::scroll::ScrollAnchor;
use super::conversation::transcript::BlockId;
use super::pictures::PictureRequest;

/// What the last frame measured: each part goes to the slice that it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameGeometry {
    pub screen: ScreenGeometry,
    /// The conversation in front.
    pub conversation: ConversationGeometry,
}

/// The screen as it was last drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct ScreenGeometry {
    pub width: u16,
    pub height: u16,
    /// What the open dialogs measured, the topmost last.
    pub dialogs: Vec<DialogGeometry>,
    /// The rows of the session list.
    pub sidebar: Option<CellRect>,
    /// The panel beside the transcript.
    pub panel: Option<SidePanelGeometry>,
}

/// A conversation as it was last drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationGeometry {
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
    /// What is marked beside it.
    pub timeline: Vec<TimelineMark>,
    /// The message that stands above the transcript because it has scrolled out of sight.
    pub pinned: Option<PinnedMessage>,
    /// The rows of the start screen's recent sessions, from the top.
    pub recent: Vec<CellRect>,
    /// The line that says how many rows are new below.
    pub below: Option<CellRect>,
    /// The area of the input's text.
    pub input: CellRect,
    /// Rows of the input scrolled past above its area.
    pub input_above: usize,
}

/// The panel beside the transcript as it was last drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct SidePanelGeometry {
    pub area: CellRect,
    /// What a click on each row opens, from the top.
    pub rows: Vec<Option<SlashCommand>>,
}

impl SidePanelGeometry {
    /// What a click on a cell of the screen opens; `None` outside, and on rows that open nothing.
    pub fn at(&self, column: u16, row: u16) -> Option<&SlashCommand> {
        let (_, row) = self.area.inside(column, row)?;
        self.rows.get(usize::from(row))?.as_ref()
    }
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

/// A mark beside the scroll bar: where something is in the whole conversation. A click on it goes there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelineMark {
    /// From the top of the scroll bar.
    pub row: u16,
    pub block: BlockId,
    pub kind: TimelineMarkKind,
}

/// A message of the user's above the transcript. A click on it goes there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PinnedMessage {
    pub area: CellRect,
    pub block: BlockId,
}

/// What is marked beside the scroll bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimelineMarkKind {
    /// An error, or a call that failed.
    Failure,
    /// A message of the user's.
    Message,
    /// A call that changed a file.
    Edit,
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

impl FrameGeometry {
    /// A screen that has not been drawn yet.
    pub fn of_size(width: u16, height: u16) -> Self {
        let conversation = ConversationGeometry::of_size(width, height);
        Self { screen: ScreenGeometry::of_size(width, height), conversation }
    }
}

impl ScreenGeometry {
    /// The columns for the text of a page over the whole screen, without line numbers.
    pub fn page_text_width(&self) -> u16 {
        self.width.saturating_sub(2).max(1)
    }

    /// A screen that has not been drawn yet.
    pub fn of_size(width: u16, height: u16) -> Self {
        Self { width, height, dialogs: Vec::new(), sidebar: None, panel: None }
    }
}

impl ConversationGeometry {
    /// A conversation that has not been drawn yet, on a screen of this size.
    pub fn of_size(width: u16, height: u16) -> Self {
        Self {
            transcript: CellRect { x: 0, y: 2, width, height: height.saturating_sub(6) },
            rows: Vec::new(),
            pictures: Vec::new(),
            top: ScrollAnchor::Tail,
            anchor: ScrollAnchor::Tail,
            bar: None,
            timeline: Vec::new(),
            pinned: None,
            recent: Vec::new(),
            below: None,
            input: CellRect {
                x: 3,
                y: height.saturating_sub(3),
                width: width.saturating_sub(4).max(1),
                height: 1,
            },
            input_above: 0,
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

impl CellRect {
    /// The position of a screen cell inside the rectangle, as column and row from its top left;
    /// `None` if it is outside.
    pub fn inside(&self, column: u16, row: u16) -> Option<(u16, u16)> {
        let column = column.checked_sub(self.x).filter(|column| *column < self.width)?;
        let row = row.checked_sub(self.y).filter(|row| *row < self.height)?;
        Some((column, row))
    }
}
