//! Selecting text of the transcript.
//!
//! A selection consists of places in the text, not of cells: it survives a resize, folding and
//! streaming text. The text under the mouse is looked up in the rows of the last frame.

use std::ops::Range;
use std::time::Duration;

use super::source::{self, BlockPart, TranscriptPosition};
use super::transcript::Transcript;
use crate::tui::app::geometry::{TranscriptRowKind, VisibleRow};

/// The selected text: everything from the first to the last of two ranges, in either order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TranscriptSelection {
    /// The range at which the selection began.
    pub anchor: TranscriptRange,
    /// The range at the moving end.
    pub head: TranscriptRange,
    pub unit: SelectionUnit,
}

/// A character, word or line of the transcript's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TranscriptRange {
    pub from: TranscriptPosition,
    /// Behind the last character.
    pub to: TranscriptPosition,
}

/// The unit by which a selection grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectionUnit {
    Char,
    Word,
    /// Whole lines of the source, however they are wrapped.
    Line,
}

/// Tells single, double and triple clicks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ClickCounter {
    last: Option<(u16, u16, Duration)>,
    count: u8,
}

/// What the held mouse button drags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseDrag {
    /// The end of the selection.
    Selection {
        column: u16,
        row: u16,
        /// When the view scrolls next; `None` unless the mouse is past its edge.
        next: Option<Duration>,
    },
    /// The thumb of the scroll bar.
    Bar {
        /// Rows from the thumb's top to the mouse.
        grip: u16,
    },
}

const DOUBLE_CLICK: Duration = Duration::from_millis(400);

impl TranscriptSelection {
    /// A selection of one range.
    pub fn new(range: TranscriptRange, unit: SelectionUnit) -> Self {
        Self { anchor: range, head: range, unit }
    }

    /// The first place of the selection, and the one behind its last.
    pub fn ends(&self) -> (TranscriptPosition, TranscriptPosition) {
        (self.anchor.from.min(self.head.from), self.anchor.to.max(self.head.to))
    }

    /// Whether anything is selected: more than the one character under a single click.
    pub fn covers(&self) -> bool {
        self.anchor != self.head || self.unit != SelectionUnit::Char
    }

    /// The selected source text.
    pub fn text(&self, transcript: &Transcript) -> String {
        let (from, to) = self.ends();
        source::between(transcript, from, to)
    }
}

impl ClickCounter {
    /// Counts a press of the button at a cell, and returns the unit that it selects: a double click
    /// takes words, a triple click lines.
    pub fn down(&mut self, column: u16, row: u16, now: Duration) -> SelectionUnit {
        let again = self.last.is_some_and(|(c, r, at)| {
            (c, r) == (column, row) && now.saturating_sub(at) < DOUBLE_CLICK
        });
        self.count = if again { self.count % 3 + 1 } else { 1 };
        self.last = Some((column, row, now));
        match self.count {
            2 => SelectionUnit::Word,
            3 => SelectionUnit::Line,
            _ => SelectionUnit::Char,
        }
    }
}

/// The character, word or line at a column of a row; `rows` are all rows of the transcript on screen.
pub fn range_at(
    transcript: &Transcript,
    rows: &[VisibleRow],
    row: &VisibleRow,
    column: u16,
    unit: SelectionUnit,
) -> Option<TranscriptRange> {
    let block = transcript.get(row.block)?;
    let part = row.kind.part();
    let text = source::text(block, part);
    let cell = row.at(column);
    let range = match unit {
        // In the margin, the marks before the line's text are selected too.
        SelectionUnit::Char if row.is_before_text(column) && part == BlockPart::Body => {
            source::before_marks(&text, cell.start)..cell.start
        }
        SelectionUnit::Char => cell,
        SelectionUnit::Word => word(&text, &segment(rows, row, &cell), cell.start),
        SelectionUnit::Line => source::line_around(&text, cell.start),
    };
    let position =
        |at: usize| TranscriptPosition { block: row.block, part, at: at.min(text.len()) };
    Some(TranscriptRange { from: position(range.start), to: position(range.end) })
}

