//! What a model can do at its server, as far as its provider knows.

use serde_json::Value;

/// Whether a model can do something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CapabilitySupport {
    /// The server says that it can.
    Supported,
    /// The server says that it cannot, or has refused it.
    Unsupported,
    /// Nobody has said.
    #[default]
    Unknown,
}

/// What a model can do at its server. Unknown by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelCapabilities {
    /// Whether answers come piece by piece.
    pub streaming: CapabilitySupport,
    /// Whether a request may declare tools. Where it may not, the provider describes them in the
    /// prompt and reads calls from the text.
    pub tools: CapabilitySupport,
    /// Whether it reasons before it answers.
    pub thinking: CapabilitySupport,
    /// Whether messages may hold images.
    pub images: CapabilitySupport,
}

impl CapabilitySupport {
    fn of(is_supported: bool) -> Self {
        if is_supported { Self::Supported } else { Self::Unsupported }
    }

    /// This, or `other` where this is unknown.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if self == Self::Unknown { other } else { self }
    }
}

impl ModelCapabilities {
    /// What is known here, and what `other` knows besides.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            streaming: self.streaming.or(other.streaming),
            tools: self.tools.or(other.tools),
            thinking: self.thinking.or(other.thinking),
            images: self.images.or(other.images),
        }
    }

    /// What an entry of a server's list of models says: OpenRouter's `supported_parameters` and
    /// `architecture`, Mistral's object `capabilities`, Gemini's `thinking`.
    pub(super) fn listed(entry: &Value) -> Self {
        let names = |pointer: &str| entry.pointer(pointer).and_then(Value::as_array);
        let has = |pointer: &str, name: &str| {
            let names = names(pointer)?;
            Some(CapabilitySupport::of(names.iter().any(|it| it == name)))
        };
        let flag = |pointer: &str| {
            entry.pointer(pointer).and_then(Value::as_bool).map(CapabilitySupport::of)
        };
        let first = |found: [Option<CapabilitySupport>; 2]| {
            found.into_iter().flatten().next().unwrap_or_default()
        };
        Self {
            streaming: CapabilitySupport::Unknown,
            tools: first([
                has("/supported_parameters", "tools"),
                flag("/capabilities/function_calling"),
            ]),
            thinking: first([has("/supported_parameters", "reasoning"), flag("/thinking")]),
            images: first([
                has("/architecture/input_modalities", "image"),
                flag("/capabilities/vision"),
            ]),
        }
    }

    /// What Ollama's `/api/show` says in its list `capabilities`.
    pub(super) fn shown(details: &Value) -> Self {
        let Some(names) = details.get("capabilities").and_then(Value::as_array) else {
            return Self::default();
        };
        let has = |name: &str| CapabilitySupport::of(names.iter().any(|it| it == name));
        Self {
            streaming: CapabilitySupport::Unknown,
            tools: has("tools"),
            thinking: has("thinking"),
            images: has("vision"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::CapabilitySupport::{Supported, Unknown, Unsupported};
    use super::*;

    #[test]
    fn servers_say_in_their_lists_what_a_model_can_do() {
        let listed = |entry: Value| {
            let can = ModelCapabilities::listed(&entry);
            (can.tools, can.thinking, can.images)
        };
        let open_router = json!({"supported_parameters": ["temperature", "tools"],
            "architecture": {"input_modalities": ["text"]}});
        assert_eq!(listed(open_router), (Supported, Unsupported, Unsupported));
        let mistral = json!({"capabilities": {"function_calling": false, "vision": true}});
        assert_eq!(listed(mistral), (Unsupported, Unknown, Supported));
        assert_eq!(listed(json!({"thinking": true})), (Unknown, Supported, Unknown));
        // llama.cpp lists `completion` alone, whatever the model can do.
        let others = [json!({"capabilities": ["completion"]}), json!({"id": "qwen"})];
        for entry in others {
            assert_eq!(listed(entry), (Unknown, Unknown, Unknown));
        }
        let ollama = ModelCapabilities::shown(&json!({"capabilities": ["completion", "vision"]}));
        assert_eq!((ollama.tools, ollama.images), (Unsupported, Supported));
        assert_eq!(ModelCapabilities::shown(&json!({})), ModelCapabilities::default());
    }
}
