//! Selecting text of the transcript.
//!
//! A selection is held by places in the text, not by cells: it survives a resize, folding and
//! what streams in. Where the mouse points is looked up in the rows that were drawn last.

use std::ops::Range;
use std::time::Duration;

use super::geometry::{TranscriptRowKind, VisibleRow};
use super::model::ScreenModel;
use super::source::{self, BlockPart, TranscriptPosition};

/// What is selected: all between the two reaches, whichever comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TranscriptSelection {
    /// What was taken first.
    pub anchor: TranscriptRange,
    /// What was taken last.
    pub head: TranscriptRange,
    /// What is taken at once.
    pub unit: SelectionUnit,
}

/// A part of the text that is taken at once: a character, a word, a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TranscriptRange {
    /// Its beginning.
    pub from: TranscriptPosition,
    /// Its end.
    pub to: TranscriptPosition,
}

/// What is taken at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectionUnit {
    /// Single characters.
    Char,
    /// Whole words.
    Word,
    /// Whole lines of the source, however they are wrapped.
    Line,
}

/// The mouse button, for telling single, double and triple clicks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ClickCounter {
    last: Option<(u16, u16, Duration)>,
    count: u8,
}

const DOUBLE_CLICK: Duration = Duration::from_millis(400);

impl TranscriptSelection {
    /// One that begins and ends with `range`.
    pub fn new(range: TranscriptRange, unit: SelectionUnit) -> Self {
        Self { anchor: range, head: range, unit }
    }

    /// Its first place and the one behind its last.
    pub fn ends(&self) -> (TranscriptPosition, TranscriptPosition) {
        (self.anchor.from.min(self.head.from), self.anchor.to.max(self.head.to))
    }

    /// Whether it is more than a click.
    pub fn covers(&self) -> bool {
        self.anchor != self.head || self.unit != SelectionUnit::Char
    }

    /// Its text.
    pub fn text(&self, model: &ScreenModel) -> String {
        let (from, to) = self.ends();
        source::between(&model.transcript, from, to)
    }
}

impl ClickCounter {
    /// Notes that the button went down, and says what it selects.
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

/// What is taken at a column of a row of the transcript on screen.
pub fn range_at(
    model: &ScreenModel,
    row: &VisibleRow,
    column: u16,
    unit: SelectionUnit,
) -> Option<TranscriptRange> {
    let block = model.transcript.get(row.block)?;
    let part = row.kind.part();
    let text = source::text(block, part);
    let cell = row.at(column);
    let range = match unit {
        // In the margin the marks of the line are taken along.
        SelectionUnit::Char if row.is_before_text(column) && part == BlockPart::Body => {
            source::before_marks(&text, cell.start)..cell.start
        }
        SelectionUnit::Char => cell,
        SelectionUnit::Word => word(&text, &segment(model, row, &cell), cell.start),
        SelectionUnit::Line => source::line_around(&text, cell.start),
    };
    let spot = |at: usize| TranscriptPosition { block: row.block, part, at: at.min(text.len()) };
    Some(TranscriptRange { from: spot(range.start), to: spot(range.end) })
}

/// The bytes around `cell` that stand side by side in the source and on screen: wrapped rows of
/// it, but nothing beyond a mark that is not shown.
fn segment(model: &ScreenModel, row: &VisibleRow, cell: &Range<usize>) -> Range<usize> {
    let rows = model.geometry.rows.iter();
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

/// The word at `at`: letters and what joins them in names, paths and flags; else all the blanks,
/// or the one character.
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
    // The stop behind a word ends its sentence.
    while text[word.clone()].ends_with(['.', '-']) && word.end > at + 1 {
        word.end -= 1;
    }
    word
}

/// Kinds of characters, for taking words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectionCharKind {
    /// White space.
    Blank,
    /// Of a word, a name or a path.
    Word,
    /// Anything else.
    Other,
}

impl SelectionCharKind {
    /// The kind of a character.
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
    /// Which text of its block a row shows.
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
    fn quick_clicks_at_one_place_take_more() {
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
