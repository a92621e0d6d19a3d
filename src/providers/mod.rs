//! Providers: every model server behind one interface. A request goes in, a stream of
//! [`StreamEvent`]s comes out.
//!
//! The quirks of a wire protocol stay inside its provider. Providers know nothing about the screen,
//! nor about tools beyond their specs.

pub mod anthropic;
mod cancel;
mod capabilities;
pub mod chat;
mod client;
mod connect;
mod connection_config;
pub mod demo;
pub mod failure;
pub mod gemini;
mod history;
mod images;
mod json;
mod listing;
mod protocol_provider;
mod reader;
mod response_size;
pub mod responses;
pub mod retry;
pub mod sse;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use crate::net::RateLimited;
pub use capabilities::{CapabilitySupport, ModelCapabilities};
pub use connect::{connect, decode};
pub use connection_config::ConnectionConfig;
pub use images::EncodedImages;
pub use response_size::{MAX_BYTES, MAX_CALLS, ResponseSize};

use crate::domain::{
    CallId, Message, ProviderProtocol, ReasoningEffort, StopReason, TokenUsage, ToolSpec,
};

/// A model server, or something that behaves like one.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Sends `request` and streams the response.
    ///
    /// The stream ends after `Finished` or after the first error. Cancelling closes the
    /// connection, so that the server stops generating; the stream then just ends.
    fn stream(
        &self,
        request: ProviderRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>>;

    /// The models that the server offers, with the context window that it serves them with, if it
    /// says so.
    ///
    /// # Errors
    ///
    /// Fails if the server does not answer, refuses the request, or sends something other than a
    /// list.
    async fn models(&self) -> Result<Vec<ModelInfo>, ProviderError>;

    /// What a model can do here, as far as it is known: by the protocol, by the server's list, once
    /// [`Self::models`] has asked for it, and by what the server has refused.
    fn capabilities(&self, _model: &str) -> ModelCapabilities {
        ModelCapabilities::default()
    }

    /// Whether the server runs on this machine. Then a long silence before the first token is
    /// normal, and slug sends no side requests, which would evict the server's cache.
    fn is_local(&self) -> bool;

    /// How far the model is loaded, while it is, where slug runs the server itself. The value is `None`
    /// while nothing loads.
    fn loading(&self) -> Option<watch::Receiver<Option<ModelLoading>>> {
        None
    }

    /// The host of a remote server, by which the catalogue finds prices; `None` on this machine.
    fn host(&self) -> Option<&str> {
        None
    }
}

/// The output limit in tokens where nobody has set one. Enough for a whole file, and what a model
/// that does not come to an end may cost.
pub const DEFAULT_OUTPUT_LIMIT: u32 = 32_000;

/// Everything that a model needs for one response.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderRequest {
    /// The model's name on the server.
    pub model: String,
    /// The system prompt, including the instruction files.
    pub system: String,
    /// The conversation, as `agent::normalise` returns it.
    pub messages: Vec<Message>,
    /// The base64 texts of the images in `messages`.
    pub images: EncodedImages,
    /// The tools, in an order that never changes within a session. May be empty.
    pub tools: Arc<[ToolSpec]>,
    /// The output limit in tokens. `None` leaves it to the server; a protocol that requires a limit
    /// sends [`DEFAULT_OUTPUT_LIMIT`].
    pub max_tokens: Option<u32>,
    /// Whether the model may call them.
    pub tool_choice: ToolChoice,
    /// `None` leaves the field out.
    pub temperature: Option<f32>,
    /// How much the model should reason; `None` leaves the field out.
    pub effort: Option<ReasoningEffort>,
}

impl ProviderRequest {
    /// Whether the response has to be text although the request has tools. Servers refuse a choice
    /// among no tools.
    fn forbids_calls(&self) -> bool {
        self.tool_choice == ToolChoice::None && !self.tools.is_empty()
    }
}

/// Whether the model may call tools. The tools stay in the request in any case, so that the server
/// finds the beginning of the prompt in its cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolChoice {
    Auto,
    /// The response has to be text.
    None,
}

