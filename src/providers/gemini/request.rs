//! Writes a request as the body of `:streamGenerateContent`.
//!
//! A signature goes back on the part that it came with; thinking does not go back. Results follow
//! their calls in one message, matched by order and name: an id is sent only if the server gave
//! one.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value;

use super::model::{self, GeminiModel, GeminiThinking};
use super::part_metadata::GeminiPartMetadata;
use super::schema;
use crate::domain::{
    CallId, ContentBlock, MediaType, Message, MessageRole, ProviderProtocol, ReasoningEffort,
    ToolCall, ToolSpec,
};
use crate::providers::{ProviderRequest, history};

/// Google's documented placeholder for the signature of a call that another model made.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// The body of the request.
pub fn body(request: &ProviderRequest) -> Vec<u8> {
    let model = model::of(&request.model);
    let system = (!request.system.is_empty()).then(|| GeminiSystemInstruction {
        parts: [GeminiPartData::Text(Cow::Borrowed(request.system.as_str())).into()],
    });
    let function_declarations: Vec<GeminiFunction> =
        request.tools.iter().map(GeminiFunction::from).collect();
    let body = GeminiRequestBody {
        system_instruction: system,
        tools: (!function_declarations.is_empty())
            .then_some([GeminiTools { function_declarations }]),
        generation_config: GeminiGenerationConfig {
            max_output_tokens: request.max_tokens,
            temperature: request.temperature,
            thinking_config: thinking(model, request.effort),
        },
        contents: contents(request, model),
        tool_config: request.forbids_calls().then_some(GeminiToolConfig {
            function_calling_config: GeminiFunctionCallingConfig { mode: "NONE" },
        }),
    };
    // Only strings, numbers and maps with string keys: serialising them cannot fail.
    serde_json::to_vec(&body).unwrap_or_default()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiRequestBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<GeminiSystemInstruction<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[GeminiTools<'a>; 1]>,
    generation_config: GeminiGenerationConfig,
    contents: Vec<GeminiContent<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<GeminiToolConfig>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiToolConfig {
    function_calling_config: GeminiFunctionCallingConfig,
}

#[derive(Serialize)]
struct GeminiFunctionCallingConfig {
    mode: &'static str,
}

#[derive(Serialize)]
struct GeminiSystemInstruction<'a> {
    parts: [GeminiPart<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiTools<'a> {
    function_declarations: Vec<GeminiFunction<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiFunction<'a> {
    name: &'a str,
    description: &'a str,
    /// Not `parameters`, which accepts less than JSON Schema and refuses unknown keywords.
    parameters_json_schema: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiGenerationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<GeminiThinkingConfig>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiThinkingConfig {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    include_thoughts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u32>,
}

#[derive(Serialize)]
struct GeminiContent<'a> {
    role: &'static str,
    parts: Vec<GeminiPart<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum GeminiPart<'a> {
    Own {
        #[serde(flatten)]
        piece: GeminiPartData<'a>,
        #[serde(rename = "thoughtSignature", skip_serializing_if = "Option::is_none")]
        signature: Option<&'a str>,
    },
    /// A part in the server's own shape.
    Kept(&'a Value),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
enum GeminiPartData<'a> {
    Text(Cow<'a, str>),
    InlineData {
        mime_type: MediaType,
        data: &'a str,
    },
    FunctionCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        name: Cow<'a, str>,
        args: Cow<'a, Value>,
    },
    FunctionResponse {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        name: Cow<'a, str>,
        response: GeminiFunctionResponse<'a>,
    },
}

/// The result of a call, which has to be an object.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum GeminiFunctionResponse<'a> {
    Output(&'a str),
    Error(&'a str),
}

impl<'a> From<GeminiPartData<'a>> for GeminiPart<'a> {
    fn from(piece: GeminiPartData<'a>) -> Self {
        Self::Own { piece, signature: None }
    }
}

impl<'a> From<&'a ToolSpec> for GeminiFunction<'a> {
    fn from(spec: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, input_schema } = spec;
        Self { name, description, parameters_json_schema: schema::inlined(input_schema) }
    }
}

/// The calls of one response by id, with name and id as sent; their results repeat both.
type GeminiSentCalls<'a> = HashMap<&'a CallId, (Cow<'a, str>, Option<&'a str>)>;

fn contents(request: &ProviderRequest, model: GeminiModel) -> Vec<GeminiContent<'_>> {
    let mut sent_calls = GeminiSentCalls::new();
    let mut contents = Vec::with_capacity(request.messages.len());
    for message in &request.messages {
        contents.push(match message.role {
            MessageRole::User => {
                let parts = message.content.iter();
                let parts =
                    parts.filter_map(|block| user_part(block, &sent_calls, request)).collect();
                GeminiContent { role: "user", parts }
            }
            MessageRole::Assistant => {
                sent_calls.clear();
                GeminiContent { role: "model", parts: model_parts(message, model, &mut sent_calls) }
            }
        });
    }
    contents
}

