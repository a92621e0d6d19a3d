//! Writes a request as the body of the Responses protocol.
//!
//! The server stores nothing. Reasoning goes back unchanged and encrypted, and only together with
//! the item that followed it: alone it is refused. Another server's reasoning is left out.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::domain::{
    ContentBlock, MediaType, Message, MessageRole, ProviderProtocol, ReasoningEffort, ToolCall,
    ToolSpec,
};
use crate::providers::history::ConversationKeyField;
use crate::providers::{ProviderRequest, history};

/// The body of the request.
pub(super) fn body(request: &ProviderRequest, conversation_key: ConversationKeyField) -> Vec<u8> {
    let reasons = reasons(&request.model);
    let mut input = Vec::with_capacity(request.messages.len());
    for message in &request.messages {
        match message.role {
            MessageRole::User => push_user_items(message, request, &mut input),
            MessageRole::Assistant => assistant_items(message, &mut input),
        }
    }
    let body = ResponsesRequestBody {
        model: &request.model,
        stream: true,
        store: false,
        prompt_cache_key: conversation_key.key_of(request),
        include: match reasons {
            ReasoningSupport::Never => &[],
            ReasoningSupport::Always | ReasoningSupport::Unknown => {
                &["reasoning.encrypted_content"]
            }
        },
        max_output_tokens: request.max_tokens,
        temperature: request.temperature.filter(|_| reasons != ReasoningSupport::Always),
        reasoning: reasoning(reasons, request.effort),
        instructions: &request.system,
        tools: request.tools.iter().map(ResponsesTool::from).collect(),
        input,
        tool_choice: request.forbids_calls().then_some("none"),
    };
    // Only strings, numbers and maps with string keys: serialising them cannot fail.
    serde_json::to_vec(&body).unwrap_or_default()
}

#[derive(Serialize)]
struct ResponsesRequestBody<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ResponsesReasoning>,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ResponsesTool<'a>>,
    input: Vec<ResponsesInputItem<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
}

#[derive(Serialize)]
struct ResponsesReasoning {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

#[derive(Serialize)]
struct ResponsesTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    /// Sent as `false`: by default the service accepts only schemas in which every field is
    /// required.
    strict: bool,
}

impl<'a> From<&'a ToolSpec> for ResponsesTool<'a> {
    fn from(spec: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, input_schema } = spec;
        Self { kind: "function", name, description, parameters: input_schema, strict: false }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum ResponsesInputItem<'a> {
    Own(ResponsesTypedItem<'a>),
    /// An item in the server's own shape.
    Sealed(&'a Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponsesTypedItem<'a> {
    Message {
        role: &'static str,
        content: Vec<ResponsesContentPart<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<&'a str>,
    },
    FunctionCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        call_id: Cow<'a, str>,
        name: Cow<'a, str>,
        #[serde(serialize_with = "as_text")]
        arguments: Cow<'a, Value>,
    },
    FunctionCallOutput {
        call_id: Cow<'a, str>,
        output: Cow<'a, str>,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponsesContentPart<'a> {
    InputText { text: Cow<'a, str> },
    InputImage { image_url: ResponsesDataUrl<'a> },
    OutputText { text: Cow<'a, str>, annotations: [(); 0] },
}

/// An image in a data URL, so that the server fetches nothing.
struct ResponsesDataUrl<'a> {
    media_type: MediaType,
    base64: &'a str,
}

impl Serialize for ResponsesDataUrl<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { media_type, base64 } = self;
        serializer.collect_str(&format_args!("data:{};base64,{base64}", media_type.name()))
    }
}

/// Tool results come first, directly behind the calls that they answer; then the user's text.
fn push_user_items<'a>(
    message: &'a Message,
    request: &'a ProviderRequest,
    input: &mut Vec<ResponsesInputItem<'a>>,
) {
    let mut content = Vec::new();
    for block in &message.content {
        let text = match block {
            ContentBlock::ToolResult { tool_use_id, content, is_error } => {
                input.push(ResponsesInputItem::Own(ResponsesTypedItem::FunctionCallOutput {
                    call_id: history::call_id(tool_use_id),
                    output: history::output(content, *is_error),
                }));
                continue;
            }
            ContentBlock::Image(image) => match request.images.get(&image.hash) {
                Some(base64) => {
                    let image_url = ResponsesDataUrl { media_type: image.media_type, base64 };
                    content.push(ResponsesContentPart::InputImage { image_url });
                    continue;
                }
                None => Cow::Owned(history::missing(image)),
            },
            ContentBlock::Text { text } => Cow::Borrowed(text.as_str()),
            ContentBlock::Context { name, text } => Cow::Owned(history::context(name, text)),
            // User messages hold no thinking and no calls.
            ContentBlock::Thinking { .. }
            | ContentBlock::Sealed { .. }
            | ContentBlock::ToolUse(_) => continue,
        };
        content.push(ResponsesContentPart::InputText { text });
    }
    if !content.is_empty() {
        let (id, status, phase) = (None, None, None);
        input.push(ResponsesInputItem::Own(ResponsesTypedItem::Message {
            role: "user",
            content,
            id,
            status,
            phase,
        }));
    }
}

fn assistant_items<'a>(message: &'a Message, input: &mut Vec<ResponsesInputItem<'a>>) {
    let before = input.len();
    // Reasoning that waits for the next item, and what belongs to that item.
    let mut waiting: Vec<ResponsesInputItem> = Vec::new();
    let mut bound = ResponsesItemMetadata::default();
    for block in &message.content {
        let item = match block {
            ContentBlock::Text { text } => {
                let ResponsesItemMetadata { id, phase } = std::mem::take(&mut bound);
                assistant_message(Cow::Borrowed(text), id, phase)
            }
            ContentBlock::ToolUse(call) => function_call(call, std::mem::take(&mut bound).id),
            ContentBlock::Sealed { protocol: ProviderProtocol::Responses, data } => match data.get("type") {
                Some(kind) if kind == "reasoning" => {
                    waiting.push(ResponsesInputItem::Sealed(data));
                    continue;
                }
                Some(_) => ResponsesInputItem::Sealed(data),
                None => {
                    bound = ResponsesItemMetadata::read(data);
                    continue;
                }
            },
            ContentBlock::Sealed {
                protocol: ProviderProtocol::ChatCompletions | ProviderProtocol::Anthropic | ProviderProtocol::Gemini,
                ..
            }
            | ContentBlock::Thinking { .. }
            // Only user messages hold these.
            | ContentBlock::Context { .. }
            | ContentBlock::Image(_)
            | ContentBlock::ToolResult { .. } => continue,
        };
        input.append(&mut waiting);
        input.push(item);
    }
    if input.len() == before {
        // The response only thought.
        input.push(assistant_message(Cow::Borrowed("(nothing said)"), None, None));
    }
}

/// The metadata of an item besides its text.
#[derive(Default)]
struct ResponsesItemMetadata<'a> {
    id: Option<&'a str>,
    phase: Option<&'a str>,
}

