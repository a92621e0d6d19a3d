//! OpenAI-compatible chat completions, as vLLM, llama.cpp, Ollama, LM Studio and most hosted
//! services speak them.
//!
//! `request` writes the body and [`decode`] reads the stream; here is the way between them.
//! Nothing is sent that only some servers understand, but where `dialect` says that this one does.

mod calls;
mod decode;
mod details;
mod dialect;
mod request;
mod spoken;
mod think;
mod wire;

use std::future::ready;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt};
use reqwest::header::SERVER;
use tokio_util::sync::CancellationToken;

use super::server::Server;
use super::way::Way;
use super::{ModelInfo, Provider, ProviderError, Request, StreamEvent, history};

use crate::domain::{Dialect, Protocol};

pub use decode::{Asked, decode};
pub use request::Progress;

/// The name by which llama.cpp's server makes itself known in its response head.
const LLAMA_CPP: &str = "llama.cpp";

/// A server of chat completions.
#[derive(Clone)]
pub struct ChatCompletions {
    known: Arc<Known>,
}

/// A server, and what it is.
struct Known {
    server: Server,
    /// By the configuration, or by its address.
    told: Option<Dialect>,
    /// By what it has shown.
    shown: OnceLock<Dialect>,
}

impl Known {
    fn dialect(&self) -> Dialect {
        self.told.or(self.shown.get().copied()).unwrap_or(Dialect::Common)
    }
}

impl ChatCompletions {
    /// The server that `way` leads to. Nothing is sent yet.
    pub fn new(way: Way) -> Self {
        let told = way.dialect.or_else(|| dialect::at(way.endpoint.host()));
        let server = Server::new(way, Protocol::ChatCompletions.key_header());
        Self { known: Arc::new(Known { server, told, shown: OnceLock::new() }) }
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
        if let Some(dialect) = listing.dialect {
            self.known.shown.get_or_init(|| dialect);
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
    let dialect = known.dialect();
    let is_llama_cpp = dialect == Dialect::LlamaCpp;
    let progress = if is_llama_cpp { Progress::Wanted } else { Progress::Unknown };
    let quirks = dialect::of(dialect, &request.model);
    let body = request::body(&request, quirks, progress);
    let post = server.post(server.endpoint.join("chat/completions"))?.body(body);
    let taken = history::call_ids(&request);
    let asked = Asked { taken, tools: Arc::clone(&request.tools), details: quirks.details };
    let answer = match server.ask(post, &request.model).await {
        Ok(answer) => answer,
        // What the model wrote is an answer, even where its server could not read it.
        Err(refusal) if wire::failed_generation(&refusal.body).is_some() => {
            let site = server.site(&request.model).await?;
            let body = stream::once(ready(Ok(refusal.body)));
            return Ok(decode(body, site, asked).boxed());
        }
        Err(refusal) => return Err(refusal.error),
    };
    if answer.headers().get(SERVER).is_some_and(|name| name == LLAMA_CPP) {
        known.shown.get_or_init(|| Dialect::LlamaCpp);
    }
    let site = answer.site();
    Ok(decode(answer.bytes(), site, asked).boxed())
}

/// The body of a request to a server at `host` that has not shown what it is.
pub fn body(request: &Request, host: &str, progress: Progress) -> Vec<u8> {
    let dialect = dialect::at(host).unwrap_or(Dialect::Common);
    request::body(request, dialect::of(dialect, &request.model), progress)
}
