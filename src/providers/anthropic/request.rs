//! Writes a request as the body of the Messages protocol.
//!
//! Signed thinking and sealed blocks go back unchanged and in place; thinking without a signature
//! comes from another server and is left out. Cache marks follow the stable parts of the prefix:
//! the system prompt, which comes after the tools, the newest message, and the user message before
//! it. The last one lets the server find its cache again after a round of many blocks.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::model::{self, AnthropicThinking};
use crate::domain::{
    ContentBlock, MediaType, Message, MessageRole, ProviderProtocol, ReasoningEffort, ToolSpec,
};
use crate::providers::{DEFAULT_OUTPUT_LIMIT, ProviderRequest, history};

/// The smallest thinking budget that the API accepts, in tokens (Anthropic's documentation of
/// extended thinking).
const LEAST_BUDGET: u32 = 1024;

/// The default thinking budget in tokens, for models that take one.
const BUDGET: u32 = 10_000;

/// The body of the request.
pub fn body(request: &ProviderRequest) -> Vec<u8> {
    let model = model::of(&request.model);
    // The protocol has no request without a limit.
    let max_tokens = request.max_tokens.unwrap_or(DEFAULT_OUTPUT_LIMIT);
    let thinking = thinking(model.thinking, request.effort, max_tokens)
        .filter(|_| model.thinking != AnthropicThinking::Budget || may_think(&request.messages));
    let mut messages: Vec<AnthropicMessage> =
        request.messages.iter().map(|message| message_param(message, request)).collect();
    mark(&mut messages);
    let body = AnthropicRequestBody {
        model: &request.model,
        max_tokens,
        stream: true,
        temperature: request
            .temperature
            .filter(|_| thinking.is_none() && model.takes_temperature()),
        thinking,
        output_config: effort(model.thinking, request.effort),
        tools: request.tools.iter().map(AnthropicTool::from).collect(),
        system: system(&request.system),
        messages,
        tool_choice: request.forbids_calls().then_some(AnthropicToolChoice { kind: "none" }),
    };
    // Only strings, numbers and maps with string keys: serialising them cannot fail.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<AnthropicToolChoice>,
}

#[derive(Serialize)]
struct AnthropicToolChoice {
    #[serde(rename = "type")]
    kind: &'static str,
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
    /// A block in the server's own shape.
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
        MessageRole::User => "user",
        MessageRole::Assistant => {
            // The API refuses text after a call, so calls go last.
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
        // The response only thought, and its thinking is for another server.
        content.push(AnthropicTypedBlock::Text { text: Cow::Borrowed("(nothing said)") }.into());
    }
    AnthropicMessage { role, content }
}

fn part<'a>(block: &'a ContentBlock, request: &'a ProviderRequest) -> Option<AnthropicBlock<'a>> {
    Some(match block {
        ContentBlock::Text { text } => {
            AnthropicTypedBlock::Text { text: Cow::Borrowed(text.as_str()) }.into()
        }
        ContentBlock::Context { name, text } => {
            AnthropicTypedBlock::Text { text: Cow::Owned(history::context(name, text)) }.into()
        }
        ContentBlock::Image(image) => match request.images.get(&image.hash) {
            Some(data) => {
                let source =
                    AnthropicImageSource { kind: "base64", media_type: image.media_type, data };
                AnthropicTypedBlock::Image { source }.into()
            }
            None => AnthropicTypedBlock::Text { text: Cow::Owned(history::missing(image)) }.into(),
        },
        ContentBlock::Thinking { thinking, signature: Some(signature) } => {
            AnthropicTypedBlock::Thinking { thinking, signature }.into()
        }
        ContentBlock::Sealed { protocol: ProviderProtocol::Anthropic, data } => {
            AnthropicBlock { piece: AnthropicBlockContent::Sealed(data), cache_control: None }
        }
        ContentBlock::Thinking { signature: None, .. }
        | ContentBlock::Sealed {
            protocol:
                ProviderProtocol::ChatCompletions
                | ProviderProtocol::Responses
                | ProviderProtocol::Gemini,
            ..
        } => {
            return None;
        }
        ContentBlock::ToolUse(call) => AnthropicTypedBlock::ToolUse {
            id: history::call_id(&call.id),
            name: history::tool_name(&call.name),
            input: history::arguments(&call.input),
        }
        .into(),
        ContentBlock::ToolResult { tool_use_id, content, is_error } => {
            AnthropicTypedBlock::ToolResult {
                tool_use_id: history::call_id(tool_use_id),
                content: match content.is_empty() {
                    true => Cow::Borrowed("(no output)"),
                    false => Cow::Borrowed(content),
                },
                is_error: *is_error,
            }
            .into()
        }
    })
}