impl<'a> ResponsesItemMetadata<'a> {
    fn read(data: &'a Value) -> Self {
        let field = |name| data.get(name).and_then(Value::as_str);
        Self { id: field("id"), phase: field("phase") }
    }
}

fn assistant_message<'a>(
    text: Cow<'a, str>,
    id: Option<&'a str>,
    phase: Option<&'a str>,
) -> ResponsesInputItem<'a> {
    let content = vec![ResponsesContentPart::OutputText { text, annotations: [] }];
    let status = Some("completed");
    ResponsesInputItem::Own(ResponsesTypedItem::Message {
        role: "assistant",
        content,
        id,
        status,
        phase,
    })
}

fn function_call<'a>(call: &'a ToolCall, id: Option<&'a str>) -> ResponsesInputItem<'a> {
    ResponsesInputItem::Own(ResponsesTypedItem::FunctionCall {
        id,
        call_id: history::call_id(&call.id),
        name: history::tool_name(&call.name),
        arguments: history::arguments(&call.input),
    })
}

/// Whether a model reasons, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReasoningSupport {
    /// An OpenAI model that reasons.
    Always,
    /// An OpenAI model that does not reason, and refuses the reasoning settings.
    Never,
    /// Another maker's model.
    Unknown,
}

fn reasons(model: &str) -> ReasoningSupport {
    let name = model.rsplit('/').next().unwrap_or(model);
    let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    if begins(&["gpt-3", "gpt-4", "chatgpt", "gpt-5-chat"]) {
        ReasoningSupport::Never
    } else if begins(&["gpt-oss"]) {
        ReasoningSupport::Unknown
    } else if begins(&["gpt-", "o1", "o3", "o4", "codex"]) {
        ReasoningSupport::Always
    } else {
        ReasoningSupport::Unknown
    }
}

fn reasoning(
    reasons: ReasoningSupport,
    effort: Option<ReasoningEffort>,
) -> Option<ResponsesReasoning> {
    let effort = effort.map(ReasoningEffort::name);
    match reasons {
        ReasoningSupport::Never => None,
        ReasoningSupport::Always => Some(ResponsesReasoning { effort, summary: Some("auto") }),
        ReasoningSupport::Unknown => {
            effort.map(|it| ResponsesReasoning { effort: Some(it), summary: None })
        }
    }
}

/// Arguments are a string of compact JSON, with keys in the order in which the model wrote them.
fn as_text<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&value.to_string())
}

#[cfg(test)]
mod tests;
