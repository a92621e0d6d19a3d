//! Makes the provider of each protocol.

use std::sync::Arc;

use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};

use super::anthropic::{AnthropicDecoder, AnthropicProtocol};
use super::chat::{ChatDecoder, ChatProtocol, ChatRequestContext};
use super::connection_config::ConnectionConfig;
use super::failure::RequestTarget;
use super::gemini::{GeminiDecoder, GeminiProtocol};
use super::protocol_provider::ProtocolProvider;
use super::responses::{ResponsesDecoder, ResponsesProtocol};
use super::{Provider, ProviderError, StreamEvent, reader};
use crate::domain::{ProviderProtocol, ToolSpec};

/// A provider for the server that `config` describes, over `protocol`. Sends nothing yet.
pub fn connect(protocol: ProviderProtocol, config: ConnectionConfig) -> Arc<dyn Provider> {
    match protocol {
        ProviderProtocol::ChatCompletions => {
            Arc::new(ProtocolProvider::<ChatProtocol>::new(config))
        }
        ProviderProtocol::Anthropic => Arc::new(ProtocolProvider::<AnthropicProtocol>::new(config)),
        ProviderProtocol::Responses => Arc::new(ProtocolProvider::<ResponsesProtocol>::new(config)),
        ProviderProtocol::Gemini => Arc::new(ProtocolProvider::<GeminiProtocol>::new(config)),
    }
}

/// Decodes the body of the response to the first request of a conversation that declares `tools`. The
/// stream ends after `Finished` or the first error.
pub fn decode<S, B>(
    protocol: ProviderProtocol,
    bytes: S,
    tools: Arc<[ToolSpec]>,
) -> BoxStream<'static, Result<StreamEvent, ProviderError>>
where
    S: Stream<Item = Result<B, ProviderError>> + Send + 'static,
    B: AsRef<[u8]> + Send + 'static,
{
    let target = RequestTarget::default();
    match protocol {
        ProviderProtocol::ChatCompletions => {
            let context = ChatRequestContext::first(tools);
            reader::decode(bytes, target, ChatDecoder::new(context)).boxed()
        }
        ProviderProtocol::Anthropic => {
            reader::decode(bytes, target, AnthropicDecoder::default()).boxed()
        }
        ProviderProtocol::Responses => {
            reader::decode(bytes, target, ResponsesDecoder::default()).boxed()
        }
        ProviderProtocol::Gemini => reader::decode(bytes, target, GeminiDecoder::default()).boxed(),
    }
}
