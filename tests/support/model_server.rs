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

#![allow(dead_code, reason = "each test file uses a part of this")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "in a test, failing loudly is the point"
)]

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

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

/// The server's reply to one request.
#[derive(Clone)]
pub struct ServerReply {
    status: u16,
    headers: Vec<(String, String)>,
    pieces: Vec<Vec<u8>>,
    end: ReplyEnd,
    pace: Duration,
    gate: Option<ReplyGate>,
    head_gate: Option<ReplyGate>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReplyEnd {
    /// The body ends properly.
    Complete,
    /// The connection closes within the body.
    Close,
    /// The connection is reset: the client's next write or read fails at once.
    Reset,
    /// Nothing more comes, and the connection stays open.
    Hang,
    /// Only keep-alives come, one in each interval.
    Ping(Duration),
}

#[derive(Default)]
struct ModelServerState {
    replies: Mutex<VecDeque<ServerReply>>,
    after_results: Mutex<Option<ServerReply>>,
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

impl ServerReply {
    /// A complete answer with text, one word per piece.
    pub fn text(text: &str) -> Self {
        Self::words(text.split_inclusive(' '))
    }

    /// A complete answer with text in these pieces.
    pub fn words<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let deltas = words.into_iter().map(|word| json!({"content": word}));
        Self::deltas(deltas, "stop")
    }

    /// A complete answer with thinking, then text.
    pub fn thinking(thought: &str, text: &str) -> Self {
        Self::deltas([json!({"reasoning_content": thought}), json!({"content": text})], "stop")
    }

    /// A complete answer with calls, given as id, name and arguments. Arguments come in two pieces.
    pub fn calls(text: &str, calls: &[(&str, &str, Value)]) -> Self {
        let mut deltas = Vec::new();
        if !text.is_empty() {
            deltas.push(json!({"content": text}));
        }
        for (index, (id, name, arguments)) in calls.iter().enumerate() {
            let arguments = arguments.to_string();
            let middle = arguments.char_indices().nth(arguments.chars().count() / 2).unwrap().0;
            let function = json!({"name": name, "arguments": arguments[..middle]});
            deltas.push(json!({"tool_calls":
                [{"index": index, "id": id, "type": "function", "function": function}]}));
            deltas.push(json!({"tool_calls":
                [{"index": index, "function": {"arguments": arguments[middle..]}}]}));
        }
        Self::deltas(deltas, "tool_calls")
    }

    /// A complete answer with these deltas, the finish reason, usage and `[DONE]`.
    pub fn deltas(deltas: impl IntoIterator<Item = Value>, reason: &str) -> Self {
        let chunk = |delta: Value, reason: Option<&str>| {
            json!({"object": "chat.completion.chunk", "model": "test-model",
                   "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
        };
        let mut payloads = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
        payloads.extend(deltas.into_iter().map(|delta| chunk(delta, None)));
        payloads.push(chunk(json!({}), Some(reason)));
        payloads
            .push(json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10,
            "total_tokens": 110, "prompt_tokens_details": {"cached_tokens": 60}}}));
        let mut pieces: Vec<String> =
            payloads.iter().map(|payload| format!("data: {payload}\n\n")).collect();
        pieces.push("data: [DONE]\n\n".to_owned());
        Self::stream(pieces)
    }

    /// A stream of these pieces of bytes, unchanged.
    pub fn stream<P: Into<Vec<u8>>>(pieces: impl IntoIterator<Item = P>) -> Self {
        Self::raw(200, "text/event-stream", pieces)
    }

    /// A body of these pieces, with this status and content type.
    pub fn raw<P: Into<Vec<u8>>>(
        status: u16,
        content_type: &str,
        pieces: impl IntoIterator<Item = P>,
    ) -> Self {
        Self {
            status,
            headers: vec![("Content-Type".to_owned(), content_type.to_owned())],
            pieces: pieces.into_iter().map(Into::into).collect(),
            end: ReplyEnd::Complete,
            pace: Duration::ZERO,
            gate: None,
            head_gate: None,
        }
    }

