//! The way to model servers: the addresses, the one HTTP client, and its limits of time.
//!
//! A key is sent to the origin it was configured for and to no other: no redirect is followed, and
//! plain http leaves this machine only where the caller says that the person agreed. Requests to
//! this machine never go through a proxy; all others honour the system's.
//!
//! Building a client ([`transport`]) reads the certificates of the system, which takes milliseconds: it happens at
//! the first request, after the first frame, and not at all for plain http to this machine.

mod transport;

use std::fmt;
use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use reqwest::header::HeaderValue;
use reqwest::{Certificate, Client, ClientBuilder, RequestBuilder, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, timeout, timeout_at};

use super::failure::{self, KeyHeader, Site};
use super::{ProviderError, Recovery};

pub use transport::{ClientCertificate, HeaderText, Proxy, Transport};

use transport::Reach;

const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// The most bytes of a refusal that are read.
const REFUSAL_BYTES: usize = 64 << 10;

/// How long a server may take to send all of a short answer: a list of models, a refusal.
const SHORT_ANSWER_LIMIT: Duration = Duration::from_secs(15);

/// Where a model server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    url: Url,
    local: bool,
}

/// Where plain http may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainHttp {
    /// To this machine alone.
    LoopbackOnly,
    /// To this endpoint's origin too: the person said yes to it.
    Allowed,
}

/// Why an address cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// It is not an http or https address.
    #[error("`{text}` is not the address of a server. Write it like http://localhost:8000/v1.")]
    Malformed {
        /// What was given.
        text: String,
    },
    /// It has a name and password in it.
    #[error(
        "the address of {host} has a password in it. Give the key as `api_key` in \
         ~/.slug/config.toml or in SLUG_API_KEY instead."
    )]
    Password {
        /// Which server.
        host: String,
    },
    /// It is plain http to another machine, and nobody agreed.
    #[error(
        "plain http to {origin} would let anyone on the way read the key and the code. Use https, \
         or allow this origin when slug asks for it."
    )]
    PlainHttp {
        /// Scheme, host and port.
        origin: String,
    },
}

impl Endpoint {
    /// Reads an address as the person wrote it; a slash at its end makes no difference.
    pub fn parse(text: &str, plain: PlainHttp) -> Result<Self, EndpointError> {
        let malformed = || EndpointError::Malformed { text: text.to_owned() };
        let url = Url::parse(text.trim().trim_end_matches('/')).map_err(|_| malformed())?;
        let host = url.host_str().unwrap_or_default().to_owned();
        if host.is_empty() || !matches!(url.scheme(), "http" | "https") {
            return Err(malformed());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(EndpointError::Password { host });
        }
        let local = is_loopback(&host);
        if url.scheme() == "http" && !local && plain == PlainHttp::LoopbackOnly {
            return Err(EndpointError::PlainHttp { origin: url.origin().ascii_serialization() });
        }
        Ok(Self { url, local })
    }

    /// Whether the server runs on this machine.
    pub fn is_local(&self) -> bool {
        self.local
    }

    /// The host's name, without port.
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Scheme, host and port: what a key belongs to.
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// The address of something below the endpoint.
    pub fn join(&self, path: &str) -> Url {
        let mut url = self.url.clone();
        url.set_path(&format!("{}/{path}", self.url.path().trim_end_matches('/')));
        url
    }

    /// The address of something beside the endpoint's `/v1`.
    pub fn beside(&self, path: &str) -> Url {
        let base = self.url.path().trim_end_matches('/');
        let mut url = self.url.clone();
        url.set_path(&format!("{}/{path}", base.strip_suffix("/v1").unwrap_or(base)));
        url.set_query(None);
        url
    }

    /// The address of something below the endpoint, whose `/v1` stands for the `version` of a
    /// protocol that has others.
    pub fn in_version(&self, version: &str, path: &str) -> Url {
        match self.url.path().trim_end_matches('/') {
            "" => self.join(&format!("{version}/{path}")),
            base if base.ends_with("/v1") => self.beside(&format!("{version}/{path}")),
            _ => self.join(path),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.url.as_str().trim_end_matches('/'))
    }
}

