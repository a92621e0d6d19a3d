//! Imports chat messages in the formats of OpenAI's and Anthropic's interfaces, one by one.

use std::io;

use serde_json::Value;

use crate::domain::{CallId, CallInput, ContentBlock, ToolCall};

use super::builder::ImportBuilder;

/// Takes the facts about a session from the object that holds its messages, or from its metadata
/// file.
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
    known.provider = text(&["model_provider", "provider"]).or(known.provider.take());
    known.cwd = text(&["cwd", "working_directory", "workspace", "directory"])
        .map(Into::into)
        .or(known.cwd.take());
    for place in [value, inner] {
        for name in ["created_at", "createdAt", "created", "start_time", "timestamp"] {
            builder.time(&place[name]);
        }
        for name in ["updated_at", "updatedAt", "updated", "last_used_at"] {
            builder.updated(&place[name]);
        }
    }
}

/// Takes one message; a role that is not known is counted as left out.
pub(super) fn message(builder: &mut ImportBuilder<'_>, value: &Value) -> io::Result<()> {
    for name in ["timestamp", "created_at", "createdAt", "time"] {
        builder.time(&value[name]);
    }
    let results = || value["tool_results"].as_array().into_iter().flatten();
    match value["role"].as_str() {
        Some("user" | "human") => {
            results().try_for_each(|it| result(builder, it))?;
            user(builder, &value["content"])
        }
        Some("assistant" | "ai" | "model") => {
            assistant(builder, value)?;
            results().try_for_each(|it| result(builder, it))
        }
        Some("tool") if value["tool_results"].is_array() => {
            results().try_for_each(|it| result(builder, it))
        }
        Some("tool") => {
            let call = value["tool_call_id"].as_str().unwrap_or_default();
            let is_error = value["is_error"].as_bool().unwrap_or(false);
            leave_out_images(builder, &value["content"]);
            builder.result(call, text_of(&value["content"]), is_error)
        }
        // slug has its own system prompt.
        Some("system" | "developer") => Ok(()),
        Some(_) | None => {
            builder.leave_out();
            Ok(())
        }
    }
}

/// Takes the content of a user message: text, images, and results of calls.
pub(super) fn user(builder: &mut ImportBuilder<'_>, content: &Value) -> io::Result<()> {
    let (mut blocks, mut images) = (Vec::new(), Vec::new());
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
                    // The text names the image, as in a prompt that is typed in slug.
                    let text = format!("[Image {} {image}]", images.len() + 1);
                    blocks.push(ContentBlock::Text { text });
                    images.push(ContentBlock::Image(image));
                }
                None => builder.leave_out(),
            },
            Some("text" | "input_text") => blocks.extend(text(&part["text"])),
            // Context that slug had added: it was true only then.
            Some("context") => {}
            Some(_) | None => builder.leave_out(),
        }
    }
    blocks.extend(images);
    builder.user(blocks)
}

/// Takes one of the `tool_results` that some tools write beside a message.
fn result(builder: &mut ImportBuilder<'_>, value: &Value) -> io::Result<()> {
    let first = |names: &[&str]| {
        names
            .iter()
            .map(|name| &value[*name])
            .find(|value| !value.is_null())
            .unwrap_or(&Value::Null)
    };
    let call = first(&["tool_call_id", "call_id", "tool_use_id", "id"]);
    let content = first(&["content", "output", "result", "error"]);
    let is_error = value["is_error"].as_bool().unwrap_or(value["error"].is_string());
    leave_out_images(builder, content);
    builder.result(call.as_str().unwrap_or_default(), text_of(content), is_error)
}

/// Counts images in the result of a call as left out: slug's results are texts.
fn leave_out_images(builder: &mut ImportBuilder<'_>, content: &Value) {
    for part in content.as_array().into_iter().flatten() {
        if matches!(part["type"].as_str(), Some("image" | "image_url" | "input_image")) {
            builder.leave_out();
        }
    }
}

fn assistant(builder: &mut ImportBuilder<'_>, value: &Value) -> io::Result<()> {
    let mut blocks = Vec::new();
    let reasoning = ["reasoning_content", "reasoning"].map(|name| &value[name]);
    blocks.extend(reasoning.into_iter().find_map(thinking));
    blocks.extend(response(builder, &value["content"]));
    for call in value["tool_calls"].as_array().into_iter().flatten() {
        // Some tools write name and arguments without OpenAI's `function` around them.
        let function = if call["function"].is_object() { &call["function"] } else { call };
        match (call["id"].as_str(), function["name"].as_str()) {
            (Some(id), Some(name)) => blocks.push(tool_use(id, name, &function["arguments"])),
            (_, _) => builder.leave_out(),
        }
    }
    builder.assistant(None, blocks, value["model"].as_str(), None)
}

/// Reads the content blocks of a response.
pub(super) fn response(builder: &mut ImportBuilder<'_>, content: &Value) -> Vec<ContentBlock> {
    let mut blocks = Vec::new();
    for part in parts(content) {
        match part["type"].as_str() {
            Some("text" | "output_text") => blocks.extend(text(&part["text"])),
            // Its signature is only for the server that made it.
            Some("thinking") => blocks.extend(thinking(&part["thinking"])),
            Some("redacted_thinking" | "sealed") => {}
            Some("tool_use") => match (part["id"].as_str(), part["name"].as_str()) {
                (Some(id), Some(name)) => blocks.push(tool_use(id, name, &part["input"])),
                (_, _) => builder.leave_out(),
            },
            Some(_) | None => builder.leave_out(),
        }
    }
    blocks
}

/// The parts of a content, which is a text or a list of parts.
fn parts(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
        Value::Array(parts) => parts.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

/// A text block; `None` where the text is blank.
pub(super) fn text(value: &Value) -> Option<ContentBlock> {
    let text = value.as_str().filter(|text| !text.trim().is_empty())?;
    Some(ContentBlock::Text { text: text.to_owned() })
}

/// A thinking block; `None` where it is blank.
pub(super) fn thinking(value: &Value) -> Option<ContentBlock> {
    let text = value.as_str().filter(|text| !text.trim().is_empty())?;
    Some(ContentBlock::Thinking { thinking: text.to_owned(), signature: None })
}

/// A tool call. Its arguments are an object, or the JSON text of one.
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

/// The text of a result: as it is, or the texts of all its parts, a line each.
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
