//! The messages between slug and one server: requests with their answers in both directions.
//!
//! Whoever drops a request before its answer cancels it on the server. What the server asks is answered
//! by an [`LspHandler`] at once, in the order in which it comes; each request of a server gets an answer,
//! since some servers wait for it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::domain::sanitize::sanitize_line;

use super::framing::{LspMessageReader, lsp_frame};

/// The most messages that wait for a server to read them.
const MAX_OUTGOING: usize = 256;

/// Codes of errors in answers, as the protocol numbers them.
const METHOD_NOT_FOUND: i64 = -32601;
const SERVER_CANCELLED: i64 = -32802;
const CONTENT_MODIFIED: i64 = -32801;

/// How often a request is sent again that the server gave up because of changes, and the pause before.
const RETRIES: usize = 5;
const RETRY_PAUSE: Duration = Duration::from_millis(200);

/// The most characters that are shown of what a server says of an error.
const MAX_ERROR_TEXT: usize = 500;

/// Why a server did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum LspError {
    #[error("It has ended{0}.")]
    Gone(String),
    #[error("It did not answer within {} seconds.", .0.as_secs())]
    TimedOut(Duration),
    #[error("It answered with an error: {message}")]
    Refused { code: i64, message: String },
    /// It has answered what slug does not use; a sentence.
    #[error("{0}")]
    Unusable(String),
}

/// What slug answers and notes when a server speaks unasked.
pub(super) trait LspHandler: Send + Sync + 'static {
    /// The answer to a request; `None` where slug does not know the method.
    fn answer(&self, method: &str, params: &Value) -> Option<Value>;
    /// Takes a notification.
    fn notified(&self, method: &str, params: Value);
}

type LspAnswer = Result<Value, LspError>;

/// A connection to a server. Dropping it ends the connection.
pub(super) struct LspConnection {
    outgoing: mpsc::Sender<Vec<u8>>,
    waiting: Arc<WaitingRequests>,
    closed: CancellationToken,
    _tasks: [AbortOnDropHandle<()>; 2],
}

/// The requests that are not answered yet, by their ids.
#[derive(Default)]
struct WaitingRequests {
    next: AtomicI64,
    /// `None` once the connection has ended.
    senders: Mutex<Option<HashMap<i64, oneshot::Sender<LspAnswer>>>>,
    /// Why the connection has ended; empty where the server just closed it.
    why: Mutex<String>,
}

impl WaitingRequests {
    fn senders(&self) -> MutexGuard<'_, Option<HashMap<i64, oneshot::Sender<LspAnswer>>>> {
        self.senders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn gone(&self) -> LspError {
        LspError::Gone(self.why.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    fn end(&self, why: String) {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner) = why;
        // Dropping the senders tells those who wait.
        self.senders().take();
    }
}

impl LspConnection {
    /// A connection over the server's output and input.
    pub(super) fn new(
        output: impl AsyncRead + Send + Unpin + 'static,
        mut input: impl AsyncWrite + Send + Unpin + 'static,
        handler: Arc<dyn LspHandler>,
    ) -> Self {
        let (outgoing, mut to_send) = mpsc::channel::<Vec<u8>>(MAX_OUTGOING);
        let waiting = Arc::new(WaitingRequests {
            senders: Mutex::new(Some(HashMap::new())),
            ..WaitingRequests::default()
        });
        let closed = CancellationToken::new();
        let end = closed.clone();
        let writing = tokio::spawn(async move {
            while let Some(bytes) = to_send.recv().await {
                if input.write_all(&bytes).await.is_err() || input.flush().await.is_err() {
                    break;
                }
            }
            // Fails only where the server is gone.
            let _ = input.shutdown().await;
            end.cancel();
        });
        let (answers, ended, end) = (outgoing.downgrade(), waiting.clone(), closed.clone());
        let reading = tokio::spawn(async move {
            let mut reader = LspMessageReader::new(output);
            let why = loop {
                match reader.next().await {
                    Ok(Some(message)) => match dispatch(message, &ended, &*handler) {
                        None => {}
                        Some(answer) => {
                            let Some(answers) = answers.upgrade() else { break String::new() };
                            // Waiting here for a server that waits for slug would never end.
                            if answers.try_send(lsp_frame(&answer)).is_err() {
                                break ": it does not read what slug sends".into();
                            }
                        }
                    },
                    Ok(None) => break String::new(),
                    Err(error) => break format!(": {error}"),
                }
            };
            ended.end(why);
            end.cancel();
        });
        let tasks = [writing, reading].map(AbortOnDropHandle::new);
        Self { outgoing, waiting, closed, _tasks: tasks }
    }

    /// Whether nothing can be sent or received any more.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    /// Cancelled once the connection has ended.
    pub(super) fn end(&self) -> CancellationToken {
        self.closed.clone()
    }

