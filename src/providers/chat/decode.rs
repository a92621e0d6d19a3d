//! The body of an answer, as events.
//!
//! A response is complete when a terminal sign has been seen: a finish reason, `[DONE]`, or the
//! closing chunk with the usage and no choices. Errors may come in any place and shape, with status
//! 200 too. One that hands over what the model wrote, since the server found no call in it, ends the
//! answer like any other if slug finds one.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::Stream;
use serde_json::Value;

use super::calls::ToolCallAssembler;
use super::details::ReasoningDetails;
use super::dialect::ReasoningDetailsMode;
use super::text_tool_calls::{TextToolCall, TextToolCallParser};
use super::think::{self, AnswerPiece, ThinkTagSplitter};
use super::wire::{self, ChatChoice, ChatChunk, ChatDelta};
use crate::domain::{CallId, ProviderProtocol, StopReason, TokenUsage, ToolSpec};
use crate::providers::failure::{self, RequestTarget};
use crate::providers::json::{JsonTape, JsonView};
use crate::providers::reader::{self, DecoderFlow, StreamDecoder as _, unreadable};
use crate::providers::{ProviderError, StreamEvent, sse};

/// What has to be known of a request to read its answer.
#[derive(Debug, Clone, Default)]
pub struct ChatRequestContext {
    /// The ids of the calls in its history.
    pub taken: HashSet<CallId>,
    /// The tools that it declares.
    pub tools: Arc<[ToolSpec]>,
    /// What becomes of the parts that reasoning comes in.
    pub(super) details: ReasoningDetailsMode,
}

/// Decodes the body of an answer to what was `asked`. `site` is for telling errors. Ends after
/// `Finished` or the first error.
pub fn decode<S, B>(
    bytes: S,
    site: RequestTarget,
    asked: ChatRequestContext,
) -> impl Stream<Item = Result<StreamEvent, ProviderError>> + Send + 'static
where
    S: Stream<Item = Result<B, ProviderError>> + Send + 'static,
    B: AsRef<[u8]> + Send + 'static,
{
    reader::decode(bytes, ChatDecoder::new(site, asked))
}

/// Turns chunks into events. Only choice 0 counts.
struct ChatDecoder {
    site: RequestTarget,
    calls: ToolCallAssembler,
    text: ThinkTagSplitter,
    /// Calls within the text.
    text_calls: TextToolCallParser,
    /// The parts of the reasoning, where they are kept.
    details: Option<ReasoningDetails>,
    /// Some text has come.
    has_said: bool,
    finish_word: Option<String>,
    refused: bool,
    usage: Option<TokenUsage>,
    /// The chunk that has the usage and no choices has come.
    closed_by_usage: bool,
}

impl reader::StreamDecoder for ChatDecoder {
    fn event(
        &mut self,
        event: sse::SseEvent<'_>,
        outline: &mut JsonTape,
        out: &mut Vec<StreamEvent>,
    ) -> Result<DecoderFlow, ProviderError> {
        let data = event.data.trim();
        if event.name == "error" {
            return self.failed(data, out).map(|()| DecoderFlow::Over);
        }
        if data.is_empty() {
            return Ok(DecoderFlow::More);
        }
        if data == "[DONE]" {
            self.finish(out);
            return Ok(DecoderFlow::Over);
        }
        match outline.read(data) {
            Ok(json) if json.is_object() => {
                let chunk = ChatChunk::of(json);
                if chunk.is_error() {
                    return self.failed(data, out).map(|()| DecoderFlow::Over);
                }
                self.chunk(&chunk, ChatDeltaLookup::Only, out).map(|()| DecoderFlow::More)
            }
            // What comes behind a complete answer cannot spoil it.
            Ok(_) | Err(_) if self.is_complete() => Ok(DecoderFlow::More),
            Ok(_) => Err(failure::of_stream(&self.site, data)),
            Err(error) => Err(unreadable(&self.site, &error)),
        }
    }

    /// Reads an answer that came in one piece.
    fn whole(&mut self, text: &str, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        match JsonTape::default().read(text).map(ChatChunk::of) {
            Ok(chunk) if !chunk.is_error() && chunk.choices().next().is_some() => {
                self.chunk(&chunk, ChatDeltaLookup::OrMessage, out)?;
                self.finish(out);
                Ok(())
            }
            Ok(_) | Err(_) => self.failed(text, out),
        }
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

    fn site(&self) -> &RequestTarget {
        &self.site
    }
}

impl ChatDecoder {
    fn new(site: RequestTarget, asked: ChatRequestContext) -> Self {
        Self {
            site,
            calls: ToolCallAssembler::new(asked.taken),
            text: ThinkTagSplitter::default(),
            text_calls: TextToolCallParser::new(asked.tools),
            details: (asked.details == ReasoningDetailsMode::Kept).then(ReasoningDetails::default),
            has_said: false,
            finish_word: None,
            refused: false,
            usage: None,
            closed_by_usage: false,
        }
    }

