//! One request and its response: sends it with the key, and reads the response streamed or whole.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{RequestBuilder, Response};
use secrecy::ExposeSecret;
use tokio::time::timeout;

use super::timeouts::{HttpResponseStage, RequestTimer, TimeoutError};
use super::wire_log::{WireLog, WireRecording};
use super::{HttpTarget, KeyHeader, TransportError, failure};

/// The most bytes of an error response that are read.
const REFUSAL_BYTES: usize = 64 << 10;

/// The time limit for a whole short response: a list of models, an error response.
const SHORT_ANSWER_LIMIT: Duration = Duration::from_secs(15);

/// Why a request has no response.
#[derive(Debug)]
pub enum HttpFailure {
    /// It did not get through, or the response broke off.
    Transport(TransportError),
    /// The server answered with an error status, or with a redirect, which is never followed.
    Refused(RefusedResponse),
}

/// A response with a status other than success.
#[derive(Debug)]
pub struct RefusedResponse {
    pub status: u16,
    pub headers: HeaderMap,
    /// The first 64 KB of the body; empty if it could not be read.
    pub body: String,
}

impl From<TransportError> for HttpFailure {
    fn from(error: TransportError) -> Self {
        Self::Transport(error)
    }
}

/// Sends a request whose response is streamed, and returns once the server has accepted it.
pub(crate) async fn open(
    request: RequestBuilder,
    timer: &RequestTimer,
    wire_log: Option<&Arc<dyn WireLog>>,
) -> Result<HttpResponse, HttpFailure> {
    let target = &timer.target;
    let mut recording = wire_log.and_then(|log| WireRecording::begin(log, &request));
    let response =
        timer.within(HttpResponseStage::NothingYet, with_key(request, target).send()).await?;
    let response = response.map_err(|error| failure::of_transport(target, &error))?;
    let status = response.status();
    if let Some(recording) = &mut recording {
        recording.answered(status.as_u16());
    }
    if status.is_success() {
        return Ok(HttpResponse { response, recording });
    }
    let refusal = refusal(response, target).await;
    if let (Some(recording), HttpFailure::Refused(refused)) = (&mut recording, &refusal) {
        recording.received(refused.body.as_bytes());
    }
    Err(refusal)
}

/// Sends a request with a short response, and returns its text, cut to `limit` bytes.
///
/// # Errors
///
/// Fails if the request does not get through, is refused, or takes more than 15 seconds in all.
pub async fn fetch(
    request: RequestBuilder,
    target: &HttpTarget,
    limit: usize,
) -> Result<String, HttpFailure> {
    let fetched = async {
        let sent = with_key(request, target).send().await;
        let response = sent.map_err(|error| failure::of_transport(target, &error))?;
        if response.status().is_success() {
            Ok(text(response, target, limit).await?)
        } else {
            Err(refusal(response, target).await)
        }
    };
    timeout(SHORT_ANSWER_LIMIT, fetched).await.map_err(|_| {
        TimeoutError::Silent(SHORT_ANSWER_LIMIT).into_transport_error(&target.server)
    })?
}

/// A streamed response that has begun.
pub(crate) struct HttpResponse {
    response: Response,
    recording: Option<WireRecording>,
}

impl HttpResponse {
    pub(crate) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The body, which has to come within the limits of `timer`.
    pub(crate) fn into_body(self, timer: RequestTimer) -> HttpBody {
        HttpBody { response: self, timer, stage: HttpResponseStage::NothingYet }
    }
}

/// The body of a streamed response.
pub(crate) struct HttpBody {
    response: HttpResponse,
    timer: RequestTimer,
    stage: HttpResponseStage,
}

impl HttpBody {
    /// Adds the next piece to `buffer`; `None` at the end. Nothing is lost when it is dropped.
    pub(crate) async fn read(
        &mut self,
        buffer: &mut Vec<u8>,
    ) -> Option<Result<(), TransportError>> {
        let Self { response, timer, stage } = self;
        match timer.within(*stage, response.response.chunk()).await {
            Ok(Ok(None)) => return None,
            Ok(Ok(Some(piece))) => {
                buffer.extend_from_slice(&piece);
                if let Some(recording) = &mut response.recording {
                    recording.received(&piece);
                }
            }
            Ok(Err(error)) => return Some(Err(failure::of_transport(&timer.target, &error))),
            Err(error) => return Some(Err(error)),
        }
        *stage = HttpResponseStage::Begun;
        Some(Ok(()))
    }
}

