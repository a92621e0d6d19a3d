//! A request as the body of Messages.
//!
//! Signed thinking and sealed blocks go back as they came and where they stood; thinking without a
//! seal is another server's and is left out. Cache marks stand where the prefix is stable: behind
//! the system prompt, which comes after the tools, behind the newest message, and behind the one of
//! the person's before it, so that the cache is found again after a round of many blocks.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::model::{self, Thinking};
use crate::domain::{Block, Effort, MediaType, Message, Protocol, Role, ToolSpec};
use crate::providers::{Request, history};

/// The least that a model can be told to think, in tokens.
const LEAST_BUDGET: u32 = 1024;

/// What a model thinks that takes a budget, unless told otherwise.
const BUDGET: u32 = 10_000;

/// The body of the request.
pub fn body(request: &Request) -> Vec<u8> {
    let model = model::of(&request.model);
    let thinking = thinking(model.thinking, request.effort, request.max_tokens)
        .filter(|_| model.thinking != Thinking::Budget || may_think(&request.messages));
    let mut messages: Vec<Spoken> =
        request.messages.iter().map(|message| spoken(message, request)).collect();
    mark(&mut messages);
    let body = Body {
        model: &request.model,
        max_tokens: request.max_tokens,
        stream: true,
        temperature: request
            .temperature
            .filter(|_| thinking.is_none() && model.takes_temperature()),
        thinking,
        output_config: effort(model.thinking, request.effort),
        tools: request.tools.iter().map(Tool::from).collect(),
        system: system(&request.system),
        messages,
    };
    // Strings, numbers and maps with string keys: there is nothing in it that cannot be written.
    serde_json::to_vec(&body).unwrap_or_default()
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Told>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Part<'a>>,
    messages: Vec<Spoken<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Told {
    Enabled { budget_tokens: u32 },
    Adaptive { display: &'static str },
    Disabled,
}

#[derive(Serialize)]
struct OutputConfig {
    effort: &'static str,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

impl<'a> From<&'a ToolSpec> for Tool<'a> {
    fn from(spec: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, input_schema } = spec;
        Self { name, description, input_schema }
    }
}

#[derive(Serialize)]
struct Spoken<'a> {
    role: &'static str,
    content: Vec<Part<'a>>,
}

#[derive(Serialize)]
struct Part<'a> {
    #[serde(flatten)]
    piece: Piece<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct CacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Piece<'a> {
    Own(Own<'a>),
    /// As the server made it.
    Sealed(&'a Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Own<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        source: Source<'a>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Cow<'a, Value>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: Cow<'a, str>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
struct Source<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: MediaType,
    data: &'a str,
}

impl<'a> From<Own<'a>> for Part<'a> {
    fn from(own: Own<'a>) -> Self {
        Self { piece: Piece::Own(own), cache_control: None }
    }
}

impl Part<'_> {
    fn mark(&mut self) {
        self.cache_control = Some(CacheControl { kind: "ephemeral" });
    }
}

fn system(text: &str) -> Vec<Part<'_>> {
    if text.is_empty() {
        return Vec::new();
    }
    let mut part = Part::from(Own::Text { text: Cow::Borrowed(text) });
    part.mark();
    vec![part]
}

fn spoken<'a>(message: &'a Message, request: &'a Request) -> Spoken<'a> {
    let mut content: Vec<Part> =
        message.content.iter().filter_map(|block| part(block, request)).collect();
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => {
            // No text may follow a call.
            content.sort_by_key(|part| matches!(part.piece, Piece::Own(Own::ToolUse { .. })));
            "assistant"
        }
    };
    if content.is_empty() {
        // A response that only thought, for another server.
        content.push(Own::Text { text: Cow::Borrowed("(nothing said)") }.into());
    }
    Spoken { role, content }
}

