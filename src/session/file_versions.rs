//! Which files are other than they were before the session, as far as its log tells: a change that was
//! taken back, by a rewind, in a review or by a later edit, counts no more.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::change::{FileChangeEntry, FileChangeSource, FileVersion};

/// What the changes of a session come to, file by file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFileVersions(BTreeMap<PathBuf, FirstAndLastVersion>);

/// A file before its first change and after its last one; `None` stands for no file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FirstAndLastVersion {
    before: Option<FileVersion>,
    after: Option<FileVersion>,
}

impl SessionFileVersions {
    /// Adds one more change.
    pub(super) fn note(&mut self, change: &FileChangeEntry) {
        let after = change.version_after();
        if let Some(known) = self.0.get_mut(&change.path) {
            known.after = after;
        } else if change.by != FileChangeSource::Rewind {
            // What a rewind writes back to a file that is not here was changed by what it took back.
            let before = change.version_before();
            self.0.insert(change.path.clone(), FirstAndLastVersion { before, after });
        }
    }

    /// The files that are other than they were, in the order of their paths.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let changed = self.0.iter().filter(|(_, change)| change.before != change.after);
        changed.map(|(path, _)| path.as_path())
    }
}
