//! The scroll position of a long page, counted in its lines, so that only the lines on screen are
//! laid out.
//!
//! A line takes as many rows as it wraps to. `update` says how many rows to scroll; the view, which
//! lays out, finds the row and hands it back. Nothing sums the heights of all lines.

use super::keymap::ScrollAction;

/// A row of a wrapped page. Ordered from the top to the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageRow {
    /// Counted from 0, before wrapping.
    pub line: usize,
    /// Counted from 0, within the wrapped line.
    pub row: usize,
}

/// The scroll position of a page: a known row and the rows still to scroll from there, which
/// [`Self::settle`] resolves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PagePosition {
    /// The row at the top before `delta` is applied.
    pub top: PageRow,
    /// Rows still to scroll; negative is up.
    pub delta: isize,
}

/// Whether the end of a page is on screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageEnd {
    Visible,
    /// There is more below.
    Below,
}

impl PagePosition {
    /// The page's end: a line number beyond every line.
    pub const END: Self = Self { top: PageRow { line: usize::MAX, row: 0 }, delta: 0 };

    /// Shows `place` with `above` rows above it.
    pub fn at(place: PageRow, above: usize) -> Self {
        Self { top: place, delta: isize::try_from(above).map_or(isize::MIN, |above| -above) }
    }

    /// Scrolls by a number of rows; negative is up.
    pub fn by(&mut self, rows: isize) {
        self.delta = self.delta.saturating_add(rows);
    }

    /// Scrolls a page that shows `shown` rows.
    pub fn scroll(&mut self, how: ScrollAction, shown: usize) {
        let page = isize::try_from(shown).unwrap_or(isize::MAX).max(2) - 1;
        match how {
            ScrollAction::LineUp => self.by(-1),
            ScrollAction::LineDown => self.by(1),
            ScrollAction::HalfUp => self.by(-(page / 2).max(1)),
            ScrollAction::HalfDown => self.by((page / 2).max(1)),
            ScrollAction::PageUp => self.by(-page),
            ScrollAction::PageDown => self.by(page),
            ScrollAction::Top => *self = Self::default(),
            ScrollAction::Bottom => *self = Self::END,
        }
    }

    /// The row at the top of a screen of `height` rows, given how many rows each of `count` lines
    /// takes. Calls `rows_of` only for the lines that it passes and those of the last screen.
    pub fn settle(
        self,
        height: usize,
        count: usize,
        rows_of: &mut dyn FnMut(usize) -> usize,
    ) -> (PageRow, PageEnd) {
        let last = last_top(height, count, rows_of);
        let mut place = if self.top.line < count { self.top } else { last };
        if place != last {
            place.row = place.row.min(rows_of(place.line).saturating_sub(1));
        }
        let mut left = self.delta.unsigned_abs();
        if self.delta < 0 {
            while left > place.row && place.line > 0 {
                left -= place.row + 1;
                place.line -= 1;
                place.row = rows_of(place.line).saturating_sub(1);
            }
            place.row = place.row.saturating_sub(left);
        } else {
            while left > 0 && place < last {
                let rows = rows_of(place.line);
                if place.row + left < rows {
                    place.row += left;
                    break;
                }
                left -= rows.saturating_sub(place.row).min(left);
                place = PageRow { line: place.line + 1, row: 0 };
            }
        }
        if place < last { (place, PageEnd::Below) } else { (last, PageEnd::Visible) }
    }
}

/// The top row when the last row of the page is at the bottom of the screen.
fn last_top(height: usize, count: usize, rows_of: &mut dyn FnMut(usize) -> usize) -> PageRow {
    let mut left = height;
    for line in (0..count).rev() {
        let rows = rows_of(line);
        if rows >= left {
            return PageRow { line, row: rows - left };
        }
        left -= rows;
    }
    PageRow::default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn flat(place: PageRow, rows: &[usize]) -> usize {
        rows[..place.line].iter().sum::<usize>() + place.row
    }

    #[test]
    fn the_end_fills_the_screen() {
        let rows = [1, 3, 2];
        let settled = PagePosition::END.settle(4, 3, &mut |line| rows[line]);
        assert_eq!(settled, (PageRow { line: 1, row: 1 }, PageEnd::Visible));
        assert_eq!(PagePosition::END.settle(9, 3, &mut |line| rows[line]).0, PageRow::default());
        assert_eq!(
            PagePosition::END.settle(9, 0, &mut |_| 1),
            (PageRow::default(), PageEnd::Visible)
        );
    }

    proptest! {
        #[test]
        fn settling_matches_a_full_layout(
            rows in proptest::collection::vec(1_usize..4, 1..30),
            line in 0_usize..40,
            row in 0_usize..5,
            delta in -60_isize..60,
            height in 1_usize..12,
        ) {
            let position = PagePosition { top: PageRow { line, row }, delta };
            let (place, end) = position.settle(height, rows.len(), &mut |line| rows[line]);
            let total: usize = rows.iter().sum();
            let last = total.saturating_sub(height);
            let start = match rows.get(line) {
                Some(count) => flat(PageRow { line, row: row.min(count - 1) }, &rows),
                None => last,
            };
            let wanted = start.saturating_add_signed(delta).min(last);
            prop_assert_eq!(flat(place, &rows), wanted);
            prop_assert_eq!(end == PageEnd::Visible, wanted == last);
        }
    }
}
