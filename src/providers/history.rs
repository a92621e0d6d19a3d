//! Parts of a history that every protocol writes the same way, changed so that no server refuses
//! them.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::ProviderRequest;
use crate::domain::{CallId, CallInput, ContentHash, Message, MessageImage};

/// The longest tool name and the longest call id that servers accept.
const LONGEST_NAME: usize = 64;

/// Context that slug adds to a user message, in tags.
pub(super) fn context(name: &str, text: &str) -> String {
    let name = name.replace(['"', '<', '>'], "");
    format!("<context name=\"{name}\">\n{text}\n</context>")
}

/// The text in place of an image that cannot be sent.
pub(super) fn missing(image: &MessageImage) -> String {
    format!("[An image was here: {image}]")
}

/// A valid tool name for a call. Models sometimes write an invalid one, and servers refuse a
/// history that contains it.
pub(super) fn tool_name(name: &str) -> Cow<'_, str> {
    if name.is_empty() { Cow::Borrowed("unknown") } else { fitted(name) }
}

/// The arguments, always as an object: llama.cpp answers 500 to a history with arguments that are
/// not JSON, and templates index into them. What the model wrote is kept inside, so that it sees
/// its mistake.
pub(super) fn arguments(input: &CallInput) -> Cow<'_, Value> {
    match input {
        CallInput::Valid(value @ Value::Object(_)) => Cow::Borrowed(value),
        CallInput::Valid(other) => Cow::Owned(json!({ "arguments": other })),
        CallInput::Invalid(raw) if raw.trim().is_empty() => Cow::Owned(Value::Object(Map::new())),
        CallInput::Invalid(raw) => Cow::Owned(json!({ "invalid_arguments": raw })),
    }
}

/// A call id that strict servers accept; the original may come from another server.
pub(super) fn call_id(id: &CallId) -> Cow<'_, str> {
    fitted(id.as_str())
}

/// The result of a call, for protocols that cannot mark a failed one: the text says it. Some
/// servers refuse an empty result.
pub(super) fn output(content: &str, is_error: bool) -> Cow<'_, str> {
    let says_so = content.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
    if is_error && !says_so {
        Cow::Owned(format!("Error: {content}"))
    } else if content.is_empty() {
        Cow::Borrowed("(no output)")
    } else {
        Cow::Borrowed(content)
    }
}

/// The ids of all calls in the history. A new call must not reuse one, but some servers number the
/// calls of each response from 0.
pub(super) fn call_ids(request: &ProviderRequest) -> HashSet<CallId> {
    request.messages.iter().flat_map(Message::calls).map(|call| call.id.clone()).collect()
}

/// Whether a request says which conversation it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConversationKeyField {
    /// It does not: a server that does not know the field may refuse it.
    None,
    /// `prompt_cache_key`, by which OpenAI finds the machine that has the prompt in its cache.
    PromptCacheKey,
}

impl ConversationKeyField {
    /// The key of the request's conversation, the same in all requests of it: a hash of its first
    /// message, which never changes. `None` where no key is sent.
    pub(super) fn key_of(self, request: &ProviderRequest) -> Option<String> {
        const LENGTH: usize = 32;
        match (self, request.messages.first()) {
            (Self::PromptCacheKey, Some(first)) => {
                Some(ContentHash::of_json(first).to_string().chars().take(LENGTH).collect())
            }
            (Self::PromptCacheKey, None) | (Self::None, _) => None,
        }
    }
}

fn fitted(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.len() <= LONGEST_NAME && name.chars().all(fits) {
        Cow::Borrowed(name)
    } else {
        let fitted = name.chars().map(|c| if fits(c) { c } else { '_' });
        Cow::Owned(fitted.take(LONGEST_NAME).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_with_an_invalid_name_does_not_break_the_history() {
        let table =
            [("", "unknown"), ("Read", "Read"), ("mcp__a__b-c", "mcp__a__b-c"), ("a b.c", "a_b_c")];
        for (given, expected) in table {
            assert_eq!(tool_name(given), expected);
        }
        assert_eq!(tool_name(&"x".repeat(100)).len(), LONGEST_NAME);
    }
}
