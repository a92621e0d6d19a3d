//! Diffs: old and new line numbers, signs, code in its colours, and the changed words marked.
//!
//! Unified, or side by side where the screen is wide. Line numbers and signs are decoration, so
//! that what is copied is code. Added and removed lines differ by their sign, never by colour
//! alone.

mod words;

use std::ops::Range;

use super::highlight::Highlighted;
use super::wrap::{Breaks, Frame, display_width};
use super::{Highlighter, Laid, Line, Role, Span, Syntax, code};
use crate::domain::{Diff, DiffLine, Hunk, LineTag};

/// From this width on, old and new stand side by side.
pub const SIDE_BY_SIDE: u16 = 140;
/// Below this many columns for the text, line numbers are left out.
const MIN_TEXT: usize = 20;
/// Between the sides.
const DIVIDER: &str = " │ ";

/// Lays out a diff.
pub fn render(diff: &Diff, width: u16, highlighter: &Highlighter) -> Laid {
    let colours = CodeColours::of(diff, highlighter);
    let mut painter = Painter { colours: &colours, digits: digits(diff), width, out: Vec::new() };
    let mut place = Place::default();
    for (index, hunk) in diff.hunks.iter().enumerate() {
        if index > 0 {
            painter.separator(place.source);
        }
        let lines = place.hunk(hunk);
        if width >= SIDE_BY_SIDE {
            painter.side_by_side(&lines);
        } else {
            painter.unified(&lines);
        }
    }
    Laid { lines: painter.out, colours: colours.old.colours.and(colours.new.colours) }
}

/// The highlighted code of both sides.
struct CodeColours {
    old: Highlighted,
    new: Highlighted,
}

/// A line of a hunk and all that is known of it.
struct Entry<'d> {
    line: &'d DiffLine,
    /// Its numbers in the old and the new file.
    old: Option<usize>,
    new: Option<usize>,
    /// Which lines of the highlighted code of the sides it is.
    old_row: usize,
    new_row: usize,
    /// The words that changed.
    changed: Vec<Range<usize>>,
    source: usize,
}

/// How far the diff has been read: lines of each side, and bytes in all.
#[derive(Default)]
struct Place {
    old: usize,
    new: usize,
    source: usize,
}

struct Painter<'d> {
    colours: &'d CodeColours,
    /// Width of a line number.
    digits: usize,
    width: u16,
    out: Vec<Line>,
}

/// Which numbers a line shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    Both,
    Old,
    New,
}

impl CodeColours {
    fn of(diff: &Diff, highlighter: &Highlighter) -> Self {
        let language = diff
            .path
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let side = |without: LineTag| {
            let lines = diff.hunks.iter().flat_map(|hunk| &hunk.lines);
            let lines = lines.filter(|line| line.tag != without);
            let code: String = lines.flat_map(|line| [line.text.as_str(), "\n"]).collect();
            highlighter.highlight(&language, &code)
        };
        Self { old: side(LineTag::Added), new: side(LineTag::Removed) }
    }
}

impl Place {
    /// Numbers the lines of a hunk and finds the changed words.
    fn hunk<'d>(&mut self, hunk: &'d Hunk) -> Vec<Entry<'d>> {
        let (mut old, mut new) = (hunk.old_start, hunk.new_start);
        let mut entries: Vec<Entry<'d>> = Vec::with_capacity(hunk.lines.len());
        for line in &hunk.lines {
            let (in_old, in_new) = (line.tag != LineTag::Added, line.tag != LineTag::Removed);
            entries.push(Entry {
                line,
                old: in_old.then_some(old),
                new: in_new.then_some(new),
                old_row: self.old,
                new_row: self.new,
                changed: Vec::new(),
                source: self.source,
            });
            old += usize::from(in_old);
            new += usize::from(in_new);
            self.old += usize::from(in_old);
            self.new += usize::from(in_new);
            self.source += line.text.len() + 1;
        }
        for (removed, added) in pairs(&entries) {
            if let (Some(removed), Some(added)) = (removed, added) {
                let (old, new) = (&entries[removed].line.text, &entries[added].line.text);
                let (old, new) = words::changed(old, new);
                (entries[removed].changed, entries[added].changed) = (old, new);
            }
        }
        entries
    }
}

