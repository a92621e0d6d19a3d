//! Turns the body of a response into events.
//!
//! Text, reasoning and arguments stream. The final form of an item comes from the event that ends
//! it, because the response in the last event may be empty. Items are identified by their place in
//! the output, or by their id if the place is missing: some proxies change the id from event to
//! event. Encrypted reasoning is kept whole, together with the id of the next item, because a
//! server wants both or neither.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::domain::{CallId, ProviderProtocol, StopReason, TokenUsage};
use crate::providers::failure::{self, RequestTarget};
use crate::providers::json::JsonView;
use crate::providers::reader::{DecoderFlow, StreamDecoder, StreamedValue, broke_off};
use crate::providers::response_size::KeptSize;
use crate::providers::{ProviderError, StreamEvent};

/// Turns the protocol's events into [`StreamEvent`]s.
#[derive(Default)]
pub(in crate::providers) struct ResponsesDecoder {
    /// Ids in use, in the history or in this response.
    taken: HashSet<CallId>,
    open: HashMap<OutputItemKey, OpenOutputItem>,
    kept: KeptSize,
    /// Whether items have come in events of their own.
    had_items: bool,
    /// The number of calls that have begun.
    calls: usize,
    /// Whether the last item was reasoning that goes back.
    after_sealed: bool,
    refused: bool,
    ended: Option<ResponseEnd>,
}

/// The item that an event belongs to.
#[derive(PartialEq, Eq, Hash)]
enum OutputItemKey {
    Place(u64),
    Id(String),
}

/// An item that is being streamed.
#[derive(Default, Clone, Copy)]
struct OpenOutputItem {
    /// The number of the call, if the item is one.
    call: Option<usize>,
    /// Whether some of it has streamed.
    streamed: bool,
}

/// How the server ended the response.
#[derive(Clone, Copy)]
enum ResponseEnd {
    Completed,
    Cut,
    Withheld,
}

impl StreamDecoder for ResponsesDecoder {
    fn kept(&self) -> KeptSize {
        self.kept
    }

