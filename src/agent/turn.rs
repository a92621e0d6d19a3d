//! The turn machine: what an agent does next, as a pure function of what has happened.
//!
//! The driver feeds it [`TurnInput`]s and carries out the [`TurnAction`]s in order. No clock, no I/O and
//! no randomness here; a pause's length and its jitter come in with the failure. Invariants: tools
//! run only after a whole response, each call gets exactly one result, and after `ReplyEnd` nothing
//! follows.

use crate::domain::{Message, StopReason, TokenUsage, ToolCall};
use crate::providers::retry::{ReceivedContent, RetryAttempt};
use crate::providers::{ErrorRecovery, ProviderError, StreamEvent};
use crate::session::{CompactionStage, TurnOutcome};

use super::normalise::is_silent;
use super::response::ResponseAssembler;

/// One turn, from the person's message to the end of the answer.
#[derive(Debug)]
pub struct TurnMachine {
    limits: TurnLimits,
    phase: TurnMachinePhase,
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
    hook_continuations_left: u32,
    stop_hook_state: StopHookState,
    images: TurnImagePolicy,
    steering: SteeringState,
    usage: TokenUsage,
}

/// What bounds a turn.
#[derive(Debug, Clone, Copy)]
pub struct TurnLimits {
    /// Rounds of tool calls.
    pub tool_rounds: u32,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnInput {
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
    Compacted(CompactionResult),
    /// A message of the person's waits for the next tool boundary.
    Steered,
    /// No message waits any more.
    Unsteered,
    /// Hooks let the turn end.
    HooksAllowEnd,
    /// Hooks want the model to go on; their reason is in the log.
    HooksContinue,
    /// The person stopped the turn.
    Cancelled,
}

/// What came of making the conversation shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionResult {
    /// It is shorter now.
    Shorter,
    /// There was nothing to leave out.
    NothingLeft,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnAction {
    /// Send the conversation to the model.
    Request,
    /// Write a response, whole or cut short, to the log.
    Record {
        /// What was said.
        message: Message,
        /// Why it ended.
        stop: StopReason,
        /// What it took, where the server said.
        usage: Option<TokenUsage>,
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
    /// Make the conversation shorter in this way; answer with `CompactionResult`.
    Compact(CompactionStage),
    /// Have another model answer for the rest of the turn.
    FallBack {
        /// Which.
        model: String,
        /// What the first one's server says.
        reason: String,
    },
    /// Write to the log that the response ran into the output limit and is to go on.
    ContinueTruncated(TruncationPoint),
    /// Ask hooks whether the turn may end; answer with `HooksAllowEnd` or `HooksContinue`.
    AskHooks(StopHookState),
    /// Tell the person that the answer ends at the output limit.
    WarnTruncated,
    /// Send no images to this model from now on.
    LeaveImagesOut(String),
    /// The turn is over.
    End(TurnOutcome),
}

/// Where the output limit cut a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TruncationPoint {
    /// In what it said.
    Answer,
    /// Before it had said anything.
    Thought,
}

/// Whether hooks have had the model go on in this turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopHookState {
    /// Not yet.
    Inactive,
    /// They have.
    Active,
}

