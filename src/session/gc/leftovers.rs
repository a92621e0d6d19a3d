//! Removes what killed slugs left behind: temporary files, locks that nobody holds, and meta files
//! and folds of logs that are gone. Only files older than a day are removed.

use std::fs::DirEntry;
use std::io;
use std::path::{Path, PathBuf};

use crate::domain::SessionId;
use crate::session::disk::SessionPaths;
use crate::session::files::{self, missing_is_none};
use crate::session::lock::{LockError, SessionLock};
use crate::session::store::failed;
use crate::session::{SessionStore, StoreError};

use super::{GcMode, MIN_GARBAGE_AGE, ReclaimedSpace, entries, is_older};

/// How a leftover file has to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeftoverKind {
    /// A lock, which another slug may take at any time.
    Lock,
    /// Anything else.
    File,
}

impl SessionStore {
    /// Removes the leftovers from the folders of sessions and contents, and from the folders of
    /// `also`.
    pub(super) fn remove_leftovers(
        &self,
        mode: GcMode,
        also: &[PathBuf],
        reclaimed: &mut ReclaimedSpace,
    ) -> Result<(), StoreError> {
        for folder in self.folders(also)? {
            for entry in entries(&folder).map_err(failed("list", &folder))? {
                let path = entry.path();
                let kind = left_over(&folder, &entry).map_err(failed("look at", &path))?;
                let Some(kind) = kind else { continue };
                let len = entry.metadata().map_or(0, |metadata| metadata.len());
                let is_gone = match mode {
                    GcMode::DryRun => true,
                    GcMode::Apply => remove(&path, kind).map_err(failed("remove", &path))?,
                };
                if is_gone {
                    reclaimed.add(len);
                }
            }
        }
        Ok(())
    }

    /// Every folder into which slug writes files of sessions.
    fn folders(&self, also: &[PathBuf]) -> Result<Vec<PathBuf>, StoreError> {
        let blobs = self.blobs().folders().map_err(failed("list", &self.sessions))?;
        let mut folders = vec![self.sessions.clone(), self.trash.clone(), self.blobs().spools()];
        folders.extend(blobs);
        for path in also {
            let folder = if path.is_dir() { Some(path.as_path()) } else { path.parent() };
            folders.extend(folder.map(Path::to_owned));
        }
        folders.sort();
        folders.dedup();
        Ok(folders)
    }
}

fn left_over(folder: &Path, entry: &DirEntry) -> io::Result<Option<LeftoverKind>> {
    let Some(metadata) = missing_is_none(entry.metadata())? else { return Ok(None) };
    if !metadata.is_file() || !is_older(metadata.modified()?, MIN_GARBAGE_AGE) {
        return Ok(None);
    }
    let name = entry.file_name();
    let Some(name) = name.to_str() else { return Ok(None) };
    if name.starts_with(files::TEMPORARY) {
        return Ok(Some(LeftoverKind::File));
    }
    let (stem, ending) = name.split_once('.').unwrap_or_default();
    match (ending, stem.parse::<SessionId>()) {
        ("lock", Ok(_)) => {
            Ok(SessionLock::holder(&entry.path())?.is_none().then_some(LeftoverKind::Lock))
        }
        ("meta.json" | "folds.json", Ok(session)) => {
            let paths = SessionPaths::new(folder, session);
            let has_log = paths.log().try_exists()? || paths.packed_log().try_exists()?;
            Ok((!has_log).then_some(LeftoverKind::File))
        }
        (_, _) => Ok(None),
    }
}

/// Removes a leftover; returns whether it is gone. A lock stays where another slug has taken it
/// meanwhile.
pub(super) fn remove(path: &Path, kind: LeftoverKind) -> io::Result<bool> {
    match kind {
        LeftoverKind::File => files::remove(path).map(|()| true),
        LeftoverKind::Lock => match SessionLock::take(path) {
            Ok(lock) => {
                drop(lock);
                Ok(true)
            }
            Err(LockError::Held(_)) => Ok(false),
            Err(LockError::Io(error)) => Err(error),
        },
    }
}
