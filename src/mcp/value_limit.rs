//! Ends a server whose message has more values than slug reads: parsed, such a message would take many
//! times its bytes.
//!
//! Messages are lines, so the count begins anew with each line. What comes behind is dropped and not left
//! where it is: who carries it would wait for room, and not end the program.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use crate::domain::{JsonValueCount, MAX_JSON_VALUES};

use super::flood::EndServer;

/// A server's output, until it has a line of too many values.
pub(super) struct ValueLimit<R> {
    inner: R,
    count: JsonValueCount,
    is_over: bool,
    exceeded: Arc<AtomicBool>,
    end: EndServer,
}

impl<R> ValueLimit<R> {
    /// Limits what comes through `inner`. Sets `exceeded` and calls `end` when it is too much.
    pub(super) fn new(inner: R, exceeded: Arc<AtomicBool>, end: EndServer) -> Self {
        Self { inner, count: JsonValueCount::default(), is_over: false, exceeded, end }
    }

    /// Counts the next bytes; whether all of their lines may be read.
    fn is_taken(&mut self, bytes: &[u8]) -> bool {
        bytes.split_inclusive(|byte| *byte == b'\n').all(|line| {
            self.count.add(line);
            let is_taken = !self.count.is_over(MAX_JSON_VALUES);
            if line.ends_with(b"\n") {
                self.count = JsonValueCount::default();
            }
            is_taken
        })
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for ValueLimit<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(context, buffer))?;
        let came = buffer.filled().get(before..).unwrap_or_default();
        let is_end = came.is_empty();
        if !this.is_over && !this.is_taken(came) {
            tracing::warn!(
                "an MCP server sent a message of too many values; its connection is ended"
            );
            this.is_over = true;
            this.exceeded.store(true, Ordering::Relaxed);
            (this.end)();
        }
        if !this.is_over || is_end {
            return Poll::Ready(Ok(()));
        }
        buffer.set_filled(before);
        // Read on, with others between.
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    async fn read(sent: &str) -> (String, bool) {
        let [exceeded, ended] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let ending = ended.clone();
        let end = Box::new(move || ending.store(true, Ordering::Relaxed));
        let mut text = String::new();
        let mut reader = ValueLimit::new(sent.as_bytes(), exceeded.clone(), end);
        reader.read_to_string(&mut text).await.unwrap();
        assert_eq!(exceeded.load(Ordering::Relaxed), ended.load(Ordering::Relaxed));
        (text, ended.load(Ordering::Relaxed))
    }

    #[tokio::test]
    async fn a_line_of_too_many_values_is_the_end_of_the_output() {
        let half = "0,".repeat(MAX_JSON_VALUES / 2);
        for usual in [
            format!("[{half}0]\n[{half}0]\n[{half}0]\n"),
            format!("{{\"text\":\"{half}{half}{half}\"}}\n"),
            // A line that is no message, such as one of a log.
            format!("a \" too few\n[{half}0]\n"),
        ] {
            assert!(read(&usual).await == (usual, false));
        }
        for hostile in
            [format!("[{half}{half}0]\n"), format!("{{}}\n{{\"a\":[{half}{half}0]}}\n{{}}")]
        {
            let (text, is_ended) = read(&hostile).await;
            assert!(is_ended && hostile.starts_with(&text));
            assert!(text.matches(',').count() <= MAX_JSON_VALUES);
        }
    }
}
