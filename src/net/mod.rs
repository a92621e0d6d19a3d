//! The way to servers over HTTP, whatever they serve: the client, and the rules that bound where
//! requests go.
//!
//! A key is sent only to the origin that it was configured for: no redirect is followed, and plain
//! http leaves this machine only if the caller says that the user agreed (`endpoint`). Requests to
//! this machine never use a proxy; all others honour the system's (`transport`). `timeouts` limits
//! how long a response may take, `rate_limiter` how many requests a server gets at once, and `exchange`
//! sends a request with its `key` and reads the response, which `wire_log` can record. `failure`
//! puts into words what goes wrong on the way. `page` asks servers that nobody has configured, and so watches where their
//! names lead.
//! What a server says with an error status is for the caller to interpret.
//!
//! Building a client reads the system's certificates, which takes milliseconds. It happens at the
//! first request, after the first frame, and not at all for plain http to this machine.

mod endpoint;
mod exchange;
mod failure;
mod key;
mod own_address;
mod page;
mod proxies;
mod rate_limiter;
mod timeouts;
mod transport;
mod wire_log;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::{Certificate, Client, ClientBuilder};
use secrecy::SecretString;

pub use endpoint::{HttpEndpoint, HttpEndpointError, PlainHttp};
pub(crate) use exchange::{HttpBody, HttpResponse, open};
pub use exchange::{HttpFailure, RefusedResponse, fetch};
pub use failure::{FailurePersistence, HttpTarget, KeyHeader, TransportError};
pub(crate) use key::ApiKeyCache;
pub use key::{ApiKey, ApiKeyFetcher};
pub use own_address::is_own_address;
pub use page::{
    HostLookup, PageBody, PageClient, PageError, PageReach, PageRequest, PageResponse, SystemLookup,
};
pub use rate_limiter::RateLimited;
pub(crate) use rate_limiter::{Permit, RateLimiter};
pub(crate) use timeouts::{RequestTimer, TimeoutError};
pub use timeouts::{SleepEffect, TimeoutSettings, Timeouts};
pub use transport::{ClientCertificate, ProxySelection, SecretHeaderValue, TransportConfig};
pub use wire_log::WireLog;

use rate_limiter::RateLimiters;
use transport::HttpDestination;

const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// The HTTP client, built on first use. Share one for all servers with the same settings, because
/// it keeps the connections.
#[derive(Debug, Default)]
pub struct HttpClient {
    transport: TransportConfig,
    rate_limiters: Arc<RateLimiters>,
    /// Trusts no certificates; for plain http to this machine only.
    plain: OnceLock<Result<Client, String>>,
    direct: OnceLock<Result<Client, String>>,
    by_proxy: OnceLock<Result<Client, String>>,
}

impl HttpClient {
    /// A client with default settings, not built yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A client with its own certificates, headers or proxy. Nothing is read yet.
    pub fn with_transport(transport: TransportConfig) -> Self {
        Self { transport, ..Self::default() }
    }

    /// A client with other settings that shares this one's rate limiters: a server's limits hold
    /// for both.
    pub fn with_shared_limits(&self, transport: TransportConfig) -> Self {
        Self { transport, rate_limiters: Arc::clone(&self.rate_limiters), ..Self::default() }
    }

    /// The time limits of requests to `endpoint`.
    pub(crate) fn timeouts(&self, endpoint: &HttpEndpoint) -> Timeouts {
        Timeouts::towards(endpoint, self.transport.timeouts)
    }

    /// The rate limiter of `endpoint`, shared by all requests to it with `key`.
    pub(crate) fn rate_limiter(&self, endpoint: &HttpEndpoint, key: &ApiKey) -> Arc<RateLimiter> {
        self.rate_limiters.of(endpoint.origin(), key)
    }

    /// Where the bodies of requests and responses are recorded.
    pub(crate) fn wire_log(&self) -> Option<&Arc<dyn WireLog>> {
        self.transport.wire_log.as_ref()
    }