    /// A JSON body.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::raw(status, "application/json", [body.to_string()])
    }

    /// An error in OpenAI's shape.
    pub fn error(status: u16, message: &str) -> Self {
        Self::json(status, &json!({"error": {"message": message, "type": "error", "code": null}}))
    }

    /// Adds a header.
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Makes each piece, and the end, wait for a permit.
    pub fn gated(mut self, gate: &ReplyGate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// Makes the head wait for a permit.
    pub fn head_gated(mut self, gate: &ReplyGate) -> Self {
        self.head_gate = Some(gate.clone());
        self
    }

    /// Closes the connection after `pieces` pieces, within the body.
    pub fn closing_after(mut self, pieces: usize) -> Self {
        self.pieces.truncate(pieces);
        self.end = ReplyEnd::Close;
        self
    }

    /// Resets the connection after `pieces` pieces, within the body.
    pub fn resetting_after(mut self, pieces: usize) -> Self {
        self.pieces.truncate(pieces);
        self.end = ReplyEnd::Reset;
        self
    }

    /// Sends the whole body in pieces of `bytes` bytes.
    pub fn sliced(mut self, bytes: usize) -> Self {
        let body = self.pieces.concat();
        self.pieces = body.chunks(bytes).map(<[u8]>::to_vec).collect();
        self
    }

    /// Breaks the connection after `bytes` bytes of the body.
    pub fn breaking_at(mut self, bytes: usize) -> Self {
        let body = self.pieces.concat();
        self.pieces = vec![body[..bytes.min(body.len())].to_vec()];
        self.end = ReplyEnd::Reset;
        self
    }

    /// Compresses the body with gzip, and sends it in one piece.
    pub fn gzipped(mut self) -> Self {
        self.pieces = vec![gzip(&self.pieces.concat())];
        self.with_header("Content-Encoding", "gzip")
    }

    /// Pauses before each piece.
    pub fn paced(mut self, pause: Duration) -> Self {
        self.pace = pause;
        self
    }

    /// After `pieces` pieces, sends only keep-alives at this interval until the client disconnects.
    pub fn pinging_after(mut self, pieces: usize, pause: Duration) -> Self {
        self.pieces.truncate(pieces);
        self.end = ReplyEnd::Ping(pause);
        self
    }

    /// After `pieces` pieces, sends nothing more but keeps the connection open.
    pub fn hanging_after(mut self, pieces: usize) -> Self {
        self.pieces.truncate(pieces);
        self.end = ReplyEnd::Hang;
        self
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
        if let (true, Some(reply)) = (request.ends_with_results(), &*lock(&self.after_results)) {
            return reply.clone();
        }
        let reply = lock(&self.replies).pop_front();
        reply.unwrap_or_else(|| {
            ServerReply::error(500, "the test has queued no reply for this request")
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReplyOutcome {
    Kept,
    Closed,
    GivenUp,
}

fn send_reply(reply: &ServerReply, mut stream: &TcpStream) -> ReplyOutcome {
    if !wait_at_gate(reply.head_gate.as_ref(), stream) {
        return ReplyOutcome::GivenUp;
    }
    let mut head = format!("HTTP/1.1 {} Scripted\r\nTransfer-Encoding: chunked\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    if stream.write_all(head.as_bytes()).is_err() {
        return ReplyOutcome::GivenUp;
    }
    for piece in reply.pieces.iter().filter(|piece| !piece.is_empty()) {
        thread::sleep(reply.pace);
        if !wait_at_gate(reply.gate.as_ref(), stream) || !send(piece, stream) {
            return ReplyOutcome::GivenUp;
        }
    }
    match reply.end {
        ReplyEnd::Complete => {
            if !wait_at_gate(reply.gate.as_ref(), stream) || stream.write_all(b"0\r\n\r\n").is_err()
            {
                return ReplyOutcome::GivenUp;
            }
            ReplyOutcome::Kept
        }
        ReplyEnd::Close => {
            if !wait_at_gate(reply.gate.as_ref(), stream) {
                return ReplyOutcome::GivenUp;
            }
            let _ = stream.shutdown(Shutdown::Both);
            ReplyOutcome::Closed
        }
        ReplyEnd::Reset => {
            // Half a chunk, then the end: the client cannot mistake this for a proper end.
            let _ = stream.write_all(b"ff\r\ndata: {\"cho");
            let _ = stream.shutdown(Shutdown::Both);
            ReplyOutcome::Closed
        }
        ReplyEnd::Hang => {
            while !is_disconnected(stream) {
                thread::sleep(POLL_INTERVAL);
            }
            ReplyOutcome::GivenUp
        }
        ReplyEnd::Ping(pause) => {
            while !is_disconnected(stream) && send(b": ping\n\n", stream) {
                thread::sleep(pause);
            }
            ReplyOutcome::GivenUp
        }
    }
}

/// Sends a piece of a body; false if the client has disconnected.
fn send(piece: &[u8], mut stream: &TcpStream) -> bool {
    let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
    chunk.extend_from_slice(piece);
    chunk.extend_from_slice(b"\r\n");
    stream.write_all(&chunk).is_ok()
}

/// A gzip file of stored (uncompressed) blocks (RFC 1952, RFC 1951).
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let blocks: Vec<&[u8]> = bytes.chunks(0xffff).collect();
    for (at, block) in blocks.iter().enumerate() {
        let length = u16::try_from(block.len()).unwrap();
        out.push(u8::from(at + 1 == blocks.len()));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend_from_slice(block);
    }
    let sum = bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 * (sum & 1)))
    });
    out.extend((!sum).to_le_bytes());
    out.extend(u32::try_from(bytes.len()).unwrap().to_le_bytes());
    out
}

