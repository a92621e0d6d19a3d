//! The lines of the review page before anything is laid out: the name of each file, what is to be
//! known of it, and the rows of its diff, with the place of each change among them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::domain::{DiffLineTag, FileDiff};
use crate::session::FileChangeSource;
use crate::session::undo::{
    ReviewFiles, ReviewedChange, ReviewedContent, ReviewedFile, SkipReason,
};
use crate::tui::dialogs::rewind::{not_covered, place_warning};
use crate::tui::layout::diff::rows::{self, DiffFolds, DiffRow, DiffRows, DiffStyle};

/// A line of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewLine {
    Gap,
    /// The head of a file, by its index.
    File(usize),
    /// A remark about the file or the change below.
    Note(String),
    Warning(String),
    /// A change of a file that has no lines to show.
    Whole(String),
    /// A row of the diff of a file.
    Diff {
        file: usize,
        row: usize,
    },
}

/// A change among the lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedChange {
    /// The index of its file.
    pub file: usize,
    /// Its number in the file.
    pub change: usize,
    pub lines: Range<usize>,
    pub state: ReviewedChange,
}

/// All lines, the places of the changes, and the rows of each file's diff with what identifies them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReviewLines {
    pub lines: Vec<ReviewLine>,
    pub changes: Vec<PlacedChange>,
    pub diffs: Vec<(u64, Arc<DiffRows>)>,
}

impl ReviewLines {
    /// The change that a line belongs to, by its index.
    pub fn change_at(&self, line: usize) -> Option<usize> {
        let at = self.changes.partition_point(|change| change.lines.end <= line);
        self.changes.get(at).filter(|change| change.lines.contains(&line)).map(|_| at)
    }
}

/// The lines of a review. `version` gives a value that was never used before.
pub fn lines(
    review: &ReviewFiles,
    sides: DiffStyle,
    cwd: &Path,
    mut version: impl FnMut() -> u64,
) -> ReviewLines {
    let mut page = ReviewLines::default();
    for (at, file) in review.files.iter().enumerate() {
        if at > 0 {
            page.lines.push(ReviewLine::Gap);
        }
        page.lines.push(ReviewLine::File(at));
        if let Some(sentence) = place_warning(&file.path, &file.place, cwd) {
            page.lines.push(ReviewLine::Warning(sentence));
        }
        let mut rows = Arc::default();
        match &file.content {
            ReviewedContent::Text { diff, changes } => {
                let all = Arc::new(rows::rows(diff, sides, &DiffFolds::All, usize::MAX));
                diff_lines(&mut page, at, diff, &all, changes);
                rows = all;
            }
            ReviewedContent::Whole { change } => {
                let start = page.lines.len();
                page.lines.push(ReviewLine::Whole(whole(file).to_owned()));
                let lines = start..start + 1;
                let state = change.clone();
                page.changes.push(PlacedChange { file: at, change: 0, lines, state });
                page.lines.extend(state_note(change));
            }
            ReviewedContent::Unavailable { reason } => {
                let text = format!("Cannot be reviewed: {}.", reason.words());
                page.lines.push(ReviewLine::Warning(text));
            }
        }
        page.diffs.push((version(), rows));
    }
    let warnings = not_covered(&review.not_covered, cwd);
    if !warnings.is_empty() {
        page.lines.push(ReviewLine::Gap);
        page.lines.extend(warnings.into_iter().map(ReviewLine::Warning));
    }
    page
}

/// The sentence about a file that is restored only with an answer of its own.
pub fn place_sentence(file: &ReviewedFile, cwd: &Path) -> String {
    place_warning(&file.path, &file.place, cwd).unwrap_or_default()
}

fn diff_lines(
    page: &mut ReviewLines,
    file: usize,
    diff: &FileDiff,
    rows: &DiffRows,
    changes: &[ReviewedChange],
) {
    let tags: Vec<DiffLineTag> = diff.lines().map(|(_, line)| line.tag).collect();
    let is_changed = |row: &DiffRow| match row {
        DiffRow::Line(at) => tags.get(*at).is_some_and(|tag| *tag != DiffLineTag::Context),
        DiffRow::Pair(old, new) => old != new,
        DiffRow::Note(_) | DiffRow::Folded { .. } | DiffRow::Omitted(_) => false,
    };
    let begins: BTreeSet<usize> = rows.changes.iter().copied().collect();
    let mut change = 0;
    for (row, of) in rows.rows.iter().enumerate() {
        if begins.contains(&row) {
            let state = changes.get(change).cloned().unwrap_or(ReviewedChange::Present);
            page.lines.extend(state_note(&state));
            let start = page.lines.len();
            page.changes.push(PlacedChange { file, change, lines: start..start, state });
            change += 1;
        }
        page.lines.push(ReviewLine::Diff { file, row });
        let end = page.lines.len();
        if is_changed(of)
            && let Some(placed) = page.changes.last_mut()
        {
            placed.lines.end = end;
        }
    }
}

/// What is to be known of a change that cannot be rejected.
fn state_note(state: &ReviewedChange) -> Option<ReviewLine> {
    match state {
        ReviewedChange::Present => None,
        ReviewedChange::Reverted => {
            Some(ReviewLine::Note("No longer in the file: already reverted".to_owned()))
        }
        ReviewedChange::Conflict(reason) => Some(ReviewLine::Warning(conflict(reason))),
    }
}

/// Why a change cannot be rejected, and what to do.
pub fn conflict(reason: &SkipReason) -> String {
    format!("Conflict: {}. Edit the file to change this.", reason.words())
}

/// What is known of a change without lines.
fn whole(file: &ReviewedFile) -> &'static str {
    match (&file.before, &file.after) {
        (None, _) => "created; its content is not shown",
        (_, None) => "deleted; its content is not shown",
        (Some(before), Some(after)) if before.hash == after.hash => "permissions changed",
        (_, _) => "replaced; its content is not shown",
    }
}

/// What kind of change the file as a whole has, and who made it.
pub fn kind(file: &ReviewedFile) -> String {
    let kind = match (&file.before, &file.after) {
        (None, Some(_)) => "  new file",
        (Some(_), None) => "  deleted",
        (_, _) => "",
    };
    let by = match file.by {
        FileChangeSource::Command => "  by a command",
        FileChangeSource::Tool | FileChangeSource::Rewind => "",
    };
    format!("{kind}{by}")
}

/// The name of a file on the page.
pub fn name(file: &ReviewedFile, cwd: &Path) -> String {
    file.path.strip_prefix(cwd).unwrap_or(&file.path).to_string_lossy().into_owned()
}
