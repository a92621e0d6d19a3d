//! What lists show of a session, kept beside its log in `{id}.meta.json`.
//!
//! A cache: it says how many bytes of the log it covers, so that what is missing can be read from
//! there on, and it can always be made again from the whole log.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::domain::{EntryId, MessageRole, SessionId};

use super::files::{self, Durability};
use super::title::{beginning, note_title};
use super::undo::RewindHistory;
use super::{LoadedLog, LogEntry, LogRecord, MessageEntry, SessionHeader};

/// What is known of a session without reading its log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionMeta {
    /// The session.
    pub session_id: SessionId,
    /// When its first line was written.
    pub created_at: DateTime<Utc>,
    /// When its last line was written.
    pub last_used_at: DateTime<Utc>,
    /// The folder it works in; empty where the log does not say.
    #[serde(serialize_with = "files::serialize_path")]
    pub working_directory: PathBuf,
    /// The provider it began with; empty where the log does not say.
    pub provider: String,
    /// The model it uses; empty where the log does not say.
    pub model: String,
    /// Its title; `None` until something was said.
    pub title: Option<String>,
    /// The beginning of the last answer.
    pub summary: Option<String>,
    /// What was said by person and model, without tool results; of a log that was seen in part,
    /// what was seen.
    pub message_count: u64,
    /// Whether only the beginning and the end of its log were looked at, since it is very long.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
    /// Where its first part comes from.
    pub forked_from: Option<SessionId>,
    /// Of a fork: the last that was said before it went its own way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parted: Option<LastSharedMessage>,
    /// Of a fork: how the first message begins that the person sent in it alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<String>,
    /// How much of the log all this covers.
    #[serde(default)]
    pub log_bytes: u64,
}

/// Where a fork parts from the session that it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastSharedMessage {
    /// The last message that both have.
    pub entry: EntryId,
    /// Who said it.
    pub role: MessageRole,
    /// How it begins.
    pub text: String,
}

const SUMMARY_WIDTH: usize = 160;
/// Columns of the message at which a fork parts.
const PARTED_WIDTH: usize = 80;

impl SessionMeta {
    /// What is known of a session with nothing in it yet.
    pub(super) fn new(session_id: SessionId, now: DateTime<Utc>) -> Self {
        Self {
            session_id,
            created_at: now,
            last_used_at: now,
            working_directory: PathBuf::new(),
            provider: String::new(),
            model: String::new(),
            title: None,
            summary: None,
            message_count: 0,
            is_partial: false,
            forked_from: None,
            parted: None,
            own: None,
            log_bytes: 0,
        }
    }

    /// What a whole log says. `modified`, the file's own time, stands in for a log without times.
    pub(super) fn of(session_id: SessionId, loaded: &LoadedLog, modified: DateTime<Utc>) -> Self {
        let mut times = loaded.records.iter().map(|record| record.timestamp);
        let created = times.find(|time| *time > DateTime::UNIX_EPOCH).unwrap_or(modified);
        let mut meta = Self::new(session_id, created);
        for record in &loaded.records {
            meta.apply(record);
        }
        meta.log_bytes = loaded.good_len as u64;
        meta
    }

    /// How many messages there are, where all were seen.
    pub fn known_message_count(&self) -> Option<u64> {
        (!self.is_partial).then_some(self.message_count)
    }

    /// Takes one more record in.
    pub(super) fn apply(&mut self, record: &LogRecord) {
        // The lines that a fork took over are older than its first.
        self.last_used_at = self.last_used_at.max(record.timestamp);
        note_title(&mut self.title, &record.entry);
        match &record.entry {
            LogEntry::Session(header) => self.begin(header),
            LogEntry::Message(said) => {
                self.say(said);
                self.note_fork_messages(record, said);
            }
            LogEntry::Model { model, .. } => self.model.clone_from(model),
            LogEntry::Rewind(rewind) => {
                self.message_count = rewind.messages;
                self.summary.clone_from(&rewind.summary);
            }
            LogEntry::ToolStarted { .. }
            | LogEntry::Permission(_)
            | LogEntry::FileChange(_)
            | LogEntry::NotCovered(_)
            | LogEntry::Compaction(_)
            | LogEntry::Interrupted
            | LogEntry::TurnEnd(_)
            | LogEntry::Title { .. }
            | LogEntry::Todo { .. }
            | LogEntry::Mode { .. } => {}
        }
    }

    fn begin(&mut self, header: &SessionHeader) {
        self.working_directory.clone_from(&header.cwd);
        self.provider.clone_from(&header.provider);
        self.model.clone_from(&header.model);
        self.forked_from = header.forked_from;
    }

    /// What lists show of the messages that are in force: how many there are, and how the last
    /// answer begins.
    pub fn message_summary(
        records: &[LogRecord],
        rewinds: &RewindHistory,
    ) -> (u64, Option<String>) {
        let mut meta = Self::new(SessionId::generate(), DateTime::UNIX_EPOCH);
        for (at, record) in records.iter().enumerate() {
            if let (LogEntry::Message(said), true) = (&record.entry, rewinds.is_live(at)) {
                meta.say(said);
            }
        }
        (meta.message_count, meta.summary)
    }

    fn say(&mut self, said: &MessageEntry) {
        if said.is_result() {
            return;
        }
        self.message_count += 1;
        match said.role {
            MessageRole::User => {}
            MessageRole::Assistant => {
                let answer = beginning(&said.content, SUMMARY_WIDTH);
                self.summary = answer.or(self.summary.take());
            }
        }
    }

    /// A fork's copied lines are older than its first.
    fn note_fork_messages(&mut self, record: &LogRecord, said: &MessageEntry) {
        if self.forked_from.is_none() || said.is_result() {
            return;
        }
        let is_own = record.timestamp >= self.created_at;
        match beginning(&said.content, PARTED_WIDTH) {
            Some(text) if !is_own => {
                self.parted = Some(LastSharedMessage { entry: record.id, role: said.role, text });
            }
            Some(text) if said.role == MessageRole::User && self.own.is_none() => {
                self.own = Some(text)
            }
            Some(_) | None => {}
        }
    }

    /// Reads a meta file; one that is missing or makes no sense is `None`.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let bytes = files::read_cache(path).unwrap_or_else(|error| {
            tracing::debug!(path = %path.display(), %error, "meta file not readable");
            None
        })?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Writes the meta file. A failure is no more than a note in the log file: it is a cache.
    pub(super) fn save(&self, path: &Path) {
        let saved = serde_json::to_vec_pretty(self)
            .map_err(std::io::Error::from)
            .and_then(|bytes| files::replace(path, &[&bytes, b"\n"], Durability::Cache));
        if let Err(error) = saved {
            tracing::debug!(path = %path.display(), %error, "meta file not written");
        }
    }
}
