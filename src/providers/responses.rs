//! OpenAI's Responses protocol, as OpenAI itself, llama.cpp, LM Studio and several gateways serve
//! it.
//!
//! `request` writes the body and [`decode`] reads the stream; this file connects the two. The
//! server stores nothing: each request holds the whole conversation.

mod decode;
mod request;

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::Stream;
use futures_util::stream::BoxStream;
use tokio_util::sync::CancellationToken;

use super::client::ModelServerClient;
use super::connection_config::ConnectionConfig;
use super::{ModelInfo, Provider, ProviderError, ProviderRequest, StreamEvent, history};

use crate::domain::ProviderProtocol;

pub use decode::decode;
pub use request::body;

/// A provider for servers of the Responses protocol.
#[derive(Clone)]
pub struct ResponsesProvider {
    server: Arc<ModelServerClient>,
}

impl ResponsesProvider {
    /// A provider for the server that `config` describes. Sends nothing yet.
    pub fn new(config: ConnectionConfig) -> Self {
        Self {
            server: Arc::new(ModelServerClient::new(
                config,
                ProviderProtocol::Responses.key_header(),
            )),
        }
    }
}

#[async_trait]
impl Provider for ResponsesProvider {
    fn stream(
        &self,
        request: ProviderRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        self.server.events(answer(Arc::clone(&self.server), request), cancel)
    }

    async fn models(&self) -> Result<Vec<ModelInfo>, ProviderError> {
        let list = self.server.get(self.server.endpoint.join("models"))?;
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
    let post = server.post(server.endpoint.join("responses"))?.body(body(&request));
    let answer = server.ask(post, &request.model).await?;
    let site = answer.site();
    Ok(decode(answer.bytes(), site, history::call_ids(&request)))
}
