//! The way to model servers: the addresses, the one HTTP client, and its limits of time.
//!
//! A key is sent to the origin it was configured for and to no other: no redirect is followed, and
//! plain http leaves this machine only where the caller says that the person agreed. Requests to
//! this machine never go through a proxy; all others honour the system's.
//!
//! Each answer has limits: to connect, to its first byte, between two pieces, and in all. A machine
//! that has slept finds its connections dead without being told so; the wall clock, which goes on in
//! sleep while timers stand still, tells.
//!
//! Building a client ([`transport`]) reads the certificates of the system, which takes milliseconds: it happens at
//! the first request, after the first frame, and not at all for plain http to this machine.

mod proxies;
mod transport;

use std::fmt;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use futures_util::{Stream, StreamExt, stream};
use reqwest::header::HeaderValue;
use reqwest::{Certificate, Client, ClientBuilder, RequestBuilder, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, timeout, timeout_at};

use super::failure::{self, KeyHeader, Refusal, Site};
use super::turnstile::{Turnstile, Turnstiles};
use super::{Key, ProviderError, Recovery};

pub use transport::{ClientCertificate, HeaderText, Proxy, Transport};

use transport::Reach;

const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// How often a wait looks whether the machine has slept.
const GLANCE: Duration = Duration::from_secs(5);

/// What is longer than this between two clocks was sleep.
const SLEEP: Duration = Duration::from_secs(20);

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

/// The limits of time that the person has set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timeouts {
    /// For the first byte of an answer.
    pub first_byte: Option<Duration>,
    /// Between two pieces of it.
    pub idle: Option<Duration>,
    /// For all of it.
    pub total: Option<Duration>,
}

/// How long to wait for bytes, comments and keep-alives included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For the first byte of the answer, from the moment of asking. A server on this machine has
    /// no such limit: reading a long prompt takes it minutes.
    pub first_byte: Option<Duration>,
    /// Between two pieces of the answer.
    pub idle: Duration,
    /// For the whole answer, from the moment of asking. A slow machine may write for hours.
    pub total: Option<Duration>,
    /// What a sleep of this machine means.
    pub sleep: AfterSleep,
}

/// What a sleep of this machine does to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterSleep {
    /// The other side, which stayed awake, has given it up.
    Gone,
    /// The other side slept, too.
    Lasts,
}

impl Patience {
    /// What `endpoint` is given, where the person has set nothing else.
    pub fn towards(endpoint: &Endpoint, set: Timeouts) -> Self {
        let elsewhere = |limit: u64| (!endpoint.is_local()).then_some(Duration::from_secs(limit));
        Self {
            first_byte: set.first_byte.or_else(|| elsewhere(60)),
            idle: set.idle.unwrap_or(Duration::from_secs(90)),
            total: set.total.or_else(|| elsewhere(3600)),
            sleep: if endpoint.is_local() { AfterSleep::Lasts } else { AfterSleep::Gone },
        }
    }
}

/// The HTTP client, built when it is first needed. Share one for all servers that are reached in
/// the same way: it keeps the connections.
#[derive(Debug, Default)]
pub struct Http {
    transport: Transport,
    turnstiles: Arc<Turnstiles>,
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

    /// The same, beside this one: what servers ask of the one holds for the other.
    pub fn beside(&self, transport: Transport) -> Self {
        Self { transport, turnstiles: Arc::clone(&self.turnstiles), ..Self::default() }
    }

    /// How long to wait for `endpoint`.
    pub(super) fn patience(&self, endpoint: &Endpoint) -> Patience {
        Patience::towards(endpoint, self.transport.timeouts)
    }

    /// The way in to `endpoint`, shared by all that ask it with `key`.
    pub(super) fn turnstile(&self, endpoint: &Endpoint, key: &Key) -> Arc<Turnstile> {
        self.turnstiles.of(endpoint.origin(), key)
    }

    /// The client for requests to `endpoint`.
    pub fn client(&self, endpoint: &Endpoint) -> Result<&Client, ProviderError> {
        let client = match (endpoint.is_local(), endpoint.url.scheme()) {
            (true, "http") => self.plain.get_or_init(|| self.build_plain()),
            (true, _) => self.direct.get_or_init(|| self.build(Reach::ThisMachine)),
            (false, _) if self.transport.is_exempt(&endpoint.url) => {
                self.direct.get_or_init(|| self.build(Reach::ThisMachine))
            }
            (false, _) => self.by_proxy.get_or_init(|| self.build(Reach::Elsewhere)),
        };
        client.as_ref().map_err(|reason| ProviderError {
            message: reason.clone(),
            status: None,
            recovery: Recovery::AskPerson,
        })
    }

