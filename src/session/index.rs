//! What lists show of all sessions, in one file beside the logs, so that ten thousand sessions are
//! listed without opening ten thousand files.
//!
//! A cache of a cache: a session is taken from here only where its log has the length and the time
//! that are noted with it, and everything here can be made again from the meta files and the logs.
//! The file is replaced whole, so that of two slugs that write it one wins and none is torn. A
//! line that makes no sense is a session that is not known.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::disk::read_regular;
use crate::domain::SessionId;

use super::SessionMeta;
use super::files::{self, Durability};

/// The file's name among the sessions.
pub(super) const NAME: &str = "index";
/// It is written anew when so many sessions had to be looked up elsewhere. Fewer cost less than
/// writing it, and a store with no more sessions than this has none.
const STALE: usize = 32;
/// The first line. One that says something else is of another slug, and is as good as none.
const FIRST: &str = "slug sessions 1";
/// As much of it is read for the newest sessions.
const BEGINNING: u64 = 256 * 1024;

/// How a log looks from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogFileStamp {
    len: u64,
    /// Nanoseconds since 1970.
    modified: u64,
}

/// The sessions that were used last when the file was written, at most so many, from its beginning
/// alone: what there is to show at once, before it is known what has changed since.
pub(super) fn newest(path: &Path, count: usize) -> Vec<SessionMeta> {
    let bytes = read_regular(path, BEGINNING).unwrap_or_else(|error| {
        tracing::debug!(path = %path.display(), %error, "index not readable");
        None
    });
    sessions(&bytes.unwrap_or_default()).take(count).map(|(_, meta)| meta).collect()
}

/// The sessions in the file's lines. One that is cut off makes no sense and is none.
fn sessions(bytes: &[u8]) -> impl Iterator<Item = (LogFileStamp, SessionMeta)> {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let is_ours = lines.next() == Some(FIRST.as_bytes());
    lines.filter(move |_| is_ours).filter_map(|line| {
        let (len, modified, meta) = serde_json::from_slice::<(u64, u64, SessionMeta)>(line).ok()?;
        Some((LogFileStamp { len, modified }, meta))
    })
}

/// All that is known.
#[derive(Debug, Default)]
pub(super) struct SessionIndex {
    known: HashMap<SessionId, (LogFileStamp, SessionMeta)>,
    /// How many sessions were not known, or are gone.
    stale: usize,
}

impl LogFileStamp {
    pub(super) fn new(len: u64, modified: SystemTime) -> Self {
        let since = modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Self { len, modified: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX) }
    }
}

impl SessionIndex {
    /// Reads the file; one that is missing or makes no sense knows nothing.
    pub(super) fn read(path: &Path) -> Self {
        let bytes = files::read_cache(path).unwrap_or_else(|error| {
            tracing::debug!(path = %path.display(), %error, "index not readable");
            None
        });
        let bytes = bytes.unwrap_or_default();
        let known = sessions(&bytes).map(|(look, meta)| (meta.session_id, (look, meta)));
        Self { known: known.collect(), stale: 0 }
    }

    /// Takes what is known of a session whose log looks like this.
    pub(super) fn take(&mut self, session: SessionId, look: LogFileStamp) -> Option<SessionMeta> {
        let known = self.known.remove(&session).filter(|(then, _)| *then == look);
        self.stale += usize::from(known.is_none());
        known.map(|(_, meta)| meta)
    }

    /// Puts all sessions there are into the file, where enough of them were not known. What was
    /// not taken is gone. A failure is no more than a note in the log file.
    pub(super) fn renew(self, path: &Path, sessions: &[(LogFileStamp, SessionMeta)]) {
        if self.stale + self.known.len() <= STALE {
            return;
        }
        let mut text = format!("{FIRST}\n").into_bytes();
        for (look, meta) in sessions {
            if serde_json::to_writer(&mut text, &(look.len, look.modified, meta)).is_err() {
                return;
            }
            text.push(b'\n');
        }
        if let Err(error) = files::replace(path, &[&text], Durability::Cache) {
            tracing::debug!(path = %path.display(), %error, "index not written");
        }
    }
}
