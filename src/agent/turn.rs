//! The turn machine: what an agent does next, as a pure function of what has happened.
//!
//! The driver feeds it [`Input`]s and carries out the [`Action`]s in order. No clock, no I/O and
//! no randomness here; a pause's length and its jitter come in with the failure. Invariants: tools
//! run only after a whole response, each call gets exactly one result, and after `End` nothing
//! follows.

use std::time::Duration;

use crate::domain::{Message, StopReason, ToolCall, Usage};
use crate::providers::{ProviderError, Recovery, StreamEvent};
use crate::session::TurnOutcome;

use super::response::Response;

/// One turn, from the person's message to the end of the answer.
#[derive(Debug)]
pub struct Turn {
    limits: Limits,
    phase: Phase,
    rounds: u32,
    failures: u32,
    compactions: u32,
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
    /// The request failed, or its stream ended early. `pause` is how long the retry policy wants to
    /// wait, `None` when it has had enough.
    Failed {
        /// What went wrong.
        error: ProviderError,
        /// The pause before the next try.
        pause: Option<Duration>,
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
        /// How long.
        pause: Duration,
        /// Why, in a sentence.
        reason: String,
    },
    /// Make the conversation shorter; answer with `Compacted`.
    Compact,
    /// Send no images to this model from now on.
    LeaveImagesOut(String),
    /// The turn is over.
    End(TurnOutcome),
}

