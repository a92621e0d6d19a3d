//! A scripted model server on loopback, which sends the replies that a test queues and checks the
//! requests that it receives.
//!
//! ```ignore
//! let server = ModelServer::start();
//! server.reply(ServerReply::calls("Looking.", &[("c1", "Read", json!({"file_path": "a"}))]));
//! let gate = ReplyGate::closed();
//! server.reply(ServerReply::words(["Hel", "lo"]).gated(&gate));
//! // … point slug at server.endpoint() and send a message …
//! server.wait_for_requests(2);
//! gate.let_through(1); // one piece for each permit
//! assert!(server.wait_until_idle(), "cancelling closes the connection");
//! server.assert_clean();
//! ```
//!
//! Replies are sent in the order in which they were queued; a request without one gets status 500.
//! A [`ServerReply`] can also send raw or compressed bytes, in slices or slowly, delay the head,
//! send keep-alives forever, close in the middle of a piece, or reset the connection. The reply to
//! requests with tool results can be set separately ([`ModelServer::after_results`]), so that a
//! test need not know how many of them come. Each protocol is served at its own path.
//! `GET /v1/models` lists the one model `test-model` unless [`ModelServer::answer`] says otherwise;
//! other paths are 404.
//!
//! Every chat request is recorded and checked as a strict server would: one system message, first;
//! user and assistant alternate; every call is answered by exactly one result right behind it, and
//! no result is without a call; arguments are JSON objects. It is also checked as a prefix cache
//! would: it begins with the messages of some earlier request of the same conversation (known by
//! its first user message), byte for byte, and its tools are identical.
//! [`ModelServer::assert_clean`] fails with everything that was wrong; [`ModelServer::forget`]
//! begins a new history if a test changes it on purpose, as compaction does.
//!
//! The server runs on threads of its own and blocks none of the test's, but the `wait_…` methods
//! block their caller: an async test that uses them needs the multi-threaded runtime.

mod checks;
mod reply;

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use checks::check;
use reply::{ReplyOutcome, send_reply};

pub use reply::ServerReply;

/// How long a wait may take before the test fails.
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

/// How often a waiting connection checks whether its client has disconnected.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A running server. It stops listening when it is dropped.
pub struct ModelServer {
    shared: Arc<ModelServerState>,
    address: SocketAddr,
}

/// A request as the server received it.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    /// "POST", "GET"
    pub method: String,
    /// Path with query.
    pub path: String,
    /// Header values by lower-case name.
    pub headers: HashMap<String, String>,
    /// The body's bytes.
    pub raw: Vec<u8>,
    /// The body as JSON; null if it is not JSON.
    pub body: Value,
}

/// Lets pieces of a reply through, one for each permit.
#[derive(Clone)]
pub struct ReplyGate(Arc<(Mutex<ReplyGatePermits>, Condvar)>);

#[derive(Default)]
struct ReplyGatePermits {
    left: usize,
    open: bool,
}

#[derive(Default)]
struct ModelServerState {
    replies: Mutex<VecDeque<ServerReply>>,
    after_results: Mutex<Option<ServerReply>>,
    summary: Mutex<Option<ServerReply>>,
    answers: Mutex<HashMap<String, ServerReply>>,
    requests: Mutex<Vec<RecordedRequest>>,
    history: Mutex<Vec<Value>>,
    complaints: Mutex<Vec<String>>,
    connections: AtomicUsize,
    busy: AtomicUsize,
    aborted_replies: AtomicUsize,
    stopped: std::sync::atomic::AtomicBool,
}

