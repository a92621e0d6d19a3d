//! The files that one call may open: those that it was approved for, at the places where they were
//! at that time.
//!
//! A tool names a file as the call does, and links may be part of that name. They were followed
//! when the call was decided. Here they are not followed again, so that a link which is put there
//! meanwhile leads nowhere else. A file that the call did not say it would touch cannot be opened,
//! and a file that it only reads cannot be written.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;

use super::ports::{FileError, FileState, Files, FolderItem, WriteReport};
use crate::domain::ContentHash;

/// A place that a call may touch; for a folder, with everything in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The path as the call names it; absolute.
    pub named: PathBuf,
    /// The same place with all links followed, at the time of the approval.
    pub real: PathBuf,
    pub mode: AccessMode,
}

/// The kind of access that a call was granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessMode {
    Read,
    /// Reading and writing.
    Write,
}

/// Files limited to what a call was granted.
#[derive(Clone)]
pub struct ScopedFiles {
    files: Arc<dyn Files>,
    granted: Arc<[Grant]>,
}

impl ScopedFiles {
    /// Limits `files` to the grants.
    pub fn new(files: Arc<dyn Files>, granted: impl IntoIterator<Item = Grant>) -> Self {
        Self { files, granted: granted.into_iter().collect() }
    }

    /// The real place of `path` at the time of the approval; `None` where it was not granted.
    pub fn real(&self, path: &Path) -> Option<PathBuf> {
        self.find(path, AccessMode::Read)
    }

    fn find(&self, path: &Path, needed: AccessMode) -> Option<PathBuf> {
        self.granted
            .iter()
            .filter(|place| needed == AccessMode::Read || place.mode == needed)
            .find_map(|place| {
                let rest = path.strip_prefix(&place.named).ok()?;
                // Joining an empty rest would add a slash at the end.
                let real = &place.real;
                Some(if rest.as_os_str().is_empty() { real.clone() } else { real.join(rest) })
            })
    }

    fn need(&self, path: &Path, needed: AccessMode) -> Result<PathBuf, FileError> {
        self.find(path, needed).ok_or_else(|| FileError::NotApproved(path.to_owned()))
    }
}

#[async_trait]
impl Files for ScopedFiles {
    async fn read(&self, path: &Path, limit: u64) -> Result<FileState, FileError> {
        let real = self.need(path, AccessMode::Read)?;
        self.files.read(&real, limit).await.map_err(|error| error.at(path))
    }

    async fn read_at(&self, path: &Path, offset: u64, length: u64) -> Result<Vec<u8>, FileError> {
        let real = self.need(path, AccessMode::Read)?;
        self.files.read_at(&real, offset, length).await.map_err(|error| error.at(path))
    }

    async fn write(
        &self,
        path: &Path,
        bytes: &[u8],
        expected: Option<Option<ContentHash>>,
    ) -> Result<WriteReport, FileError> {
        let real = self.need(path, AccessMode::Write)?;
        self.files.write(&real, bytes, expected).await.map_err(|error| error.at(path))
    }

    fn open(&self, path: &Path) -> Result<Option<File>, FileError> {
        let real = self.need(path, AccessMode::Read)?;
        self.files.open(&real).map_err(|error| error.at(path))
    }

    async fn list(&self, path: &Path, limit: usize) -> Result<(Vec<FolderItem>, u64), FileError> {
        let real = self.need(path, AccessMode::Read)?;
        self.files.list(&real, limit).await.map_err(|error| error.at(path))
    }

    fn modified(&self, path: &Path) -> Option<SystemTime> {
        self.files.modified(&self.real(path)?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::platform::files::DiskFiles;
    use crate::tools::FolderItemKind;

    /// A folder with `link -> real`; `link/f` is granted with `mode`, and `link` for reading.
    fn scoped_files(mode: AccessMode) -> (tempfile::TempDir, PathBuf, ScopedFiles) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["real", "other"] {
            fs::create_dir(root.join(folder)).unwrap();
            fs::write(root.join(folder).join("f"), folder).unwrap();
        }
        symlink("real", root.join("link")).unwrap();
        let granted = Grant { named: root.join("link"), real: root.join("real"), mode };
        let scoped = ScopedFiles::new(Arc::new(DiskFiles), [granted]);
        (dir, root, scoped)
    }

    #[tokio::test]
    async fn r15_a_link_that_was_there_leads_to_its_target_and_stays() {
        let (_dir, root, scoped) = scoped_files(AccessMode::Write);
        scoped.write(&root.join("link/f"), b"new", None).await.unwrap();
        assert_eq!(fs::read(root.join("real/f")).unwrap(), b"new");
        assert!(fs::symlink_metadata(root.join("link")).unwrap().is_symlink());
    }

    #[tokio::test]
    async fn s42_a_link_that_is_turned_afterwards_leads_where_it_led() {
        let (_dir, root, scoped) = scoped_files(AccessMode::Write);
        fs::remove_file(root.join("link")).unwrap();
        symlink("other", root.join("link")).unwrap();
        let path = root.join("link/f");
        assert_eq!(scoped.read(&path, 10).await.unwrap(), FileState::File(b"real".to_vec()));
        assert_eq!(scoped.read_at(&path, 1, 2).await.unwrap(), b"ea");
        let (listed, more) = scoped.list(&root.join("link"), 9).await.unwrap();
        assert_eq!((listed[0].kind.clone(), more), (FolderItemKind::File(4), 0), "of `real`");
        assert_eq!(std::io::read_to_string(scoped.open(&path).unwrap().unwrap()).unwrap(), "real");
        scoped.write(&path, b"new", None).await.unwrap();
        assert_eq!(fs::read(root.join("other/f")).unwrap(), b"other");
    }

    #[tokio::test]
    async fn ungranted_files_cannot_be_opened() {
        let (_dir, root, scoped) = scoped_files(AccessMode::Read);
        for path in [root.join("other/f"), root.join("linked"), root.clone()] {
            let read = scoped.read(&path, 10).await;
            assert!(matches!(read, Err(FileError::NotApproved(_))), "{path:?}");
            assert!(scoped.list(&path, 9).await.is_err());
            assert!(scoped.open(&path).is_err() && scoped.modified(&path).is_none());
        }
        let path = root.join("link/f");
        assert!(scoped.modified(&path).is_some());
        let written = scoped.write(&path, b"new", None).await;
        assert!(matches!(written, Err(FileError::NotApproved(_))));
        assert_eq!(fs::read(root.join("real/f")).unwrap(), b"real");
    }
}
