//! Diffs: old and new line numbers, signs, code in its colours, and the changed words marked.
//!
//! Unified, or side by side where the screen is wide. Line numbers and signs are decoration, so
//! that what is copied is code. Added and removed lines differ by their sign, never by colour
//! alone; their background fills the column. [`rows`] says what there is to lay out, a
//! [`DiffRenderer`] lays out one row of it, so that a long diff costs what is visible.

pub mod rows;
mod words;

use std::ops::{Deref, Range};

use super::highlight::HighlightResult;
use super::wrap::{WrapFrame, display_width, truncate};
use super::{
    BlockLayout, HighlightState, StyleRole, StyledLine, StyledSpan, SyntaxHighlighter,
    SyntaxTokenKind, code, two_columns,
};
use crate::domain::{DiffLine, DiffLineTag, FileDiff, LineEnding};
use rows::{DiffFolds, DiffLineEntry, DiffRow, DiffStyle};

/// From this width on, old and new stand side by side by default.
pub const SIDE_BY_SIDE: u16 = 140;
/// Line numbers are left out where they would leave fewer columns than this for text.
const MIN_TEXT: usize = 20;

/// The default style of a diff in a column of this width.
pub fn default_diff_style(width: u16) -> DiffStyle {
    if width >= SIDE_BY_SIDE { DiffStyle::SideBySide } else { DiffStyle::Unified }
}

/// The style of this diff: a file that is new or gone has no other side.
fn style_of(diff: &FileDiff, width: u16) -> DiffStyle {
    let is_all = |tag| diff.lines().all(|(_, line)| line.tag == tag);
    match is_all(DiffLineTag::Added) || is_all(DiffLineTag::Removed) {
        true => DiffStyle::Unified,
        false => default_diff_style(width),
    }
}

/// Lays out the beginning of a diff: at most about `most` rows of the screen, with a note of how
/// many lines of the diff are missing.
pub fn render(
    diff: &FileDiff,
    width: u16,
    most: usize,
    highlighter: &SyntaxHighlighter,
) -> BlockLayout {
    let sides = style_of(diff, width);
    let renderer = DiffRenderer::new(diff, width, most, highlighter);
    let mut lines = Vec::new();
    let rows = rows::rows(diff, sides, &DiffFolds::All, most);
    let mut shown = 0;
    for row in &rows.rows {
        if lines.len() >= most {
            break;
        }
        renderer.lay(row, &mut lines);
        shown += match row {
            DiffRow::Line(_) | DiffRow::Pair(Some(_), None) | DiffRow::Pair(None, Some(_)) => 1,
            DiffRow::Pair(Some(old), Some(new)) if old == new => 1,
            DiffRow::Pair(..) => 2,
            DiffRow::Note(_) | DiffRow::Folded { .. } | DiffRow::Omitted(_) => 0,
        };
    }
    let hidden = diff.lines().count().saturating_sub(shown);
    if hidden > 0 {
        lines.push(renderer.note(&format!("… {hidden} more lines · /diff shows all"), 0));
    }
    BlockLayout { lines, colours: renderer.colours() }
}

/// Lays out the whole diff, and returns which of the lines each of its changes takes.
pub fn render_whole(
    diff: &FileDiff,
    width: u16,
    highlighter: &SyntaxHighlighter,
) -> (BlockLayout, Vec<Range<usize>>) {
    let renderer = DiffRenderer::new(diff, width, usize::MAX, highlighter);
    let rows = rows::rows(diff, style_of(diff, width), &DiffFolds::All, usize::MAX);
    let mut lines = Vec::new();
    let mut places: Vec<Range<usize>> = Vec::with_capacity(rows.changes.len());
    for (at, row) in rows.rows.iter().enumerate() {
        let start = lines.len();
        renderer.lay(row, &mut lines);
        if rows.changes.get(places.len()) == Some(&at) {
            places.push(start..start);
        }
        if let Some(place) = places.last_mut().filter(|_| renderer.is_change(row)) {
            place.end = lines.len();
        }
    }
    (BlockLayout { lines, colours: renderer.colours() }, places)
}

/// A diff at one width; lays out its rows one by one.
#[derive(Debug)]
pub struct DiffRenderer<D> {
    diff: D,
    entries: Vec<DiffLineEntry>,
    old: HighlightResult,
    new: HighlightResult,
    /// Columns of a line number.
    digits: usize,
    width: u16,
}

/// Which numbers a line shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DiffNumberColumns {
    Both,
    Old,
    New,
}

impl<D: Deref<Target = FileDiff>> DiffRenderer<D> {
    /// A renderer for the first `most` lines of a diff in a column of this width.
    pub fn new(diff: D, width: u16, most: usize, highlighter: &SyntaxHighlighter) -> Self {
        let entries = rows::entries(&diff, most);
        let language = diff
            .path
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let side = |without: DiffLineTag| {
            let lines = entries.iter().filter(|entry| entry.tag != without);
            let lines = lines.filter_map(|entry| entry.line(&diff));
            let code: String = lines.flat_map(|line| [line.text.as_str(), "\n"]).collect();
            highlighter.highlight(&language, &code)
        };
        let (old, new) = (side(DiffLineTag::Added), side(DiffLineTag::Removed));
        let last = entries.iter().rev().find_map(|entry| entry.old.max(entry.new));
        // At least four digits, so that the text of most diffs starts at the same column.
        let digits = last.unwrap_or(0).to_string().len().max(4);
        Self { diff, entries, old, new, digits, width }
    }

