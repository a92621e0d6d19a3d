//! Imports session files of Claude Code, whose lines name the line before them.
//!
//! Where the user went back, the file has branches; the branch that leads to the last line is
//! imported. A response is written in several lines with one id, and calls that ran in parallel
//! have their results on separate lines; both are found by these ids.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

use serde_json::Value;

use crate::domain::TokenUsage;

use super::builder::ImportBuilder;
use super::chat;
use super::lines::JsonLinesReader;

/// Types of lines that hold nothing of the conversation.
const IGNORED_TYPES: [&str; 9] = [
    "system",
    "attachment",
    "progress",
    "file-history-snapshot",
    "queue-operation",
    "last-prompt",
    "permission-mode",
    "mode",
    "agent-name",
];

/// The lines and responses on the branch that is imported, by their ids.
#[derive(Debug, Default)]
struct ClaudeCodeChain {
    lines: HashSet<String>,
    responses: HashSet<String>,
}

/// Reads a whole file into the builder.
pub(super) fn read(file: &Path, builder: &mut ImportBuilder<'_>) -> io::Result<()> {
    let chain = ClaudeCodeChain::of(file)?;
    let mut lines = JsonLinesReader::open(file)?;
    while let Some(line) = lines.next()? {
        match line {
            Some(value) => take(builder, &chain, &value)?,
            None => builder.leave_out(),
        }
    }
    Ok(())
}

impl ClaudeCodeChain {
    fn of(file: &Path) -> io::Result<Self> {
        let mut before: HashMap<String, (Option<String>, Option<String>)> = HashMap::new();
        let mut last = None;
        let mut lines = JsonLinesReader::open(file)?;
        while let Some(line) = lines.next()? {
            let Some(value) = line else { continue };
            let Some(uuid) = text(&value["uuid"]) else { continue };
            if value["isSidechain"] == true {
                continue;
            }
            let parent = text(&value["parentUuid"]).or_else(|| text(&value["logicalParentUuid"]));
            if is_message(&value) {
                last = Some(uuid.clone());
            }
            before.insert(uuid, (parent, text(&value["message"]["id"])));
        }
        let mut chain = Self::default();
        while let Some(uuid) = last {
            let Some((parent, response)) = before.remove(&uuid) else { break };
            chain.lines.insert(uuid);
            chain.responses.extend(response);
            last = parent;
        }
        Ok(chain)
    }

    fn has(&self, builder: &ImportBuilder<'_>, value: &Value) -> bool {
        let Some(uuid) = value["uuid"].as_str() else { return true };
        let response = value["message"]["id"].as_str();
        let mut parts = value["message"]["content"].as_array().into_iter().flatten();
        self.lines.contains(uuid)
            || response.is_some_and(|id| self.responses.contains(id))
            || parts
                .any(|part| part["tool_use_id"].as_str().is_some_and(|id| builder.waits_for(id)))
    }
}

fn is_message(value: &Value) -> bool {
    matches!(value["type"].as_str(), Some("user" | "assistant"))
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn take(builder: &mut ImportBuilder<'_>, chain: &ClaudeCodeChain, value: &Value) -> io::Result<()> {
    if builder.known.source_id.is_none() {
        builder.known.source_id = text(&value["sessionId"]);
    }
    if builder.known.cwd.is_none() {
        builder.known.cwd = value["cwd"].as_str().map(Into::into);
    }
    match value["type"].as_str() {
        Some("user" | "assistant") if value["isSidechain"] == true => return Ok(()),
        Some("user" | "assistant") if !chain.has(builder, value) => return Ok(()),
        Some("user") if value["isMeta"] == true => return Ok(()),
        Some("user") => {
            builder.time(&value["timestamp"]);
            return chat::user(builder, &value["message"]["content"]);
        }
        Some("assistant") => {
            builder.time(&value["timestamp"]);
            let message = &value["message"];
            let blocks = chat::response(builder, &message["content"]);
            // Messages that Claude Code itself wrote in the model's place have this model.
            let model = message["model"].as_str().filter(|model| *model != "<synthetic>");
            return builder.assistant(
                message["id"].as_str(),
                blocks,
                model,
                usage(&message["usage"]),
            );
        }
        Some("summary") => {
            let title = text(&value["summary"]);
            builder.known.title = builder.known.title.take().or(title);
        }
        Some("custom-title") => builder.known.title = text(&value["customTitle"]),
        Some("ai-title") => {
            let title = text(&value["aiTitle"]);
            builder.known.title = builder.known.title.take().or(title);
        }
        Some(name) if IGNORED_TYPES.contains(&name) => {}
        Some(_) | None => builder.leave_out(),
    }
    Ok(())
}

fn usage(value: &Value) -> Option<TokenUsage> {
    let count = |name: &str| value[name].as_u64().unwrap_or(0);
    let (cache_read, cache_write) =
        (count("cache_read_input_tokens"), count("cache_creation_input_tokens"));
    let input = count("input_tokens").saturating_add(cache_read).saturating_add(cache_write);
    let usage = TokenUsage { input, output: count("output_tokens"), cache_read, cache_write };
    (usage != TokenUsage::default()).then_some(usage)
}
