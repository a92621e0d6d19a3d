//! A proxy on loopback that is also the server behind it.
//!
//! It answers `CONNECT` and then acts as the server that the client meant, under a certificate of
//! the test's own authority: it lists one model, `m`, and answers every question in chat
//! completions. Each connection serves one request. It records all requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use rustls::{ServerConnection, StreamOwned};
use slug_code::domain::ProviderProtocol;

use super::answer_streams;
use super::certificates::TestCertificates;

/// A running proxy. Its threads end with the test.
pub struct ConnectProxy {
    address: SocketAddr,
    certificates: Arc<TestCertificates>,
    requests: Arc<Mutex<Vec<ProxiedRequest>>>,
}

/// A request that went through the proxy.
#[derive(Debug, Clone)]
pub struct ProxiedRequest {
    /// The request line to the proxy: `CONNECT host:port HTTP/1.1`.
    pub connect: String,
    /// The head of the request inside the tunnel, request line first; empty if none came.
    pub head: Vec<String>,
}

impl ConnectProxy {
    /// Starts a proxy on a free port.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (certificates, requests) =
            (Arc::new(TestCertificates::new()), Arc::<Mutex<Vec<ProxiedRequest>>>::default());
        let (authority, kept) = (Arc::clone(&certificates), Arc::clone(&requests));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (authority, kept) = (Arc::clone(&authority), Arc::clone(&kept));
                // That a client disconnects is not a failure of the proxy.
                thread::spawn(move || {
                    stream.and_then(|stream| serve_connection(stream, &authority, &kept))
                });
            }
        });
        Self { address, certificates, requests }
    }

    /// The proxy's address.
    pub fn address(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The configuration line that makes slug trust the server behind the proxy.
    pub fn ca_file(&self) -> String {
        format!("ca_file = {:?}\n", self.certificates.file("ca.pem"))
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<ProxiedRequest> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve_connection(
    stream: TcpStream,
    certificates: &TestCertificates,
    requests: &Mutex<Vec<ProxiedRequest>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let connect = head(&mut reader)?.into_iter().next().unwrap_or_default();
    let place = connect.strip_prefix("CONNECT ").and_then(|rest| rest.split(':').next());
    let at = {
        let mut requests = requests.lock().unwrap();
        requests.push(ProxiedRequest { connect: connect.clone(), head: Vec::new() });
        requests.len() - 1
    };
    let Some(host) = place else {
        return (&stream).write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
    };
    (&stream).write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
    let connection = ServerConnection::new(certificates.server(host)).unwrap();
    let mut inner = BufReader::new(StreamOwned::new(connection, stream));
    let head = head(&mut inner)?;
    let length = head.iter().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length").then(|| value.parse().ok())?
    });
    inner.read_exact(&mut vec![0; length.unwrap_or(0)])?;
    let (kind, body) = if head[0].starts_with("GET") {
        ("application/json", r#"{"data": [{"id": "m"}]}"#.to_owned())
    } else {
        let answer =
            answer_streams::answer(ProviderProtocol::ChatCompletions, "Through the tunnel.", &[]);
        ("text/event-stream", answer.concat())
    };
    requests.lock().unwrap()[at].head = head;
    let length = body.len();
    let out = inner.get_mut();
    write!(
        out,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )?;
    out.conn.send_close_notify();
    out.flush()
}

/// The lines of a request up to the empty one.
fn head(reader: &mut impl BufRead) -> std::io::Result<Vec<String>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        match line.trim_end() {
            "" => return Ok(lines),
            line => lines.push(line.to_owned()),
        }
    }
}
