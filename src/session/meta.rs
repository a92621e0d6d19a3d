//! The meta data of a session that lists show, kept beside its log in `{id}.meta.json`.
//!
//! A cache: it says how many bytes of the log it covers, so that only the rest has to be read, and
//! it can always be made again from the whole log.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::domain::{ContentBlock, EntryId, MessageRole, SessionId, SpawnOrigin};

use super::files::{self, Durability};
use super::title::{beginning, note_title};
use super::undo::RewindHistory;
use super::{LoadedLog, LogEntry, LogRecord, MessageEntry, SessionHeader};

/// What lists show of a session, known without reading its log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionMeta {
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
    /// `None` until something was said.
    pub title: Option<String>,
    /// The beginning of the last answer.
    pub summary: Option<String>,
    /// The number of messages of user and model that are in force, without tool results. Where
    /// `is_partial`, only those in the part of the log that was read.
    pub message_count: u64,
    /// Whether only the beginning and the end of the log were read, because it is very long.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
    /// `None` where the session is not a fork.
    pub forked_from: Option<SessionId>,
    /// The call of another session that started its agent; such a session is in no list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawned_by: Option<SpawnOrigin>,
    /// Of a fork: the last message before it went its own way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parted: Option<LastSharedMessage>,
    /// Of a fork: how the first message begins that the user sent in the fork itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<String>,
    /// How much of the log these facts cover, in bytes.
    #[serde(default)]
    pub log_bytes: u64,
}

/// Whether a message has nothing but notes of slug's for the model, as those before a second try.
fn is_note(message: &MessageEntry) -> bool {
    let is_context = |block: &ContentBlock| block.as_context().is_some();
    message.role == MessageRole::User
        && message.result.is_none()
        && !message.content.is_empty()
        && message.content.iter().all(is_context)
}

/// Names each fork that has its parent's title after the first words of its own, as lists show it.
pub fn name_forks(metas: &mut [SessionMeta]) {
    let titles: HashMap<SessionId, &Option<String>> =
        metas.iter().map(|meta| (meta.session_id, &meta.title)).collect();
    let is_same = |meta: &SessionMeta| {
        let parent = meta.forked_from.and_then(|parent| titles.get(&parent));
        parent.is_some_and(|title| **title == meta.title)
    };
    let same: Vec<bool> = metas.iter().map(is_same).collect();
    for (meta, _) in metas.iter_mut().zip(same).filter(|(_, is_same)| *is_same) {
        meta.title = meta.own.clone().or(meta.title.take());
    }
}

/// The message at which a fork parts from the session that it was forked from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastSharedMessage {
    pub entry: EntryId,
    pub role: MessageRole,
    /// Its beginning, in at most 80 columns.
    pub text: String,
}

const SUMMARY_WIDTH: usize = 160;
/// How much is kept of the message at which a fork parts, in columns.
const PARTED_WIDTH: usize = 80;

impl SessionMeta {
    /// The meta data of a session with nothing in it yet.
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
            spawned_by: None,
            parted: None,
            own: None,
            log_bytes: 0,
        }
    }

    /// The meta data of a whole log. `modified`, the file's modification time, stands in for a log
    /// without times.
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

    /// The number of messages; `None` where only a part of the log was read.
    pub fn known_message_count(&self) -> Option<u64> {
        (!self.is_partial).then_some(self.message_count)
    }

    /// Updates the meta data by one more record.
    pub(super) fn apply(&mut self, record: &LogRecord) {
        // The lines that a fork copied are older than its first line.
        self.last_used_at = self.last_used_at.max(record.timestamp);
        note_title(&mut self.title, &record.entry);
        match &record.entry {
            LogEntry::Session(header) => self.begin(header),
            LogEntry::Message(message) => {
                self.say(message);
                self.note_fork_messages(record, message);
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
            | LogEntry::ContextEdit(_)
            | LogEntry::Interrupted
            | LogEntry::TurnEnd(_)
            | LogEntry::Title { .. }
            | LogEntry::Todo { .. }
            | LogEntry::Tasks(_)
            | LogEntry::Mode { .. } => {}
        }
    }

    fn begin(&mut self, header: &SessionHeader) {
        self.working_directory.clone_from(&header.cwd);
        self.provider.clone_from(&header.provider);
        self.model.clone_from(&header.model);
        self.forked_from = header.forked_from;
        self.spawned_by.clone_from(&header.spawned_by);
    }

    /// The number of messages in force, and how the last answer among them begins.
    pub fn message_summary(
        records: &[LogRecord],
        rewinds: &RewindHistory,
    ) -> (u64, Option<String>) {
        let mut meta = Self::new(SessionId::generate(), DateTime::UNIX_EPOCH);
        for (at, record) in records.iter().enumerate() {
            if let (LogEntry::Message(message), true) = (&record.entry, rewinds.is_live(at)) {
                meta.say(message);
            }
        }
        (meta.message_count, meta.summary)
    }

    fn say(&mut self, message: &MessageEntry) {
        if message.is_result() || !message.source.is_main() || is_note(message) {
            return;
        }
        self.message_count += 1;
        match message.role {
            MessageRole::User => {}
            MessageRole::Assistant => {
                let answer = beginning(&message.content, SUMMARY_WIDTH);
                self.summary = answer.or(self.summary.take());
            }
        }
    }

    /// Remembers the last copied message of a fork, and the first one that the user sent in it.
    /// Copied lines are older than the fork's first line.
    fn note_fork_messages(&mut self, record: &LogRecord, message: &MessageEntry) {
        if self.forked_from.is_none() || message.is_result() {
            return;
        }
        let is_own = record.timestamp >= self.created_at;
        match beginning(&message.content, PARTED_WIDTH) {
            Some(text) if !is_own => {
                self.parted =
                    Some(LastSharedMessage { entry: record.id, role: message.role, text });
            }
            Some(text) if message.role == MessageRole::User && self.own.is_none() => {
                self.own = Some(text);
            }
            Some(_) | None => {}
        }
    }

    /// Reads a meta file; `None` where it is missing or damaged.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let bytes = files::read_cache(path).unwrap_or_else(|error| {
            tracing::debug!(path = %path.display(), %error, "meta file not readable");
            None
        })?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Writes the meta file. A failure is only noted in the log file, since the meta file is a
    /// cache.
    pub(super) fn save(&self, path: &Path) {
        let saved = serde_json::to_vec_pretty(self)
            .map_err(std::io::Error::from)
            .and_then(|bytes| files::replace(path, &[&bytes, b"\n"], Durability::Cache));
        if let Err(error) = saved {
            tracing::debug!(path = %path.display(), %error, "meta file not written");
        }
    }
}
