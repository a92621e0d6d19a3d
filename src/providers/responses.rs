//! OpenAI's Responses, as OpenAI itself, llama.cpp, LM Studio and several gateways speak them.
//!
//! [`request`] writes the body and [`decode`] reads the stream; here is the way between them.
//! Nothing is kept on the server: each request has the whole conversation.

mod decode;
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
use super::{ModelInfo, Provider, ProviderError, Request, StreamEvent, cancel, history, listing};

pub use decode::decode;
pub use request::body;

/// A server of Responses.
#[derive(Clone)]
pub struct Responses {
    server: Arc<Server>,
}

struct Server {
    http: Arc<Http>,
    endpoint: Endpoint,
    key: Option<SecretString>,
}

impl Responses {
    /// The server at `endpoint`, asked with `key`. Nothing is sent yet.
    pub fn new(http: Arc<Http>, endpoint: Endpoint, key: Option<SecretString>) -> Self {
        Self { server: Arc::new(Server { http, endpoint, key }) }
    }
}

#[async_trait]
impl Provider for Responses {
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
        let list = server.http.client(&server.endpoint)?.get(server.endpoint.join("models"));
        let site = server.site("");
        let listing = listing::fetch(list, &server.http, &server.endpoint, &site).await?;
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
        let post = self
            .http
            .client(&self.endpoint)?
            .post(self.endpoint.join("responses"))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream");
        let (response, deadline) = http::open(post.body(body(&request)), &site, patience).await?;
        let bytes = http::body(response, site.clone(), patience, deadline);
        let events = decode(bytes, site, history::call_ids(&request));
        Ok(stream::once(async { Ok(StreamEvent::Started) }).chain(events).boxed())
    }

    fn site(&self, model: &str) -> Site {
        Site {
            server: self.endpoint.to_string(),
            model: model.to_owned(),
            key: self.key.clone(),
            key_header: KeyHeader::Bearer,
        }
    }
}
