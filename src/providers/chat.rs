//! OpenAI-compatible chat completions, as vLLM, llama.cpp, Ollama, LM Studio and most hosted
//! services serve them.
//!
//! `request` writes the body and [`decode`] reads the stream; this file connects the two. A field
//! that only some servers accept is sent only if `dialect` says that this server does.

mod calls;
mod decode;
mod details;
mod dialect;
mod request;
mod text_tool_calls;
mod think;
mod wire;

use std::future::ready;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt};
use reqwest::header::SERVER;
use tokio_util::sync::CancellationToken;

use super::client::ModelServerClient;
use super::connection_config::ConnectionConfig;
use super::{ModelInfo, Provider, ProviderError, ProviderRequest, StreamEvent, history};

use crate::domain::{ChatDialect, ProviderProtocol};

pub use decode::{ChatRequestContext, decode};
pub use request::PromptProgressReports;

/// The value of llama.cpp's `server` header.
const LLAMA_CPP: &str = "llama.cpp";

/// A provider for servers of chat completions.
#[derive(Clone)]
pub struct ChatCompletionsProvider {
    chat_server: Arc<ChatServer>,
}

struct ChatServer {
    server: ModelServerClient,
    /// The dialect from the configuration or the host; `None` if neither gives one.
    configured_dialect: Option<ChatDialect>,
    /// The dialect that the server's responses have shown.
    detected_dialect: OnceLock<ChatDialect>,
}

impl ChatServer {
    fn dialect(&self) -> ChatDialect {
        self.configured_dialect
            .or(self.detected_dialect.get().copied())
            .unwrap_or(ChatDialect::Common)
    }
}

impl ChatCompletionsProvider {
    /// A provider for the server that `config` describes. Sends nothing yet.
    pub fn new(config: ConnectionConfig) -> Self {
        let configured_dialect = config.dialect.or_else(|| dialect::at(config.endpoint.host()));
        let server = ModelServerClient::new(config, ProviderProtocol::ChatCompletions.key_header());
        Self {
            chat_server: Arc::new(ChatServer {
                server,
                configured_dialect,
                detected_dialect: OnceLock::new(),
            }),
        }
    }
}

#[async_trait]
impl Provider for ChatCompletionsProvider {
    fn stream(
        &self,
        request: ProviderRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        self.chat_server.server.events(answer(Arc::clone(&self.chat_server), request), cancel)
    }

    async fn models(&self) -> Result<Vec<ModelInfo>, ProviderError> {
        let server = &self.chat_server.server;
        let listing = server.list(server.get(server.endpoint.join("models"))?).await?;
        if let Some(dialect) = listing.dialect {
            self.chat_server.detected_dialect.get_or_init(|| dialect);
        }
        Ok(listing.models)
    }

    fn is_local(&self) -> bool {
        self.chat_server.server.endpoint.is_local()
    }

    fn host(&self) -> Option<&str> {
        self.chat_server.server.host()
    }
}

async fn answer(
    chat_server: Arc<ChatServer>,
    request: ProviderRequest,
) -> Result<impl Stream<Item = Result<StreamEvent, ProviderError>> + Send, ProviderError> {
    let server = &chat_server.server;
    let dialect = chat_server.dialect();
    let is_llama_cpp = dialect == ChatDialect::LlamaCpp;
    let progress =
        if is_llama_cpp { PromptProgressReports::Wanted } else { PromptProgressReports::Unknown };
    let quirks = dialect::of(dialect, &request.model);
    let body = request::body(&request, quirks, progress);
    let post = server.post(server.endpoint.join("chat/completions"))?.body(body);
    let taken = history::call_ids(&request);
    let context =
        ChatRequestContext { taken, tools: Arc::clone(&request.tools), details: quirks.details };
    let answer = match server.ask(post, &request.model).await {
        Ok(answer) => answer,
        // An error that contains the model's text is an answer, although the server could not parse
        // it.
        Err(refusal) if wire::failed_generation(&refusal.body).is_some() => {
            let site = server.site(&request.model).await?;
            let body = stream::once(ready(Ok(refusal.body)));
            return Ok(decode(body, site, context).boxed());
        }
        Err(refusal) => return Err(refusal.error),
    };
    if answer.headers().get(SERVER).is_some_and(|name| name == LLAMA_CPP) {
        chat_server.detected_dialect.get_or_init(|| ChatDialect::LlamaCpp);
    }
    let site = answer.site();
    Ok(decode(answer.bytes(), site, context).boxed())
}

/// The body of a request to a server at `host` whose dialect has not been detected.
pub fn body(request: &ProviderRequest, host: &str, progress: PromptProgressReports) -> Vec<u8> {
    let dialect = dialect::at(host).unwrap_or(ChatDialect::Common);
    request::body(request, dialect::of(dialect, &request.model), progress)
}