/// The bytes around `cell` that are contiguous both in the source and on screen: across wrapped
/// rows, but not beyond a mark that is not shown.
fn segment(rows: &[VisibleRow], row: &VisibleRow, cell: &Range<usize>) -> Range<usize> {
    let rows = rows.iter();
    let rows = rows.filter(|it| it.block == row.block && it.kind.part() == row.kind.part());
    let mut runs: Vec<Range<usize>> =
        rows.flat_map(|row| &row.runs).map(|run| run.range()).collect();
    runs.sort_by_key(|run| run.start);
    let mut segment = cell.clone();
    for run in runs.iter().filter(|run| run.end > cell.start) {
        if run.start <= segment.end {
            segment.end = segment.end.max(run.end);
        }
    }
    for run in runs.iter().rev().filter(|run| run.start <= cell.start) {
        if run.end >= segment.start {
            segment.start = segment.start.min(run.start);
        }
    }
    segment
}

/// The word at `at`: letters, and the signs that join them in names, paths and flags; else the run
/// of blanks, or the one other character.
fn word(text: &str, within: &Range<usize>, at: usize) -> Range<usize> {
    let start = text.floor_char_boundary(within.start);
    let end = text.ceil_char_boundary(within.end);
    let at = text.floor_char_boundary(at).clamp(start, end);
    let kind = text[at..end].chars().next().map(SelectionCharKind::of);
    let Some(kind) = kind else { return at..at };
    if kind == SelectionCharKind::Other {
        let length = text[at..end].chars().next().map_or(0, char::len_utf8);
        return at..at + length;
    }
    let same = |c: &char| SelectionCharKind::of(*c) == kind;
    let before: usize = text[start..at].chars().rev().take_while(same).map(char::len_utf8).sum();
    let behind: usize = text[at..end].chars().take_while(same).map(char::len_utf8).sum();
    let mut word = at - before..at + behind;
    // A full stop or dash behind a word belongs to the sentence.
    while text[word.clone()].ends_with(['.', '-']) && word.end > at + 1 {
        word.end -= 1;
    }
    word
}

/// Kinds of characters, for selecting words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectionCharKind {
    Blank,
    /// Letters, digits, and the signs within names, paths and flags.
    Word,
    Other,
}

impl SelectionCharKind {
    /// Sorts a character into a kind; `_-./~` count as parts of words.
    pub fn of(c: char) -> Self {
        if c.is_whitespace() {
            Self::Blank
        } else if c.is_alphanumeric() || "_-./~".contains(c) {
            Self::Word
        } else {
            Self::Other
        }
    }
}

impl TranscriptRowKind {
    /// Which text of its block a row belongs to; a gap belongs to the head.
    pub fn part(self) -> BlockPart {
        match self {
            Self::Gap | Self::Head => BlockPart::Head,
            Self::Body => BlockPart::Body,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn double_and_triple_clicks_select_words_and_lines() {
        let mut clicks = ClickCounter::default();
        let at = Duration::from_millis;
        assert_eq!(clicks.down(3, 3, at(0)), SelectionUnit::Char);
        assert_eq!(clicks.down(3, 3, at(200)), SelectionUnit::Word);
        assert_eq!(clicks.down(3, 3, at(400)), SelectionUnit::Line);
        assert_eq!(clicks.down(4, 3, at(500)), SelectionUnit::Char);
        assert_eq!(clicks.down(4, 3, at(2000)), SelectionUnit::Char);
    }

    #[test]
    fn names_paths_and_flags_are_words() {
        for (text, at, wanted) in [
            ("see src/cart.rs.", 6, "src/cart.rs"),
            ("run --no-fail now", 7, "--no-fail"),
            ("a_b(c)", 0, "a_b"),
            ("a_b(c)", 3, "("),
            ("a  b", 1, "  "),
            ("日本語 x", 3, "日本語"),
            ("", 0, ""),
        ] {
            assert_eq!(&text[word(text, &(0..text.len()), at)], wanted, "{text}");
        }
    }
}