/// Waits at the gate; false if the client has disconnected meanwhile.
fn wait_at_gate(gate: Option<&ReplyGate>, stream: &TcpStream) -> bool {
    let Some(gate) = gate else { return true };
    while !gate.take_permit() {
        if is_disconnected(stream) {
            return false;
        }
    }
    true
}

fn is_disconnected(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let peeked = stream.peek(&mut [0]);
    stream.set_nonblocking(false).unwrap();
    match peeked {
        Ok(count) => count == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
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

/// Everything that is wrong with a chat request, given the earlier ones.
fn check(request: &RecordedRequest, history: &mut Vec<Value>) -> Vec<String> {
    let number = history.len() + 1;
    let mut wrong = Vec::new();
    let messages = request.messages();
    if messages.is_empty() {
        wrong.push("it has no messages".to_owned());
    }
    if request.body["tools"].as_array().is_some_and(Vec::is_empty) {
        wrong.push("its tools are empty, not left out".to_owned());
    }
    check_roles(messages, &mut wrong);
    check_calls(messages, &mut wrong);
    check_prefix(&request.body, history, &mut wrong);
    history.push(request.body.clone());
    wrong.into_iter().map(|wrong| format!("chat request {number}: {wrong}")).collect()
}

fn check_roles(messages: &[Value], wrong: &mut Vec<String>) {
    let mut last = "";
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        match role {
            "system" if at > 0 => wrong.push(format!("message {at} is a second system message")),
            "user" | "assistant" if role == last => {
                wrong.push(format!("message {at}: two {role} messages in a row"));
            }
            "system" | "user" | "assistant" | "tool" => {}
            other => wrong.push(format!("message {at} has the role `{other}`")),
        }
        let content = &message["content"];
        let has_parts = content.as_array().is_some_and(|parts| !parts.is_empty());
        let is_empty = content.as_str().is_none_or(str::is_empty) && !has_parts;
        if role != "assistant" && is_empty {
            wrong.push(format!("message {at} ({role}) has no text"));
        }
        last = role;
    }
    if last == "assistant" {
        wrong.push("the last message is the assistant's".to_owned());
    }
}

fn check_calls(messages: &[Value], wrong: &mut Vec<String>) {
    let mut open: HashSet<&str> = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            if !open.remove(id) {
                wrong.push(format!("message {at} answers `{id}`, which is no open call"));
            }
            continue;
        }
        if !open.is_empty() {
            wrong.push(format!("message {at}: the calls {open:?} have no result"));
            open.clear();
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let id = call["id"].as_str().unwrap_or_default();
            if id.is_empty() || !open.insert(id) {
                wrong.push(format!("message {at}: the call id `{id}` is empty or used twice"));
            }
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            if !serde_json::from_str::<Value>(arguments).is_ok_and(|json| json.is_object()) {
                wrong.push(format!("message {at}: the arguments `{arguments}` are no object"));
            }
        }
    }
    if !open.is_empty() {
        wrong.push(format!("the calls {open:?} have no result"));
    }
}

fn check_prefix(body: &Value, history: &[Value], wrong: &mut Vec<String>) {
    let same: Vec<&Value> =
        history.iter().filter(|old| first_user_message(old) == first_user_message(body)).collect();
    let Some(last) = same.last() else { return };
    // Compared as text, because the order of keys counts.
    let tools = |body: &Value| body["tools"].to_string();
    if tools(last) != tools(body) {
        wrong.push("its tools are not those of the request before it".to_owned());
    }
    let written = |body: &Value| body["messages"].to_string();
    let now = written(body);
    let begins = |old: &&Value| {
        let old = written(old);
        now.starts_with(old.trim_end_matches(']'))
    };
    if !same.iter().any(begins) {
        let before = written(last);
        let agree = now.bytes().zip(before.bytes()).take_while(|(a, b)| a == b).count();
        let around = |text: &str| {
            let from = (0..=agree.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
            text[from.unwrap_or(0)..].chars().take(80).collect::<String>()
        };
        wrong.push(format!(
            "no earlier request is its beginning; after {agree} bytes `{}` became `{}`",
            around(&before),
            around(&now)
        ));
    }
}

fn first_user_message(body: &Value) -> Option<&Value> {
    body["messages"].as_array()?.iter().find(|message| message["role"] == "user")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
