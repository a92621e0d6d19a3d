//! A script that speaks slug's lines, over a pipe or a socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::{Value, json};

/// The longest that a test waits for a line.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

pub const STREAM: [&str; 5] =
    ["--input-format", "stream-json", "--output-format", "stream-json", "-p"];

/// What is written and what has been read. Every line of slug's has to be an object with a type.
pub struct StreamClient {
    to: StreamSide,
    lines: Receiver<String>,
    /// All lines so far.
    pub seen: Vec<Value>,
}

enum StreamSide {
    Pipe(Option<ChildStdin>),
    Socket(UnixStream),
}

impl StreamClient {
    /// slug with a pipe, and its process.
    pub fn piped(mut command: Command) -> (Child, Self) {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let to = StreamSide::Pipe(child.stdin.take());
        let lines = lines_of(child.stdout.take().unwrap());
        (child, Self { to, lines, seen: Vec::new() })
    }

    /// A client of a socket.
    pub fn connected(path: &Path) -> Self {
        let stream = UnixStream::connect(path).unwrap();
        let lines = lines_of(stream.try_clone().unwrap());
        Self { to: StreamSide::Socket(stream), lines, seen: Vec::new() }
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        match &mut self.to {
            StreamSide::Pipe(pipe) => pipe.as_mut().unwrap().write_all(bytes).unwrap(),
            StreamSide::Socket(stream) => stream.write_all(bytes).unwrap(),
        }
    }

    #[allow(clippy::needless_pass_by_value, reason = "tests write what they send in place")]
    pub fn send(&mut self, line: Value) {
        self.send_bytes(format!("{line}\n").as_bytes());
    }

    pub fn say(&mut self, text: &str) {
        self.send(user(text));
    }

    /// Closes the side that is written.
    pub fn close(&mut self) {
        match &mut self.to {
            StreamSide::Pipe(pipe) => *pipe = None,
            StreamSide::Socket(stream) => stream.shutdown(Shutdown::Write).unwrap(),
        }
    }

    /// The next line; `None` at the end.
    pub fn next(&mut self) -> Option<Value> {
        match self.lines.recv_timeout(WAIT_TIMEOUT) {
            Ok(line) => {
                let value: Value =
                    serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
                assert!(value["type"].is_string(), "{line}");
                self.seen.push(value.clone());
                Some(value)
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => None,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("no line comes; seen: {:#?}", self.seen),
        }
    }

    /// The next line of this type; those before it are passed over.
    #[track_caller]
    pub fn next_of(&mut self, kind: &str) -> Value {
        loop {
            match self.next() {
                Some(line) if line["type"] == kind => return line,
                Some(_) => {}
                None => panic!("the end came before {kind}; seen: {:#?}", self.seen),
            }
        }
    }

    /// All lines to the end.
    pub fn rest(&mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.next()).collect()
    }
}

pub fn user(text: &str) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": text}})
}

fn lines_of(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        // A connection that was reset has ended, too.
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
