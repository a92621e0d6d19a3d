//! A chunk of a streamed chat completion, read as leniently as servers write it.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::domain::Usage;
use crate::providers::Prefill;

/// What is read of a chunk. Only the outline is typed: any leaf may be of any type.
#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    usage: Rare,
    x_groq: Rare,
    prompt_progress: Rare,
    error: Rare,
    #[serde(borrow, default)]
    object: Leaf<'a>,
}

/// One of the answers; slug asks for one alone.
#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(borrow, default)]
    pub(super) index: Leaf<'a>,
    #[serde(borrow)]
    pub(super) delta: Option<Said<'a>>,
    #[serde(borrow)]
    pub(super) message: Option<Box<Said<'a>>>,
    #[serde(borrow, default)]
    pub(super) finish_reason: Leaf<'a>,
}

/// What is said in it.
#[derive(Deserialize)]
pub(super) struct Said<'a> {
    #[serde(borrow, default)]
    pub(super) content: Leaf<'a>,
    #[serde(borrow, default)]
    reasoning_content: Leaf<'a>,
    #[serde(borrow, default)]
    reasoning: Leaf<'a>,
    pub(super) reasoning_details: Rare,
    #[serde(borrow, default)]
    pub(super) refusal: Leaf<'a>,
    pub(super) tool_calls: Rare,
    pub(super) function_call: Rare,
}

/// What few chunks have, which should not make all of them large.
type Rare = Option<Box<Value>>;

/// What most chunks have, and few as anything but a short text.
#[derive(Default)]
pub(super) enum Leaf<'a> {
    /// Nothing that is ever read.
    #[default]
    Null,
    /// Borrowed from the chunk, where nothing in it is escaped.
    Text(Cow<'a, str>),
    Number(u64),
    /// A list or an object.
    Other(Box<Value>),
}

impl Chunk<'_> {
    /// Whether it is an error in the place of a chunk.
    pub(super) fn is_error(&self) -> bool {
        let said = match self.error.as_deref() {
            None | Some(Value::Null) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Object(error)) => !error.is_empty(),
            Some(Value::Bool(_) | Value::Number(_) | Value::Array(_)) => true,
        };
        said || self.object.text() == Some("error")
    }

    /// How far the server is with the prompt.
    pub(super) fn prefill(&self) -> Option<Prefill> {
        let progress = self.prompt_progress.as_deref()?;
        let count = |key| progress.get(key).and_then(Value::as_u64);
        let (processed, total) = (count("processed")?, count("total")?);
        Some(Prefill { processed, total, cached: count("cache").unwrap_or(0) })
    }

    /// The tokens so far.
    pub(super) fn usage(&self) -> Option<Usage> {
        let of_groq = || usage(self.x_groq.as_deref()?.get("usage")?);
        self.usage.as_deref().and_then(usage).or_else(of_groq)
    }
}

impl Said<'_> {
    /// The reasoning from the first field that has any: the others, where there are more, repeat
    /// it.
    pub(super) fn reasoning(&self) -> Option<String> {
        let filled = |field: &Leaf| field.text().filter(|text| !text.is_empty()).map(str::to_owned);
        filled(&self.reasoning_content).or_else(|| filled(&self.reasoning)).or_else(|| {
            let details = self.reasoning_details.as_deref()?.as_array()?;
            let details: String = details.iter().map(texts).collect();
            (!details.is_empty()).then_some(details)
        })
    }
}

impl Leaf<'_> {
    /// The text that it is.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Null | Self::Number(_) | Self::Other(_) => None,
        }
    }

    /// The whole number that it is.
    pub(super) fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Null | Self::Text(_) | Self::Other(_) => None,
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Leaf<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

/// Reads a leaf of any type.
struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Leaf<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Leaf<'de>, E> {
        Ok(Leaf::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Leaf<'de>, E> {
        Ok(Leaf::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Leaf<'de>, E> {
        Ok(Leaf::Number(number))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Leaf<'de>, E> {
        Ok(Leaf::Null)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Leaf<'de>, E> {
        Ok(Leaf::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Leaf<'de>, E> {
        Ok(Leaf::Null)
    }

    fn visit_unit<E>(self) -> Result<Leaf<'de>, E> {
        Ok(Leaf::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Leaf<'de>, A::Error> {
        let value = Value::deserialize(SeqAccessDeserializer::new(items))?;
        Ok(Leaf::Other(Box::new(value)))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Leaf<'de>, A::Error> {
        let value = Value::deserialize(MapAccessDeserializer::new(fields))?;
        Ok(Leaf::Other(Box::new(value)))
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
