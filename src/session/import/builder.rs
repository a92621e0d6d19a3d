//! Builds the records of a log from what other tools recorded.
//!
//! Ids, turns and the pairing of results with calls are settled here, for every kind of source.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::mem;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::domain::{
    CallId, ContentBlock, EntryId, Message, MessageRole, SessionId, TokenUsage, ToolStatus, TurnId,
};
use crate::session::{LogEntry, LogRecord, MessageEntry, SessionHeader, ToolResultInfo};

use super::images::ImageImporter;
use super::recognise::ImportSource;
use super::{ImportSourceKind, ImportTally};

/// What is known of an imported session besides its messages.
#[derive(Debug, Clone, Default)]
pub(super) struct ImportedMetadata {
    /// Its id in the store, once it is settled.
    pub(super) session: Option<SessionId>,
    /// Its id in the other tool.
    pub(super) source_id: Option<String>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) model: Option<String>,
    pub(super) provider: Option<String>,
    pub(super) title: Option<String>,
    pub(super) created: Option<DateTime<Utc>>,
    /// When it was last used; `None` if only its messages say so.
    pub(super) updated: Option<DateTime<Utc>>,
}

/// A response of which further parts may follow.
struct PendingResponse {
    key: Option<String>,
    at: DateTime<Utc>,
    message: MessageEntry,
}

/// Takes messages in order, and passes records to `sink`.
pub(super) struct ImportBuilder<'a> {
    pub(super) known: ImportedMetadata,
    pub(super) images: &'a ImageImporter<'a>,
    sink: &'a mut dyn FnMut(&LogRecord) -> io::Result<()>,
    at: Option<DateTime<Utc>>,
    turn: TurnId,
    records: u32,
    /// The tools of the calls that have no result so far.
    calls: HashMap<CallId, String>,
    pending: Option<PendingResponse>,
    /// The newest record: the last one of all gets the time at which the session was last used.
    newest: Option<LogRecord>,
    tally: ImportTally,
}

impl ImportedMetadata {
    /// Makes the session's id in the store, which is always the same for the same source.
    pub(super) fn session_id(
        &self,
        kind: ImportSourceKind,
        source: &ImportSource,
    ) -> io::Result<SessionId> {
        let mut hasher = Sha256::new().chain_update(kind.name()).chain_update(b"\n");
        match &self.source_id {
            Some(id) => hasher.update(id),
            None => drop(io::copy(&mut File::open(source.file())?, &mut hasher)?),
        }
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hasher.finalize()[..16]);
        Ok(session_id(bytes))
    }

    /// The session's id in the store; a fixed one before it is settled.
    pub(super) fn session(&self) -> SessionId {
        self.session.unwrap_or_else(|| session_id([0; 16]))
    }

    /// The first line of the log, with an extra field `imported_from` that names the source.
    pub(super) fn first_line(&self, kind: ImportSourceKind) -> io::Result<Vec<u8>> {
        let provider = match kind {
            ImportSourceKind::ClaudeCode => "anthropic",
            ImportSourceKind::Codex => "openai",
            ImportSourceKind::Chat | ImportSourceKind::Slug => "imported",
        };
        let header = SessionHeader {
            session_id: self.session(),
            version: SessionHeader::VERSION,
            cwd: self.cwd.clone().unwrap_or_default(),
            model: self.model.clone().unwrap_or_default(),
            provider: self.provider.clone().unwrap_or_else(|| provider.into()),
            forked_from: None,
            spawned_by: None,
            server_tools: Vec::new(),
        };
        let record = LogRecord {
            id: entry_id(self.session(), self.created, 0),
            timestamp: self.created.unwrap_or_default(),
            turn: TurnId(0),
            entry: LogEntry::Session(header),
        };
        let mut value = serde_json::to_value(record)?;
        if let Value::Object(fields) = &mut value {
            fields.insert("imported_from".into(), kind.name().into());
        }
        let mut line = serde_json::to_vec(&value)?;
        line.push(b'\n');
        Ok(line)
    }
}

impl<'a> ImportBuilder<'a> {
    pub(super) fn new(
        known: ImportedMetadata,
        images: &'a ImageImporter<'a>,
        sink: &'a mut dyn FnMut(&LogRecord) -> io::Result<()>,
    ) -> Self {
        Self {
            at: known.created,
            known,
            images,
            sink,
            turn: TurnId(0),
            records: 1,
            calls: HashMap::new(),
            pending: None,
            newest: None,
            tally: ImportTally::default(),
        }
    }

    /// Counts a line or a part that was not understood.
    pub(super) fn leave_out(&mut self) {
        self.tally.left_out += 1;
    }

    /// Sets the time of the messages that follow: RFC 3339, or seconds or milliseconds since 1970.
    /// Anything else is ignored.
    pub(super) fn time(&mut self, value: &Value) {
        let Some(at) = parse_time(value) else { return };
        self.known.created = Some(self.known.created.map_or(at, |created| created.min(at)));
        self.at = Some(at);
    }

    /// Sets when the session was last used, in the forms of [`Self::time`].
    pub(super) fn updated(&mut self, value: &Value) {
        self.known.updated = self.known.updated.max(parse_time(value));
    }

    /// Sets the time of the messages that follow, unless the source gave one.
    pub(super) fn time_if_none(&mut self, at: DateTime<Utc>) {
        self.at.get_or_insert(at);
    }

    /// Whether a call has no result so far.
    pub(super) fn waits_for(&self, call: &str) -> bool {
        self.calls.contains_key(&CallId::new(call))
    }

