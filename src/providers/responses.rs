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
use super::driver::WireProtocol;
use super::{ProviderError, ProviderRequest, history};
use crate::domain::ProviderProtocol;

pub(super) use decode::ResponsesDecoder;
pub use request::body;

/// `POST responses` and the list of models.
pub(super) struct ResponsesProtocol;

impl WireProtocol for ResponsesProtocol {
    const PROTOCOL: ProviderProtocol = ProviderProtocol::Responses;
    type Decoder = ResponsesDecoder;

    fn new(_config: &ConnectionConfig) -> Self {
        Self
    }

    fn post(
        &self,
        client: &ModelServerClient,
        request: &ProviderRequest,
    ) -> Result<RequestBuilder, ProviderError> {
        Ok(client.post(client.endpoint.join("responses"))?.body(body(request)))
    }

    fn model_list(&self, client: &ModelServerClient) -> Result<RequestBuilder, ProviderError> {
        client.get(client.endpoint.join("models"))
    }

    fn decoder(&self, request: &ProviderRequest) -> ResponsesDecoder {
        ResponsesDecoder::new(history::call_ids(request))
    }
}
