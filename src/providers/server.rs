//! A model server over HTTP: what every protocol does with one.

use std::pin::Pin;
use std::sync::Arc;

use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{RequestBuilder, Response, Url};
use secrecy::SecretString;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connection_config::ConnectionConfig;
use super::failure::{ErrorResponse, KeyHeader, RequestTarget};
use super::http::{self, HttpClient, HttpEndpoint, RequestTimer};
use super::key::ApiKeyCache;
use super::listing::{self, ServerModelList};
use super::rate_limiter::{Permit, RateLimiter};
use super::{ProviderError, RateLimited, StreamEvent, cancel};

/// Where requests go, and with which key.
pub(super) struct ModelServerClient {
    http: Arc<HttpClient>,
    pub(super) endpoint: HttpEndpoint,
    key: ApiKeyCache,
    key_header: KeyHeader,
    query: Vec<(String, String)>,
    models: Vec<String>,
    secrets: Arc<[SecretString]>,
    rate_limiter: Arc<RateLimiter>,
}

/// An answer that the server has begun to give.
pub(super) struct ServerResponse {
    response: Response,
    asked: RequestTimer,
}

impl ModelServerClient {
    /// The server that `way` leads to, whose key travels in `key_header` unless the way names
    /// another. Nothing is sent yet.
    pub(super) fn new(way: ConnectionConfig, key_header: &'static str) -> Self {
        let ConnectionConfig { http, endpoint, key, key_header: own, query, models, dialect: _ } =
            way;
        Self {
            rate_limiter: http.rate_limiter(&endpoint, &key),
            secrets: http.secrets().cloned().collect(),
            http,
            endpoint,
            key: ApiKeyCache::new(key),
            key_header: own.map_or(KeyHeader::named(key_header), KeyHeader::named),
            query,
            models,
        }
    }

    /// The server's host; `None` on this machine.
    pub(super) fn host(&self) -> Option<&str> {
        (!self.endpoint.is_local()).then(|| self.endpoint.host())
    }

    /// A question to a model, still without its body.
    pub(super) fn post(&self, address: Url) -> Result<RequestBuilder, ProviderError> {
        let post = self.http.client(&self.endpoint)?.post(self.whole(address));
        Ok(post.header(CONTENT_TYPE, "application/json").header(ACCEPT, "text/event-stream"))
    }

    /// A question to the server itself.
    pub(super) fn get(&self, address: Url) -> Result<RequestBuilder, ProviderError> {
        Ok(self.http.client(&self.endpoint)?.get(self.whole(address)))
    }

    /// Sends a question to `model`, and returns once the server has accepted it.
    pub(super) async fn ask(
        &self,
        post: RequestBuilder,
        model: &str,
    ) -> Result<ServerResponse, ErrorResponse> {
        let patience = self.http.timeouts(&self.endpoint);
        let mut asked = RequestTimer::start(self.site(model).await?, patience);
        asked.site.keep_alives = Some(patience.keep_alives());
        let copy = self.copy(&post);
        let response = match http::open(post, &asked).await {
            Err(ErrorResponse { error, .. }) if error.status == Some(401) => {
                let post = self.with_another_key(&mut asked.site, copy, error).await?;
                http::open(post, &asked).await?
            }
            opened => opened?,
        };
        Ok(ServerResponse { response, asked })
    }

    /// The models of the list that `get` asks for; those that were named for this server, where it
    /// has no list.
    pub(super) async fn list(&self, get: RequestBuilder) -> Result<ServerModelList, ProviderError> {
        match self.listed(get).await {
            Ok(listing) if listing.models.is_empty() => Ok(ServerModelList::of(&self.models)),
            Err(error) if !self.models.is_empty() && is_no_list(&error) => {
                tracing::debug!(%error, "the models that were named are offered");
                Ok(ServerModelList::of(&self.models))
            }
            listed => listed,
        }
    }

    async fn listed(&self, get: RequestBuilder) -> Result<ServerModelList, ProviderError> {
        while let Some(held) = self.rate_limiter.active_limit(Instant::now()) {
            tokio::time::sleep(held.wait).await;
        }
        let Self { http, endpoint, .. } = self;
        let mut site = self.site("").await?;
        let copy = self.copy(&get);
        match listing::fetch(get, http, endpoint, &site).await {
            Err(error) => {
                let get = self.with_another_key(&mut site, copy, error).await?;
                listing::fetch(get, http, endpoint, &site).await
            }
            listed @ Ok(_) => listed,
        }
    }