fn with_key(request: RequestBuilder, target: &HttpTarget) -> RequestBuilder {
    let Some(key) = &target.key else { return request };
    match &target.key_header {
        KeyHeader::Bearer => request.bearer_auth(key.expose_secret()),
        KeyHeader::Named(name) => match HeaderValue::from_str(key.expose_secret()) {
            Ok(mut value) => {
                value.set_sensitive(true);
                request.header(name.as_ref(), value)
            }
            // A key that is no valid header is left out; the server's refusal reports it without
            // repeating the key.
            Err(_) => request,
        },
    }
}

async fn refusal(response: Response, target: &HttpTarget) -> HttpFailure {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let body = timeout(SHORT_ANSWER_LIMIT, text(response, target, REFUSAL_BYTES)).await;
    // That the server refused matters more than a failure to read why.
    let body = body.ok().and_then(Result::ok).unwrap_or_default();
    HttpFailure::Refused(RefusedResponse { status, headers, body })
}

async fn text(
    mut response: Response,
    target: &HttpTarget,
    limit: usize,
) -> Result<String, TransportError> {
    let mut bytes = Vec::new();
    while bytes.len() < limit {
        let chunk =
            response.chunk().await.map_err(|error| failure::of_transport(target, &error))?;
        let Some(chunk) = chunk else { break };
        bytes.extend_from_slice(&chunk);
    }
    bytes.truncate(limit);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv6Addr, SocketAddr, TcpListener, TcpStream};
    use std::sync::Arc;

    use reqwest::Client;
    use reqwest::dns::{Name, Resolve, Resolving};
    use rustix::net::{AddressFamily, SocketType, bind, listen, socket};

    use super::*;
    use crate::net::{
        FailurePersistence, HttpClient, HttpEndpoint, PlainHttp, SleepEffect, Timeouts, build,
        client_builder,
    };

    fn parse(text: &str) -> HttpEndpoint {
        HttpEndpoint::parse(text, PlainHttp::LoopbackOnly).unwrap()
    }

    /// A server that accepts one connection, sends `head` and then nothing.
    fn stalling(head: &'static str) -> (HttpEndpoint, std::thread::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let serving = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _request = std::io::Read::read(&mut stream, &mut [0; 4096]).unwrap();
            std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
            // Reads until the client disconnects.
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        });
        (parse(&format!("http://{address}/v1")), serving)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn silence_is_an_error_in_every_phase() {
        const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";
        const BEGUN: &str = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n: ping\n\n";
        let short = Duration::from_millis(30);
        let long = Duration::from_secs(3600);
        let nothing = "has sent ";
        let table = [
            ("no head", "", Some(short), long, None, nothing),
            ("no first byte", HEAD, Some(short), long, None, nothing),
            ("no second byte", BEGUN, None, short, None, nothing),
            ("no end, and no head", "", None, long, Some(short), "timeouts.total"),
            ("no end", BEGUN, None, long, Some(short), "timeouts.total"),
        ];
        for (phase, head, first_byte, idle, total, says) in table {
            let (endpoint, serving) = stalling(head);
            let target = HttpTarget { server: endpoint.to_string(), ..HttpTarget::default() };
            let timeouts = Timeouts { first_byte, idle, total, sleep: SleepEffect::ConnectionLost };
            let http = HttpClient::new();
            let get = http.client(&endpoint).unwrap().get(endpoint.join("x"));
            let timer = RequestTimer::start(target, timeouts);
            let error = match open(get, &timer, None).await {
                Err(failure) => transport_error(failure),
                Ok(response) => {
                    let mut body = response.into_body(timer);
                    loop {
                        if let Err(error) = body.read(&mut Vec::new()).await.unwrap() {
                            break error;
                        }
                    }
                }
            };
            assert!(error.message.contains(says), "{phase}: {error}");
            let persistence = if total.is_some() {
                FailurePersistence::Final
            } else {
                FailurePersistence::Passing
            };
            assert_eq!(error.persistence, persistence, "{phase}");
            drop(http);
            serving.join().unwrap();
        }
    }

    fn transport_error(failure: HttpFailure) -> TransportError {
        match failure {
            HttpFailure::Transport(error) => error,
            HttpFailure::Refused(refused) => panic!("{refused:?}"),
        }
    }

    /// Sends any request to `url` with this client, and returns what comes back.
    async fn fetch_from(client: &Client, url: &str) -> Result<String, TransportError> {
        let target = HttpTarget { server: url.to_owned(), ..HttpTarget::default() };
        fetch(client.get(url), &target, 1 << 10).await.map_err(transport_error)
    }

    /// A port at which IPv4 answers and IPv6 drops connections without refusing them, and the
    /// sockets that keep it so. `None` if the machine has no IPv6.
    fn black_hole() -> Option<(SocketAddr, SocketAddr, Vec<TcpStream>)> {
        let open = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = open.local_addr().unwrap();
        let hole = SocketAddr::from((Ipv6Addr::LOCALHOST, here.port()));
        let socket = socket(AddressFamily::INET6, SocketType::STREAM, None).ok()?;
        bind(&socket, &hole).ok()?;
        listen(&socket, 0).unwrap();
        // Once the queue is full, the system ignores further connections.
        let full = Duration::from_secs(1);
        let sockets = std::iter::from_fn(|| TcpStream::connect_timeout(&hole, full).ok());
        let sockets: Vec<TcpStream> = sockets.take(64).collect();
        std::thread::spawn(move || {
            let _hole = socket;
            for stream in open.incoming() {
                let mut stream = stream.unwrap();
                let _request = std::io::Read::read(&mut stream, &mut [0; 4096]).unwrap();
                let answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhere";
                std::io::Write::write_all(&mut stream, answer.as_bytes()).unwrap();
            }
        });
        Some((hole, here, sockets))
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn r37_an_unreachable_address_family_falls_back_to_the_other() {
        let Some((hole, here, _held)) = black_hole() else {
            println!("skipped: this machine has no IPv6");
            return;
        };
        let towards = |addresses: &[SocketAddr]| {
            build(|| client_builder().no_proxy().resolve_to_addrs("model.test", addresses), &[])
                .unwrap()
        };
        let url = format!("http://model.test:{}/", here.port());
        let both = fetch_from(&towards(&[hole, here]), &url).await;
        assert_eq!(both.as_deref(), Ok("here"));
    }

    /// A local server may be closing an idle connection at this very moment.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn each_request_to_this_machine_has_a_connection_of_its_own() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let serving = std::thread::spawn(move || {
            let mut open = Vec::new();
            for stream in listener.incoming().take(2) {
                let mut stream = stream.unwrap();
                let _request = std::io::Read::read(&mut stream, &mut [0; 4096]).unwrap();
                let answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhere";
                std::io::Write::write_all(&mut stream, answer.as_bytes()).unwrap();
                // The connection stays open, as one that could be used again.
                open.push(stream);
            }
            open.len()
        });
        let (http, endpoint) = (HttpClient::new(), parse(&format!("http://{address}/v1")));
        let client = http.client(&endpoint).unwrap();
        for _ in 0..2 {
            let answer = fetch_from(client, &format!("http://{address}/v1")).await;
            assert_eq!(answer.as_deref(), Ok("here"));
        }
        assert_eq!(serving.join().unwrap(), 2);
    }

    /// A resolver that gives the same error for every name.
    struct FailingResolver(&'static str);

    impl Resolve for FailingResolver {
        fn resolve(&self, _name: Name) -> Resolving {
            let error = std::io::Error::other(self.0);
            Box::pin(std::future::ready(Err(error.into())))
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn r37_a_resolver_failure_is_reported_as_host_not_found() {
        for words in ["Name or service not known", "Temporary failure in name resolution"] {
            let client = build(
                || client_builder().no_proxy().dns_resolver(Arc::new(FailingResolver(words))),
                &[],
            );
            let error = fetch_from(&client.unwrap(), "https://model.test/v1").await.unwrap_err();
            let expected = "The host of https://model.test/v1 was not found";
            assert!(error.message.starts_with(expected), "{words}: {error}");
            assert_eq!(error.persistence, FailurePersistence::Passing, "the network may come back");
        }
    }
}
