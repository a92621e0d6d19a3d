//! The turn machine: decides what an agent does next, as a pure function of what has happened.
//!
//! `turn_runner` feeds it [`TurnInput`]s and carries out the [`TurnAction`]s in order. There is no
//! clock, no I/O and no randomness here; the length of a pause and its jitter come in with the
//! failure. Invariants: calls run only after a whole response (what `early_start` begins before that is no
//! call until then), each call gets exactly one result, and no action follows [`TurnAction::End`].

use crate::domain::{Message, StopReason, TokenUsage, ToolCall};
use crate::providers::retry::{ReceivedContent, RetryAttempt};
use crate::providers::{ErrorRecovery, ProviderError, StreamEvent};
use crate::session::{ModelFailure, TurnOutcome};

use super::compaction::plan::CompactionTrigger;
use super::repeated_text::RepeatedText;
use super::response::ResponseAssembler;

mod after_response;
mod compacting;

use compacting::CompactionCause;
pub use compacting::CompactionResult;

/// One turn, from the user's message to the end of the answer.
#[derive(Debug)]
pub struct TurnMachine {
    limits: TurnLimits,
    phase: TurnMachinePhase,
    rounds: u32,
    failures: u32,
    /// How many failures in a row said that the server is overloaded.
    overloads: u32,
    /// The model that can take over; `None` once it has, or when none is configured.
    fallback: Option<String>,
    /// How many requests in a row the server has refused as too long.
    too_long: u32,
    /// How often the answer was continued after the output limit.
    continued: u32,
    /// How many responses in a row the provider has paused.
    pauses: u32,
    rounds_note: RoundsNoteState,
    summary: SummaryState,
    /// How many responses in a row ended at the output limit in the midst of their only call.
    cut_calls: u32,
    /// How often hooks may still have the model go on in this turn.
    hook_continuations_left: u32,
    stop_hook_state: StopHookState,
    images: TurnContentPolicy,
    tools: TurnContentPolicy,
    steering: SteeringState,
    repeated: RepeatedText,
}

/// What ends a turn although the model would go on.
#[derive(Debug, Clone, Copy)]
pub struct TurnLimits {
    /// The most rounds of tool calls; `None` for no limit.
    pub tool_rounds: Option<u32>,
}

/// Something that happened, as `turn_runner` reports it.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnInput {
    /// The user's message is in the log.
    Begun,
    /// The turn is there to make the conversation shorter, and for nothing else.
    CompactionAsked,
    /// The request that was asked for leaves too little room in the model's window.
    ContextFull,
    /// An event of the response arrived.
    Event(StreamEvent),
    /// The request failed, or its stream ended early.
    Failed {
        /// The failure; its `recovery` says what to do about it.
        error: ProviderError,
        /// The next try by the retry policy; `None` when it gives up.
        again: Option<RetryAttempt>,
    },
    /// The pause before the next try has passed.
    PauseOver,
    /// All calls of the response have their results in the log.
    CallsDone,
    /// The same, and the model repeats itself whatever it is told.
    CallsRepeated(ModelFailure),
    /// The compaction is done.
    Compacted(CompactionResult),
    /// A message of the user's waits for the next tool boundary.
    Steered,
    /// All waiting messages were withdrawn.
    Unsteered,
    /// Hooks let the turn end.
    HooksAllowEnd,
    /// Hooks want the model to go on; their reason is in the log.
    HooksContinue,
    /// The user stopped the turn.
    Cancelled,
}

