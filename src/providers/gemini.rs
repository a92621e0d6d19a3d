//! Google's Gemini protocol, `:streamGenerateContent`, as Google's own service serves it.
//!
//! `request` writes the body and [`decode`] reads the stream; this file connects the two.

mod decode;
mod model;
mod part_metadata;
mod partial_call;
mod request;
mod schema;

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

/// The protocol version, which is part of the path. `v1beta` has thinking and JSON Schema
/// parameters.
const VERSION: &str = "v1beta";

/// A provider for servers of the Gemini protocol.
#[derive(Clone)]
pub struct GeminiProvider {
    server: Arc<ModelServerClient>,
}

impl GeminiProvider {
    /// A provider for the server that `config` describes. Sends nothing yet.
    pub fn new(config: ConnectionConfig) -> Self {
        Self {
            server: Arc::new(ModelServerClient::new(config, ProviderProtocol::Gemini.key_header())),
        }
    }
}

#[async_trait]
impl Provider for GeminiProvider {
    fn stream(
        &self,
        request: ProviderRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        self.server.events(answer(Arc::clone(&self.server), request), cancel)
    }

    async fn models(&self) -> Result<Vec<ModelInfo>, ProviderError> {
        let mut address = self.server.endpoint.in_version(VERSION, "models");
        address.set_query(Some("pageSize=1000"));
        Ok(self.server.list(self.server.get(address)?).await?.models)
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
    let path = format!("{}:streamGenerateContent", path_of(&request.model));
    let mut address = server.endpoint.in_version(VERSION, &path);
    address.set_query(Some("alt=sse"));
    let post = server.post(address)?.body(body(&request));
    let answer = server.ask(post, &request.model).await?;
    let site = answer.site();
    Ok(decode(answer.bytes(), site, history::call_ids(&request)))
}

/// The path of a model: `models/gemini-3-flash`. A tuned model names its own collection.
fn path_of(model: &str) -> String {
    if model.contains('/') { model.to_owned() } else { format!("models/{model}") }
}
