//! The meta data of all sessions in one file beside the logs, so that ten thousand sessions are
//! listed without opening ten thousand files.
//!
//! A cache of a cache: an entry counts only where the session's log has the length and the time
//! that are noted with it, and everything here can be made again from the meta files and the logs.
//! The file is always replaced as a whole, so of two slugs that write it one wins and neither file
//! is torn. A line that makes no sense stands for a session that is not known.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::disk::read_regular;
use crate::domain::SessionId;

use super::SessionMeta;
use super::files::{self, Durability};

/// The name of the file in the folder of sessions.
pub(super) const NAME: &str = "index";
/// The file is written again when more sessions than this had to be looked up elsewhere. Looking up
/// fewer costs less than writing it; so a store with no more sessions than this has no index.
const STALE: usize = 32;
/// The first line. A file with another one is of another version of slug and counts as missing.
const FIRST: &str = "slug sessions 1";
/// How much of the file is read for the newest sessions, in bytes.
const BEGINNING: u64 = 256 * 1024;

/// The length and time of a log's file, by which a change of the log is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogFileStamp {
    len: u64,
    /// Nanoseconds since 1970.
    modified: u64,
}

/// The sessions that were used last when the file was written, at most `count`, from the file's
/// beginning alone. They can be shown at once, before it is known what has changed since.
pub(super) fn newest(path: &Path, count: usize) -> Vec<SessionMeta> {
    let bytes = read_regular(path, BEGINNING).unwrap_or_else(|error| {
        tracing::debug!(path = %path.display(), %error, "index not readable");
        None
    });
    sessions(&bytes.unwrap_or_default()).take(count).map(|(_, meta)| meta).collect()
}

/// The sessions in the file's lines. Lines that are cut off or damaged are skipped.
fn sessions(bytes: &[u8]) -> impl Iterator<Item = (LogFileStamp, SessionMeta)> {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let is_ours = lines.next() == Some(FIRST.as_bytes());
    lines.filter(move |_| is_ours).filter_map(|line| {
        let (len, modified, meta) = serde_json::from_slice::<(u64, u64, SessionMeta)>(line).ok()?;
        Some((LogFileStamp { len, modified }, meta))
    })
}

/// The index as it was read, from which each session is taken once.
#[derive(Debug, Default)]
pub(super) struct SessionIndex {
    known: HashMap<SessionId, (LogFileStamp, SessionMeta)>,
    /// How many sessions were not known or had changed.
    stale: usize,
}

impl LogFileStamp {
    pub(super) fn new(len: u64, modified: SystemTime) -> Self {
        let since = modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Self { len, modified: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX) }
    }
}

impl SessionIndex {
    /// Reads the file; an index that is missing or damaged is empty.
    pub(super) fn read(path: &Path) -> Self {
        let bytes = files::read_cache(path).unwrap_or_else(|error| {
            tracing::debug!(path = %path.display(), %error, "index not readable");
            None
        });
        let bytes = bytes.unwrap_or_default();
        let known = sessions(&bytes).map(|(stamp, meta)| (meta.session_id, (stamp, meta)));
        Self { known: known.collect(), stale: 0 }
    }

    /// Takes the meta data of a session out of the index, if its log still has this stamp.
    pub(super) fn take(&mut self, session: SessionId, stamp: LogFileStamp) -> Option<SessionMeta> {
        let known = self.known.remove(&session).filter(|(then, _)| *then == stamp);
        self.stale += usize::from(known.is_none());
        known.map(|(_, meta)| meta)
    }

    /// Writes all `sessions` to the file, where enough of them were not known or are gone: those
    /// that were not taken out are. A failure is only noted in the log file.
    pub(super) fn renew(self, path: &Path, sessions: &[(LogFileStamp, SessionMeta)]) {
        if self.stale + self.known.len() <= STALE {
            return;
        }
        let mut text = format!("{FIRST}\n").into_bytes();
        for (stamp, meta) in sessions {
            if serde_json::to_writer(&mut text, &(stamp.len, stamp.modified, meta)).is_err() {
                return;
            }
            text.push(b'\n');
        }
        if let Err(error) = files::replace(path, &[&text], Durability::Cache) {
            tracing::debug!(path = %path.display(), %error, "index not written");
        }
    }
}
