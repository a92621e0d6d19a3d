//! The protocols that slug speaks, and where the service of each protocol's maker is. Data only:
//! each protocol is a row.

use crate::domain::ProviderProtocol;

/// A protocol, with the service of its maker.
#[derive(Debug)]
pub struct ProtocolService {
    pub protocol: ProviderProtocol,
    /// The endpoint that is used when none is configured.
    pub endpoint: &'static str,
    /// The endpoint of the service itself.
    pub own_endpoint: &'static str,
    /// The only origin that the key in `key_variable` is sent to.
    pub origin: &'static str,
    /// The variable in which other programs, too, keep the service's key.
    pub key_variable: &'static str,
    /// The variable that names a model of this protocol.
    pub model_variable: Option<&'static str>,
    /// The variable with the limit of a response, in tokens.
    pub limit_variable: Option<&'static str>,
    /// The model that is used when none is configured and the service itself is asked. `None` takes
    /// the model that the server offers.
    pub model: Option<&'static str>,
}

const OPENAI_ENDPOINT: &str = "https://api.openai.com/v1";

/// OpenAI's newest general model in the bundled catalogue.
const OPENAI_MODEL: &str = "gpt-5.6";

/// One row for each protocol; the first is the default.
pub const SERVICES: [ProtocolService; 4] = [
    ProtocolService {
        protocol: ProviderProtocol::ChatCompletions,
        // vLLM's default port: users run these servers themselves.
        endpoint: "http://localhost:8000/v1",
        own_endpoint: OPENAI_ENDPOINT,
        origin: "https://api.openai.com",
        key_variable: "OPENAI_API_KEY",
        model_variable: None,
        limit_variable: None,
        model: Some(OPENAI_MODEL),
    },
    ProtocolService {
        protocol: ProviderProtocol::Responses,
        endpoint: OPENAI_ENDPOINT,
        own_endpoint: OPENAI_ENDPOINT,
        origin: "https://api.openai.com",
        key_variable: "OPENAI_API_KEY",
        model_variable: None,
        limit_variable: None,
        model: Some(OPENAI_MODEL),
    },
    ProtocolService {
        protocol: ProviderProtocol::Anthropic,
        endpoint: "https://api.anthropic.com",
        own_endpoint: "https://api.anthropic.com",
        origin: "https://api.anthropic.com",
        key_variable: "ANTHROPIC_API_KEY",
        model_variable: Some("ANTHROPIC_MODEL"),
        limit_variable: Some("ANTHROPIC_MAX_TOKENS"),
        model: Some("claude-sonnet-5-5"),
    },
    ProtocolService {
        protocol: ProviderProtocol::Gemini,
        endpoint: "https://generativelanguage.googleapis.com/v1beta",
        own_endpoint: "https://generativelanguage.googleapis.com/v1beta",
        origin: "https://generativelanguage.googleapis.com",
        key_variable: "GEMINI_API_KEY",
        model_variable: Some("GEMINI_MODEL"),
        limit_variable: None,
        // An alias that follows Google's newest model.
        model: Some("gemini-flash-latest"),
    },
];

/// The row of a protocol.
pub fn of(protocol: ProviderProtocol) -> &'static ProtocolService {
    SERVICES.iter().find(|it| it.protocol == protocol).unwrap_or(&SERVICES[0])
}
