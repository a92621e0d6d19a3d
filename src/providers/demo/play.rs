//! Finds the part of a script that answers a conversation, and turns it into events.
//!
//! The place in the script is computed from the conversation, so nothing has to be remembered
//! between requests.

use std::time::Duration;

use super::script::{DemoFailure, DemoResponse, DemoScript, DemoStep};
use crate::domain::{CallId, ContentBlock, Message, MessageRole, StopReason, TokenUsage};
use crate::providers::{
    ErrorRecovery, ProviderError, ProviderRequest, RequestOverflow, StreamEvent,
};

/// Bytes per token, roughly; for the demo's token counts.
const BYTES_A_TOKEN: u64 = 4;

/// A part of the script. Parts are counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum DemoScriptPart {
    /// The steps of this response.
    Response(usize),
    /// The `on_error` steps of this response, because the last call failed.
    OnError(usize),
    /// The script is over, and this many answers came after its end.
    Epilogue(usize),
}

/// An event, and the pause before it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TimedDemoEvent {
    pub(super) pause: Duration,
    pub(super) event: Result<StreamEvent, ProviderError>,
}

/// How far a conversation has come in the script.
#[derive(Default)]
struct DemoScriptPosition {
    next: usize,
    epilogues: usize,
}

impl DemoScript {
    /// The part that answers this conversation.
    pub(super) fn part_for(&self, messages: &[Message]) -> DemoScriptPart {
        let mut place = DemoScriptPosition::default();
        let mut user_message = None;
        for message in messages {
            match message.role {
                MessageRole::User => user_message = Some(message),
                MessageRole::Assistant => {
                    let played = self.part_at(&place, user_message);
                    self.advance(&mut place, played);
                }
            }
        }
        self.part_at(&place, user_message)
    }

    /// The events of a part. A failure in it is played only if `first_time` is set.
    pub(super) fn timed_events(
        &self,
        part: DemoScriptPart,
        request: &ProviderRequest,
        first_time: bool,
    ) -> Vec<TimedDemoEvent> {
        let mut score = DemoTimeline { events: Vec::new(), pause: Duration::ZERO, pace: self.pace };
        score.play(StreamEvent::Started);
        let answered = request.messages.iter().filter(|m| m.role == MessageRole::Assistant).count();
        let mut calls = 0;
        for step in self.steps(part) {
            match step {
                DemoStep::Wait(pause) => score.pause += *pause,
                DemoStep::Think(text) => score.type_out(text, StreamEvent::Thinking),
                DemoStep::Say(text) => score.type_out(text, StreamEvent::Text),
                DemoStep::Call { name, input } => {
                    let index = calls;
                    calls += 1;
                    let id = CallId::new(format!("demo_{answered}_{index}"));
                    score.play(StreamEvent::ToolUseStarted { index, id, name: name.clone() });
                    score.type_out(&input.to_string(), |json| StreamEvent::ToolInputDelta {
                        index,
                        json,
                    });
                }
                DemoStep::Fail(failure) if first_time => {
                    score
                        .events
                        .push(TimedDemoEvent { pause: score.pause, event: Err(failure.error()) });
                    return score.events;
                }
                DemoStep::Fail(_) => {}
            }
        }
        score.play(StreamEvent::Usage(self.usage(part, request)));
        let reason = if calls > 0 { StopReason::ToolUse } else { StopReason::EndTurn };
        score.play(StreamEvent::Finished(reason));
        score.events
    }

    fn part_at(
        &self,
        place: &DemoScriptPosition,
        user_message: Option<&Message>,
    ) -> DemoScriptPart {
        let blocks = || user_message.into_iter().flat_map(|message| &message.content);
        let results: Vec<bool> = blocks()
            .filter_map(|block| match block {
                ContentBlock::ToolResult { is_error, .. } => Some(*is_error),
                ContentBlock::Text { .. }
                | ContentBlock::Context { .. }
                | ContentBlock::Image(_)
                | ContentBlock::Thinking { .. }
                | ContentBlock::Sealed { .. }
                | ContentBlock::ToolUse(_) => None,
            })
            .collect();
        let says = blocks().any(|block| matches!(block, ContentBlock::Text { .. }));
        let stopped = says && results.iter().all(|&failed| failed);
        let next = if stopped { self.turn_from(place.next) } else { place.next };
        match self.responses.get(next) {
            None => DemoScriptPart::Epilogue(place.epilogues),
            Some(response) if results.last() == Some(&true) && !response.on_error.is_empty() => {
                DemoScriptPart::OnError(next)
            }
            Some(_) => DemoScriptPart::Response(next),
        }
    }

