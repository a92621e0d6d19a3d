//! Google's Gemini: `:streamGenerateContent`, as Google's own service speaks it.
//!
//! [`request`] writes the body and [`decode`] reads the stream; here is the way between them.

mod decode;
mod model;
mod request;
mod schema;
mod seal;

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

/// The version of the protocol that has thinking and the schemas of JSON. It stands in the path.
const VERSION: &str = "v1beta";

/// A server of Gemini's protocol.
#[derive(Clone)]
pub struct Gemini {
    server: Arc<Server>,
}

struct Server {
    http: Arc<Http>,
    endpoint: Endpoint,
    key: Option<SecretString>,
}

impl Gemini {
    /// The server at `endpoint`, asked with `key`. Nothing is sent yet.
    pub fn new(http: Arc<Http>, endpoint: Endpoint, key: Option<SecretString>) -> Self {
        Self { server: Arc::new(Server { http, endpoint, key }) }
    }
}

#[async_trait]
impl Provider for Gemini {
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
        let mut address = server.endpoint.in_version(VERSION, "models");
        address.set_query(Some("pageSize=1000"));
        let list = server.http.client(&server.endpoint)?.get(address);
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
        let path = format!("{}:streamGenerateContent", path_of(&request.model));
        let mut address = self.endpoint.in_version(VERSION, &path);
        address.set_query(Some("alt=sse"));
        let post = self
            .http
            .client(&self.endpoint)?
            .post(address)
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
            key_header: KeyHeader::Named("x-goog-api-key"),
        }
    }
}

/// Where a model is: `models/gemini-3-flash`. A tuned one names its own collection.
fn path_of(model: &str) -> String {
    if model.contains('/') { model.to_owned() } else { format!("models/{model}") }
}