    /// The events of an answer that is not asked for before this server may be asked, until it is
    /// over or `cancel` ends it.
    pub(super) fn events<S>(
        &self,
        answer: impl Future<Output = Result<S, ProviderError>> + Send + 'static,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>>
    where
        S: Stream<Item = Result<StreamEvent, ProviderError>> + Send + 'static,
    {
        let passage = RateLimitedRequest {
            rate_limiter: Arc::clone(&self.rate_limiter),
            step: RateLimitedPhase::NotSent(Box::pin(answer)),
        };
        let events = stream::unfold(passage, |mut passage| async move {
            let event = passage.next().await?;
            Some((event, passage))
        });
        cancel::until_over(events.boxed(), cancel)
    }

    /// What is sent where the key is refused and another one can be had.
    fn copy(&self, request: &RequestBuilder) -> Option<RequestBuilder> {
        if self.key.is_fetched() { request.try_clone() } else { None }
    }

    /// Puts another key in the place of one that was fetched and is refused, and gives the copy to
    /// send with it; any other `error` stays one.
    async fn with_another_key(
        &self,
        site: &mut RequestTarget,
        copy: Option<RequestBuilder>,
        error: ProviderError,
    ) -> Result<RequestBuilder, ProviderError> {
        let Some(copy) = copy.filter(|_| error.status == Some(401)) else { return Err(error) };
        let Some(key) = self.key.replacement_for(site.key.as_ref()).await? else {
            return Err(error);
        };
        site.key = Some(key);
        Ok(copy)
    }

    /// An address with what is added to every one.
    fn whole(&self, mut address: Url) -> Url {
        if !self.query.is_empty() {
            address.query_pairs_mut().extend_pairs(&self.query);
        }
        address
    }

    /// What is told of this server when something goes wrong with a question to `model`.
    pub(super) async fn site(&self, model: &str) -> Result<RequestTarget, ProviderError> {
        Ok(RequestTarget {
            server: self.endpoint.to_string(),
            model: model.to_owned(),
            key: self.key.current().await?,
            key_header: self.key_header.clone(),
            proxy: self.http.proxy_towards(&self.endpoint),
            secrets: Arc::clone(&self.secrets),
            keep_alives: None,
        })
    }
}

/// Whether the server answers, and has no list of its models.
fn is_no_list(error: &ProviderError) -> bool {
    matches!(error.status, Some(200 | 400 | 404 | 405 | 501))
}

impl ServerResponse {
    /// What the server says ahead of the answer.
    pub(super) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// Who answers.
    pub(super) fn site(&self) -> RequestTarget {
        self.asked.site.clone()
    }

    /// The answer as it comes.
    pub(super) fn bytes(
        self,
    ) -> impl Stream<Item = Result<impl AsRef<[u8]> + Send, ProviderError>> + Send {
        http::body(self.response, self.asked)
    }
}

/// A request on its way through the turnstile to the end of its answer.
struct RateLimitedRequest<A, S> {
    rate_limiter: Arc<RateLimiter>,
    step: RateLimitedPhase<A, S>,
}

enum RateLimitedPhase<A, S> {
    NotSent(Pin<Box<A>>),
    /// The person has been told of the wait.
    Waiting(Pin<Box<A>>, Instant),
    Answered(Pin<Box<S>>, #[allow(dead_code, reason = "held, not used")] Permit),
    Over,
}

impl<A, S> RateLimitedRequest<A, S>
where
    A: Future<Output = Result<S, ProviderError>> + Send,
    S: Stream<Item = Result<StreamEvent, ProviderError>> + Send,
{
    async fn next(&mut self) -> Option<Result<StreamEvent, ProviderError>> {
        loop {
            match std::mem::replace(&mut self.step, RateLimitedPhase::Over) {
                RateLimitedPhase::NotSent(answer) => {
                    let pass = match self.rate_limiter.active_limit(Instant::now()) {
                        None => self.rate_limiter.acquire().await?,
                        Some(held) => return Some(Ok(self.wait(answer, held))),
                    };
                    // While it waited for a place, another request may have been sent away.
                    if let Some(held) = self.rate_limiter.active_limit(Instant::now()) {
                        return Some(Ok(self.wait(answer, held)));
                    }
                    return Some(match answer.await {
                        Ok(events) => {
                            self.step = RateLimitedPhase::Answered(Box::pin(events), pass);
                            Ok(StreamEvent::Started)
                        }
                        Err(error) => Err(self.failed(error)),
                    });
                }
                RateLimitedPhase::Waiting(answer, until) => {
                    tokio::time::sleep_until(until).await;
                    self.step = RateLimitedPhase::NotSent(answer);
                }
                RateLimitedPhase::Answered(mut events, pass) => {
                    let event = events.next().await?;
                    self.step = RateLimitedPhase::Answered(events, pass);
                    return Some(event.map_err(|error| self.failed(error)));
                }
                RateLimitedPhase::Over => return None,
            }
        }
    }

    fn wait(&mut self, answer: Pin<Box<A>>, held: RateLimited) -> StreamEvent {
        self.step = RateLimitedPhase::Waiting(answer, Instant::now() + held.wait);
        StreamEvent::RateLimited(held)
    }

    fn failed(&self, error: ProviderError) -> ProviderError {
        self.rate_limiter.note(&error, Instant::now());
        error
    }
}
