//! Two columns with a line between them, each already laid out in the width of one.

use super::wrap::display_width;
use super::{StyleRole, StyledLine, StyledSpan};

/// Between the columns.
pub const DIVIDER: &str = " │ ";

/// How wide one of two columns is that stand in this width.
pub fn column(width: u16) -> u16 {
    let divider = u16::try_from(display_width(DIVIDER)).unwrap_or(u16::MAX);
    width.saturating_sub(divider) / 2
}

/// The rows of two columns of this width, side by side. `fills` is what goes on behind the text of
/// each, also where it has come to its end and the other one has not.
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

/// Two lines as one.
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
    fn two_columns_and_what_is_between_them_fit() {
        for width in 0..200 {
            let taken = usize::from(column(width)) * 2 + display_width(DIVIDER);
            assert!(width < 3 || taken <= usize::from(width), "{width}");
        }
    }
}
