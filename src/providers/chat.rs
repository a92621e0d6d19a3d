//! OpenAI-compatible chat completions, as vLLM, llama.cpp, Ollama, LM Studio and most hosted
//! services serve them.
//!
//! `request` writes the body and `decode` reads the stream; this file connects the two. A field
//! that only some servers accept is sent only if `dialect` says that this server does.

mod calls;
mod decode;
mod described_tools;
mod details;
mod dialect;
mod reasoning_names;
mod request;
mod text_tool_calls;
mod think;
mod wire;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use reqwest::RequestBuilder;
use reqwest::header::{HeaderMap, SERVER};

use super::client::ModelServerClient;
use super::connection_config::ConnectionConfig;
use super::history::ConversationKeyField;
use super::listing::ServerModelList;
use super::protocol_provider::WireProtocol;
use super::{CapabilitySupport, ModelCapabilities, ProviderError, ProviderRequest, history};
use crate::domain::{ChatDialect, ProviderProtocol};
use dialect::ImagePartSupport;
use reasoning_names::ReasoningNames;

pub(super) use decode::{ChatDecoder, ChatRequestContext};
pub use request::PromptProgressReports;

/// The value of llama.cpp's `server` header.
const LLAMA_CPP: &str = "llama.cpp";

/// Chat completions in the dialect of one server.
pub(super) struct ChatProtocol {
    /// The dialect from the configuration or the host; `None` if neither gives one.
    configured_dialect: Option<ChatDialect>,
    /// The dialect that the server's responses have shown.
    detected_dialect: OnceLock<ChatDialect>,
    /// The models with which the server takes no tools.
    refusing_tools: Mutex<HashSet<String>>,
    /// How the server's responses name their reasoning.
    reasoning_names: ReasoningNames,
}

impl ChatProtocol {
    fn dialect(&self) -> ChatDialect {
        self.configured_dialect
            .or(self.detected_dialect.get().copied())
            .unwrap_or(ChatDialect::Common)
    }

    fn refusing_tools(&self) -> MutexGuard<'_, HashSet<String>> {
        self.refusing_tools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WireProtocol for ChatProtocol {
    const PROTOCOL: ProviderProtocol = ProviderProtocol::ChatCompletions;
    type Decoder = ChatDecoder;

    fn new(config: &ConnectionConfig) -> Self {
        let configured_dialect = config.dialect.or_else(|| dialect::at(config.endpoint.host()));
        Self {
            configured_dialect,
            detected_dialect: OnceLock::new(),
            refusing_tools: Mutex::default(),
            reasoning_names: ReasoningNames::default(),
        }
    }

    fn post(
        &self,
        client: &ModelServerClient,
        request: &ProviderRequest,
    ) -> Result<RequestBuilder, ProviderError> {
        let dialect = self.dialect();
        let is_llama_cpp = dialect == ChatDialect::LlamaCpp;
        let progress = if is_llama_cpp {
            PromptProgressReports::Wanted
        } else {
            PromptProgressReports::Unknown
        };
        let quirks = dialect::of(dialect, &request.model);
        let quirks = self.reasoning_names.settle(request, quirks);
        let body = if self.refusing_tools().contains(&request.model) {
            request::body(&described_tools::described(request), quirks, progress)
        } else {
            request::body(request, quirks, progress)
        };
        Ok(client.post(client.endpoint.join("chat/completions"))?.body(body))
    }

    fn model_list(&self, client: &ModelServerClient) -> Result<RequestBuilder, ProviderError> {
        client.get(client.endpoint.join("models"))
    }

    fn decoder(&self, request: &ProviderRequest) -> ChatDecoder {
        let quirks = dialect::of(self.dialect(), &request.model);
        ChatDecoder::new(ChatRequestContext {
            taken: history::call_ids(request),
            tools: Arc::clone(&request.tools),
            details: quirks.details,
            reasoning_name: self.reasoning_names.open(&request.model, quirks),
        })
    }

    fn learn_from_headers(&self, headers: &HeaderMap) {
        if headers.get(SERVER).is_some_and(|name| name == LLAMA_CPP) {
            self.detected_dialect.get_or_init(|| ChatDialect::LlamaCpp);
        }
    }

    fn learn_from_list(&self, list: &ServerModelList) {
        if let Some(dialect) = list.dialect {
            self.detected_dialect.get_or_init(|| dialect);
        }
        let without = list.capabilities.iter();
        let without = without.filter(|(_, can)| can.tools == CapabilitySupport::Unsupported);
        self.refusing_tools().extend(without.map(|(model, _)| model.clone()));
    }

    fn learn_tools_are_refused(&self, model: &str) -> bool {
        self.refusing_tools().insert(model.to_owned());
        true
    }

    fn capabilities(&self, model: &str) -> ModelCapabilities {
        let is_refusing = self.refusing_tools().contains(model);
        ModelCapabilities {
            tools: if is_refusing {
                CapabilitySupport::Unsupported
            } else {
                CapabilitySupport::Unknown
            },
            images: match dialect::of(self.dialect(), model).pictures {
                ImagePartSupport::Sent => CapabilitySupport::Unknown,
                ImagePartSupport::Named => CapabilitySupport::Unsupported,
            },
            ..ModelCapabilities::default()
        }
    }
}

/// Whether the service at `host` is told which conversation a request belongs to.
pub(super) fn conversation_key(host: &str) -> ConversationKeyField {
    dialect::quirks(dialect::at(host).unwrap_or(ChatDialect::Common)).conversation_key
}

/// The body of a request to a server at `host` whose dialect has not been detected.
pub fn body(request: &ProviderRequest, host: &str, progress: PromptProgressReports) -> Vec<u8> {
    let dialect = dialect::at(host).unwrap_or(ChatDialect::Common);
    request::body(request, dialect::of(dialect, &request.model), progress)
}
