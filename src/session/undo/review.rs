//! What a part of a session changed in each file, change by change, and what becomes of a file of
//! which the user rejects some changes.
//!
//! The changes are those between the file before the first one and after the last one, with what
//! the user wrote in between left out. Where nobody has written the file since, it becomes exactly
//! what it would be without the rejected changes; where somebody has, their lines stay and only the
//! rejected changes are taken out. A change whose lines were written over since is a conflict, which
//! is named and never forced.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::{CallId, ContentHash, ExcludedHunks, FileDiff, FileModeChange};
use crate::session::{
    FileChangeSource, FileKind, FileVersion, LogEntry, LogRecord, UntrackedChanges,
};

use super::merge::merge;
use super::plan::{
    CurrentFileState, FileAction, FileHistories, FileHistory, FilePlace, FileSystemView, FilesPlan,
    PlannedFile, PlannedRestore, PlannedVersion, SkipReason, lines_of,
};

/// Longer files count as one change, in bytes.
const LARGEST: usize = 1 << 20;
/// In a file with more changes than this that was written since, conflicts show only once some are
/// rejected: looking for them merges the file once for each change.
const MANY_CHANGES: usize = 400;

/// What a part of a session changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReviewFiles {
    /// Each file that is another one than before, in the order of its first change.
    pub files: Vec<ReviewedFile>,
    /// Changes of commands that slug could not track.
    pub not_covered: Vec<UntrackedChanges>,
}

/// What was changed in one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReviewedFile {
    /// Absolute, with links on the way resolved.
    pub path: PathBuf,
    pub place: FilePlace,
    /// A command, if any changed it.
    pub by: FileChangeSource,
    /// The file without the changes; `None` where there was none.
    pub before: Option<FileVersion>,
    /// The file after the last of the changes; `None` where it was removed.
    pub after: Option<FileVersion>,
    /// The file as it is now; `None` where there is none.
    pub now: Option<FileVersion>,
    pub content: ReviewedContent,
}

/// How the changes of a file can be reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ReviewedContent {
    /// Line by line: the changes of this diff, each with its state.
    Text { diff: Arc<FileDiff>, changes: Vec<ReviewedChange> },
    /// As one change: a link, bytes that are no text, a long file, or other permissions.
    Whole { change: ReviewedChange },
    /// Not at all, for this reason.
    Unavailable { reason: SkipReason },
}

/// Whether a change is still in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReviewedChange {
    /// It can be rejected.
    Present,
    /// The file is already as if it had not been made.
    Reverted,
    /// It cannot be rejected, because its lines were changed since.
    Conflict(SkipReason),
}

/// The changes of a file that the user rejects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FileRejection {
    pub path: PathBuf,
    pub changes: ExcludedHunks,
}

impl ReviewedFile {
    /// The changes that the file has, in order.
    pub fn changes(&self) -> &[ReviewedChange] {
        match &self.content {
            ReviewedContent::Text { changes, .. } => changes,
            ReviewedContent::Whole { change } => std::slice::from_ref(change),
            ReviewedContent::Unavailable { .. } => &[],
        }
    }

    /// The lines of the changes; `None` where they cannot be shown.
    pub fn diff(&self) -> Option<&Arc<FileDiff>> {
        match &self.content {
            ReviewedContent::Text { diff, .. } => Some(diff),
            ReviewedContent::Whole { .. } | ReviewedContent::Unavailable { .. } => None,
        }
    }

    /// Whether a change can be rejected.
    pub fn can_reject(&self, change: usize) -> bool {
        self.changes().get(change) == Some(&ReviewedChange::Present)
    }

    /// Whether these are all changes that are still in the file.
    fn are_all(&self, rejected: &ExcludedHunks) -> bool {
        let mut changes = self.changes().iter().enumerate();
        changes.all(|(at, change)| *change == ReviewedChange::Reverted || rejected.has(at))
    }
}

/// What these records changed. Rewinds among them count only where they took back a part.
pub fn plan_review<'a>(
    records: impl IntoIterator<Item = &'a LogRecord>,
    view: &dyn FileSystemView,
) -> ReviewFiles {
    let mut not_covered = Vec::new();
    let histories = histories(records, |what| not_covered.push(what.clone()));
    let files = histories.order.into_iter().filter_map(|history| reviewed(history, view));
    ReviewFiles { files: files.map(|(file, _)| file).collect(), not_covered }
}

