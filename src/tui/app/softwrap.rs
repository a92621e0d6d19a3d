//! Soft wrap of the text being typed: which part of it stands on which row of the screen.
//!
//! Unlike the transcript's wrap nothing is dropped here, not even the space at a wrap, because
//! the caret has to be able to stand on every character.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// One row: the bytes of the text that stand on it, without the line end.
pub type Row = Range<usize>;

/// The rows of `text` at `width` columns. Never empty; every grapheme is on exactly one row.
pub fn rows(text: &str, width: u16) -> Vec<Row> {
    let width = usize::from(width.max(1));
    let mut rows = Vec::new();
    let mut start = 0;
    for line in text.split('\n') {
        wrap_line(line, start, width, &mut rows);
        start += line.len() + 1;
    }
    rows
}

/// The row and column where the caret stands when it is before byte `at`. At a wrap it stands
/// at the beginning of the lower row.
pub fn place(text: &str, rows: &[Row], at: usize) -> (usize, u16) {
    let row = rows.partition_point(|row| row.start <= at).saturating_sub(1);
    let start = rows.get(row).map_or(0, |row| row.start);
    (row, columns(text.get(start..at).unwrap_or_default()))
}

/// The byte on `row` that is nearest to `column`.
pub fn at(text: &str, row: &Row, column: u16) -> usize {
    let mut left = 0;
    for (offset, grapheme) in text[row.clone()].grapheme_indices(true) {
        let next = left + cell_width(grapheme);
        if next > usize::from(column) {
            return row.start + offset;
        }
        left = next;
    }
    row.end
}

/// How many columns a text takes. A tab is shown as four spaces.
pub fn columns(text: &str) -> u16 {
    let columns: usize = text.graphemes(true).map(cell_width).sum();
    u16::try_from(columns).unwrap_or(u16::MAX)
}

fn cell_width(grapheme: &str) -> usize {
    match grapheme {
        "\t" => 4,
        other => other.width(),
    }
}

/// Breaks after spaces; a word longer than a row is broken anywhere.
fn wrap_line(line: &str, offset: usize, width: usize, rows: &mut Vec<Row>) {
    let (mut start, mut used, mut word, mut word_used) = (0, 0, 0, 0);
    for (at, grapheme) in line.grapheme_indices(true) {
        let wide = cell_width(grapheme);
        // One space may hang over the edge, where the margin is.
        let room = if grapheme == " " { width + 1 } else { width };
        if used + wide > room && at > start {
            let (cut, kept) = if word > start { (word, word_used) } else { (at, 0) };
            rows.push(offset + start..offset + cut);
            start = cut;
            used = kept;
            word_used = kept;
        }
        used += wide;
        if grapheme == " " || grapheme == "\t" {
            word = at + grapheme.len();
            word_used = 0;
        } else {
            word_used += wide;
        }
    }
    rows.push(offset + start..offset + line.len());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str, width: u16) -> Vec<&str> {
        rows(text, width).into_iter().map(|row| &text[row]).collect()
    }

    #[test]
    fn words_move_to_the_next_row_whole() {
        assert_eq!(shown("add a test now", 8), ["add a ", "test now"]);
        assert_eq!(shown("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(shown("a\n\nb", 4), ["a", "", "b"]);
        assert_eq!(shown("日本語", 4), ["日本", "語"]);
        assert_eq!(shown("", 4), [""]);
    }

    #[test]
    fn the_caret_is_where_the_text_is() {
        let text = "日本語 abc";
        let rows = rows(text, 6);
        assert_eq!(place(text, &rows, 3), (0, 2));
        assert_eq!(place(text, &rows, text.len()), (rows.len() - 1, 3));
        assert_eq!(at(text, &rows[0], 3), 3);
    }

    proptest! {
        #[test]
        fn wrapping_loses_nothing(text in "[a-z 日\t\n👩‍🚀é]{0,60}", width in 1u16..12) {
            let mut end = 0;
            for row in rows(&text, width) {
                prop_assert!(row.start == end || (row.start == end + 1 && &text[end..row.start] == "\n"));
                end = row.end;
            }
            prop_assert_eq!(end, text.len());
        }
    }
}
