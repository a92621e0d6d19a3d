//! Anthropic's Messages protocol, as Anthropic itself, llama.cpp, vLLM and several gateways serve
//! it.
//!
//! `request` writes the body and [`decode`] reads the stream; this file connects the two.

mod decode;
mod model;
mod request;

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::Stream;
use futures_util::stream::BoxStream;
use tokio_util::sync::CancellationToken;

use super::client::ModelServerClient;
use super::connection_config::ConnectionConfig;
use super::{ModelInfo, Provider, ProviderError, ProviderRequest, StreamEvent};

use crate::domain::ProviderProtocol;

pub use decode::decode;
pub use request::body;

/// The value of the header `anthropic-version`.
const VERSION: &str = "2023-06-01";

/// A provider for servers of the Messages protocol.
#[derive(Clone)]
pub struct AnthropicProvider {
    server: Arc<ModelServerClient>,
}

impl AnthropicProvider {
    /// A provider for the server that `config` describes. Sends nothing yet.
    pub fn new(config: ConnectionConfig) -> Self {
        Self {
            server: Arc::new(ModelServerClient::new(
                config,
                ProviderProtocol::Anthropic.key_header(),
            )),
        }
    }
}

#[async_trait]
impl Provider for AnthropicProvider {
    fn stream(
        &self,
        request: ProviderRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        self.server.events(answer(Arc::clone(&self.server), request), cancel)
    }

    async fn models(&self) -> Result<Vec<ModelInfo>, ProviderError> {
        let mut address = self.server.endpoint.beside("v1/models");
        address.set_query(Some("limit=1000"));
        let list = self.server.get(address)?.header("anthropic-version", VERSION);
        Ok(self.server.list(list).await?.models)
    }

    fn is_local(&self) -> bool {
        self.server.endpoint.is_local()
    }

    fn host(&self) -> Option<&str> {
        self.server.host()
    }
}

async fn answer(
    server: Arc<ModelServerClient>,
    request: ProviderRequest,
) -> Result<impl Stream<Item = Result<StreamEvent, ProviderError>> + Send, ProviderError> {
    let address = server.endpoint.beside("v1/messages");
    let mut post = server.post(address)?.header("anthropic-version", VERSION);
    if let Some(beta) = model::of(&request.model).beta() {
        post = post.header("anthropic-beta", beta);
    }
    let answer = server.ask(post.body(body(&request)), &request.model).await?;
    let site = answer.site();
    Ok(decode(answer.bytes(), site))
}
