//! A session as it is shown to a reader: the messages in order, with each call and its result in
//! one place.

use std::borrow::Cow;
use std::collections::HashMap;

use chrono::{DateTime, Utc};

use crate::domain::{
    CallId, CallInput, ContentBlock, DiffLineTag, MessageImage, MessageRole, Money, ToolCall,
    ToolDisplay, ToolStatus,
};
use crate::session::title::title_after;
use crate::session::{LogEntry, LogRecord, MessageEntry, ReplayedConversation, SessionHeader};

/// Everything that the Markdown and HTML forms write.
pub(super) struct ExportPage<'a> {
    pub(super) title: String,
    pub(super) header: Option<&'a SessionHeader>,
    /// Names and values for the head of the page: folder, model, times, messages and cost.
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) messages: Vec<ExportedMessage<'a>>,
}

/// A message of the user or the model, with the results of its calls.
pub(super) struct ExportedMessage<'a> {
    pub(super) role: MessageRole,
    pub(super) at: DateTime<Utc>,
    pub(super) model: Option<&'a str>,
    pub(super) cost: Option<String>,
    pub(super) parts: Vec<ExportedPart<'a>>,
}

/// A part of a message that is shown.
pub(super) enum ExportedPart<'a> {
    /// Text in Markdown.
    Text(&'a str),
    /// A command that the user ran, with its output.
    Shell(&'a str),
    Image(&'a MessageImage),
    Thinking(&'a str),
    Call(ExportedCall<'a>),
}

/// A call with its result. A result whose call is missing has only a name.
pub(super) struct ExportedCall<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) call: Option<Cow<'a, ToolCall>>,
    pub(super) result: Option<&'a MessageEntry>,
}

/// What is shown of a result.
pub(super) enum ExportedResult<'a> {
    Text(&'a str),
    /// The lines of a diff.
    Diff(Vec<(DiffLineTag, &'a str)>),
}

/// The arguments that tell best what a call is about, the best one first.
const TELLING: [&str; 7] =
    ["command", "file_path", "path", "pattern", "query", "url", "description"];

impl<'a> ExportPage<'a> {
    pub(super) fn of(records: &'a [LogRecord]) -> Self {
        let header = records.iter().find_map(|record| {
            if let LogEntry::Session(header) = &record.entry { Some(header) } else { None }
        });
        let messages = exported_messages(records);
        Self {
            title: title_after(records).unwrap_or_else(|| "A session".into()),
            header,
            facts: facts(records, header, messages.len()),
            messages,
        }
    }
}

impl<'a> ExportedCall<'a> {
    /// The call's most telling argument: its first line, at most 100 characters of it.
    pub(super) fn gist(&self) -> String {
        let input = match self.call.as_ref().map(|call| &call.input) {
            Some(CallInput::Valid(input)) => {
                let named = TELLING.iter().filter_map(|name| input.get(name));
                let all = input.as_object().into_iter().flat_map(|fields| fields.values());
                named.chain(all).find_map(|value| value.as_str()).unwrap_or_default()
            }
            Some(CallInput::Invalid(text)) => text,
            None => "",
        };
        let line = input.lines().next().unwrap_or_default();
        let end = line.char_indices().nth(100).map_or(line.len(), |(at, _)| at);
        line[..end].to_owned()
    }

    /// How the call went, in a few words; empty where it went well and said nothing.
    pub(super) fn outcome(&self) -> String {
        let Some(result) = self.result else { return "no result".into() };
        let info = result.result.as_ref();
        let summary = info.and_then(|info| info.summary.clone());
        let status = match info.map(|info| info.status) {
            Some(ToolStatus::Failed) => "failed",
            Some(ToolStatus::Denied) => "denied",
            Some(ToolStatus::Cancelled) => "cancelled",
            Some(ToolStatus::Done) => "",
            None if is_error(result) => "failed",
            None => "",
        };
        match summary {
            Some(summary) if status.is_empty() => summary,
            Some(summary) => format!("{status}: {summary}"),
            None => status.into(),
        }
    }

    /// Whether its result is an error.
    pub(super) fn went_wrong(&self) -> bool {
        self.result.is_some_and(is_error)
    }

    /// Its arguments as indented JSON, or as the model wrote them where they are not valid.
    pub(super) fn input(&self) -> Option<String> {
        match &self.call.as_ref()?.input {
            CallInput::Valid(input) => {
                Some(serde_json::to_string_pretty(input).unwrap_or_else(|_| input.to_string()))
            }
            CallInput::Invalid(text) => Some(text.clone()),
        }
    }

    pub(super) fn shown_result(&self) -> Option<ExportedResult<'a>> {
        let result = self.result?;
        let display = result.result.as_ref().and_then(|info| info.display.as_ref());
        match display {
            Some(ToolDisplay::Diff(diff)) => {
                let lines = diff.lines().map(|(_, line)| (line.tag, line.text.as_str()));
                return Some(ExportedResult::Diff(lines.collect()));
            }
            Some(ToolDisplay::Terminal { text }) => return Some(ExportedResult::Text(text)),
            None => {}
        }
        result.content.iter().find_map(|block| {
            if let ContentBlock::ToolResult { content, .. } = block {
                Some(ExportedResult::Text(content))
            } else {
                None
            }
        })
    }
}

fn is_error(result: &MessageEntry) -> bool {
    result
        .content
        .iter()
        .any(|block| matches!(block, ContentBlock::ToolResult { is_error: true, .. }))
}

fn facts(
    records: &[LogRecord],
    header: Option<&SessionHeader>,
    message_count: usize,
) -> Vec<(&'static str, String)> {
    let conversation = ReplayedConversation::of(records);
    let mut facts = Vec::new();
    if let Some(header) = header {
        facts.push(("folder", header.cwd.display().to_string()));
    }
    let models: Vec<String> = conversation
        .spending
        .by_model()
        .iter()
        .map(|row| conversation.spending.name(row))
        .collect();
    match (models.is_empty(), conversation.model) {
        (false, _) => facts.push(("model", models.join(", "))),
        (true, Some(model)) => facts.push(("model", model)),
        (true, None) => {}
    }
    if let (Some(first), Some(last)) = (records.first(), records.last()) {
        facts.push(("from", time(first.timestamp)));
        facts.push(("to", time(last.timestamp)));
    }
    facts.push(("messages", message_count.to_string()));
    let cost = records.iter().filter_map(|record| {
        if let LogEntry::Message(message) = &record.entry { message.cost } else { None }
    });
    let cost = cost.fold(0_u64, |sum, cost| sum.saturating_add(cost.nanos()));
    if cost > 0 {
        facts.push(("cost", Money::from_nanos(cost).to_string()));
    }
    facts
}

/// A time as the export shows it, in UTC.
pub(super) fn time(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M UTC").to_string()
}

/// All messages except results, which go to their calls.
fn exported_messages(records: &[LogRecord]) -> Vec<ExportedMessage<'_>> {
    let mut messages: Vec<ExportedMessage<'_>> = Vec::new();
    let mut open: HashMap<&CallId, (usize, usize)> = HashMap::new();
    for record in records {
        let LogEntry::Message(message) = &record.entry else { continue };
        // What was asked beside the conversation is no part of it.
        if !message.source.is_main() {
            continue;
        }
        let mut exported = ExportedMessage {
            role: message.role,
            at: record.timestamp,
            model: message.model.as_deref(),
            cost: message.cost.map(|cost| cost.to_string()),
            parts: Vec::new(),
        };
        for block in &message.content {
            let part = match block {
                ContentBlock::Text { text } => ExportedPart::Text(text),
                ContentBlock::Context { name, text } if name == "shell" => {
                    ExportedPart::Shell(text)
                }
                ContentBlock::Image(image) => ExportedPart::Image(image),
                ContentBlock::Thinking { thinking, .. } if !thinking.trim().is_empty() => {
                    ExportedPart::Thinking(thinking)
                }
                ContentBlock::Context { .. }
                | ContentBlock::Thinking { .. }
                | ContentBlock::Sealed { .. } => continue,
                ContentBlock::ToolUse(call) => {
                    open.insert(&call.id, (messages.len(), exported.parts.len()));
                    let call = call.inner();
                    ExportedPart::Call(ExportedCall {
                        name: call.name.clone().into(),
                        call: Some(call),
                        result: None,
                    })
                }
                ContentBlock::ToolResult { tool_use_id, .. } => {
                    let place = open.remove(tool_use_id);
                    if let Some((at, part)) = place
                        && let Some(earlier) = messages.get_mut(at)
                        && let Some(ExportedPart::Call(call)) = earlier.parts.get_mut(part)
                    {
                        call.result = Some(message);
                        continue;
                    }
                    let name = message.result.as_ref().map_or("tool", |info| info.name.as_str());
                    ExportedPart::Call(ExportedCall {
                        name: name.into(),
                        call: None,
                        result: Some(message),
                    })
                }
            };
            exported.parts.push(part);
        }
        if !exported.parts.is_empty() {
            messages.push(exported);
        }
    }
    messages
}
