//! Anthropic's Messages, as Anthropic itself, llama.cpp, vLLM and several gateways speak them.
//!
//! [`request`] writes the body and [`decode`] reads the stream; here is the way between them.

mod decode;
mod model;
mod request;

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use super::failure::{KeyHeader, Site};
use super::http::{self, Endpoint, Http, Patience};
use super::{ModelInfo, Provider, ProviderError, Request, StreamEvent, cancel, listing};

pub use decode::decode;
pub use request::body;

/// The version of the protocol.
const VERSION: &str = "2023-06-01";

/// A server of Messages.
#[derive(Clone)]
pub struct Anthropic {
    server: Arc<Server>,
}

struct Server {
    http: Arc<Http>,
    endpoint: Endpoint,
    key: Option<SecretString>,
}

impl Anthropic {
    /// The server at `endpoint`, asked with `key`. Nothing is sent yet.
    pub fn new(http: Arc<Http>, endpoint: Endpoint, key: Option<SecretString>) -> Self {
        Self { server: Arc::new(Server { http, endpoint, key }) }
    }
}

#[async_trait]
impl Provider for Anthropic {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let server = Arc::clone(&self.server);
        let answer = stream::once(async move { server.answer(request).await });
        cancel::until_over(answer.try_flatten().boxed(), cancel)
    }

    async fn models(&self) -> Result<Vec<ModelInfo>, ProviderError> {
        let server = &self.server;
        let mut address = server.endpoint.beside("v1/models");
        address.set_query(Some("limit=1000"));
        let list = server.http.client(&server.endpoint)?.get(address);
        let list = list.header("anthropic-version", VERSION);
        let listing =
            listing::fetch(list, &server.http, &server.endpoint, &server.site("")).await?;
        Ok(listing.models)
    }

    fn is_local(&self) -> bool {
        self.server.endpoint.is_local()
    }
}

impl Server {
    async fn answer(
        &self,
        request: Request,
    ) -> Result<BoxStream<'static, Result<StreamEvent, ProviderError>>, ProviderError> {
        let site = self.site(&request.model);
        let patience = Patience::towards(&self.endpoint);
        let mut post = self
            .http
            .client(&self.endpoint)?
            .post(self.endpoint.beside("v1/messages"))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .header("anthropic-version", VERSION);
        if let Some(beta) = model::of(&request.model).beta() {
            post = post.header("anthropic-beta", beta);
        }
        let (response, deadline) = http::open(post.body(body(&request)), &site, patience).await?;
        let bytes = http::body(response, site.clone(), patience, deadline);
        let events = decode(bytes, site);
        Ok(stream::once(async { Ok(StreamEvent::Started) }).chain(events).boxed())
    }

    fn site(&self, model: &str) -> Site {
        Site {
            server: self.endpoint.to_string(),
            model: model.to_owned(),
            key: self.key.clone(),
            key_header: KeyHeader::Named("x-api-key"),
        }
    }
}