/// Something that `turn_runner` has to do.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnAction {
    /// Send the conversation to the model.
    Request,
    /// Send it to the model, which has to answer with text.
    RequestWithoutTools,
    /// Log a note that tells the model how many rounds of tool calls are left.
    NoteRoundsLeft(u32),
    /// Log a note that asks the model to say what is done and what is open.
    AskForSummary,
    /// Tell the user that there is no summary, and why.
    WarnNoSummary(String),
    /// Write a response, whole or cut short, to the log.
    Record {
        message: Message,
        stop: StopReason,
        /// The tokens it took; `None` when the server did not say.
        usage: Option<TokenUsage>,
    },
    /// Run these calls; [`TurnInput::CallsDone`] answers.
    Run(Vec<ToolCall>),
    /// Log a failure for these calls without running them; the machine expects no answer.
    Refuse {
        calls: Vec<ToolCall>,
        /// What the model is told about each call.
        reason: String,
    },
    /// Log for these calls that the output limit cut them; the machine expects no answer.
    RefuseCut(Vec<ToolCall>),
    /// Move the user's waiting messages into the log.
    TakeSteering,
    /// Discard what streamed; [`TurnInput::PauseOver`] answers after the pause.
    Pause {
        /// The pause, and which try follows it.
        again: RetryAttempt,
        /// Why, as a sentence.
        reason: String,
    },
    /// Discard what streamed, for this reason; a different request follows.
    Drop(String),
    /// Make the conversation shorter; [`TurnInput::Compacted`] answers.
    Compact(CompactionTrigger),
    /// Tell the user that the compaction was stopped and has changed nothing.
    TellUncompacted,
    /// Send all further requests of this turn to another model.
    FallBack {
        model: String,
        /// What the server of the first model says.
        reason: String,
    },
    /// Log a note that tells the model to continue after the output limit.
    ContinueTruncated(TruncationPoint),
    /// Run the `Stop` hooks; [`TurnInput::HooksAllowEnd`] or [`TurnInput::HooksContinue`] answers.
    AskHooks(StopHookState),
    /// Tell the user that the answer ends at the output limit.
    WarnTruncated,
    /// Tell the user that the provider describes the tools in the prompt from now on, and why.
    DescribeTools(String),
    /// Send no images to this model from now on.
    LeaveImagesOut(String),
    /// End the turn; always the last action.
    End(TurnOutcome),
}

/// Where the output limit cut a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TruncationPoint {
    /// In its text.
    Answer,
    /// In its thinking, before any text.
    Thought,
}

/// Whether hooks have had the model go on in this turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopHookState {
    /// No hook has done so yet.
    Inactive,
    /// A hook has done so. Hooks are told, so that they can avoid a loop.
    Active,
}

#[derive(Debug)]
enum TurnMachinePhase {
    Idle,
    Streaming(ResponseAssembler),
    Running(AfterCalls),
    Pausing,
    Compacting(CompactionCause),
    /// The model has answered, and the `Stop` hooks run.
    Ending,
    Over,
}

#[derive(Debug, Clone, Copy)]
enum AfterCalls {
    Continue,
    StopInterrupted,
}

/// Whether images, or tools, are sent as such with the requests of this turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TurnContentPolicy {
    Send,
    Omit,
}

/// Whether the model has been told that its rounds come to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RoundsNoteState {
    NotYet,
    Told,
}

/// Whether the rounds are used up, and the model was asked to say what is done and what is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SummaryState {
    NotAsked,
    Asked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SteeringState {
    None,
    Waiting,
}

