//! A reply of the model server: how a test puts it together, and how it is sent.

use std::io::{ErrorKind, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{POLL_INTERVAL, ReplyGate};

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

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyOutcome {
    Kept,
    Closed,
    GivenUp,
}

pub(super) fn send_reply(reply: &ServerReply, mut stream: &TcpStream) -> ReplyOutcome {
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