    fn value(
        &mut self,
        value: StreamedValue<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<DecoderFlow, ProviderError> {
        let event = value.json;
        match event.get("type").word() {
            "response.output_item.added" => self.begin(event, out),
            "response.output_text.delta" => self.take_text_delta(event, out),
            "response.refusal.delta" => {
                self.refused = true;
                self.take_text_delta(event, out);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.open(event).streamed = true;
                think(text(event, "delta"), out);
            }
            "response.reasoning_summary_part.added"
                if event.get("summary_index").number() != Some(0) =>
            {
                think("\n\n".into(), out);
            }
            "response.function_call_arguments.delta" => {
                let piece = text(event, "delta");
                let open = self.open(event);
                if let (Some(index), false) = (open.call, piece.is_empty()) {
                    open.streamed = true;
                    out.push(StreamEvent::ToolInputDelta { index, json: piece.into_owned() });
                }
            }
            "response.output_item.done" => {
                self.had_items = true;
                let open = self.open.remove(&key(event)).unwrap_or_default();
                self.done(open, event.get("item"), out);
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.end(event.get("response"), value.target, out)?;
                self.finish(out);
                return Ok(DecoderFlow::Over);
            }
            "error" => return Err(value.error()),
            // An error in the shape of other protocols.
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
        if !value.json.get("output").is_list() {
            return Err(value.error());
        }
        self.end(value.json, value.target, out)?;
        if !self.is_complete() {
            return Err(broke_off(value.target));
        }
        self.finish(out);
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.ended.is_some()
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        out.push(StreamEvent::Finished(match self.ended {
            Some(ResponseEnd::Withheld) => StopReason::Refusal,
            Some(ResponseEnd::Cut) => StopReason::MaxTokens,
            Some(ResponseEnd::Completed) | None if self.refused => StopReason::Refusal,
            Some(ResponseEnd::Completed) | None if self.calls > 0 => StopReason::ToolUse,
            Some(ResponseEnd::Completed) | None => StopReason::EndTurn,
        }));
    }
}

impl ResponsesDecoder {
    /// A decoder; `taken` are the ids of the history's calls.
    pub(in crate::providers) fn new(taken: HashSet<CallId>) -> Self {
        Self { taken, ..Self::default() }
    }

    fn open(&mut self, event: JsonView<'_>) -> &mut OpenOutputItem {
        self.open.entry(key(event)).or_insert_with_key(|key| {
            self.kept.block();
            if let OutputItemKey::Id(id) = key {
                self.kept.text(id);
            }
            OpenOutputItem::default()
        })
    }

    fn begin(&mut self, event: JsonView<'_>, out: &mut Vec<StreamEvent>) {
        let item = event.get("item");
        match item.get("type").word() {
            "message" => self.bind(item, out),
            "function_call" => {
                let index = self.call(item, out);
                let arguments = text(item, "arguments");
                let open = self.open(event);
                open.call = Some(index);
                if !arguments.is_empty() {
                    open.streamed = true;
                    let json = arguments.into_owned();
                    out.push(StreamEvent::ToolInputDelta { index, json });
                }
            }
            _ => {}
        }
    }

    fn take_text_delta(&mut self, event: JsonView<'_>, out: &mut Vec<StreamEvent>) {
        self.open(event).streamed = true;
        say(text(event, "delta"), out);
    }

    fn call(&mut self, item: JsonView<'_>, out: &mut Vec<StreamEvent>) -> usize {
        self.bind(item, out);
        let given = item.get("call_id").text().or_else(|| item.get("id").text());
        let given = given.filter(|id| !id.is_empty()).map(CallId::new);
        let id = given.filter(|id| self.taken.insert(id.clone()));
        let index = self.calls;
        self.calls += 1;
        out.push(StreamEvent::ToolUseStarted {
            index,
            id: id.unwrap_or_else(CallId::generate),
            name: text(item, "name").into_owned(),
        });
        index
    }

    /// Keeps what has to go back with an item that begins: the id that ties it to the reasoning
    /// before it, and a message's phase.
    fn bind(&mut self, item: JsonView<'_>, out: &mut Vec<StreamEvent>) {
        let after_sealed = std::mem::take(&mut self.after_sealed);
        let mut data = serde_json::Map::new();
        for name in ["id", "phase"] {
            let value = item.get(name);
            if value.is_text() && (after_sealed || name == "phase") {
                data.insert(name.to_owned(), value.to_value());
            }
        }
        if !data.is_empty() {
            push_sealed(Value::Object(data), out);
        }
    }

    fn done(&mut self, open: OpenOutputItem, item: JsonView<'_>, out: &mut Vec<StreamEvent>) {
        match item.get("type").word() {
            "message" => {
                self.after_sealed = false;
                for part in item.get("content").items() {
                    let refusal = part.get("type").word() == "refusal";
                    self.refused |= refusal;
                    if !open.streamed {
                        say(text(part, if refusal { "refusal" } else { "text" }), out);
                    }
                }
            }
            "function_call" => {
                let index = match open.call {
                    Some(index) => index,
                    None => self.call(item, out),
                };
                self.after_sealed = false;
                let arguments = text(item, "arguments");
                if !open.streamed && !arguments.is_empty() {
                    let json = arguments.into_owned();
                    out.push(StreamEvent::ToolInputDelta { index, json });
                }
            }
            "reasoning" => {
                if !open.streamed {
                    let joined_texts = |name| {
                        let texts = item.get(name).items().map(|part| text(part, "text"));
                        texts.collect::<Vec<_>>().join("\n\n")
                    };
                    let summary = joined_texts("summary");
                    think(
                        if summary.is_empty() { joined_texts("content") } else { summary }.into(),
                        out,
                    );
                }
                // Without the encrypted form, a server that stores nothing cannot recognise it.
                if !text(item, "encrypted_content").is_empty() {
                    self.after_sealed = true;
                    push_sealed(item.to_value(), out);
                }
            }
            "" => {}
            _ => push_sealed(item.to_value(), out),
        }
    }

    /// Handles the final response object, which ends the response.
    fn end(
        &mut self,
        response: JsonView<'_>,
        target: &RequestTarget,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        if !self.had_items {
            for item in response.get("output").items() {
                if item.get("type").word() == "message" {
                    self.bind(item, out);
                }
                self.done(OpenOutputItem::default(), item, out);
            }
        }
        count(response.get("usage"), out);
        self.ended = match response.get("status").word() {
            "failed" | "cancelled" => {
                let error = match response.get("error").to_value() {
                    Value::Null => json!({ "message": "the response failed" }),
                    error => error,
                };
                let payload = json!({ "error": error }).to_string();
                return Err(failure::of_stream(target, &payload));
            }
            "in_progress" | "queued" => None,
            "incomplete" => Some(match response.get("incomplete_details").get("reason").word() {
                "content_filter" => ResponseEnd::Withheld,
                _ => ResponseEnd::Cut,
            }),
            _ => Some(ResponseEnd::Completed),
        };
        Ok(())
    }
}

fn key(event: JsonView<'_>) -> OutputItemKey {
    if let Some(place) = event.get("output_index").number() {
        return OutputItemKey::Place(place);
    }
    let id = event.get("item_id").text().or_else(|| event.get("item").get("id").text());
    OutputItemKey::Id(id.unwrap_or_default().into_owned())
}

fn say(text: Cow<'_, str>, out: &mut Vec<StreamEvent>) {
    if !text.is_empty() {
        out.push(StreamEvent::Text(text.into_owned()));
    }
}

fn think(thought: Cow<'_, str>, out: &mut Vec<StreamEvent>) {
    if !thought.is_empty() {
        out.push(StreamEvent::Thinking(thought.into_owned()));
    }
}

fn push_sealed(data: Value, out: &mut Vec<StreamEvent>) {
    out.push(StreamEvent::Sealed { protocol: ProviderProtocol::Responses, data });
}

fn count(usage: JsonView<'_>, out: &mut Vec<StreamEvent>) {
    let count = |name: &str| usage.get(name).number();
    let detail = |name: &str| usage.get("input_tokens_details").get(name).number().unwrap_or(0);
    if let (Some(input), Some(output)) = (count("input_tokens"), count("output_tokens")) {
        out.push(StreamEvent::Usage(TokenUsage {
            input,
            output,
            cache_read: detail("cached_tokens"),
            cache_write: detail("cache_write_tokens"),
        }));
    }
}

fn text<'a>(of: JsonView<'a>, name: &str) -> Cow<'a, str> {
    of.get(name).text().unwrap_or_default()
}

#[cfg(test)]
mod tests;
