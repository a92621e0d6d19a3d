//! Turns the body of a response into events.
//!
//! Every chunk is a whole response that holds the new parts. Calls come whole, mostly without an
//! id. A response is complete once it has a finish reason. Parts of unknown kinds are kept
//! unchanged. Arguments that come in pieces are assembled first ([`PartialFunctionCall`]).

use std::collections::HashSet;

use serde_json::Value;

use super::part_metadata::GeminiPartMetadata;
use super::partial_call::PartialFunctionCall;
use crate::domain::{CallId, StopReason, TokenUsage};
use crate::providers::failure::RequestTarget;
use crate::providers::json::JsonView;
use crate::providers::reader::{DecoderFlow, StreamDecoder, StreamedValue, broke_off};
use crate::providers::response_size::KeptSize;
use crate::providers::{ErrorRecovery, ProviderError, StreamEvent};

/// Turns the protocol's chunks into [`StreamEvent`]s.
#[derive(Default)]
pub(in crate::providers) struct GeminiDecoder {
    /// Ids in use, in the history or in this response.
    taken: HashSet<CallId>,
    /// The number of calls so far.
    calls: usize,
    /// The call whose arguments come in pieces and are not complete.
    partial: Option<PartialFunctionCall>,
    kept: KeptSize,
    /// Whether the last part was text with a signature.
    after_signed: bool,
    counts: GeminiTokenCounts,
    finish_reason: Option<String>,
}

/// The latest token counts.
#[derive(Default)]
struct GeminiTokenCounts {
    prompt: Option<u64>,
    cached: u64,
    for_tools: u64,
    answer: u64,
    thought: u64,
}

/// The finish reason for a request that is not answered at all.
const BLOCKED: &str = "SAFETY";

/// Finish reasons of a response that is withheld.
const REFUSAL_REASONS: [&str; 7] =
    [BLOCKED, "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"];

/// Finish reasons of a response that the server could not parse; the model may write a better one.
const MALFORMED_REASONS: [&str; 5] = [
    "MALFORMED_FUNCTION_CALL",
    "MALFORMED_RESPONSE",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "MISSING_THOUGHT_SIGNATURE",
];

impl StreamDecoder for GeminiDecoder {
    fn value(
        &mut self,
        value: StreamedValue<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<DecoderFlow, ProviderError> {
        self.take(value, out)?;
        Ok(DecoderFlow::More)
    }

    /// Reads a response in one piece: without `alt=sse` chunks come as an array, and so do some
    /// errors.
    fn whole(
        &mut self,
        value: StreamedValue<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        if value.json.is_list() {
            for json in value.json.items() {
                self.take(StreamedValue { json, ..value }, out)?;
            }
        } else {
            self.take(value, out)?;
        }
        if !self.is_complete() {
            return Err(broke_off(value.target));
        }
        self.finish(out);
        Ok(())
    }

    fn kept(&self) -> KeptSize {
        self.kept
    }

    fn is_complete(&self) -> bool {
        self.finish_reason.is_some()
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        out.push(StreamEvent::Finished(self.stop_reason()));
    }
}

impl GeminiDecoder {
    /// A decoder; `taken` are the ids of the history's calls.
    pub(in crate::providers) fn new(taken: HashSet<CallId>) -> Self {
        Self { taken, ..Self::default() }
    }

    fn take(
        &mut self,
        value: StreamedValue<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        let piece = value.json;
        let is_error = |json: JsonView<'_>| !json.get("error").is_null();
        if is_error(piece) || piece.items().next().is_some_and(is_error) {
            return Err(value.error());
        }
        // slug never asks for more than one candidate.
        let candidate = piece.get("candidates").items().next().unwrap_or_default();
        for part in candidate.get("content").get("parts").items() {
            self.part(part, out);
        }
        self.count(piece.get("usageMetadata"), out);
        match candidate.get("finishReason").text().as_deref() {
            Some(word) if MALFORMED_REASONS.contains(&word) && self.calls == 0 => {
                let says = candidate.get("finishMessage").text();
                return Err(spoiled(value.target, word, says.as_deref()));
            }
            Some("FINISH_REASON_UNSPECIFIED" | "") => {}
            Some(word) => self.finish_reason = Some(word.to_owned()),
            None if piece.get("promptFeedback").get("blockReason").is_text() => {
                self.finish_reason = Some(BLOCKED.to_owned());
            }
            None => {}
        }
        Ok(())
    }

