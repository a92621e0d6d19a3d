//! Makes the provider of each protocol.

use std::sync::Arc;

use super::Provider;
use super::anthropic::AnthropicProvider;
use super::chat::ChatCompletionsProvider;
use super::connection_config::ConnectionConfig;
use super::gemini::GeminiProvider;
use super::responses::ResponsesProvider;
use crate::domain::ProviderProtocol;

/// A provider for the server that `config` describes, over `protocol`. Sends nothing yet.
pub fn connect(protocol: ProviderProtocol, config: ConnectionConfig) -> Arc<dyn Provider> {
    match protocol {
        ProviderProtocol::ChatCompletions => Arc::new(ChatCompletionsProvider::new(config)),
        ProviderProtocol::Anthropic => Arc::new(AnthropicProvider::new(config)),
        ProviderProtocol::Responses => Arc::new(ResponsesProvider::new(config)),
        ProviderProtocol::Gemini => Arc::new(GeminiProvider::new(config)),
    }
}