fn user_part<'a>(
    block: &'a ContentBlock,
    sent_calls: &GeminiSentCalls<'a>,
    request: &'a ProviderRequest,
) -> Option<GeminiPart<'a>> {
    let piece = match block {
        ContentBlock::Text { text } => GeminiPartData::Text(Cow::Borrowed(text)),
        ContentBlock::Context { name, text } => {
            GeminiPartData::Text(Cow::Owned(history::context(name, text)))
        }
        ContentBlock::Image(image) => match request.images.get(&image.hash) {
            Some(data) => GeminiPartData::InlineData { mime_type: image.media_type, data },
            None => GeminiPartData::Text(Cow::Owned(history::missing(image))),
        },
        ContentBlock::ToolResult { tool_use_id, content, is_error } => {
            let (name, id) = sent_calls.get(tool_use_id)?.clone();
            let response = match (is_error, content.as_str()) {
                (true, content) => GeminiFunctionResponse::Error(content),
                (false, "") => GeminiFunctionResponse::Output("(no output)"),
                (false, content) => GeminiFunctionResponse::Output(content),
            };
            GeminiPartData::FunctionResponse { id, name, response }
        }
        // User messages hold no thinking and no calls.
        ContentBlock::Thinking { .. } | ContentBlock::Sealed { .. } | ContentBlock::ToolUse(_) => {
            return None;
        }
    };
    Some(piece.into())
}

fn model_parts<'a>(
    message: &'a Message,
    model: GeminiModel,
    sent_calls: &mut GeminiSentCalls<'a>,
) -> Vec<GeminiPart<'a>> {
    let mut parts = Vec::with_capacity(message.content.len());
    // The metadata of the next part.
    let mut metadata = GeminiPartMetadata::default();
    for block in &message.content {
        match block {
            ContentBlock::Text { text } => {
                let piece = GeminiPartData::Text(Cow::Borrowed(text));
                parts.push(GeminiPart::Own { piece, signature: metadata.signature });
                metadata = GeminiPartMetadata::default();
            }
            ContentBlock::ToolUse(call) => {
                // Of parallel calls only the first one is signed.
                let dummy = (sent_calls.is_empty() && model.wants_signatures()).then_some(UNSIGNED);
                let signature = metadata.signature.or(dummy);
                parts.push(GeminiPart::Own {
                    piece: function_call_part(call, metadata.id),
                    signature,
                });
                sent_calls.insert(&call.id, (history::tool_name(&call.name), metadata.id));
                metadata = GeminiPartMetadata::default();
            }
            ContentBlock::Sealed { protocol: ProviderProtocol::Gemini, data } => {
                let next = GeminiPartMetadata::read(data);
                match next.part {
                    Some(part) => parts.push(GeminiPart::Kept(part)),
                    None => {
                        parts.extend(signature_part(metadata));
                        metadata = next;
                    }
                }
            }
            ContentBlock::Sealed { protocol: ProviderProtocol::ChatCompletions | ProviderProtocol::Responses | ProviderProtocol::Anthropic, .. }
            | ContentBlock::Thinking { .. }
            // Only user messages hold these.
            | ContentBlock::Context { .. }
            | ContentBlock::Image(_)
            | ContentBlock::ToolResult { .. } => {}
        }
    }
    parts.extend(signature_part(metadata));
    if parts.is_empty() {
        // The response only thought.
        parts.push(GeminiPartData::Text(Cow::Borrowed("(nothing said)")).into());
    }
    parts
}

fn function_call_part<'a>(call: &'a ToolCall, id: Option<&'a str>) -> GeminiPartData<'a> {
    GeminiPartData::FunctionCall {
        id,
        name: history::tool_name(&call.name),
        args: history::arguments(&call.input),
    }
}

/// A part for a signature that no part follows.
fn signature_part(metadata: GeminiPartMetadata<'_>) -> Option<GeminiPart<'_>> {
    let signature = Some(metadata.signature?);
    Some(GeminiPart::Own { piece: GeminiPartData::Text(Cow::Borrowed("")), signature })
}

fn thinking(model: GeminiModel, effort: Option<ReasoningEffort>) -> Option<GeminiThinkingConfig> {
    match model.thinking {
        GeminiThinking::Unknown => None,
        GeminiThinking::Level => Some(GeminiThinkingConfig {
            include_thoughts: true,
            thinking_level: effort.map(|effort| level(model, effort)),
            thinking_budget: None,
        }),
        GeminiThinking::Budget => {
            let budget = effort.map(|effort| budget(model, effort));
            Some(GeminiThinkingConfig {
                include_thoughts: budget != Some(0),
                thinking_level: None,
                thinking_budget: budget,
            })
        }
    }
}

fn level(model: GeminiModel, effort: ReasoningEffort) -> &'static str {
    match effort {
        ReasoningEffort::None | ReasoningEffort::Minimal if !model.always_thinks => "MINIMAL",
        ReasoningEffort::None | ReasoningEffort::Minimal | ReasoningEffort::Low => "LOW",
        // Some models know only LOW and HIGH.
        ReasoningEffort::Medium if !model.always_thinks => "MEDIUM",
        ReasoningEffort::Medium
        | ReasoningEffort::High
        | ReasoningEffort::ExtraHigh
        | ReasoningEffort::Max => "HIGH",
    }
}

/// The thinking budget in tokens. The largest is what all models accept.
fn budget(model: GeminiModel, effort: ReasoningEffort) -> u32 {
    match effort {
        ReasoningEffort::None if model.always_thinks => 128,
        ReasoningEffort::None => 0,
        ReasoningEffort::Minimal => 512,
        ReasoningEffort::Low => 2_048,
        ReasoningEffort::Medium => 8_192,
        ReasoningEffort::High => 16_384,
        ReasoningEffort::ExtraHigh | ReasoningEffort::Max => 24_576,
    }
}

#[cfg(test)]
mod tests;
