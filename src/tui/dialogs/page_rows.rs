//! The rows of a long page that are on screen, of which only those near it are laid out.

use crate::tui::app::page_position::{PageEnd, PagePosition, PageRow};
use crate::tui::layout::StyledLine;

/// The rows that a page of `count` lines shows on `height` rows, each with the index of its line, the
/// row at the top, and whether the end is on screen. `lay` lays out a line.
pub fn visible<L: AsRef<[StyledLine]>>(
    position: PagePosition,
    height: usize,
    count: usize,
    lay: &mut dyn FnMut(usize) -> L,
) -> (PageRow, PageEnd, Vec<(usize, StyledLine)>) {
    let (top, end) = position.settle(height, count, &mut |at| lay(at).as_ref().len());
    let mut shown = Vec::with_capacity(height);
    let PageRow { line: mut at, row: mut skipped } = top;
    while shown.len() < height && at < count {
        let laid = lay(at);
        let left = height - shown.len();
        shown.extend(laid.as_ref().iter().skip(skipped).take(left).map(|row| (at, row.clone())));
        (at, skipped) = (at + 1, 0);
    }
    (top, end, shown)
}
