//! The provider of each protocol.

use std::sync::Arc;

use super::Provider;
use super::anthropic::AnthropicProvider;
use super::chat::ChatCompletionsProvider;
use super::connection_config::ConnectionConfig;
use super::gemini::GeminiProvider;
use super::responses::ResponsesProvider;
use crate::domain::Protocol;

/// The server that `way` leads to, spoken to by `protocol`. Nothing is sent yet.
pub fn connect(protocol: Protocol, way: ConnectionConfig) -> Arc<dyn Provider> {
    match protocol {
        Protocol::ChatCompletions => Arc::new(ChatCompletionsProvider::new(way)),
        Protocol::Anthropic => Arc::new(AnthropicProvider::new(way)),
        Protocol::Responses => Arc::new(ResponsesProvider::new(way)),
        Protocol::Gemini => Arc::new(GeminiProvider::new(way)),
    }
}
