//! The provider of each protocol.

use std::sync::Arc;

use super::Provider;
use super::anthropic::Anthropic;
use super::chat::ChatCompletions;
use super::gemini::Gemini;
use super::responses::Responses;
use super::way::Way;
use crate::domain::Protocol;

/// The server that `way` leads to, spoken to by `protocol`. Nothing is sent yet.
pub fn connect(protocol: Protocol, way: Way) -> Arc<dyn Provider> {
    match protocol {
        Protocol::ChatCompletions => Arc::new(ChatCompletions::new(way)),
        Protocol::Anthropic => Arc::new(Anthropic::new(way)),
        Protocol::Responses => Arc::new(Responses::new(way)),
        Protocol::Gemini => Arc::new(Gemini::new(way)),
    }
}