fn part<'a>(block: &'a Block, request: &'a Request) -> Option<Part<'a>> {
    Some(match block {
        Block::Text { text } => Own::Text { text: Cow::Borrowed(text.as_str()) }.into(),
        Block::Context { name, text } => {
            Own::Text { text: Cow::Owned(history::context(name, text)) }.into()
        }
        Block::Image(image) => match request.images.get(&image.hash) {
            Some(data) => {
                let source = Source { kind: "base64", media_type: image.media_type, data };
                Own::Image { source }.into()
            }
            None => Own::Text { text: Cow::Owned(history::missing(image)) }.into(),
        },
        Block::Thinking { thinking, signature: Some(signature) } => {
            Own::Thinking { thinking, signature }.into()
        }
        Block::Sealed { protocol: Protocol::Anthropic, data } => {
            Part { piece: Piece::Sealed(data), cache_control: None }
        }
        Block::Thinking { signature: None, .. }
        | Block::Sealed {
            protocol: Protocol::ChatCompletions | Protocol::Responses | Protocol::Gemini,
            ..
        } => {
            return None;
        }
        Block::ToolUse(call) => Own::ToolUse {
            id: history::call_id(&call.id),
            name: history::tool_name(&call.name),
            input: history::arguments(&call.input),
        }
        .into(),
        Block::ToolResult { tool_use_id, content, is_error } => Own::ToolResult {
            tool_use_id: history::call_id(tool_use_id),
            content: match content.is_empty() {
                true => Cow::Borrowed("(no output)"),
                false => Cow::Borrowed(content),
            },
            is_error: *is_error,
        }
        .into(),
    })
}

/// Marks the newest message and the one of the person's before it.
fn mark(messages: &mut [Spoken<'_>]) {
    let newest = messages.iter_mut().rev().filter(|message| message.role == "user").take(2);
    for message in newest {
        if let Some(last) = message.content.last_mut() {
            last.mark();
        }
    }
}

fn thinking(model: Thinking, effort: Option<Effort>, max_tokens: u32) -> Option<Told> {
    match (model, effort) {
        (Thinking::Unknown, _) | (Thinking::Budget | Thinking::Always, Some(Effort::None)) => None,
        (Thinking::Adaptive, Some(Effort::None)) => Some(Told::Disabled),
        (Thinking::Adaptive | Thinking::Always, _) => {
            Some(Told::Adaptive { display: "summarized" })
        }
        (Thinking::Budget, effort) => {
            // The answer needs room, too: the budget is part of the limit.
            let budget = effort.map_or(BUDGET, budget).min(max_tokens.saturating_sub(LEAST_BUDGET));
            (budget >= LEAST_BUDGET).then_some(Told::Enabled { budget_tokens: budget })
        }
    }
}

/// Models with a budget insist that a turn whose calls are being answered began with a thought of
/// theirs. It is not there where another model made the calls, or where the history was shortened.
fn may_think(messages: &[Message]) -> bool {
    let turn = messages.iter().rev().take_while(|message| {
        message.role == Role::Assistant || message.answers().next().is_some()
    });
    turn.filter(|message| message.role == Role::Assistant).all(|message| {
        message.calls().next().is_none() || message.content.iter().any(is_own_thought)
    })
}

fn is_own_thought(block: &Block) -> bool {
    match block {
        Block::Thinking { signature, .. } => signature.is_some(),
        Block::Sealed { protocol, .. } => *protocol == Protocol::Anthropic,
        Block::Text { .. }
        | Block::Context { .. }
        | Block::Image(_)
        | Block::ToolUse(_)
        | Block::ToolResult { .. } => false,
    }
}

fn budget(effort: Effort) -> u32 {
    match effort {
        Effort::None => 0,
        Effort::Minimal => LEAST_BUDGET,
        Effort::Low => 4_000,
        Effort::Medium => BUDGET,
        Effort::High => 16_000,
        Effort::ExtraHigh => 32_000,
        Effort::Max => 64_000,
    }
}

fn effort(model: Thinking, effort: Option<Effort>) -> Option<OutputConfig> {
    match model {
        Thinking::Unknown | Thinking::Budget => None,
        Thinking::Adaptive | Thinking::Always => effort.map(|effort| OutputConfig {
            effort: match effort {
                Effort::None | Effort::Minimal | Effort::Low => "low",
                Effort::Medium => "medium",
                Effort::High => "high",
                Effort::ExtraHigh => "xhigh",
                Effort::Max => "max",
            },
        }),
    }
}

#[cfg(test)]
mod tests;
