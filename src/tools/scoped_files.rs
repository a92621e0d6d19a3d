//! The files that one call may open: those that it was approved for, at the places where they were
//! when it was.
//!
//! A tool names a file as the call does, and links may be part of that name. They were followed
//! when the call was decided; here they are not followed again, so that nothing that is put in
//! their place meanwhile leads elsewhere. What the call did not say it would touch cannot be
//! opened, and what it only reads cannot be written.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;

use super::ports::{FileError, FileState, Files, WriteReport};
use crate::domain::ContentHash;

/// A place that a call may touch, and with a folder all that is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// As the call names it; absolute.
    pub named: PathBuf,
    /// Where that was, with all links followed.
    pub real: PathBuf,
    /// What may be done there.
    pub mode: AccessMode,
}

/// What may be done at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessMode {
    /// Look.
    Read,
    /// Look and change.
    Write,
}

/// Files, within what was granted.
#[derive(Clone)]
pub struct ScopedFiles {
    files: Arc<dyn Files>,
    granted: Arc<[Grant]>,
}

impl ScopedFiles {
    /// `files`, and of them what is granted.
    pub fn new(files: Arc<dyn Files>, granted: impl IntoIterator<Item = Grant>) -> Self {
        Self { files, granted: granted.into_iter().collect() }
    }

    /// Where `path` was; `None` where it was not granted.
    pub fn real(&self, path: &Path) -> Option<PathBuf> {
        self.find(path, AccessMode::Read)
    }

    fn find(&self, path: &Path, needed: AccessMode) -> Option<PathBuf> {
        self.granted
            .iter()
            .filter(|place| needed == AccessMode::Read || place.mode == needed)
            .find_map(|place| {
                let rest = path.strip_prefix(&place.named).ok()?;
                // An empty rest would leave a slash at the end.
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

    /// A folder with `link -> real`, and a reach for `link/f` and, to read, for `link`.
    fn scene(may: AccessMode) -> (tempfile::TempDir, PathBuf, ScopedFiles) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["real", "other"] {
            fs::create_dir(root.join(folder)).unwrap();
            fs::write(root.join(folder).join("f"), folder).unwrap();
        }
        symlink("real", root.join("link")).unwrap();
        let granted = Grant { named: root.join("link"), real: root.join("real"), mode: may };
        let reach = ScopedFiles::new(Arc::new(DiskFiles), [granted]);
        (dir, root, reach)
    }

    #[tokio::test]
    async fn r15_a_link_that_was_there_leads_to_its_target_and_stays() {
        let (_dir, root, reach) = scene(AccessMode::Write);
        reach.write(&root.join("link/f"), b"new", None).await.unwrap();
        assert_eq!(fs::read(root.join("real/f")).unwrap(), b"new");
        assert!(fs::symlink_metadata(root.join("link")).unwrap().is_symlink());
    }

    #[tokio::test]
    async fn s42_a_link_that_is_turned_afterwards_leads_where_it_led() {
        let (_dir, root, reach) = scene(AccessMode::Write);
        fs::remove_file(root.join("link")).unwrap();
        symlink("other", root.join("link")).unwrap();
        let path = root.join("link/f");
        assert_eq!(reach.read(&path, 10).await.unwrap(), FileState::File(b"real".to_vec()));
        assert_eq!(reach.read_at(&path, 1, 2).await.unwrap(), b"ea");
        assert_eq!(std::io::read_to_string(reach.open(&path).unwrap().unwrap()).unwrap(), "real");
        reach.write(&path, b"new", None).await.unwrap();
        assert_eq!(fs::read(root.join("other/f")).unwrap(), b"other");
    }

    #[tokio::test]
    async fn what_was_not_granted_cannot_be_opened() {
        let (_dir, root, reach) = scene(AccessMode::Read);
        for path in [root.join("other/f"), root.join("linked"), root.clone()] {
            let read = reach.read(&path, 10).await;
            assert!(matches!(read, Err(FileError::NotApproved(_))), "{path:?}");
            assert!(reach.open(&path).is_err() && reach.modified(&path).is_none());
        }
        let path = root.join("link/f");
        assert!(reach.modified(&path).is_some());
        let written = reach.write(&path, b"new", None).await;
        assert!(matches!(written, Err(FileError::NotApproved(_))));
        assert_eq!(fs::read(root.join("real/f")).unwrap(), b"real");
    }
}
