//! A limit for what a server sends unasked: requests to slug, and notifications.
//!
//! The library answers each request in a task of its own, and keeps the answers that the server does not
//! read. So a server that only sends would fill the memory, and the log with what slug cannot answer.
//! One that goes beyond the limits has its connection ended; no honest server comes near them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rmcp::model::JsonRpcMessage;
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

/// The most requests of a server that wait for slug's answer, or for being read.
const MAX_UNANSWERED: usize = 200;

/// The most requests and notifications within [`PERIOD`].
const MAX_UNASKED: usize = 5_000;
const PERIOD: Duration = Duration::from_secs(10);

/// How long a server that floods may take to end.
const END_LIMIT: Duration = Duration::from_secs(2);

/// Ends what is beyond the connection, such as the server's program.
pub(super) type EndServer = Box<dyn Fn() + Send>;

/// A transport that ends when the server floods.
pub(super) struct FloodLimit<T> {
    inner: T,
    unanswered: Arc<AtomicUsize>,
    /// When the period began, and what came in it.
    period: (Instant, usize),
    flooded: Arc<AtomicBool>,
    end: EndServer,
}

impl<T> FloodLimit<T> {
    /// Limits what comes through `inner`. Sets `flooded` and calls `end` when it is too much.
    pub(super) fn new(inner: T, flooded: Arc<AtomicBool>, end: EndServer) -> Self {
        let (unanswered, period) = (Arc::default(), (Instant::now(), 0));
        Self { inner, unanswered, period, flooded, end }
    }

    /// Counts a message, and returns whether it is one too many.
    fn is_too_much(&mut self, message: &RxJsonRpcMessage<RoleClient>) -> bool {
        let unanswered = match message {
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => return false,
            JsonRpcMessage::Request(_) => self.unanswered.fetch_add(1, Ordering::Relaxed) + 1,
            JsonRpcMessage::Notification(_) => 0,
        };
        if self.period.0.elapsed() > PERIOD {
            self.period = (Instant::now(), 0);
        }
        self.period.1 += 1;
        unanswered > MAX_UNANSWERED || self.period.1 > MAX_UNASKED
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for FloodLimit<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let is_answer = matches!(item, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let (sent, unanswered) = (self.inner.send(item), self.unanswered.clone());
        async move {
            let outcome = sent.await;
            if is_answer {
                // An answer to what was no request counts for none.
                let less = |count: usize| count.checked_sub(1);
                let _ = unanswered.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
            }
            outcome
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        if !self.flooded.load(Ordering::Relaxed) {
            let message = self.inner.receive().await?;
            if !self.is_too_much(&message) {
                return Some(message);
            }
            tracing::warn!("an MCP server sends more than slug takes; its connection is ended");
            self.flooded.store(true, Ordering::Relaxed);
            self.period.0 = Instant::now();
            (self.end)();
        }
        // Who carries the messages may wait for room before ending the program, so they are dropped here.
        while let Some(left) = END_LIMIT.checked_sub(self.period.0.elapsed()) {
            match tokio::time::timeout(left, self.inner.receive()).await {
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        None
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
