//! Soft wrap of the input's text: which part of it is on which row of the screen.
//!
//! Unlike the transcript's wrap, this one drops nothing, not even the space at a wrap, because the
//! caret can be on every grapheme. A grapheme may be shown as something else (a tab, a control
//! character, a chip's label), so columns are counted by [`shown`].

use std::borrow::Cow;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::domain::sanitize::sanitize;

use super::editor::ChipSet;
use super::editor::words::before;

/// The bytes of the text on one row, without the line end.
pub type SoftWrapRow = Range<usize>;

/// The rows of `text` at `width` columns. Never empty; every grapheme is on exactly one row.
pub fn rows(text: &str, width: u16) -> Vec<SoftWrapRow> {
    rows_with(text, width, &ChipSet::default())
}

/// Like [`rows`], for a text with chips.
pub fn rows_with(text: &str, width: u16, chips: &ChipSet) -> Vec<SoftWrapRow> {
    let width = usize::from(width.max(1));
    let mut rows = Vec::new();
    let mut start = 0;
    for line in text.split('\n') {
        wrap_line(line, start, width, chips, &mut rows);
        start += line.len() + 1;
    }
    rows
}

/// The row and column of the caret before byte `at`, from 0. At a wrap the caret is at the
/// beginning of the lower row.
pub fn place(text: &str, rows: &[SoftWrapRow], at: usize) -> (usize, u16) {
    place_with(text, rows, at, &ChipSet::default())
}

/// Like [`place`], for a text with chips.
pub fn place_with(text: &str, rows: &[SoftWrapRow], at: usize, chips: &ChipSet) -> (usize, u16) {
    let row = rows.partition_point(|row| row.start <= at).saturating_sub(1);
    let start = rows.get(row).map_or(0, |row| row.start);
    (row, columns_with(text.get(start..at).unwrap_or_default(), chips))
}

/// The byte offset of the grapheme at `column` of `row`; the row's end behind its last grapheme.
pub fn at(text: &str, row: &SoftWrapRow, column: u16, chips: &ChipSet) -> usize {
    let mut left = 0;
    for (offset, grapheme) in shown(&text[row.clone()], chips) {
        let next = left + grapheme.width();
        if next > usize::from(column) {
            return row.start + offset;
        }
        left = next;
    }
    row.end
}

/// The last caret position that is shown on a row: its end, or before its last grapheme if the line
/// continues in the next row.
pub fn last_place(text: &str, row: &SoftWrapRow) -> usize {
    match text.as_bytes().get(row.end) {
        None | Some(b'\n') => row.end,
        Some(_) => row.start + before(&text[row.clone()], row.len()),
    }
}

/// The width of a text in columns, as [`shown`] shows it.
pub fn columns(text: &str) -> u16 {
    columns_with(text, &ChipSet::default())
}

/// Like [`columns`], for a text with chips.
pub fn columns_with(text: &str, chips: &ChipSet) -> u16 {
    let columns: usize = shown(text, chips).map(|(_, grapheme)| grapheme.width()).sum();
    u16::try_from(columns).unwrap_or(u16::MAX)
}

/// The text shown for each grapheme of a line, with its byte offset: four spaces for a tab, the
/// label for a chip, and a visible form for characters that would control a terminal.
pub fn shown<'a>(
    line: &'a str,
    chips: &'a ChipSet,
) -> impl Iterator<Item = (usize, Cow<'a, str>)> + Clone {
    // Joiners are harmless between letters, which only the whole line shows.
    let harmless = matches!(sanitize(line), Cow::Borrowed(_));
    line.grapheme_indices(true).map(move |(at, grapheme)| {
        let text = match grapheme {
            "\t" => Cow::Borrowed("    "),
            _ => match chips.of(grapheme) {
                Some(chip) => Cow::Borrowed(chip.label.as_str()),
                None if harmless => Cow::Borrowed(grapheme),
                None => sanitize(grapheme),
            },
        };
        (at, text)
    })
}

/// Wraps after spaces; a word longer than a row is broken anywhere.
fn wrap_line(
    line: &str,
    offset: usize,
    width: usize,
    chips: &ChipSet,
    rows: &mut Vec<SoftWrapRow>,
) {
    let (mut start, mut used, mut word, mut word_used) = (0, 0, 0, 0);
    for (at, grapheme) in shown(line, chips) {
        let wide = grapheme.width();
        let is_space = matches!(line.as_bytes().get(at), Some(b' ' | b'\t'));
        // One space may extend into the margin.
        let room = if grapheme == " " { width + 1 } else { width };
        if used + wide > room && at > start {
            let (cut, kept) = if word > start { (word, word_used) } else { (at, 0) };
            rows.push(offset + start..offset + cut);
            start = cut;
            used = kept;
            word_used = kept;
        }
        used += wide;
        if is_space {
            word = at + 1;
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
    fn caret_places_and_byte_offsets_match() {
        let text = "日本語 abc";
        let rows = rows(text, 6);
        assert_eq!(place(text, &rows, 3), (0, 2));
        assert_eq!(place(text, &rows, text.len()), (rows.len() - 1, 3));
        assert_eq!(at(text, &rows[0], 3, &ChipSet::default()), 3);
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
