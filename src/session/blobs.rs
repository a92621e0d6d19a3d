//! The store of contents, each kept once under its hash: files before and after a change, images,
//! and tool outputs of which the model got only a part. `gc` packs old contents, and finds out
//! which of them are still needed.

use std::fs::{DirEntry, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::domain::ContentHash;

use super::compression;
use super::files::{self, Durability, missing_is_none};
use super::spool::{self, SpoolReader, SpoolWriter};

/// In bytes. No content is larger: slug changes no file of more than 16 MB, and keeps less of
/// outputs.
const LARGEST: u64 = 64 << 20;

/// The folder of contents. The content with the hash `abcdef…` is the file `ab/cdef…`.
#[derive(Debug, Clone)]
pub struct BlobStore {
    dir: PathBuf,
}

/// Why a content cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// The file's content does not have the hash that the file is named after.
    #[error("{} is damaged: remove it", .0.display())]
    Damaged(PathBuf),
    /// The operating system refuses to read or write the file.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// "read" or "keep".
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl BlobStore {
    /// The store in the folder `dir`, which does not have to exist.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Keeps `bytes` and returns their hash. They are on the disk when this returns.
    ///
    /// # Errors
    ///
    /// [`BlobError::Io`] when the content's file cannot be written and synced.
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

    /// The content with this hash, packed or not; `None` where it is not kept, or where the hash is
    /// not 64 lower-case hexadecimal digits.
    ///
    /// # Errors
    ///
    /// [`BlobError::Damaged`] when the file holds another content, and [`BlobError::Io`] when it
    /// cannot be read.
    pub fn get(&self, hash: &ContentHash) -> Result<Option<Vec<u8>>, BlobError> {
        let Some(path) = self.path(hash) else { return Ok(None) };
        match read(&path) {
            Ok(Some(bytes)) if ContentHash::of(&bytes) != *hash => Err(BlobError::Damaged(path)),
            Ok(content) => Ok(content),
            Err(source) => Err(BlobError::Io { doing: "read", path, source }),
        }
    }

    /// A file for the output of a job, which lasts as long as its writer and its readers. Blocks.
    ///
    /// # Errors
    ///
    /// [`BlobError::Io`] when the file cannot be made.
    pub fn spool(&self) -> Result<(SpoolWriter, SpoolReader), BlobError> {
        let path = spool::spool_folder(&self.dir);
        spool::create(&path).map_err(|source| BlobError::Io { doing: "keep", path, source })
    }

    /// `None` for a text that is not a hash: anyone may have written the log that it comes from.
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
    /// Every content that is kept: its hash, its path without the ending of a packed file, and its
    /// file.
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

    /// The folder of spools. A system without nameless files gives them names for a moment, which a
    /// killed slug leaves behind.
    pub(super) fn spools(&self) -> PathBuf {
        spool::spool_folder(&self.dir)
    }

    /// The folders that contents lie in, named after the first two digits of the hashes.
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

/// Writes a content. One that is there already gets the time of now, so that the garbage collection
/// does not take it for one that no log names any more.
fn keep(path: &Path, bytes: &[u8]) -> io::Result<()> {
    for existing in [path.to_owned(), compression::packed(path)] {
        // Nobody but slug writes here; what is read may be another's.
        if let Some(file) = missing_is_none(File::open(existing))? {
            return files::set_modified(&file, SystemTime::now());
        }
    }
    files::replace(path, &[bytes], Durability::Synced)
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let Some(content) = compression::open(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    // A longer content has another hash already by its length.
    content.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_comes_back_and_is_kept_once() {
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
    fn a_content_that_unpacks_to_more_than_the_limit_is_an_error() {
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
    fn a_text_that_is_not_a_hash_names_no_file() {
        let blobs = BlobStore::new(PathBuf::from("/blobs"));
        for text in ["../../etc/passwd", "", "ABCDEF", &"g".repeat(64)] {
            let hash: ContentHash = serde_json::from_value(text.into()).unwrap();
            assert_eq!(blobs.path(&hash), None, "{text:?}");
        }
    }

    #[test]
    fn only_regular_files_are_opened() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};

        let home = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(home.path().join("blobs"));
        for ending in ["", ".zst"] {
            let hash = blobs.put(ending.as_bytes()).unwrap();
            let plain = blobs.path(&hash).unwrap();
            std::fs::remove_file(&plain).unwrap();
            let mut fifo = plain.into_os_string();
            fifo.push(ending);
            mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
            let error = blobs.get(&hash).unwrap_err().to_string();
            assert!(error.contains("is not a regular file"), "{error}");
        }
    }
}
