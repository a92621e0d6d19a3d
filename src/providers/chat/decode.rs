//! Turns the body of a response into events.
//!
//! A response is complete at a terminal sign: a finish reason, `[DONE]`, or the closing chunk with
//! the usage and no choices. Errors come at any place and in any shape, even with status 200. An
//! error that carries the model's text, because the server found no call in it, ends the response
//! normally if slug finds the call.

use std::collections::HashSet;
use std::sync::Arc;

use super::calls::ToolCallAssembler;
use super::details::ReasoningDetails;
use super::dialect::ReasoningDetailsMode;
use super::reasoning_names::ReasoningName;
use super::text_tool_calls::{TextToolCall, TextToolCallParser};
use super::think::{self, AnswerPiece, ThinkTagSplitter};
use super::wire::{self, ChatChoice, ChatChunk, ChatDelta};
use crate::domain::{CallId, ProviderProtocol, StopReason, TokenUsage, ToolSpec};
use crate::providers::failure::{self, RequestTarget};
use crate::providers::json::JsonView;
use crate::providers::reader::{DecoderFlow, StreamDecoder, StreamedValue};
use crate::providers::response_size::KeptSize;
use crate::providers::{ProviderError, StreamEvent};

/// What the decoder has to know about the request.
#[derive(Debug, Clone, Default)]
pub(in crate::providers) struct ChatRequestContext {
    /// The ids of the calls in the request's history.
    pub(super) taken: HashSet<CallId>,
    /// The tools that the request declares.
    pub(super) tools: Arc<[ToolSpec]>,
    /// Whether `reasoning_details` are kept.
    pub(super) details: ReasoningDetailsMode,
    /// Where the field of the reasoning is noted; `None` if it is known.
    pub(super) reasoning_name: Option<ReasoningName>,
}

/// Turns chunks into events. Only choice 0 counts.
pub(in crate::providers) struct ChatDecoder {
    calls: ToolCallAssembler,
    text: ThinkTagSplitter,
    /// Finds calls that the model wrote as text.
    text_calls: TextToolCallParser,
    /// The `reasoning_details`; `None` if they are not kept.
    details: Option<ReasoningDetails>,
    /// All that has gone into what holds something back; calls count for themselves.
    kept: KeptSize,
    /// Where the field of the reasoning is noted, until it has been.
    reasoning_name: Option<ReasoningName>,
    /// Whether any text has come.
    has_said: bool,
    finish_word: Option<String>,
    refused: bool,
    usage: Option<TokenUsage>,
    /// Whether the chunk with the usage and no choices has come.
    closed_by_usage: bool,
}

impl ChatRequestContext {
    /// The first request of a conversation, which declares `tools`.
    pub(in crate::providers) fn first(tools: Arc<[ToolSpec]>) -> Self {
        Self { tools, ..Self::default() }
    }
}

impl StreamDecoder for ChatDecoder {
    const DONE_ENDS: bool = true;

    fn value(
        &mut self,
        value: StreamedValue<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<DecoderFlow, ProviderError> {
        if !value.json.is_object() {
            // A broken chunk after a complete response does no harm.
            return if self.is_complete() { Ok(DecoderFlow::More) } else { Err(value.error()) };
        }
        let chunk = ChatChunk::of(value.json);
        if chunk.is_error() {
            return self.failed(value.text, value.target, out).map(|()| DecoderFlow::Over);
        }
        self.chunk(&chunk, ChatDeltaLookup::Only, value.target, out).map(|()| DecoderFlow::More)
    }

    fn whole(
        &mut self,
        value: StreamedValue<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        let chunk = ChatChunk::of(value.json);
        if chunk.is_error() || chunk.choices().next().is_none() {
            return self.failed(value.text, value.target, out);
        }
        self.chunk(&chunk, ChatDeltaLookup::OrMessage, value.target, out)?;
        self.finish(out);
        Ok(())
    }

    fn kept(&self) -> KeptSize {
        self.kept.and(self.calls.kept())
    }

    fn is_complete(&self) -> bool {
        self.finish_word.is_some() || self.closed_by_usage
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        self.split(out, |text, take| text.finish(take));
        let calls =
            self.text_calls.finish(&mut |text| out.push(StreamEvent::Text(text.to_owned())));
        self.add(calls, out);
        self.calls.finish(out);
        if let Some(data) = self.details.as_mut().and_then(ReasoningDetails::finish) {
            out.push(StreamEvent::Sealed { protocol: ProviderProtocol::ChatCompletions, data });
        }
        out.push(StreamEvent::Finished(self.stop_reason()));
    }

    fn failed(
        &mut self,
        payload: &str,
        target: &RequestTarget,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        let error = failure::of_stream(target, payload);
        // Once the server has reported a call, the same call in the text could not be told apart
        // from it.
        let written = wire::failed_generation(payload).filter(|_| !self.calls.has_calls());
        let rescued = written.and_then(|it| self.text_calls.rescue(&think::without_thought(&it)));
        let Some((said, calls)) = rescued else { return Err(error) };
        // If some of the text has already streamed, all of it has.
        if !self.has_said && !said.is_empty() {
            out.push(StreamEvent::Text(said));
        }
        self.text_calls = TextToolCallParser::default();
        self.add(calls, out);
        self.finish(out);
        Ok(())
    }
}

impl ChatDecoder {
    /// A decoder of the response to the request that `context` describes.
    pub(in crate::providers) fn new(context: ChatRequestContext) -> Self {
        Self {
            calls: ToolCallAssembler::new(context.taken),
            text: ThinkTagSplitter::default(),
            text_calls: TextToolCallParser::new(context.tools),
            details: (context.details == ReasoningDetailsMode::Kept)
                .then(ReasoningDetails::default),
            kept: KeptSize::default(),
            reasoning_name: context.reasoning_name,
            has_said: false,
            finish_word: None,
            refused: false,
            usage: None,
            closed_by_usage: false,
        }
    }

