//! A record of the bodies that travel, for the debug log. Headers are not in it: they hold keys.

use std::fmt::Debug;
use std::sync::Arc;

use reqwest::RequestBuilder;

/// The most bytes of a response that are kept.
const KEPT_BYTES: usize = 16 << 20;

/// Keeps the bodies of requests and responses as they travel.
pub trait WireLog: Debug + Send + Sync {
    /// Keeps the body of a request, and returns the number by which its response refers to it.
    fn request(&self, address: &str, body: &str) -> u32;

    /// Keeps the body of the response to a request, or as much of it as has come.
    fn response(&self, request: u32, status: u16, body: &str);
}

/// The response to one request, which is recorded when it has ended, however it ends.
pub(super) struct WireRecording {
    log: Arc<dyn WireLog>,
    request: u32,
    status: u16,
    body: Vec<u8>,
}

impl WireRecording {
    /// Records `request`, and begins the record of its response.
    pub(super) fn begin(log: &Arc<dyn WireLog>, request: &RequestBuilder) -> Option<Self> {
        let request = request.try_clone()?.build().ok()?;
        let mut address = request.url().clone();
        // A query can hold a key.
        address.set_query(None);
        let body = request.body().and_then(|body| body.as_bytes()).unwrap_or_default();
        let number = log.request(address.as_str(), &String::from_utf8_lossy(body));
        Some(Self { log: Arc::clone(log), request: number, status: 0, body: Vec::new() })
    }

    /// The server has begun to answer.
    pub(super) fn answered(&mut self, status: u16) {
        self.status = status;
    }

    /// A piece of the body has come.
    pub(super) fn received(&mut self, piece: &[u8]) {
        let room = KEPT_BYTES.saturating_sub(self.body.len());
        self.body.extend_from_slice(&piece[..piece.len().min(room)]);
    }
}

impl Drop for WireRecording {
    fn drop(&mut self) {
        // Without a status nothing has come.
        if self.status != 0 {
            self.log.response(self.request, self.status, &String::from_utf8_lossy(&self.body));
        }
    }
}