/// The changed lines of a hunk, those of a removed run beside those of the added run after it.
fn pairs(entries: &[Entry<'_>]) -> Vec<(Option<usize>, Option<usize>)> {
    let mut pairs = Vec::new();
    let mut at = 0;
    while at < entries.len() {
        let run = |from: usize, tag: LineTag| {
            from + entries[from..].iter().take_while(|entry| entry.line.tag == tag).count()
        };
        let removed = run(at, LineTag::Removed);
        let added = run(removed, LineTag::Added);
        let length = (removed - at).max(added - removed);
        for offset in 0..length {
            let old = (at + offset < removed).then_some(at + offset);
            let new = (removed + offset < added).then_some(removed + offset);
            pairs.push((old, new));
        }
        at = added;
        if length == 0 {
            pairs.push((Some(at), Some(at)));
            at += 1;
        }
    }
    pairs
}

impl Painter<'_> {
    fn unified(&mut self, entries: &[Entry<'_>]) {
        let mut lines = std::mem::take(&mut self.out);
        for entry in entries {
            self.line(entry, Numbers::Both, self.width, &mut lines);
        }
        self.out = lines;
    }

    fn side_by_side(&mut self, entries: &[Entry<'_>]) {
        let column = (usize::from(self.width) - display_width(DIVIDER)) / 2;
        let width = u16::try_from(column).unwrap_or(u16::MAX);
        for (old, new) in pairs(entries) {
            let (mut left, mut right) = (Vec::new(), Vec::new());
            let of = |index: Option<usize>| index.and_then(|index| entries.get(index));
            if let Some(entry) = of(old) {
                self.line(entry, Numbers::Old, width, &mut left);
            }
            if let Some(entry) = of(new) {
                self.line(entry, Numbers::New, width, &mut right);
            }
            let source = of(old).or(of(new)).map_or(0, |entry| entry.source);
            let (mut left, mut right) = (left.into_iter(), right.into_iter());
            loop {
                let row = (left.next(), right.next());
                if row == (None, None) {
                    break;
                }
                self.out.push(beside(row.0, row.1, column, source));
            }
        }
    }

    /// Lays out one line behind its numbers and its sign.
    fn line(&self, entry: &Entry<'_>, numbers: Numbers, width: u16, out: &mut Vec<Line>) {
        let tokens = match (entry.line.tag, numbers) {
            (LineTag::Removed, _) | (LineTag::Context, Numbers::Old) => {
                self.colours.old.line(entry.old_row)
            }
            (LineTag::Added, _) | (LineTag::Context, Numbers::Both | Numbers::New) => {
                self.colours.new.line(entry.new_row)
            }
        };
        let (plain, changed, coloured) = roles(entry.line.tag);
        let tokens = tokens.iter().map(|token| (token.end as usize, coloured(token.syntax)));
        let runs = overlay(tokens, &entry.changed, changed, plain, entry.line.text.len());
        let first = self.gutter(entry, numbers, width);
        let blank: usize = first.iter().map(|span| display_width(&span.text)).sum();
        let frame = Frame {
            first,
            rest: vec![Span::new(" ".repeat(blank), Role::LineNumber)],
            breaks: Breaks::Anywhere,
            ..Frame::prose(width)
        };
        code::line(&entry.line.text, runs, plain, entry.source, &frame, out);
    }

    fn gutter(&self, entry: &Entry<'_>, numbers: Numbers, width: u16) -> Vec<Span> {
        let digits = self.digits;
        let number = |line: Option<usize>| line.map_or(String::new(), |line| line.to_string());
        let numbers = match numbers {
            Numbers::Both => {
                format!("{:>digits$} {:>digits$} ", number(entry.old), number(entry.new))
            }
            Numbers::Old => format!("{:>digits$} ", number(entry.old)),
            Numbers::New => format!("{:>digits$} ", number(entry.new)),
        };
        let (sign, role) = match entry.line.tag {
            LineTag::Context => ("  ", Role::LineNumber),
            LineTag::Removed => ("- ", Role::Removed),
            LineTag::Added => ("+ ", Role::Added),
        };
        if usize::from(width) < numbers.len() + sign.len() + MIN_TEXT {
            return vec![Span::new(sign, role)];
        }
        vec![Span::new(numbers, Role::LineNumber), Span::new(sign, role)]
    }

    /// Between two hunks.
    fn separator(&mut self, source: usize) {
        let text = format!("{:>width$}", "⋯", width = self.digits.min(usize::from(self.width)));
        let gutter = u16::try_from(display_width(&text)).unwrap_or(u16::MAX);
        let spans = vec![Span::new(text, Role::Muted)];
        self.out.push(Line { spans, source, gutter, ..Line::default() });
    }
}

/// The roles of a line's text, of its changed words, and of its code.
fn roles(tag: LineTag) -> (Role, Role, fn(Syntax) -> Role) {
    match tag {
        LineTag::Context => (Role::CodeBlock, Role::CodeBlock, Role::Syntax),
        LineTag::Removed => (Role::Removed, Role::RemovedWord, Role::RemovedSyntax),
        LineTag::Added => (Role::Added, Role::AddedWord, Role::AddedSyntax),
    }
}

/// The runs of a line: its tokens, and over them the words that changed.
fn overlay(
    tokens: impl Iterator<Item = (usize, Role)>,
    changed: &[Range<usize>],
    word: Role,
    plain: Role,
    length: usize,
) -> Vec<(usize, Role)> {
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

/// Two lines as one.
fn beside(left: Option<Line>, right: Option<Line>, column: usize, source: usize) -> Line {
    let Line { mut spans, runs, .. } = left.unwrap_or_default();
    let taken: usize = spans.iter().map(|span| display_width(&span.text)).sum();
    spans.push(Span::new(" ".repeat(column.saturating_sub(taken)), Role::Text));
    spans.push(Span::new(DIVIDER, Role::Border));
    let right = right.unwrap_or_default();
    spans.extend(right.spans);
    let mut line = Line { spans, source, runs, ..Line::default() };
    line.beside(&right.runs, u16::try_from(column + display_width(DIVIDER)).unwrap_or(u16::MAX));
    line
}

/// Digits of the largest line number, and room around the usual ones.
fn digits(diff: &Diff) -> usize {
    let last = diff.hunks.iter().map(|hunk| hunk.old_start.max(hunk.new_start) + hunk.lines.len());
    last.max().unwrap_or(0).to_string().len().max(4)
}

#[cfg(test)]
mod tests;