    fn add(&mut self, calls: Vec<TextToolCall>, out: &mut Vec<StreamEvent>) {
        for TextToolCall { name, input } in calls {
            self.calls.add_whole(&name, input.into_text(), out);
        }
    }

    fn chunk(
        &mut self,
        chunk: &ChatChunk<'_>,
        delta: ChatDeltaLookup,
        target: &RequestTarget,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        if let Some(prefill) = chunk.prefill() {
            out.push(StreamEvent::Prefill(prefill));
        }
        let mut alone = true;
        for choice in chunk.choices() {
            alone = false;
            if choice.index.number().unwrap_or(0) == 0 {
                self.choice(&choice, delta, target, out)?;
            }
        }
        if let Some(usage) = chunk.usage() {
            self.closed_by_usage |= alone;
            if self.usage != Some(usage) {
                self.usage = Some(usage);
                out.push(StreamEvent::Usage(usage));
            }
        }
        Ok(())
    }

    fn choice(
        &mut self,
        choice: &ChatChoice<'_>,
        delta: ChatDeltaLookup,
        target: &RequestTarget,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        let content = match delta {
            ChatDeltaLookup::OrMessage if choice.delta.is_null() => choice.message,
            ChatDeltaLookup::Only | ChatDeltaLookup::OrMessage => choice.delta,
        };
        self.take_delta(&ChatDelta::of(content), out);
        if let Some(word) = choice.finish_reason.non_empty_text() {
            if word == "error" {
                return Err(failure::of_stream(target, "the model behind it failed"));
            }
            self.finish_word = Some(word.into_owned());
        }
        Ok(())
    }

    fn take_delta(&mut self, delta: &ChatDelta<'_>, out: &mut Vec<StreamEvent>) {
        if let Some(gathered) = &mut self.details
            && delta.reasoning_details.is_list()
        {
            let pieces = delta.reasoning_details.to_value();
            self.kept.value(&pieces);
            gathered.take(&pieces);
        }
        if let Some(thought) = delta.reasoning() {
            if let (Some(fields), Some(name)) =
                (delta.reasoning_fields(), self.reasoning_name.take())
            {
                name.get_or_init(|| fields);
            }
            self.split(out, ThinkTagSplitter::leave_tags);
            out.push(StreamEvent::Thinking(thought));
        }
        self.content(delta.content, out);
        if let Some(refusal) = delta.refusal.non_empty_text() {
            self.refused = true;
            self.kept.text(&refusal);
            self.split(out, |text, take| text.push(&refusal, take));
        }
        self.calls.take(delta.tool_calls, out);
        self.calls.take_single(delta.function_call, out);
        if self.calls.has_calls() {
            self.text_calls.leave_calls(&mut |text| out.push(StreamEvent::Text(text.to_owned())));
        }
    }

    /// Reads text: a string, or Mistral's list of parts.
    fn content(&mut self, content: JsonView<'_>, out: &mut Vec<StreamEvent>) {
        if let Some(plain_text) = content.text() {
            self.kept.text(&plain_text);
            self.split(out, |text, take| text.push(&plain_text, take));
        }
        for part in content.items() {
            let thought = part.get("thinking");
            if thought.is_null() {
                let plain_text = wire::texts(part);
                self.kept.text(&plain_text);
                self.split(out, |text, take| text.push(&plain_text, take));
                continue;
            }
            self.split(out, ThinkTagSplitter::leave_tags);
            let thought = wire::texts(thought);
            if !thought.is_empty() {
                out.push(StreamEvent::Thinking(thought.into_owned()));
            }
        }
    }

    /// Runs one `step` of the splitter of thinking and text, and scans the text for calls.
    fn split(
        &mut self,
        out: &mut Vec<StreamEvent>,
        step: impl FnOnce(&mut ThinkTagSplitter, think::AnswerPieceSink<'_>),
    ) {
        let Self { text, text_calls, has_said, .. } = self;
        step(text, &mut |piece| match piece {
            AnswerPiece::Text(text) => {
                *has_said = true;
                text_calls.push(text, &mut |text| out.push(StreamEvent::Text(text.to_owned())));
            }
            AnswerPiece::Thinking(text) => out.push(StreamEvent::Thinking(text.to_owned())),
        });
    }

    /// Calls count whatever the finish reason says, because some servers send `stop` with them.
    /// Truncated arguments mean that the limit was reached, whatever the finish reason says.
    fn stop_reason(&self) -> StopReason {
        match self.finish_word.as_deref() {
            Some("length" | "max_tokens" | "model_length") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::Refusal,
            Some(_) | None if self.refused => StopReason::Refusal,
            Some(_) | None if self.calls.is_cut() => StopReason::MaxTokens,
            Some(_) | None if self.calls.has_calls() => StopReason::ToolUse,
            Some(_) | None => StopReason::EndTurn,
        }
    }
}

/// Where a choice has its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChatDeltaLookup {
    /// In `delta`. A `message` beside it repeats the whole response.
    Only,
    /// In `message`, if there is no `delta`.
    OrMessage,
}

#[cfg(test)]
mod tests;
