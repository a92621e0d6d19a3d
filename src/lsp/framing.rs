//! Messages as they travel: a block of headers with the length in bytes, then JSON.
//!
//! Headers other than the length are skipped. A message that is no JSON is left out, and reading goes on
//! behind it; headers that cannot be read end the connection, since nothing says where the next message
//! begins.

use std::io;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

use crate::domain::has_more_values;

/// The longest message of a server, in bytes.
const MAX_MESSAGE: usize = 64 << 20;

/// The most values of a message: each takes far more memory than its bytes, also where slug ignores it.
const MAX_VALUES: usize = 1_000_000;

/// The longest block of headers, in bytes.
const MAX_HEADERS: usize = 8 << 10;

/// How long a block of headers may take from its first byte to its last.
const HEADER_LIMIT: Duration = Duration::from_secs(30);

/// How much room is made for a message before it has come: a length alone costs no memory.
const FIRST_ROOM: usize = 64 << 10;

/// Why nothing more can be read from a server.
#[derive(Debug, thiserror::Error)]
pub(super) enum LspFramingError {
    #[error("It sent a message of {0} bytes")]
    TooLong(usize),
    #[error("It sent a message of more than {} values", MAX_VALUES)]
    TooManyValues,
    #[error("It sent headers without a length")]
    NoLength,
    #[error("It sent headers that do not end")]
    EndlessHeaders,
    #[error("Reading from it failed: {0}")]
    Io(#[from] io::Error),
}

/// Reads messages.
pub(super) struct LspMessageReader<R> {
    inner: BufReader<R>,
}

impl<R: AsyncRead + Unpin> LspMessageReader<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner: BufReader::new(inner) }
    }

    /// The next message; `None` once the server has closed its output.
    ///
    /// # Errors
    ///
    /// When what comes has no length, is too long, has too many values, or cannot be read.
    pub(super) async fn next(&mut self) -> Result<Option<Value>, LspFramingError> {
        loop {
            if self.inner.fill_buf().await?.is_empty() {
                return Ok(None);
            }
            let headers = tokio::time::timeout(HEADER_LIMIT, self.length());
            let length = headers.await.unwrap_or(Err(LspFramingError::EndlessHeaders))?;
            if length > MAX_MESSAGE {
                return Err(LspFramingError::TooLong(length));
            }
            let mut body = Vec::with_capacity(length.min(FIRST_ROOM));
            let read = (&mut self.inner).take(length as u64).read_to_end(&mut body).await?;
            if read < length {
                return Ok(None);
            }
            if has_more_values(&body, MAX_VALUES) {
                return Err(LspFramingError::TooManyValues);
            }
            match serde_json::from_slice(&body) {
                Ok(message) => return Ok(Some(message)),
                Err(error) => tracing::debug!(%error, "a language server sent no JSON"),
            }
        }
    }

    /// Reads a block of headers, and returns the length that it says.
    async fn length(&mut self) -> Result<usize, LspFramingError> {
        let (mut length, mut left) = (None, MAX_HEADERS);
        loop {
            let mut line = Vec::new();
            let count = (&mut self.inner).take(left as u64).read_until(b'\n', &mut line).await?;
            left -= count;
            if line.pop() != Some(b'\n') {
                return Err(LspFramingError::EndlessHeaders);
            }
            let line = String::from_utf8_lossy(&line);
            let line = line.trim();
            if line.is_empty() {
                return length.ok_or(LspFramingError::NoLength);
            }
            if let Some((name, value)) = line.split_once(':')
                && name.trim().eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().ok();
            }
        }
    }
}

/// The bytes of a message.
pub(super) fn lsp_frame(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    async fn read(bytes: &[u8]) -> (Vec<Value>, Option<LspFramingError>) {
        let mut reader = LspMessageReader::new(bytes);
        let mut messages = Vec::new();
        loop {
            match reader.next().await {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => return (messages, None),
                Err(error) => return (messages, Some(error)),
            }
        }
    }

    #[tokio::test]
    async fn messages_are_cut_by_their_length_in_bytes() {
        let mut bytes = lsp_frame(&json!({"a": "ä€😀"}));
        bytes.extend(b"content-length:4 \nX-Other: 1\n\nnull");
        bytes.extend(b"Content-Length: 3\r\nContent-Type: x\r\n\r\n{\"]");
        bytes.extend(lsp_frame(&json!([1])));
        let (messages, error) = read(&bytes).await;
        assert_eq!(messages, [json!({"a": "ä€😀"}), json!(null), json!([1])]);
        assert!(error.is_none());
    }

    #[tokio::test]
    async fn what_cannot_be_cut_ends_the_connection() {
        let endless = vec![b'x'; MAX_HEADERS + 1];
        let huge = format!("Content-Length: {}\r\n\r\n", MAX_MESSAGE + 1);
        for (bytes, sentence) in [
            (&b"X: 1\r\n\r\n{}"[..], "It sent headers without a length"),
            (b"Content-Length: -1\r\n\r\n", "It sent headers without a length"),
            (
                b"Content-Length: 99999999999999999999999\r\n\r\n",
                "It sent headers without a length",
            ),
            (&endless, "It sent headers that do not end"),
            (b"Content-Le", "It sent headers that do not end"),
            (huge.as_bytes(), "It sent a message of 67108865 bytes"),
        ] {
            let (messages, error) = read(bytes).await;
            assert_eq!((messages.len(), error.unwrap().to_string()), (0, sentence.to_owned()));
        }
        let values = format!("[{}0]", "0,".repeat(MAX_VALUES));
        let many = format!("Content-Length: {}\r\n\r\n{values}", values.len());
        let (messages, error) = read(many.as_bytes()).await;
        let sentence = "It sent a message of more than 1000000 values";
        assert_eq!((messages.len(), error.unwrap().to_string()), (0, sentence.to_owned()));
        let (messages, error) = read(b"Content-Length: 9\r\n\r\n{}").await;
        assert!(messages.is_empty() && error.is_none(), "a message that breaks off is an end");
    }
}
