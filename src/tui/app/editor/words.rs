//! Boundaries in a text, as byte offsets: graphemes, words, lines.

use unicode_segmentation::UnicodeSegmentation;

/// The start of the grapheme before `at`.
pub fn before(text: &str, at: usize) -> usize {
    text[..at].grapheme_indices(true).next_back().map_or(0, |(start, _)| start)
}

/// The end of the grapheme at `at`.
pub fn behind(text: &str, at: usize) -> usize {
    text[at..].graphemes(true).next().map_or(at, |grapheme| at + grapheme.len())
}

/// The start of the line that contains `at`.
pub fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// The end of the line that contains `at`, before its line end.
pub fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end)
}

/// The start of the last word that begins before `at`.
pub fn word_before(text: &str, at: usize) -> usize {
    text[..at]
        .split_word_bound_indices()
        .rfind(|(_, part)| is_word(part))
        .map_or(0, |(start, _)| start)
}

/// The end of the first word that ends after `at`.
pub fn word_behind(text: &str, at: usize) -> usize {
    text[at..]
        .split_word_bound_indices()
        .find(|(_, part)| is_word(part))
        .map_or(text.len(), |(start, part)| at + start + part.len())
}

/// The last grapheme boundary at or before `at`.
pub fn boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    let start = text[..floor(text, at)].rfind('\n').map_or(0, |end| end + 1);
    text[start..]
        .grapheme_indices(true)
        .map(|(offset, _)| start + offset)
        .take_while(|place| *place <= at)
        .last()
        .filter(|_| at < text.len())
        .unwrap_or(at)
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|place| text.is_char_boundary(*place)).unwrap_or(0)
}

/// Whether a segment is a word. A chip is a word of its own.
fn is_word(part: &str) -> bool {
    part.chars().any(|c| c.is_alphanumeric() || c == '_' || super::chips::is_chip(c))
}
