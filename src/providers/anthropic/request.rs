//! A request as the body of Messages.
//!
//! Signed thinking and sealed blocks go back as they came and where they stood; thinking without a
//! seal is another server's and is left out. Cache marks stand where the prefix is stable: behind
//! the system prompt, which comes after the tools, behind the newest message, and behind the one of
//! the person's before it, so that the cache is found again after a round of many blocks.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::model::{self, AnthropicThinking};
use crate::domain::{Block, Effort, MediaType, Message, Protocol, Role, ToolSpec};
use crate::providers::{ProviderRequest, history};

/// The least that a model can be told to think, in tokens.
const LEAST_BUDGET: u32 = 1024;

/// What a model thinks that takes a budget, unless told otherwise.
const BUDGET: u32 = 10_000;

/// The body of the request.
pub fn body(request: &ProviderRequest) -> Vec<u8> {
    let model = model::of(&request.model);
    let thinking = thinking(model.thinking, request.effort, request.max_tokens)
        .filter(|_| model.thinking != AnthropicThinking::Budget || may_think(&request.messages));
    let mut messages: Vec<AnthropicMessage> =
        request.messages.iter().map(|message| message_param(message, request)).collect();
    mark(&mut messages);
    let body = AnthropicRequestBody {
        model: &request.model,
        max_tokens: request.max_tokens,
        stream: true,
        temperature: request
            .temperature
            .filter(|_| thinking.is_none() && model.takes_temperature()),
        thinking,
        output_config: effort(model.thinking, request.effort),
        tools: request.tools.iter().map(AnthropicTool::from).collect(),
        system: system(&request.system),
        messages,
    };
    // Strings, numbers and maps with string keys: there is nothing in it that cannot be written.
    serde_json::to_vec(&body).unwrap_or_default()
}

#[derive(Serialize)]
struct AnthropicRequestBody<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<AnthropicThinkingConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<AnthropicOutputConfig>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<AnthropicTool<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<AnthropicBlock<'a>>,
    messages: Vec<AnthropicMessage<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum AnthropicThinkingConfig {
    Enabled { budget_tokens: u32 },
    Adaptive { display: &'static str },
    Disabled,
}

#[derive(Serialize)]
struct AnthropicOutputConfig {
    effort: &'static str,
}

#[derive(Serialize)]
struct AnthropicTool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

impl<'a> From<&'a ToolSpec> for AnthropicTool<'a> {
    fn from(spec: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, input_schema } = spec;
        Self { name, description, input_schema }
    }
}

#[derive(Serialize)]
struct AnthropicMessage<'a> {
    role: &'static str,
    content: Vec<AnthropicBlock<'a>>,
}

#[derive(Serialize)]
struct AnthropicBlock<'a> {
    #[serde(flatten)]
    piece: AnthropicBlockContent<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<AnthropicCacheControl>,
}

#[derive(Serialize)]
struct AnthropicCacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum AnthropicBlockContent<'a> {
    Own(AnthropicTypedBlock<'a>),
    /// As the server made it.
    Sealed(&'a Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicTypedBlock<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        source: AnthropicImageSource<'a>,
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
struct AnthropicImageSource<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: MediaType,
    data: &'a str,
}

impl<'a> From<AnthropicTypedBlock<'a>> for AnthropicBlock<'a> {
    fn from(own: AnthropicTypedBlock<'a>) -> Self {
        Self { piece: AnthropicBlockContent::Own(own), cache_control: None }
    }
}

impl AnthropicBlock<'_> {
    fn mark(&mut self) {
        self.cache_control = Some(AnthropicCacheControl { kind: "ephemeral" });
    }
}

fn system(text: &str) -> Vec<AnthropicBlock<'_>> {
    if text.is_empty() {
        return Vec::new();
    }
    let mut part = AnthropicBlock::from(AnthropicTypedBlock::Text { text: Cow::Borrowed(text) });
    part.mark();
    vec![part]
}

