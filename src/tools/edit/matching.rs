//! Finds where an edit goes and what it puts there. Pure.
//!
//! First the old text must be in the file exactly. Next it may differ in Unicode dashes, quotes and
//! spaces; last, as whole lines, in white space at the ends of lines. There is no other similarity:
//! the replaced text differs from what the model wrote in such characters only. The last two kinds
//! must match in exactly one place. Where the indentation differs and the old and the new text do not
//! agree about it, there is no match.
//!
//! Texts are compared with LF line ends and written with those of the file. Where the old and the
//! new text agree, the file keeps its bytes.

use std::ops::Range;

use super::lines;
use crate::tools::text::WHOLE_FILE;

/// The most places that one call replaces.
const MAX_REPLACED: usize = 1_000_000;
/// The most bytes of a text while it is changed: a character that is one byte of a file may be three here.
const MAX_TEXT: u64 = 3 * WHOLE_FILE;

/// A range of bytes in the text, and its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextReplacement {
    pub range: Range<usize>,
    pub text: String,
}

/// Whether one place or every place is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplaceScope {
    One,
    All,
}

/// How the old text was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MatchQuality {
    Exact,
    /// With other Unicode dashes, quotes or spaces.
    Normalised,
    /// As whole lines with other white space at their ends.
    Trimmed,
}

/// Why there is nothing to replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EditMismatch {
    Nowhere,
    /// The old text is in several places; the numbers of their first lines, from 1.
    Several(MatchQuality, Vec<usize>),
    /// The result would be too big, in bytes, or too many places would be replaced.
    TooMuch {
        places: usize,
        size: usize,
    },
    /// The old text is at this line with other indentation, and the new text begins with another
    /// indentation than the old one.
    Indentation(usize),
}

/// Finds `old` in `text`, and the replacements that turn it into `new`.
pub(super) fn find(
    text: &str,
    old: &str,
    new: &str,
    scope: ReplaceScope,
) -> Result<(MatchQuality, Vec<TextReplacement>), EditMismatch> {
    let (old, new) = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
    let exact = NormalisedText::new(text, |c| c);
    if scope == ReplaceScope::All {
        // Counted before the text is made: a million places with a long text each fill any memory.
        let places = exact.text.matches(&old).count();
        let kept = exact.text.len() - places * old.len();
        within_bounds(places, kept.saturating_add(places.saturating_mul(new.len())))?;
        let all: Vec<TextReplacement> = exact
            .text
            .match_indices(&old)
            .map(|(start, found)| replacement(&exact, text, start..start + found.len(), &old, &new))
            .collect();
        if !all.is_empty() {
            return Ok((MatchQuality::Exact, all));
        }
    }
    if let Some(range) = exact.only(text, &old, MatchQuality::Exact)? {
        return Ok((MatchQuality::Exact, vec![replacement(&exact, text, range, &old, &new)]));
    }
    let folded = NormalisedText::new(text, normalise_char);
    if let Some(range) = folded.only(text, &normalise(&old), MatchQuality::Normalised)? {
        return Ok((MatchQuality::Normalised, vec![replacement(&folded, text, range, &old, &new)]));
    }
    let starts = lines::find(text, &old);
    match starts.as_slice() {
        [] => Err(EditMismatch::Nowhere),
        [start] if lines::disagree_on_indent(text, *start, &old, &new) => {
            Err(EditMismatch::Indentation(start + 1))
        }
        [start] => Ok((MatchQuality::Trimmed, vec![lines::replacement(text, *start, &old, &new)])),
        _ => {
            let numbers = starts.iter().map(|start| start + 1).collect();
            Err(EditMismatch::Several(MatchQuality::Trimmed, numbers))
        }
    }
}

/// Whether so many places, and a result of so many bytes, are few enough to be edited.
pub(super) fn within_bounds(places: usize, size: usize) -> Result<(), EditMismatch> {
    match places <= MAX_REPLACED && size as u64 <= MAX_TEXT {
        true => Ok(()),
        false => Err(EditMismatch::TooMuch { places, size }),
    }
}

/// Applies replacements, which must be in order and must not overlap.
pub(super) fn apply(text: &str, replacements: &[TextReplacement]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for TextReplacement { range, text: new } in replacements {
        out.push_str(&text[done..range.start]);
        out.push_str(new);
        done = range.end;
    }
    out.push_str(&text[done..]);
    out
}

/// The number, from 1, of the line that the byte at `offset` is on.
pub(super) fn line_number(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Maps characters that models mix up. One to one, so that offsets can be mapped back.
pub(super) fn normalise_char(c: char) -> char {
    match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' => '-',
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{ff07}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{ff02}' => '"',
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
            ' '
        }
        other => other,
    }
}

