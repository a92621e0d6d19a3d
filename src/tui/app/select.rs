//! Selecting text of the transcript.
//!
//! A selection is held by places in the text, not by cells: it survives a resize, folding and
//! what streams in. Where the mouse points is looked up in the rows that were drawn last.

use std::ops::Range;
use std::time::Duration;

use super::geometry::{RowKind, VisibleRow};
use super::model::Model;
use super::source::{self, Part, Spot};

/// What is selected: all between the two reaches, whichever comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection {
    /// What was taken first.
    pub anchor: Reach,
    /// What was taken last.
    pub head: Reach,
    /// What is taken at once.
    pub unit: Unit,
}

/// A part of the text that is taken at once: a character, a word, a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// Its beginning.
    pub from: Spot,
    /// Its end.
    pub to: Spot,
}

/// What is taken at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Single characters.
    Char,
    /// Whole words.
    Word,
    /// Whole lines of the source, however they are wrapped.
    Line,
}

/// The mouse button, for telling single, double and triple clicks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Clicks {
    last: Option<(u16, u16, Duration)>,
    count: u8,
}

const DOUBLE_CLICK: Duration = Duration::from_millis(400);

impl Selection {
    /// One that begins and ends with `reach`.
    pub fn new(reach: Reach, unit: Unit) -> Self {
        Self { anchor: reach, head: reach, unit }
    }

    /// Its first place and the one behind its last.
    pub fn ends(&self) -> (Spot, Spot) {
        (self.anchor.from.min(self.head.from), self.anchor.to.max(self.head.to))
    }

    /// Whether it is more than a click.
    pub fn covers(&self) -> bool {
        self.anchor != self.head || self.unit != Unit::Char
    }

    /// Its text.
    pub fn text(&self, model: &Model) -> String {
        let (from, to) = self.ends();
        source::between(&model.transcript, from, to)
    }
}

impl Clicks {
    /// Notes that the button went down, and says what it selects.
    pub fn down(&mut self, column: u16, row: u16, now: Duration) -> Unit {
        let again = self.last.is_some_and(|(c, r, at)| {
            (c, r) == (column, row) && now.saturating_sub(at) < DOUBLE_CLICK
        });
        self.count = if again { self.count % 3 + 1 } else { 1 };
        self.last = Some((column, row, now));
        match self.count {
            2 => Unit::Word,
            3 => Unit::Line,
            _ => Unit::Char,
        }
    }
}

/// What is taken at a column of a row of the transcript on screen.
pub fn reach(model: &Model, row: &VisibleRow, column: u16, unit: Unit) -> Option<Reach> {
    let block = model.transcript.get(row.block)?;
    let part = row.kind.part();
    let text = source::text(block, part);
    let cell = row.at(column);
    let range = match unit {
        // In the margin the marks of the line are taken along.
        Unit::Char if row.is_before_text(column) && part == Part::Body => {
            source::before_marks(&text, cell.start)..cell.start
        }
        Unit::Char => cell,
        Unit::Word => word(&text, &segment(model, row, &cell), cell.start),
        Unit::Line => source::line_around(&text, cell.start),
    };
    let spot = |at: usize| Spot { block: row.block, part, at: at.min(text.len()) };
    Some(Reach { from: spot(range.start), to: spot(range.end) })
}

/// The bytes around `cell` that stand side by side in the source and on screen: wrapped rows of
/// it, but nothing beyond a mark that is not shown.
fn segment(model: &Model, row: &VisibleRow, cell: &Range<usize>) -> Range<usize> {
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
    let kind = text[at..end].chars().next().map(Kind::of);
    let Some(kind) = kind else { return at..at };
    if kind == Kind::Other {
        let length = text[at..end].chars().next().map_or(0, char::len_utf8);
        return at..at + length;
    }
    let same = |c: &char| Kind::of(*c) == kind;
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
pub enum Kind {
    /// White space.
    Blank,
    /// Of a word, a name or a path.
    Word,
    /// Anything else.
    Other,
}

impl Kind {
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

impl RowKind {
    /// Which text of its block a row shows.
    pub fn part(self) -> Part {
        match self {
            Self::Gap | Self::Head => Part::Head,
            Self::Body => Part::Body,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_clicks_at_one_place_take_more() {
        let mut clicks = Clicks::default();
        let at = Duration::from_millis;
        assert_eq!(clicks.down(3, 3, at(0)), Unit::Char);
        assert_eq!(clicks.down(3, 3, at(200)), Unit::Word);
        assert_eq!(clicks.down(3, 3, at(400)), Unit::Line);
        assert_eq!(clicks.down(4, 3, at(500)), Unit::Char);
        assert_eq!(clicks.down(4, 3, at(2000)), Unit::Char);
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
