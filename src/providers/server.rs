//! A model server over HTTP: what every protocol does with one.

use std::future::ready;
use std::sync::Arc;

use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt, TryStreamExt};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{RequestBuilder, Response, Url};
use secrecy::SecretString;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::failure::{KeyHeader, Site};
use super::http::{self, Endpoint, Http, Patience};
use super::listing::{self, Listing};
use super::{ProviderError, StreamEvent, cancel};

/// Where requests go, and with which key.
pub(super) struct Server {
    http: Arc<Http>,
    pub(super) endpoint: Endpoint,
    key: Option<SecretString>,
    key_header: KeyHeader,
}

/// An answer that the server has begun to give.
pub(super) struct Answer {
    response: Response,
    site: Site,
    patience: Patience,
    deadline: Option<Instant>,
}

impl Server {
    /// The server at `endpoint`, asked with `key` in `key_header`. Nothing is sent yet.
    pub(super) fn new(
        http: Arc<Http>,
        endpoint: Endpoint,
        key: Option<SecretString>,
        key_header: KeyHeader,
    ) -> Self {
        Self { http, endpoint, key, key_header }
    }

    /// The server's host; `None` on this machine.
    pub(super) fn host(&self) -> Option<&str> {
        (!self.endpoint.is_local()).then(|| self.endpoint.host())
    }

    /// A question to a model, still without its body.
    pub(super) fn post(&self, address: Url) -> Result<RequestBuilder, ProviderError> {
        let post = self.http.client(&self.endpoint)?.post(address);
        Ok(post.header(CONTENT_TYPE, "application/json").header(ACCEPT, "text/event-stream"))
    }

    /// A question to the server itself.
    pub(super) fn get(&self, address: Url) -> Result<RequestBuilder, ProviderError> {
        Ok(self.http.client(&self.endpoint)?.get(address))
    }

    /// Sends a question to `model`, and returns once the server has accepted it.
    pub(super) async fn ask(
        &self,
        post: RequestBuilder,
        model: &str,
    ) -> Result<Answer, ProviderError> {
        let site = self.site(model);
        let patience = Patience::towards(&self.endpoint);
        let (response, deadline) = http::open(post, &site, patience).await?;
        Ok(Answer { response, site, patience, deadline })
    }

    /// The models of the list that `get` asks for.
    pub(super) async fn list(&self, get: RequestBuilder) -> Result<Listing, ProviderError> {
        listing::fetch(get, &self.http, &self.endpoint, &self.site("")).await
    }

    fn site(&self, model: &str) -> Site {
        Site {
            server: self.endpoint.to_string(),
            model: model.to_owned(),
            key: self.key.clone(),
            key_header: self.key_header,
        }
    }
}

impl Answer {
    /// What the server says ahead of the answer.
    pub(super) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// Who answers.
    pub(super) fn site(&self) -> Site {
        self.site.clone()
    }

    /// The answer as it comes.
    pub(super) fn bytes(
        self,
    ) -> impl Stream<Item = Result<impl AsRef<[u8]> + Send, ProviderError>> + Send {
        http::body(self.response, self.site, self.patience, self.deadline)
    }
}

/// The events of an answer that is waited for, until it is over or `cancel` ends it.
pub(super) fn events<S>(
    answer: impl Future<Output = Result<S, ProviderError>> + Send + 'static,
    cancel: CancellationToken,
) -> BoxStream<'static, Result<StreamEvent, ProviderError>>
where
    S: Stream<Item = Result<StreamEvent, ProviderError>> + Send + 'static,
{
    let begun = |events: S| stream::once(ready(Ok(StreamEvent::Started))).chain(events);
    let events = stream::once(async move { answer.await.map(begun) }).try_flatten();
    cancel::until_over(events.boxed(), cancel)
}
