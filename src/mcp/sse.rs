//! HTTP+SSE, the transport of servers up to revision 2024-11-05: a GET request opens a stream of events,
//! the first of which, `endpoint`, has the address that messages are sent to; answers come as events
//! `message` (specification 2024-11-05, basic/transports).
//!
//! The address has to be on the origin of the stream, so that no header goes elsewhere. A session is the
//! stream: when it ends, so does the connection, and the server is started again with the next call as
//! any other is. Nothing is read ahead, and an event that grows beyond the limit, or has too many values,
//! ends the stream.

use std::borrow::Cow;
use std::future::ready;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use eventsource_stream::EventStream;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt as _, TryStreamExt as _};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Client, Response, StatusCode, Url};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_client::AuthRequiredError;
use tokio_util::sync::CancellationToken;

use crate::domain::{MAX_JSON_VALUES, has_more_values};

/// The most events before the one with the address.
const MAX_EVENTS_BEFORE: usize = 100;

/// The longest address that messages are sent to.
const MAX_ADDRESS: usize = 2048;

/// How long a server may take to accept a message. The answer to it comes with the stream.
const SEND_LIMIT: Duration = Duration::from_secs(5 * 60);

/// Why a server cannot be reached, or a message not sent. Each text is a phrase.
#[derive(Debug, thiserror::Error)]
pub(super) enum SseTransportError {
    #[error("it wants a login")]
    NeedsLogin(#[source] AuthRequiredError),
    #[error("it answered with HTTP status {0}")]
    Status(StatusCode),
    #[error("it has no stream of events at this address")]
    NoStream,
    #[error("its stream ended before it named the address to send to")]
    NoAddress,
    #[error("it names another server to send to, and slug sends nothing there")]
    OtherOrigin,
    #[error("it did not take a message in time")]
    TooSlow,
    #[error("the connection failed")]
    Failed(#[source] reqwest::Error),
}

/// The connection to one server.
pub(super) struct SseTransport {
    client: Client,
    headers: HeaderMap,
    /// Where messages are sent.
    address: Url,
    messages: BoxStream<'static, RxJsonRpcMessage<RoleClient>>,
    /// The server no longer knows the session, though the stream may be open.
    forgotten: CancellationToken,
}

/// The name and the data of an event.
type SseMessageEvent = (String, String);

impl SseTransport {
    /// Opens the stream at `url`, and waits for the address to send to. `limit` is the longest event, in
    /// bytes. The caller bounds the time.
    ///
    /// # Errors
    ///
    /// When there is no such stream, or its address is on another origin.
    pub(super) async fn open(
        client: &Client,
        url: &Url,
        headers: impl IntoIterator<Item = (HeaderName, HeaderValue)>,
        limit: usize,
    ) -> Result<Self, SseTransportError> {
        let headers: HeaderMap = headers.into_iter().collect();
        let request = client.get(url.clone()).headers(headers.clone());
        let response = request.header(ACCEPT, "text/event-stream").send().await;
        let response = accepted(response.map_err(SseTransportError::Failed)?)?;
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().to_ascii_lowercase();
        if !kind.starts_with("text/event-stream") {
            return Err(SseTransportError::NoStream);
        }
        let mut events = events(response, limit);
        let mut address = None;
        for _ in 0..MAX_EVENTS_BEFORE {
            let Some((name, data)) = events.next().await else { break };
            if name == "endpoint" {
                address = Some(address_in(url, &data)?);
                break;
            }
        }
        let address = address.ok_or(SseTransportError::NoAddress)?;
        let messages = events.filter_map(|(name, data)| ready(message(&name, &data))).boxed();
        let forgotten = CancellationToken::new();
        Ok(Self { client: client.clone(), headers, address, messages, forgotten })
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = SseTransportError;

    fn name() -> Cow<'static, str> {
        "HTTP+SSE".into()
    }

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let request = self.client.post(self.address.clone()).headers(self.headers.clone());
        let sent = request.json(&item).send();
        let forgotten = self.forgotten.clone();
        async move {
            let sent = tokio::time::timeout(SEND_LIMIT, sent).await;
            let response = sent.map_err(|_| SseTransportError::TooSlow)?;
            let response = response.map_err(SseTransportError::Failed)?;
            if [StatusCode::NOT_FOUND, StatusCode::GONE].contains(&response.status()) {
                forgotten.cancel();
            }
            // What the answer says besides its status is for nobody.
            accepted(response).map(|_| ())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        tokio::select! {
            biased;
            () = self.forgotten.cancelled() => None,
            message = self.messages.next() => message,
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.messages = stream::empty().boxed();
        Ok(())
    }
}

/// A response with a good status. Redirects are none: messages would go elsewhere.
fn accepted(response: Response) -> Result<Response, SseTransportError> {
    let status = response.status();
    if status == StatusCode::UNAUTHORIZED {
        let challenge = response.headers().get(WWW_AUTHENTICATE);
        let challenge = challenge.and_then(|it| it.to_str().ok()).unwrap_or_default().to_owned();
        return Err(SseTransportError::NeedsLogin(AuthRequiredError::new(challenge)));
    }
    if status.is_success() { Ok(response) } else { Err(SseTransportError::Status(status)) }
}

/// The events of a stream, as long as none has more than `limit` bytes.
fn events(response: Response, limit: usize) -> BoxStream<'static, SseMessageEvent> {
    // Of the event that is being read, at most.
    let pending = Arc::new(AtomicUsize::new(0));
    let counted = pending.clone();
    let bytes = response.bytes_stream().map_err(io::Error::other);
    let bytes = bytes.and_then(move |part| {
        let before = counted.fetch_add(part.len(), Ordering::Relaxed);
        let is_small = before + part.len() <= limit;
        ready(is_small.then_some(part).ok_or_else(|| io::Error::other("the event is too large")))
    });
    let events = EventStream::new(bytes.boxed()).map(move |event| {
        pending.store(0, Ordering::Relaxed);
        match event {
            Ok(event) if has_more_values(event.data.as_bytes(), MAX_JSON_VALUES) => {
                tracing::warn!(
                    "an MCP server sent a message of too many values; its stream is ended"
                );
                None
            }
            Ok(event) => Some((event.event, event.data)),
            Err(error) => {
                tracing::warn!("the stream of an MCP server is ended: {error}");
                None
            }
        }
    });
    events.take_while(|event| ready(event.is_some())).filter_map(ready).boxed()
}

/// The address that messages are sent to.
fn address_in(stream: &Url, data: &str) -> Result<Url, SseTransportError> {
    let data = data.trim();
    let address = Some(data).filter(|data| !data.is_empty() && data.len() <= MAX_ADDRESS);
    let address = address.and_then(|data| stream.join(data).ok());
    let address = address.ok_or(SseTransportError::NoAddress)?;
    let is_plain = address.username().is_empty() && address.password().is_none();
    match address.origin() == stream.origin() && is_plain {
        true => Ok(address),
        false => Err(SseTransportError::OtherOrigin),
    }
}

/// What an event says; `None` for one that is no message.
fn message(name: &str, data: &str) -> Option<RxJsonRpcMessage<RoleClient>> {
    if name != "message" {
        return None;
    }
    let read = serde_json::from_str(data);
    if read.is_err() {
        tracing::warn!("an MCP server sent an event that is no message");
    }
    read.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_to_the_origin_of_the_stream_alone() {
        let stream = Url::parse("https://example.com:8443/a/sse?x=1").unwrap();
        for (data, expected) in [
            ("/messages?session=1", Some("https://example.com:8443/messages?session=1")),
            (" messages\n", Some("https://example.com:8443/a/messages")),
            ("?session=1", Some("https://example.com:8443/a/sse?session=1")),
            ("https://example.com:8443/m", Some("https://example.com:8443/m")),
            ("https://example.com/m", None),
            ("http://example.com:8443/m", None),
            ("//evil.example/m", None),
            ("https://example.com:8443@evil.example/m", None),
            ("https://me:pw@example.com:8443/m", None),
            ("\\\\evil.example/m", None),
            ("file:///etc/passwd", None),
            ("data:,x", None),
            ("", None),
        ] {
            let found = address_in(&stream, data).ok();
            assert_eq!(found.as_ref().map(Url::as_str), expected, "{data}");
        }
        assert!(address_in(&stream, &"a".repeat(MAX_ADDRESS + 1)).is_err());
    }

    #[test]
    fn only_messages_are_messages() {
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        assert!(message("message", ping).is_some());
        assert!(message("ping", ping).is_none());
        for junk in ["", "1", "{}", "[]", "{\"jsonrpc\":\"2.0\"}", "\u{0}"] {
            assert!(message("message", junk).is_none(), "{junk}");
        }
    }
}