    /// The proxy through which `endpoint` is asked, fit to be shown.
    pub(super) fn proxy_towards(&self, endpoint: &Endpoint) -> Option<String> {
        if endpoint.is_local() { None } else { self.transport.proxy_towards(&endpoint.url) }
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

/// A question, from the moment of asking.
#[derive(Debug)]
pub(super) struct Asked {
    /// Who is asked.
    pub(super) site: Site,
    patience: Patience,
    at: Instant,
}

/// Why an answer is waited for no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overdue {
    Silent(Duration),
    Total(Duration),
    Slept,
}

/// How far an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    NothingYet,
    Begun,
}

impl Asked {
    /// Asked just now.
    pub(super) fn now(site: Site, patience: Patience) -> Self {
        Self { site, patience, at: Instant::now() }
    }

    /// Waits for the next piece within all limits. What is there counts before what is over.
    async fn within<F: Future>(&self, stage: Stage, piece: F) -> Result<F::Output, ProviderError> {
        let waited = self.wait(stage, piece).await;
        waited.map_err(|overdue| overdue.told(&self.site.server))
    }

    async fn wait<F: Future>(&self, stage: Stage, piece: F) -> Result<F::Output, Overdue> {
        let mut piece = pin!(piece);
        let (began, wall) = (Instant::now(), SystemTime::now());
        let silent = match stage {
            Stage::NothingYet => self.patience.first_byte.map(|limit| (self.at + limit, limit)),
            Stage::Begun => Some((began + self.patience.idle, self.patience.idle)),
        };
        let total = self.patience.total.map(|limit| (self.at + limit, limit));
        loop {
            let now = Instant::now();
            if let Some((at, limit)) = total
                && now >= at
            {
                return Err(Overdue::Total(limit));
            }
            let glance = match self.patience.sleep {
                AfterSleep::Gone => Some(now + GLANCE),
                AfterSleep::Lasts => None,
            };
            let ends = [silent.map(|(at, _)| at), total.map(|(at, _)| at), glance];
            let Some(end) = ends.into_iter().flatten().min() else { return Ok(piece.await) };
            if let Ok(output) = timeout_at(end, piece.as_mut()).await {
                return Ok(output);
            }
            let now = Instant::now();
            if self.patience.sleep == AfterSleep::Gone
                && slept(wall.elapsed().unwrap_or_default(), now.duration_since(began))
            {
                return Err(Overdue::Slept);
            }
            if let Some((at, limit)) = silent
                && now >= at
            {
                return Err(Overdue::Silent(limit));
            }
        }
    }
}

/// Whether the machine slept in a time that the wall clock and a timer measured. A clock that was
/// set looks the same, and costs one request.
fn slept(wall: Duration, ticked: Duration) -> bool {
    wall.saturating_sub(ticked) > SLEEP
}

impl Overdue {
    fn told(self, server: &str) -> ProviderError {
        let (message, recovery) = match self {
            Self::Silent(limit) => (
                format!(
                    "{server} has sent nothing for {} s. It may be overloaded, or the network is \
                     down.",
                    limit.as_secs()
                ),
                Recovery::Retry,
            ),
            Self::Total(limit) => (
                format!(
                    "{server} was still answering after {} s. Where that is to be expected, raise \
                     `timeouts.total` in ~/.slug/config.toml.",
                    limit.as_secs()
                ),
                Recovery::GiveUp,
            ),
            Self::Slept => (
                format!("The connection to {server} did not outlast this machine's sleep."),
                Recovery::Retry,
            ),
        };
        ProviderError { message, status: None, recovery }
    }
}

/// Sends a request whose answer is streamed, and returns it once the server has accepted it.
pub(super) async fn open(request: RequestBuilder, asked: &Asked) -> Result<Response, Refusal> {
    let site = &asked.site;
    let response = asked.within(Stage::NothingYet, with_key(request, site).send()).await?;
    let response = response.map_err(|error| failure::of_transport(site, &error))?;
    if response.status().is_success() {
        return Ok(response);
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
            Err(refusal(response, site).await.error)
        }
    };
    timeout(SHORT_ANSWER_LIMIT, fetched)
        .await
        .map_err(|_| Overdue::Silent(SHORT_ANSWER_LIMIT).told(&site.server))?
}

