//! OpenAI's Responses protocol, as OpenAI itself, llama.cpp, LM Studio and several gateways serve
//! it.
//!
//! `request` writes the body and `decode` reads the stream; this file connects the two. The server
//! stores nothing: each request holds the whole conversation.

mod decode;
mod request;

use reqwest::RequestBuilder;

use super::client::ModelServerClient;
use super::connection_config::ConnectionConfig;
use super::history::ConversationKeyField;
use super::protocol_provider::WireProtocol;
use super::{ProviderError, ProviderRequest, chat, history};
use crate::domain::ProviderProtocol;

pub(super) use decode::ResponsesDecoder;

/// The body of a request to a server that is not told the conversation.
pub fn body(request: &ProviderRequest) -> Vec<u8> {
    request::body(request, ConversationKeyField::None)
}

/// `POST responses` and the list of models.
pub(super) struct ResponsesProtocol {
    conversation_key: ConversationKeyField,
}

impl WireProtocol for ResponsesProtocol {
    const PROTOCOL: ProviderProtocol = ProviderProtocol::Responses;
    type Decoder = ResponsesDecoder;

    fn new(config: &ConnectionConfig) -> Self {
        Self { conversation_key: chat::conversation_key(config.endpoint.host()) }
    }

    fn post(
        &self,
        client: &ModelServerClient,
        request: &ProviderRequest,
    ) -> Result<RequestBuilder, ProviderError> {
        Ok(client
            .post(client.endpoint.join("responses"))?
            .body(request::body(request, self.conversation_key)))
    }

    fn model_list(&self, client: &ModelServerClient) -> Result<RequestBuilder, ProviderError> {
        client.get(client.endpoint.join("models"))
    }

    fn decoder(&self, request: &ProviderRequest) -> ResponsesDecoder {
        ResponsesDecoder::new(history::call_ids(request))
    }
}
