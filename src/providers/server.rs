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

use super::failure::{KeyHeader, Refusal, Site};
use super::http::{self, Asked, Endpoint, Http};
use super::key::Keeper;
use super::listing::{self, Listing};
use super::turnstile::{Pass, Turnstile};
use super::way::Way;
use super::{Held, ProviderError, StreamEvent, cancel};

/// Where requests go, and with which key.
pub(super) struct Server {
    http: Arc<Http>,
    pub(super) endpoint: Endpoint,
    key: Keeper,
    key_header: KeyHeader,
    query: Vec<(String, String)>,
    models: Vec<String>,
    secrets: Arc<[SecretString]>,
    turnstile: Arc<Turnstile>,
}

/// An answer that the server has begun to give.
pub(super) struct Answer {
    response: Response,
    asked: Asked,
}

impl Server {
    /// The server that `way` leads to, whose key travels in `key_header` unless the way names
    /// another. Nothing is sent yet.
    pub(super) fn new(way: Way, key_header: &'static str) -> Self {
        let Way { http, endpoint, key, key_header: own, query, models, dialect: _ } = way;
        Self {
            turnstile: http.turnstile(&endpoint, &key),
            secrets: http.secrets().cloned().collect(),
            http,
            endpoint,
            key: Keeper::new(key),
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
    pub(super) async fn ask(&self, post: RequestBuilder, model: &str) -> Result<Answer, Refusal> {
        let patience = self.http.patience(&self.endpoint);
        let mut asked = Asked::now(self.site(model).await?, patience);
        asked.site.keep_alives = Some(patience.keep_alives());
        let copy = self.copy(&post);
        let response = match http::open(post, &asked).await {
            Err(Refusal { error, .. }) if error.status == Some(401) => {
                let post = self.with_another_key(&mut asked.site, copy, error).await?;
                http::open(post, &asked).await?
            }
            opened => opened?,
        };
        Ok(Answer { response, asked })
    }

    /// The models of the list that `get` asks for; those that were named for this server, where it
    /// has no list.
    pub(super) async fn list(&self, get: RequestBuilder) -> Result<Listing, ProviderError> {
        match self.listed(get).await {
            Ok(listing) if listing.models.is_empty() => Ok(Listing::of(&self.models)),
            Err(error) if !self.models.is_empty() && is_no_list(&error) => {
                tracing::debug!(%error, "the models that were named are offered");
                Ok(Listing::of(&self.models))
            }
            listed => listed,
        }
    }

    async fn listed(&self, get: RequestBuilder) -> Result<Listing, ProviderError> {
        while let Some(held) = self.turnstile.held(Instant::now()) {
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
        let passage = Passage {
            turnstile: Arc::clone(&self.turnstile),
            step: Step::Outside(Box::pin(answer)),
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
        site: &mut Site,
        copy: Option<RequestBuilder>,
        error: ProviderError,
    ) -> Result<RequestBuilder, ProviderError> {
        let Some(copy) = copy.filter(|_| error.status == Some(401)) else { return Err(error) };
        let Some(key) = self.key.instead_of(site.key.as_ref()).await? else { return Err(error) };
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
    pub(super) async fn site(&self, model: &str) -> Result<Site, ProviderError> {
        Ok(Site {
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

impl Answer {
    /// What the server says ahead of the answer.
    pub(super) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// Who answers.
    pub(super) fn site(&self) -> Site {
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
struct Passage<A, S> {
    turnstile: Arc<Turnstile>,
    step: Step<A, S>,
}

enum Step<A, S> {
    Outside(Pin<Box<A>>),
    /// The person has been told of the wait.
    Waiting(Pin<Box<A>>, Instant),
    Answered(Pin<Box<S>>, #[allow(dead_code, reason = "held, not used")] Pass),
    Over,
}

impl<A, S> Passage<A, S>
where
    A: Future<Output = Result<S, ProviderError>> + Send,
    S: Stream<Item = Result<StreamEvent, ProviderError>> + Send,
{
    async fn next(&mut self) -> Option<Result<StreamEvent, ProviderError>> {
        loop {
            match std::mem::replace(&mut self.step, Step::Over) {
                Step::Outside(answer) => {
                    let pass = match self.turnstile.held(Instant::now()) {
                        None => self.turnstile.pass().await?,
                        Some(held) => return Some(Ok(self.wait(answer, held))),
                    };
                    // While it waited for a place, another request may have been sent away.
                    if let Some(held) = self.turnstile.held(Instant::now()) {
                        return Some(Ok(self.wait(answer, held)));
                    }
                    return Some(match answer.await {
                        Ok(events) => {
                            self.step = Step::Answered(Box::pin(events), pass);
                            Ok(StreamEvent::Started)
                        }
                        Err(error) => Err(self.failed(error)),
                    });
                }
                Step::Waiting(answer, until) => {
                    tokio::time::sleep_until(until).await;
                    self.step = Step::Outside(answer);
                }
                Step::Answered(mut events, pass) => {
                    let event = events.next().await?;
                    self.step = Step::Answered(events, pass);
                    return Some(event.map_err(|error| self.failed(error)));
                }
                Step::Over => return None,
            }
        }
    }

    fn wait(&mut self, answer: Pin<Box<A>>, held: Held) -> StreamEvent {
        self.step = Step::Waiting(answer, Instant::now() + held.wait);
        StreamEvent::Held(held)
    }

    fn failed(&self, error: ProviderError) -> ProviderError {
        self.turnstile.note(&error, Instant::now());
        error
    }
}