    fn advance(&self, place: &mut DemoScriptPosition, played: DemoScriptPart) {
        match played {
            DemoScriptPart::Response(at) => place.next = at + 1,
            DemoScriptPart::OnError(at) if calls(&self.responses[at].on_error) => {
                place.next = at + 1;
            }
            DemoScriptPart::OnError(at) => place.next = self.turn_from(at + 1),
            DemoScriptPart::Epilogue(count) => place.epilogues = count + 1,
        }
    }

    /// The first response at or behind `at` that begins a turn: the one before it makes no calls.
    fn turn_from(&self, at: usize) -> usize {
        let begins = |at: &usize| match at.checked_sub(1) {
            Some(before) => {
                self.responses.get(before).is_none_or(|DemoResponse { steps, .. }| !calls(steps))
            }
            None => true,
        };
        (at..=self.responses.len()).find(begins).unwrap_or(self.responses.len())
    }

    fn steps(&self, part: DemoScriptPart) -> &[DemoStep] {
        match part {
            DemoScriptPart::Response(at) => &self.responses[at].steps,
            DemoScriptPart::OnError(at) => &self.responses[at].on_error,
            DemoScriptPart::Epilogue(count) => &self.epilogues[count % self.epilogues.len()],
        }
    }

    /// Counts tokens as a server with a prefix cache would: everything but the newest message is
    /// cached.
    fn usage(&self, part: DemoScriptPart, request: &ProviderRequest) -> TokenUsage {
        let fixed = request.system.len();
        let sizes: Vec<usize> = request.messages.iter().map(size).collect();
        let tokens = |bytes: usize| bytes as u64 / BYTES_A_TOKEN;
        let all = fixed + sizes.iter().sum::<usize>();
        let new = if sizes.len() > 1 { sizes.last().copied().unwrap_or(0) } else { all };
        let written: usize = self.steps(part).iter().map(DemoStep::size).sum();
        TokenUsage {
            input: tokens(all),
            output: tokens(written),
            cache_read: tokens(all - new),
            ..TokenUsage::default()
        }
    }
}

/// Collects events at the script's pace.
struct DemoTimeline {
    events: Vec<TimedDemoEvent>,
    /// The pause before the next event.
    pause: Duration,
    pace: u32,
}

impl DemoTimeline {
    fn play(&mut self, event: StreamEvent) {
        self.events
            .push(TimedDemoEvent { pause: std::mem::take(&mut self.pause), event: Ok(event) });
    }

    /// Streams `text` word by word.
    fn type_out(&mut self, text: &str, event: impl Fn(String) -> StreamEvent) {
        for word in text.split_inclusive([' ', '\n']) {
            let letters = u32::try_from(word.chars().count()).unwrap_or(u32::MAX);
            self.pause += Duration::from_secs(1) * letters / self.pace;
            self.play(event(word.to_owned()));
        }
    }
}

impl DemoStep {
    fn size(&self) -> usize {
        match self {
            Self::Wait(_) | Self::Fail(_) => 0,
            Self::Think(text) | Self::Say(text) => text.len(),
            Self::Call { name, input } => name.len() + input.to_string().len(),
        }
    }
}

impl DemoFailure {
    fn error(self) -> ProviderError {
        let (message, status, recovery) = match self {
            Self::Overloaded => ("The demo is overloaded.", Some(529), ErrorRecovery::Retry),
            Self::RateLimit => {
                let pause = ErrorRecovery::RetryAfter(Duration::from_secs(2));
                ("The demo has had too many requests.", Some(429), pause)
            }
            Self::Disconnect => ("The connection to the demo broke.", None, ErrorRecovery::Retry),
            Self::TooLong => (
                "The conversation is longer than the demo can read.",
                Some(400),
                ErrorRecovery::Compact(RequestOverflow::default()),
            ),
            Self::BadKey => (
                "The demo refuses the key. Set `api_key` in ~/.slug/config.toml.",
                Some(401),
                ErrorRecovery::AskUser,
            ),
        };
        ProviderError { message: message.to_owned(), status, recovery }
    }
}

fn calls(steps: &[DemoStep]) -> bool {
    steps.iter().any(|step| matches!(step, DemoStep::Call { .. }))
}

fn size(message: &Message) -> usize {
    let sizes = message.content.iter().map(|block| match block {
        ContentBlock::Text { text } | ContentBlock::Context { text, .. } => text.len(),
        ContentBlock::Thinking { thinking, .. } => thinking.len(),
        ContentBlock::Sealed { data, .. } => data.to_string().len(),
        ContentBlock::ToolUse(call) => call.name.len(),
        ContentBlock::ToolResult { content, .. } => content.len(),
        ContentBlock::Image(image) => image.name().len(),
    });
    sizes.sum()
}
