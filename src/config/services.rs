//! The protocols that slug speaks, and whose own service is where. Data only: a protocol gets a
//! row.

use crate::domain::ProviderProtocol;

/// A protocol, with the service of those who made it.
#[derive(Debug)]
pub struct ProtocolService {
    /// The protocol.
    pub protocol: ProviderProtocol,
    /// The address that holds when none is named.
    pub endpoint: &'static str,
    /// The only origin that the key in `key_variable` goes to.
    pub origin: &'static str,
    /// The variable that other programs, too, keep the service's key in.
    pub key_variable: &'static str,
    /// The variable that names a model of this protocol.
    pub model_variable: Option<&'static str>,
    /// The variable with the limit of a response.
    pub limit_variable: Option<&'static str>,
    /// The model that is asked where none is named and the service itself is asked. None takes what
    /// the server has.
    pub model: Option<&'static str>,
    /// The limit of a response, in tokens, where none is set.
    pub max_tokens: u32,
}

/// All of them; the first is the one that holds unless another is named.
pub const SERVICES: [ProtocolService; 4] = [
    ProtocolService {
        protocol: ProviderProtocol::ChatCompletions,
        // vLLM's own default: people run these servers themselves.
        endpoint: "http://localhost:8000/v1",
        origin: "https://api.openai.com",
        key_variable: "OPENAI_API_KEY",
        model_variable: None,
        limit_variable: None,
        model: None,
        max_tokens: 4096,
    },
    ProtocolService {
        protocol: ProviderProtocol::Responses,
        endpoint: "https://api.openai.com/v1",
        origin: "https://api.openai.com",
        key_variable: "OPENAI_API_KEY",
        model_variable: None,
        limit_variable: None,
        model: None,
        // Reasoning is part of it.
        max_tokens: 16_000,
    },
    ProtocolService {
        protocol: ProviderProtocol::Anthropic,
        endpoint: "https://api.anthropic.com",
        origin: "https://api.anthropic.com",
        key_variable: "ANTHROPIC_API_KEY",
        model_variable: Some("ANTHROPIC_MODEL"),
        limit_variable: Some("ANTHROPIC_MAX_TOKENS"),
        model: Some("claude-sonnet-5-5"),
        // Thinking is part of it.
        max_tokens: 16_000,
    },
    ProtocolService {
        protocol: ProviderProtocol::Gemini,
        endpoint: "https://generativelanguage.googleapis.com/v1beta",
        origin: "https://generativelanguage.googleapis.com",
        key_variable: "GEMINI_API_KEY",
        model_variable: Some("GEMINI_MODEL"),
        limit_variable: None,
        // Moves with Google's newest.
        model: Some("gemini-flash-latest"),
        // Thinking is part of it.
        max_tokens: 16_000,
    },
];

/// The service of a protocol.
pub fn of(protocol: ProviderProtocol) -> &'static ProtocolService {
    SERVICES.iter().find(|it| it.protocol == protocol).unwrap_or(&SERVICES[0])
}
