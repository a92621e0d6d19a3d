//! Chat messages as the interfaces of OpenAI and Anthropic have them, one by one.

use std::io;

use serde_json::Value;

use crate::domain::{CallId, CallInput, ContentBlock, ToolCall};

use super::builder::ImportBuilder;

/// What an object with messages in it, or one beside them, says of the session.
pub(super) fn facts(builder: &mut ImportBuilder<'_>, value: &Value) {
    let inner = &value["session"];
    let text = |names: &[&str]| {
        let places = [value, inner].into_iter();
        let mut found = places.flat_map(|place| names.iter().map(move |name| &place[*name]));
        found.find_map(|value| value.as_str().filter(|text| !text.is_empty())).map(str::to_owned)
    };
    let known = &mut builder.known;
    known.source_id = text(&["session_id", "sessionId", "id", "uuid"]).or(known.source_id.take());
    known.title = text(&["title", "name"]).or(known.title.take());
    known.model = text(&["model"]).or(known.model.take());
    known.cwd = text(&["cwd", "working_directory", "workspace", "directory"])
        .map(Into::into)
        .or(known.cwd.take());
    for place in [value, inner] {
        for name in ["created_at", "createdAt", "created", "start_time", "timestamp"] {
            builder.time(&place[name]);
        }
    }
}

/// One message.
pub(super) fn message(builder: &mut ImportBuilder<'_>, value: &Value) -> io::Result<()> {
    for name in ["timestamp", "created_at", "createdAt", "time"] {
        builder.time(&value[name]);
    }
    match value["role"].as_str() {
        Some("user" | "human") => user(builder, &value["content"]),
        Some("assistant" | "ai" | "model") => assistant(builder, value),
        Some("tool") => {
            let call = value["tool_call_id"].as_str().unwrap_or_default();
            let is_error = value["is_error"].as_bool().unwrap_or(false);
            leave_out_images(builder, &value["content"]);
            builder.result(call, text_of(&value["content"]), is_error)
        }
        // slug has a prompt of its own.
        Some("system" | "developer") => Ok(()),
        Some(_) | None => {
            builder.leave_out();
            Ok(())
        }
    }
}

/// Something of the person's: text, images, and results of calls.
pub(super) fn user(builder: &mut ImportBuilder<'_>, content: &Value) -> io::Result<()> {
    let (mut said, mut shown) = (Vec::new(), Vec::new());
    for part in parts(content) {
        match part["type"].as_str() {
            Some("tool_result") => {
                let call = part["tool_use_id"].as_str().unwrap_or_default();
                let is_error = part["is_error"].as_bool().unwrap_or(false);
                builder.result(call, text_of(&part["content"]), is_error)?;
                leave_out_images(builder, &part["content"]);
            }
            Some("image" | "image_url" | "input_image") => match builder.images.take(&part)? {
                Some(image) => {
                    // The text names it, as in what is typed here.
                    let text = format!("[Image {} {image}]", shown.len() + 1);
                    said.push(ContentBlock::Text { text });
                    shown.push(ContentBlock::Image(image));
                }
                None => builder.leave_out(),
            },
            Some("text" | "input_text") => said.extend(text(&part["text"])),
            // What slug had put beside the words: it was true then.
            Some("context") => {}
            Some(_) | None => builder.leave_out(),
        }
    }
    said.extend(shown);
    builder.user(said)
}

/// The results of calls are texts here.
fn leave_out_images(builder: &mut ImportBuilder<'_>, content: &Value) {
    for part in content.as_array().into_iter().flatten() {
        if matches!(part["type"].as_str(), Some("image" | "image_url" | "input_image")) {
            builder.leave_out();
        }
    }
}

fn assistant(builder: &mut ImportBuilder<'_>, value: &Value) -> io::Result<()> {
    let mut said = Vec::new();
    let reasoning = ["reasoning_content", "reasoning"].map(|name| &value[name]);
    said.extend(reasoning.into_iter().find_map(thinking));
    said.extend(response(builder, &value["content"]));
    for call in value["tool_calls"].as_array().into_iter().flatten() {
        let function = &call["function"];
        match (call["id"].as_str(), function["name"].as_str()) {
            (Some(id), Some(name)) => said.push(tool_use(id, name, &function["arguments"])),
            (_, _) => builder.leave_out(),
        }
    }
    builder.assistant(None, said, value["model"].as_str(), None)
}

/// The blocks of a response.
pub(super) fn response(builder: &mut ImportBuilder<'_>, content: &Value) -> Vec<ContentBlock> {
    let mut said = Vec::new();
    for part in parts(content) {
        match part["type"].as_str() {
            Some("text" | "output_text") => said.extend(text(&part["text"])),
            // Its seal is for the server that made it.
            Some("thinking") => said.extend(thinking(&part["thinking"])),
            Some("redacted_thinking" | "sealed") => {}
            Some("tool_use") => match (part["id"].as_str(), part["name"].as_str()) {
                (Some(id), Some(name)) => said.push(tool_use(id, name, &part["input"])),
                (_, _) => builder.leave_out(),
            },
            Some(_) | None => builder.leave_out(),
        }
    }
    said
}

/// A content that is a text, or a list of parts.
fn parts(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
        Value::Array(parts) => parts.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

/// A text that says something.
pub(super) fn text(value: &Value) -> Option<ContentBlock> {
    let text = value.as_str().filter(|text| !text.trim().is_empty())?;
    Some(ContentBlock::Text { text: text.to_owned() })
}

/// Thinking that says something.
pub(super) fn thinking(value: &Value) -> Option<ContentBlock> {
    let text = value.as_str().filter(|text| !text.trim().is_empty())?;
    Some(ContentBlock::Thinking { thinking: text.to_owned(), signature: None })
}

/// A call; its arguments are an object, or the text of one.
pub(super) fn tool_use(id: &str, name: &str, input: &Value) -> ContentBlock {
    let input = match input {
        Value::String(text) => CallInput::parse(text),
        Value::Null => CallInput::parse(""),
        Value::Object(_) | Value::Array(_) | Value::Bool(_) | Value::Number(_) => {
            CallInput::parse(&input.to_string())
        }
    };
    ContentBlock::ToolUse(ToolCall { id: CallId::new(id), name: name.to_owned(), input })
}

/// The text of a result: as it is, or that of all its parts.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            texts.join("\n")
        }
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => content.to_string(),
    }
}