/// `text` with each character normalised.
pub(super) fn normalise(text: &str) -> String {
    text.chars().map(normalise_char).collect()
}

/// Gives `new` the line ends of the bytes in `range` that it replaces, in order, and after those
/// the line end of the nearest line.
pub(super) fn with_line_ends(new: &str, text: &str, range: &Range<usize>) -> String {
    if !new.contains('\n') || !text.contains('\r') {
        return new.to_owned();
    }
    let end_at = |newline: usize| match text[..newline].ends_with('\r') {
        true => "\r\n",
        false => "\n",
    };
    let region = &text[range.clone()];
    let mut ends = region.match_indices('\n').map(|(at, _)| end_at(range.start + at));
    let after = text[range.end..].find('\n').map(|at| end_at(range.end + at));
    let before = text[..range.start].rfind('\n').map(end_at);
    let mut last = after.or(before).unwrap_or("\n");
    let mut out = String::with_capacity(new.len() + 16);
    for (index, line) in new.split('\n').enumerate() {
        if index > 0 {
            last = ends.next().unwrap_or(last);
            out.push_str(last);
        }
        out.push_str(line);
    }
    out
}

/// A text with LF line ends and possibly normalised characters, and the way back to offsets in the
/// original.
struct NormalisedText {
    text: String,
    /// Pairs of offsets, in `text` and in the original, after which both advance equally again.
    steps: Vec<(usize, usize)>,
}

impl NormalisedText {
    fn new(original: &str, fold: fn(char) -> char) -> Self {
        let mut view = Self { text: String::with_capacity(original.len()), steps: vec![(0, 0)] };
        let mut chars = original.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if c == '\r' && chars.next_if(|(_, next)| *next == '\n').is_some() {
                view.text.push('\n');
                view.steps.push((view.text.len(), at + 2));
                continue;
            }
            let folded = fold(c);
            view.text.push(folded);
            if folded.len_utf8() != c.len_utf8() {
                view.steps.push((view.text.len(), at + c.len_utf8()));
            }
        }
        view
    }

    /// The offset in the original; a line end counts as one character.
    fn original(&self, offset: usize) -> usize {
        let after = self.steps.partition_point(|(at, _)| *at <= offset);
        let (at, original) = self.steps[after - 1];
        original + offset - at
    }

    /// The only place of `needle`; `None` where there is none, an error where there are several.
    fn only(
        &self,
        original: &str,
        needle: &str,
        quality: MatchQuality,
    ) -> Result<Option<Range<usize>>, EditMismatch> {
        let Some(start) = self.text.find(needle) else { return Ok(None) };
        let first_char = needle.chars().next().map_or(1, char::len_utf8);
        // Overlapping places count, too: choosing one of them would be a guess.
        if !self.text[start + first_char..].contains(needle) {
            return Ok(Some(start..start + needle.len()));
        }
        let mut numbers = Vec::new();
        let mut from = 0;
        while let Some(at) = self.text[from..].find(needle)
            && numbers.len() < lines::MAX_PLACES
        {
            numbers.push(line_number(original, self.original(from + at)));
            from += at + first_char;
        }
        Err(EditMismatch::Several(quality, numbers))
    }
}

/// Turns a range of the normalised text into one of the original, without the characters that the
/// old and the new text share at their ends.
fn replacement(
    view: &NormalisedText,
    text: &str,
    found: Range<usize>,
    old: &str,
    new: &str,
) -> TextReplacement {
    let pairs = old.chars().zip(new.chars());
    let prefix = pairs.take_while(|(old, new)| old == new).count();
    let skip =
        |text: &str, count: usize| text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    let (old_rest, new_rest) = (&old[skip(old, prefix)..], &new[skip(new, prefix)..]);
    let pairs = old_rest.chars().rev().zip(new_rest.chars().rev());
    let suffix = pairs.take_while(|(old, new)| old == new).count();
    let middle = skip(new_rest, new_rest.chars().count() - suffix);

    let matched = &view.text[found.clone()];
    let start = found.start + skip(matched, prefix);
    let end = found.start + skip(matched, matched.chars().count() - suffix);
    let range = view.original(start)..view.original(end);
    let new = &new_rest[..middle];
    // Most texts have no CRLF, and a look through the whole text for each of many places takes long.
    let text = match view.steps.len() {
        1 => new.to_owned(),
        _ => with_line_ends(new, text, &range),
    };
    TextReplacement { range, text }
}
