//! One line of a log, read with as much patience as makes sense.
//!
//! A line of slug's own parses at once. Any other is looked at piece by piece, so that plain chat
//! logs (`{"role": "user", "content": "hello"}`), records without an id and records with fields
//! of a newer version are read as far as they are understood. Ids that are made up here depend on
//! the line alone, so that they are the same at each reading and in forks.

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

/// What a line turned out to be.
#[derive(Debug)]
pub(super) enum LogLine {
    /// Nothing but spaces.
    Blank,
    /// A record; `left_out` parts of its content were not understood.
    Record { record: Box<LogRecord>, left_out: usize },
    /// A JSON object of a type that is not known here, or not in this shape.
    NotUnderstood { name: String },
    /// The first line of a log whose format is newer.
    Newer { version: u32 },
    /// Not a JSON object.
    Damaged,
}

/// What a line without id, time or turn gets from the lines before it.
#[derive(Debug)]
pub(super) struct LogLineContext {
    timestamp: DateTime<Utc>,
    turn: TurnId,
    /// How often each line without an id was there, by its digest.
    unnamed: HashMap<[u8; 32], u64>,
}

impl Default for LogLineContext {
    fn default() -> Self {
        Self { timestamp: DateTime::UNIX_EPOCH, turn: TurnId(0), unnamed: HashMap::new() }
    }
}

/// Reads one line, without its line feed.
pub(super) fn parse(line: &[u8], before: &mut LogLineContext) -> LogLine {
    if line.iter().all(u8::is_ascii_whitespace) {
        return LogLine::Blank;
    }
    let parsed = match parse_strict(line) {
        Ok(record) => LogLine::Record { record: Box::new(record), left_out: 0 },
        Err(_) => parse_lenient(line, before),
    };
    if let LogLine::Record { record, .. } = &parsed {
        before.timestamp = record.timestamp;
        before.turn = record.turn;
    }
    parsed
}

/// What all records have.
#[derive(Deserialize)]
struct RecordEnvelope<'a> {
    id: EntryId,
    timestamp: DateTime<Utc>,
    turn: TurnId,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

/// A line as slug writes it. Nearly all of a log are messages: these are read twice, which takes a
/// third of the time of serde's way, which copies every text before it knows what it is for.
fn parse_strict(line: &[u8]) -> serde_json::Result<LogRecord> {
    let head: RecordEnvelope<'_> = serde_json::from_slice(line)?;
    if head.kind != "message" {
        return serde_json::from_slice(line);
    }
    let entry = LogEntry::Message(serde_json::from_slice(line)?);
    Ok(LogRecord { id: head.id, timestamp: head.timestamp, turn: head.turn, entry })
}

fn parse_lenient(line: &[u8], before: &mut LogLineContext) -> LogLine {
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
    fill_in(&mut object, line, before);
    match serde_json::from_value(Value::Object(object)) {
        Ok(record) => LogLine::Record { record: Box::new(record), left_out },
        Err(_) => LogLine::NotUnderstood { name },
    }
}

fn newer_version(name: &str, object: &Map<String, Value>) -> Option<u32> {
    let version = u32::try_from(object.get("version")?.as_u64()?).ok()?;
    (name == "session" && version > SessionHeader::VERSION).then_some(version)
}

/// Makes a message readable without what is not understood of it, and counts what that is.
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

fn fill_in(object: &mut Map<String, Value>, line: &[u8], before: &mut LogLineContext) {
    if !readable::<EntryId>(object, "id") {
        object.insert("id".into(), made_up_id(line, before).into());
    }
    if !readable::<DateTime<Utc>>(object, "timestamp") {
        object.insert("timestamp".into(), json!(before.timestamp));
    }
    if !readable::<TurnId>(object, "turn") {
        let turn = if begins_a_turn(object) { before.turn.next() } else { before.turn };
        object.insert("turn".into(), json!(turn));
    }
}

fn begins_a_turn(object: &Map<String, Value>) -> bool {
    let is_said = |block: &Value| block["type"] == "text";
    object.get("role") == Some(&json!(MessageRole::User))
        && object
            .get("content")
            .and_then(Value::as_array)
            .is_some_and(|blocks| blocks.iter().any(is_said))
}

/// The same for the same line, whatever stands before it, and different for a line that is there
/// twice.
fn made_up_id(line: &[u8], before: &mut LogLineContext) -> String {
    let digest = Sha256::digest(line.trim_ascii()).into();
    let times = before.unnamed.entry(digest).or_default();
    let digest = Sha256::new().chain_update(times.to_le_bytes()).chain_update(digest);
    *times += 1;
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.finalize()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string()
}
