//! Reads the head of a request to the proxy, strictly: a head that two programs could understand in
//! two ways is refused, so that the checked request is the one that the server gets.

use crate::domain::{NetworkHost, authority};

/// The most bytes of a head.
pub(super) const LONGEST: usize = 16 << 10;

/// Headers that only concern the connection between a client and the proxy.
const HOP_BY_HOP_HEADERS: [&str; 8] = [
    "host",
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authorization",
    "te",
    "trailer",
    "upgrade",
];

/// A parsed request to the proxy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProxyRequest {
    pub host: NetworkHost,
    pub port: u16,
    pub way: ProxyRequestKind,
}

/// How the client wants to talk to the server.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ProxyRequestKind {
    /// CONNECT: the bytes in the tunnel are the client's own.
    Tunnel,
    /// One plain HTTP request.
    Request {
        /// The head in the form that goes to the server.
        head: Vec<u8>,
        /// How the end of the body is found.
        body: ProxyBodyFraming,
    },
}

/// How the end of a request's body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProxyBodyFraming {
    /// The length in bytes; 0 for a request without a body.
    Length(u64),
    /// The body comes in chunks, the last of which is empty.
    Chunked,
}

/// The length of the head in bytes; `None` while it is incomplete.
pub(super) fn length(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

/// Parses a whole head; the error is a phrase.
pub(super) fn read(bytes: &[u8]) -> Result<ProxyRequest, &'static str> {
    let text = std::str::from_utf8(bytes).map_err(|_| "the head is no text")?;
    let text = text.strip_suffix("\r\n\r\n").ok_or("the head has no end")?;
    if text.replace("\r\n", "").contains(|c: char| c.is_ascii_control() && c != '\t') {
        return Err("the head has control characters");
    }
    let mut lines = text.split("\r\n");
    let first: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, "HTTP/1.1" | "HTTP/1.0"] = first[..] else {
        return Err("the first line is not `METHOD address HTTP/1.1`");
    };
    if !is_token(method) || !target.bytes().all(|c| c.is_ascii_graphic()) {
        return Err("the first line is not `METHOD address HTTP/1.1`");
    }
    let headers = lines.map(header).collect::<Option<Vec<_>>>().ok_or("a header is malformed")?;
    if method == "CONNECT" {
        let (host, port) = authority(target).ok_or(NO_HOST)?;
        let port = port.ok_or("CONNECT needs a host and a port")?;
        return Ok(ProxyRequest { host, port, way: ProxyRequestKind::Tunnel });
    }
    request(method, target, &headers)
}

const NO_HOST: &str = "the address names no host in a usual spelling";

type ProxyHeader<'a> = (&'a str, &'a str);

fn header(line: &str) -> Option<ProxyHeader<'_>> {
    let (name, value) = line.split_once(':')?;
    is_token(name).then_some((name, value.trim_matches([' ', '\t'])))
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|c| c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c))
}

