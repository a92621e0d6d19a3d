//! Turns the body of a response into events.
//!
//! A response is complete at `message_stop`, or, if a gateway leaves that out, once the stop reason
//! has come. Blocks of unknown kinds are assembled and kept unchanged, because a paused response
//! goes back with all its blocks.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::domain::{CallId, CallInput, ProviderProtocol, StopReason, TokenUsage};
use crate::providers::json::JsonView;
use crate::providers::reader::{DecoderFlow, StreamDecoder, StreamedValue};
use crate::providers::response_size::KeptSize;
use crate::providers::{ProviderError, StreamEvent};

/// Turns the protocol's events into [`StreamEvent`]s.
#[derive(Default)]
pub(in crate::providers) struct AnthropicDecoder {
    /// The blocks that have begun and not ended, by the server's block number.
    open: BTreeMap<u64, OpenContentBlock>,
    kept: KeptSize,
    /// The number of calls that have begun.
    calls: usize,
    /// Whether the arguments of a call broke off.
    cut: bool,
    counts: AnthropicTokenCounts,
    stop_reason: Option<String>,
}

/// A block that is being streamed.
enum OpenContentBlock {
    Text,
    Thinking { signature: String },
    Call { index: usize, given: Value, json: String },
    Other { block: Value, json: String },
}

/// The latest token counts.
#[derive(Default)]
struct AnthropicTokenCounts {
    fresh: Option<u64>,
    written: u64,
    read: u64,
    output: u64,
}

impl StreamDecoder for AnthropicDecoder {
    fn value(
        &mut self,
        value: StreamedValue<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<DecoderFlow, ProviderError> {
        let event = value.json;
        let number = event.get("index").number().unwrap_or(0);
        match event.get("type").word() {
            "message_start" => self.count(event.get("message").get("usage"), out),
            "content_block_start" => self.begin(number, event.get("content_block"), out),
            "content_block_delta" => self.delta(number, event.get("delta"), out),
            "content_block_stop" => self.end(number, out),
            "message_delta" => {
                self.stop_reason = stop_reason_of(event.get("delta")).or(self.stop_reason.take());
                self.count(event.get("usage"), out);
            }
            "message_stop" => {
                self.finish(out);
                return Ok(DecoderFlow::Over);
            }
            "error" => return Err(value.error()),
            // An error in the shape of other protocols; llama.cpp sends them.
            "" if !event.get("error").is_null() => {
                return Err(value.error());
            }
            _ => {}
        }
        Ok(DecoderFlow::More)
    }

    fn whole(
        &mut self,
        value: StreamedValue<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        let message = value.json;
        if message.get("type").word() != "message" {
            return Err(value.error());
        }
        self.count(message.get("usage"), out);
        for (number, block) in (0..).zip(message.get("content").items()) {
            self.begin(number, block, out);
            self.end(number, out);
        }
        self.stop_reason = stop_reason_of(message);
        self.finish(out);
        Ok(())
    }

    fn kept(&self) -> KeptSize {
        self.kept
    }

    fn is_complete(&self) -> bool {
        self.stop_reason.is_some()
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        let open: Vec<u64> = self.open.keys().copied().collect();
        for number in open {
            self.end(number, out);
        }
        out.push(StreamEvent::Finished(self.stop_reason()));
    }
}

impl AnthropicDecoder {
    fn begin(&mut self, number: u64, block: JsonView<'_>, out: &mut Vec<StreamEvent>) {
        let text = |name: &str| block.get(name).text().unwrap_or_default();
        let open = match block.get("type").word() {
            "text" => {
                say(block.get("text"), out);
                OpenContentBlock::Text
            }
            "thinking" => {
                think(block.get("thinking"), out);
                let signature = text("signature").into_owned();
                self.kept.text(&signature);
                OpenContentBlock::Thinking { signature }
            }
            "tool_use" => {
                let index = self.calls;
                self.calls += 1;
                let id = CallId::new(text("id"));
                out.push(StreamEvent::ToolUseStarted {
                    index,
                    id,
                    name: text("name").into_owned(),
                });
                let given = block.get("input").to_value();
                self.kept.value(&given);
                OpenContentBlock::Call { index, given, json: String::new() }
            }
            _ => {
                let block = block.to_value();
                self.kept.value(&block);
                OpenContentBlock::Other { block, json: String::new() }
            }
        };
        self.kept.block();
        self.open.insert(number, open);
    }