    /// Waits until the connection has ended.
    pub(super) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Sends a notification.
    ///
    /// # Errors
    ///
    /// When the connection has ended.
    pub(super) async fn notify(&self, method: &str, params: Value) -> Result<(), LspError> {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.send(&message).await
    }

    /// Asks for something; again, where the server was overtaken by a change. `params` of `None` leaves
    /// the key out.
    ///
    /// # Errors
    ///
    /// When the connection has ended, the answer is an error, or there is none within `limit`.
    pub(super) async fn request(
        &self,
        method: &str,
        params: Option<Value>,
        limit: Duration,
    ) -> Result<Value, LspError> {
        let asking = async {
            let mut left = RETRIES;
            loop {
                match self.request_once(method, params.clone()).await {
                    Err(LspError::Refused {
                        code: SERVER_CANCELLED | CONTENT_MODIFIED, ..
                    }) if left > 0 => {
                        left -= 1;
                        tokio::time::sleep(RETRY_PAUSE).await;
                    }
                    answer => return answer,
                }
            }
        };
        tokio::time::timeout(limit, asking).await.unwrap_or(Err(LspError::TimedOut(limit)))
    }

    async fn request_once(&self, method: &str, params: Option<Value>) -> Result<Value, LspError> {
        let id = self.waiting.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        match &mut *self.waiting.senders() {
            Some(senders) => _ = senders.insert(id, sender),
            None => return Err(self.waiting.gone()),
        }
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if let Some(params) = params {
            message["params"] = params;
        }
        let mut given_up = RequestGivenUp { connection: self, id: Some(id) };
        self.send(&message).await?;
        let answer = answer.await.unwrap_or_else(|_| Err(self.waiting.gone()));
        given_up.id = None;
        answer
    }

    /// Sends a message as it is.
    ///
    /// # Errors
    ///
    /// When the connection has ended.
    pub(super) async fn send(&self, message: &Value) -> Result<(), LspError> {
        let sent = self.outgoing.send(lsp_frame(message));
        tokio::select! {
            biased;
            () = self.closed() => Err(self.waiting.gone()),
            sent = sent => sent.map_err(|_| self.waiting.gone()),
        }
    }
}

/// Tells the server that nobody waits for an answer any more, unless it has come.
struct RequestGivenUp<'a> {
    connection: &'a LspConnection,
    id: Option<i64>,
}

impl Drop for RequestGivenUp<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let asked = self.connection.waiting.senders().as_mut().and_then(|it| it.remove(&id));
        if asked.is_some() {
            let params = json!({"id": id});
            let message = json!({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": params});
            // A server that does not read learns it no later than it reads.
            let _ = self.connection.outgoing.try_send(lsp_frame(&message));
        }
    }
}

/// Takes a message; returns what is sent in reply.
fn dispatch(message: Value, waiting: &WaitingRequests, handler: &dyn LspHandler) -> Option<Value> {
    let Value::Object(mut message) = message else { return None };
    let id = message.remove("id").filter(|id| !id.is_null());
    let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
    let params = message.remove("params").unwrap_or_default();
    match (method, id) {
        (Some(method), None) => handler.notified(&method, params),
        (Some(method), Some(id)) => {
            return Some(match handler.answer(&method, &params) {
                Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                None => {
                    let error = json!({"code": METHOD_NOT_FOUND, "message": "unknown method"});
                    json!({"jsonrpc": "2.0", "id": id, "error": error})
                }
            });
        }
        (None, Some(id)) => {
            let sender = waiting.senders().as_mut()?.remove(&id.as_i64()?)?;
            let answer = match message.remove("error").filter(|error| !error.is_null()) {
                None => Ok(message.remove("result").unwrap_or_default()),
                Some(error) => Err(LspError::Refused {
                    code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
                    message: lsp_text(
                        error.get("message").and_then(Value::as_str).unwrap_or_default(),
                        MAX_ERROR_TEXT,
                    ),
                }),
            };
            // Fails only where nobody waits any more.
            let _ = sender.send(answer);
        }
        (None, None) => {}
    }
    None
}