/// Parses a request with a whole address into the head that goes to the server.
fn request(
    method: &str,
    target: &str,
    headers: &[ProxyHeader<'_>],
) -> Result<ProxyRequest, &'static str> {
    let scheme = target.get(..7).filter(|start| start.eq_ignore_ascii_case("http://"));
    let rest = scheme.map(|start| &target[start.len()..]).ok_or(
        "this is a proxy: \
        it takes CONNECT and whole addresses that begin with http://",
    )?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (named, path) = rest.split_at(end);
    let (host, port) = authority(named).ok_or(NO_HOST)?;
    let port = port.unwrap_or(80);
    if path.contains('#') {
        return Err("an address that is asked for has no part behind a #");
    }
    let all = |wanted: &str| -> Vec<&str> {
        let those = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        those.map(|(_, value)| *value).collect()
    };
    let hosts = all("host");
    let same = |text: &str| {
        authority(text).is_some_and(|(also, at)| also == host && at.unwrap_or(80) == port)
    };
    if hosts.len() > 1 || !hosts.iter().all(|text| same(text)) {
        return Err("the Host header is not the host of the address");
    }
    let body = match (&all("content-length")[..], &all("transfer-encoding")[..]) {
        ([], []) => ProxyBodyFraming::Length(0),
        ([length], []) if length.bytes().all(|c| c.is_ascii_digit()) => ProxyBodyFraming::Length(
            length.parse().map_err(|_| "the length of the body is no number")?,
        ),
        ([], [coding]) if coding.eq_ignore_ascii_case("chunked") => ProxyBodyFraming::Chunked,
        (_, _) => return Err("where the body ends is not told in one usual way"),
    };
    let slash = if path.starts_with('/') { "" } else { "/" };
    let shown = if port == 80 { host.to_string() } else { format!("{host}:{port}") };
    let mut head = format!("{method} {slash}{path} HTTP/1.1\r\nHost: {shown}\r\n");
    for (name, value) in headers {
        if !HOP_BY_HOP_HEADERS.iter().any(|it| name.eq_ignore_ascii_case(it)) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    head.push_str("Connection: close\r\n\r\n");
    Ok(ProxyRequest {
        host,
        port,
        way: ProxyRequestKind::Request { head: head.into_bytes(), body },
    })
}

/// Headers of an answer that say how its connection continues.
const OF_THE_CONNECTION: [&str; 3] = ["connection", "keep-alive", "proxy-connection"];

/// The head of an answer as the client gets it: the connection ends with this answer.
pub(super) fn answer(bytes: &[u8]) -> Vec<u8> {
    let lines = bytes.strip_suffix(b"\r\n").unwrap_or(bytes).split_inclusive(|c| *c == b'\n');
    let is_kept = |line: &&[u8]| {
        let name = line.split(|c| *c == b':').next().unwrap_or_default().trim_ascii();
        !OF_THE_CONNECTION.iter().any(|it| name.eq_ignore_ascii_case(it.as_bytes()))
    };
    let mut head: Vec<u8> = lines.filter(is_kept).flatten().copied().collect();
    head.extend(b"Connection: close\r\n\r\n");
    head
}

/// Whether the head belongs to an interim answer (1xx, except 101), after which the real one comes.
pub(super) fn is_interim(head: &[u8]) -> bool {
    let status = head.strip_prefix(b"HTTP/1.").and_then(|rest| rest.get(1..5));
    status.is_some_and(|status| status.starts_with(b" 1") && status != b" 101")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(head: &str) -> Result<(String, u16, Option<String>), &'static str> {
        let ProxyRequest { host, port, way } = read(head.as_bytes())?;
        let sent = match way {
            ProxyRequestKind::Tunnel => None,
            ProxyRequestKind::Request { head, .. } => Some(String::from_utf8(head).unwrap()),
        };
        Ok((host.to_string(), port, sent))
    }

    #[test]
    fn a_tunnel_is_asked_for_by_host_and_port() {
        for (target, expected) in [
            ("example.org:443", Some(("example.org", 443))),
            ("EXAMPLE.org.:443", Some(("example.org", 443))),
            ("[::1]:443", Some(("[::1]", 443))),
            ("example.org", None),
            ("user@example.org:443", None),
            ("https://example.org:443", None),
            ("2130706433:443", None),
        ] {
            let read = wanted(&format!("CONNECT {target} HTTP/1.1\r\nHost: other\r\n\r\n"));
            let expected = expected.map(|(host, port)| (host.to_owned(), port, None));
            assert_eq!(read.ok(), expected, "{target}");
        }
    }

    #[test]
    fn a_request_goes_on_with_its_path_alone() {
        let head = "GET HTTP://Example.org./a?b=c HTTP/1.1\r\nhost: example.ORG:80\r\nAccept: */*\r\n\
                    Proxy-Authorization: x\r\nConnection: keep-alive\r\nX-A:  b \r\n\r\n";
        let sent = "GET /a?b=c HTTP/1.1\r\nHost: example.org\r\nAccept: */*\r\nX-A: b\r\n\
                    Connection: close\r\n\r\n";
        assert_eq!(wanted(head), Ok(("example.org".into(), 80, Some(sent.into()))));
        for (target, path) in [("http://a.org:81", "/"), ("http://a.org:81?q", "/?q")] {
            let sent =
                format!("GET {path} HTTP/1.1\r\nHost: a.org:81\r\nConnection: close\r\n\r\n");
            let read = wanted(&format!("GET {target} HTTP/1.1\r\n\r\n"));
            assert_eq!(read, Ok(("a.org".into(), 81, Some(sent))));
        }
    }

    #[test]
    fn ambiguous_heads_are_refused() {
        for head in [
            "GET / HTTP/1.1\r\nHost: a.org\r\n\r\n",
            "GET https://a.org/ HTTP/1.1\r\n\r\n",
            "GET ftp://a.org/ HTTP/1.1\r\n\r\n",
            "GET http://a.org/ HTTP/2\r\n\r\n",
            "GET  http://a.org/ HTTP/1.1\r\n\r\n",
            "GET http://a.org/ x HTTP/1.1\r\n\r\n",
            "GET http://user:pass@a.org/ HTTP/1.1\r\n\r\n",
            "GET http://a.org@b.org/ HTTP/1.1\r\n\r\n",
            "GET http://a.org\\@b.org/ HTTP/1.1\r\n\r\n",
            "GET http://a.org/#x HTTP/1.1\r\n\r\n",
            "GET http:///x HTTP/1.1\r\n\r\n",
            "GET http://0x7f.1/ HTTP/1.1\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\r\nHost: b.org\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\r\nHost: a.org:81\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\nHost: a.org\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\r\nX : y\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\r\nX: y\r\n z\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\r\nX: y\nHost: b.org\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\r\nX: y\0\r\n\r\n",
            "POST http://a.org/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "POST http://a.org/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "POST http://a.org/ HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
            "POST http://a.org/ HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n",
            "POST http://a.org/ HTTP/1.1\r\nContent-Length: \r\n\r\n",
            "POST http://a.org/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "POST http://a.org/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n",
            "\r\n\r\n",
        ] {
            assert!(read(head.as_bytes()).is_err(), "{head:?}");
        }
        assert!(read(b"GET http://a.org/\xff HTTP/1.1\r\n\r\n").is_err());
    }

    #[test]
    fn the_head_says_where_the_body_ends() {
        for (headers, expected) in [
            ("", ProxyBodyFraming::Length(0)),
            ("Content-Length: 12\r\n", ProxyBodyFraming::Length(12)),
            ("transfer-encoding: Chunked\r\n", ProxyBodyFraming::Chunked),
        ] {
            let read = read(format!("POST http://a.org/ HTTP/1.1\r\n{headers}\r\n").as_bytes());
            let Ok(ProxyRequest { way: ProxyRequestKind::Request { body, .. }, .. }) = read else {
                panic!("{read:?}")
            };
            assert_eq!(body, expected, "{headers}");
        }
    }

    #[test]
    fn an_answer_ends_its_connection_whatever_it_said() {
        for headers in ["", "Keep-Alive: timeout=5\r\nconnection : keep-alive\r\n"] {
            let head = format!("HTTP/1.1 200 OK\r\n{headers}A: \u{e9}\r\n\r\n");
            let sent = "HTTP/1.1 200 OK\r\nA: \u{e9}\r\nConnection: close\r\n\r\n";
            assert_eq!(String::from_utf8(answer(head.as_bytes())).unwrap(), sent);
        }
        for (head, interim) in [("100 Continue", true), ("101 Other", false), ("200 OK", false)] {
            assert_eq!(is_interim(format!("HTTP/1.1 {head}\r\n\r\n").as_bytes()), interim);
        }
    }

    #[test]
    fn a_head_is_whole_at_its_empty_line() {
        assert_eq!(length(b"GET / HTTP/1.1\r\nA: b\r\n"), None);
        assert_eq!(length(b"CONNECT a:1 HTTP/1.1\r\n\r\nrest"), Some(24));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
            let _ = read(&bytes);
        }

        /// The forwarded head is one head, and names the host that was checked.
        #[test]
        fn the_forwarded_head_is_one_head(path in "[ -~\t]{0,20}", value in "[ -~\r\n\t]{0,20}") {
            let head = format!("GET http://a.org/{path} HTTP/1.1\r\nX: {value}\r\n\r\n");
            if let Ok(ProxyRequest { way: ProxyRequestKind::Request { head: sent, .. }, .. }) = read(head.as_bytes()) {
                proptest::prop_assert_eq!(length(&sent), Some(sent.len()));
                let text = String::from_utf8(sent).unwrap().to_ascii_lowercase();
                proptest::prop_assert_eq!(text.matches("\r\nhost:").count(), 1);
                proptest::prop_assert!(text.contains("\r\nhost: a.org\r\n"));
            }
        }
    }
}