    /// Whether the code has its final colours.
    pub fn colours(&self) -> HighlightState {
        self.old.colours.and(self.new.colours)
    }

    /// Whether a row shows removed or added lines.
    fn is_change(&self, row: &DiffRow) -> bool {
        let changed =
            |at: usize| self.entries.get(at).is_some_and(|entry| entry.tag != DiffLineTag::Context);
        match row {
            DiffRow::Line(at) | DiffRow::Pair(Some(at), _) | DiffRow::Pair(None, Some(at)) => {
                changed(*at)
            }
            DiffRow::Pair(None, None)
            | DiffRow::Note(_)
            | DiffRow::Folded { .. }
            | DiffRow::Omitted(_) => false,
        }
    }

    /// Lays out a row and appends its lines to `out`.
    pub fn lay(&self, row: &DiffRow, out: &mut Vec<StyledLine>) {
        let entry = |at: Option<usize>| at.and_then(|at| self.entries.get(at));
        match row {
            DiffRow::Note(text) => out.push(self.note(text, 0)),
            DiffRow::Folded { from, count } => {
                let source = entry(Some(*from)).map_or(0, |entry| entry.source);
                out.push(self.note(&format!("⋯ {}", unchanged(*count)), source));
            }
            DiffRow::Omitted(count) => {
                let source = out.last().map_or(0, |line| line.source);
                out.push(self.note(&format!("⋯ {}", unchanged(*count)), source));
            }
            DiffRow::Line(at) => {
                if let Some(entry) = entry(Some(*at)) {
                    self.line(entry, DiffNumberColumns::Both, self.width, out);
                }
            }
            DiffRow::Pair(old, new) => self.side_by_side(entry(*old), entry(*new), out),
        }
    }

    fn side_by_side(
        &self,
        old: Option<&DiffLineEntry>,
        new: Option<&DiffLineEntry>,
        out: &mut Vec<StyledLine>,
    ) {
        let width = two_columns::column(self.width);
        let (mut left, mut right) = (Vec::new(), Vec::new());
        if let Some(entry) = old {
            self.line(entry, DiffNumberColumns::Old, width, &mut left);
        }
        if let Some(entry) = new {
            self.line(entry, DiffNumberColumns::New, width, &mut right);
        }
        let source = old.or(new).map_or(0, |entry| entry.source);
        // A side that has ended keeps its background beside the rest of the other side.
        let fills = (old.and_then(fill), new.and_then(fill));
        out.extend(two_columns::rows(left, right, fills, width, source));
    }

    /// Lays out one line after its numbers and its sign.
    fn line(
        &self,
        entry: &DiffLineEntry,
        numbers: DiffNumberColumns,
        width: u16,
        out: &mut Vec<StyledLine>,
    ) {
        let Some(line) = entry.line(&self.diff) else { return };
        let tokens = match (entry.tag, numbers) {
            (DiffLineTag::Removed, _) | (DiffLineTag::Context, DiffNumberColumns::Old) => {
                self.old.line(entry.old_row)
            }
            (DiffLineTag::Added, _)
            | (DiffLineTag::Context, DiffNumberColumns::Both | DiffNumberColumns::New) => {
                self.new.line(entry.new_row)
            }
        };
        let (plain, changed, coloured) = roles(entry.tag);
        let tokens = tokens.iter().map(|token| (token.end as usize, coloured(token.syntax)));
        let words = self.changed(entry, line);
        let runs = overlay(tokens, &words, changed, plain, line.text.len());
        let first = self.gutter(entry, numbers, width);
        let blank: usize = first.iter().map(|span| display_width(&span.text)).sum();
        let frame = WrapFrame {
            first,
            rest: vec![StyledSpan::new(" ".repeat(blank), StyleRole::LineNumber)],
            ..WrapFrame::prose(width)
        };
        let begin = out.len();
        code::line(&line.text, runs, plain, entry.source, &frame, out);
        if let Some(mark) = self.end_mark(entry, line)
            && let Some(last) = out.last_mut()
            && spans_width(&last.spans) < usize::from(width)
        {
            last.spans.push(StyledSpan::new(mark, changed));
        }
        for row in &mut out[begin..] {
            row.fill = fill(entry);
        }
        if line.end == LineEnding::Missing {
            let text = truncate("\\ no newline at the end of the file", usize::from(width));
            out.push(note(text.into_owned(), entry.source));
        }
    }

