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
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use reqwest::header::{ACCEPT, CONTENT_TYPE, SERVER};
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use super::failure::{KeyHeader, Site};
use super::http::{self, Endpoint, Http, Patience};
use super::{ModelInfo, Provider, ProviderError, Request, StreamEvent, cancel, history, listing};

pub use decode::{Asked, decode};
pub use request::Progress;

/// The name by which llama.cpp's server makes itself known in its response head.
const LLAMA_CPP: &str = "llama.cpp";

/// A server of chat completions.
#[derive(Clone)]
pub struct ChatCompletions {
    server: Arc<Server>,
}

struct Server {
    http: Arc<Http>,
    endpoint: Endpoint,
    key: Option<SecretString>,
    is_llama_cpp: AtomicBool,
}

impl ChatCompletions {
    /// The server at `endpoint`, asked with `key`. Nothing is sent yet.
    pub fn new(http: Arc<Http>, endpoint: Endpoint, key: Option<SecretString>) -> Self {
        let is_llama_cpp = AtomicBool::new(false);
        Self { server: Arc::new(Server { http, endpoint, key, is_llama_cpp }) }
    }
}

#[async_trait]
impl Provider for ChatCompletions {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let server = Arc::clone(&self.server);
        let answer = stream::once(async move { server.answer(request).await });
        cancel::until_over(answer.try_flatten().boxed(), cancel)
    }

    async fn models(&self) -> Result<Vec<ModelInfo>, ProviderError> {
        let server = &self.server;
        let list = server.http.client(&server.endpoint)?.get(server.endpoint.join("models"));
        let site = server.site("");
        let listing = listing::fetch(list, &server.http, &server.endpoint, &site).await?;
        if listing.is_llama_cpp {
            server.is_llama_cpp.store(true, Ordering::Relaxed);
        }
        Ok(listing.models)
    }

    fn is_local(&self) -> bool {
        self.server.endpoint.is_local()
    }
}

impl Server {
    async fn answer(
        &self,
        request: Request,
    ) -> Result<BoxStream<'static, Result<StreamEvent, ProviderError>>, ProviderError> {
        let site = self.site(&request.model);
        let patience = Patience::towards(&self.endpoint);
        let progress = match self.is_llama_cpp.load(Ordering::Relaxed) {
            true => Progress::Wanted,
            false => Progress::Unknown,
        };
        let body = body(&request, self.endpoint.host(), progress);
        let post = self
            .http
            .client(&self.endpoint)?
            .post(self.endpoint.join("chat/completions"))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .body(body);
        let (response, deadline) = http::open(post, &site, patience).await?;
        self.recognise(&response);
        let bytes = http::body(response, site.clone(), patience, deadline);
        let asked = Asked { taken: history::call_ids(&request), tools: request.tools };
        let events = decode(bytes, site, asked);
        Ok(stream::once(async { Ok(StreamEvent::Started) }).chain(events).boxed())
    }

    fn site(&self, model: &str) -> Site {
        Site {
            server: self.endpoint.to_string(),
            model: model.to_owned(),
            key: self.key.clone(),
            key_header: KeyHeader::Bearer,
        }
    }

    fn recognise(&self, response: &reqwest::Response) {
        if response.headers().get(SERVER).is_some_and(|name| name == LLAMA_CPP) {
            self.is_llama_cpp.store(true, Ordering::Relaxed);
        }
    }
}

/// The body of a request to a server at `host`.
pub fn body(request: &Request, host: &str, progress: Progress) -> Vec<u8> {
    request::body(request, dialect::of(host), progress)
}
