//! The place on this machine where the browser comes back to after a login.

use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The most bytes of the head of a request.
const MAX_HEAD: usize = 16 * 1024;

/// How long a connection may take to send it: browsers open some that they never use.
const MAX_HEAD_TIME: Duration = Duration::from_secs(3);

/// How many connections are served beside one another; others wait.
const MAX_CONNECTIONS: usize = 16;

const PATH: &str = "/callback";

/// A listener on this machine alone.
pub(in crate::mcp) struct LoginCallback {
    listener: TcpListener,
    port: u16,
}

impl LoginCallback {
    /// Listens on `port`, or on a free one.
    ///
    /// # Errors
    ///
    /// When the port is taken.
    pub(in crate::mcp) async fn listen(port: Option<u16>) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port.unwrap_or(0))).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    /// The address that the browser is sent back to.
    pub(in crate::mcp) fn address(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the browser; the address that it comes back with. Other requests get an error, and so
    /// does an answer with another `state`: anybody on this machine can send one. Connections are read
    /// beside one another, each for a bounded time.
    ///
    /// # Errors
    ///
    /// When no more connections can be taken.
    pub(in crate::mcp) async fn wait(&self, state: &str) -> std::io::Result<String> {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => {
                    let (stream, _) = accepted?;
                    connections.spawn(serve(stream, self.port, state.to_owned()));
                }
                Some(served) = connections.join_next() => {
                    if let Ok(Some(target)) = served {
                        return Ok(target);
                    }
                }
            }
        }
    }
}

/// Answers one request; the address of an answer with this `state`.
async fn serve(mut stream: TcpStream, port: u16, state: String) -> Option<String> {
    let head = tokio::time::timeout(MAX_HEAD_TIME, read_head(&mut stream)).await;
    let target = head.ok().flatten().and_then(|head| target(&head, port, &state));
    let (status, text) = match target {
        Some(_) => ("200 OK", "slug has the answer. You can close this page."),
        None => ("404 Not Found", "Nothing is here."),
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nconnection: close\r\n\r\n{text}",
        text.len()
    );
    // A browser that has gone, or does not read, has still brought the answer.
    let answering = async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await
    };
    let _ = tokio::time::timeout(MAX_HEAD_TIME, answering).await;
    target
}

/// The whole address of a request's head, if it is that of an answer with this `state`.
fn target(head: &str, port: u16, state: &str) -> Option<String> {
    let mut words = head.lines().next()?.split(' ');
    let ("GET", Some(target)) = (words.next()?, words.next()) else { return None };
    let url = Url::parse(&format!("http://127.0.0.1:{port}")).ok()?.join(target).ok()?;
    (is_answer(&url) && self::state(&url).as_deref() == Some(state)).then(|| url.to_string())
}

/// The `state` of an address, which ties an answer to its login.
pub(in crate::mcp) fn state(url: &Url) -> Option<String> {
    let mut pairs = url.query_pairs();
    pairs.find(|(name, _)| name == "state").map(|(_, state)| state.into_owned())
}

/// Whether an address is one that a server sends the browser back to.
pub(in crate::mcp) fn is_answer(url: &Url) -> bool {
    let has = |wanted: &str| url.query_pairs().any(|(name, _)| name == wanted);
    url.path() == PATH && has("state") && (has("code") || has("error"))
}

/// The request line and headers; `None` where the other side sends none.
async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|it| it == b"\r\n\r\n") {
        if head.len() > MAX_HEAD || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    String::from_utf8(head).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(port: u16, query: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let head = format!("GET /callback?{query} HTTP/1.1\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn other_requests_neither_end_nor_hold_up_the_wait() {
        let callback = LoginCallback::listen(None).await.unwrap();
        let port = callback.port;
        let waiting = tokio::spawn(async move { callback.wait("mine").await });
        // They say nothing, and stay open.
        let mut silent = Vec::new();
        for _ in 0..MAX_CONNECTIONS / 2 {
            silent.push(TcpStream::connect(("127.0.0.1", port)).await.unwrap());
        }
        for query in ["code=1&state=other", "error=no&state=other", "code=1", "state=mine"] {
            let answer = ask(port, query).await;
            assert!(answer.starts_with("HTTP/1.1 404 "), "{query}: {answer}");
            assert!(!waiting.is_finished());
        }
        assert!(ask(port, "code=1&state=mine").await.starts_with("HTTP/1.1 200 "));
        let came = waiting.await.unwrap().unwrap();
        assert_eq!(came, format!("http://127.0.0.1:{port}/callback?code=1&state=mine"));
    }
}