/// How long to wait for bytes, comments and keep-alives included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For the first byte of the answer, from the moment of asking. A server on this machine has
    /// no such limit: reading a long prompt takes it minutes.
    pub first_byte: Option<Duration>,
    /// Between two pieces of the answer.
    pub idle: Duration,
}

impl Patience {
    /// What `endpoint` is given.
    pub fn towards(endpoint: &Endpoint) -> Self {
        Self {
            first_byte: (!endpoint.is_local()).then_some(Duration::from_secs(60)),
            idle: Duration::from_secs(90),
        }
    }
}

/// The HTTP client, built when it is first needed. Share one for all servers that are reached in
/// the same way: it keeps the connections.
#[derive(Debug, Default)]
pub struct Http {
    transport: Transport,
    /// Trusts no certificates, and is never asked to.
    plain: OnceLock<Result<Client, String>>,
    direct: OnceLock<Result<Client, String>>,
    by_proxy: OnceLock<Result<Client, String>>,
}

impl Http {
    /// A client that is not built yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One with certificates, headers or a proxy of its own, which are not looked at yet.
    pub fn over(transport: Transport) -> Self {
        Self { transport, ..Self::default() }
    }

    /// The client for requests to `endpoint`.
    pub fn client(&self, endpoint: &Endpoint) -> Result<&Client, ProviderError> {
        let client = match (endpoint.is_local(), endpoint.url.scheme()) {
            (true, "http") => self.plain.get_or_init(|| self.build_plain()),
            (true, _) => self.direct.get_or_init(|| self.build(Reach::ThisMachine)),
            (false, _) => self.by_proxy.get_or_init(|| self.build(Reach::Elsewhere)),
        };
        client.as_ref().map_err(|reason| ProviderError {
            message: reason.clone(),
            status: None,
            recovery: Recovery::AskPerson,
        })
    }

    /// What must not be shown: the values of headers.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &SecretString> {
        self.transport.headers.iter().filter_map(|(_, text)| match text {
            HeaderText::Value(value) => Some(value),
            HeaderText::Missing(_) => None,
        })
    }

    fn build_plain(&self) -> Result<Client, String> {
        let headers = self.transport.headers()?;
        let plain = || named().no_proxy().tls_certs_only([]).default_headers(headers.clone());
        build(plain, &[])
    }

    fn build(&self, reach: Reach) -> Result<Client, String> {
        let material = self.transport.read()?;
        build(|| material.apply(named(), reach), &material.authorities)
    }
}

/// Sends a request whose answer is streamed, and returns it once the server has accepted it.
pub async fn open(
    request: RequestBuilder,
    site: &Site,
    patience: Patience,
) -> Result<(Response, Option<Instant>), ProviderError> {
    let deadline = patience.first_byte.map(|limit| Instant::now() + limit);
    let sent = with_key(request, site).send();
    let response = match deadline {
        Some(deadline) => {
            timeout_at(deadline, sent).await.map_err(|_| silent(site, patience.first_byte))?
        }
        None => sent.await,
    };
    let response = response.map_err(|error| failure::of_transport(site, &error))?;
    if response.status().is_success() {
        return Ok((response, deadline));
    }
    Err(refusal(response, site).await)
}

/// Sends a request with a short answer, and returns its text.
pub async fn fetch(
    request: RequestBuilder,
    site: &Site,
    limit: usize,
) -> Result<String, ProviderError> {
    let fetched = async {
        let sent = with_key(request, site).send().await;
        let response = sent.map_err(|error| failure::of_transport(site, &error))?;
        if response.status().is_success() {
            text(response, site, limit).await
        } else {
            Err(refusal(response, site).await)
        }
    };
    timeout(SHORT_ANSWER_LIMIT, fetched)
        .await
        .map_err(|_| silent(site, Some(SHORT_ANSWER_LIMIT)))?
}

