//! Joins two columns with a line between them. Each is already laid out in the width of one.

use super::wrap::display_width;
use super::{StyleRole, StyledLine, StyledSpan};

/// Stands between the columns.
pub const DIVIDER: &str = " │ ";

/// The width of each of two columns in a row of `width` columns.
pub fn column(width: u16) -> u16 {
    let divider = u16::try_from(display_width(DIVIDER)).unwrap_or(u16::MAX);
    width.saturating_sub(divider) / 2
}

/// Joins two columns of this width row by row. `fills` is the role that fills each side after its
/// text, also where one side has ended and the other has not.
pub fn rows(
    left: Vec<StyledLine>,
    right: Vec<StyledLine>,
    fills: (Option<StyleRole>, Option<StyleRole>),
    column: u16,
    source: usize,
) -> Vec<StyledLine> {
    let count = left.len().max(right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    let rows = (0..count).map(|_| row((left.next(), right.next()), fills, column, source));
    rows.collect()
}

/// Joins two lines into one.
fn row(
    (left, right): (Option<StyledLine>, Option<StyledLine>),
    (left_fill, right_fill): (Option<StyleRole>, Option<StyleRole>),
    column: u16,
    source: usize,
) -> StyledLine {
    let StyledLine { mut spans, runs, .. } = left.unwrap_or_default();
    let taken: usize = spans.iter().map(|span| display_width(&span.text)).sum();
    let rest = " ".repeat(usize::from(column).saturating_sub(taken));
    spans.push(StyledSpan::new(rest, left_fill.unwrap_or(StyleRole::Text)));
    spans.push(StyledSpan::new(DIVIDER, StyleRole::Border));
    let right = right.unwrap_or_default();
    spans.extend(right.spans);
    let mut line = StyledLine { spans, source, runs, fill: right_fill, ..StyledLine::default() };
    let divider = u16::try_from(display_width(DIVIDER)).unwrap_or(u16::MAX);
    line.append_runs(&right.runs, column.saturating_add(divider));
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_column_goes_on_beside_nothing() {
        let line = |text: &str| StyledLine {
            spans: vec![StyledSpan::new(text, StyleRole::Text)],
            ..StyledLine::default()
        };
        let rows = rows(vec![line("one"), line("日本")], vec![line("a")], (None, None), 6, 0);
        let text = |line: &StyledLine| {
            line.spans.iter().map(|span| span.text.as_str()).collect::<String>()
        };
        assert_eq!(rows.iter().map(text).collect::<Vec<_>>(), ["one    │ a", "日本   │ "]);
    }

    #[test]
    fn two_columns_and_their_divider_fit() {
        for width in 0..200 {
            let taken = usize::from(column(width)) * 2 + display_width(DIVIDER);
            assert!(width < 3 || taken <= usize::from(width), "{width}");
        }
    }
}