/// What a server says, on one line, harmless, and at most this many characters long.
pub(super) fn lsp_text(text: &str, limit: usize) -> String {
    let words = text.split_whitespace().take(limit).collect::<Vec<_>>().join(" ");
    let line = sanitize_line(&words);
    match line.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{DuplexStream, duplex, split};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    #[derive(Default)]
    struct RecordedMessages(Mutex<Vec<String>>);

    impl LspHandler for RecordedMessages {
        fn answer(&self, method: &str, _: &Value) -> Option<Value> {
            (method == "known").then(|| json!([1]))
        }
        fn notified(&self, method: &str, params: Value) {
            self.0.lock().unwrap().push(format!("{method} {params}"));
        }
    }

    type PlayedEnd =
        (LspMessageReader<tokio::io::ReadHalf<DuplexStream>>, tokio::io::WriteHalf<DuplexStream>);

    fn connected() -> (LspConnection, PlayedEnd, Arc<RecordedMessages>) {
        let (ours, theirs) = duplex(1 << 16);
        let (output, input) = split(ours);
        let handler = Arc::new(RecordedMessages::default());
        let (from_slug, to_slug) = split(theirs);
        let connection = LspConnection::new(output, input, handler.clone());
        (connection, (LspMessageReader::new(from_slug), to_slug), handler)
    }

    async fn say(server: &mut PlayedEnd, message: Value) {
        server.1.write_all(&lsp_frame(&message)).await.unwrap();
    }

    async fn hear(server: &mut PlayedEnd) -> Value {
        server.0.next().await.unwrap().unwrap()
    }

    #[tokio::test]
    async fn answers_reach_those_who_asked_in_any_order() {
        let (connection, mut server, handler) = connected();
        let serving = tokio::spawn(async move {
            let (one, two) = (hear(&mut server).await, hear(&mut server).await);
            assert!(one.get("params").is_none(), "no key at all: {one}");
            say(&mut server, json!({"method": "note", "params": {"a": 1}})).await;
            say(&mut server, json!({"id": 99, "result": "nobody asked"})).await;
            say(&mut server, json!("no object")).await;
            say(&mut server, json!({"id": "s1", "method": "known"})).await;
            assert_eq!(
                hear(&mut server).await,
                json!({"jsonrpc": "2.0", "id": "s1", "result": [1]})
            );
            say(&mut server, json!({"id": 1, "method": "strange"})).await;
            assert_eq!(hear(&mut server).await["error"]["code"], -32601);
            say(
                &mut server,
                json!({"id": two["id"], "error": {"code": 5, "message": "a\n\u{1b}b"}}),
            )
            .await;
            say(&mut server, json!({"id": one["id"], "result": 1})).await;
            server
        });
        let first = connection.request("one", None, LIMIT);
        let second = connection.request("two", Some(json!({})), LIMIT);
        let (first, second) = tokio::join!(first, second);
        assert_eq!(first, Ok(json!(1)));
        let message = "a ␛b".to_owned();
        assert_eq!(second, Err(LspError::Refused { code: 5, message }));
        assert_eq!(*handler.0.lock().unwrap(), ["note {\"a\":1}"]);
        serving.await.unwrap();
    }

    #[tokio::test]
    async fn a_request_that_is_given_up_is_cancelled_and_one_overtaken_is_repeated() {
        let (connection, mut server, _) = connected();
        let short = Duration::from_millis(1);
        let late = connection.request("slow", None, short).await;
        assert_eq!(late, Err(LspError::TimedOut(short)));
        let asked = hear(&mut server).await;
        let cancel = hear(&mut server).await;
        assert_eq!(
            (&cancel["method"], &cancel["params"]["id"]),
            (&json!("$/cancelRequest"), &asked["id"])
        );

        let serving = tokio::spawn(async move {
            for _ in 0..2 {
                let asked = hear(&mut server).await;
                say(&mut server, json!({"id": asked["id"], "error": {"code": -32801}})).await;
            }
            let asked = hear(&mut server).await;
            say(&mut server, json!({"id": asked["id"], "result": "now"})).await;
            server
        });
        assert_eq!(connection.request("again", None, LIMIT).await, Ok(json!("now")));
        serving.await.unwrap();
    }

    #[tokio::test]
    async fn the_end_of_the_server_ends_what_waits_with_the_reason() {
        let (connection, mut server, _) = connected();
        let serving = tokio::spawn(async move {
            hear(&mut server).await;
            server.1.write_all(b"Content-Length: 99999999999\r\n\r\n").await.unwrap();
            server
        });
        let gone = LspError::Gone(": It sent a message of 99999999999 bytes".into());
        assert_eq!(connection.request("x", None, LIMIT).await, Err(gone.clone()));
        connection.closed().await;
        assert!(connection.is_closed());
        assert_eq!(connection.notify("y", json!({})).await, Err(gone.clone()));
        assert_eq!(connection.request("z", None, LIMIT).await, Err(gone));
        serving.await.unwrap();
    }

    #[tokio::test]
    async fn a_server_that_asks_and_never_reads_is_left() {
        let (connection, mut server, _) = connected();
        let asking = tokio::spawn(async move {
            let question = lsp_frame(&json!({"id": "x".repeat(4096), "method": "known"}));
            while server.1.write_all(&question).await.is_ok() {}
        });
        connection.closed().await;
        let gone = LspError::Gone(": it does not read what slug sends".into());
        assert_eq!(connection.notify("y", json!({})).await, Err(gone));
        drop(connection);
        asking.await.unwrap();
    }
}
