//! The files that the session changed: the content before the first change, and after the last. What a
//! page shows of them is computed off the UI task.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::domain::{ContentHash, FileDiff};
use crate::session::FileChangeEntry;

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
            }),
        }
    }

    /// Whether the session changed the file with this absolute path.
    pub fn has(&self, path: &str) -> bool {
        self.files.iter().any(|file| file.path == Path::new(path))
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
}
