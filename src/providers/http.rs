//! The way to model servers: the one HTTP client, which goes nowhere that it should not.
//!
//! A key is sent to the origin it was configured for and to no other: no redirect is followed, and
//! plain http leaves this machine only where the caller says that the person agreed (`endpoint`).
//! Requests to this machine never go through a proxy; all others honour the system's
//! (`transport`). How long an answer may take is told in `patience`, what becomes of a request
//! in `exchange`.
//!
//! Building a client reads the certificates of the system, which takes milliseconds: it happens at
//! the first request, after the first frame, and not at all for plain http to this machine.

mod endpoint;
mod exchange;
mod proxies;
mod timeouts;
mod transport;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::{Certificate, Client, ClientBuilder};
use secrecy::SecretString;

use super::failure;
use super::rate_limiter::{RateLimiter, RateLimiters};
use super::{ApiKey, ErrorRecovery, ProviderError};

pub use endpoint::{HttpEndpoint, HttpEndpointError, PlainHttp};
pub use exchange::fetch;
pub(super) use exchange::{body, open};
pub(super) use timeouts::{RequestTimer, TimeoutError};
pub use timeouts::{SleepEffect, TimeoutSettings, Timeouts};
pub use transport::{ClientCertificate, ProxySelection, SecretHeaderValue, TransportConfig};

use transport::HttpDestination;

const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// The HTTP client, built when it is first needed. Share one for all servers that are reached in
/// the same way: it keeps the connections.
#[derive(Debug, Default)]
pub struct HttpClient {
    transport: TransportConfig,
    rate_limiters: Arc<RateLimiters>,
    /// Trusts no certificates, and is never asked to.
    plain: OnceLock<Result<Client, String>>,
    direct: OnceLock<Result<Client, String>>,
    by_proxy: OnceLock<Result<Client, String>>,
}

impl HttpClient {
    /// A client that is not built yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One with certificates, headers or a proxy of its own, which are not looked at yet.
    pub fn with_transport(transport: TransportConfig) -> Self {
        Self { transport, ..Self::default() }
    }

    /// The same, beside this one: what servers ask of the one holds for the other.
    pub fn with_shared_limits(&self, transport: TransportConfig) -> Self {
        Self { transport, rate_limiters: Arc::clone(&self.rate_limiters), ..Self::default() }
    }

    /// How long to wait for `endpoint`.
    pub(super) fn timeouts(&self, endpoint: &HttpEndpoint) -> Timeouts {
        Timeouts::towards(endpoint, self.transport.timeouts)
    }

    /// The way in to `endpoint`, shared by all that ask it with `key`.
    pub(super) fn rate_limiter(&self, endpoint: &HttpEndpoint, key: &ApiKey) -> Arc<RateLimiter> {
        self.rate_limiters.of(endpoint.origin(), key)
    }

    /// The client for requests to `endpoint`.
    pub fn client(&self, endpoint: &HttpEndpoint) -> Result<&Client, ProviderError> {
        let client = match (endpoint.is_local(), endpoint.url().scheme()) {
            (true, "http") => self.plain.get_or_init(|| self.build_plain()),
            (true, _) => self.direct.get_or_init(|| self.build(HttpDestination::ThisMachine)),
            (false, _) if self.transport.is_exempt(endpoint.url()) => {
                self.direct.get_or_init(|| self.build(HttpDestination::ThisMachine))
            }
            (false, _) => self.by_proxy.get_or_init(|| self.build(HttpDestination::Elsewhere)),
        };
        client.as_ref().map_err(|reason| ProviderError {
            message: reason.clone(),
            status: None,
            recovery: ErrorRecovery::AskUser,
        })
    }

    /// The proxy through which `endpoint` is asked, fit to be shown.
    pub(super) fn proxy_towards(&self, endpoint: &HttpEndpoint) -> Option<String> {
        if endpoint.is_local() { None } else { self.transport.proxy_towards(endpoint.url()) }
    }

    /// What must not be shown: the values of headers.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &SecretString> {
        self.transport.headers.iter().filter_map(|(_, text)| match text {
            SecretHeaderValue::Value(value) => Some(value),
            SecretHeaderValue::Missing(_) => None,
        })
    }

    fn build_plain(&self) -> Result<Client, String> {
        let headers = self.transport.headers()?;
        let plain =
            || client_builder().no_proxy().tls_certs_only([]).default_headers(headers.clone());
        build(plain, &[])
    }

    fn build(&self, reach: HttpDestination) -> Result<Client, String> {
        let material = self.transport.read()?;
        build(|| material.apply(client_builder(), reach), &material.authorities)
    }
}

/// A builder of a client that says who it is, unless a header of the person's says otherwise.
fn client_builder() -> ClientBuilder {
    Client::builder().user_agent(concat!("slug/", env!("CARGO_PKG_VERSION")))
}

/// Builds a client that trusts `authorities`, too. `start` is called again where the system has no
/// certificate store, which fails the build even for plain http; then the roots that Mozilla trusts
/// are used.
fn build(start: impl Fn() -> ClientBuilder, authorities: &[Certificate]) -> Result<Client, String> {
    // Fails only where a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let configured =
        || start().connect_timeout(CONNECT_LIMIT).redirect(reqwest::redirect::Policy::none());
    let own = authorities.iter().cloned();
    let first = match configured().tls_certs_merge(own.clone()).build() {
        Ok(client) => return Ok(client),
        Err(error) => error,
    };
    tracing::warn!(%first, "no certificates of the system; the bundled ones are used");
    configured().tls_certs_only(bundled_roots().into_iter().chain(own)).build().map_err(|_| {
        format!(
            "The HTTP client cannot be set up: {}. Check the proxy settings and the system's \
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
