//! Writes a request as the body of a chat completion.
//!
//! The bytes depend on the request alone, and the messages come last. As long as the history is
//! only appended to, the body of one request, up to the end of its messages, is a prefix of the
//! next body. Prefix caches depend on this.
//!
//! For the same reason reasoning goes back with every assistant message, not only within the
//! running turn: dropping the older ones, as some templates do themselves, would change what has
//! been sent. Signed reasoning belongs to another protocol and is left out.
//!
//! Claude behind a gateway is cached up to a mark only. The marks move with the conversation, as in
//! Anthropic's own protocol; they are no part of a message's content.
//!
//! All differences between servers are in [`dialect`](super::dialect).

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::details;
use super::dialect::{
    CacheMarkSupport, CallIdFormat, DialectQuirks, EffortField, ImagePartSupport, OutputLimitField,
    ReasoningDetailsMode, ReasoningField, RoleAfterResults, ThinkingSwitch, nearest,
};
use crate::domain::{
    CallId, ContentBlock, ContentHash, MediaType, Message, MessageRole, ReasoningEffort, ToolCall,
    ToolSpec,
};
use crate::providers::{EncodedImages, ProviderRequest, history};

/// Whether to ask for progress reports while the server reads the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptProgressReports {
    /// The server understands `return_progress`.
    Wanted,
    /// Unknown whether it does; a strict server would refuse the field.
    Unknown,
}

/// The body of the request.
pub(super) fn body(
    request: &ProviderRequest,
    quirks: DialectQuirks,
    progress: PromptProgressReports,
) -> Vec<u8> {
    let limit = |name| (quirks.limit == name).then_some(request.max_tokens).flatten();
    let wanted = |steps| Some(nearest(request.effort?, steps)?.name());
    let on = request.effort.map(|effort| effort != ReasoningEffort::None);
    let (mut word, mut object, mut template) = (None, None, ChatTemplateKwargs::default());
    match quirks.effort {
        EffortField::None => {}
        // If there is a switch, the switch alone turns thinking off.
        EffortField::Word(_) | EffortField::Template(_)
            if quirks.switch != ThinkingSwitch::None && on == Some(false) => {}
        EffortField::Word(steps) => word = wanted(steps),
        EffortField::Object(steps) => object = wanted(steps).map(|effort| ChatReasoning { effort }),
        EffortField::Template(steps) => template.reasoning_effort = wanted(steps),
    }
    let mut thinking = None;
    match quirks.switch {
        ThinkingSwitch::None => {}
        ThinkingSwitch::Template => template.enable_thinking = on,
        ThinkingSwitch::Object => {
            let kind = |on| if on { "enabled" } else { "disabled" };
            thinking = on.map(|on| ChatThinking { kind: kind(on) });
        }
    }
    let body = ChatRequestBody {
        model: &request.model,
        stream: true,
        stream_options: ChatStreamOptions { include_usage: true },
        max_tokens: limit(OutputLimitField::MaxTokens),
        max_completion_tokens: limit(OutputLimitField::MaxCompletionTokens),
        temperature: request.temperature,
        reasoning_effort: word,
        reasoning: object,
        thinking,
        chat_template_kwargs: (template != ChatTemplateKwargs::default()).then_some(template),
        prompt_cache_key: quirks.conversation_key.key_of(request),
        return_progress: (progress == PromptProgressReports::Wanted).then_some(true),
        tools: request.tools.iter().map(ChatTool::from).collect(),
        messages: messages(request, quirks),
        tool_choice: request.forbids_calls().then_some("none"),
    };
    // Only strings, numbers and maps with string keys: serialising them cannot fail.
    serde_json::to_vec(&body).unwrap_or_default()
}

#[derive(Serialize)]
struct ChatRequestBody<'a> {
    model: &'a str,
    stream: bool,
    stream_options: ChatStreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ChatReasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<ChatThinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chat_template_kwargs: Option<ChatTemplateKwargs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    return_progress: Option<bool>,
    // vLLM refuses an empty list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ChatTool<'a>>,
    messages: Vec<ChatMessage<'a>>,
    // Behind the messages, so that the body still begins like the one before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
}

/// OpenRouter's field for the effort.
#[derive(Serialize)]
struct ChatReasoning {
    effort: &'static str,
}

/// The switch of DeepSeek, Moonshot and Z.AI.
#[derive(Serialize)]
struct ChatThinking {
    #[serde(rename = "type")]
    kind: &'static str,
}

/// Variables of the model's chat template.
#[derive(Serialize, Default, PartialEq, Eq)]
struct ChatTemplateKwargs {
    #[serde(skip_serializing_if = "Option::is_none")]
    enable_thinking: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
}