impl ModelServer {
    /// Starts a server on a free port of 127.0.0.1.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(ModelServerState::default());
        let models = json!({"object": "list", "data": [{"id": "test-model", "object": "model"}]});
        lock(&shared.answers).insert("GET /v1/models".into(), ServerReply::json(200, &models));
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if serving.stopped.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let shared = Arc::clone(&serving);
                thread::spawn(move || shared.connection(&stream));
            }
        });
        Self { shared, address }
    }

    /// The address to give to `--endpoint`.
    pub fn endpoint(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Queues the reply to one chat request.
    pub fn reply(&self, reply: ServerReply) {
        lock(&self.shared.replies).push_back(reply);
    }

    /// Sets the reply to each request that ends with tool results.
    pub fn after_results(&self, reply: ServerReply) {
        *lock(&self.shared.after_results) = Some(reply);
    }

    /// Sets the reply to each request for a summary of the conversation.
    pub fn summary(&self, reply: ServerReply) {
        *lock(&self.shared.summary) = Some(reply);
    }

    /// Sets the reply to every request for `route`, such as "GET /props".
    pub fn answer(&self, route: &str, reply: ServerReply) {
        lock(&self.shared.answers).insert(route.to_owned(), reply);
    }

    /// All requests so far, in order.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        lock(&self.shared.requests).clone()
    }

    /// All requests to a model so far, in any protocol.
    pub fn model_requests(&self) -> Vec<RecordedRequest> {
        self.requests().into_iter().filter(RecordedRequest::is_model_request).collect()
    }

    /// All chat requests so far.
    pub fn chat_requests(&self) -> Vec<RecordedRequest> {
        self.requests().into_iter().filter(RecordedRequest::is_chat).collect()
    }

    /// Waits for the `count`-th chat request and returns all requests so far.
    pub fn wait_for_requests(&self, count: usize) -> Vec<RecordedRequest> {
        let arrived = wait_until(|| self.chat_requests().len() >= count);
        let chats = self.chat_requests();
        assert!(arrived, "only {} of {count} chat requests came", chats.len());
        chats
    }

    /// The number of replies that are being sent.
    pub fn busy(&self) -> usize {
        self.shared.busy.load(Ordering::SeqCst)
    }

    /// The number of open connections.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// The number of replies during which the client closed the connection.
    pub fn aborted_replies(&self) -> usize {
        self.shared.aborted_replies.load(Ordering::SeqCst)
    }

    /// Waits until no reply is being sent.
    pub fn wait_until_idle(&self) -> bool {
        wait_until(|| self.busy() == 0)
    }

    /// Discards the history that prefixes are checked against.
    pub fn forget(&self) {
        lock(&self.shared.history).clear();
    }

    /// Everything that was wrong with the requests so far.
    pub fn complaints(&self) -> Vec<String> {
        lock(&self.shared.complaints).clone()
    }

    /// Panics if anything was wrong with any request.
    pub fn assert_clean(&self) {
        let complaints = self.complaints();
        assert!(complaints.is_empty(), "bad requests:\n{}", complaints.join("\n"));
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the listener, so that it notices that it has been stopped.
        let _ = TcpStream::connect(self.address);
    }
}

impl RecordedRequest {
    /// Whether it is a chat-completions request.
    pub fn is_chat(&self) -> bool {
        self.method == "POST" && self.path.ends_with("/chat/completions")
    }

    /// Whether it asks a model for an answer, in any protocol.
    pub fn is_model_request(&self) -> bool {
        let path = self.path.split('?').next().unwrap_or_default();
        let ends = ["/chat/completions", "/messages", "/responses", ":streamGenerateContent"];
        self.method == "POST" && ends.iter().any(|end| path.ends_with(end))
    }

    /// Whether slug asks for a summary of the conversation.
    fn asks_for_summary(&self) -> bool {
        let last = self.messages().last().map(Value::to_string).unwrap_or_default();
        last.contains("The conversation above is about to be shortened")
    }

    /// Whether its last message holds tool results.
    fn ends_with_results(&self) -> bool {
        let messages =
            ["messages", "input", "contents"].iter().find_map(|key| self.body[key].as_array());
        let Some(last) = messages.and_then(|messages| messages.last()) else { return false };
        let parts = [&last["content"], &last["parts"]];
        let mut parts = parts.iter().filter_map(|parts| parts.as_array()).flatten();
        last["role"] == "tool"
            || last["type"] == "function_call_output"
            || parts.any(|it| it["type"] == "tool_result" || it.get("functionResponse").is_some())
    }

    /// The messages in its body.
    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map_or(&[], Vec::as_slice)
    }
}

