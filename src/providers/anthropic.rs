//! Anthropic's Messages protocol, as Anthropic itself, llama.cpp, vLLM and several gateways serve
//! it.
//!
//! `request` writes the body and `decode` reads the stream; this file connects the two.

mod decode;
mod model;
mod request;

use reqwest::RequestBuilder;

use super::client::ModelServerClient;
use super::connection_config::ConnectionConfig;
use super::protocol_provider::WireProtocol;
use super::{ProviderError, ProviderRequest};
use crate::domain::ProviderProtocol;

pub(super) use decode::AnthropicDecoder;
pub use request::body;

/// The value of the header `anthropic-version`.
const VERSION: &str = "2023-06-01";

/// The Messages protocol.
pub(super) struct AnthropicProtocol;

impl WireProtocol for AnthropicProtocol {
    const PROTOCOL: ProviderProtocol = ProviderProtocol::Anthropic;
    type Decoder = AnthropicDecoder;

    fn new(_config: &ConnectionConfig) -> Self {
        Self
    }

    fn post(
        &self,
        client: &ModelServerClient,
        request: &ProviderRequest,
    ) -> Result<RequestBuilder, ProviderError> {
        let address = client.endpoint.beside("v1/messages");
        let mut post = client.post(address)?.header("anthropic-version", VERSION);
        if let Some(beta) = model::of(&request.model).beta() {
            post = post.header("anthropic-beta", beta);
        }
        Ok(post.body(body(request)))
    }

    fn model_list(&self, client: &ModelServerClient) -> Result<RequestBuilder, ProviderError> {
        let mut address = client.endpoint.beside("v1/models");
        address.set_query(Some("limit=1000"));
        Ok(client.get(address)?.header("anthropic-version", VERSION))
    }

    fn decoder(&self, _request: &ProviderRequest) -> AnthropicDecoder {
        AnthropicDecoder::default()
    }
}
