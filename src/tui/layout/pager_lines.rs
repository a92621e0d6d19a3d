//! Lays out a long text line by line: as rows of a width, as the text that is read and searched,
//! and with the matches of a search marked.
//!
//! Each line stands for itself: a colour that a command left on at the end of a line does not carry
//! over to the next, so that any line can be laid out without those before it.

use std::borrow::Cow;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::ansi::{self, AnsiExcerpt, MAX_COLUMNS};
use super::wrap::display_width;
use super::{LineJoin, StyleRole, StyledLine, StyledSpan};

/// Whether long lines wrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagerWrap {
    On,
    /// Lines are cut; the visible part begins at this column.
    Off(usize),
}

/// The rows of a line, wrapped.
pub fn rows(line: &str, width: u16) -> Vec<StyledLine> {
    ansi::render(line, AnsiExcerpt::All, width.max(1))
}

/// The row of a line that is not wrapped.
pub fn row(line: &str) -> StyledLine {
    let width = u16::try_from(MAX_COLUMNS).unwrap_or(u16::MAX);
    let mut rows = rows(line, width).into_iter();
    let mut whole = rows.next().unwrap_or_default();
    // The note about a cut line's rest follows the line.
    whole.spans.extend(rows.flat_map(|row| row.spans));
    whole
}

/// The text of a line, without sequences that a terminal would obey.
pub fn text(line: &str) -> Cow<'_, str> {
    if line.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return Cow::Borrowed(line);
    }
    if let Some(text) = without_colours(line) {
        return Cow::Owned(text);
    }
    let text = row(line).spans.into_iter().map(|span| span.text).collect();
    Cow::Owned(text)
}

/// The text of a line whose only sequences are colours; `None` if it holds others. Most lines with
/// sequences are such, and laying out each of them would make a search slow.
fn without_colours(line: &str) -> Option<String> {
    let mut text = String::with_capacity(line.len());
    let mut parts = line.split('\u{1b}');
    text.push_str(parts.next()?);
    for part in parts {
        let rest = part.strip_prefix('[')?;
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';')?;
        text.push_str(rest[end..].strip_prefix('m')?);
    }
    text.bytes().all(|byte| (0x20..0x7f).contains(&byte)).then_some(text)
}

/// The joined text of rows that belong together, and where in it each row begins.
pub fn joined(rows: &[StyledLine]) -> (String, Vec<usize>) {
    let mut text = String::new();
    let mut starts = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        if at > 0 && row.join == LineJoin::Space {
            text.push(' ');
        }
        starts.push(text.len());
        row.spans.iter().for_each(|span| text.push_str(&span.text));
    }
    (text, starts)
}

/// A copy of a row in which these byte ranges of its text have another role.
pub fn marked(row: &StyledLine, ranges: &[Range<usize>], role: StyleRole) -> StyledLine {
    let mut spans = Vec::with_capacity(row.spans.len() + ranges.len() * 2);
    let mut at = 0;
    for span in &row.spans {
        let end = at + span.text.len();
        let mut from = at;
        for range in ranges.iter().filter(|range| range.start < end && range.end > at) {
            let (start, stop) = (range.start.max(at), range.end.min(end));
            let part = |range: Range<usize>| span.text.get(range.start - at..range.end - at);
            if let Some(before) = part(from..start).filter(|text| !text.is_empty()) {
                spans.push(StyledSpan::new(before, span.role));
            }
            if let Some(found) = part(start..stop) {
                spans.push(StyledSpan::new(found, role));
            }
            from = stop;
        }
        if let Some(rest) = span.text.get(from - at..).filter(|text| !text.is_empty()) {
            spans.push(StyledSpan::new(rest, span.role));
        }
        at = end;
    }
    StyledLine { spans, ..row.clone() }
}

/// The columns of a row from `left` on. A wide character that is cut there is left out.
pub fn from_column(row: StyledLine, left: usize) -> StyledLine {
    if left == 0 {
        return row;
    }
    let mut column = 0;
    let mut spans = Vec::new();
    for span in row.spans {
        let width = display_width(&span.text);
        if column + width > left {
            let kept = span.text.graphemes(true).filter(|cluster| {
                let at = column;
                column += display_width(cluster);
                at >= left
            });
            spans.push(StyledSpan::new(kept.collect::<String>(), span.role));
        } else {
            column += width;
        }
    }
    StyledLine { spans, ..row }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(row: &StyledLine) -> Vec<(&str, StyleRole)> {
        row.spans.iter().map(|span| (span.text.as_str(), span.role)).collect()
    }

    #[test]
    fn a_line_is_read_as_a_terminal_shows_it() {
        let table = [
            ("plain", "plain"),
            ("\u{1b}[31mred\u{1b}[0m text", "red text"),
            ("\u{1b}[1;38;5;3mbold\u{1b}[m", "bold"),
            ("10%\r20%", "20%"),
            ("a\tb", "a       b"),
            ("日本", "日本"),
        ];
        for (line, wanted) in table {
            assert_eq!(text(line), wanted);
        }
    }

    #[test]
    fn rows_join_to_the_text_of_the_line() {
        let line = "one two three four";
        for width in 1..20 {
            let (joined, starts) = joined(&rows(line, width));
            assert_eq!(joined, line, "{width}");
            assert_eq!(starts.first(), Some(&0));
        }
    }

    #[test]
    fn matches_are_marked_over_the_colours() {
        let row = row("ab\u{1b}[31mcd\u{1b}[0mef");
        let found = marked(&row, &[1..3, 5..6], StyleRole::Match);
        let marks: Vec<&str> = texts(&found)
            .into_iter()
            .filter(|(_, role)| *role == StyleRole::Match)
            .map(|(text, _)| text)
            .collect();
        assert_eq!(marks, ["b", "c", "f"]);
        let text: String = texts(&found).into_iter().map(|(text, _)| text).collect();
        assert_eq!(text, "abcdef");
    }

    #[test]
    fn a_row_can_be_looked_at_from_a_column_on() {
        let text = |left| joined(&[from_column(row("ab日cd"), left)]).0;
        assert_eq!([text(0), text(1), text(3), text(9)], ["ab日cd", "b日cd", "cd", ""]);
    }
}
