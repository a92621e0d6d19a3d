//! What a dialog measures when it is drawn, and how far something scrolls.

use std::ops::Range;
use std::sync::Arc;

use crate::domain::ApprovalId;
use crate::tui::app::conversation::scroll::ScrollAnchor;
use crate::tui::app::geometry::CellRect;
use crate::tui::app::keymap::{ApprovalKey, ScrollAction};
use crate::tui::app::page_position::{PageEnd, PageRow};

/// A dialog as it was last drawn; each sets what it has.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DialogGeometry {
    /// The visible part of a page that covers the whole screen.
    pub page: PageGeometry,
    /// The part that scrolls.
    pub extent: ScrollExtent,
    /// The rows of that part that each change of an edit takes.
    pub hunk_rows: Arc<[Range<usize>]>,
    /// The checkboxes of changes on screen, or other parts that a click selects, each with its index.
    pub boxes: Vec<(CellRect, usize)>,
    /// Of panes beside each other that scroll: the index of each, and where it is scrolled to.
    pub anchors: Vec<(usize, ScrollAnchor)>,
    /// The answers and other clickable parts, with the key that each stands for.
    pub answers: Vec<(CellRect, ApprovalKey)>,
    /// The rows of a list.
    pub list: Option<CellRect>,
    /// The area of a dialog in the dock: what is outside is not covered by it.
    pub docked: Option<CellRect>,
    /// The requests that a question lists because they wait.
    pub listed: Vec<ApprovalId>,
    /// Whether a question had no room for its title, a row of its subject and an answer. It takes no
    /// answers then: what is not on screen cannot be agreed to.
    pub is_cramped: bool,
}

/// The fewest columns and rows of a screen on which a question can be read.
const LEAST_SCREEN: (u16, u16) = (20, 3);

impl DialogGeometry {
    /// How many rows of the list are on screen; 1 before it was drawn.
    pub fn list_rows(&self) -> usize {
        self.list.map_or(1, |list| usize::from(list.height)).max(1)
    }

    /// Takes the size of the screen into account, on which no question can be read if it is too small.
    pub fn on_screen(mut self, (width, height): (u16, u16)) -> Self {
        self.is_cramped |= width < LEAST_SCREEN.0 || height < LEAST_SCREEN.1;
        self
    }
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

impl Default for PageGeometry {
    fn default() -> Self {
        let (area, top) = (CellRect::default(), PageRow::default());
        Self { area, rows: Vec::new(), top, end: PageEnd::Visible, list: None }
    }
}

/// The new scroll offset in rows after a scroll key, at most the one that shows the last row.
pub fn scrolled(at: usize, how: ScrollAction, extent: ScrollExtent) -> usize {
    let last = extent.rows.saturating_sub(extent.shown);
    let page = extent.shown.saturating_sub(1).max(1);
    let to = match how {
        ScrollAction::LineUp => at.saturating_sub(1),
        ScrollAction::LineDown => at + 1,
        ScrollAction::HalfUp => at.saturating_sub(page.div_ceil(2)),
        ScrollAction::HalfDown => at + page.div_ceil(2),
        ScrollAction::PageUp => at.saturating_sub(page),
        ScrollAction::PageDown => at + page,
        ScrollAction::Top => 0,
        ScrollAction::Bottom => last,
    };
    to.min(last)
}

/// The index of the selected row of a list of `count` rows after a scroll key. `page` is how many rows are
/// on screen.
pub fn selected_row(at: usize, how: ScrollAction, page: usize, count: usize) -> usize {
    let last = count.saturating_sub(1);
    let to = match how {
        ScrollAction::LineUp => at.saturating_sub(1),
        ScrollAction::LineDown => at.saturating_add(1),
        ScrollAction::HalfUp | ScrollAction::PageUp => at.saturating_sub(page),
        ScrollAction::HalfDown | ScrollAction::PageDown => at.saturating_add(page),
        ScrollAction::Top => 0,
        ScrollAction::Bottom => last,
    };
    to.min(last)
}

/// The scroll offset after the wheel turned by a number of rows; negative is up.
pub fn wheel_scrolled(at: usize, rows: i32, extent: ScrollExtent) -> usize {
    let how = if rows < 0 { ScrollAction::LineUp } else { ScrollAction::LineDown };
    (0..rows.abs()).fold(at, |at, _| scrolled(at, how, extent))
}