#[derive(Serialize)]
struct ChatStreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct ChatTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: ChatFunction<'a>,
}

#[derive(Serialize)]
struct ChatFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

impl<'a> From<&'a ToolSpec> for ChatTool<'a> {
    fn from(spec: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, input_schema } = spec;
        Self {
            kind: "function",
            function: ChatFunction { name, description, parameters: input_schema },
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum ChatMessage<'a> {
    System {
        content: ChatContent<'a>,
    },
    User {
        content: ChatContent<'a>,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_details: Option<&'a Value>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ChatToolCall<'a>>,
    },
    Tool {
        tool_call_id: Cow<'a, str>,
        content: ChatContent<'a>,
    },
}

/// The content of a message: a plain string, which every server accepts, or parts if it has images
/// or a cache mark.
#[derive(Serialize)]
#[serde(untagged)]
enum ChatContent<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<ChatContentPart<'a>>),
}

impl ChatContent<'_> {
    /// Puts a cache mark behind the last text.
    fn mark(&mut self) {
        if let Self::Text(text) = self {
            let text = std::mem::take(text);
            *self = Self::Parts(vec![ChatContentPart::Text { text, cache_control: None }]);
        }
        let Self::Parts(parts) = self else { return };
        let last = parts.iter_mut().rev().find_map(|part| match part {
            ChatContentPart::Text { cache_control, .. } => Some(cache_control),
            ChatContentPart::ImageUrl { .. } => None,
        });
        if let Some(mark) = last {
            *mark = Some(ChatCacheMark { kind: "ephemeral" });
        }
    }
}

#[derive(Serialize)]
struct ChatCacheMark {
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ChatContentPart<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<ChatCacheMark>,
    },
    ImageUrl {
        image_url: ChatImageUrl<'a>,
    },
}

#[derive(Serialize)]
struct ChatImageUrl<'a> {
    url: ChatDataUrl<'a>,
}

/// An image in a data URL, so that the server fetches nothing.
struct ChatDataUrl<'a> {
    media_type: MediaType,
    base64: &'a str,
}

impl Serialize for ChatDataUrl<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!(
            "data:{};base64,{}",
            self.media_type.name(),
            self.base64
        ))
    }
}

#[derive(Serialize)]
struct ChatToolCall<'a> {
    id: Cow<'a, str>,
    #[serde(rename = "type")]
    kind: &'static str,
    function: ChatFunctionCall<'a>,
}

#[derive(Serialize)]
struct ChatFunctionCall<'a> {
    name: Cow<'a, str>,
    #[serde(serialize_with = "as_text")]
    arguments: Cow<'a, Value>,
}

/// The assistant message in between, for models that refuse a user message after tool results.
const BRIDGE: &str = "Understood.";

/// The one system message, then the conversation.
fn messages(request: &ProviderRequest, quirks: DialectQuirks) -> Vec<ChatMessage<'_>> {
    let mut out = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        let content = ChatContent::Text(request.system.as_str().into());
        out.push(ChatMessage::System { content });
    }
    for message in &request.messages {
        match message.role {
            MessageRole::User => push_user_message(message, &request.images, quirks, &mut out),
            MessageRole::Assistant => out.push(assistant_message(message, quirks)),
        }
    }
    if quirks.cache_marks == CacheMarkSupport::WithClaude {
        mark(&mut out);
    }
    out
}

