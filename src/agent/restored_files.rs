//! Restores files for a rewind or a review: what is at each path is stored before it is overwritten,
//! and each write gets a line of the log.

use std::path::Path;

use crate::domain::{ContentHash, NoticeLevel, TurnId};
use crate::permissions::Workspace;
use crate::platform::restore::{self, PathContent, PathInspection, RestoreDurability};
use crate::session::undo::{CurrentFileState, FileAction, FilePlace, FileSystemView, PlannedFile};
use crate::session::{
    BlobError, BlobStore, FileChangeEntry, FileChangeSource, FileKind, FileVersion, LogEntry,
    plain_mode,
};

use super::agent_loop::Agent;
use super::blocking::blocking;
use super::journal::SessionJournal;
use super::rewind_plan::RewindError;

/// Larger files are not restored, in bytes.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// A file that is about to be written.
pub(super) struct FileRestore {
    pub(super) now: PathContent,
    pub(super) then: PathContent,
    pub(super) change: FileChangeEntry,
}

/// The files on disk, as `session::undo` looks at them.
pub(super) struct RewindFileSystem<'a> {
    pub(super) blobs: &'a BlobStore,
    pub(super) workspace: &'a Workspace,
}

impl FileSystemView for RewindFileSystem<'_> {
    fn current_state(&self, path: &Path) -> CurrentFileState {
        match restore::look(path, MAX_FILE_BYTES) {
            Ok(PathInspection::Content(content)) => match version_of(&content) {
                Some((version, bytes)) => CurrentFileState::Present(version, bytes),
                None => CurrentFileState::Nothing,
            },
            Ok(PathInspection::Other(what)) => CurrentFileState::Other(what.to_owned()),
            Err(error) => CurrentFileState::Other(format!("it cannot be read: {error}")),
        }
    }

    fn content(&self, hash: &ContentHash) -> Option<Vec<u8>> {
        self.blobs.get(hash).unwrap_or_else(|error| {
            tracing::warn!(%error, "a content cannot be read");
            None
        })
    }

    fn place(&self, path: &Path) -> FilePlace {
        let resolved = self.workspace.resolve(path, self.workspace.root());
        FilePlace {
            is_outside: resolved.zone.is_outside(),
            protected: resolved.protected.map(|reason| reason.description().into()),
            is_one_of_links: false,
        }
    }
}

fn version_of(content: &PathContent) -> Option<(FileVersion, Vec<u8>)> {
    let (kind, bytes, mode) = match content {
        PathContent::Nothing => return None,
        PathContent::File { bytes, mode } => (FileKind::File, bytes, mode.map(plain_mode)),
        PathContent::Link { target } => (FileKind::Link, target, None),
    };
    Some((FileVersion { kind, hash: ContentHash::of(bytes), mode }, bytes.clone()))
}

fn path_content(version: &FileVersion, bytes: Vec<u8>) -> PathContent {
    match version.kind {
        FileKind::File => PathContent::File { bytes, mode: version.mode.map(plain_mode) },
        FileKind::Link => PathContent::Link { target: bytes },
    }
}

impl RewindFileSystem<'_> {
    /// What writing a file as planned takes. Its current content is stored.
    ///
    /// # Errors
    ///
    /// When the current content cannot be read or stored, or is another one than when it was planned.
    pub(super) fn write(&self, file: &PlannedFile) -> Result<FileRestore, RewindError> {
        let blobs = self.blobs;
        let store = |bytes: &[u8]| {
            blobs.put(bytes).map_err(|error: BlobError| {
                RewindError::Files(format!(
                    "Nothing was undone, because the current content could not be saved. {error}"
                ))
            })
        };
        let unreadable = |why: &str| RewindError::Files(format!("{}: {why}", file.path.display()));
        let now = match restore::look(&file.path, MAX_FILE_BYTES) {
            Ok(PathInspection::Content(now)) => now,
            Ok(PathInspection::Other(what)) => return Err(unreadable(what)),
            Err(error) => return Err(unreadable(&error.to_string())),
        };
        let before = version_of(&now);
        if let Some((_, bytes)) = &before {
            store(bytes)?;
        }
        let (then, after) = match &file.action {
            FileAction::Put(put) => {
                if put.is_merged {
                    store(&put.bytes)?;
                }
                (path_content(&put.version, put.bytes.clone()), Some(put.version.clone()))
            }
            FileAction::Nothing | FileAction::Remove | FileAction::Skip(_) => {
                (PathContent::Nothing, None)
            }
        };
        let before = before.map(|(version, _)| version);
        if before != file.now {
            return Err(RewindError::FilesChanged);
        }
        let change =
            FileChangeEntry::new(file.path.clone(), before, after, FileChangeSource::Rewind);
        Ok(FileRestore { now, then, change })
    }
}

/// Puts removals first: a folder may have to be made where there is a file now.
pub(super) fn sort(writes: &mut [FileRestore]) {
    writes.sort_by_key(|write| write.then != PathContent::Nothing);
}

impl Agent {
    /// Writes the files, which the log must have announced. Returns how many were written; of each
    /// other one the user is told why.
    pub(super) async fn write_files(
        &self,
        journal: &SessionJournal,
        turn: TurnId,
        writes: Vec<FileRestore>,
    ) -> usize {
        let mut written = 0;
        for write in writes {
            let change = write.change.clone();
            let done =
                blocking(move || restore::put(write.change.place(), &write.now, &write.then));
            match done.await {
                Ok(Ok(put)) => {
                    journal.write(turn, LogEntry::FileChange(change)).await;
                    written += 1;
                    self.warn_of(put);
                }
                Ok(Err(error)) => self.error(format!("{error}. Not touched.")),
                Err(error) => self.error(error.to_string()),
            }
        }
        written
    }

    fn warn_of(&self, put: RestoreDurability) {
        match put {
            RestoreDurability::Synced => {}
            RestoreDurability::NotSynced(error) => {
                let text =
                    format!("{error}. It was written, and may be lost if the machine stops.");
                self.events.notice(NoticeLevel::Warning, text);
            }
        }
    }
}