/// The body of a streamed answer, as it comes; `deadline` is that of its first byte.
pub fn body(
    response: Response,
    site: Site,
    patience: Patience,
    deadline: Option<Instant>,
) -> impl Stream<Item = Result<impl AsRef<[u8]> + Send, ProviderError>> + Send {
    let source = Box::pin(response.bytes_stream());
    let begun = false;
    stream::unfold((source, site, begun), move |(mut source, site, begun)| async move {
        let next = if begun {
            timeout(patience.idle, source.next()).await.map_err(|_| Some(patience.idle))
        } else if let Some(deadline) = deadline {
            timeout_at(deadline, source.next()).await.map_err(|_| patience.first_byte)
        } else {
            Ok(source.next().await)
        };
        let item = match next {
            Ok(None) => return None,
            Ok(Some(Ok(chunk))) => Ok(chunk),
            Ok(Some(Err(error))) => Err(failure::of_transport(&site, &error)),
            Err(limit) => Err(silent(&site, limit)),
        };
        Some((item, (source, site, true)))
    })
}

fn with_key(request: RequestBuilder, site: &Site) -> RequestBuilder {
    let Some(key) = &site.key else { return request };
    match &site.key_header {
        KeyHeader::Bearer => request.bearer_auth(key.expose_secret()),
        KeyHeader::Named(name) => match HeaderValue::from_str(key.expose_secret()) {
            Ok(mut value) => {
                value.set_sensitive(true);
                request.header(name.as_ref(), value)
            }
            // A key that is no header is told by the server's refusal, without being repeated.
            Err(_) => request,
        },
    }
}

async fn refusal(response: Response, site: &Site) -> ProviderError {
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let body = timeout(SHORT_ANSWER_LIMIT, text(response, site, REFUSAL_BYTES)).await;
    // What went wrong while reading the refusal matters less than that there is one.
    let body = body.ok().and_then(Result::ok).unwrap_or_default();
    failure::of_response(site, status, &headers, &body, chrono::Utc::now())
}