    fn part(&mut self, part: JsonView<'_>, out: &mut Vec<StreamEvent>) {
        let signature = part.get("thoughtSignature").non_empty_text();
        let signature = signature.as_deref();
        let is_thought = part.get("thought").is_true();
        let call = part.get("functionCall");
        match part.get("text").text() {
            _ if !call.is_null() => self.call(call, signature, out),
            Some(text) if is_thought => {
                if !text.is_empty() {
                    out.push(StreamEvent::Thinking(text.into_owned()));
                }
                // The thinking itself does not go back, but its signature does.
                if signature.is_some() {
                    self.keep(&signed(signature), out);
                }
            }
            // A history keeps no blank text, so the signature has no part to precede and stands
            // alone.
            Some(text) if signature.is_some() && text.trim().is_empty() => {
                self.keep(&part.to_value(), out);
            }
            Some(text) if text.is_empty() => {}
            Some(text) => self.say(text.into_owned(), signature, out),
            None if is_thought => {}
            None if part.fields().any(|(key, _)| key != "thoughtSignature") => {
                self.keep(&part.to_value(), out);
            }
            None if signature.is_some() => self.keep(&signed(signature), out),
            None => {}
        }
    }

    fn say(&mut self, text: String, signature: Option<&str>, out: &mut Vec<StreamEvent>) {
        if signature.is_some() || self.after_signed {
            out.push(GeminiPartMetadata::over(signature, None).event());
        }
        out.push(StreamEvent::Text(text));
        self.after_signed = signature.is_some();
    }

    fn call(&mut self, call: JsonView<'_>, signature: Option<&str>, out: &mut Vec<StreamEvent>) {
        let name = call.get("name").non_empty_text();
        if self.partial.is_some() && name.is_none() {
            return self.go_on(call, out);
        }
        self.after_signed = false;
        let given = call.get("id").non_empty_text();
        if signature.is_some() || given.is_some() {
            out.push(GeminiPartMetadata::over(signature, given.as_deref()).event());
        }
        let id = given.map(CallId::new).filter(|id| self.taken.insert(id.clone()));
        let index = self.calls;
        self.calls += 1;
        out.push(StreamEvent::ToolUseStarted {
            index,
            id: id.unwrap_or_else(CallId::generate),
            name: name.unwrap_or_default().into_owned(),
        });
        let args = call.get("args");
        if !args.is_null() {
            out.push(StreamEvent::ToolInputDelta { index, json: args.to_value().to_string() });
        }
        if call.get("willContinue").is_true() || call.get("partialArgs").is_list() {
            self.partial = Some(PartialFunctionCall::of(index));
            self.go_on(call, out);
        }
    }

    fn go_on(&mut self, call: JsonView<'_>, out: &mut Vec<StreamEvent>) {
        let Some(mut partial) = self.partial.take() else { return };
        for piece in call.get("partialArgs").items() {
            let piece = piece.to_value();
            self.kept.value(&piece);
            partial.take(&piece);
        }
        if call.get("willContinue").is_true() {
            self.partial = Some(partial);
        } else if let Some(json) = partial.json() {
            out.push(StreamEvent::ToolInputDelta { index: partial.index, json });
        }
    }

    fn keep(&mut self, part: &Value, out: &mut Vec<StreamEvent>) {
        self.after_signed = false;
        out.push(GeminiPartMetadata { part: Some(part), ..GeminiPartMetadata::default() }.event());
    }

    /// Later counts replace earlier ones, field by field.
    fn count(&mut self, usage: JsonView<'_>, out: &mut Vec<StreamEvent>) {
        let counts = &mut self.counts;
        for (name, value) in usage.fields() {
            let Some(reported) = value.number() else { continue };
            match name {
                "promptTokenCount" => counts.prompt = Some(reported),
                "cachedContentTokenCount" => counts.cached = reported,
                "toolUsePromptTokenCount" => counts.for_tools = reported,
                "candidatesTokenCount" => counts.answer = reported,
                "thoughtsTokenCount" => counts.thought = reported,
                _ => {}
            }
        }
        if let (true, Some(prompt)) = (usage.is_object(), counts.prompt) {
            out.push(StreamEvent::Usage(TokenUsage {
                input: prompt + counts.for_tools,
                output: counts.answer + counts.thought,
                cache_read: counts.cached,
                cache_write: 0,
            }));
        }
    }

    fn stop_reason(&self) -> StopReason {
        match self.finish_reason.as_deref() {
            Some("MAX_TOKENS") => StopReason::MaxTokens,
            Some(word) if REFUSAL_REASONS.contains(&word) || word.starts_with("IMAGE_") => {
                StopReason::Refusal
            }
            Some(_) | None if self.partial.is_some() => StopReason::MaxTokens,
            Some(_) | None if self.calls > 0 => StopReason::ToolUse,
            Some(_) | None => StopReason::EndTurn,
        }
    }
}

/// The error for a response that the server could not parse.
fn spoiled(target: &RequestTarget, word: &str, says: Option<&str>) -> ProviderError {
    let word = word.to_lowercase().replace('_', " ");
    let says = says.map_or(String::new(), |says| format!(": {}", says.trim_end_matches('.')));
    ProviderError {
        message: format!("{} broke off with a {word}{says}.", target.http.server),
        status: None,
        recovery: ErrorRecovery::Retry,
    }
}

/// A part that holds only a signature. The API refuses such a part without a text.
fn signed(signature: Option<&str>) -> Value {
    serde_json::json!({ "text": "", "thoughtSignature": signature })
}

#[cfg(test)]
mod tests;