    /// Takes in an error, which ends the answer.
    fn failed(&mut self, payload: &str, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        let error = failure::of_stream(&self.site, payload);
        // What has been reported of a call cannot be told from what is in the text.
        let written = wire::failed_generation(payload).filter(|_| !self.calls.has_calls());
        let rescued = written.and_then(|it| self.text_calls.rescue(&think::without_thought(&it)));
        let Some((said, calls)) = rescued else { return Err(error) };
        // Where some of what was said has come already, all of it has.
        if !self.has_said && !said.is_empty() {
            out.push(StreamEvent::Text(said));
        }
        self.text_calls = TextToolCallParser::default();
        self.add(calls, out);
        self.finish(out);
        Ok(())
    }

    fn add(&mut self, calls: Vec<TextToolCall>, out: &mut Vec<StreamEvent>) {
        for TextToolCall { name, input } in calls {
            self.calls.add_whole(&name, Value::Object(input).to_string(), out);
        }
    }

    fn chunk(
        &mut self,
        chunk: &ChatChunk<'_>,
        delta: ChatDeltaLookup,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        if let Some(prefill) = chunk.prefill() {
            out.push(StreamEvent::Prefill(prefill));
        }
        let mut alone = true;
        for choice in chunk.choices() {
            alone = false;
            if choice.index.number().unwrap_or(0) == 0 {
                self.choice(&choice, delta, out)?;
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
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        let said = match delta {
            ChatDeltaLookup::OrMessage if choice.delta.is_null() => choice.message,
            ChatDeltaLookup::Only | ChatDeltaLookup::OrMessage => choice.delta,
        };
        self.take_delta(&ChatDelta::of(said), out);
        if let Some(word) = choice.finish_reason.non_empty_text() {
            if word == "error" {
                return Err(failure::of_stream(&self.site, "the model behind it failed"));
            }
            self.finish_word = Some(word.into_owned());
        }
        Ok(())
    }

    fn take_delta(&mut self, said: &ChatDelta<'_>, out: &mut Vec<StreamEvent>) {
        if let Some(gathered) = &mut self.details
            && said.reasoning_details.is_list()
        {
            gathered.take(&said.reasoning_details.to_value());
        }
        if let Some(thought) = said.reasoning() {
            self.split(out, ThinkTagSplitter::leave_tags);
            out.push(StreamEvent::Thinking(thought));
        }
        self.content(said.content, out);
        if let Some(refusal) = said.refusal.non_empty_text() {
            self.refused = true;
            self.split(out, |text, take| text.push(&refusal, take));
        }
        self.calls.take(said.tool_calls, out);
        self.calls.take_single(said.function_call, out);
        if self.calls.has_calls() {
            self.text_calls.leave_calls(&mut |text| out.push(StreamEvent::Text(text.to_owned())));
        }
    }

    /// Text as a string, or as Mistral's list of parts.
    fn content(&mut self, content: JsonView<'_>, out: &mut Vec<StreamEvent>) {
        if let Some(said) = content.text() {
            self.split(out, |text, take| text.push(&said, take));
        }
        for part in content.items() {
            let thought = part.get("thinking");
            if thought.is_null() {
                self.split(out, |text, take| text.push(&wire::texts(part), take));
                continue;
            }
            self.split(out, ThinkTagSplitter::leave_tags);
            let thought = wire::texts(thought);
            if !thought.is_empty() {
                out.push(StreamEvent::Thinking(thought.into_owned()));
            }
        }
    }

    /// Lets the splitter of thought and text do a `step`. What it gives is scanned for calls.
    fn split(
        &mut self,
        out: &mut Vec<StreamEvent>,
        step: impl FnOnce(&mut ThinkTagSplitter, think::AnswerPieceSink<'_>),
    ) {
        let Self { text, text_calls: spoken, has_said, .. } = self;
        step(text, &mut |piece| match piece {
            AnswerPiece::Text(text) => {
                *has_said = true;
                spoken.push(text, &mut |text| out.push(StreamEvent::Text(text.to_owned())));
            }
            AnswerPiece::Thinking(text) => out.push(StreamEvent::Thinking(text.to_owned())),
        });
    }

    /// Calls count whatever the reason says, since some servers say `stop` beside them. Arguments
    /// that break off mean that the limit was reached, whatever the reason says.
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

/// Where the answer's content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChatDeltaLookup {
    /// In `delta`; a `message` beside it repeats all there was.
    Only,
    /// In `message` where there is no `delta`.
    OrMessage,
}

#[cfg(test)]
mod tests;
