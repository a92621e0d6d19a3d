//! Parses one line of a log, leniently.
//!
//! A line that slug wrote parses at once. Any other line is parsed piece by piece. So plain chat
//! logs (`{"role": "user", "content": "hello"}`), records without an id, and records with fields of
//! a newer version are read as far as they are understood. Ids that are made up here depend on the
//! line alone, so that they are the same at each reading and in forks.

use std::borrow::Cow;
use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::domain::{
    ContentBlock, ContentHash, EntryId, MessageRole, StopReason, TokenUsage, TurnId,
};

use super::{LogEntry, LogRecord, SessionHeader, ToolResultInfo};

/// What a line of a log turned out to be.
#[derive(Debug)]
pub(super) enum LogLine {
    /// White space only.
    Blank,
    /// A record; `left_out` counts the parts of its content that were not understood.
    Record { record: Box<LogRecord>, left_out: usize },
    /// A JSON object whose type or shape is not known here.
    NotUnderstood { name: String },
    /// The first line of a log with a newer format.
    Newer { version: u32 },
    /// Not a JSON object.
    Damaged,
}

/// What a line without id, time or turn takes over from the lines before it.
#[derive(Debug)]
pub(super) struct LogLineContext {
    timestamp: DateTime<Utc>,
    turn: TurnId,
    /// How often each line without an id has come, by its digest.
    unnamed: HashMap<[u8; 32], u64>,
}

impl Default for LogLineContext {
    fn default() -> Self {
        Self { timestamp: DateTime::UNIX_EPOCH, turn: TurnId(0), unnamed: HashMap::new() }
    }
}

/// Parses one line, without its line feed.
pub(super) fn parse(line: &[u8], context: &mut LogLineContext) -> LogLine {
    if line.iter().all(u8::is_ascii_whitespace) {
        return LogLine::Blank;
    }
    let parsed = match parse_strict(line) {
        Ok(record) => LogLine::Record { record: Box::new(record), left_out: 0 },
        Err(_) => parse_lenient(line, context),
    };
    if let LogLine::Record { record, .. } = &parsed {
        context.timestamp = record.timestamp;
        context.turn = record.turn;
    }
    parsed
}

/// The fields that every kind of record has.
#[derive(Deserialize)]
struct RecordEnvelope<'a> {
    id: EntryId,
    timestamp: DateTime<Utc>,
    turn: TurnId,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

/// Parses a line as slug writes it. Nearly all lines are messages. Those are parsed twice, envelope
/// and entry, which takes a third of the time of the derived parser: that one copies every text
/// before it knows the line's type.
fn parse_strict(line: &[u8]) -> serde_json::Result<LogRecord> {
    let head: RecordEnvelope<'_> = serde_json::from_slice(line)?;
    if head.kind != "message" {
        return serde_json::from_slice(line);
    }
    let entry = LogEntry::Message(serde_json::from_slice(line)?);
    Ok(LogRecord { id: head.id, timestamp: head.timestamp, turn: head.turn, entry })
}

fn parse_lenient(line: &[u8], context: &mut LogLineContext) -> LogLine {
    let Ok(Value::Object(mut object)) = serde_json::from_slice(line) else {
        return LogLine::Damaged;
    };
    if !object.contains_key("type") && object.contains_key("role") {
        object.insert("type".into(), "message".into());
    }
    let name = match object.get("type") {
        Some(Value::String(name)) => name.clone(),
        Some(_) | None => "no type".into(),
    };
    if let Some(version) = newer_version(&name, &object) {
        return LogLine::Newer { version };
    }
    let left_out = if name == "message" { mend_message(&mut object) } else { 0 };
    fill_in(&mut object, line, context);
    match serde_json::from_value(Value::Object(object)) {
        Ok(record) => LogLine::Record { record: Box::new(record), left_out },
        Err(_) => LogLine::NotUnderstood { name },
    }
}

fn newer_version(name: &str, object: &Map<String, Value>) -> Option<u32> {
    let version = u32::try_from(object.get("version")?.as_u64()?).ok()?;
    (name == "session" && version > SessionHeader::VERSION).then_some(version)
}

/// Removes the parts of a message that are not understood; returns how many parts of its content
/// those were.
fn mend_message(object: &mut Map<String, Value>) -> usize {
    drop_unreadable::<StopReason>(object, "stop_reason");
    drop_unreadable::<TokenUsage>(object, "usage");
    drop_unreadable::<ContentHash>(object, "answered");
    drop_unreadable::<ToolResultInfo>(object, "result");
    match object.get_mut("content") {
        Some(Value::Array(blocks)) => {
            let all = blocks.len();
            blocks.retain(|block| ContentBlock::deserialize(block).is_ok());
            all - blocks.len()
        }
        Some(content @ Value::String(_)) => {
            let text = content.take();
            *content = json!([{"type": "text", "text": text}]);
            0
        }
        Some(_) | None => 0,
    }
}

fn drop_unreadable<T: DeserializeOwned>(object: &mut Map<String, Value>, key: &str) {
    if !readable::<T>(object, key) {
        object.remove(key);
    }
}

fn readable<T: DeserializeOwned>(object: &Map<String, Value>, key: &str) -> bool {
    object.get(key).is_some_and(|value| T::deserialize(value).is_ok())
}

fn fill_in(object: &mut Map<String, Value>, line: &[u8], context: &mut LogLineContext) {
    if !readable::<EntryId>(object, "id") {
        object.insert("id".into(), made_up_id(line, context).into());
    }
    if !readable::<DateTime<Utc>>(object, "timestamp") {
        object.insert("timestamp".into(), json!(context.timestamp));
    }
    if !readable::<TurnId>(object, "turn") {
        let turn = if begins_a_turn(object) { context.turn.next() } else { context.turn };
        object.insert("turn".into(), json!(turn));
    }
}

fn begins_a_turn(object: &Map<String, Value>) -> bool {
    let is_text = |block: &Value| block["type"] == "text";
    object.get("role") == Some(&json!(MessageRole::User))
        && object
            .get("content")
            .and_then(Value::as_array)
            .is_some_and(|blocks| blocks.iter().any(is_text))
}

/// An id that is the same for the same line, whatever lines come before it, and different for each
/// repetition of a line.
fn made_up_id(line: &[u8], context: &mut LogLineContext) -> String {
    let digest = Sha256::digest(line.trim_ascii()).into();
    let times = context.unnamed.entry(digest).or_default();
    let digest = Sha256::new().chain_update(times.to_le_bytes()).chain_update(digest);
    *times += 1;
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.finalize()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string()
}
