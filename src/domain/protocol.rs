//! How a model server is spoken to, and how hard its model is to think.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A wire protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderProtocol {
    /// OpenAI's chat completions, which most servers speak.
    #[serde(rename = "openai")]
    ChatCompletions,
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses.
    Responses,
    /// Google's Gemini.
    Gemini,
}

/// How much a model reasons before it answers. Which steps there are is the model's matter; a
/// provider takes the nearest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReasoningEffort {
    /// Not at all, where the model can do without.
    None,
    /// As little as it can.
    Minimal,
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// Very much.
    #[serde(rename = "xhigh")]
    ExtraHigh,
    /// As much as it can.
    Max,
}

impl ProviderProtocol {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::ChatCompletions, Self::Responses, Self::Anthropic, Self::Gemini];

    /// Its name in the configuration and in a session's log.
    pub fn name(self) -> &'static str {
        match self {
            Self::ChatCompletions => "openai",
            Self::Responses => "responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// The header that a key travels in, unless the server wants another.
    pub fn key_header(self) -> &'static str {
        match self {
            Self::ChatCompletions | Self::Responses => "authorization",
            Self::Anthropic => "x-api-key",
            Self::Gemini => "x-goog-api-key",
        }
    }

    /// The protocol of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

impl ReasoningEffort {
    /// All of them, the least first.
    pub const ALL: [Self; 7] = [
        Self::None,
        Self::Minimal,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::ExtraHigh,
        Self::Max,
    ];

    /// Its name in the configuration, which is also the one that OpenAI's protocols use.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::ExtraHigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// The step of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

impl fmt::Display for ProviderProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for ReasoningEffort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_same_in_the_log_and_in_the_configuration() {
        for protocol in ProviderProtocol::ALL {
            assert_eq!(serde_json::to_value(protocol).unwrap(), protocol.name());
            assert_eq!(ProviderProtocol::parse(protocol.name()), Some(protocol));
        }
        for effort in ReasoningEffort::ALL {
            assert_eq!(serde_json::to_value(effort).unwrap(), effort.name());
            assert_eq!(ReasoningEffort::parse(effort.name()), Some(effort));
        }
        assert_eq!(ProviderProtocol::parse("OpenAI"), None);
    }
}