    fn delta(&mut self, number: u64, delta: JsonView<'_>, out: &mut Vec<StreamEvent>) {
        let text = |name: &str| delta.get(name).text().unwrap_or_default();
        match (delta.get("type").word(), self.open.get_mut(&number)) {
            ("text_delta", _) => say(delta.get("text"), out),
            ("thinking_delta", _) => think(delta.get("thinking"), out),
            ("signature_delta", Some(OpenContentBlock::Thinking { signature })) => {
                let piece = text("signature");
                self.kept.text(&piece);
                signature.push_str(&piece);
            }
            ("input_json_delta", Some(OpenContentBlock::Call { index, json, .. })) => {
                let piece = text("partial_json");
                self.kept.text(&piece);
                json.push_str(&piece);
                if !piece.is_empty() {
                    let (index, json) = (*index, piece.into_owned());
                    out.push(StreamEvent::ToolInputDelta { index, json });
                }
            }
            ("input_json_delta", Some(OpenContentBlock::Other { json, .. })) => {
                let piece = text("partial_json");
                self.kept.text(&piece);
                json.push_str(&piece);
            }
            _ => {}
        }
    }

    fn end(&mut self, number: u64, out: &mut Vec<StreamEvent>) {
        match self.open.remove(&number) {
            Some(OpenContentBlock::Thinking { signature }) if !signature.is_empty() => {
                out.push(StreamEvent::Signature(signature));
            }
            Some(OpenContentBlock::Call { index, given, json }) => {
                if !json.trim().is_empty() {
                    self.cut |= CallInput::is_truncated(&json);
                } else if given.as_object().is_some_and(|given| !given.is_empty()) {
                    out.push(StreamEvent::ToolInputDelta { index, json: given.to_string() });
                }
            }
            Some(OpenContentBlock::Other { mut block, json }) => {
                if let (Some(fields), Ok(input)) = (block.as_object_mut(), parsed(&json)) {
                    fields.insert("input".to_owned(), input);
                }
                if block.is_object() {
                    out.push(StreamEvent::Sealed {
                        protocol: ProviderProtocol::Anthropic,
                        data: block,
                    });
                }
            }
            Some(OpenContentBlock::Text | OpenContentBlock::Thinking { .. }) | None => {}
        }
    }

    /// Later counts replace earlier ones, field by field.
    fn count(&mut self, usage: JsonView<'_>, out: &mut Vec<StreamEvent>) {
        let counts = &mut self.counts;
        let reported = |name: &str| usage.get(name).number();
        counts.fresh = reported("input_tokens").or(counts.fresh);
        counts.written = reported("cache_creation_input_tokens").unwrap_or(counts.written);
        counts.read = reported("cache_read_input_tokens").unwrap_or(counts.read);
        counts.output = reported("output_tokens").unwrap_or(counts.output);
        if let (true, Some(fresh)) = (usage.is_object(), counts.fresh) {
            out.push(StreamEvent::Usage(TokenUsage {
                input: fresh + counts.written + counts.read,
                output: counts.output,
                cache_read: counts.read,
                cache_write: counts.written,
            }));
        }
    }

    fn stop_reason(&self) -> StopReason {
        match self.stop_reason.as_deref() {
            Some("max_tokens" | "model_context_window_exceeded") => StopReason::MaxTokens,
            Some("refusal") => StopReason::Refusal,
            Some("pause_turn") => StopReason::Paused,
            Some(_) | None if self.cut => StopReason::MaxTokens,
            Some(_) | None if self.calls > 0 => StopReason::ToolUse,
            Some(_) | None => StopReason::EndTurn,
        }
    }
}

fn say(text: JsonView<'_>, out: &mut Vec<StreamEvent>) {
    out.extend(text.non_empty_text().map(|text| StreamEvent::Text(text.into_owned())));
}

fn think(thought: JsonView<'_>, out: &mut Vec<StreamEvent>) {
    out.extend(thought.non_empty_text().map(|thought| StreamEvent::Thinking(thought.into_owned())));
}

fn stop_reason_of(of: JsonView<'_>) -> Option<String> {
    of.get("stop_reason").text().map(Cow::into_owned)
}

/// The input of a streamed block; an error if its JSON is invalid.
fn parsed(json: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(json)
}

#[cfg(test)]
mod tests;
