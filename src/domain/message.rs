//! Messages of the user, the model and the tools, in the one form that the log stores and every
//! provider translates from.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lenient_json::{self, LenientJsonError};
use super::{CallId, ContentHash, MessageImage, ProviderProtocol};

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Message {
    /// Who speaks. Tool results belong to the user.
    pub role: MessageRole,
    /// The blocks, in order.
    pub content: Vec<ContentBlock>,
}

impl ContentBlock {
    /// The text, for a block that is visible text.
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text { text } = self { Some(text) } else { None }
    }

    /// Name and text, for a context note.
    pub fn as_context(&self) -> Option<(&str, &str)> {
        if let Self::Context { name, text } = self { Some((name, text)) } else { None }
    }

    /// A hash that identifies a block whose signature covers every byte before it: Anthropic's
    /// signed thinking, also behind a chat-completions gateway. `None` for all other blocks.
    pub fn signature_hash(&self) -> Option<ContentHash> {
        match self {
            Self::Thinking { signature: Some(signature), .. } => {
                Some(ContentHash::of(signature.as_bytes()))
            }
            Self::Sealed {
                protocol: ProviderProtocol::Anthropic | ProviderProtocol::ChatCompletions,
                data,
            } => Some(ContentHash::of_json(data)),
            Self::Sealed {
                protocol: ProviderProtocol::Responses | ProviderProtocol::Gemini,
                ..
            }
            | Self::Thinking { signature: None, .. }
            | Self::Text { .. }
            | Self::Context { .. }
            | Self::Image(_)
            | Self::ToolUse(_)
            | Self::ToolResult { .. } => None,
        }
    }
}

/// The sender of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// The user, and what slug adds on the user's side: context and tool results.
    User,
    /// The model.
    Assistant,
}

