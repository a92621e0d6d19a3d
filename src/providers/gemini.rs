//! Google's Gemini protocol, `:streamGenerateContent`, as Google's own service serves it.
//!
//! `request` writes the body and `decode` reads the stream; this file connects the two.

mod decode;
mod model;
mod part_metadata;
mod partial_call;
mod request;
mod schema;

use reqwest::RequestBuilder;

use super::client::ModelServerClient;
use super::connection_config::ConnectionConfig;
use super::protocol_provider::WireProtocol;
use super::{ProviderError, ProviderRequest, history};
use crate::domain::ProviderProtocol;

pub(super) use decode::GeminiDecoder;
pub use request::body;

/// The protocol version, which is part of the path. `v1beta` has thinking and JSON Schema
/// parameters.
const VERSION: &str = "v1beta";

/// `:streamGenerateContent` and the list of models.
pub(super) struct GeminiProtocol;

impl WireProtocol for GeminiProtocol {
    const PROTOCOL: ProviderProtocol = ProviderProtocol::Gemini;
    type Decoder = GeminiDecoder;

    fn new(_config: &ConnectionConfig) -> Self {
        Self
    }

    fn post(
        &self,
        client: &ModelServerClient,
        request: &ProviderRequest,
    ) -> Result<RequestBuilder, ProviderError> {
        let path = format!("{}:streamGenerateContent", path_of(&request.model));
        let mut address = client.endpoint.in_version(VERSION, &path);
        address.set_query(Some("alt=sse"));
        Ok(client.post(address)?.body(body(request)))
    }

    fn model_list(&self, client: &ModelServerClient) -> Result<RequestBuilder, ProviderError> {
        let mut address = client.endpoint.in_version(VERSION, "models");
        address.set_query(Some("pageSize=1000"));
        client.get(address)
    }

    fn decoder(&self, request: &ProviderRequest) -> GeminiDecoder {
        GeminiDecoder::new(history::call_ids(request))
    }
}

/// The path of a model: `models/gemini-3-flash`. A tuned model names its own collection.
fn path_of(model: &str) -> String {
    if model.contains('/') { model.to_owned() } else { format!("models/{model}") }
}
