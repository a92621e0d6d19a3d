//! Writes a session as one JSON object: the header, and the messages with their blocks as in the
//! log.

use serde_json::{Value, json};

/// The version of this object's format.
const VERSION: u32 = 1;

/// Writes the object, indented. With several titles the last one counts.
pub(super) fn write(records: Vec<Value>) -> Result<String, serde_json::Error> {
    let (mut session, mut title, mut messages) = (Value::Null, Value::Null, Vec::new());
    for mut record in records {
        match record["type"].as_str() {
            Some("session") if session.is_null() => session = record,
            Some("title") => title = record["title"].take(),
            Some("message") => messages.push(record),
            Some(_) | None => {}
        }
    }
    if let Value::Object(fields) = &mut session {
        fields.insert("title".into(), title);
    }
    let whole = json!({"version": VERSION, "session": session, "messages": messages});
    Ok(serde_json::to_string_pretty(&whole)? + "\n")
}
