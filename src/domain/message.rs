//! What the person, the model and the tools said, in the one form that the log keeps and every
//! provider is fed from.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lenient_json::{self, LenientJsonError};
use super::{CallId, ContentHash, MessageImage, ProviderProtocol};

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks. Tool results are the user's.
    pub role: MessageRole,
    /// What is said, in order.
    pub content: Vec<ContentBlock>,
}

impl ContentBlock {
    /// What names a block that is bound to every byte before it, as Anthropic's sealed thinking
    /// is, also behind a gateway of chat completions; nothing for the others.
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

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// The person, and slug on the person's side: context and tool results.
    User,
    /// The model.
    Assistant,
}

/// One piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Plain or Markdown text.
    Text {
        /// The text as it was said.
        text: String,
    },
    /// What slug adds to a person's message: date, git state and the like. The person's screen
    /// leaves it out; the provider gets it as `<context name="…">…</context>`.
    Context {
        /// Which context provider made it.
        name: String,
        /// The text inside the tags.
        text: String,
    },
    /// An image that the person shows. Its bytes are among the session's contents.
    Image(MessageImage),
    /// The model's reasoning.
    Thinking {
        /// The text as it was streamed.
        thinking: String,
        /// The provider's seal over it, sent back unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A piece of a response in its protocol's own shape: reasoning that only its server can read,
    /// a seal over the piece behind it. It goes back as it is, where it stood, to a server of that
    /// protocol, and to no other.
    Sealed {
        /// Whose shape it has.
        protocol: ProviderProtocol,
        /// What the provider needs to send it back.
        data: Value,
    },
    /// The model asks for a tool.
    ToolUse(ToolCall),
    /// What came of a call.
    ToolResult {
        /// The call that this answers.
        tool_use_id: CallId,
        /// What the model reads.
        content: String,
        /// Whether the call failed, was refused or was cancelled.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// A tool that the model wants run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "WireCall", into = "WireCall")]
pub struct ToolCall {
    /// Ties the result to the call.
    pub id: CallId,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments.
    pub input: CallInput,
}

/// The arguments of a call. What cannot be read is kept as it came, and the call is never run.
#[derive(Debug, Clone, PartialEq)]
pub enum CallInput {
    /// A JSON value, normally an object.
    Valid(Value),
    /// Text that is not JSON, nor anything that can mean only one object.
    Invalid(String),
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It had said what it wanted to say.
    EndTurn,
    /// It waits for the results of its tool calls.
    ToolUse,
    /// It ran into the output limit.
    MaxTokens,
    /// The provider withheld the rest.
    Refusal,
    /// The provider paused a long response: sent back as it is, it goes on.
    Paused,
    /// The person stopped it. What had streamed is kept.
    Interrupted,
}

#[derive(Serialize, Deserialize)]
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
    /// Parses streamed arguments, and mends what has one meaning only. Nothing at all means a call
    /// without arguments; what is nested too deeply is not valid.
    pub fn parse(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Valid(Value::Object(serde_json::Map::new()));
        }
        match lenient_json::parse_object(text).map(Value::Object) {
            Ok(value) if depth(&value) <= MAX_DEPTH => Self::Valid(value),
            Ok(_) | Err(_) => Self::Invalid(text.to_owned()),
        }
    }

    /// Whether streamed arguments end before they are whole.
    pub fn is_truncated(text: &str) -> bool {
        lenient_json::parse_object(text) == Err(LenientJsonError::Truncated)
    }
}

/// Levels of nesting in a call's arguments. serde_json reads 128 of them, and the line of the log
/// that holds the call has some of its own.
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
    /// A message of the person's with plain text.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: MessageRole::User, content: vec![ContentBlock::Text { text: text.into() }] }
    }

    /// The calls that the message makes.
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

    /// The calls that the message answers.
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

    /// The said text, without thinking, context, calls and results.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(|block| match block {
                ContentBlock::Text { text } => Some(text.as_str()),
                ContentBlock::Context { .. }
                | ContentBlock::Image(_)
                | ContentBlock::Thinking { .. }
                | ContentBlock::Sealed { .. }
                | ContentBlock::ToolUse(_)
                | ContentBlock::ToolResult { .. } => None,
            })
            .collect();
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
        assert_eq!(CallInput::parse(" "), CallInput::Valid(json!({})));
        assert_eq!(CallInput::parse("{'a': None,}"), CallInput::Valid(json!({"a": null})));
        assert_eq!(CallInput::parse("[1]"), CallInput::Invalid("[1]".into()));
        assert_eq!(CallInput::parse("{\"a\":"), CallInput::Invalid("{\"a\":".into()));
    }
}
