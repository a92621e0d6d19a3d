//! A model server over HTTP: the part that all protocols share.

use std::sync::Arc;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{RequestBuilder, Url};
use secrecy::SecretString;
use tokio::time::Instant;

use super::ProviderError;
use super::connection_config::ConnectionConfig;
use super::failure::{self, ErrorResponse, RequestTarget};
use super::listing::{self, ServerModelList};
use super::reader::ByteSource;
use crate::net::{
    self, ApiKeyCache, HttpBody, HttpClient, HttpEndpoint, HttpResponse, HttpTarget, KeyHeader,
    RateLimiter, RequestTimer,
};

/// The address of a server, and the key for it.
pub(super) struct ModelServerClient {
    http: Arc<HttpClient>,
    pub(super) endpoint: HttpEndpoint,
    key: ApiKeyCache,
    key_header: KeyHeader,
    query: Vec<(String, String)>,
    models: Vec<String>,
    secrets: Arc<[SecretString]>,
    pub(super) rate_limiter: Arc<RateLimiter>,
}

/// A response that the server has begun to send.
pub(super) struct ServerResponse {
    response: HttpResponse,
    timer: RequestTimer,
    site: RequestTarget,
}

impl ModelServerClient {
    /// A client for the server that `config` describes. The key travels in `key_header` unless
    /// `config` names another header. Sends nothing yet.
    pub(super) fn new(config: ConnectionConfig, key_header: &'static str) -> Self {
        let ConnectionConfig {
            http,
            endpoint,
            key,
            key_header: custom_header,
            query,
            models,
            dialect: _,
        } = config;
        Self {
            rate_limiter: http.rate_limiter(&endpoint, &key),
            secrets: http.secrets().cloned().collect(),
            http,
            endpoint,
            key: ApiKeyCache::new(key),
            key_header: custom_header.map_or(KeyHeader::named(key_header), KeyHeader::named),
            query,
            models,
        }
    }

    /// The server's host; `None` on this machine.
    pub(super) fn host(&self) -> Option<&str> {
        (!self.endpoint.is_local()).then(|| self.endpoint.host())
    }

    /// A POST request to a model, still without its body.
    pub(super) fn post(&self, address: Url) -> Result<RequestBuilder, ProviderError> {
        let post = self.http.client(&self.endpoint)?.post(self.whole(address));
        Ok(post.header(CONTENT_TYPE, "application/json").header(ACCEPT, "text/event-stream"))
    }

    /// A GET request to the server itself.
    pub(super) fn get(&self, address: Url) -> Result<RequestBuilder, ProviderError> {
        Ok(self.http.client(&self.endpoint)?.get(self.whole(address)))
    }

    /// Sends a request to `model`, and returns once the server has accepted it.
    pub(super) async fn ask(
        &self,
        post: RequestBuilder,
        model: &str,
    ) -> Result<ServerResponse, ErrorResponse> {
        let timeouts = self.http.timeouts(&self.endpoint);
        let mut site = self.site(model).await?;
        site.keep_alives = Some(timeouts.keep_alives());
        let mut timer = RequestTimer::start(site.http.clone(), timeouts);
        let copy = self.copy(&post);
        let wire_log = self.http.wire_log();
        let opened = net::open(post, &timer, wire_log).await;
        let opened = opened.map_err(|failure| failure::of(&site, failure));
        let response = match opened {
            Err(ErrorResponse { error, .. }) if error.status == Some(401) => {
                let post = self.with_another_key(&mut site, copy, error).await?;
                timer.target.key.clone_from(&site.http.key);
                let opened = net::open(post, &timer, wire_log).await;
                opened.map_err(|failure| failure::of(&site, failure))?
            }
            opened => opened?,
        };
        Ok(ServerResponse { response, timer, site })
    }

    /// The models in the list that `get` fetches; the configured ones if the server has no list.
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
        while let Some(limit) = self.rate_limiter.active_limit(Instant::now()) {
            tokio::time::sleep(limit.wait).await;
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

    /// A copy of the request, to be sent with another key if this one is refused and another can be
    /// fetched.
    fn copy(&self, request: &RequestBuilder) -> Option<RequestBuilder> {
        if self.key.is_fetched() { request.try_clone() } else { None }
    }

    /// Fetches another key in place of a refused one, and returns the copy of the request to send
    /// with it; any other `error` is returned.
    async fn with_another_key(
        &self,
        site: &mut RequestTarget,
        copy: Option<RequestBuilder>,
        error: ProviderError,
    ) -> Result<RequestBuilder, ProviderError> {
        let Some(copy) = copy.filter(|_| error.status == Some(401)) else { return Err(error) };
        let Some(key) = self.key.replacement_for(site.http.key.as_ref()).await? else {
            return Err(error);
        };
        site.http.key = Some(key);
        Ok(copy)
    }

    /// An address with the configured query parameters.
    fn whole(&self, mut address: Url) -> Url {
        if !self.query.is_empty() {
            address.query_pairs_mut().extend_pairs(&self.query);
        }
        address
    }

    /// The target of a request to `model`, for error messages.
    pub(super) async fn site(&self, model: &str) -> Result<RequestTarget, ProviderError> {
        Ok(RequestTarget {
            http: HttpTarget {
                server: self.endpoint.to_string(),
                key: self.key.current().await?,
                key_header: self.key_header.clone(),
                proxy: self.http.proxy_towards(&self.endpoint),
                secrets: Arc::clone(&self.secrets),
            },
            model: model.to_owned(),
            keep_alives: None,
        })
    }
}

/// Whether the server answers but has no list of its models.
fn is_no_list(error: &ProviderError) -> bool {
    matches!(error.status, Some(200 | 400 | 404 | 405 | 501))
}

impl ServerResponse {
    pub(super) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The body of the response, and the server that sends it.
    pub(super) fn into_body(self) -> (HttpBody, RequestTarget) {
        (self.response.into_body(self.timer), self.site)
    }
}

impl ByteSource for HttpBody {
    async fn read(&mut self, buffer: &mut Vec<u8>) -> Option<Result<(), ProviderError>> {
        Some(HttpBody::read(self, buffer).await?.map_err(ProviderError::from))
    }
}
