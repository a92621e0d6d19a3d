//! OpenAI-compatible chat completions, as vLLM, llama.cpp, Ollama, LM Studio and most hosted
//! services speak them.
//!
//! [`request`] writes the body and [`decode`] reads the stream; here is the way between them.
//! Nothing is sent that only some servers understand, but for llama.cpp's `return_progress`, and
//! that only once the server has shown that it is llama.cpp.

mod calls;
mod decode;
mod dialect;
mod request;
mod spoken;
mod think;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use futures_util::Stream;
use futures_util::stream::BoxStream;
use reqwest::header::SERVER;
use tokio_util::sync::CancellationToken;

use super::server::Server;
use super::way::Way;
use super::{ModelInfo, Provider, ProviderError, Request, StreamEvent, history};

use crate::domain::Protocol;

pub use decode::{Asked, decode};
pub use request::Progress;

/// The name by which llama.cpp's server makes itself known in its response head.
const LLAMA_CPP: &str = "llama.cpp";

/// A server of chat completions.
#[derive(Clone)]
pub struct ChatCompletions {
    known: Arc<Known>,
}

/// A server, and what it has shown to be.
struct Known {
    server: Server,
    is_llama_cpp: AtomicBool,
}

impl ChatCompletions {
    /// The server that `way` leads to. Nothing is sent yet.
    pub fn new(way: Way) -> Self {
        let server = Server::new(way, Protocol::ChatCompletions.key_header());
        Self { known: Arc::new(Known { server, is_llama_cpp: AtomicBool::new(false) }) }
    }
}

#[async_trait]
impl Provider for ChatCompletions {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        self.known.server.events(answer(Arc::clone(&self.known), request), cancel)
    }

    async fn models(&self) -> Result<Vec<ModelInfo>, ProviderError> {
        let server = &self.known.server;
        let listing = server.list(server.get(server.endpoint.join("models"))?).await?;
        if listing.is_llama_cpp {
            self.known.is_llama_cpp.store(true, Ordering::Relaxed);
        }
        Ok(listing.models)
    }

    fn is_local(&self) -> bool {
        self.known.server.endpoint.is_local()
    }

    fn host(&self) -> Option<&str> {
        self.known.server.host()
    }
}

async fn answer(
    known: Arc<Known>,
    request: Request,
) -> Result<impl Stream<Item = Result<StreamEvent, ProviderError>> + Send, ProviderError> {
    let server = &known.server;
    let progress = match known.is_llama_cpp.load(Ordering::Relaxed) {
        true => Progress::Wanted,
        false => Progress::Unknown,
    };
    let body = body(&request, server.endpoint.host(), progress);
    let post = server.post(server.endpoint.join("chat/completions"))?.body(body);
    let answer = server.ask(post, &request.model).await?;
    if answer.headers().get(SERVER).is_some_and(|name| name == LLAMA_CPP) {
        known.is_llama_cpp.store(true, Ordering::Relaxed);
    }
    let site = answer.site();
    let asked = Asked { taken: history::call_ids(&request), tools: request.tools };
    Ok(decode(answer.bytes(), site, asked))
}

/// The body of a request to a server at `host`.
pub fn body(request: &Request, host: &str, progress: Progress) -> Vec<u8> {
    request::body(request, dialect::of(host), progress)
}