    /// Adds a message of the user, which begins a turn.
    pub(super) fn user(&mut self, content: Vec<ContentBlock>) -> io::Result<()> {
        if content.is_empty() {
            return Ok(());
        }
        self.flush()?;
        self.turn = self.turn.next();
        let message = MessageEntry::new(Message { role: MessageRole::User, content });
        self.push_message(self.now(), message)
    }

    /// Adds a response or a part of one. Consecutive parts with the same key become one response.
    pub(super) fn assistant(
        &mut self,
        key: Option<&str>,
        content: Vec<ContentBlock>,
        model: Option<&str>,
        usage: Option<TokenUsage>,
    ) -> io::Result<()> {
        if content.is_empty() {
            return Ok(());
        }
        for block in &content {
            if let ContentBlock::ToolUse(call) = block {
                self.calls.insert(call.id.clone(), call.inner().into_owned().name);
            }
        }
        if let Some(model) = model {
            self.known.model.get_or_insert_with(|| model.to_owned());
        }
        if let Some(pending) = &mut self.pending
            && pending.key.is_some()
            && pending.key.as_deref() == key
        {
            pending.message.content.extend(content);
            pending.message.usage = usage.or(pending.message.usage);
            return Ok(());
        }
        self.flush()?;
        let message = MessageEntry::new(Message { role: MessageRole::Assistant, content });
        let entry = MessageEntry { model: model.map(str::to_owned), usage, ..message };
        self.pending =
            Some(PendingResponse { key: key.map(str::to_owned), at: self.now(), message: entry });
        Ok(())
    }

    /// Adds the result of a call. A result without its call is counted as left out.
    pub(super) fn result(&mut self, call: &str, content: String, is_error: bool) -> io::Result<()> {
        let call = CallId::new(call);
        let Some(name) = self.calls.remove(&call) else {
            self.leave_out();
            return Ok(());
        };
        self.flush()?;
        let status = if is_error { ToolStatus::Failed } else { ToolStatus::Done };
        let block = ContentBlock::ToolResult { tool_use_id: call, content, is_error };
        let message = MessageEntry::new(Message { role: MessageRole::User, content: vec![block] });
        let result = ToolResultInfo {
            name,
            status,
            summary: None,
            display: None,
            elapsed_ms: 0,
            kept: None,
            job: None,
            agent: None,
        };
        self.push_message(self.now(), MessageEntry { result: Some(result), ..message })
    }

    /// Passes on what is pending, and returns what is known of the session.
    pub(super) fn finish(mut self) -> io::Result<(ImportedMetadata, ImportTally)> {
        self.flush()?;
        if let Some(title) = self.known.title.take() {
            self.push(self.now(), LogEntry::Title { title: title.clone() })?;
            self.known.title = Some(title);
        }
        self.close()?;
        let created = self.known.created.or(self.at);
        Ok((ImportedMetadata { created, ..self.known }, self.tally))
    }

    fn now(&self) -> DateTime<Utc> {
        self.at.unwrap_or_default()
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some(PendingResponse { at, message, .. }) = mem::take(&mut self.pending) else {
            return Ok(());
        };
        self.push_message(at, message)
    }

    fn push_message(&mut self, at: DateTime<Utc>, message: MessageEntry) -> io::Result<()> {
        self.tally.messages += 1;
        self.push(at, LogEntry::Message(message))
    }

    fn push(&mut self, timestamp: DateTime<Utc>, entry: LogEntry) -> io::Result<()> {
        let id = entry_id(self.known.session(), Some(timestamp), self.records);
        self.records = self.records.saturating_add(1);
        let turn = self.turn.max(TurnId(1));
        match self.newest.replace(LogRecord { id, timestamp, turn, entry }) {
            Some(before) => (self.sink)(&before),
            None => Ok(()),
        }
    }

    /// Passes on the last record. One without a time of its own gets that of the last use.
    fn close(&mut self) -> io::Result<()> {
        let Some(mut last) = self.newest.take() else { return Ok(()) };
        let has_time = match &last.entry {
            LogEntry::Title { .. } => false,
            _ => Some(last.timestamp) != self.known.created,
        };
        if let Some(updated) = self.known.updated.filter(|it| !has_time && *it > last.timestamp) {
            last.timestamp = updated;
            last.id = entry_id(self.known.session(), Some(updated), self.records.saturating_sub(1));
        }
        (self.sink)(&last)
    }
}

/// An id that grows with time and with the record's number, and is always the same for both.
fn entry_id(session: SessionId, at: Option<DateTime<Utc>>, number: u32) -> EntryId {
    let digest = Sha256::new()
        .chain_update(session.to_string())
        .chain_update(number.to_le_bytes())
        .finalize();
    let [a, b, c, d] = number.to_be_bytes();
    let bytes = [0, 0, 0, a, b, c, d, digest[0], digest[1], digest[2]];
    let millis = at.unwrap_or_default().timestamp_millis().clamp(0, (1 << 48) - 1);
    let id = uuid::Builder::from_unix_timestamp_millis(millis.unsigned_abs(), &bytes);
    EntryId::from(id.into_uuid())
}

fn session_id(bytes: [u8; 16]) -> SessionId {
    SessionId::from(uuid::Builder::from_custom_bytes(bytes).into_uuid())
}

fn parse_time(value: &Value) -> Option<DateTime<Utc>> {
    if let Some(text) = value.as_str() {
        return DateTime::parse_from_rfc3339(text).ok().map(DateTime::into);
    }
    let number = value.as_f64().filter(|number| *number > 0.0)?;
    // Today's times have ten digits in seconds and thirteen in milliseconds.
    let millis = if number < 1e11 { number * 1000.0 } else { number };
    #[allow(clippy::cast_possible_truncation, reason = "clamped to what a time can be")]
    DateTime::from_timestamp_millis(millis.min(4e12) as i64)
}
