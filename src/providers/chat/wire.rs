//! A chunk of a streamed chat completion, read leniently: any field may be missing or of any type.

use std::borrow::Cow;

use serde_json::Value;

use super::dialect::{self, ReasoningField};
use crate::domain::TokenUsage;
use crate::providers::PrefillProgress;
use crate::providers::json::JsonView;

/// The fields of a chunk that slug reads.
#[derive(Default)]
pub(super) struct ChatChunk<'a> {
    choices: JsonView<'a>,
    usage: JsonView<'a>,
    x_groq: JsonView<'a>,
    prompt_progress: JsonView<'a>,
    error: JsonView<'a>,
    object: JsonView<'a>,
}

/// One of the choices; slug asks for only one.
#[derive(Default)]
pub(super) struct ChatChoice<'a> {
    pub(super) index: JsonView<'a>,
    pub(super) delta: JsonView<'a>,
    pub(super) message: JsonView<'a>,
    pub(super) finish_reason: JsonView<'a>,
}

/// The content of a choice.
#[derive(Default)]
pub(super) struct ChatDelta<'a> {
    pub(super) content: JsonView<'a>,
    reasoning_content: JsonView<'a>,
    reasoning: JsonView<'a>,
    pub(super) reasoning_details: JsonView<'a>,
    pub(super) refusal: JsonView<'a>,
    pub(super) tool_calls: JsonView<'a>,
    pub(super) function_call: JsonView<'a>,
}

impl<'a> ChatChunk<'a> {
    /// Reads the known fields in one pass.
    pub(super) fn of(json: JsonView<'a>) -> Self {
        let mut chunk = Self::default();
        for (name, value) in json.fields() {
            match name {
                "choices" => chunk.choices = value,
                "usage" => chunk.usage = value,
                "x_groq" => chunk.x_groq = value,
                "prompt_progress" => chunk.prompt_progress = value,
                "error" => chunk.error = value,
                "object" => chunk.object = value,
                _ => {}
            }
        }
        chunk
    }

    /// Whether it is an error instead of a chunk.
    pub(super) fn is_error(&self) -> bool {
        let is_empty = match self.error.text() {
            Some(text) => text.is_empty(),
            None if self.error.is_object() => self.error.fields().next().is_none(),
            None => self.error.is_null(),
        };
        !is_empty || self.object.word() == "error"
    }

    pub(super) fn choices(&self) -> impl Iterator<Item = ChatChoice<'a>> + use<'a> {
        self.choices.items().map(ChatChoice::of)
    }

    /// How far the server has read the prompt.
    pub(super) fn prefill(&self) -> Option<PrefillProgress> {
        let count = |name| self.prompt_progress.get(name).number();
        let (processed, total) = (count("processed")?, count("total")?);
        Some(PrefillProgress { processed, total, cached: count("cache").unwrap_or(0) })
    }

    /// The token counts so far.
    pub(super) fn usage(&self) -> Option<TokenUsage> {
        usage(self.usage).or_else(|| usage(self.x_groq.get("usage")))
    }
}

impl<'a> ChatChoice<'a> {
    fn of(json: JsonView<'a>) -> Self {
        let mut choice = Self::default();
        for (name, value) in json.fields() {
            match name {
                "index" => choice.index = value,
                "delta" => choice.delta = value,
                "message" => choice.message = value,
                "finish_reason" => choice.finish_reason = value,
                _ => {}
            }
        }
        choice
    }
}

impl<'a> ChatDelta<'a> {
    /// Reads a delta or a message.
    pub(super) fn of(json: JsonView<'a>) -> Self {
        let mut delta = Self::default();
        for (name, value) in json.fields() {
            match name {
                "content" => delta.content = value,
                "reasoning_content" => delta.reasoning_content = value,
                "reasoning" => delta.reasoning = value,
                "reasoning_details" => delta.reasoning_details = value,
                "refusal" => delta.refusal = value,
                "tool_calls" => delta.tool_calls = value,
                "function_call" => delta.function_call = value,
                _ => {}
            }
        }
        delta
    }