/// Plans what happens to a file of which the user rejects these changes. `shown` is the file as the
/// user saw it; `None` where it is another one by now.
pub fn plan_rejection<'a>(
    records: impl IntoIterator<Item = &'a LogRecord>,
    shown: &ReviewedFile,
    rejected: &ExcludedHunks,
    view: &dyn FileSystemView,
) -> Option<PlannedFile> {
    let history = |records| {
        histories(records, |_| ()).order.into_iter().find(|history| history.path == shown.path)
    };
    let records: Vec<&LogRecord> = records.into_iter().collect();
    let (file, sides) = reviewed(history(records.clone())?, view)?;
    let versions = |file: &ReviewedFile| [&file.before, &file.after, &file.now].map(Clone::clone);
    if versions(&file) != versions(shown) || file.place != shown.place {
        return None;
    }
    if shown.are_all(rejected) {
        let mut planned = history(records)?.planned(view);
        // The user rejected the changes of this very file.
        if planned.action == FileAction::Skip(SkipReason::NeedsAnswer) {
            planned.toggle_override();
        }
        return Some(planned);
    }
    let action = match (shown.diff(), sides, &file.now) {
        (Some(diff), Some(sides), Some(now)) => match sides.without(diff, rejected) {
            Some(bytes) if bytes == sides.now => FileAction::Nothing,
            Some(bytes) => {
                let version = FileVersion { hash: ContentHash::of(&bytes), ..now.clone() };
                FileAction::Put(PlannedRestore { version, bytes, is_merged: true })
            }
            None => FileAction::Skip(SkipReason::SameLines),
        },
        (_, _, None) => FileAction::Skip(SkipReason::Removed),
        (None, _, _) | (_, None, _) => FileAction::Skip(SkipReason::Changed),
    };
    let bytes = match view.current_state(&file.path) {
        CurrentFileState::Present(_, bytes) => bytes,
        CurrentFileState::Nothing | CurrentFileState::Other(_) => Vec::new(),
    };
    let lines = lines_of(&action, &bytes);
    let ReviewedFile { path, now, place, by, .. } = file;
    Some(PlannedFile { path, now, place, by, action, lines, alternative: None })
}

/// Plans what happens to the files when all that one call changed is taken back.
pub fn plan_call_undo(
    records: &[&LogRecord],
    call: &CallId,
    view: &dyn FileSystemView,
) -> FilesPlan {
    let mut histories = FileHistories::default();
    for record in records {
        if let LogEntry::FileChange(change) = &record.entry
            && change.call.as_ref() == Some(call)
        {
            histories.take(change);
        }
    }
    FilesPlan { files: histories.planned(view), not_covered: Vec::new() }
}

fn histories<'a>(
    records: impl IntoIterator<Item = &'a LogRecord>,
    mut not_covered: impl FnMut(&'a UntrackedChanges),
) -> FileHistories<'a> {
    let mut histories = FileHistories::default();
    let mut is_part = false;
    for record in records {
        if let LogEntry::FileChange(change) = &record.entry {
            if is_part || change.by != FileChangeSource::Rewind {
                histories.take(change);
            }
        } else if let LogEntry::Rewind(rewind) = &record.entry {
            is_part = rewind.part.is_some();
            if is_part {
                histories.intend(&rewind.files);
            }
        } else if let LogEntry::NotCovered(what) = &record.entry {
            not_covered(what);
        }
    }
    histories
}

/// A text file without the changes, with them, and as it is now.
struct ReviewSides {
    before: Vec<u8>,
    after: Vec<u8>,
    now: Vec<u8>,
}

impl ReviewSides {
    /// The file as it is now without these changes; `None` where their lines were changed since.
    fn without(&self, diff: &FileDiff, rejected: &ExcludedHunks) -> Option<Vec<u8>> {
        let before = std::str::from_utf8(&self.before).ok()?;
        let part = diff.apply_without(before, rejected)?.into_bytes();
        if self.now == self.after {
            return Some(part);
        }
        merge(&self.after, &self.now, &part)
    }
}