/// Puts cache marks on the system message, on the newest message, and on the one with which the
/// previous request ended, where the server finds its cache again.
fn mark(messages: &mut [ChatMessage<'_>]) {
    let is_response = |message: &ChatMessage<'_>| matches!(message, ChatMessage::Assistant { .. });
    let ends: Vec<usize> = (0..messages.len())
        .filter(|at| !is_response(&messages[*at]) && messages.get(at + 1).is_none_or(is_response))
        .collect();
    for at in ends.into_iter().rev().take(2).chain([0]) {
        match messages.get_mut(at) {
            Some(
                ChatMessage::System { content }
                | ChatMessage::User { content }
                | ChatMessage::Tool { content, .. },
            ) => content.mark(),
            Some(ChatMessage::Assistant { .. }) | None => {}
        }
    }
}

/// Tool results come first, directly behind the calls that they answer; then the user's text and
/// images.
fn push_user_message<'a>(
    message: &'a Message,
    images: &'a EncodedImages,
    quirks: DialectQuirks,
    out: &mut Vec<ChatMessage<'a>>,
) {
    let mut texts = Vec::new();
    let mut image_parts = Vec::new();
    for block in &message.content {
        match block {
            ContentBlock::ToolResult { tool_use_id, content, is_error } => {
                out.push(ChatMessage::Tool {
                    tool_call_id: call_id(tool_use_id, quirks),
                    content: ChatContent::Text(history::output(content, *is_error)),
                });
            }
            ContentBlock::Text { text } => texts.push(Cow::Borrowed(text.as_str())),
            ContentBlock::Context { name, text } => {
                texts.push(Cow::Owned(history::context(name, text)));
            }
            ContentBlock::Image(image) => match images.get(&image.hash) {
                Some(base64) if quirks.pictures == ImagePartSupport::Sent => {
                    let url = ChatDataUrl { media_type: image.media_type, base64 };
                    image_parts.push(ChatContentPart::ImageUrl { image_url: ChatImageUrl { url } });
                }
                Some(_) | None => texts.push(Cow::Owned(history::missing(image))),
            },
            // User messages hold no thinking and no calls.
            ContentBlock::Thinking { .. }
            | ContentBlock::Sealed { .. }
            | ContentBlock::ToolUse(_) => {}
        }
    }
    if texts.is_empty() && image_parts.is_empty() {
        return;
    }
    if quirks.after_results == RoleAfterResults::TheModel
        && matches!(out.last(), Some(ChatMessage::Tool { .. }))
    {
        out.push(ChatMessage::assistant_text(BRIDGE));
    }
    let text = texts.join("\n\n");
    if !image_parts.is_empty() {
        let text = ChatContentPart::Text { text: text.into(), cache_control: None };
        let text = (!texts.is_empty()).then_some(text);
        let parts = text.into_iter().chain(image_parts).collect();
        out.push(ChatMessage::User { content: ChatContent::Parts(parts) });
    } else {
        out.push(ChatMessage::User { content: ChatContent::Text(text.into()) });
    }
}

fn assistant_message(message: &Message, quirks: DialectQuirks) -> ChatMessage<'_> {
    let text = message.text();
    let tool_calls: Vec<ChatToolCall> = message.calls().map(|it| call(it, quirks)).collect();
    let details = match quirks.details {
        ReasoningDetailsMode::Kept => message.content.iter().find_map(details::kept_in),
        ReasoningDetailsMode::Read => None,
    };
    // The details already hold the whole reasoning.
    let reasoning: String = match details {
        Some(_) => String::new(),
        None => message.content.iter().filter_map(unsealed).collect(),
    };
    let goes = |field| !reasoning.is_empty() && quirks.reasoning.contains(&field);
    let text = match goes(ReasoningField::Tags) {
        true => format!("<think>\n{reasoning}\n</think>\n\n{text}"),
        false => text,
    };
    ChatMessage::Assistant {
        // OpenAI itself sends null beside calls, so servers are tested with it.
        content: (!text.is_empty() || tool_calls.is_empty()).then_some(text),
        reasoning_content: goes(ReasoningField::Content).then(|| reasoning.clone()),
        reasoning: goes(ReasoningField::Plain).then(|| reasoning.clone()),
        reasoning_details: details,
        tool_calls,
    }
}

impl ChatMessage<'_> {
    fn assistant_text(text: &str) -> Self {
        Self::Assistant {
            content: Some(text.to_owned()),
            reasoning_content: None,
            reasoning: None,
            reasoning_details: None,
            tool_calls: Vec::new(),
        }
    }
}

fn unsealed(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Thinking { thinking, signature: None } => Some(thinking),
        ContentBlock::Thinking { signature: Some(_), .. }
        | ContentBlock::Sealed { .. }
        | ContentBlock::Text { .. }
        | ContentBlock::Context { .. }
        | ContentBlock::Image(_)
        | ContentBlock::ToolUse(_)
        | ContentBlock::ToolResult { .. } => None,
    }
}

fn call(call: &ToolCall, quirks: DialectQuirks) -> ChatToolCall<'_> {
    ChatToolCall {
        id: call_id(&call.id, quirks),
        kind: "function",
        function: ChatFunctionCall {
            name: history::tool_name(&call.name),
            arguments: history::arguments(&call.input),
        },
    }
}

/// The same id for a call and its result, in every request.
fn call_id(id: &CallId, quirks: DialectQuirks) -> Cow<'_, str> {
    const NINE: usize = 9;
    let id = id.as_str();
    let fits = id.len() == NINE && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match quirks.ids {
        CallIdFormat::Nine if !fits => {
            let hash = ContentHash::of(id.as_bytes()).to_string();
            Cow::Owned(hash.chars().take(NINE).collect())
        }
        CallIdFormat::Nine | CallIdFormat::Any => Cow::Borrowed(id),
    }
}

/// Arguments are a string of compact JSON, with keys in the order in which the model wrote them.
fn as_text<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&value.to_string())
}

#[cfg(test)]
mod tests;
