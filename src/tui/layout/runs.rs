//! Records which columns of a line show which bytes of its block's source. Selection, search and
//! the caret use this to get from a cell to the text and back. Decoration is in no run.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::{StyledLine, StyledSpan};

/// Adjacent columns that show a part of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceRun {
    /// The first column.
    pub column: u16,
    /// Number of columns.
    pub width: u16,
    /// Start of the part in the source, in bytes.
    pub source: usize,
    /// Length of the part in bytes. If it equals `width`, each column shows one byte; otherwise
    /// every column shows the whole part.
    pub bytes: usize,
}

impl SourceRun {
    /// Appends a run on the right; merges it with the last one if both are contiguous.
    pub fn push(runs: &mut Vec<Self>, run: Self) {
        if run.width == 0 {
            return;
        }
        match runs.last_mut() {
            Some(last)
                if last.is_linear()
                    && run.is_linear()
                    && last.column + last.width == run.column
                    && last.source + last.bytes == run.source =>
            {
                last.width += run.width;
                last.bytes += run.bytes;
            }
            Some(_) | None => runs.push(run),
        }
    }

    /// Appends the runs of a text that is shown as it stands in the source. Returns the column
    /// after it.
    pub fn push_text(runs: &mut Vec<Self>, text: &str, column: u16, source: usize) -> u16 {
        if text.is_ascii() {
            let width = narrow(text.len());
            Self::push(runs, Self { column, width, source, bytes: text.len() });
            return column.saturating_add(width);
        }
        let mut column = column;
        for (at, cluster) in text.grapheme_indices(true) {
            let width = narrow(cluster.width());
            Self::push(runs, Self { column, width, source: source + at, bytes: cluster.len() });
            column = column.saturating_add(width);
        }
        column
    }

    /// The column after the run.
    pub fn end(&self) -> u16 {
        self.column.saturating_add(self.width)
    }

    /// The part of the source that the run shows.
    pub fn range(&self) -> Range<usize> {
        self.source..self.source + self.bytes
    }

    /// The bytes that column `column` of the line shows.
    pub fn at(&self, column: u16) -> Range<usize> {
        if !self.is_linear() {
            return self.range();
        }
        let at = self.source + usize::from(column.saturating_sub(self.column));
        at..at + 1
    }

    /// The columns that show any of these bytes: the first, and the one after the last.
    pub fn columns(&self, bytes: &Range<usize>) -> Option<(u16, u16)> {
        let from = bytes.start.max(self.source);
        let to = bytes.end.min(self.source + self.bytes);
        if from >= to {
            return None;
        }
        if !self.is_linear() {
            return Some((self.column, self.end()));
        }
        let column = |at: usize| self.column + narrow(at - self.source);
        Some((column(from), column(to)))
    }

    fn is_linear(&self) -> bool {
        usize::from(self.width) == self.bytes
    }
}

impl StyledLine {
    /// Puts decoration of this width on the left of the line.
    pub fn indent(&mut self, decoration: StyledSpan, width: u16) {
        self.spans.insert(0, decoration);
        self.gutter += width;
        for run in &mut self.runs {
            run.column += width;
        }
    }

    /// Moves all source positions by `by` bytes: the line was laid out from a part of the source.
    pub fn move_source(&mut self, by: usize) {
        self.source += by;
        for run in &mut self.runs {
            run.source += by;
        }
    }

    /// Appends the runs of another line that stands to the right, starting at `column`.
    pub fn append_runs(&mut self, runs: &[SourceRun], column: u16) {
        self.runs.extend(runs.iter().map(|run| SourceRun { column: run.column + column, ..*run }));
    }
}

fn narrow(columns: usize) -> u16 {
    u16::try_from(columns).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_knows_its_bytes_and_bytes_know_their_columns() {
        let mut runs = Vec::new();
        assert_eq!(SourceRun::push_text(&mut runs, "ab日c", 2, 10), 7);
        let columns: Vec<_> = runs.iter().map(|run| (run.column, run.width)).collect();
        assert_eq!(columns, [(2, 2), (4, 2), (6, 1)]);
        assert_eq!((runs[0].at(3), runs[1].at(5)), (11..12, 12..15));
        assert_eq!(runs[0].columns(&(11..13)), Some((3, 4)));
        assert_eq!(runs[1].columns(&(11..13)), Some((4, 6)));
        assert_eq!(runs[2].columns(&(11..13)), None);
    }

    #[test]
    fn contiguous_runs_are_merged() {
        let mut runs = Vec::new();
        SourceRun::push_text(&mut runs, "ab", 0, 0);
        SourceRun::push_text(&mut runs, "cd", 2, 2);
        assert_eq!(runs, [SourceRun { column: 0, width: 4, source: 0, bytes: 4 }]);
        SourceRun::push_text(&mut runs, "e", 4, 6);
        assert_eq!(runs.len(), 2, "bytes between them are not shown");
    }
}