    /// The name of the one field that holds the reasoning; `None` where several do, or another.
    pub(super) fn reasoning_fields(&self) -> Option<&'static [ReasoningField]> {
        let is_there = |value: JsonView<'_>| value.non_empty_text().is_some();
        match (is_there(self.reasoning_content), is_there(self.reasoning)) {
            (true, false) => Some(dialect::CONTENT),
            (false, true) => Some(dialect::PLAIN),
            (true, true) | (false, false) => None,
        }
    }

    /// The reasoning from the first field that has any. If there are more such fields, they repeat
    /// it.
    pub(super) fn reasoning(&self) -> Option<String> {
        let reasoning =
            self.reasoning_content.non_empty_text().or_else(|| self.reasoning.non_empty_text());
        reasoning.map(Cow::into_owned).or_else(|| {
            let details: String = self.reasoning_details.items().map(texts).collect();
            (!details.is_empty()).then_some(details)
        })
    }
}

/// The text of a content or reasoning part: a string, a list of parts, or the part's text field.
pub(super) fn texts(part: JsonView<'_>) -> Cow<'_, str> {
    if part.is_list() {
        return part.items().map(texts).collect::<String>().into();
    }
    let field = |name| part.get(name);
    let text = if field("text").is_null() { field("summary") } else { field("text") };
    part.text().or_else(|| text.text()).unwrap_or_default()
}

/// The model's text, in an error of a server that could not parse a call in it. OpenRouter passes
/// the upstream provider's error on as a string.
pub(super) fn failed_generation(payload: &str) -> Option<String> {
    let json: Value = serde_json::from_str(payload).ok()?;
    let error = json.get("error").unwrap_or(&json);
    let written = error.get("failed_generation").and_then(Value::as_str);
    let written = written.filter(|written| !written.trim().is_empty()).map(str::to_owned);
    written.or_else(|| failed_generation(error.pointer("/metadata/raw")?.as_str()?))
}

/// Some servers count reasoning apart from the completion; the total shows whether they do.
fn usage(usage: JsonView<'_>) -> Option<TokenUsage> {
    let count = |name| usage.get(name).number();
    let detail = |of, name| usage.get(of).get(name).number();
    let input = count("prompt_tokens")?;
    let completion = count("completion_tokens").unwrap_or(0);
    let thought = detail("completion_tokens_details", "reasoning_tokens").unwrap_or(0);
    let apart = count("total_tokens") == Some(input + completion + thought);
    let cached = detail("prompt_tokens_details", "cached_tokens");
    let cached = cached.or_else(|| count("prompt_cache_hit_tokens"));
    Some(TokenUsage {
        input,
        output: if apart { completion + thought } else { completion },
        cache_read: cached.or_else(|| count("cached_tokens")).unwrap_or(0),
        // If a server counts cache writes at all, they cost no more than other input.
        cache_write: 0,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::providers::json::JsonTape;

    fn read(json: &Value) -> Option<TokenUsage> {
        usage(JsonTape::default().read(&json.to_string()).unwrap())
    }

    #[test]
    fn usage_is_read_in_every_form() {
        let table = [
            (json!({"prompt_tokens": 9, "completion_tokens": 2}), (9, 2, 0)),
            (
                json!({"prompt_tokens": 9, "completion_tokens": 2,
                   "prompt_tokens_details": {"cached_tokens": 8}}),
                (9, 2, 8),
            ),
            (
                json!({"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 7}),
                (9, 2, 7),
            ),
            // Reasoning that is part of the completion, and reasoning that is counted apart.
            (
                json!({"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14,
                   "completion_tokens_details": {"reasoning_tokens": 3}}),
                (9, 5, 0),
            ),
            (
                json!({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 14,
                   "completion_tokens_details": {"reasoning_tokens": 3}}),
                (9, 5, 0),
            ),
            // No count.
            (
                json!({"prompt_tokens": 9, "completion_tokens": u64::MAX, "total_tokens": u64::MAX,
                   "completion_tokens_details": {"reasoning_tokens": u64::MAX}}),
                (9, 0, 0),
            ),
        ];
        for (json, (input, output, cache_read)) in table {
            assert_eq!(
                read(&json),
                Some(TokenUsage { input, output, cache_read, ..TokenUsage::default() }),
                "{json}"
            );
        }
        assert_eq!(read(&Value::Null), None);
    }
}
