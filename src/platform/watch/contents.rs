//! Keeps the contents of watched files: small files in one unnamed file, links by their target.

use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::domain::ContentHash;
use crate::platform::files;
use crate::platform::restore::PathContent;
use crate::tools::FileState;

use super::UnkeptReason;
use super::listing::FileStamp;

/// The most files of which the content is kept.
const KEPT: usize = 10_000;
/// The most bytes of a file that is kept.
pub(super) const LARGEST: u64 = 256 << 10;

/// The content of a watched file, or why it is not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WatchedContent {
    File { hash: ContentHash, at: u64, length: usize },
    Link(Vec<u8>),
    NotKept(UnkeptReason),
}

/// All kept contents.
#[derive(Debug, Default)]
pub(super) struct WatchContentStore {
    pack: Option<UnnamedFile>,
}

/// A file without a name in any folder, which the system removes when it is closed.
#[derive(Debug)]
struct UnnamedFile {
    file: File,
    length: u64,
}

/// How much a look may still read.
pub(super) struct ReadBudget {
    /// The length in bytes that the unnamed file may reach.
    pub(super) room: u64,
    until: Instant,
}

impl ReadBudget {
    /// Whether the time for reading is over.
    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }
}

impl WatchContentStore {
    /// Begins a look that may keep `all` bytes and read for `timeout`.
    pub(super) fn reading(&self, all: u64, timeout: Duration) -> ReadBudget {
        ReadBudget { room: self.length() + all, until: Instant::now() + timeout }
    }

    /// The kept bytes, in total.
    pub(super) fn length(&self) -> u64 {
        self.pack.as_ref().map_or(0, |pack| pack.length)
    }

    /// Reads the content of the file at `path` and keeps it, unless it equals `before`. `kept` is
    /// the number of files before it; `room` is the length that the unnamed file may reach.
    pub(super) fn read(
        &mut self,
        content_folder: &Path,
        (path, stamp): (&Path, FileStamp),
        before: Option<&WatchedContent>,
        (kept, room): (usize, u64),
    ) -> WatchedContent {
        if stamp.is_link() {
            return match fs::read_link(path) {
                Ok(target) => WatchedContent::Link(target.as_os_str().as_bytes().to_vec()),
                Err(_) => WatchedContent::NotKept(UnkeptReason::Unreadable),
            };
        }
        if stamp.size > LARGEST {
            return WatchedContent::NotKept(UnkeptReason::TooLarge);
        }
        if kept >= KEPT {
            return WatchedContent::NotKept(UnkeptReason::TooMany);
        }
        let bytes = match files::read(path, LARGEST) {
            Ok(FileState::File(bytes)) => bytes,
            Ok(FileState::TooBig(_)) => return WatchedContent::NotKept(UnkeptReason::TooLarge),
            Ok(FileState::Missing | FileState::Folder | FileState::Special) | Err(_) => {
                return WatchedContent::NotKept(UnkeptReason::Unreadable);
            }
        };
        let hash = ContentHash::of(&bytes);
        if let Some(old @ WatchedContent::File { hash: old_hash, .. }) = before
            && *old_hash == hash
        {
            return old.clone();
        }
        match self.keep(content_folder, &bytes, room) {
            Ok(Some(at)) => WatchedContent::File { hash, at, length: bytes.len() },
            Ok(None) => WatchedContent::NotKept(UnkeptReason::TooMany),
            Err(error) => {
                tracing::warn!(%error, "what a file holds cannot be kept");
                WatchedContent::NotKept(UnkeptReason::Unreadable)
            }
        }
    }

    /// The content as a file with this mode, or as a link.
    pub(super) fn thing(
        &self,
        content: &WatchedContent,
        mode: u32,
    ) -> Result<PathContent, UnkeptReason> {
        match content {
            WatchedContent::Link(target) => Ok(PathContent::Link { target: target.clone() }),
            WatchedContent::NotKept(why) => Err(*why),
            WatchedContent::File { at, length, .. } => {
                let pack = self.pack.as_ref().ok_or(UnkeptReason::Unreadable)?;
                let mut bytes = vec![0; *length];
                pack.file.read_exact_at(&mut bytes, *at).map_err(|_| UnkeptReason::Unreadable)?;
                Ok(PathContent::File { bytes, mode: Some(mode) })
            }
        }
    }

    /// Keeps the content and returns its offset; `None` if there is no room.
    fn keep(&mut self, content_folder: &Path, bytes: &[u8], room: u64) -> io::Result<Option<u64>> {
        let pack = match &mut self.pack {
            Some(pack) => pack,
            None => {
                fs::create_dir_all(content_folder)?;
                let file = tempfile::tempfile_in(content_folder)?;
                self.pack.insert(UnnamedFile { file, length: 0 })
            }
        };
        if pack.length + bytes.len() as u64 > room {
            return Ok(None);
        }
        // Not at the end of the file, where a failed write may have left something.
        pack.file.write_all_at(bytes, pack.length)?;
        let at = pack.length;
        pack.length += bytes.len() as u64;
        Ok(Some(at))
    }
}