async fn text(mut response: Response, site: &Site, limit: usize) -> Result<String, ProviderError> {
    let mut bytes = Vec::new();
    while bytes.len() < limit {
        let chunk = response.chunk().await.map_err(|error| failure::of_transport(site, &error))?;
        let Some(chunk) = chunk else { break };
        bytes.extend_from_slice(&chunk);
    }
    bytes.truncate(limit);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A builder of a client that says who it is, unless a header of the person's says otherwise.
fn named() -> ClientBuilder {
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

fn silent(site: &Site, limit: Option<Duration>) -> ProviderError {
    let seconds = limit.unwrap_or_default().as_secs();
    ProviderError {
        message: format!(
            "{} has sent nothing for {seconds} s. It may be overloaded, or the network is down.",
            site.server
        ),
        status: None,
        recovery: Recovery::Retry,
    }
}

/// Names and addresses of this machine. `0.0.0.0` is what servers print when they listen
/// everywhere; connecting to it reaches this machine.
fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback() || address.is_unspecified(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Endpoint, EndpointError> {
        Endpoint::parse(text, PlainHttp::LoopbackOnly)
    }

    #[test]
    fn this_machine_is_known_by_all_its_names() {
        let table = [
            ("http://localhost:8000/v1", true),
            ("http://127.0.0.1:8000/v1", true),
            ("http://127.9.9.9/v1", true),
            ("http://[::1]:8000/v1", true),
            ("http://0.0.0.0:8000/v1", true),
            ("http://model.localhost/v1", true),
            ("https://localhost.example.com/v1", false),
            ("https://api.example.com/v1", false),
        ];
        for (text, local) in table {
            assert_eq!(parse(text).map(|endpoint| endpoint.is_local()), Ok(local), "{text}");
        }
    }

    #[test]
    fn plain_http_leaves_the_machine_only_when_allowed() {
        let text = "http://gpu.lan:8000/v1";
        assert_eq!(
            parse(text),
            Err(EndpointError::PlainHttp { origin: "http://gpu.lan:8000".into() })
        );
        assert!(Endpoint::parse(text, PlainHttp::Allowed).is_ok_and(|there| !there.is_local()));
    }

    #[test]
    fn what_is_no_address_is_refused_with_a_remedy() {
        for text in ["localhost:8000/v1", "", "ftp://a/b", "/v1", "http://"] {
            let error = parse(text).unwrap_err();
            assert!(error.to_string().contains("http://localhost:8000/v1"), "{text}: {error}");
        }
        let error = parse("https://me:secret@host/v1").unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
    }

    #[test]
    fn addresses_below_and_beside_the_endpoint() {
        let endpoint = parse("http://localhost:8080/v1/").unwrap();
        assert_eq!(endpoint.to_string(), "http://localhost:8080/v1");
        assert_eq!(endpoint.join("models").as_str(), "http://localhost:8080/v1/models");
        assert_eq!(endpoint.beside("props").as_str(), "http://localhost:8080/props");
        let bare = parse("http://localhost:8080").unwrap();
        for (text, expected) in [
            ("https://a.example", "https://a.example/v1beta/models"),
            ("https://a.example/v1", "https://a.example/v1beta/models"),
            ("https://a.example/v1beta", "https://a.example/v1beta/models"),
            ("https://a.example/v1/google", "https://a.example/v1/google/models"),
        ] {
            assert_eq!(parse(text).unwrap().in_version("v1beta", "models").as_str(), expected);
        }
        assert_eq!(bare.join("models").as_str(), "http://localhost:8080/models");
        let query = parse("https://a.example/openai/v1?api-version=1").unwrap();
        assert_eq!(
            query.join("chat/completions").as_str(),
            "https://a.example/openai/v1/chat/completions?api-version=1"
        );
    }

    /// A server that takes one connection, sends `head` and then nothing.
    fn stalling(head: &'static str) -> (Endpoint, std::thread::JoinHandle<()>) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let serving = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _request = std::io::Read::read(&mut stream, &mut [0; 4096]).unwrap();
            std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
            // Reads until the client has gone.
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        });
        (parse(&format!("http://{address}/v1")).unwrap(), serving)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn silence_is_an_error_in_every_phase() {
        const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";
        const BEGUN: &str = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n: ping\n\n";
        let short = Duration::from_millis(30);
        let long = Duration::from_secs(3600);
        let table = [
            ("no head", "", Some(short), long),
            ("no first byte", HEAD, Some(short), long),
            ("no second byte", BEGUN, None, short),
        ];
        for (phase, head, first_byte, idle) in table {
            let (endpoint, serving) = stalling(head);
            let site = Site { server: endpoint.to_string(), ..Site::default() };
            let patience = Patience { first_byte, idle };
            let http = Http::new();
            let get = http.client(&endpoint).unwrap().get(endpoint.join("x"));
            let error = match open(get, &site, patience).await {
                Err(error) => error,
                Ok((response, deadline)) => {
                    let mut chunks = Box::pin(body(response, site, patience, deadline));
                    loop {
                        if let Err(error) = chunks.next().await.unwrap() {
                            break error;
                        }
                    }
                }
            };
            assert!(error.message.contains("has sent nothing"), "{phase}: {error}");
            assert_eq!(error.recovery, Recovery::Retry, "{phase}");
            drop(http);
            serving.join().unwrap();
        }
    }

    #[test]
    fn the_bundled_roots_make_a_client() {
        assert!(build(Client::builder, &[]).is_ok());
        assert!(bundled_roots().len() > 50);
        assert!(Client::builder().tls_certs_only(bundled_roots()).build().is_ok());
    }

    #[test]
    fn plain_http_to_this_machine_needs_no_certificates() {
        let http = Http::new();
        let used = |http: &Http| {
            [&http.plain, &http.direct, &http.by_proxy].map(|client| client.get().is_some())
        };
        http.client(&parse("http://localhost:8000/v1").unwrap()).unwrap();
        assert_eq!(used(&http), [true, false, false]);
        http.client(&parse("https://localhost:8443/v1").unwrap()).unwrap();
        assert_eq!(used(&http), [true, true, false]);
        http.client(&parse("https://api.example.com/v1").unwrap()).unwrap();
        assert_eq!(used(&http), [true; 3]);
    }

    #[test]
    fn a_server_on_this_machine_may_read_as_long_as_it_needs() {
        let far = Patience::towards(&parse("https://api.example.com/v1").unwrap());
        let near = Patience::towards(&parse("http://localhost:8000/v1").unwrap());
        assert_eq!(far.first_byte, Some(Duration::from_secs(60)));
        assert_eq!(near.first_byte, None);
    }
}
