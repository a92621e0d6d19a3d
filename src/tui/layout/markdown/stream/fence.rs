//! A code block that is still being written: its complete lines are laid out once, and once more
//! when their colours have arrived.

use std::ops::Range;

use super::super::blocks::PrecedingBlock;
use super::super::code::{self, CodeText};
use crate::tui::layout::highlight::{HighlightResult, SyntaxHighlighter};
use crate::tui::layout::{HighlightState, StyledLine};

/// A code block whose complete lines are frozen.
#[derive(Debug, Default)]
pub(super) struct OpenCodeBlock {
    pub(super) start: usize,
    /// The line with the fence, which is put before the rest of the code when that is parsed.
    pub(super) opening: String,
    pub(super) language: String,
    code: String,
    rows: Vec<CodeBlockRow>,
    /// How many rows are laid out with their colours.
    coloured: usize,
    known: HighlightResult,
    /// The generation at which the colours were last requested.
    asked: u64,
    /// Decides whether a blank line belongs above the code.
    pub(super) above: PrecedingBlock,
    /// Lines of the layout that belong to the block above its code: a blank line, and the language.
    pub(super) top: usize,
}

/// A line of code: its range in the code, and its start in the source and in the layout.
#[derive(Debug)]
struct CodeBlockRow {
    code: Range<usize>,
    source: usize,
    line: usize,
}

impl OpenCodeBlock {
    /// A block that begins at `start` with the line `opening`, and has no line of code yet.
    pub(super) fn new(
        start: usize,
        opening: String,
        language: String,
        above: PrecedingBlock,
        top: usize,
    ) -> Self {
        Self { start, opening, language, above, top, ..Self::default() }
    }

    /// Adds complete lines of code, and appends their layout to `lines`.
    pub(super) fn extend(
        &mut self,
        new: &CodeText,
        width: u16,
        highlighter: &SyntaxHighlighter,
        lines: &mut Vec<StyledLine>,
    ) {
        let mut at = self.code.len();
        for (line, source) in new.lines() {
            self.rows.push(CodeBlockRow { code: at..at + line.len(), source, line: usize::MAX });
            at += line.len() + 1;
        }
        self.code.push_str(&new.text);
        self.lay(width, highlighter, lines);
    }

    /// Lays out the rows that are new or have got their colours. They are the last of `lines`.
    pub(super) fn lay(
        &mut self,
        width: u16,
        highlighter: &SyntaxHighlighter,
        lines: &mut Vec<StyledLine>,
    ) {
        let generation = highlighter.generation();
        if self.known.colours == HighlightState::Final || self.asked != generation {
            self.known = code::highlight(highlighter, &self.language, &self.code);
            self.asked = generation;
        }
        let laid = self.rows.partition_point(|row| row.line != usize::MAX);
        let from = if self.known.len() > self.coloured { self.coloured } else { laid };
        if from < laid {
            lines.truncate(self.rows[from].line);
        }
        let frame = code::frame(width);
        for (index, row) in self.rows.iter_mut().enumerate().skip(from) {
            row.line = lines.len();
            let line = &self.code[row.code.clone()];
            code::line(line, row.source, index, &self.language, &self.known, &frame, lines);
        }
        self.coloured = match self.known.colours {
            HighlightState::Final => self.rows.len(),
            HighlightState::Pending => self.known.len().min(self.rows.len()),
        };
    }

    /// Applies `moved` to the rows' line numbers: lines above them were added or removed.
    pub(super) fn shift(&mut self, moved: impl Fn(usize) -> usize) {
        for row in self.rows.iter_mut().filter(|row| row.line != usize::MAX) {
            row.line = moved(row.line);
        }
    }

    /// Lays out the incomplete last line, without colours.
    pub(super) fn lay_open(&self, rest: &CodeText, width: u16, lines: &mut Vec<StyledLine>) {
        let frame = code::frame(width);
        let known = HighlightResult::default();
        for (line, source) in rest.lines() {
            code::line(line, source, 0, &self.language, &known, &frame, lines);
        }
    }

    /// The line of the first row, unless all rows have their colours.
    pub(super) fn uncoloured(&self) -> Option<usize> {
        let first = self.rows.first()?;
        (self.coloured < self.rows.len()).then_some(first.line)
    }
}
