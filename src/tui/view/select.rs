//! What a selection covers: its cells on screen, and its text without wrap breaks and borders.

use unicode_segmentation::UnicodeSegmentation;

use crate::tui::app::Model;
use crate::tui::app::geometry::{RowKind, VisibleRow};
use crate::tui::app::select::{Selection, Spot, Unit};
use crate::tui::layout::Join;

use super::layouts::Layouts;
use super::paint::width as columns_of;
use super::transcript::{Content, row};
use super::window::{Finder, RowAt};

/// What is selected, from the first cell to behind the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    from: Spot,
    /// Its column is behind the last one.
    to: Spot,
}

impl Range {
    /// The selected columns of a row.
    pub fn columns(&self, row: VisibleRow) -> Option<(u16, u16)> {
        let at = (row.block, row.row);
        let (first, last) = ((self.from.block, self.from.row), (self.to.block, self.to.row));
        if at < first || at > last || row.kind == RowKind::Gap {
            return None;
        }
        let from = if at == first { self.from.column } else { 0 };
        let to = if at == last { self.to.column } else { u16::MAX };
        (from < to).then_some((from, to))
    }
}

/// The cells of the model's selection.
pub fn range(model: &Model, layouts: &mut Layouts, width: u16) -> Option<Range> {
    let selection = model.selection.filter(Selection::covers)?;
    Some(expand(model, layouts, width, selection))
}

/// The text of a selection: lines that were wrapped are one again, and what is left of the text
/// is not part of it.
pub fn text(model: &Model, layouts: &mut Layouts, width: u16, selection: Selection) -> String {
    let range = expand(model, layouts, width, selection);
    let mut text = String::new();
    let mut first = true;
    for index in model.transcript.index(range.from.block)..=model.transcript.index(range.to.block) {
        let rows = Finder::new(model, layouts, width).shape(index).rows;
        for number in 0..rows {
            let row = row(model, layouts, RowAt { index, row: number }, width);
            let at = (row.visible.block, row.visible.row);
            if at < (range.from.block, range.from.row) || at > (range.to.block, range.to.row) {
                continue;
            }
            let plain = Plain::of(&row.content);
            if !first {
                text.push_str(match plain.join {
                    Join::Newline => "\n",
                    Join::Space => " ",
                    Join::Nothing => "",
                });
            }
            first = false;
            if let Some((from, to)) = range.columns(row.visible) {
                text.push_str(plain.cut(from, to).trim_end());
            }
        }
    }
    text
}

/// A row as text.
struct Plain {
    text: String,
    gutter: u16,
    join: Join,
}

impl Plain {
    fn of(content: &Content) -> Self {
        match content {
            Content::Empty => Self { text: String::new(), gutter: 0, join: Join::Newline },
            Content::Head(head) => Self {
                text: head.left.iter().map(|span| span.text.as_str()).collect(),
                gutter: 0,
                join: Join::Newline,
            },
            Content::Body(line) => Self {
                text: line.spans.iter().map(|span| span.text.as_str()).collect(),
                gutter: line.gutter,
                join: line.join,
            },
        }
    }

    fn cut(&self, from: u16, to: u16) -> String {
        let from = from.max(self.gutter);
        let mut column = 0;
        let mut kept = String::new();
        for grapheme in self.text.graphemes(true) {
            if column >= from && column < to {
                kept.push_str(grapheme);
            }
            column += columns_of(grapheme);
        }
        kept
    }

    /// The columns of the word at `column`.
    fn word(&self, column: u16) -> (u16, u16) {
        let mut start = 0;
        for word in self.text.split_word_bounds() {
            let end = start + columns_of(word);
            if column < end {
                return (start, end);
            }
            start = end;
        }
        (start, start)
    }
}

fn expand(model: &Model, layouts: &mut Layouts, width: u16, selection: Selection) -> Range {
    let (from, to) = selection.ordered();
    let mut plain = |spot: Spot| {
        let at = RowAt { index: model.transcript.index(spot.block), row: spot.row };
        Plain::of(&row(model, layouts, at, width).content)
    };
    match selection.unit {
        Unit::Char => Range { from, to: Spot { column: to.column.saturating_add(1), ..to } },
        Unit::Word => {
            let (start, _) = plain(from).word(from.column);
            let (_, end) = plain(to).word(to.column);
            Range { from: Spot { column: start, ..from }, to: Spot { column: end, ..to } }
        }
        Unit::Line => {
            let mut first = from;
            while first.row > 0 && plain(first).join != Join::Newline {
                first.row -= 1;
            }
            let mut last = to;
            loop {
                let below = Spot { row: last.row + 1, ..last };
                let line = plain(below);
                if line.join == Join::Newline {
                    break;
                }
                last = below;
            }
            Range { from: Spot { column: 0, ..first }, to: Spot { column: u16::MAX, ..last } }
        }
    }
}