/// The body of a streamed answer, as it comes.
pub(super) fn body(
    response: Response,
    asked: Asked,
) -> impl Stream<Item = Result<impl AsRef<[u8]> + Send, ProviderError>> + Send {
    let source = Box::pin(response.bytes_stream());
    let state = (source, asked, Stage::NothingYet);
    stream::unfold(state, |(mut source, asked, stage)| async move {
        let item = match asked.within(stage, source.next()).await {
            Ok(None) => return None,
            Ok(Some(chunk)) => chunk.map_err(|error| failure::of_transport(&asked.site, &error)),
            Err(error) => Err(error),
        };
        Some((item, (source, asked, Stage::Begun)))
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

async fn refusal(response: Response, site: &Site) -> Refusal {
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let body = timeout(SHORT_ANSWER_LIMIT, text(response, site, REFUSAL_BYTES)).await;
    // What went wrong while reading the refusal matters less than that there is one.
    let body = body.ok().and_then(Result::ok).unwrap_or_default();
    let error = failure::of_response(site, status, &headers, &body, chrono::Utc::now());
    Refusal { error, body }
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
        let nothing = "has sent nothing";
        let table = [
            ("no head", "", Some(short), long, None, nothing),
            ("no first byte", HEAD, Some(short), long, None, nothing),
            ("no second byte", BEGUN, None, short, None, nothing),
            ("no end, and no head", "", None, long, Some(short), "timeouts.total"),
            ("no end", BEGUN, None, long, Some(short), "timeouts.total"),
        ];
        for (phase, head, first_byte, idle, total, says) in table {
            let (endpoint, serving) = stalling(head);
            let site = Site { server: endpoint.to_string(), ..Site::default() };
            let patience = Patience { first_byte, idle, total, sleep: AfterSleep::Gone };
            let http = Http::new();
            let get = http.client(&endpoint).unwrap().get(endpoint.join("x"));
            let asked = Asked::now(site, patience);
            let error = match open(get, &asked).await {
                Err(refusal) => refusal.error,
                Ok(response) => {
                    let mut chunks = Box::pin(body(response, asked));
                    loop {
                        if let Err(error) = chunks.next().await.unwrap() {
                            break error;
                        }
                    }
                }
            };
            assert!(error.message.contains(says), "{phase}: {error}");
            let recovery = if total.is_some() { Recovery::GiveUp } else { Recovery::Retry };
            assert_eq!(error.recovery, recovery, "{phase}");
            drop(http);
            serving.join().unwrap();
        }
    }

    #[test]
    fn r37_sleep_is_what_the_wall_clock_has_and_the_timer_has_not() {
        let seconds = Duration::from_secs;
        let table = [
            (seconds(5), seconds(5), false),
            (seconds(90), seconds(89), false),
            (seconds(20), seconds(5), false),
            (seconds(3600), seconds(3), true),
            // The clock was set back meanwhile.
            (seconds(0), seconds(5), false),
        ];
        for (wall, ticked, expected) in table {
            assert_eq!(slept(wall, ticked), expected, "{wall:?} {ticked:?}");
        }
        let told = Overdue::Slept.told("https://api.example.com/v1");
        assert_eq!(told.recovery, Recovery::Retry);
        assert!(told.message.contains("sleep"), "{told}");
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
    fn a_server_on_this_machine_may_read_and_write_as_long_as_it_needs() {
        let towards = |text, set| Patience::towards(&parse(text).unwrap(), set);
        let (far, near) = ("https://api.example.com/v1", "http://localhost:8000/v1");
        let seconds = Duration::from_secs;
        let patience = Patience {
            first_byte: Some(seconds(60)),
            idle: seconds(90),
            total: Some(seconds(3600)),
            sleep: AfterSleep::Gone,
        };
        assert_eq!(towards(far, Timeouts::default()), patience);
        let here = Patience { first_byte: None, total: None, sleep: AfterSleep::Lasts, ..patience };
        assert_eq!(towards(near, Timeouts::default()), here);
        let set = Timeouts {
            first_byte: Some(seconds(1)),
            idle: Some(seconds(2)),
            total: Some(seconds(3)),
        };
        for address in [far, near] {
            let own = towards(address, set);
            let limits = (own.first_byte, own.idle, own.total);
            assert_eq!(limits, (Some(seconds(1)), seconds(2), Some(seconds(3))));
        }
    }
}