/// One piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Plain or Markdown text.
    Text {
        /// The text as the user or the model wrote it.
        text: String,
    },
    /// What slug adds to a user message: date, git state and the like. The screen hides it; the
    /// provider receives it as `<context name="…">…</context>`.
    Context {
        /// The name of the context provider that made it.
        name: String,
        /// The text inside the tags.
        text: String,
    },
    /// An image that the user attached. Its bytes are in the session's content store.
    Image(MessageImage),
    /// The model's reasoning.
    Thinking {
        /// The text as it was streamed.
        thinking: String,
        /// The provider's signature over the text, sent back unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A piece of a response in its protocol's own shape: reasoning that only its server can read,
    /// or a signature of the piece behind it. It is sent back unchanged, in its place, to servers
    /// of that protocol only.
    Sealed {
        /// The protocol whose shape `data` has.
        protocol: ProviderProtocol,
        /// What the provider needs to send the piece back.
        data: Value,
    },
    /// A tool call by the model.
    ToolUse(ToolCall),
    /// The result of a tool call.
    ToolResult {
        /// The call that this result answers.
        tool_use_id: CallId,
        /// The text that the model reads.
        content: String,
        /// Whether the call failed, was refused or was cancelled.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// A tool call by the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(from = "WireCall", into = "WireCall")]
pub struct ToolCall {
    /// Connects the call with its result.
    pub id: CallId,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The call's arguments.
    pub input: CallInput,
}

/// The arguments of a call. Arguments that cannot be read are kept as text, and the call never
/// runs.
#[derive(Debug, Clone, PartialEq)]
pub enum CallInput {
    /// A JSON value, normally an object.
    Valid(Value),
    /// Text that is not JSON and has no single certain meaning as an object.
    Invalid(String),
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model finished its answer.
    EndTurn,
    /// The model waits for the results of its tool calls.
    ToolUse,
    /// The answer reached the output limit.
    MaxTokens,
    /// The provider withheld the rest of the answer.
    Refusal,
    /// The provider paused a long response. Sent back unchanged, the response continues.
    Paused,
    /// The user interrupted it. What had streamed is kept.
    Interrupted,
}

#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct WireCall {
    id: CallId,
    name: String,
    input: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raw: Option<String>,
}

impl From<WireCall> for ToolCall {
    fn from(wire: WireCall) -> Self {
        let input = match (wire.input, wire.raw) {
            (Some(value), _) => CallInput::Valid(value),
            (None, raw) => CallInput::Invalid(raw.unwrap_or_default()),
        };
        Self { id: wire.id, name: wire.name, input }
    }
}

impl From<ToolCall> for WireCall {
    fn from(call: ToolCall) -> Self {
        let (input, raw) = match call.input {
            CallInput::Valid(value) => (Some(value), None),
            CallInput::Invalid(raw) => (None, Some(raw)),
        };
        Self { id: call.id, name: call.name, input, raw }
    }
}

impl CallInput {
    /// Parses streamed arguments, and repairs mistakes that have only one meaning. Empty text means
    /// a call without arguments, and so does `null`, which Groq sends for one; arguments that are
    /// nested too deeply are invalid.
    pub fn parse(text: &str) -> Self {
        if matches!(text.trim(), "" | "null" | "\"\"") {
            return Self::Valid(Value::Object(serde_json::Map::new()));
        }
        match lenient_json::parse_object(text).map(Value::Object) {
            Ok(value) if depth(&value) <= MAX_DEPTH => Self::Valid(value),
            Ok(_) | Err(_) => Self::Invalid(text.to_owned()),
        }
    }

    /// Whether streamed arguments end before they are complete.
    pub fn is_truncated(text: &str) -> bool {
        lenient_json::parse_object(text) == Err(LenientJsonError::Truncated)
    }
}

/// The most levels of nesting in a call's arguments. serde_json reads 128, and the log line that
/// holds the call adds some of its own.
const MAX_DEPTH: usize = 100;

fn depth(value: &Value) -> usize {
    let below = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(fields) => fields.values().map(depth).max(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return 0,
    };
    1 + below.unwrap_or(0)
}

impl Message {
    /// A user message with plain text.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: MessageRole::User, content: vec![ContentBlock::Text { text: text.into() }] }
    }

    /// The tool calls in the message.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            ContentBlock::ToolUse(call) => Some(call),
            ContentBlock::Text { .. }
            | ContentBlock::Context { .. }
            | ContentBlock::Image(_)
            | ContentBlock::Thinking { .. }
            | ContentBlock::Sealed { .. }
            | ContentBlock::ToolResult { .. } => None,
        })
    }

    /// The calls whose results the message carries.
    pub fn answers(&self) -> impl Iterator<Item = &CallId> {
        self.content.iter().filter_map(|block| match block {
            ContentBlock::ToolResult { tool_use_id, .. } => Some(tool_use_id),
            ContentBlock::Text { .. }
            | ContentBlock::Context { .. }
            | ContentBlock::Image(_)
            | ContentBlock::Thinking { .. }
            | ContentBlock::Sealed { .. }
            | ContentBlock::ToolUse(_) => None,
        })
    }

    /// The visible text, without thinking, context, calls and results.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.content.iter().filter_map(ContentBlock::as_text).collect();
        texts.join("\n\n")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn blocks_have_the_shapes_that_scripts_rely_on() {
        let message = Message {
            role: MessageRole::Assistant,
            content: vec![
                ContentBlock::Thinking { thinking: "hm".into(), signature: None },
                ContentBlock::Text { text: "hello".into() },
                ContentBlock::ToolUse(ToolCall {
                    id: CallId::new("c1"),
                    name: "Read".into(),
                    input: CallInput::parse(r#"{"file_path":"a"}"#),
                }),
                ContentBlock::ToolUse(ToolCall {
                    id: CallId::new("c2"),
                    name: "Read".into(),
                    input: CallInput::parse("{\"file_"),
                }),
            ],
        };
        let value = json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "hello"},
            {"type": "tool_use", "id": "c1", "name": "Read", "input": {"file_path": "a"}},
            {"type": "tool_use", "id": "c2", "name": "Read", "input": null, "raw": "{\"file_"},
        ]});
        assert_eq!(serde_json::to_value(&message).unwrap(), value);
        assert_eq!(serde_json::from_value::<Message>(value).unwrap(), message);
    }

    #[test]
    fn arguments_are_an_object_or_invalid() {
        for nothing in ["", " ", "null", "\"\"", "{}"] {
            assert_eq!(CallInput::parse(nothing), CallInput::Valid(json!({})), "{nothing:?}");
        }
        assert_eq!(CallInput::parse("{'a': None,}"), CallInput::Valid(json!({"a": null})));
        assert_eq!(CallInput::parse("[1]"), CallInput::Invalid("[1]".into()));
        assert_eq!(CallInput::parse("{\"a\":"), CallInput::Invalid("{\"a\":".into()));
    }
}