    /// The client for requests to `endpoint`, built now if it is not yet.
    ///
    /// # Errors
    ///
    /// Fails if the client cannot be built, for example because a certificate file cannot be read.
    /// The error is a sentence with a remedy.
    pub fn client(&self, endpoint: &HttpEndpoint) -> Result<&Client, TransportError> {
        let client = match (endpoint.is_local(), endpoint.url().scheme()) {
            _ if self.transport.unix_socket.is_some() => {
                self.plain.get_or_init(|| self.build_plain())
            }
            (true, "http") => self.plain.get_or_init(|| self.build_plain()),
            (true, _) => self.direct.get_or_init(|| self.build(HttpDestination::ThisMachine)),
            (false, _) if self.transport.is_exempt(endpoint.url()) => {
                self.direct.get_or_init(|| self.build(HttpDestination::ThisMachine))
            }
            (false, _) => self.by_proxy.get_or_init(|| self.build(HttpDestination::Elsewhere)),
        };
        client.as_ref().map_err(|reason| TransportError::lasting(reason.clone()))
    }

    /// The proxy on the way to `endpoint`, without credentials; `None` for a direct connection.
    pub(crate) fn proxy_towards(&self, endpoint: &HttpEndpoint) -> Option<String> {
        if endpoint.is_local() { None } else { self.transport.proxy_towards(endpoint.url()) }
    }

    /// The values of configured headers, which messages must not show.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &SecretString> {
        self.transport.headers.iter().filter_map(|(_, text)| match text {
            SecretHeaderValue::Value(value) => Some(value),
            SecretHeaderValue::Missing(_) => None,
        })
    }

    fn build_plain(&self) -> Result<Client, String> {
        let headers = self.transport.headers()?;
        // Local servers close idle connections within seconds (llama.cpp after 5 s), and a request on
        // one that is just being closed fails. A new connection to this machine costs nothing.
        let plain = || {
            let direct = client_builder().no_proxy().pool_max_idle_per_host(0);
            let direct = direct.tls_certs_only([]).default_headers(headers.clone());
            match &self.transport.unix_socket {
                Some(path) => direct.unix_socket(path.as_path()),
                None => direct,
            }
        };
        build(plain, &[])
    }

    fn build(&self, destination: HttpDestination) -> Result<Client, String> {
        let material = self.transport.read()?;
        build(|| material.apply(client_builder(), destination), &material.authorities)
    }
}

/// A client builder with slug's `User-Agent`, which a header of the user's overrides.
fn client_builder() -> ClientBuilder {
    Client::builder().user_agent(concat!("slug/", env!("CARGO_PKG_VERSION")))
}

/// Builds a client that also trusts `authorities`. If the system has no certificate store, the
/// build fails even for plain http; then `start` is called again, and Mozilla's bundled roots are
/// used.
fn build(start: impl Fn() -> ClientBuilder, authorities: &[Certificate]) -> Result<Client, String> {
    // Fails only if a provider is already installed, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let configured =
        || start().connect_timeout(CONNECT_LIMIT).redirect(reqwest::redirect::Policy::none());
    let custom = authorities.iter().cloned();
    let first = match configured().tls_certs_merge(custom.clone()).build() {
        Ok(client) => return Ok(client),
        Err(error) => error,
    };
    tracing::warn!(%first, "no certificates of the system; the bundled ones are used");
    configured().tls_certs_only(bundled_roots().into_iter().chain(custom)).build().map_err(|_| {
        format!(
            "Cannot set up the HTTP client: {}. Check the proxy settings and the system's \
             certificates.",
            failure::chain(&first)
        )
    })
}

fn bundled_roots() -> Vec<Certificate> {
    let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter();
    roots.filter_map(|root| Certificate::from_der(root).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> HttpEndpoint {
        HttpEndpoint::parse(text, PlainHttp::LoopbackOnly).unwrap()
    }

    #[test]
    fn the_bundled_roots_make_a_client() {
        assert!(build(Client::builder, &[]).is_ok());
        assert!(bundled_roots().len() > 50);
        assert!(Client::builder().tls_certs_only(bundled_roots()).build().is_ok());
    }

    #[test]
    fn plain_http_to_this_machine_needs_no_certificates() {
        let http = HttpClient::new();
        let used = |http: &HttpClient| {
            [&http.plain, &http.direct, &http.by_proxy].map(|client| client.get().is_some())
        };
        http.client(&parse("http://localhost:8000/v1")).unwrap();
        assert_eq!(used(&http), [true, false, false]);
        http.client(&parse("https://localhost:8443/v1")).unwrap();
        assert_eq!(used(&http), [true, true, false]);
        http.client(&parse("https://api.example.com/v1")).unwrap();
        assert_eq!(used(&http), [true; 3]);
    }
}
