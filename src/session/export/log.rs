//! Writes a session as a log that another slug can import, with the contents that it refers to:
//! images that were shown, and the whole of long outputs.
//!
//! Each content is a line of its own before the first line that refers to it. Outputs are texts
//! without secrets, so they have other hashes than in the store. The contents of files before and
//! after a change are not exported: a file may hold anything, and nobody has checked it before
//! passing it on.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::domain::{ContentHash, EntryId};

use super::secrets::ExportRedactor;
use super::{ContentLookup, SecretHandling};

/// The type of a line that holds a content.
pub(in crate::session) const CONTENT: &str = "content";

/// Writes the records, whose secrets are redacted already, as lines, with the contents before them.
pub(super) fn write(
    mut records: Vec<Value>,
    secrets: SecretHandling,
    redaction: &mut ExportRedactor,
    content_of: ContentLookup<'_>,
) -> String {
    let mut text = String::new();
    let mut written = HashSet::new();
    for record in &mut records {
        for (hash, content) in contents(record, secrets, redaction, content_of) {
            if written.insert(hash.clone()) {
                let line = line(record, &hash, content);
                text.extend([line.to_string().as_str(), "\n"]);
            }
        }
        text.extend([record.to_string().as_str(), "\n"]);
    }
    text
}

/// A content in the form in which its line holds it.
enum ExportedContent {
    Text(String),
    Bytes(Vec<u8>),
}

fn line(record: &Value, hash: &ContentHash, content: ExportedContent) -> Value {
    let (turn, timestamp) = (&record["turn"], &record["timestamp"]);
    let mut line = json!({
        "id": EntryId::generate(), "timestamp": timestamp, "turn": turn, "type": CONTENT, "hash": hash,
    });
    match content {
        ExportedContent::Text(text) => line["text"] = text.into(),
        ExportedContent::Bytes(bytes) => line["base64"] = STANDARD.encode(bytes).into(),
    }
    line
}

/// The contents of a record that are exported. Where an output is redacted, the record's hash is
/// replaced by that of the redacted text.
fn contents(
    record: &mut Value,
    secrets: SecretHandling,
    redaction: &mut ExportRedactor,
    content_of: ContentLookup<'_>,
) -> Vec<(ContentHash, ExportedContent)> {
    let get = |hash: &Value| {
        let hash: ContentHash = serde_json::from_value(hash.clone()).ok()?;
        content_of(&hash).map(|bytes| (hash, bytes))
    };
    let mut found = Vec::new();
    for block in record["content"].as_array().into_iter().flatten() {
        if block["type"] == "image" {
            found.extend(
                get(&block["hash"]).map(|(hash, bytes)| (hash, ExportedContent::Bytes(bytes))),
            );
        }
    }
    if let Some(kept) = record.get_mut("result").and_then(|result| result.get_mut("kept"))
        && let Some((hash, bytes)) = get(kept)
    {
        match secrets {
            SecretHandling::Kept => {
                let content = String::from_utf8(bytes).map_or_else(
                    |error| ExportedContent::Bytes(error.into_bytes()),
                    ExportedContent::Text,
                );
                found.push((hash, content));
            }
            SecretHandling::Redacted => {
                let text = redaction.text(&String::from_utf8_lossy(&bytes));
                let hash = ContentHash::of(text.as_bytes());
                *kept = json!(hash);
                found.push((hash, ExportedContent::Text(text)));
            }
        }
    }
    found
}

/// The content of a line of type `content`; `None` where it does not match its hash.
pub(in crate::session) fn content(line: &Value) -> Option<Vec<u8>> {
    let bytes = match (line["text"].as_str(), line["base64"].as_str()) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (None, Some(text)) => STANDARD.decode(text).ok()?,
        (None, None) => return None,
    };
    (line["hash"] == ContentHash::of(&bytes).as_str()).then_some(bytes)
}
