//! Contents kept once, under their hash: files before and after a change, and outputs of which
//! the model got only a part. Old ones are packed.
//!
//! Which of them are still needed is found out in `keep`.

use std::fs::{DirEntry, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::domain::ContentHash;

use super::compression;
use super::files::{self, Durability, missing_is_none};

/// No content is larger: slug changes no file of more than 16 MB, and keeps less of outputs.
const LARGEST: u64 = 64 << 20;

/// The folder of contents: `ab/cdef…` for the hash `abcdef…`.
#[derive(Debug, Clone)]
pub struct BlobStore {
    dir: PathBuf,
}

/// Why a content is not there.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// It is not the content that it was.
    #[error("{} does not hold what it should: remove it", .0.display())]
    Damaged(PathBuf),
    /// The operating system says no.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// "read" or "keep".
        doing: &'static str,
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl BlobStore {
    /// The contents in this folder, which does not have to exist.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Keeps `bytes`; they are on the disk when this returns.
    pub fn put(&self, bytes: &[u8]) -> Result<ContentHash, BlobError> {
        let hash = ContentHash::of(bytes);
        if let Some(path) = self.path(&hash) {
            keep(&path, bytes).map_err(|source| BlobError::Io { doing: "keep", path, source })?;
        }
        Ok(hash)
    }

    /// Whether a content with this hash is kept.
    pub fn has(&self, hash: &ContentHash) -> bool {
        self.path(hash).is_some_and(|path| path.exists() || compression::packed(&path).exists())
    }

    /// The content with this hash; `None` where it is not kept.
    pub fn get(&self, hash: &ContentHash) -> Result<Option<Vec<u8>>, BlobError> {
        let Some(path) = self.path(hash) else { return Ok(None) };
        match read(&path) {
            Ok(Some(bytes)) if ContentHash::of(&bytes) != *hash => Err(BlobError::Damaged(path)),
            Ok(content) => Ok(content),
            Err(source) => Err(BlobError::Io { doing: "read", path, source }),
        }
    }

    /// `None` for a hash that is none: logs are files that anyone may have written.
    fn path(&self, hash: &ContentHash) -> Option<PathBuf> {
        let digits = hash.as_str();
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if digits.len() != 64 || !digits.bytes().all(is_digit) {
            return None;
        }
        let (folder, name) = digits.split_at(2);
        Some(self.dir.join(folder).join(name))
    }
}

impl BlobStore {
    /// All that is kept: the hash, the path without the ending of a packed one, and the file.
    pub(super) fn all(&self) -> io::Result<Vec<(String, PathBuf, DirEntry)>> {
        let mut all = Vec::new();
        for folder in self.folders()? {
            let Some(begin) = folder.file_name().and_then(|name| name.to_str()) else { continue };
            for file in entries(&folder)? {
                let Some(name) = file.file_name().to_str().map(str::to_owned) else { continue };
                let end = name.split('.').next().unwrap_or_default();
                let plain = folder.join(end);
                let hash = format!("{begin}{end}");
                if hash.len() == 64 && (name == end || file.path() == compression::packed(&plain)) {
                    all.push((hash, plain, file));
                }
            }
        }
        Ok(all)
    }

    /// The folders in which they are.
    pub(super) fn folders(&self) -> io::Result<Vec<PathBuf>> {
        let mut folders = Vec::new();
        for folder in entries(&self.dir)? {
            let is_one = folder.file_name().to_str().is_some_and(|name| name.len() == 2);
            if is_one && folder.file_type()?.is_dir() {
                folders.push(folder.path());
            }
        }
        Ok(folders)
    }
}

fn entries(dir: &Path) -> io::Result<Vec<DirEntry>> {
    missing_is_none(std::fs::read_dir(dir))?.into_iter().flatten().collect()
}

/// What is there already is marked as wanted now, so that it is not taken for one that nothing
/// names any more.
fn keep(path: &Path, bytes: &[u8]) -> io::Result<()> {
    for there in [path.to_owned(), compression::packed(path)] {
        if let Some(file) = missing_is_none(File::open(there))? {
            return files::set_modified(&file, SystemTime::now());
        }
    }
    files::replace(path, &[bytes], Durability::Synced)
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let Some(content) = compression::open(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    // What is longer has another hash by that alone.
    content.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_got_back_and_kept_once() {
        let home = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(home.path().join("blobs"));
        let hash = blobs.put(b"content").unwrap();
        assert_eq!(blobs.put(b"content").unwrap(), hash);
        assert_eq!(blobs.get(&hash).unwrap().as_deref(), Some(b"content".as_slice()));
        let folder = home.path().join("blobs").join(&hash.as_str()[..2]);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        assert!(folder.join(&hash.as_str()[2..]).is_file());
    }

    #[test]
    fn a_content_that_is_not_kept_is_none() {
        let home = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(home.path().to_owned());
        assert_eq!(blobs.get(&ContentHash::of(b"other")).unwrap(), None);
    }

    #[test]
    fn a_content_that_was_changed_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(home.path().to_owned());
        let hash = blobs.put(b"content").unwrap();
        std::fs::write(blobs.path(&hash).unwrap(), b"changed").unwrap();
        assert!(matches!(blobs.get(&hash), Err(BlobError::Damaged(_))));
    }

    #[test]
    fn a_content_that_unpacks_to_more_than_any_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(home.path().to_owned());
        let hash = ContentHash::of(b"content");
        let packed = compression::packed(&blobs.path(&hash).unwrap());
        std::fs::create_dir_all(packed.parent().unwrap()).unwrap();
        let lines = io::repeat(b'\n').take(LARGEST * 2);
        zstd::stream::copy_encode(lines, File::create(packed).unwrap(), 1).unwrap();
        assert!(matches!(blobs.get(&hash), Err(BlobError::Damaged(_))));
        assert_eq!(read(&blobs.path(&hash).unwrap()).unwrap().unwrap().len() as u64, LARGEST + 1);
    }

    #[test]
    fn a_hash_that_is_none_names_no_file() {
        let blobs = BlobStore::new(PathBuf::from("/blobs"));
        for text in ["../../etc/passwd", "", "ABCDEF", &"g".repeat(64)] {
            let hash: ContentHash = serde_json::from_value(text.into()).unwrap();
            assert_eq!(blobs.path(&hash), None, "{text:?}");
        }
    }
}