/// A reply that runs one shell command.
pub fn bash(id: &str, command: &str) -> ServerReply {
    ServerReply::calls("", &[(id, "Bash", json!({"command": command}))])
}

/// The content of the result that the model got for a call.
pub fn result_of(request: &RecordedRequest, id: &str) -> String {
    let is_result = |message: &&Value| message["tool_call_id"] == id;
    let result = request.messages().iter().find(is_result);
    let result = result.unwrap_or_else(|| panic!("no result of {id} in {}", request.body));
    result["content"].as_str().unwrap().to_owned()
}

/// The text of the user's newest message.
pub fn last_user_text(request: &RecordedRequest) -> String {
    let is_user = |message: &&Value| message["role"] == "user";
    let message = request.messages().iter().rfind(is_user).unwrap();
    message["content"].as_str().unwrap().to_owned()
}

impl ReplyGate {
    /// A gate that lets nothing through.
    pub fn closed() -> Self {
        Self(Arc::default())
    }

    /// Lets this many more pieces through.
    pub fn let_through(&self, pieces: usize) {
        lock(&self.0.0).left += pieces;
        self.0.1.notify_all();
    }

    /// Lets everything through from now on.
    pub fn open(&self) {
        lock(&self.0.0).open = true;
        self.0.1.notify_all();
    }

    /// Takes a permit; false if none comes within a moment.
    fn take_permit(&self) -> bool {
        let permits = lock(&self.0.0);
        let closed = |permits: &mut ReplyGatePermits| !permits.open && permits.left == 0;
        let (mut permits, _) = self.0.1.wait_timeout_while(permits, POLL_INTERVAL, closed).unwrap();
        if permits.open {
            return true;
        }
        let pass = permits.left > 0;
        permits.left -= usize::from(pass);
        pass
    }
}

/// Waits for a condition; false if it does not become true in time.
pub fn wait_until(mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < WAIT_TIMEOUT {
        if condition() {
            return true;
        }
        thread::sleep(Duration::from_millis(2));
    }
    condition()
}

/// Counts up when created and down when dropped.
struct CountGuard<'a>(&'a AtomicUsize);

impl<'a> CountGuard<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for CountGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl ModelServerState {
    /// Serves one connection, request after request.
    fn connection(&self, stream: &TcpStream) {
        let _open = CountGuard::new(&self.connections);
        stream.set_nodelay(true).unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        while let Some(request) = read_request(&mut reader) {
            let _busy = CountGuard::new(&self.busy);
            let reply = self.choose(&request);
            if request.is_chat() {
                let complaints = check(&request, &mut lock(&self.history));
                lock(&self.complaints).extend(complaints);
            }
            lock(&self.requests).push(request);
            match send_reply(&reply, stream) {
                ReplyOutcome::Kept => {}
                ReplyOutcome::Closed => return,
                ReplyOutcome::GivenUp => {
                    self.aborted_replies.fetch_add(1, Ordering::SeqCst);
                    return;
                }
            }
        }
    }

    fn choose(&self, request: &RecordedRequest) -> ServerReply {
        let route = format!("{} {}", request.method, request.path);
        if let Some(reply) = lock(&self.answers).get(&route) {
            return reply.clone();
        }
        if !request.is_model_request() {
            return ServerReply::json(404, &json!({"detail": "Not Found"}));
        }
        if let (true, Some(reply)) = (request.asks_for_summary(), &*lock(&self.summary)) {
            return reply.clone();
        }
        if let (true, Some(reply)) = (request.ends_with_results(), &*lock(&self.after_results)) {
            return reply.clone();
        }
        let reply = lock(&self.replies).pop_front();
        reply.unwrap_or_else(|| {
            ServerReply::error(500, "the test has queued no reply for this request")
        })
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<RecordedRequest> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|&count| count > 0)?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut raw = vec![0; length];
    reader.read_exact(&mut raw).ok()?;
    let body = serde_json::from_slice(&raw).unwrap_or(Value::Null);
    Some(RecordedRequest { method, path, headers, raw, body })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