fn message_param<'a>(message: &'a Message, request: &'a ProviderRequest) -> AnthropicMessage<'a> {
    let mut content: Vec<AnthropicBlock> =
        message.content.iter().filter_map(|block| part(block, request)).collect();
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => {
            // No text may follow a call.
            content.sort_by_key(|part| {
                matches!(
                    part.piece,
                    AnthropicBlockContent::Own(AnthropicTypedBlock::ToolUse { .. })
                )
            });
            "assistant"
        }
    };
    if content.is_empty() {
        // A response that only thought, for another server.
        content.push(AnthropicTypedBlock::Text { text: Cow::Borrowed("(nothing said)") }.into());
    }
    AnthropicMessage { role, content }
}

fn part<'a>(block: &'a Block, request: &'a ProviderRequest) -> Option<AnthropicBlock<'a>> {
    Some(match block {
        Block::Text { text } => {
            AnthropicTypedBlock::Text { text: Cow::Borrowed(text.as_str()) }.into()
        }
        Block::Context { name, text } => {
            AnthropicTypedBlock::Text { text: Cow::Owned(history::context(name, text)) }.into()
        }
        Block::Image(image) => match request.images.get(&image.hash) {
            Some(data) => {
                let source =
                    AnthropicImageSource { kind: "base64", media_type: image.media_type, data };
                AnthropicTypedBlock::Image { source }.into()
            }
            None => AnthropicTypedBlock::Text { text: Cow::Owned(history::missing(image)) }.into(),
        },
        Block::Thinking { thinking, signature: Some(signature) } => {
            AnthropicTypedBlock::Thinking { thinking, signature }.into()
        }
        Block::Sealed { protocol: Protocol::Anthropic, data } => {
            AnthropicBlock { piece: AnthropicBlockContent::Sealed(data), cache_control: None }
        }
        Block::Thinking { signature: None, .. }
        | Block::Sealed {
            protocol: Protocol::ChatCompletions | Protocol::Responses | Protocol::Gemini,
            ..
        } => {
            return None;
        }
        Block::ToolUse(call) => AnthropicTypedBlock::ToolUse {
            id: history::call_id(&call.id),
            name: history::tool_name(&call.name),
            input: history::arguments(&call.input),
        }
        .into(),
        Block::ToolResult { tool_use_id, content, is_error } => AnthropicTypedBlock::ToolResult {
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
fn mark(messages: &mut [AnthropicMessage<'_>]) {
    let newest = messages.iter_mut().rev().filter(|message| message.role == "user").take(2);
    for message in newest {
        if let Some(last) = message.content.last_mut() {
            last.mark();
        }
    }
}

fn thinking(
    model: AnthropicThinking,
    effort: Option<Effort>,
    max_tokens: u32,
) -> Option<AnthropicThinkingConfig> {
    match (model, effort) {
        (AnthropicThinking::Unknown, _)
        | (AnthropicThinking::Budget | AnthropicThinking::Always, Some(Effort::None)) => None,
        (AnthropicThinking::Adaptive, Some(Effort::None)) => {
            Some(AnthropicThinkingConfig::Disabled)
        }
        (AnthropicThinking::Adaptive | AnthropicThinking::Always, _) => {
            Some(AnthropicThinkingConfig::Adaptive { display: "summarized" })
        }
        (AnthropicThinking::Budget, effort) => {
            // The answer needs room, too: the budget is part of the limit.
            let budget = effort.map_or(BUDGET, budget).min(max_tokens.saturating_sub(LEAST_BUDGET));
            (budget >= LEAST_BUDGET)
                .then_some(AnthropicThinkingConfig::Enabled { budget_tokens: budget })
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

fn effort(model: AnthropicThinking, effort: Option<Effort>) -> Option<AnthropicOutputConfig> {
    match model {
        AnthropicThinking::Unknown | AnthropicThinking::Budget => None,
        AnthropicThinking::Adaptive | AnthropicThinking::Always => {
            effort.map(|effort| AnthropicOutputConfig {
                effort: match effort {
                    Effort::None | Effort::Minimal | Effort::Low => "low",
                    Effort::Medium => "medium",
                    Effort::High => "high",
                    Effort::ExtraHigh => "xhigh",
                    Effort::Max => "max",
                },
            })
        }
    }
}

#[cfg(test)]
mod tests;
