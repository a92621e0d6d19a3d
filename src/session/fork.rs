//! Forks: sessions that begin with a copy of another session's lines.
//!
//! The lines are copied byte by byte, with their ids, below a first line of the fork's own. So an
//! entry can be counted once wherever it is found. A copy may end between a call and its result;
//! whoever sends the conversation repairs that.
//!
//! Of a long log, only the lines are parsed that say where the copy ends and what the title is
//! ([`range`]); the operating system copies the rest. Its bytes are synced with the first line that
//! is appended to the fork. Only that line could be lost: the parent has all others.

mod range;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use crate::domain::{EntryId, SessionId, TurnId};

use super::files::{self, Durability, missing_is_none};
use super::log::{LogError, new_line};
use super::log_reader::load;
use super::store::failed;
use super::title::title_after;
use super::{LogEntry, LogRecord, SessionHeader, SessionStore, StoreError};

use range::ForkRange;

impl SessionStore {
    /// Creates the session of `header` from the lines of `parent` up to and including `upto`, or
    /// from all of them. `forked_from` and `server_tools` of the header are set here: the fork has the
    /// parent's title and its tools array.
    ///
    /// # Errors
    ///
    /// [`StoreError::Exists`] when the new session has a log already, [`StoreError::Missing`] when
    /// the parent has none, [`StoreError::NoSuchEntry`] when the parent has no entry `upto`, and
    /// [`StoreError::Io`] or [`StoreError::Log`] when the parent cannot be read or the fork not be
    /// written.
    pub fn fork(
        &self,
        parent: SessionId,
        upto: Option<EntryId>,
        header: SessionHeader,
    ) -> Result<(), StoreError> {
        if self.has_log(header.session_id)? {
            return Err(StoreError::Exists(header.session_id));
        }
        let path = self.paths(header.session_id).log();
        let first = |server_tools| {
            let header = SessionHeader { forked_from: Some(parent), server_tools, ..header };
            line(TurnId(0), LogEntry::Session(header))
        };
        if let Some((file, range)) = self.fork_range(parent, upto)? {
            let first = first(range.server_tools)?;
            let last = match range.title {
                Some((turn, title)) => line(turn, LogEntry::Title { title })?,
                None => Vec::new(),
            };
            let body = range.body.end - range.body.start;
            let copy = |fork: &mut File| {
                fork.write_all(&first)?;
                (&file).seek(SeekFrom::Start(range.body.start))?;
                // The operating system copies from file to file, without a buffer of slug's.
                io::copy(&mut (&file).take(body), fork)?;
                fork.write_all(&last)
            };
            return files::replace_with(&path, Durability::Cache, copy)
                .map_err(failed("write", &path));
        }
        let bytes = self.bytes(parent)?;
        let loaded = load(&bytes);
        let part = match upto {
            None => loaded.whole(),
            Some(entry) => {
                loaded.upto(entry).ok_or(StoreError::NoSuchEntry { session: parent, entry })?
            }
        };
        let body = &bytes[part.body];
        let feed: &[u8] = if body.is_empty() || body.ends_with(b"\n") { b"" } else { b"\n" };
        let last = match missing_title(&loaded.records, part.records) {
            Some(title) => line(last_turn(part.records), LogEntry::Title { title })?,
            None => Vec::new(),
        };
        let first = first(loaded.header.map(|header| header.server_tools).unwrap_or_default())?;
        files::replace(&path, &[&first, body, feed, &last], Durability::Synced)
            .map_err(failed("write", &path))
    }

    /// The record of an entry, with the id of the entry before it. A fork up to that id goes its
    /// own way from this record on.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSuchEntry`] when the log has no such entry, or the entry is its first line;
    /// [`StoreError::Missing`] or [`StoreError::Io`] when the log cannot be read.
    pub fn record_and_previous(
        &self,
        session: SessionId,
        entry: EntryId,
    ) -> Result<(EntryId, LogRecord), StoreError> {
        let path = self.paths(session).log();
        let opened = missing_is_none(File::open(&path)).map_err(failed("read", &path))?;
        let found = opened.map(|file| range::record_and_previous(&file, entry)).transpose();
        if let Some(found) = found.map_err(failed("read", &path))?.flatten() {
            return Ok(found);
        }
        let mut records = self.read(session)?.records;
        let at = records.iter().position(|record| record.id == entry).filter(|at| *at > 0);
        let at = at.ok_or(StoreError::NoSuchEntry { session, entry })?;
        Ok((records[at - 1].id, records.swap_remove(at)))
    }

    /// The part of a long log that a fork copies. `None` where the log is short, packed, or not as
    /// slug writes it; then the caller reads all of it.
    fn fork_range(
        &self,
        parent: SessionId,
        upto: Option<EntryId>,
    ) -> Result<Option<(File, ForkRange)>, StoreError> {
        let path = self.paths(parent).log();
        let opened = missing_is_none(File::open(&path)).map_err(failed("read", &path))?;
        let Some(file) = opened else { return Ok(None) };
        let found = range::find(&file, upto).map_err(failed("read", &path))?;
        Ok(found.map(|range| (file, range)))
    }
}

/// The parent's title, where the copied part does not give the same.
fn missing_title(all: &[LogRecord], part: &[LogRecord]) -> Option<String> {
    title_after(all).filter(|title| title_after(part).as_ref() != Some(title))
}

fn last_turn(records: &[LogRecord]) -> TurnId {
    records.last().map_or(TurnId(0), |record| record.turn)
}

fn line(turn: TurnId, entry: LogEntry) -> Result<Vec<u8>, LogError> {
    let (line, _) = new_line(turn, entry)?;
    Ok(line)
}

#[cfg(test)]
#[path = "fork_tests.rs"]
mod tests;