#[derive(Debug)]
enum TurnMachinePhase {
    Idle,
    Streaming(ResponseAssembler),
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
enum TurnImagePolicy {
    Send,
    Omit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SteeringState {
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

impl TurnMachine {
    /// A turn that has not begun.
    pub fn new(limits: TurnLimits) -> Self {
        Self {
            limits,
            phase: TurnMachinePhase::Idle,
            rounds: 0,
            failures: 0,
            overloads: 0,
            fallback: None,
            shorten: Some(CompactionStage::Results),
            continued: 0,
            hook_continuations_left: 0,
            stop_hook_state: StopHookState::Inactive,
            images: TurnImagePolicy::Send,
            steering: SteeringState::None,
            usage: TokenUsage::default(),
        }
    }

    /// The same, with a model that stands in where the server of the first one cannot.
    pub fn with_fallback(self, model: Option<String>) -> Self {
        Self { fallback: model, ..self }
    }

    /// The same, with hooks that are asked before it ends, and may have it go on so often.
    pub fn with_hook_continuations(self, holds: u32) -> Self {
        Self { hook_continuations_left: holds, ..self }
    }

    /// What the turn has taken so far.
    pub fn usage(&self) -> TokenUsage {
        self.usage
    }

    /// How often the current request has failed.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// What has come of the response that is being streamed.
    pub fn response_progress(&self) -> ReceivedContent {
        match self.response() {
            Some(response) if response.has_begun() => ReceivedContent::Part,
            Some(_) | None => ReceivedContent::Nothing,
        }
    }

    /// The response that is being streamed.
    pub fn response(&self) -> Option<&ResponseAssembler> {
        match &self.phase {
            TurnMachinePhase::Streaming(response) => Some(response),
            TurnMachinePhase::Idle
            | TurnMachinePhase::Running(_)
            | TurnMachinePhase::Pausing
            | TurnMachinePhase::Compacting(_)
            | TurnMachinePhase::Ending
            | TurnMachinePhase::Over => None,
        }
    }

    /// Takes what happened and says what to do.
    pub fn step(&mut self, input: TurnInput) -> Vec<TurnAction> {
        match input {
            TurnInput::Begun => self.request(),
            TurnInput::Event(event) => self.event(event),
            TurnInput::Failed { error, again } => self.failed(error, again),
            TurnInput::PauseOver => match self.phase {
                TurnMachinePhase::Pausing => self.request(),
                TurnMachinePhase::Idle
                | TurnMachinePhase::Streaming(_)
                | TurnMachinePhase::Running(_)
                | TurnMachinePhase::Compacting(_)
                | TurnMachinePhase::Ending
                | TurnMachinePhase::Over => Vec::new(),
            },
            TurnInput::CallsDone => self.calls_done(),
            TurnInput::Compacted(outcome) => self.compacted(outcome),
            TurnInput::Steered => {
                self.steering = SteeringState::Waiting;
                Vec::new()
            }
            TurnInput::Unsteered => {
                self.steering = SteeringState::None;
                Vec::new()
            }
            TurnInput::HooksAllowEnd => self.hooks_allow_end(),
            TurnInput::HooksContinue => self.hooks_continue(),
            TurnInput::Cancelled => self.cancelled(),
        }
    }

    fn request(&mut self) -> Vec<TurnAction> {
        self.phase = TurnMachinePhase::Streaming(ResponseAssembler::default());
        vec![TurnAction::Request]
    }

    fn event(&mut self, event: StreamEvent) -> Vec<TurnAction> {
        let TurnMachinePhase::Streaming(response) = &mut self.phase else { return Vec::new() };
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
        let cut =
            if is_silent(&message) { TruncationPoint::Thought } else { TruncationPoint::Answer };
        let mut actions = vec![TurnAction::Record { message, stop, usage }];
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
            actions.push(TurnAction::Refuse { calls, reason: CUT.to_owned() });
            actions.extend(self.tool_boundary());
        } else if self.rounds >= self.limits.tool_rounds {
            let reason = format!(
                "Not run: this turn has used all its {} rounds of tool calls. Wait for the person.",
                self.limits.tool_rounds
            );
            actions.push(TurnAction::Refuse { calls, reason });
            actions.extend(self.end(TurnOutcome::RoundLimit));
        } else {
            self.rounds += 1;
            self.phase = TurnMachinePhase::Running(AfterCalls::Continue);
            actions.push(TurnAction::Run(calls));
        }
        actions
    }

    /// The model has said all it wanted; the person may have more to say already.
    fn answered(&mut self) -> Vec<TurnAction> {
        match self.steering {
            SteeringState::None if self.hook_continuations_left > 0 => {
                self.phase = TurnMachinePhase::Ending;
                vec![TurnAction::AskHooks(self.stop_hook_state)]
            }
            SteeringState::None => self.end(TurnOutcome::Answered),
            SteeringState::Waiting => self.steer_and_request(),
        }
    }

    fn hooks_allow_end(&mut self) -> Vec<TurnAction> {
        match (&self.phase, self.steering) {
            (TurnMachinePhase::Ending, SteeringState::None) => self.end(TurnOutcome::Answered),
            (TurnMachinePhase::Ending, SteeringState::Waiting) => self.steer_and_request(),
            (
                TurnMachinePhase::Idle
                | TurnMachinePhase::Streaming(_)
                | TurnMachinePhase::Running(_)
                | TurnMachinePhase::Pausing
                | TurnMachinePhase::Compacting(_)
                | TurnMachinePhase::Over,
                _,
            ) => Vec::new(),
        }
    }

    /// Hooks may do this so often and no more, or a turn might never end.
    fn hooks_continue(&mut self) -> Vec<TurnAction> {
        match self.phase {
            TurnMachinePhase::Ending => {
                self.hook_continuations_left = self.hook_continuations_left.saturating_sub(1);
                self.stop_hook_state = StopHookState::Active;
                self.tool_boundary()
            }
            TurnMachinePhase::Idle
            | TurnMachinePhase::Streaming(_)
            | TurnMachinePhase::Running(_)
            | TurnMachinePhase::Pausing
            | TurnMachinePhase::Compacting(_)
            | TurnMachinePhase::Over => Vec::new(),
        }
    }

    /// The answer ends in the midst of a sentence. It goes back with a word of slug's behind it, for
    /// some servers refuse a conversation whose last message is the model's.
    fn cut_off(&mut self, cut: TruncationPoint) -> Vec<TurnAction> {
        if self.steering == SteeringState::Waiting {
            return self.steer_and_request();
        }
        if self.continued >= CONTINUATIONS {
            let mut actions = vec![TurnAction::WarnTruncated];
            actions.extend(self.end(TurnOutcome::Answered));
            return actions;
        }
        self.continued += 1;
        let mut actions = vec![TurnAction::ContinueTruncated(cut)];
        actions.extend(self.request());
        actions
    }

    /// What was said so far goes back, and the provider goes on. That counts as a round, so that a
    /// provider that only ever pauses is not asked for ever.
    fn paused(&mut self) -> Vec<TurnAction> {
        if self.rounds >= self.limits.tool_rounds {
            return self.end(TurnOutcome::RoundLimit);
        }
        self.rounds += 1;
        self.tool_boundary()
    }

    fn calls_done(&mut self) -> Vec<TurnAction> {
        match self.phase {
            TurnMachinePhase::Running(AfterCalls::Continue) => self.tool_boundary(),
            TurnMachinePhase::Running(AfterCalls::StopInterrupted) => {
                self.end(TurnOutcome::Interrupted)
            }
            TurnMachinePhase::Idle
            | TurnMachinePhase::Streaming(_)
            | TurnMachinePhase::Pausing
            | TurnMachinePhase::Compacting(_)
            | TurnMachinePhase::Ending
            | TurnMachinePhase::Over => Vec::new(),
        }
    }

    /// All calls have their results: the model goes on, and what the person has said goes in.
    fn tool_boundary(&mut self) -> Vec<TurnAction> {
        match self.steering {
            SteeringState::None => self.request(),
            SteeringState::Waiting => self.steer_and_request(),
        }
    }

    fn steer_and_request(&mut self) -> Vec<TurnAction> {
        self.steering = SteeringState::None;
        let mut actions = vec![TurnAction::TakeSteering];
        actions.extend(self.request());
        actions
    }

    fn failed(&mut self, error: ProviderError, again: Option<RetryAttempt>) -> Vec<TurnAction> {
        match self.phase {
            TurnMachinePhase::Streaming(_) => {}
            TurnMachinePhase::Idle
            | TurnMachinePhase::Running(_)
            | TurnMachinePhase::Pausing
            | TurnMachinePhase::Compacting(_)
            | TurnMachinePhase::Ending
            | TurnMachinePhase::Over => return Vec::new(),
        }
        self.failures += 1;
        self.overloads = if is_overload(&error) { self.overloads + 1 } else { 0 };
        match error.recovery {
            ErrorRecovery::Retry | ErrorRecovery::RetryAfter(_) | ErrorRecovery::RetryBriefly => {
                self.try_again(error, again)
            }
            ErrorRecovery::Compact => {
                let mut actions = self.discard_streamed(&error);
                actions.extend(self.shorten(error));
                actions
            }
            ErrorRecovery::LeaveImagesOut if self.images == TurnImagePolicy::Send => {
                self.images = TurnImagePolicy::Omit;
                let mut actions = self.discard_streamed(&error);
                actions.push(TurnAction::LeaveImagesOut(error.message));
                actions.extend(self.ask_anew());
                actions
            }
            ErrorRecovery::LeaveImagesOut | ErrorRecovery::AskUser | ErrorRecovery::GiveUp => {
                self.end_streaming(TurnOutcome::Failed(error.message))
            }
        }
    }

    /// The same again, or the same of another model once this one's server is overloaded for good.
    fn try_again(&mut self, error: ProviderError, again: Option<RetryAttempt>) -> Vec<TurnAction> {
        if self.overloads >= OVERLOADS
            && let Some(model) = self.fallback.take()
        {
            let mut actions = self.discard_streamed(&error);
            actions.push(TurnAction::FallBack { model, reason: error.message });
            actions.extend(self.ask_anew());
            return actions;
        }
        match again {
            Some(again) => {
                self.phase = TurnMachinePhase::Pausing;
                vec![TurnAction::Pause { again, reason: error.message }]
            }
            None => self.end_streaming(TurnOutcome::Failed(error.message)),
        }
    }

    /// Each way to make the conversation shorter is gone once.
    fn shorten(&mut self, error: ProviderError) -> Vec<TurnAction> {
        let Some(stage) = self.shorten else {
            return self.end_streaming(TurnOutcome::Failed(error.message));
        };
        self.shorten = match stage {
            CompactionStage::Results => Some(CompactionStage::Turns),
            CompactionStage::Turns => None,
        };
        self.phase = TurnMachinePhase::Compacting(error);
        vec![TurnAction::Compact(stage)]
    }

    fn compacted(&mut self, outcome: CompactionResult) -> Vec<TurnAction> {
        match (&self.phase, outcome) {
            (TurnMachinePhase::Compacting(_), CompactionResult::Shorter) => self.ask_anew(),
            (TurnMachinePhase::Compacting(error), CompactionResult::NothingLeft) => {
                let error = error.clone();
                self.shorten(error)
            }
            (
                TurnMachinePhase::Idle
                | TurnMachinePhase::Streaming(_)
                | TurnMachinePhase::Running(_)
                | TurnMachinePhase::Pausing
                | TurnMachinePhase::Ending
                | TurnMachinePhase::Over,
                _,
            ) => Vec::new(),
        }
    }

    /// A request that is not the one that failed.
    fn ask_anew(&mut self) -> Vec<TurnAction> {
        self.failures = 0;
        self.overloads = 0;
        self.request()
    }

    /// What streamed before a failure that leads to another request.
    fn discard_streamed(&self, error: &ProviderError) -> Vec<TurnAction> {
        match self.response_progress() {
            ReceivedContent::Part => vec![TurnAction::Drop(error.message.clone())],
            ReceivedContent::Nothing => Vec::new(),
        }
    }

    fn cancelled(&mut self) -> Vec<TurnAction> {
        match &mut self.phase {
            TurnMachinePhase::Streaming(_) => self.end_streaming(TurnOutcome::Interrupted),
            // The calls see the same token: each ends with a result, and then the turn does.
            TurnMachinePhase::Running(after) => {
                *after = AfterCalls::StopInterrupted;
                Vec::new()
            }
            TurnMachinePhase::Idle
            | TurnMachinePhase::Pausing
            | TurnMachinePhase::Compacting(_) => self.end(TurnOutcome::Interrupted),
            // The whole answer is there.
            TurnMachinePhase::Ending => self.end(TurnOutcome::Answered),
            TurnMachinePhase::Over => Vec::new(),
        }
    }

    /// Ends in the middle of a response: what was said so far is kept, its calls are not run.
    fn end_streaming(&mut self, outcome: TurnOutcome) -> Vec<TurnAction> {
        let mut actions = Vec::new();
        if let TurnMachinePhase::Streaming(response) = &mut self.phase {
            let response = std::mem::take(response);
            let usage = response.usage;
            self.usage += usage.unwrap_or_default();
            let message = response.cut();
            if !message.content.is_empty() {
                actions.push(TurnAction::Record { message, stop: StopReason::Interrupted, usage });
            }
        }
        actions.extend(self.end(outcome));
        actions
    }

    fn end(&mut self, outcome: TurnOutcome) -> Vec<TurnAction> {
        self.phase = TurnMachinePhase::Over;
        vec![TurnAction::End(outcome)]
    }
}

/// Whether the server says that it cannot at the moment, whatever it is asked.
fn is_overload(error: &ProviderError) -> bool {
    error.status.is_some_and(|status| (500..600).contains(&status))
}

#[cfg(test)]
mod tests;
