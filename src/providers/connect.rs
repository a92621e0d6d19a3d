//! The provider of each protocol.

use std::sync::Arc;

use secrecy::SecretString;

use super::Provider;
use super::anthropic::Anthropic;
use super::chat::ChatCompletions;
use super::gemini::Gemini;
use super::http::{Endpoint, Http};
use super::responses::Responses;
use crate::domain::Protocol;

/// The server at `endpoint`, spoken to by `protocol` and asked with `key`. Nothing is sent yet.
pub fn connect(
    protocol: Protocol,
    http: Arc<Http>,
    endpoint: Endpoint,
    key: Option<SecretString>,
) -> Arc<dyn Provider> {
    match protocol {
        Protocol::ChatCompletions => Arc::new(ChatCompletions::new(http, endpoint, key)),
        Protocol::Anthropic => Arc::new(Anthropic::new(http, endpoint, key)),
        Protocol::Responses => Arc::new(Responses::new(http, endpoint, key)),
        Protocol::Gemini => Arc::new(Gemini::new(http, endpoint, key)),
    }
}
