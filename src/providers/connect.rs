//! The provider of each protocol.

use std::sync::Arc;

use super::Provider;
use super::anthropic::AnthropicProvider;
use super::chat::ChatCompletionsProvider;
use super::connection_config::ConnectionConfig;
use super::gemini::GeminiProvider;
use super::responses::ResponsesProvider;
use crate::domain::ProviderProtocol;

/// The server that `way` leads to, spoken to by `protocol`. Nothing is sent yet.
pub fn connect(protocol: ProviderProtocol, way: ConnectionConfig) -> Arc<dyn Provider> {
    match protocol {
        ProviderProtocol::ChatCompletions => Arc::new(ChatCompletionsProvider::new(way)),
        ProviderProtocol::Anthropic => Arc::new(AnthropicProvider::new(way)),
        ProviderProtocol::Responses => Arc::new(ResponsesProvider::new(way)),
        ProviderProtocol::Gemini => Arc::new(GeminiProvider::new(way)),
    }
}