/// A piece of a response.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// The server has begun to answer.
    Started,
    /// The request waits: the server has asked slug to pause.
    RateLimited(RateLimited),
    /// The server is still reading the prompt.
    Prefill(PrefillProgress),
    /// More text.
    Text(String),
    /// More reasoning.
    Thinking(String),
    /// The signature over the thinking so far.
    Signature(String),
    /// A piece in the protocol's own shape, which the history keeps in place and sends back.
    Sealed {
        /// The protocol whose shape `data` has.
        protocol: ProviderProtocol,
        /// What the provider needs to send the piece back.
        data: Value,
    },
    /// A call begins. Calls are numbered from 0 in the order in which they begin.
    ToolUseStarted {
        /// The number of the call in the response.
        index: usize,
        /// The provider's id, or one that slug made.
        id: CallId,
        /// The tool's name as the model wrote it.
        name: String,
    },
    /// More of a call's arguments, as JSON text.
    ToolInputDelta {
        /// The number of the call in the response.
        index: usize,
        /// The next piece of the JSON text.
        json: String,
    },
    /// Token counts; each event replaces the one before.
    Usage(TokenUsage),
    /// The response is complete.
    Finished(StopReason),
}

/// How much of the prompt a local server has read. Counts are tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PrefillProgress {
    /// Tokens read so far, cached ones included.
    pub processed: u64,
    /// Tokens in the whole prompt.
    pub total: u64,
    /// Tokens taken from the server's cache.
    pub cached: u64,
}

/// How far a server has loaded its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ModelLoading {
    /// How much of the model is in memory; `None` where that cannot be told.
    pub percent: Option<u8>,
}

/// A model in a server's list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ModelInfo {
    /// The model's name in requests.
    pub id: String,
    /// The window that the server serves the model with, in tokens; `None` if it does not say.
    pub context_window: Option<u64>,
    /// The most tokens that the model may write; `None` if the server does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
}

/// Why there is no response, and what to do about it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// A sentence for the user, with a remedy.
    pub message: String,
    /// The HTTP status; `None` if there was no response.
    pub status: Option<u16>,
    /// What to do next.
    pub recovery: ErrorRecovery,
}

/// What is wrong with a provider, as far as the user can mend it by connecting anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProviderFault {
    /// Nothing listens at the address.
    NotListening,
    /// The server wants a key, or another one than it got.
    KeyRefused,
    /// The server answers, and offers no model.
    NoModels,
    /// Anything else; the failure says what.
    Other,
}

impl ProviderError {
    /// What the server has said in refusing a request as too long; `None` for any other error.
    pub fn overflow(&self) -> Option<RequestOverflow> {
        if let ErrorRecovery::Compact(overflow) = self.recovery { Some(overflow) } else { None }
    }

    /// What is wrong with the provider, by status and remedy.
    pub fn fault(&self) -> ProviderFault {
        match (self.status, self.recovery) {
            (Some(401 | 403), ErrorRecovery::AskUser) => ProviderFault::KeyRefused,
            (None, ErrorRecovery::RetryBriefly) => ProviderFault::NotListening,
            (Some(_) | None, _) => ProviderFault::Other,
        }
    }
}

/// What a server says of a request that is too long for it, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestOverflow {
    /// The context window, if the server names it.
    pub window: Option<u64>,
    /// The length of the prompt as the server has counted it, if it says so.
    pub prompt: Option<u64>,
}

/// What to do after a failed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorRecovery {
    /// Wait this long, then send it again.
    RetryAfter(Duration),
    /// Send it again after a pause of slug's own choosing.
    Retry,
    /// No server listens: send it again a few times within seconds, because the server may be
    /// starting, or for two minutes where it has answered before. After that the user has to act.
    RetryBriefly,
    /// Compact the conversation, then send it again.
    Compact(RequestOverflow),
    /// Send it again: the server takes no tools with this model, and the provider describes them in
    /// the prompt from now on.
    DescribeTools,
    /// Leave out the images, then send it again: the model accepts none.
    LeaveImagesOut,
    /// The user has to act first: a key, a model's name, a server to start.
    AskUser,
    /// Sending it again would fail again.
    GiveUp,
}

#[cfg(test)]
mod tool_choice_tests;
