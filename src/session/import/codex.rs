//! Imports rollout files of Codex: items with the conversation, and events that repeat it.

use std::io;
use std::path::Path;

use serde_json::{Value, json};

use crate::domain::CallInput;

use super::builder::ImportBuilder;
use super::chat;
use super::lines::JsonLinesReader;

/// The beginnings of texts that Codex adds to the user's messages.
const NOTES: [&str; 5] = [
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<turn_aborted>",
    "# AGENTS.md instructions",
];

/// The key of all items up to a result or the user's next message: they are one response.
const RESPONSE: Option<&str> = Some("response");

/// Reads a whole file into the builder.
pub(super) fn read(file: &Path, builder: &mut ImportBuilder<'_>) -> io::Result<()> {
    let mut lines = JsonLinesReader::open(file)?;
    while let Some(line) = lines.next()? {
        match line {
            Some(value) => take(builder, &value)?,
            None => builder.leave_out(),
        }
    }
    Ok(())
}

fn take(builder: &mut ImportBuilder<'_>, value: &Value) -> io::Result<()> {
    let payload = &value["payload"];
    let text = |name: &str| payload[name].as_str().map(str::to_owned);
    match value["type"].as_str() {
        Some("session_meta") => {
            let known = &mut builder.known;
            // A copy of another session has the original's line after its own.
            if known.source_id.is_none() {
                known.source_id = text("id");
                known.cwd = text("cwd").map(Into::into);
                known.provider = text("model_provider");
            }
            builder.time(&payload["timestamp"]);
        }
        Some("turn_context") => {
            let model = text("model");
            builder.known.model = builder.known.model.take().or(model);
        }
        Some("response_item") => {
            builder.time(&value["timestamp"]);
            return item(builder, payload);
        }
        // The items have the same content.
        Some("event_msg" | "compacted") => {}
        Some(_) | None => builder.leave_out(),
    }
    Ok(())
}

fn item(builder: &mut ImportBuilder<'_>, item: &Value) -> io::Result<()> {
    let model = builder.known.model.clone();
    let model = model.as_deref();
    match item["type"].as_str() {
        Some("message") => match item["role"].as_str() {
            Some("user") if is_note(&item["content"]) => Ok(()),
            Some("user") => chat::user(builder, &item["content"]),
            Some("assistant") => {
                let blocks = chat::response(builder, &item["content"]);
                builder.assistant(RESPONSE, blocks, model, None)
            }
            Some(_) | None => Ok(()),
        },
        Some("reasoning") => {
            let summary = item["summary"].as_array().into_iter().flatten();
            let blocks = summary.filter_map(|part| chat::thinking(&part["text"])).collect();
            builder.assistant(RESPONSE, blocks, model, None)
        }
        Some("function_call" | "custom_tool_call" | "local_shell_call") => {
            let Some(id) = item["call_id"].as_str() else {
                builder.leave_out();
                return Ok(());
            };
            let call = chat::tool_use(id, item["name"].as_str().unwrap_or("shell"), &input(item));
            builder.assistant(RESPONSE, vec![call], model, None)
        }
        Some("function_call_output" | "custom_tool_call_output") => {
            let (text, is_error) = output(&item["output"]);
            builder.result(item["call_id"].as_str().unwrap_or_default(), text, is_error)
        }
        Some("ghost_snapshot" | "web_search_call") => Ok(()),
        Some(_) | None => {
            builder.leave_out();
            Ok(())
        }
    }
}

fn is_note(content: &Value) -> bool {
    let mut parts = content.as_array().into_iter().flatten().peekable();
    parts.peek().is_some()
        && parts.all(|part| {
            let text = part["text"].as_str().unwrap_or_default().trim_start();
            NOTES.iter().any(|note| text.starts_with(note))
        })
}

/// The arguments of a call: a JSON text, an object, or a text that is the only argument.
fn input(item: &Value) -> Value {
    let input = ["arguments", "input", "action"].map(|name| &item[name]);
    let input = input.into_iter().find(|value| !value.is_null()).cloned().unwrap_or_default();
    match &input {
        Value::String(text) if matches!(CallInput::parse(text), CallInput::Invalid(_)) => {
            json!({"input": text})
        }
        _ => input,
    }
}

/// The output of a call, and whether it failed: a text, an object with one, or the JSON text of
/// such an object.
fn output(value: &Value) -> (String, bool) {
    let parsed = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let value = parsed.as_ref().filter(|parsed| parsed["output"].is_string()).unwrap_or(value);
    let text = ["output", "content"].into_iter().find_map(|name| value.get(name));
    let failed = value["success"] == false
        || value["metadata"]["exit_code"].as_i64().is_some_and(|code| code != 0);
    (chat::text_of(text.unwrap_or(value)), failed)
}
