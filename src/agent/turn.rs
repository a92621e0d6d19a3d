//! The turn machine: what an agent does next, as a pure function of what has happened.
//!
//! The driver feeds it [`Input`]s and carries out the [`Action`]s in order. No clock, no I/O and
//! no randomness here; a pause's length and its jitter come in with the failure. Invariants: tools
//! run only after a whole response, each call gets exactly one result, and after `End` nothing
//! follows.

use crate::domain::{Message, StopReason, ToolCall, Usage};
use crate::providers::retry::{ReceivedContent, RetryAttempt};
use crate::providers::{ErrorRecovery, ProviderError, StreamEvent};
use crate::session::{CompactionStage, TurnOutcome};

use super::normalise::is_silent;
use super::response::Response;

/// One turn, from the person's message to the end of the answer.
#[derive(Debug)]
pub struct Turn {
    limits: Limits,
    phase: Phase,
    rounds: u32,
    failures: u32,
    /// How many of them in a row said that the server cannot at the moment.
    overloads: u32,
    /// The model that may stand in, as long as it does not do so already.
    fallback: Option<String>,
    /// How the conversation can be made shorter next.
    shorten: Option<CompactionStage>,
    /// How often the answer has been taken up again after the output limit.
    continued: u32,
    /// How often hooks may still have the model go on where it would end.
    holds: u32,
    held: Held,
    images: ImagesSent,
    steering: Steering,
    usage: Usage,
}

/// What bounds a turn.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Rounds of tool calls.
    pub tool_rounds: u32,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The person's message is in the log.
    Begun,
    /// A piece of the response came.
    Event(StreamEvent),
    /// The request failed, or its stream ended early. `again` is what the retry policy wants,
    /// `None` when it has had enough.
    Failed {
        /// What went wrong.
        error: ProviderError,
        /// The next try.
        again: Option<RetryAttempt>,
    },
    /// The pause is over.
    PauseOver,
    /// All calls of the response have their results in the log.
    CallsDone,
    /// The conversation was asked to be shorter.
    Compacted(Compacted),
    /// A message of the person's waits for the next tool boundary.
    Steered,
    /// No message waits any more.
    Unsteered,
    /// Hooks let the turn end.
    LetGo,
    /// Hooks want the model to go on; their reason is in the log.
    HeldUp,
    /// The person stopped the turn.
    Cancelled,
}

/// What came of making the conversation shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compacted {
    /// It is shorter now.
    Shorter,
    /// There was nothing to leave out.
    NothingLeft,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Send the conversation to the model.
    Request,
    /// Write a response, whole or cut short, to the log.
    Record {
        /// What was said.
        message: Message,
        /// Why it ended.
        stop: StopReason,
        /// What it took, where the server said.
        usage: Option<Usage>,
    },
    /// Run these calls; answer with `CallsDone`.
    Run(Vec<ToolCall>),
    /// Answer these calls without running them; no answer is awaited.
    Refuse {
        /// Which.
        calls: Vec<ToolCall>,
        /// What the model is told.
        reason: String,
    },
    /// Move the waiting messages of the person's into the log.
    TakeSteering,
    /// What streamed is void; try again after the pause and answer with `PauseOver`.
    Pause {
        /// The next try.
        again: RetryAttempt,
        /// Why, in a sentence.
        reason: String,
    },
    /// What streamed is void, for this reason; what is asked next is something else.
    Drop(String),
    /// Make the conversation shorter in this way; answer with `Compacted`.
    Compact(CompactionStage),
    /// Have another model answer for the rest of the turn.
    FallBack {
        /// Which.
        model: String,
        /// What the first one's server says.
        reason: String,
    },
    /// Write to the log that the response ran into the output limit and is to go on.
    GoOn(Cut),
    /// Ask hooks whether the turn may end; answer with `LetGo` or `HeldUp`.
    AskHooks(Held),
    /// Tell the person that the answer ends at the output limit.
    TellCut,
    /// Send no images to this model from now on.
    LeaveImagesOut(String),
    /// The turn is over.
    End(TurnOutcome),
}

/// Where the output limit cut a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// In what it said.
    Answer,
    /// Before it had said anything.
    Thought,
}

/// Whether hooks have had the model go on in this turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// Not yet.
    Never,
    /// They have.
    Before,
}

#[derive(Debug)]
enum Phase {
    Idle,
    Streaming(Response),
    Running(AfterCalls),
    Pausing,
    Compacting(ProviderError),
    /// The model has answered, and hooks are asked whether that is all.
    Ending,
    Over,
}

