//! What files hold, as far as it is kept: small files in one nameless file, links by themselves.

use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::domain::ContentHash;
use crate::platform::files;
use crate::platform::restore::Thing;
use crate::tools::FileState;

use super::NotKept;
use super::listing::Stamp;

/// The contents of so many are kept.
const KEPT: usize = 10_000;
/// Larger files are not kept.
pub(super) const LARGEST: u64 = 256 << 10;

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    File { hash: ContentHash, at: u64, length: usize },
    Link(Vec<u8>),
    NotKept(NotKept),
}

/// All that is kept.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pack: Option<Pack>,
}

/// The nameless file.
#[derive(Debug)]
struct Pack {
    file: File,
    length: u64,
}

/// How far a look may go.
pub(super) struct Reading {
    /// The length that the nameless file may reach.
    pub(super) room: u64,
    until: Instant,
}

impl Reading {
    /// Whether nothing more is read.
    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }
}

impl Contents {
    /// Begins a look that may keep so many bytes, and read for so long.
    pub(super) fn reading(&self, all: u64, patience: Duration) -> Reading {
        Reading { room: self.length() + all, until: Instant::now() + patience }
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
        (path, stamp): (&Path, Stamp),
        before: Option<&Content>,
        (kept, room): (usize, u64),
    ) -> Content {
        if stamp.is_link() {
            return match fs::read_link(path) {
                Ok(target) => Content::Link(target.as_os_str().as_bytes().to_vec()),
                Err(_) => Content::NotKept(NotKept::Unreadable),
            };
        }
        if stamp.size > LARGEST {
            return Content::NotKept(NotKept::TooLarge);
        }
        if kept >= KEPT {
            return Content::NotKept(NotKept::TooMany);
        }
        let bytes = match files::read(path, LARGEST) {
            Ok(FileState::File(bytes)) => bytes,
            Ok(FileState::TooBig(_)) => return Content::NotKept(NotKept::TooLarge),
            Ok(FileState::Missing | FileState::Folder | FileState::Special) | Err(_) => {
                return Content::NotKept(NotKept::Unreadable);
            }
        };
        let hash = ContentHash::of(&bytes);
        if let Some(old @ Content::File { hash: old_hash, .. }) = before
            && *old_hash == hash
        {
            return old.clone();
        }
        match self.keep(shelf, &bytes, room) {
            Ok(Some(at)) => Content::File { hash, at, length: bytes.len() },
            Ok(None) => Content::NotKept(NotKept::TooMany),
            Err(error) => {
                tracing::warn!(%error, "what a file holds cannot be kept");
                Content::NotKept(NotKept::Unreadable)
            }
        }
    }

    /// A file with this content and mode, or a link, as far as it is kept.
    pub(super) fn thing(&self, content: &Content, mode: u32) -> Result<Thing, NotKept> {
        match content {
            Content::Link(target) => Ok(Thing::Link { target: target.clone() }),
            Content::NotKept(why) => Err(*why),
            Content::File { at, length, .. } => {
                let pack = self.pack.as_ref().ok_or(NotKept::Unreadable)?;
                let mut bytes = vec![0; *length];
                pack.file.read_exact_at(&mut bytes, *at).map_err(|_| NotKept::Unreadable)?;
                Ok(Thing::File { bytes, mode: Some(mode) })
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
                self.pack.insert(Pack { file, length: 0 })
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
