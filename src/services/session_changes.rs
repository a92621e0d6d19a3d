//! The files that the session changed: the content before the first change, and after the last. The
//! difference is computed by `store_query_service`; the number of changed lines is counted along.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::domain::{ContentHash, FileDiff};
use crate::session::{ChangedLines, FileChangeEntry, FileChangeSource};

/// The files that the session changed, in the order of their first change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionChanges {
    pub files: Vec<ChangedFile>,
}

/// A file that the session changed, with its content before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// An absolute path.
    pub path: PathBuf,
    /// The content before the first change; `None` if the file did not exist.
    pub before: Option<ContentHash>,
    /// The content after the last change; `None` if that change removed the file.
    pub after: Option<ContentHash>,
    /// The permission bits after the first change; `None` if the log does not say.
    pub mode: Option<u32>,
    /// What the calls showed of the changes.
    pub shown: ShownChanges,
}

/// The diffs that were shown of a file's changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ShownChanges {
    /// How often the file was changed.
    pub changes: usize,
    /// How many of those changes were shown as a diff.
    pub diffs: usize,
    pub lines: ChangedLines,
}

/// The net change of a file over the session, ready to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetFileChange {
    /// An absolute path.
    pub path: PathBuf,
    /// The path from the repository root, or from the working folder outside a repository.
    pub name: String,
    pub content: NetChangeContent,
    pub external_change: ExternalChange,
    /// The permission bits; `None` if there is no file.
    pub mode: Option<u32>,
}

/// What the page shows of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetChangeContent {
    Changed(Arc<FileDiff>),
    /// The file did not exist before the session.
    New(Arc<FileDiff>),
    /// The file existed before the session and is gone.
    Deleted(Arc<FileDiff>),
    /// The content is the same as before the session.
    Same,
    /// The change cannot be shown; holds the reason.
    Unknown(String),
}

/// What other programs did to a file since the session last changed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExternalChange {
    Nothing,
    /// The content on disk is not what the session left.
    Changed,
    /// The file is no longer there.
    Deleted,
}

impl SessionChanges {
    /// Adds a change record of the log.
    pub fn note(&mut self, change: &FileChangeEntry) {
        match self.files.iter_mut().find(|file| file.path == change.path) {
            Some(file) => file.after.clone_from(&change.after),
            None => self.files.push(ChangedFile {
                path: change.path.clone(),
                before: change.before.clone(),
                after: change.after.clone(),
                mode: change.mode,
                shown: ShownChanges::default(),
            }),
        }
        if let Some(file) = self.files.iter_mut().find(|file| file.path == change.path) {
            file.count_change(change.by);
        }
    }

    /// Counts the lines of a diff that a call showed of its change.
    pub fn note_diff(&mut self, diff: &FileDiff) {
        if let Some(file) = self.files.iter_mut().find(|file| file.path == diff.path) {
            file.shown.diffs += 1;
            file.shown.lines.added += diff.added;
            file.shown.lines.removed += diff.removed;
        }
    }

    /// The files whose content is not what it was before the session.
    pub fn changed(&self) -> impl Iterator<Item = &ChangedFile> {
        self.files.iter().filter(|file| file.before != file.after)
    }

    /// Whether the session changed the file with this absolute path.
    pub fn has(&self, path: &str) -> bool {
        self.files.iter().any(|file| file.path == Path::new(path))
    }
}

impl ChangedFile {
    /// The added and removed lines, each counted as often as it was changed. `None` where not every
    /// change was shown as a diff: half of a figure would be a wrong one.
    pub fn lines(&self) -> Option<ChangedLines> {
        (self.shown.changes == self.shown.diffs).then_some(self.shown.lines)
    }

    fn count_change(&mut self, by: FileChangeSource) {
        let is_restored = by == FileChangeSource::Rewind && self.before == self.after;
        if is_restored {
            self.shown = ShownChanges::default();
        } else {
            self.shown.changes += 1;
        }
    }
}

impl NetFileChange {
    /// The diff, if there is one to show.
    pub fn diff(&self) -> Option<&Arc<FileDiff>> {
        match &self.content {
            NetChangeContent::Changed(diff)
            | NetChangeContent::New(diff)
            | NetChangeContent::Deleted(diff) => Some(diff),
            NetChangeContent::Same | NetChangeContent::Unknown(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{FileChangeSource, FileKind, FileVersion};

    fn change(path: &str, before: Option<&str>, after: &str) -> FileChangeEntry {
        let image = |text: &str| {
            let hash = ContentHash::of(text.as_bytes());
            FileVersion { kind: FileKind::File, hash, mode: None }
        };
        let before = before.map(image);
        FileChangeEntry::new(path.into(), before, Some(image(after)), FileChangeSource::Tool)
    }

    #[test]
    fn a_file_counts_once_from_its_first_change_to_its_last() {
        let mut changes = SessionChanges::default();
        for (path, before, after) in
            [("/a", Some("1"), "2"), ("/b", None, "x"), ("/a", Some("2"), "3")]
        {
            changes.note(&change(path, before, after));
        }
        let hashes = |file: &ChangedFile| (file.before.clone(), file.after.clone());
        assert_eq!(changes.files.len(), 2);
        let first = change("/a", Some("1"), "3");
        assert_eq!(hashes(&changes.files[0]), (first.before, first.after));
    }

    #[test]
    fn lines_are_known_while_each_change_was_shown() {
        let diff = |before: &str, after: &str| FileDiff::between("/a", before, after);
        let mut changes = SessionChanges::default();
        changes.note(&change("/a", Some("1\n"), "2\n"));
        assert_eq!(changes.files[0].lines(), None, "the diff comes with the result");
        changes.note_diff(&diff("1\n", "2\n"));
        assert_eq!(changes.files[0].lines(), Some(ChangedLines { added: 1, removed: 1 }));
        // A command changed the file, of which no diff was shown.
        changes.note(&change("/a", Some("2\n"), "3\n"));
        assert_eq!(changes.files[0].lines(), None);
        let mut back = change("/a", Some("3\n"), "1\n");
        back.by = FileChangeSource::Rewind;
        changes.note(&back);
        assert_eq!(changes.changed().count(), 0, "the content is the one of before");
        changes.note(&change("/a", Some("1\n"), "2\n"));
        changes.note_diff(&diff("1\n", "2\n"));
        let shown: Vec<_> = changes.changed().map(ChangedFile::lines).collect();
        assert_eq!(shown, [Some(ChangedLines { added: 1, removed: 1 })]);
    }
}
