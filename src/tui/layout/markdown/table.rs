//! Tables: columns keep their natural width where they can, shrink and wrap where they cannot,
//! and become records (`header: value`) where a column would be narrower than a word.

use pulldown_cmark::Alignment;

use super::inline::InlineText;
use crate::tui::layout::wrap::{StyledPiece, WrapFrame, display_width, wrap};
use crate::tui::layout::{StyleRole, StyledLine, StyledSpan};

/// A word longer than this may be broken to make room for other columns.
const LONG_WORD: usize = 16;
/// Stands between two columns.
const SEPARATOR: &str = " │ ";

/// A table that is being read.
#[derive(Debug)]
pub(super) struct MarkdownTable<'e> {
    alignments: &'e [Alignment],
    /// The first row is the header.
    rows: Vec<MarkdownTableRow<'e>>,
    cell: Option<InlineText<'e>>,
}

#[derive(Debug)]
struct MarkdownTableRow<'e> {
    cells: Vec<Vec<StyledPiece<'e>>>,
    source: usize,
}

impl<'e> MarkdownTable<'e> {
    pub(super) fn new(alignments: &'e [Alignment]) -> Self {
        Self { alignments, rows: Vec::new(), cell: None }
    }

    pub(super) fn begin_row(&mut self, source: usize) {
        self.rows.push(MarkdownTableRow { cells: Vec::new(), source });
    }

    pub(super) fn begin_cell(&mut self, base: StyleRole) {
        let base = if self.rows.len() == 1 { StyleRole::Strong } else { base };
        self.cell = Some(InlineText::new(base));
    }

    pub(super) fn end_cell(&mut self) {
        if let (Some(cell), Some(row)) = (self.cell.take(), self.rows.last_mut()) {
            row.cells.push(cell.finish());
        }
    }

    /// The cell that is being read.
    pub(super) fn cell(&mut self) -> Option<&mut InlineText<'e>> {
        self.cell.as_mut()
    }

    /// Lays out the table inside `frame`.
    pub(super) fn lay(&self, frame: &WrapFrame, out: &mut Vec<StyledLine>) {
        let decoration: usize = frame.rest.iter().map(|span| display_width(&span.text)).sum();
        let width = usize::from(frame.width).saturating_sub(decoration);
        let start = out.len();
        match self.columns(width) {
            Some(columns) => self.grid(&columns, out),
            None => self.records(u16::try_from(width).unwrap_or(u16::MAX), out),
        }
        for (index, line) in out[start..].iter_mut().enumerate() {
            let spans = if index == 0 { &frame.first } else { &frame.rest };
            let width = u16::try_from(decoration).unwrap_or(0);
            line.spans.splice(0..0, spans.iter().cloned());
            line.gutter += width;
            line.runs.iter_mut().for_each(|run| run.column += width);
        }
    }

    /// The width of each column; `None` if they do not fit.
    fn columns(&self, width: usize) -> Option<Vec<usize>> {
        let count = self.alignments.len();
        let (mut natural, mut least) = (vec![1; count], vec![1; count]);
        for row in &self.rows {
            let columns = natural.iter_mut().zip(&mut least);
            for ((natural, least), cell) in columns.zip(&row.cells) {
                let text: String = cell.iter().map(|piece| &*piece.text).collect();
                let lines = text.split('\n').map(display_width);
                *natural = lines.max().unwrap_or(0).max(*natural);
                let words = text.split_whitespace().map(display_width);
                *least = words.max().unwrap_or(0).min(LONG_WORD).max(*least);
            }
        }
        let room = width.checked_sub(display_width(SEPARATOR) * count.saturating_sub(1))?;
        share(&natural, &least, room)
    }

    fn grid(&self, columns: &[usize], out: &mut Vec<StyledLine>) {
        let rows: Vec<Vec<Vec<StyledLine>>> =
            self.rows.iter().map(|row| lay_row(row, columns)).collect();
        // Rules between the rows tell rows of several lines apart.
        let tall = rows.iter().skip(1).flatten().any(|cell| cell.len() > 1);
        for (index, (row, cells)) in self.rows.iter().zip(&rows).enumerate() {
            let height = cells.iter().map(Vec::len).max().unwrap_or(1).max(1);
            for at in 0..height {
                out.push(self.grid_line(columns, cells, at, row.source));
            }
            if index == 0 || (tall && index + 1 < rows.len()) {
                out.push(rule(columns, row.source));
            }
        }
    }

    fn grid_line(
        &self,
        columns: &[usize],
        cells: &[Vec<StyledLine>],
        at: usize,
        source: usize,
    ) -> StyledLine {
        let mut spans = Vec::new();
        let mut out = StyledLine { source, ..StyledLine::default() };
        let mut column = 0;
        for (index, width) in columns.iter().enumerate() {
            if index > 0 {
                spans.push(StyledSpan::new(SEPARATOR, StyleRole::Border));
            }
            let line = cells.get(index).and_then(|cell| cell.get(at));
            let text = line.map_or(&[][..], |line| &line.spans);
            let taken: usize = text.iter().map(|span| display_width(&span.text)).sum();
            let free = width.saturating_sub(taken);
            let before = match self.alignments.get(index) {
                Some(Alignment::Right) => free,
                Some(Alignment::Center) => free / 2,
                Some(Alignment::Left | Alignment::None) | None => 0,
            };
            pad(before, &mut spans);
            let at = u16::try_from(column + before).unwrap_or(u16::MAX);
            out.append_runs(line.map_or(&[][..], |line| &line.runs), at);
            column += width + display_width(SEPARATOR);
            spans.extend_from_slice(text);
            if index + 1 < columns.len() {
                pad(free - before, &mut spans);
            }
        }
        StyledLine { spans, ..out }
    }

    /// One line for each cell, after the header of its column.
    fn records(&self, width: u16, out: &mut Vec<StyledLine>) {
        let head = self.rows.first();
        let rows = if self.rows.len() > 1 { &self.rows[1..] } else { &self.rows[..] };
        for (index, row) in rows.iter().enumerate() {
            if index > 0 {
                out.push(rule(&[usize::from(width)], row.source));
            }
            for (column, cell) in row.cells.iter().enumerate() {
                let title = head.filter(|_| self.rows.len() > 1);
                let title = title.and_then(|head| head.cells.get(column));
                let mut pieces = title.cloned().unwrap_or_default();
                // The repeated header is not in the source at this place.
                for piece in &mut pieces {
                    piece.source = row.source..row.source;
                }
                if !pieces.is_empty() && !cell.is_empty() {
                    let source = row.source..row.source;
                    pieces.push(StyledPiece::new(": ", StyleRole::Muted, source));
                }
                pieces.extend_from_slice(cell);
                let frame = WrapFrame {
                    rest: vec![StyledSpan::new("  ", StyleRole::Text)],
                    source: row.source,
                    ..WrapFrame::prose(width)
                };
                let from = out.len();
                wrap(&pieces, &frame, out);
                // The header stands far above, so the row is the anchor.
                for line in &mut out[from..] {
                    line.source = row.source;
                }
            }
        }
    }
}

