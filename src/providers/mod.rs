//! Models behind one interface: a request goes in, a stream of [`StreamEvent`]s comes out.
//!
//! All oddities of a wire protocol end inside the file of its provider. Providers know nothing of
//! the screen, nor of the tools beyond their specs.

pub mod anthropic;
mod cancel;
pub mod chat;
mod connect;
mod connection_config;
pub mod demo;
pub mod failure;
pub mod gemini;
mod history;
pub mod http;
mod images;
mod json;
mod key;
mod limit_response;
mod listing;
mod rate_limiter;
mod reader;
pub mod responses;
pub mod retry;
mod server;
pub mod sse;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use connect::connect;
pub use connection_config::ConnectionConfig;
pub use images::EncodedImages;
pub use key::{ApiKey, ApiKeyFetcher};
pub use limit_response::{MAX_BYTES, MAX_CALLS, limit_response};

use crate::domain::{
    CallId, Message, ProviderProtocol, ReasoningEffort, StopReason, TokenUsage, ToolSpec,
};

/// A model server, or something that behaves like one.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Sends `request` and streams the answer.
    ///
    /// The stream ends after `Finished` or after the first error. Cancelling closes the
    /// connection, so that the server stops generating; the stream then just ends.
    fn stream(
        &self,
        request: ProviderRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>>;

    /// The models that the server offers, with the context window that it serves, where it says.
    async fn models(&self) -> Result<Vec<ModelInfo>, ProviderError>;

    /// Whether the server runs on this machine. Then a long silence before the first token is
    /// normal, and slug makes no request on the side that would evict its cache.
    fn is_local(&self) -> bool;

    /// The host of a server elsewhere, by which its prices are known.
    fn host(&self) -> Option<&str> {
        None
    }
}

/// Everything a model needs for one response.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderRequest {
    /// The model's name on the server.
    pub model: String,
    /// The system prompt with the instruction files.
    pub system: String,
    /// The conversation, as `agent::normalise` left it.
    pub messages: Vec<Message>,
    /// The bytes of the images in it.
    pub images: EncodedImages,
    /// The tools, in an order that never changes within a session. May be empty.
    pub tools: Arc<[ToolSpec]>,
    /// Limit of the response, in tokens.
    pub max_tokens: u32,
    /// Sent only when set.
    pub temperature: Option<f32>,
    /// How hard the model is to think; sent only when set.
    pub effort: Option<ReasoningEffort>,
}

/// A piece of a response.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// The server has begun to answer.
    Started,
    /// The request has not been sent yet: the server is to be left alone for a while.
    RateLimited(RateLimited),
    /// The server is still reading the prompt.
    Prefill(PrefillProgress),
    /// More text.
    Text(String),
    /// More reasoning.
    Thinking(String),
    /// The seal over the reasoning so far.
    Signature(String),
    /// A piece in the protocol's own shape, to be kept where it stands and sent back.
    Sealed {
        /// Whose shape it has.
        protocol: ProviderProtocol,
        /// What the provider needs to send it back.
        data: Value,
    },
    /// A call begins. Calls are numbered from 0 in the order they begin.
    ToolUseStarted {
        /// Which call of the response.
        index: usize,
        /// The provider's id, or one of slug's own.
        id: CallId,
        /// The tool's name.
        name: String,
    },
    /// More of a call's arguments, as JSON text.
    ToolInputDelta {
        /// Which call of the response.
        index: usize,
        /// The next piece of text.
        json: String,
    },
    /// Token counts; the last one holds.
    Usage(TokenUsage),
    /// The response is complete.
    Finished(StopReason),
}

/// A request that waits because another one was told to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateLimited {
    /// How long.
    pub wait: Duration,
    /// What the other one was told.
    pub reason: String,
}

/// How far a local server is with reading the prompt. Counts are tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefillProgress {
    /// Read so far, cached ones included.
    pub processed: u64,
    /// All there are.
    pub total: u64,
    /// Taken from the server's cache.
    pub cached: u64,
}

/// A model as its server lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    /// Its name in requests.
    pub id: String,
    /// The window that the server serves, in tokens, where it says so.
    pub context_window: Option<u64>,
}

/// Why there is no answer, and what to do about it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// A sentence for the person, with a remedy.
    pub message: String,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// What to do.
    pub recovery: ErrorRecovery,
}

/// What to do about a failed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorRecovery {
    /// Wait this long, then send it again.
    RetryAfter(Duration),
    /// Send it again after a pause of slug's own choosing.
    Retry,
    /// Nobody listens: send it again a few times within seconds, then the person has to do
    /// something. The server may be just starting.
    RetryBriefly,
    /// Make the conversation shorter, then send it again.
    Compact,
    /// Leave the images out, then send it again: the model takes none.
    LeaveImagesOut,
    /// The person has to do something first: a key, a model's name, a server to start.
    AskUser,
    /// Sending it again would fail again.
    GiveUp,
}
