//! Anthropic's Messages, as Anthropic itself, llama.cpp, vLLM and several gateways speak them.
//!
//! `request` writes the body and [`decode`] reads the stream; here is the way between them.

mod decode;
mod model;
mod request;

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::Stream;
use futures_util::stream::BoxStream;
use tokio_util::sync::CancellationToken;

use super::connection_config::ConnectionConfig;
use super::server::ModelServerClient;
use super::{ModelInfo, Provider, ProviderError, ProviderRequest, StreamEvent};

use crate::domain::ProviderProtocol;

pub use decode::decode;
pub use request::body;

/// The version of the protocol.
const VERSION: &str = "2023-06-01";

/// A server of Messages.
#[derive(Clone)]
pub struct AnthropicProvider {
    server: Arc<ModelServerClient>,
}

impl AnthropicProvider {
    /// The server that `way` leads to. Nothing is sent yet.
    pub fn new(way: ConnectionConfig) -> Self {
        Self {
            server: Arc::new(ModelServerClient::new(way, ProviderProtocol::Anthropic.key_header())),
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