#[derive(Debug)]
enum Phase {
    Idle,
    Streaming(Response),
    Running(AfterCalls),
    Pausing,
    Compacting(ProviderError),
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

/// Ways to make the conversation shorter: results to stubs, then old turns left out.
const COMPACTIONS: u32 = 2;

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
            compactions: 0,
            images: ImagesSent::Perhaps,
            steering: Steering::None,
            usage: Usage::default(),
        }
    }

    /// What the turn has taken so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// How often the current request has failed.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// The response that is being streamed.
    pub fn response(&self) -> Option<&Response> {
        match &self.phase {
            Phase::Streaming(response) => Some(response),
            Phase::Idle
            | Phase::Running(_)
            | Phase::Pausing
            | Phase::Compacting(_)
            | Phase::Over => None,
        }
    }

    /// Takes what happened and says what to do.
    pub fn step(&mut self, input: Input) -> Vec<Action> {
        match input {
            Input::Begun => self.request(),
            Input::Event(event) => self.event(event),
            Input::Failed { error, pause } => self.failed(error, pause),
            Input::PauseOver => match self.phase {
                Phase::Pausing => self.request(),
                Phase::Idle
                | Phase::Streaming(_)
                | Phase::Running(_)
                | Phase::Compacting(_)
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
        let usage = response.usage;
        if let Some(usage) = usage {
            self.usage += usage;
        }
        let message = response.finish();
        let calls: Vec<ToolCall> = message.calls().cloned().collect();
        let mut actions = vec![Action::Record { message, stop, usage }];
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
            Steering::None => self.end(TurnOutcome::Answered),
            Steering::Waiting => self.steer_and_request(),
        }
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

    fn failed(&mut self, error: ProviderError, pause: Option<Duration>) -> Vec<Action> {
        match self.phase {
            Phase::Streaming(_) => {}
            Phase::Idle
            | Phase::Running(_)
            | Phase::Pausing
            | Phase::Compacting(_)
            | Phase::Over => return Vec::new(),
        }
        self.failures += 1;
        match (error.recovery, pause) {
            (Recovery::Retry | Recovery::RetryAfter(_), Some(pause)) => {
                self.phase = Phase::Pausing;
                vec![Action::Pause { pause, reason: error.message }]
            }
            (Recovery::Compact, _) if self.compactions < COMPACTIONS => {
                self.compactions += 1;
                self.phase = Phase::Compacting(error);
                vec![Action::Compact]
            }
            (Recovery::LeaveImagesOut, _) if self.images == ImagesSent::Perhaps => {
                self.images = ImagesSent::No;
                let mut actions = vec![Action::LeaveImagesOut(error.message)];
                actions.extend(self.request());
                actions
            }
            (
                Recovery::Retry
                | Recovery::RetryAfter(_)
                | Recovery::Compact
                | Recovery::LeaveImagesOut
                | Recovery::AskPerson
                | Recovery::GiveUp,
                _,
            ) => self.end_streaming(TurnOutcome::Failed(error.message)),
        }
    }

    fn compacted(&mut self, outcome: Compacted) -> Vec<Action> {
        match (&self.phase, outcome) {
            (Phase::Compacting(_), Compacted::Shorter) => self.request(),
            (Phase::Compacting(error), Compacted::NothingLeft) => {
                let message = error.message.clone();
                self.end(TurnOutcome::Failed(message))
            }
            (
                Phase::Idle
                | Phase::Streaming(_)
                | Phase::Running(_)
                | Phase::Pausing
                | Phase::Over,
                _,
            ) => Vec::new(),
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::CallId;

    fn turn() -> Turn {
        Turn::new(Limits { tool_rounds: 2 })
    }

    fn error(recovery: Recovery) -> ProviderError {
        ProviderError { message: "it broke".into(), status: None, recovery }
    }

    fn failed(recovery: Recovery, pause: Option<Duration>) -> Input {
        Input::Failed { error: error(recovery), pause }
    }

    fn say(turn: &mut Turn, text: &str, stop: StopReason) -> Vec<Action> {
        assert_eq!(turn.step(Input::Event(StreamEvent::Text(text.into()))), []);
        turn.step(Input::Event(StreamEvent::Finished(stop)))
    }

    fn call(turn: &mut Turn, id: &str) -> Vec<Action> {
        turn.step(Input::Event(StreamEvent::ToolUseStarted {
            index: 0,
            id: CallId::new(id),
            name: "Read".into(),
        }));
        turn.step(Input::Event(StreamEvent::Finished(StopReason::ToolUse)))
    }

    fn names(actions: &[Action]) -> Vec<&'static str> {
        actions
            .iter()
            .map(|action| match action {
                Action::Request => "request",
                Action::Record { .. } => "record",
                Action::Run(_) => "run",
                Action::Refuse { .. } => "refuse",
                Action::TakeSteering => "steer",
                Action::Pause { .. } => "pause",
                Action::Compact => "compact",
                Action::LeaveImagesOut(_) => "leave images out",
                Action::End(_) => "end",
            })
            .collect()
    }

    #[test]
    fn a_paused_response_goes_on_within_the_rounds() {
        let mut turn = turn();
        turn.step(Input::Begun);
        for _ in 0..2 {
            assert_eq!(names(&say(&mut turn, "so far", StopReason::Paused)), ["record", "request"]);
        }
        let actions = say(&mut turn, "so far", StopReason::Paused);
        assert_eq!(actions[1], Action::End(TurnOutcome::RoundLimit));
    }

    #[test]
    fn an_answer_is_recorded_and_ends_the_turn() {
        let mut turn = turn();
        assert_eq!(turn.step(Input::Begun), [Action::Request]);
        let actions = say(&mut turn, "hi", StopReason::EndTurn);
        assert_eq!(names(&actions), ["record", "end"]);
        assert_eq!(actions[1], Action::End(TurnOutcome::Answered));
    }

    #[test]
    fn what_was_said_before_the_last_failure_is_kept() {
        let mut turn = turn();
        turn.step(Input::Begun);
        turn.step(Input::Event(StreamEvent::Text("half".into())));
        let actions = turn.step(failed(Recovery::Retry, None));
        assert_eq!(names(&actions), ["record", "end"]);
        assert_eq!(actions[1], Action::End(TurnOutcome::Failed("it broke".into())));
    }

    #[test]
    fn calls_run_after_the_whole_response_and_lead_to_the_next_request() {
        let mut turn = turn();
        turn.step(Input::Begun);
        assert_eq!(names(&call(&mut turn, "a")), ["record", "run"]);
        assert_eq!(turn.step(Input::CallsDone), [Action::Request]);
    }

    #[test]
    fn calls_count_even_when_the_server_says_stop() {
        let mut turn = turn();
        turn.step(Input::Begun);
        turn.step(Input::Event(StreamEvent::ToolUseStarted {
            index: 0,
            id: CallId::new("a"),
            name: "Read".into(),
        }));
        let actions = turn.step(Input::Event(StreamEvent::Finished(StopReason::EndTurn)));
        assert_eq!(names(&actions), ["record", "run"]);
    }

    #[test]
    fn calls_of_a_response_that_was_cut_off_are_never_run() {
        let mut turn = turn();
        turn.step(Input::Begun);
        turn.step(Input::Event(StreamEvent::ToolUseStarted {
            index: 0,
            id: CallId::new("a"),
            name: "Read".into(),
        }));
        let actions = turn.step(Input::Event(StreamEvent::Finished(StopReason::MaxTokens)));
        assert_eq!(names(&actions), ["record", "refuse", "request"]);
    }

    #[test]
    fn rounds_are_limited_and_the_last_calls_still_get_results() {
        let mut turn = turn();
        turn.step(Input::Begun);
        for id in ["a", "b"] {
            assert_eq!(names(&call(&mut turn, id)), ["record", "run"]);
            turn.step(Input::CallsDone);
        }
        let actions = call(&mut turn, "c");
        assert_eq!(names(&actions), ["record", "refuse", "end"]);
        assert_eq!(actions[2], Action::End(TurnOutcome::RoundLimit));
    }

    #[test]
    fn escape_while_streaming_keeps_the_words() {
        let mut turn = turn();
        turn.step(Input::Begun);
        turn.step(Input::Event(StreamEvent::Text("half an ans".into())));
        let actions = turn.step(Input::Cancelled);
        assert_eq!(names(&actions), ["record", "end"]);
        assert!(matches!(&actions[0], Action::Record { stop: StopReason::Interrupted, .. }));
    }

    #[test]
    fn escape_before_the_first_word_records_nothing() {
        let mut turn = turn();
        turn.step(Input::Begun);
        assert_eq!(turn.step(Input::Cancelled), [Action::End(TurnOutcome::Interrupted)]);
    }

    #[test]
    fn escape_while_tools_run_waits_for_their_results() {
        let mut turn = turn();
        turn.step(Input::Begun);
        call(&mut turn, "a");
        assert_eq!(turn.step(Input::Cancelled), []);
        assert_eq!(turn.step(Input::CallsDone), [Action::End(TurnOutcome::Interrupted)]);
    }

    #[test]
    fn steering_goes_in_at_the_tool_boundary() {
        let mut turn = turn();
        turn.step(Input::Begun);
        call(&mut turn, "a");
        turn.step(Input::Steered);
        assert_eq!(names(&turn.step(Input::CallsDone)), ["steer", "request"]);
    }

    #[test]
    fn steering_goes_in_behind_calls_that_were_cut_off_too() {
        let mut turn = turn();
        turn.step(Input::Begun);
        turn.step(Input::Event(StreamEvent::ToolUseStarted {
            index: 0,
            id: CallId::new("a"),
            name: "Read".into(),
        }));
        turn.step(Input::Steered);
        let actions = turn.step(Input::Event(StreamEvent::Finished(StopReason::MaxTokens)));
        assert_eq!(names(&actions), ["record", "refuse", "steer", "request"]);
    }

    #[test]
    fn what_a_stopped_response_took_counts() {
        let mut turn = turn();
        turn.step(Input::Begun);
        let usage = Usage { input: 7, ..Usage::default() };
        turn.step(Input::Event(StreamEvent::Usage(usage)));
        turn.step(Input::Cancelled);
        assert_eq!(turn.usage(), usage);
    }

    #[test]
    fn steering_without_a_boundary_goes_in_before_the_turn_would_end() {
        let mut turn = turn();
        turn.step(Input::Begun);
        turn.step(Input::Steered);
        let actions = say(&mut turn, "done", StopReason::EndTurn);
        assert_eq!(names(&actions), ["record", "steer", "request"]);
    }

    #[test]
    fn a_failure_in_mid_stream_voids_what_came_and_tries_again() {
        let mut turn = turn();
        turn.step(Input::Begun);
        turn.step(Input::Event(StreamEvent::Text("half".into())));
        let pause = Duration::from_secs(1);
        assert_eq!(names(&turn.step(failed(Recovery::Retry, Some(pause)))), ["pause"]);
        assert_eq!(turn.step(Input::PauseOver), [Action::Request]);
        let actions = say(&mut turn, "whole", StopReason::EndTurn);
        assert!(matches!(&actions[0], Action::Record { message, .. } if message.text() == "whole"));
    }

    #[test]
    fn a_model_that_takes_no_images_is_asked_again_without_them_once() {
        let mut turn = turn();
        turn.step(Input::Begun);
        let refused = || failed(Recovery::LeaveImagesOut, None);
        assert_eq!(names(&turn.step(refused())), ["leave images out", "request"]);
        assert_eq!(names(&turn.step(refused())), ["end"]);
    }

    #[test]
    fn a_failure_that_cannot_be_retried_ends_the_turn() {
        for (recovery, pause) in [
            (Recovery::Retry, None),
            (Recovery::AskPerson, None),
            (Recovery::GiveUp, Some(Duration::ZERO)),
        ] {
            let mut turn = turn();
            turn.step(Input::Begun);
            assert_eq!(
                turn.step(failed(recovery, pause)),
                [Action::End(TurnOutcome::Failed("it broke".into()))]
            );
        }
    }

    #[test]
    fn a_prompt_that_is_too_long_is_made_shorter_at_most_twice() {
        let mut turn = turn();
        turn.step(Input::Begun);
        for _ in 0..2 {
            assert_eq!(turn.step(failed(Recovery::Compact, None)), [Action::Compact]);
            assert_eq!(turn.step(Input::Compacted(Compacted::Shorter)), [Action::Request]);
        }
        assert_eq!(names(&turn.step(failed(Recovery::Compact, None))), ["end"]);
    }

    fn any_input() -> impl Strategy<Value = Input> {
        prop_oneof![
            Just(Input::Begun),
            Just(Input::Event(StreamEvent::Text("t".into()))),
            Just(Input::Event(StreamEvent::ToolUseStarted {
                index: 0,
                id: CallId::new("c"),
                name: "Read".into()
            })),
            Just(Input::Event(StreamEvent::Finished(StopReason::EndTurn))),
            Just(failed(Recovery::Retry, Some(Duration::ZERO))),
            Just(failed(Recovery::Compact, None)),
            Just(Input::PauseOver),
            Just(Input::CallsDone),
            Just(Input::Compacted(Compacted::Shorter)),
            Just(Input::Steered),
            Just(Input::Cancelled),
        ]
    }

    proptest! {
        /// R57: whatever comes in whatever order, a turn ends once and does nothing afterwards,
        /// and calls run only from a response that was recorded just before.
        #[test]
        fn nothing_follows_the_end(inputs in prop::collection::vec(any_input(), 0..40)) {
            let mut turn = turn();
            turn.step(Input::Begun);
            let mut ended = false;
            for input in inputs.into_iter().filter(|input| *input != Input::Begun) {
                let actions = turn.step(input);
                prop_assert!(!ended || actions.is_empty());
                for (at, action) in actions.iter().enumerate() {
                    if let Action::Run(calls) = action {
                        let recorded = matches!(
                            &actions[at - 1],
                            Action::Record { message, .. } if message.calls().eq(calls)
                        );
                        prop_assert!(recorded);
                    }
                    if let Action::End(_) = action {
                        prop_assert_eq!(at, actions.len() - 1);
                        ended = true;
                    }
                }
            }
        }
    }
}