/// The review of a file, and its contents where it is reviewed line by line. `None` where it is the
/// same file as before.
fn reviewed(
    mut history: FileHistory<'_>,
    view: &dyn FileSystemView,
) -> Option<(ReviewedFile, Option<ReviewSides>)> {
    let state = view.current_state(history.path);
    let (now, now_bytes) = match &state {
        CurrentFileState::Present(version, bytes) => (Some(version.clone()), bytes.clone()),
        CurrentFileState::Nothing | CurrentFileState::Other(_) => (None, Vec::new()),
    };
    history.settle(now.as_ref());
    let after = history.changes.last()?.version_after();
    let mut file = ReviewedFile {
        path: history.path.to_owned(),
        place: view.place(history.path),
        by: history.by(),
        before: None,
        after,
        now,
        content: ReviewedContent::Unavailable { reason: SkipReason::Lost },
    };
    if let CurrentFileState::Other(what) = state {
        file.content = ReviewedContent::Unavailable { reason: SkipReason::Other(what) };
        return Some((file, None));
    }
    let content = |version: &Option<FileVersion>| match version {
        Some(version) => view.content(&version.hash),
        None => Some(Vec::new()),
    };
    let Some(after_bytes) = content(&file.after) else { return Some((file, None)) };
    let state = PlannedVersion { version: file.after.clone(), merged: None };
    let before = match history.revert(state, &after_bytes, view) {
        Ok(before) => before,
        Err(reason) => {
            file.content = ReviewedContent::Unavailable { reason };
            return Some((file, None));
        }
    };
    file.before = before.version;
    if file.before == file.after {
        return None;
    }
    let before_bytes = before.merged.or_else(|| content(&file.before));
    let Some(before_bytes) = before_bytes else { return Some((file, None)) };
    let sides = ReviewSides { before: before_bytes, after: after_bytes, now: now_bytes };
    let diff = diff(&file, &sides).filter(|diff| diff.change_count() > 0);
    let Some(diff) = diff else {
        file.content = ReviewedContent::Whole { change: whole_change(&file) };
        return Some((file, None));
    };
    let changes = changes(&file, &sides, &diff);
    file.content = ReviewedContent::Text { diff: Arc::new(diff), changes };
    Some((file, Some(sides)))
}

/// The lines that differ; `None` where the file has no lines or too many.
fn diff(file: &ReviewedFile, sides: &ReviewSides) -> Option<FileDiff> {
    let versions = [&file.before, &file.after];
    if versions.into_iter().flatten().any(|version| version.kind == FileKind::Link) {
        return None;
    }
    let (old, new) = (text(&sides.before)?, text(&sides.after)?);
    let mode = |version: &Option<FileVersion>| version.as_ref().and_then(|version| version.mode);
    let mode = match (mode(&file.before), mode(&file.after)) {
        (Some(old), Some(new)) if old != new => Some(FileModeChange { old, new }),
        (_, _) => None,
    };
    Some(FileDiff { mode, ..FileDiff::between(&file.path, old, new) })
}

fn text(bytes: &[u8]) -> Option<&str> {
    let is_short = bytes.len() <= LARGEST && !bytes.contains(&0);
    std::str::from_utf8(bytes).ok().filter(|_| is_short)
}

/// The state of each change of a text file.
fn changes(file: &ReviewedFile, sides: &ReviewSides, diff: &FileDiff) -> Vec<ReviewedChange> {
    let count = diff.change_count();
    let is_as_left = FileVersion::holds(file.now.as_ref(), file.after.as_ref());
    if is_as_left || count > MANY_CHANGES {
        return vec![ReviewedChange::Present; count];
    }
    // A file that was made or removed has one change, and is not merged.
    if file.before.is_none() || file.after.is_none() || file.now.is_none() {
        return vec![whole_change(file); count];
    }
    let state = |change| match sides.without(diff, &[change].into_iter().collect()) {
        Some(bytes) if bytes == sides.now => ReviewedChange::Reverted,
        Some(_) => ReviewedChange::Present,
        None => ReviewedChange::Conflict(SkipReason::SameLines),
    };
    (0..count).map(state).collect()
}

/// The state of a file that is taken back whole or not at all.
fn whole_change(file: &ReviewedFile) -> ReviewedChange {
    let is =
        |version: &Option<FileVersion>| FileVersion::holds(file.now.as_ref(), version.as_ref());
    match (&file.before, &file.after, &file.now) {
        _ if is(&file.after) => ReviewedChange::Present,
        _ if is(&file.before) => ReviewedChange::Reverted,
        (_, Some(_), None) => ReviewedChange::Conflict(SkipReason::Removed),
        (_, None, Some(_)) => ReviewedChange::Conflict(SkipReason::MadeAnew),
        (_, _, _) => ReviewedChange::Conflict(SkipReason::Changed),
    }
}