/// Divides `room` among columns. None gets less than its longest word needs or more than its text
/// takes; between these limits all are equally wide. `None` if there is not room for the words.
fn share(natural: &[usize], least: &[usize], room: usize) -> Option<Vec<usize>> {
    let at = |level: usize| -> Vec<usize> {
        let both = natural.iter().zip(least);
        both.map(|(natural, least)| level.clamp(*least, (*natural).max(*least))).collect()
    };
    let fits = |columns: &[usize]| columns.iter().sum::<usize>() <= room;
    if !fits(&at(0)) {
        return None;
    }
    let levels: Vec<usize> = (0..=room).collect();
    let level = levels.partition_point(|level| fits(&at(*level))).saturating_sub(1);
    let (mut columns, next) = (at(level), at(level + 1));
    let mut left = room - columns.iter().sum::<usize>();
    for (column, next) in columns.iter_mut().zip(next) {
        let more = (next - *column).min(left);
        *column += more;
        left -= more;
    }
    Some(columns)
}

fn lay_row(row: &MarkdownTableRow<'_>, columns: &[usize]) -> Vec<Vec<StyledLine>> {
    let cells = row.cells.iter().zip(columns);
    let lay = |(cell, width): (&Vec<StyledPiece<'_>>, &usize)| {
        let mut lines = Vec::new();
        wrap(cell, &WrapFrame::prose(u16::try_from(*width).unwrap_or(u16::MAX)), &mut lines);
        lines
    };
    cells.map(lay).collect()
}

fn rule(columns: &[usize], source: usize) -> StyledLine {
    let parts: Vec<String> = columns.iter().map(|width| "─".repeat(*width)).collect();
    let text = parts.join("─┼─");
    let gutter = u16::try_from(display_width(&text)).unwrap_or(u16::MAX);
    StyledLine {
        spans: vec![StyledSpan::new(text, StyleRole::Border)],
        source,
        gutter,
        ..StyledLine::default()
    }
}

fn pad(columns: usize, spans: &mut Vec<StyledSpan>) {
    if columns > 0 {
        spans.push(StyledSpan::new(" ".repeat(columns), StyleRole::Text));
    }
}
