//! The place on this machine where the browser comes back to after a login.

use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The most bytes of the head of a request.
const MAX_HEAD: usize = 16 * 1024;

/// How long a connection may take to send it: browsers open some that they never use.
const MAX_HEAD_TIME: Duration = Duration::from_secs(10);

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

    /// Waits for the browser; the address that it comes back with. Other requests get an error. Connections
    /// are read one after another, each for a bounded time.
    ///
    /// # Errors
    ///
    /// When no more connections can be taken.
    pub(in crate::mcp) async fn wait(&self) -> std::io::Result<String> {
        loop {
            let (mut stream, _) = self.listener.accept().await?;
            let head = tokio::time::timeout(MAX_HEAD_TIME, read_head(&mut stream)).await;
            let target = head.ok().flatten().and_then(|head| self.target(&head));
            let (status, text) = match target {
                Some(_) => ("200 OK", "slug has the answer. You can close this page."),
                None => ("404 Not Found", "Nothing is here."),
            };
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\n\
                 cache-control: no-store\r\nconnection: close\r\n\r\n{text}",
                text.len()
            );
            // A browser that has gone has still brought the answer.
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
            if let Some(target) = target {
                return Ok(target);
            }
        }
    }

    /// The whole address of a request's head, if it is that of an answer.
    fn target(&self, head: &str) -> Option<String> {
        let mut words = head.lines().next()?.split(' ');
        let ("GET", Some(target)) = (words.next()?, words.next()) else { return None };
        let url = Url::parse(&format!("http://127.0.0.1:{}", self.port)).ok()?.join(target).ok()?;
        is_answer(&url).then(|| url.to_string())
    }
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
