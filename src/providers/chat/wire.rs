//! A chunk of a streamed chat completion, read as leniently as servers write it.

use serde::Deserialize;
use serde_json::Value;

use crate::domain::Usage;
use crate::providers::Prefill;

/// What is read of a chunk. Only the outline is typed: any leaf may be of any type.
#[derive(Deserialize)]
pub(super) struct Chunk {
    pub(super) choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Value,
    #[serde(default)]
    x_groq: Value,
    #[serde(default)]
    prompt_progress: Value,
    #[serde(default)]
    error: Value,
    #[serde(default)]
    object: Value,
}

/// One of the answers; slug asks for one alone.
#[derive(Deserialize)]
pub(super) struct Choice {
    #[serde(default)]
    pub(super) index: Value,
    pub(super) delta: Option<Said>,
    pub(super) message: Option<Said>,
    #[serde(default)]
    pub(super) finish_reason: Value,
}

/// What is said in it.
#[derive(Deserialize)]
pub(super) struct Said {
    #[serde(default)]
    pub(super) content: Value,
    #[serde(default)]
    reasoning_content: Value,
    #[serde(default)]
    reasoning: Value,
    #[serde(default)]
    pub(super) reasoning_details: Value,
    #[serde(default)]
    pub(super) refusal: Value,
    #[serde(default)]
    pub(super) tool_calls: Value,
    #[serde(default)]
    pub(super) function_call: Value,
}

impl Chunk {
    /// Whether it is an error in the place of a chunk.
    pub(super) fn is_error(&self) -> bool {
        let said = match &self.error {
            Value::Null => false,
            Value::String(text) => !text.is_empty(),
            Value::Object(error) => !error.is_empty(),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) => true,
        };
        said || self.object == "error"
    }

    /// How far the server is with the prompt.
    pub(super) fn prefill(&self) -> Option<Prefill> {
        let count = |key| self.prompt_progress.get(key).and_then(Value::as_u64);
        let (processed, total) = (count("processed")?, count("total")?);
        Some(Prefill { processed, total, cached: count("cache").unwrap_or(0) })
    }

    /// The tokens so far.
    pub(super) fn usage(&self) -> Option<Usage> {
        usage(&self.usage).or_else(|| usage(self.x_groq.get("usage")?))
    }
}

impl Said {
    /// The reasoning from the first field that has any: the others, where there are more, repeat
    /// it.
    pub(super) fn reasoning(&self) -> Option<String> {
        let filled =
            |field: &Value| field.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        filled(&self.reasoning_content).or_else(|| filled(&self.reasoning)).or_else(|| {
            let details: String = self.reasoning_details.as_array()?.iter().map(texts).collect();
            (!details.is_empty()).then_some(details)
        })
    }
}

/// The text in a part of content or reasoning: itself, its parts', or that of its text field.
pub(super) fn texts(part: &Value) -> String {
    match part {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(texts).collect(),
        Value::Object(fields) => {
            let text = fields.get("text").or_else(|| fields.get("summary"));
            text.and_then(Value::as_str).unwrap_or_default().to_owned()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// What the model wrote, in an error of a server that could not make a call of it. OpenRouter hands
/// the error of the provider behind it on as text.
pub(super) fn failed_generation(payload: &str) -> Option<String> {
    let json: Value = serde_json::from_str(payload).ok()?;
    let error = json.get("error").unwrap_or(&json);
    let written = error.get("failed_generation").and_then(Value::as_str);
    let written = written.filter(|written| !written.trim().is_empty()).map(str::to_owned);
    written.or_else(|| failed_generation(error.pointer("/metadata/raw")?.as_str()?))
}

/// Some count reasoning apart from the completion; then the total tells.
fn usage(usage: &Value) -> Option<Usage> {
    let count = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    let input = count("/prompt_tokens")?;
    let said = count("/completion_tokens").unwrap_or(0);
    let thought = count("/completion_tokens_details/reasoning_tokens").unwrap_or(0);
    let apart = count("/total_tokens") == Some(input + said + thought);
    let cached =
        ["/prompt_tokens_details/cached_tokens", "/prompt_cache_hit_tokens", "/cached_tokens"];
    Some(Usage {
        input,
        output: if apart { said + thought } else { said },
        cache_read: cached.iter().find_map(|path| count(path)).unwrap_or(0),
        // Where writing is counted at all, it costs no more than reading.
        cache_write: 0,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
        ];
        for (json, (input, output, cache_read)) in table {
            assert_eq!(
                usage(&json),
                Some(Usage { input, output, cache_read, ..Usage::default() }),
                "{json}"
            );
        }
        assert_eq!(usage(&Value::Null), None);
    }
}
