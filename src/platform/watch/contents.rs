//! What files hold, as far as it is kept: small files in one nameless file, links by themselves.

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

/// The contents of so many are kept.
const KEPT: usize = 10_000;
/// Larger files are not kept.
pub(super) const LARGEST: u64 = 256 << 10;

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WatchedContent {
    File { hash: ContentHash, at: u64, length: usize },
    Link(Vec<u8>),
    NotKept(UnkeptReason),
}

/// All that is kept.
#[derive(Debug, Default)]
pub(super) struct WatchContentStore {
    pack: Option<UnnamedFile>,
}

/// The nameless file.
#[derive(Debug)]
struct UnnamedFile {
    file: File,
    length: u64,
}

/// How far a look may go.
pub(super) struct ReadBudget {
    /// The length that the nameless file may reach.
    pub(super) room: u64,
    until: Instant,
}

impl ReadBudget {
    /// Whether nothing more is read.
    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }
}

impl WatchContentStore {
    /// Begins a look that may keep so many bytes, and read for so long.
    pub(super) fn reading(&self, all: u64, patience: Duration) -> ReadBudget {
        ReadBudget { room: self.length() + all, until: Instant::now() + patience }
    }

    /// How much is kept, in bytes.
    pub(super) fn length(&self) -> u64 {
        self.pack.as_ref().map_or(0, |pack| pack.length)
    }

    /// What the file at `path` holds, which is kept in `shelf` unless it is as `before`; it is one
    /// of so many, for which there is so much room.
    pub(super) fn read(
        &mut self,
        shelf: &Path,
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
        match self.keep(shelf, &bytes, room) {
            Ok(Some(at)) => WatchedContent::File { hash, at, length: bytes.len() },
            Ok(None) => WatchedContent::NotKept(UnkeptReason::TooMany),
            Err(error) => {
                tracing::warn!(%error, "what a file holds cannot be kept");
                WatchedContent::NotKept(UnkeptReason::Unreadable)
            }
        }
    }

    /// A file with this content and mode, or a link, as far as it is kept.
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

    /// Where the content is kept, if there is room for it.
    fn keep(&mut self, shelf: &Path, bytes: &[u8], room: u64) -> io::Result<Option<u64>> {
        let pack = match &mut self.pack {
            Some(pack) => pack,
            None => {
                fs::create_dir_all(shelf)?;
                let file = tempfile::tempfile_in(shelf)?;
                self.pack.insert(UnnamedFile { file, length: 0 })
            }
        };
        if pack.length + bytes.len() as u64 > room {
            return Ok(None);
        }
        // Not at the end: a write that failed half-way may have left something there.
        pack.file.write_all_at(bytes, pack.length)?;
        let at = pack.length;
        pack.length += bytes.len() as u64;
        Ok(Some(at))
    }
}
