//! Which part of a script answers a conversation, and the events that it is played as.
//!
//! The place in the script is a fold over the conversation: nothing has to be remembered between
//! requests.

use std::time::Duration;

use super::script::{Failure, Response, Script, Step};
use crate::domain::{Block, CallId, Message, Role, StopReason, Usage};
use crate::providers::{ProviderError, Recovery, Request, StreamEvent};

/// How many bytes make a token, roughly.
const BYTES_A_TOKEN: u64 = 4;

/// A part of the script. Parts are counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Cue {
    /// The steps of this response.
    Response(usize),
    /// What this response does when the last call failed.
    OnError(usize),
    /// The script is over, for so many answers already.
    Epilogue(usize),
}

/// An event, and the pause before it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Beat {
    pub(super) pause: Duration,
    pub(super) event: Result<StreamEvent, ProviderError>,
}

/// How far a conversation has come in the script.
#[derive(Default)]
struct Place {
    next: usize,
    epilogues: usize,
}

impl Script {
    /// What answers a conversation.
    pub(super) fn cue(&self, messages: &[Message]) -> Cue {
        let mut place = Place::default();
        let mut heard = None;
        for message in messages {
            match message.role {
                Role::User => heard = Some(message),
                Role::Assistant => {
                    let played = self.cue_at(&place, heard);
                    self.advance(&mut place, played);
                }
            }
        }
        self.cue_at(&place, heard)
    }

    /// The events of a part. A failure in it is played the first time only.
    pub(super) fn beats(&self, cue: Cue, request: &Request, first_time: bool) -> Vec<Beat> {
        let mut score = Score { beats: Vec::new(), pause: Duration::ZERO, pace: self.pace };
        score.play(StreamEvent::Started);
        let answered = request.messages.iter().filter(|m| m.role == Role::Assistant).count();
        let mut calls = 0;
        for step in self.steps(cue) {
            match step {
                Step::Wait(pause) => score.pause += *pause,
                Step::Think(text) => score.type_out(text, StreamEvent::Thinking),
                Step::Say(text) => score.type_out(text, StreamEvent::Text),
                Step::Call { name, input } => {
                    let index = calls;
                    calls += 1;
                    let id = CallId::new(format!("demo_{answered}_{index}"));
                    score.play(StreamEvent::ToolUseStarted { index, id, name: name.clone() });
                    score.type_out(&input.to_string(), |json| StreamEvent::ToolInputDelta {
                        index,
                        json,
                    });
                }
                Step::Fail(failure) if first_time => {
                    score.beats.push(Beat { pause: score.pause, event: Err(failure.error()) });
                    return score.beats;
                }
                Step::Fail(_) => {}
            }
        }
        score.play(StreamEvent::Usage(self.usage(cue, request)));
        let reason = if calls > 0 { StopReason::ToolUse } else { StopReason::EndTurn };
        score.play(StreamEvent::Finished(reason));
        score.beats
    }

    fn cue_at(&self, place: &Place, heard: Option<&Message>) -> Cue {
        let blocks = || heard.into_iter().flat_map(|message| &message.content);
        let results: Vec<bool> = blocks()
            .filter_map(|block| match block {
                Block::ToolResult { is_error, .. } => Some(*is_error),
                Block::Text { .. }
                | Block::Context { .. }
                | Block::Image(_)
                | Block::Thinking { .. }
                | Block::Sealed { .. }
                | Block::ToolUse(_) => None,
            })
            .collect();
        let says = blocks().any(|block| matches!(block, Block::Text { .. }));
        let stopped = says && results.iter().all(|&failed| failed);
        let next = if stopped { self.turn_from(place.next) } else { place.next };
        match self.responses.get(next) {
            None => Cue::Epilogue(place.epilogues),
            Some(response) if results.last() == Some(&true) && !response.on_error.is_empty() => {
                Cue::OnError(next)
            }
            Some(_) => Cue::Response(next),
        }
    }