    /// The byte ranges of the words that changed in a line.
    fn changed(&self, entry: &DiffLineEntry, line: &DiffLine) -> Vec<Range<usize>> {
        match (entry.tag, self.counterpart(entry)) {
            (DiffLineTag::Context, _) | (_, None) => Vec::new(),
            (DiffLineTag::Removed, Some(new)) => words::changed(&line.text, &new.text).0,
            (DiffLineTag::Added, Some(old)) => words::changed(&old.text, &line.text).1,
        }
    }

    /// A mark for a line of which only the line end changed.
    fn end_mark(&self, entry: &DiffLineEntry, line: &DiffLine) -> Option<&'static str> {
        let partner = self.counterpart(entry)?;
        let same = partner.text == line.text && partner.end != line.end;
        match line.end {
            LineEnding::CrLf if same => Some("␍␊"),
            LineEnding::Lf if same => Some("␊"),
            LineEnding::CrLf | LineEnding::Lf | LineEnding::Missing => None,
        }
    }

    /// The line that replaced this one, or that this one replaced.
    fn counterpart(&self, entry: &DiffLineEntry) -> Option<&DiffLine> {
        self.entries.get(entry.counterpart?)?.line(&self.diff)
    }

    fn gutter(
        &self,
        entry: &DiffLineEntry,
        numbers: DiffNumberColumns,
        width: u16,
    ) -> Vec<StyledSpan> {
        let digits = self.digits;
        let number = |line: Option<usize>| line.map_or(String::new(), |line| line.to_string());
        let numbers = match numbers {
            DiffNumberColumns::Both => {
                format!("{:>digits$} {:>digits$} ", number(entry.old), number(entry.new))
            }
            DiffNumberColumns::Old => format!("{:>digits$} ", number(entry.old)),
            DiffNumberColumns::New => format!("{:>digits$} ", number(entry.new)),
        };
        let (sign, role) = match entry.tag {
            DiffLineTag::Context => ("  ", StyleRole::LineNumber),
            DiffLineTag::Removed => ("- ", StyleRole::Removed),
            DiffLineTag::Added => ("+ ", StyleRole::Added),
        };
        if usize::from(width) < numbers.len() + sign.len() + MIN_TEXT {
            return vec![StyledSpan::new(sign, role)];
        }
        vec![StyledSpan::new(numbers, StyleRole::LineNumber), StyledSpan::new(sign, role)]
    }

    /// A note between the lines of the diff, aligned with their text.
    fn note(&self, text: &str, source: usize) -> StyledLine {
        let indent = self.digits.saturating_sub(1).min(usize::from(self.width) / 4);
        let text = truncate(text, usize::from(self.width).saturating_sub(indent)).into_owned();
        note(format!("{:indent$}{text}", ""), source)
    }
}

/// The text for `count` unchanged lines.
fn unchanged(count: usize) -> String {
    match count {
        1 => "1 unchanged line".to_owned(),
        count => format!("{count} unchanged lines"),
    }
}

fn note(text: String, source: usize) -> StyledLine {
    let gutter = u16::try_from(display_width(&text)).unwrap_or(u16::MAX);
    StyledLine {
        spans: vec![StyledSpan::new(text, StyleRole::Muted)],
        source,
        gutter,
        ..StyledLine::default()
    }
}

/// The role that fills the rest of a row.
fn fill(entry: &DiffLineEntry) -> Option<StyleRole> {
    match entry.tag {
        DiffLineTag::Context => None,
        DiffLineTag::Removed => Some(StyleRole::Removed),
        DiffLineTag::Added => Some(StyleRole::Added),
    }
}

/// The roles of a line's text, of its changed words, and of its code.
fn roles(tag: DiffLineTag) -> (StyleRole, StyleRole, fn(SyntaxTokenKind) -> StyleRole) {
    match tag {
        DiffLineTag::Context => (StyleRole::CodeBlock, StyleRole::CodeBlock, StyleRole::Syntax),
        DiffLineTag::Removed => {
            (StyleRole::Removed, StyleRole::RemovedWord, StyleRole::RemovedSyntax)
        }
        DiffLineTag::Added => (StyleRole::Added, StyleRole::AddedWord, StyleRole::AddedSyntax),
    }
}

/// The runs of a line: its tokens, with the changed words marked over them.
fn overlay(
    tokens: impl Iterator<Item = (usize, StyleRole)>,
    changed: &[Range<usize>],
    word: StyleRole,
    plain: StyleRole,
    length: usize,
) -> Vec<(usize, StyleRole)> {
    let mut runs = Vec::new();
    let mut at = 0;
    for (end, role) in tokens.chain([(length, plain)]) {
        let first = changed.partition_point(|range| range.end <= at);
        for range in changed[first..].iter().take_while(|range| range.start < end) {
            runs.push((range.start.max(at), role));
            runs.push((range.end.min(end), word));
        }
        runs.push((end, role));
        at = end;
    }
    runs
}

fn spans_width(spans: &[StyledSpan]) -> usize {
    spans.iter().map(|span| display_width(&span.text)).sum()
}

#[cfg(test)]
mod tests;
