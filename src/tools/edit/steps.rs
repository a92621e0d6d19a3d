//! Makes the changes of an edit, one after another, on a text. Pure.
//!
//! A change that names old text sees what the changes before it made. Line numbers are those of the
//! file as it was before the call, as Read shows them, whatever the earlier changes moved.

use std::ops::Range;

use super::lines::{EditLineSpan, key, spans};
use super::matching::{
    self, EditMismatch, MatchQuality, ReplaceScope, TextReplacement, line_number, with_line_ends,
};
use super::placeholder;

/// Where one change goes, and what it puts there.
#[derive(Debug, Clone)]
pub(super) struct EditStep {
    pub place: EditPlace,
    pub new: String,
}

/// Where a change goes.
#[derive(Debug, Clone)]
pub(super) enum EditPlace {
    Text {
        /// Not empty.
        old: String,
        scope: ReplaceScope,
    },
    /// Whole lines, numbered from 1, and what the first and the last of them hold.
    Lines { first: usize, last: usize, holds: (String, Option<String>) },
    /// Behind a line, and what that line holds; 0 is the top of the file.
    After { line: usize, holds: Option<String> },
    /// A file that is not there yet, or is empty.
    NewFile,
}

/// Why a change cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StepFailure {
    Mismatch {
        mismatch: EditMismatch,
        text: String,
    },
    /// A line does not hold what the call expects there.
    OtherLine {
        line: usize,
        expected: String,
        found: String,
        elsewhere: Vec<usize>,
    },
    /// The file has fewer lines than the call names.
    PastEnd {
        line: usize,
        count: usize,
    },
    /// An earlier change of the same call has changed these lines.
    Overlap {
        line: usize,
    },
    NotEmpty,
    Placeholder(String),
}

/// A text with all changes made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EditedText {
    pub text: String,
    /// The least exact match among the changes.
    pub quality: MatchQuality,
    /// The lines of `text`, from 1, that got the file's indentation instead of the model's.
    pub mapped_lines: Vec<Range<usize>>,
}

/// Makes all changes; the error says which one failed, counted from 0.
pub(super) fn apply(text: &str, steps: &[EditStep]) -> Result<EditedText, (usize, StepFailure)> {
    let has_numbers = steps.iter().any(|step| match step.place {
        EditPlace::Lines { .. } | EditPlace::After { .. } => true,
        EditPlace::Text { .. } | EditPlace::NewFile => false,
    });
    let lines = if has_numbers { spans(text) } else { Vec::new() };
    let mut run = EditRun { original: text, lines, text: text.to_owned(), done: Vec::new() };
    let (mut quality, mut mapped) = (MatchQuality::Exact, Vec::new());
    for (at, step) in steps.iter().enumerate() {
        let how = run.make(step).map_err(|failure| (at, failure))?;
        if how == MatchQuality::Trimmed {
            let made = run.done.last().into_iter().flatten();
            mapped.extend(made.map(|made| (run.done.len(), made.clone())));
        }
        quality = quality.max(how);
    }
    let mapped_lines =
        mapped.iter().filter_map(|(after, made)| run.lines_of(*after, made)).collect();
    Ok(EditedText { text: run.text, quality, mapped_lines })
}

/// A replacement that was made: the range in the text before it, and the length of what is there.
#[derive(Debug, Clone)]
struct MadeChange {
    range: Range<usize>,
    length: usize,
}

/// The text while the changes are made.
struct EditRun<'a> {
    original: &'a str,
    /// The lines of `original`; empty where no change needs them.
    lines: Vec<EditLineSpan>,
    text: String,
    /// What each change replaced, in order.
    done: Vec<Vec<MadeChange>>,
}