    fn advance(&self, place: &mut Place, played: Cue) {
        match played {
            Cue::Response(at) => place.next = at + 1,
            Cue::OnError(at) if calls(&self.responses[at].on_error) => place.next = at + 1,
            Cue::OnError(at) => place.next = self.turn_from(at + 1),
            Cue::Epilogue(count) => place.epilogues = count + 1,
        }
    }

    /// The first response at or behind `at` that begins a turn: the one before it makes no calls.
    fn turn_from(&self, at: usize) -> usize {
        let begins = |at: &usize| match at.checked_sub(1) {
            Some(before) => {
                self.responses.get(before).is_none_or(|Response { steps, .. }| !calls(steps))
            }
            None => true,
        };
        (at..=self.responses.len()).find(begins).unwrap_or(self.responses.len())
    }

    fn steps(&self, cue: Cue) -> &[Step] {
        match cue {
            Cue::Response(at) => &self.responses[at].steps,
            Cue::OnError(at) => &self.responses[at].on_error,
            Cue::Epilogue(count) => &self.epilogues[count % self.epilogues.len()],
        }
    }

    /// Counts as a server with a prefix cache would: all but the newest message is cached.
    fn usage(&self, cue: Cue, request: &Request) -> Usage {
        let fixed = request.system.len();
        let sizes: Vec<usize> = request.messages.iter().map(size).collect();
        let tokens = |bytes: usize| bytes as u64 / BYTES_A_TOKEN;
        let all = fixed + sizes.iter().sum::<usize>();
        let new = if sizes.len() > 1 { sizes.last().copied().unwrap_or(0) } else { all };
        let said: usize = self.steps(cue).iter().map(Step::size).sum();
        Usage {
            input: tokens(all),
            output: tokens(said),
            cache_read: tokens(all - new),
            ..Usage::default()
        }
    }
}

/// Collects beats at the script's pace.
struct Score {
    beats: Vec<Beat>,
    /// What passes before the next event.
    pause: Duration,
    pace: u32,
}

impl Score {
    fn play(&mut self, event: StreamEvent) {
        self.beats.push(Beat { pause: std::mem::take(&mut self.pause), event: Ok(event) });
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

impl Step {
    fn size(&self) -> usize {
        match self {
            Self::Wait(_) | Self::Fail(_) => 0,
            Self::Think(text) | Self::Say(text) => text.len(),
            Self::Call { name, input } => name.len() + input.to_string().len(),
        }
    }
}

impl Failure {
    fn error(self) -> ProviderError {
        let (message, status, recovery) = match self {
            Self::Overloaded => ("The demo is overloaded.", Some(529), Recovery::Retry),
            Self::RateLimit => {
                let pause = Recovery::RetryAfter(Duration::from_secs(2));
                ("The demo has had too many requests.", Some(429), pause)
            }
            Self::Disconnect => ("The connection to the demo broke.", None, Recovery::Retry),
            Self::TooLong => {
                ("The conversation is longer than the demo can read.", Some(400), Recovery::Compact)
            }
            Self::BadKey => (
                "The demo refuses the key. Set `api_key` in ~/.slug/config.toml.",
                Some(401),
                Recovery::AskPerson,
            ),
        };
        ProviderError { message: message.to_owned(), status, recovery }
    }
}

fn calls(steps: &[Step]) -> bool {
    steps.iter().any(|step| matches!(step, Step::Call { .. }))
}

fn size(message: &Message) -> usize {
    let sizes = message.content.iter().map(|block| match block {
        Block::Text { text } | Block::Context { text, .. } => text.len(),
        Block::Thinking { thinking, .. } => thinking.len(),
        Block::Sealed { data, .. } => data.to_string().len(),
        Block::ToolUse(call) => call.name.len(),
        Block::ToolResult { content, .. } => content.len(),
        Block::Image(image) => image.name().len(),
    });
    sizes.sum()
}