/// Puts cache marks on the newest message and on the user message before it.
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
    effort: Option<ReasoningEffort>,
    max_tokens: u32,
) -> Option<AnthropicThinkingConfig> {
    match (model, effort) {
        (AnthropicThinking::Unknown, _)
        | (AnthropicThinking::Budget | AnthropicThinking::Always, Some(ReasoningEffort::None)) => {
            None
        }
        (AnthropicThinking::Adaptive, Some(ReasoningEffort::None)) => {
            Some(AnthropicThinkingConfig::Disabled)
        }
        (AnthropicThinking::Adaptive | AnthropicThinking::Always, _) => {
            Some(AnthropicThinkingConfig::Adaptive { display: "summarized" })
        }
        (AnthropicThinking::Budget, effort) => {
            // The budget counts towards the limit, so the response needs room beside it.
            let budget = effort.map_or(BUDGET, budget).min(max_tokens.saturating_sub(LEAST_BUDGET));
            (budget >= LEAST_BUDGET)
                .then_some(AnthropicThinkingConfig::Enabled { budget_tokens: budget })
        }
    }
}

/// Models with a budget require that a turn whose calls are being answered began with a thought of
/// their own. That thought is missing if another model made the calls, or if the history was
/// shortened.
fn may_think(messages: &[Message]) -> bool {
    let turn = messages.iter().rev().take_while(|message| {
        message.role == MessageRole::Assistant || message.answers().next().is_some()
    });
    turn.filter(|message| message.role == MessageRole::Assistant).all(|message| {
        message.calls().next().is_none() || message.content.iter().any(is_own_thought)
    })
}

fn is_own_thought(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Thinking { signature, .. } => signature.is_some(),
        ContentBlock::Sealed { protocol, .. } => *protocol == ProviderProtocol::Anthropic,
        ContentBlock::Text { .. }
        | ContentBlock::Context { .. }
        | ContentBlock::Image(_)
        | ContentBlock::ToolUse(_)
        | ContentBlock::ToolResult { .. } => false,
    }
}

fn budget(effort: ReasoningEffort) -> u32 {
    match effort {
        ReasoningEffort::None => 0,
        ReasoningEffort::Minimal => LEAST_BUDGET,
        ReasoningEffort::Low => 4_000,
        ReasoningEffort::Medium => BUDGET,
        ReasoningEffort::High => 16_000,
        ReasoningEffort::ExtraHigh => 32_000,
        ReasoningEffort::Max => 64_000,
    }
}

fn effort(
    model: AnthropicThinking,
    effort: Option<ReasoningEffort>,
) -> Option<AnthropicOutputConfig> {
    match model {
        AnthropicThinking::Unknown | AnthropicThinking::Budget => None,
        AnthropicThinking::Adaptive | AnthropicThinking::Always => {
            effort.map(|effort| AnthropicOutputConfig {
                effort: match effort {
                    ReasoningEffort::None | ReasoningEffort::Minimal | ReasoningEffort::Low => {
                        "low"
                    }
                    ReasoningEffort::Medium => "medium",
                    ReasoningEffort::High => "high",
                    ReasoningEffort::ExtraHigh => "xhigh",
                    ReasoningEffort::Max => "max",
                },
            })
        }
    }
}

#[cfg(test)]
mod tests;