#[derive(Debug, Clone, Copy)]
enum AfterCalls {
    Continue,
    StopInterrupted,
}

/// Whether images go with the requests, as far as the turn has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ImagesSent {
    Perhaps,
    No,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Steering {
    None,
    Waiting,
}

/// How often an answer goes on after the output limit.
const CONTINUATIONS: u32 = 3;

/// How many overloaded answers in a row have another model stand in.
const OVERLOADS: u32 = 3;

/// What the model is told of calls in a response that ran into the output limit.
const CUT: &str = "Not run: the response was cut off at the output limit, so this call may be \
                   incomplete. Send it again, with less in one response.";

impl Turn {
    /// A turn that has not begun.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            phase: Phase::Idle,
            rounds: 0,
            failures: 0,
            overloads: 0,
            fallback: None,
            shorten: Some(CompactionStage::Results),
            continued: 0,
            holds: 0,
            held: Held::Never,
            images: ImagesSent::Perhaps,
            steering: Steering::None,
            usage: Usage::default(),
        }
    }

    /// The same, with a model that stands in where the server of the first one cannot.
    pub fn with_fallback(self, model: Option<String>) -> Self {
        Self { fallback: model, ..self }
    }

    /// The same, with hooks that are asked before it ends, and may have it go on so often.
    pub fn with_holds(self, holds: u32) -> Self {
        Self { holds, ..self }
    }

    /// What the turn has taken so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// How often the current request has failed.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// What has come of the response that is being streamed.
    pub fn came(&self) -> ReceivedContent {
        match self.response() {
            Some(response) if response.has_begun() => ReceivedContent::Part,
            Some(_) | None => ReceivedContent::Nothing,
        }
    }

    /// The response that is being streamed.
    pub fn response(&self) -> Option<&Response> {
        match &self.phase {
            Phase::Streaming(response) => Some(response),
            Phase::Idle
            | Phase::Running(_)
            | Phase::Pausing
            | Phase::Compacting(_)
            | Phase::Ending
            | Phase::Over => None,
        }
    }

    /// Takes what happened and says what to do.
    pub fn step(&mut self, input: Input) -> Vec<Action> {
        match input {
            Input::Begun => self.request(),
            Input::Event(event) => self.event(event),
            Input::Failed { error, again } => self.failed(error, again),
            Input::PauseOver => match self.phase {
                Phase::Pausing => self.request(),
                Phase::Idle
                | Phase::Streaming(_)
                | Phase::Running(_)
                | Phase::Compacting(_)
                | Phase::Ending
                | Phase::Over => Vec::new(),
            },
            Input::CallsDone => self.calls_done(),
            Input::Compacted(outcome) => self.compacted(outcome),
            Input::Steered => {
                self.steering = Steering::Waiting;
                Vec::new()
            }
            Input::Unsteered => {
                self.steering = Steering::None;
                Vec::new()
            }
            Input::LetGo => self.let_go(),
            Input::HeldUp => self.held_up(),
            Input::Cancelled => self.cancelled(),
        }
    }

    fn request(&mut self) -> Vec<Action> {
        self.phase = Phase::Streaming(Response::default());
        vec![Action::Request]
    }

    fn event(&mut self, event: StreamEvent) -> Vec<Action> {
        let Phase::Streaming(response) = &mut self.phase else { return Vec::new() };
        let Some(stop) = response.take(event) else { return Vec::new() };
        let response = std::mem::take(response);
        self.failures = 0;
        self.overloads = 0;
        let usage = response.usage;
        if let Some(usage) = usage {
            self.usage += usage;
        }
        let message = response.finish();
        let calls: Vec<ToolCall> = message.calls().cloned().collect();
        let cut = if is_silent(&message) { Cut::Thought } else { Cut::Answer };
        let mut actions = vec![Action::Record { message, stop, usage }];
        if calls.is_empty() && stop == StopReason::MaxTokens {
            actions.extend(self.cut_off(cut));
            return actions;
        }
        self.continued = 0;
        if calls.is_empty() && stop == StopReason::Paused {
            actions.extend(self.paused());
        } else if calls.is_empty() {
            actions.extend(self.answered());
        } else if stop == StopReason::MaxTokens && self.rounds < self.limits.tool_rounds {
            // Cut arguments can still be valid JSON, so none of these calls can be trusted.
            self.rounds += 1;
            actions.push(Action::Refuse { calls, reason: CUT.to_owned() });
            actions.extend(self.tool_boundary());
        } else if self.rounds >= self.limits.tool_rounds {
            let reason = format!(
                "Not run: this turn has used all its {} rounds of tool calls. Wait for the person.",
                self.limits.tool_rounds
            );
            actions.push(Action::Refuse { calls, reason });
            actions.extend(self.end(TurnOutcome::RoundLimit));
        } else {
            self.rounds += 1;
            self.phase = Phase::Running(AfterCalls::Continue);
            actions.push(Action::Run(calls));
        }
        actions
    }

    /// The model has said all it wanted; the person may have more to say already.
    fn answered(&mut self) -> Vec<Action> {
        match self.steering {
            Steering::None if self.holds > 0 => {
                self.phase = Phase::Ending;
                vec![Action::AskHooks(self.held)]
            }
            Steering::None => self.end(TurnOutcome::Answered),
            Steering::Waiting => self.steer_and_request(),
        }
    }

    fn let_go(&mut self) -> Vec<Action> {
        match (&self.phase, self.steering) {
            (Phase::Ending, Steering::None) => self.end(TurnOutcome::Answered),
            (Phase::Ending, Steering::Waiting) => self.steer_and_request(),
            (
                Phase::Idle
                | Phase::Streaming(_)
                | Phase::Running(_)
                | Phase::Pausing
                | Phase::Compacting(_)
                | Phase::Over,
                _,
            ) => Vec::new(),
        }
    }

    /// Hooks may do this so often and no more, or a turn might never end.
    fn held_up(&mut self) -> Vec<Action> {
        match self.phase {
            Phase::Ending => {
                self.holds = self.holds.saturating_sub(1);
                self.held = Held::Before;
                self.tool_boundary()
            }
            Phase::Idle
            | Phase::Streaming(_)
            | Phase::Running(_)
            | Phase::Pausing
            | Phase::Compacting(_)
            | Phase::Over => Vec::new(),
        }
    }

    /// The answer ends in the midst of a sentence. It goes back with a word of slug's behind it, for
    /// some servers refuse a conversation whose last message is the model's.
    fn cut_off(&mut self, cut: Cut) -> Vec<Action> {
        if self.steering == Steering::Waiting {
            return self.steer_and_request();
        }
        if self.continued >= CONTINUATIONS {
            let mut actions = vec![Action::TellCut];
            actions.extend(self.end(TurnOutcome::Answered));
            return actions;
        }
        self.continued += 1;
        let mut actions = vec![Action::GoOn(cut)];
        actions.extend(self.request());
        actions
    }

    /// What was said so far goes back, and the provider goes on. That counts as a round, so that a
    /// provider that only ever pauses is not asked for ever.
    fn paused(&mut self) -> Vec<Action> {
        if self.rounds >= self.limits.tool_rounds {
            return self.end(TurnOutcome::RoundLimit);
        }
        self.rounds += 1;
        self.tool_boundary()
    }

    fn calls_done(&mut self) -> Vec<Action> {
        match self.phase {
            Phase::Running(AfterCalls::Continue) => self.tool_boundary(),
            Phase::Running(AfterCalls::StopInterrupted) => self.end(TurnOutcome::Interrupted),
            Phase::Idle
            | Phase::Streaming(_)
            | Phase::Pausing
            | Phase::Compacting(_)
            | Phase::Ending
            | Phase::Over => Vec::new(),
        }
    }

    /// All calls have their results: the model goes on, and what the person has said goes in.
    fn tool_boundary(&mut self) -> Vec<Action> {
        match self.steering {
            Steering::None => self.request(),
            Steering::Waiting => self.steer_and_request(),
        }
    }

    fn steer_and_request(&mut self) -> Vec<Action> {
        self.steering = Steering::None;
        let mut actions = vec![Action::TakeSteering];
        actions.extend(self.request());
        actions
    }

    fn failed(&mut self, error: ProviderError, again: Option<RetryAttempt>) -> Vec<Action> {
        match self.phase {
            Phase::Streaming(_) => {}
            Phase::Idle
            | Phase::Running(_)
            | Phase::Pausing
            | Phase::Compacting(_)
            | Phase::Ending
            | Phase::Over => return Vec::new(),
        }
        self.failures += 1;
        self.overloads = if is_overload(&error) { self.overloads + 1 } else { 0 };
        match error.recovery {
            ErrorRecovery::Retry | ErrorRecovery::RetryAfter(_) | ErrorRecovery::RetryBriefly => {
                self.try_again(error, again)
            }
            ErrorRecovery::Compact => {
                let mut actions = self.void(&error);
                actions.extend(self.shorten(error));
                actions
            }
            ErrorRecovery::LeaveImagesOut if self.images == ImagesSent::Perhaps => {
                self.images = ImagesSent::No;
                let mut actions = self.void(&error);
                actions.push(Action::LeaveImagesOut(error.message));
                actions.extend(self.ask_anew());
                actions
            }
            ErrorRecovery::LeaveImagesOut | ErrorRecovery::AskUser | ErrorRecovery::GiveUp => {
                self.end_streaming(TurnOutcome::Failed(error.message))
            }
        }
    }

    /// The same again, or the same of another model once this one's server is overloaded for good.
    fn try_again(&mut self, error: ProviderError, again: Option<RetryAttempt>) -> Vec<Action> {
        if self.overloads >= OVERLOADS
            && let Some(model) = self.fallback.take()
        {
            let mut actions = self.void(&error);
            actions.push(Action::FallBack { model, reason: error.message });
            actions.extend(self.ask_anew());
            return actions;
        }
        match again {
            Some(again) => {
                self.phase = Phase::Pausing;
                vec![Action::Pause { again, reason: error.message }]
            }
            None => self.end_streaming(TurnOutcome::Failed(error.message)),
        }
    }

    /// Each way to make the conversation shorter is gone once.
    fn shorten(&mut self, error: ProviderError) -> Vec<Action> {
        let Some(stage) = self.shorten else {
            return self.end_streaming(TurnOutcome::Failed(error.message));
        };
        self.shorten = match stage {
            CompactionStage::Results => Some(CompactionStage::Turns),
            CompactionStage::Turns => None,
        };
        self.phase = Phase::Compacting(error);
        vec![Action::Compact(stage)]
    }

    fn compacted(&mut self, outcome: Compacted) -> Vec<Action> {
        match (&self.phase, outcome) {
            (Phase::Compacting(_), Compacted::Shorter) => self.ask_anew(),
            (Phase::Compacting(error), Compacted::NothingLeft) => {
                let error = error.clone();
                self.shorten(error)
            }
            (
                Phase::Idle
                | Phase::Streaming(_)
                | Phase::Running(_)
                | Phase::Pausing
                | Phase::Ending
                | Phase::Over,
                _,
            ) => Vec::new(),
        }
    }

    /// A request that is not the one that failed.
    fn ask_anew(&mut self) -> Vec<Action> {
        self.failures = 0;
        self.overloads = 0;
        self.request()
    }

    /// What streamed before a failure that leads to another request.
    fn void(&self, error: &ProviderError) -> Vec<Action> {
        match self.came() {
            ReceivedContent::Part => vec![Action::Drop(error.message.clone())],
            ReceivedContent::Nothing => Vec::new(),
        }
    }

    fn cancelled(&mut self) -> Vec<Action> {
        match &mut self.phase {
            Phase::Streaming(_) => self.end_streaming(TurnOutcome::Interrupted),
            // The calls see the same token: each ends with a result, and then the turn does.
            Phase::Running(after) => {
                *after = AfterCalls::StopInterrupted;
                Vec::new()
            }
            Phase::Idle | Phase::Pausing | Phase::Compacting(_) => {
                self.end(TurnOutcome::Interrupted)
            }
            // The whole answer is there.
            Phase::Ending => self.end(TurnOutcome::Answered),
            Phase::Over => Vec::new(),
        }
    }

    /// Ends in the middle of a response: what was said so far is kept, its calls are not run.
    fn end_streaming(&mut self, outcome: TurnOutcome) -> Vec<Action> {
        let mut actions = Vec::new();
        if let Phase::Streaming(response) = &mut self.phase {
            let response = std::mem::take(response);
            let usage = response.usage;
            self.usage += usage.unwrap_or_default();
            let message = response.cut();
            if !message.content.is_empty() {
                actions.push(Action::Record { message, stop: StopReason::Interrupted, usage });
            }
        }
        actions.extend(self.end(outcome));
        actions
    }

    fn end(&mut self, outcome: TurnOutcome) -> Vec<Action> {
        self.phase = Phase::Over;
        vec![Action::End(outcome)]
    }
}

/// Whether the server says that it cannot at the moment, whatever it is asked.
fn is_overload(error: &ProviderError) -> bool {
    error.status.is_some_and(|status| (500..600).contains(&status))
}

#[cfg(test)]
mod tests;