impl EditRun<'_> {
    fn make(&mut self, step: &EditStep) -> Result<MatchQuality, StepFailure> {
        let (quality, replacements) = match &step.place {
            EditPlace::Text { old, scope } => matching::find(&self.text, old, &step.new, *scope)
                .map_err(|mismatch| StepFailure::Mismatch { mismatch, text: self.text.clone() })?,
            EditPlace::Lines { first, last, holds } => {
                (MatchQuality::Exact, vec![self.replaced_lines((*first, *last), holds, &step.new)?])
            }
            EditPlace::After { line, holds } => {
                (MatchQuality::Exact, vec![self.inserted(*line, holds.as_deref(), &step.new)?])
            }
            EditPlace::NewFile if self.text.is_empty() => {
                (MatchQuality::Exact, vec![TextReplacement { range: 0..0, text: step.new.clone() }])
            }
            EditPlace::NewFile => return Err(StepFailure::NotEmpty),
        };
        let places = self.done.iter().map(Vec::len).sum::<usize>() + replacements.len();
        let gone: usize = replacements.iter().map(|it| it.range.len()).sum();
        let new: usize = replacements.iter().map(|it| it.text.len()).sum();
        matching::within_bounds(places, self.text.len() - gone + new)
            .map_err(|mismatch| StepFailure::Mismatch { mismatch, text: String::new() })?;
        self.text = matching::apply(&self.text, &replacements);
        let made = replacements
            .into_iter()
            .map(|TextReplacement { range, text }| MadeChange { range, length: text.len() });
        self.done.push(made.collect());
        Ok(quality)
    }

    fn replaced_lines(
        &self,
        (first, last): (usize, usize),
        holds: &(String, Option<String>),
        new: &str,
    ) -> Result<TextReplacement, StepFailure> {
        let start = self.guarded(first, Some(&holds.0))?;
        let end = self.guarded(last, holds.1.as_deref())?;
        // Without a new line, the last one goes with its line end; else it keeps that.
        let until = if new.is_empty() { end.next } else { end.end };
        let old = &self.original[start.start..until];
        if let Some(line) = placeholder::find(new, old) {
            return Err(StepFailure::Placeholder(line.to_owned()));
        }
        let range = self.now(start.start, OffsetSide::Start)..self.now(until, OffsetSide::End);
        if self.text.get(range.clone()) != Some(old) {
            return Err(StepFailure::Overlap { line: first });
        }
        let new = new.strip_suffix('\n').unwrap_or(new);
        let text = with_line_ends(&new.replace("\r\n", "\n"), &self.text, &range);
        Ok(TextReplacement { range, text })
    }

    fn inserted(
        &self,
        line: usize,
        holds: Option<&str>,
        new: &str,
    ) -> Result<TextReplacement, StepFailure> {
        if let Some(found) = placeholder::find(new, "") {
            return Err(StepFailure::Placeholder(found.to_owned()));
        }
        let before = match line {
            0 => EditLineSpan { start: 0, end: 0, next: 0 },
            line => self.guarded(line, holds)?,
        };
        let new = new.replace("\r\n", "\n");
        let new = new.strip_suffix('\n').unwrap_or(&new);
        // A last line without a line end gets one; the new last line has none then.
        let is_open = line > 0 && before.end == before.next;
        let new = if is_open { format!("\n{new}") } else { format!("{new}\n") };
        let at = self.now(before.next, OffsetSide::Start);
        if self.text.get(..at).is_none() || self.is_inside(before.next) {
            return Err(StepFailure::Overlap { line });
        }
        let text = with_line_ends(&new, &self.text, &(at..at));
        Ok(TextReplacement { range: at..at, text })
    }

    /// The line of this number, if it holds what the call expects.
    fn guarded(&self, line: usize, holds: Option<&str>) -> Result<EditLineSpan, StepFailure> {
        let lines = &self.lines;
        let Some(span) = lines.get(line - 1) else {
            return Err(StepFailure::PastEnd { line, count: lines.len() });
        };
        let found = &self.original[span.start..span.end];
        let Some(expected) = holds else { return Ok(*span) };
        // Read puts the number and a tab before each line; a line may begin like that itself.
        let is_whole = key(found) == key(expected);
        let expected = expected.strip_prefix(&format!("{line}\t")).unwrap_or(expected);
        if is_whole || key(found) == key(expected) {
            return Ok(*span);
        }
        let is_it =
            |span: &EditLineSpan| key(&self.original[span.start..span.end]) == key(expected);
        let elsewhere = lines.iter().enumerate().filter(|(_, span)| is_it(span));
        Err(StepFailure::OtherLine {
            line,
            expected: expected.to_owned(),
            found: found.to_owned(),
            elsewhere: match expected.trim().is_empty() {
                true => Vec::new(),
                false => elsewhere.map(|(at, _)| at + 1).take(4).collect(),
            },
        })
    }

    /// Where an offset of the original is now.
    fn now(&self, offset: usize, edge: OffsetSide) -> usize {
        self.done.iter().fold(offset, |offset, made| moved(offset, made, edge))
    }

    /// Whether an earlier change replaced the text around this offset of the original.
    fn is_inside(&self, offset: usize) -> bool {
        let mut at = offset;
        self.done.iter().any(|made| {
            let inside = made.iter().any(|it| it.range.start < at && at < it.range.end);
            at = moved(at, made, OffsetSide::Start);
            inside
        })
    }

    /// The lines of the final text that a change made, given how many changes were made up to it.
    fn lines_of(&self, after: usize, made: &MadeChange) -> Option<Range<usize>> {
        let later = &self.done[after..];
        let end = later
            .iter()
            .fold(made.range.start + made.length, |at, made| moved(at, made, OffsetSide::End));
        let start =
            later.iter().fold(made.range.start, |at, made| moved(at, made, OffsetSide::Start));
        let text = self.text.get(start..end)?;
        let first = line_number(&self.text, start);
        Some(first..first + text.lines().count())
    }
}

/// Which side of an insertion at the same place an offset is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OffsetSide {
    /// Behind it.
    Start,
    /// Before it.
    End,
}

fn moved(offset: usize, made: &[MadeChange], edge: OffsetSide) -> usize {
    let before = made.iter().filter(|it| {
        let is_insertion_here = it.range.is_empty() && it.range.end == offset;
        it.range.end <= offset && !(is_insertion_here && edge == OffsetSide::End)
    });
    before.fold(offset, |at, it| (at + it.length).saturating_sub(it.range.len()))
}