/// After how many overload failures in a row the fallback model takes over.
const MAX_OVERLOADS: u32 = 3;

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
            too_long: 0,
            continued: 0,
            pauses: 0,
            rounds_note: RoundsNoteState::NotYet,
            summary: SummaryState::NotAsked,
            cut_calls: 0,
            hook_continuations_left: 0,
            stop_hook_state: StopHookState::Inactive,
            images: TurnContentPolicy::Send,
            tools: TurnContentPolicy::Send,
            steering: SteeringState::None,
            repeated: RepeatedText::default(),
        }
    }

    /// Adds the model that takes over when the server is overloaded.
    pub fn with_fallback(self, model: Option<String>) -> Self {
        Self { fallback: model, ..self }
    }

    /// Runs hooks before the turn ends. They can have the model go on at most this often.
    pub fn with_hook_continuations(self, most: u32) -> Self {
        Self { hook_continuations_left: most, ..self }
    }

    /// The rounds of tool calls so far.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// How often the current request has failed. A successful response resets it.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Whether a part of the current response has arrived.
    pub fn response_progress(&self) -> ReceivedContent {
        match self.response() {
            Some(response) if response.has_begun() => ReceivedContent::Part,
            Some(_) | None => ReceivedContent::Nothing,
        }
    }

    /// The response that is being streamed; `None` between requests.
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

    /// Takes an input and returns the actions to carry out, in order. Inputs that do not fit the
    /// current phase are ignored.
    pub fn step(&mut self, input: TurnInput) -> Vec<TurnAction> {
        match input {
            TurnInput::Begun => self.request(),
            TurnInput::CompactionAsked => self.compaction_asked(),
            TurnInput::ContextFull => self.context_full(),
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
            TurnInput::CallsRepeated(why) => self.calls_repeated(why),
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
        self.repeated = RepeatedText::default();
        vec![match self.summary {
            SummaryState::NotAsked => TurnAction::Request,
            SummaryState::Asked => TurnAction::RequestWithoutTools,
        }]
    }

    fn event(&mut self, event: StreamEvent) -> Vec<TurnAction> {
        let TurnMachinePhase::Streaming(response) = &mut self.phase else { return Vec::new() };
        let repeats = self.repeated.in_event(&event);
        let stop = response.take(event);
        if let Some(period) = repeats {
            response.cut_repetitions(period);
            return self.repeats_itself();
        }
        let Some(stop) = stop else { return Vec::new() };
        let response = std::mem::take(response);
        self.failures = 0;
        self.overloads = 0;
        self.too_long = 0;
        let usage = response.usage;
        let message = response.finish();
        let next = self.after_response(&message, stop);
        let mut actions = vec![TurnAction::Record { message, stop, usage }];
        actions.extend(next);
        actions
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

    fn calls_repeated(&mut self, why: ModelFailure) -> Vec<TurnAction> {
        match self.phase {
            TurnMachinePhase::Running(AfterCalls::Continue) => self.unusable(why),
            TurnMachinePhase::Running(AfterCalls::StopInterrupted)
            | TurnMachinePhase::Idle
            | TurnMachinePhase::Streaming(_)
            | TurnMachinePhase::Pausing
            | TurnMachinePhase::Compacting(_)
            | TurnMachinePhase::Ending
            | TurnMachinePhase::Over => self.calls_done(),
        }
    }

    /// Goes on after all calls have results, with the user's waiting messages.
    fn tool_boundary(&mut self) -> Vec<TurnAction> {
        let mut actions = self.note_rounds_left();
        actions.extend(match self.steering {
            SteeringState::None => self.request(),
            SteeringState::Waiting => self.steer_and_request(),
        });
        actions
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
            ErrorRecovery::Compact(_) => {
                let mut actions = self.discard_streamed(&error);
                actions.extend(self.shorten(error));
                actions
            }
            ErrorRecovery::LeaveImagesOut if self.images == TurnContentPolicy::Send => {
                self.images = TurnContentPolicy::Omit;
                let mut actions = self.discard_streamed(&error);
                actions.push(TurnAction::LeaveImagesOut(error.message));
                actions.extend(self.ask_anew());
                actions
            }
            ErrorRecovery::DescribeTools if self.tools == TurnContentPolicy::Send => {
                self.tools = TurnContentPolicy::Omit;
                let mut actions = self.discard_streamed(&error);
                actions.push(TurnAction::DescribeTools(error.message));
                actions.extend(self.ask_anew());
                actions
            }
            ErrorRecovery::DescribeTools
            | ErrorRecovery::LeaveImagesOut
            | ErrorRecovery::AskUser
            | ErrorRecovery::GiveUp => self.request_failed(error),
        }
    }

    /// Repeats the request after a pause, or sends it to the fallback model when the server stays
    /// overloaded.
    fn try_again(&mut self, error: ProviderError, again: Option<RetryAttempt>) -> Vec<TurnAction> {
        if self.overloads >= MAX_OVERLOADS
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
            None => self.request_failed(error),
        }
    }

    /// Ends the turn because of a failed request.
    fn request_failed(&mut self, error: ProviderError) -> Vec<TurnAction> {
        match self.summary {
            SummaryState::NotAsked => self.end_streaming(TurnOutcome::Failed(error.message)),
            SummaryState::Asked => {
                let mut actions = vec![TurnAction::WarnNoSummary(error.message)];
                actions.extend(self.end_streaming(TurnOutcome::RoundLimit));
                actions
            }
        }
    }

    /// Sends a request that differs from the failed one, so its failures count from zero.
    fn ask_anew(&mut self) -> Vec<TurnAction> {
        self.failures = 0;
        self.overloads = 0;
        self.request()
    }

    /// Discards what streamed before a failure that leads to a different request.
    fn discard_streamed(&self, error: &ProviderError) -> Vec<TurnAction> {
        match self.response_progress() {
            ReceivedContent::Part => vec![TurnAction::Drop(error.message.clone())],
            ReceivedContent::Nothing => Vec::new(),
        }
    }

    fn cancelled(&mut self) -> Vec<TurnAction> {
        match &mut self.phase {
            TurnMachinePhase::Streaming(_) => self.end_streaming(TurnOutcome::Interrupted),
            // The calls see the same token. Each ends with a result, and then the turn ends.
            TurnMachinePhase::Running(after) => {
                *after = AfterCalls::StopInterrupted;
                Vec::new()
            }
            // The answer is complete.
            TurnMachinePhase::Ending => self.end(TurnOutcome::Answered),
            TurnMachinePhase::Idle | TurnMachinePhase::Pausing => {
                self.end(TurnOutcome::Interrupted)
            }
            TurnMachinePhase::Compacting(_) => {
                let mut actions = vec![TurnAction::TellUncompacted];
                actions.extend(self.end(TurnOutcome::Interrupted));
                actions
            }
            TurnMachinePhase::Over => Vec::new(),
        }
    }

    /// Ends the turn in the middle of a response. Its text is kept, its calls are not run.
    fn end_streaming(&mut self, outcome: TurnOutcome) -> Vec<TurnAction> {
        let mut actions = self.record_streamed();
        actions.extend(self.end(outcome));
        actions
    }

    /// Ends a response that says the same over and over. A waiting message of the user's continues
    /// the turn.
    fn repeats_itself(&mut self) -> Vec<TurnAction> {
        let mut actions = self.record_streamed();
        actions.extend(match self.summary {
            SummaryState::NotAsked => self.unusable(ModelFailure::RepeatedText),
            SummaryState::Asked => self.end(TurnOutcome::RoundLimit),
        });
        actions
    }

    fn record_streamed(&mut self) -> Vec<TurnAction> {
        let mut actions = Vec::new();
        if let TurnMachinePhase::Streaming(response) = &mut self.phase {
            let response = std::mem::take(response);
            let usage = response.usage;
            // A call that was not complete is not kept, but it was paid for.
            let was_paid = response.has_begun() || usage.is_some();
            let message = response.cut();
            if was_paid {
                actions.push(TurnAction::Record { message, stop: StopReason::Interrupted, usage });
            }
        }
        actions
    }

    fn end(&mut self, outcome: TurnOutcome) -> Vec<TurnAction> {
        self.phase = TurnMachinePhase::Over;
        vec![TurnAction::End(outcome)]
    }
}

/// Whether the server fails for any request at the moment: a status of 5xx.
fn is_overload(error: &ProviderError) -> bool {
    error.status.is_some_and(|status| (500..600).contains(&status))
}

#[cfg(test)]
mod tests;
