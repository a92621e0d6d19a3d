//! The wire protocols of model servers, and the steps of reasoning effort.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A wire protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProviderProtocol {
    /// OpenAI's chat completions, which most servers offer.
    #[serde(rename = "openai")]
    ChatCompletions,
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's Responses API.
    Responses,
    /// Google's Gemini API.
    Gemini,
}

/// How much a model reasons before it answers. Models know different steps; a provider takes the
/// nearest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ReasoningEffort {
    /// No reasoning, if the model can do without.
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
    /// All protocols, in the order of their declaration.
    pub const ALL: [Self; 4] =
        [Self::ChatCompletions, Self::Responses, Self::Anthropic, Self::Gemini];

    /// The protocol's name in the configuration and in a session log.
    pub fn name(self) -> &'static str {
        match self {
            Self::ChatCompletions => "openai",
            Self::Responses => "responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// The header that carries the key by default.
    pub fn key_header(self) -> &'static str {
        match self {
            Self::ChatCompletions | Self::Responses => "authorization",
            Self::Anthropic => "x-api-key",
            Self::Gemini => "x-goog-api-key",
        }
    }

    /// The protocol with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

impl ReasoningEffort {
    /// All steps, the least first.
    pub const ALL: [Self; 7] = [
        Self::None,
        Self::Minimal,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::ExtraHigh,
        Self::Max,
    ];

    /// The step's name in the configuration, and in OpenAI's protocols.
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

    /// The step with this name.
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
