//! The turn machine, path by path: inputs in, expected actions out.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::domain::{CallId, ContentBlock};
use crate::providers::RequestOverflow;

mod limits;
mod repetition;

fn turn() -> TurnMachine {
    TurnMachine::new(TurnLimits { tool_rounds: Some(2) })
}

fn error(recovery: ErrorRecovery) -> ProviderError {
    ProviderError { message: "it broke".into(), status: None, recovery }
}

fn failed(recovery: ErrorRecovery, pause: Option<Duration>) -> TurnInput {
    let again = pause.map(|pause| RetryAttempt { pause, number: 1, of: 10 });
    TurnInput::Failed { error: error(recovery), again }
}

/// A failure with this status that is retried at once.
fn refused(status: u16) -> TurnInput {
    let error = ProviderError { status: Some(status), ..error(ErrorRecovery::Retry) };
    TurnInput::Failed {
        error,
        again: Some(RetryAttempt { pause: Duration::ZERO, number: 1, of: 10 }),
    }
}

fn say(turn: &mut TurnMachine, text: &str, stop: StopReason) -> Vec<TurnAction> {
    assert_eq!(turn.step(TurnInput::Event(StreamEvent::Text(text.into()))), []);
    turn.step(TurnInput::Event(StreamEvent::Finished(stop)))
}

fn call(turn: &mut TurnMachine, id: &str) -> Vec<TurnAction> {
    turn.step(TurnInput::Event(StreamEvent::ToolUseStarted {
        index: 0,
        id: CallId::new(id),
        name: "Read".into(),
    }));
    turn.step(TurnInput::Event(StreamEvent::Finished(StopReason::ToolUse)))
}

fn names(actions: &[TurnAction]) -> Vec<&'static str> {
    actions
        .iter()
        .map(|action| match action {
            TurnAction::Request => "request",
            TurnAction::RequestWithoutTools => "request text",
            TurnAction::NoteRoundsLeft(_) => "note rounds",
            TurnAction::AskForSummary => "ask for summary",
            TurnAction::WarnNoSummary(_) => "no summary",
            TurnAction::Record { .. } => "record",
            TurnAction::Run(_) => "run",
            TurnAction::Refuse { .. } => "refuse",
            TurnAction::RefuseCut(_) => "refuse cut",
            TurnAction::TakeSteering => "steer",
            TurnAction::Pause { .. } => "pause",
            TurnAction::Drop(_) => "drop",
            TurnAction::Compact(_) => "compact",
            TurnAction::TellUncompacted => "tell uncompacted",
            TurnAction::FallBack { .. } => "fall back",
            TurnAction::ContinueTruncated(_) => "go on",
            TurnAction::AskHooks(_) => "ask hooks",
            TurnAction::WarnTruncated => "tell",
            TurnAction::DescribeTools(_) => "describe tools",
            TurnAction::LeaveImagesOut(_) => "leave images out",
            TurnAction::End(_) => "end",
        })
        .collect()
}

#[test]
fn a_paused_response_goes_on_within_the_rounds() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    for _ in 0..2 {
        assert_eq!(names(&say(&mut turn, "so far", StopReason::Paused)), ["record", "request"]);
    }
    let actions = say(&mut turn, "so far", StopReason::Paused);
    assert_eq!(actions[1], TurnAction::End(TurnOutcome::RoundLimit));
}

#[test]
fn an_answer_is_recorded_and_ends_the_turn() {
    let mut turn = turn();
    assert_eq!(turn.step(TurnInput::Begun), [TurnAction::Request]);
    let actions = say(&mut turn, "hi", StopReason::EndTurn);
    assert_eq!(names(&actions), ["record", "end"]);
    assert_eq!(actions[1], TurnAction::End(TurnOutcome::Answered));
}

#[test]
fn text_before_the_last_failure_is_kept() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    turn.step(TurnInput::Event(StreamEvent::Text("half".into())));
    let actions = turn.step(failed(ErrorRecovery::Retry, None));
    assert_eq!(names(&actions), ["record", "end"]);
    assert_eq!(actions[1], TurnAction::End(TurnOutcome::Failed("it broke".into())));
}

#[test]
fn calls_run_after_the_whole_response_and_lead_to_the_next_request() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    assert_eq!(names(&call(&mut turn, "a")), ["record", "run"]);
    assert_eq!(turn.step(TurnInput::CallsDone), [TurnAction::Request]);
}

#[test]
fn calls_count_even_when_the_server_says_stop() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    turn.step(TurnInput::Event(StreamEvent::ToolUseStarted {
        index: 0,
        id: CallId::new("a"),
        name: "Read".into(),
    }));
    let actions = turn.step(TurnInput::Event(StreamEvent::Finished(StopReason::EndTurn)));
    assert_eq!(names(&actions), ["record", "run"]);
}

#[test]
fn what_is_no_answer_fails_the_turn() {
    for (text, stop, failure) in [
        ("", StopReason::EndTurn, ModelFailure::EmptyAnswer),
        (" \n", StopReason::ToolUse, ModelFailure::EmptyAnswer),
        ("I can", StopReason::Refusal, ModelFailure::ContentFilter),
        ("", StopReason::Refusal, ModelFailure::ContentFilter),
    ] {
        let mut turn = turn().with_hook_continuations(1);
        turn.step(TurnInput::Begun);
        let actions = say(&mut turn, text, stop);
        assert_eq!(names(&actions), ["record", "end"], "{text:?} {stop:?}");
        assert_eq!(actions[1], TurnAction::End(TurnOutcome::ModelFailed(failure)));
        // A waiting message of the user's goes before the failure.
        let mut turn = self::turn();
        turn.step(TurnInput::Begun);
        turn.step(TurnInput::Steered);
        assert_eq!(names(&say(&mut turn, text, stop)), ["record", "steer", "request"]);
    }
}

#[test]
fn nothing_behind_a_cut_answer_is_its_end() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    say(&mut turn, "all of it", StopReason::MaxTokens);
    let actions = say(&mut turn, "", StopReason::EndTurn);
    assert_eq!(actions[1], TurnAction::End(TurnOutcome::Answered));
}

#[test]
fn calls_of_a_response_that_was_withheld_are_not_run() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    turn.step(TurnInput::Event(StreamEvent::ToolUseStarted {
        index: 0,
        id: CallId::new("a"),
        name: "Read".into(),
    }));
    let actions = turn.step(TurnInput::Event(StreamEvent::Finished(StopReason::Refusal)));
    assert_eq!(names(&actions), ["record", "refuse", "end"]);
}

#[test]
fn repeated_calls_fail_the_turn_unless_the_user_stops_it() {
    for (cancelled, outcome) in [
        (false, TurnOutcome::ModelFailed(ModelFailure::RepeatedCalls)),
        (true, TurnOutcome::Interrupted),
    ] {
        let mut turn = turn();
        turn.step(TurnInput::Begun);
        call(&mut turn, "a");
        if cancelled {
            turn.step(TurnInput::Cancelled);
        }
        let repeated = TurnInput::CallsRepeated(ModelFailure::RepeatedCalls);
        assert_eq!(turn.step(repeated), [TurnAction::End(outcome)]);
    }
}

#[test]
fn a_message_that_waits_goes_out_before_repeated_calls_end_the_turn() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    call(&mut turn, "a");
    turn.step(TurnInput::Steered);
    let actions = turn.step(TurnInput::CallsRepeated(ModelFailure::RepeatedCalls));
    assert_eq!(actions, [TurnAction::TakeSteering, TurnAction::Request]);
}

#[test]
fn escape_while_streaming_keeps_the_words() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    turn.step(TurnInput::Event(StreamEvent::Text("half an ans".into())));
    let actions = turn.step(TurnInput::Cancelled);
    assert_eq!(names(&actions), ["record", "end"]);
    assert!(matches!(&actions[0], TurnAction::Record { stop: StopReason::Interrupted, .. }));
}

#[test]
fn escape_before_the_first_word_records_nothing() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    assert_eq!(turn.step(TurnInput::Cancelled), [TurnAction::End(TurnOutcome::Interrupted)]);
}

#[test]
fn escape_while_tools_run_waits_for_their_results() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    call(&mut turn, "a");
    assert_eq!(turn.step(TurnInput::Cancelled), []);
    assert_eq!(turn.step(TurnInput::CallsDone), [TurnAction::End(TurnOutcome::Interrupted)]);
}

#[test]
fn steering_goes_in_at_the_tool_boundary() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    call(&mut turn, "a");
    turn.step(TurnInput::Steered);
    assert_eq!(names(&turn.step(TurnInput::CallsDone)), ["steer", "request"]);
}

#[test]
fn steering_goes_in_behind_calls_that_were_cut_off_too() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    turn.step(TurnInput::Event(StreamEvent::ToolUseStarted {
        index: 0,
        id: CallId::new("a"),
        name: "Read".into(),
    }));
    turn.step(TurnInput::Steered);
    let actions = turn.step(TurnInput::Event(StreamEvent::Finished(StopReason::MaxTokens)));
    assert_eq!(names(&actions), ["record", "refuse cut", "steer", "request"]);
}

#[test]
fn the_usage_of_a_stopped_response_counts() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    let usage = TokenUsage { input: 7, ..TokenUsage::default() };
    turn.step(TurnInput::Event(StreamEvent::Usage(usage)));
    let actions = turn.step(TurnInput::Cancelled);
    let recorded = actions.iter().find_map(|action| match action {
        TurnAction::Record { usage, .. } => *usage,
        _ => None,
    });
    assert_eq!(recorded, Some(usage));
}

#[test]
fn steering_without_a_boundary_goes_in_before_the_turn_would_end() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    turn.step(TurnInput::Steered);
    let actions = say(&mut turn, "done", StopReason::EndTurn);
    assert_eq!(names(&actions), ["record", "steer", "request"]);
}

#[test]
fn a_failure_in_mid_stream_voids_what_came_and_tries_again() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    turn.step(TurnInput::Event(StreamEvent::Text("half".into())));
    let pause = Duration::from_secs(1);
    assert_eq!(names(&turn.step(failed(ErrorRecovery::Retry, Some(pause)))), ["pause"]);
    assert_eq!(turn.step(TurnInput::PauseOver), [TurnAction::Request]);
    let actions = say(&mut turn, "whole", StopReason::EndTurn);
    assert!(matches!(&actions[0], TurnAction::Record { message, .. } if message.text() == "whole"));
}

#[test]
fn a_model_that_takes_no_images_or_tools_is_asked_again_without_them_once() {
    for (recovery, action) in [
        (ErrorRecovery::LeaveImagesOut, "leave images out"),
        (ErrorRecovery::DescribeTools, "describe tools"),
    ] {
        let mut turn = turn();
        turn.step(TurnInput::Begun);
        assert_eq!(names(&turn.step(failed(recovery, None))), [action, "request"]);
        assert_eq!(names(&turn.step(failed(recovery, None))), ["end"]);
    }
}

#[test]
fn a_failure_that_cannot_be_retried_ends_the_turn() {
    for (recovery, pause) in [
        (ErrorRecovery::Retry, None),
        (ErrorRecovery::AskUser, None),
        (ErrorRecovery::GiveUp, Some(Duration::ZERO)),
    ] {
        let mut turn = turn();
        turn.step(TurnInput::Begun);
        assert_eq!(
            turn.step(failed(recovery, pause)),
            [TurnAction::End(TurnOutcome::Failed("it broke".into()))]
        );
    }
}

/// R33: a server that refuses whatever it gets is not asked for ever.
#[test]
fn r33_a_prompt_that_is_refused_is_made_shorter_only_so_often() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    let refused = [TurnAction::Compact(CompactionTrigger::Refused)];
    let shorter = || TurnInput::Compacted(CompactionResult::Shorter);
    for _ in 0..4 {
        assert_eq!(
            turn.step(failed(ErrorRecovery::Compact(RequestOverflow::default()), None)),
            refused
        );
        assert_eq!(turn.step(shorter()), [TurnAction::Request]);
    }
    assert_eq!(
        names(&turn.step(failed(ErrorRecovery::Compact(RequestOverflow::default()), None))),
        ["end"]
    );
}

#[test]
fn r33_an_answer_in_between_allows_the_next_compactions() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    for _ in 0..4 {
        turn.step(failed(ErrorRecovery::Compact(RequestOverflow::default()), None));
        turn.step(TurnInput::Compacted(CompactionResult::Shorter));
    }
    assert_eq!(names(&call(&mut turn, "a")), ["record", "run"]);
    turn.step(TurnInput::CallsDone);
    assert_eq!(
        names(&turn.step(failed(ErrorRecovery::Compact(RequestOverflow::default()), None))),
        ["compact"]
    );
}

#[test]
fn r33_with_nothing_left_to_leave_out_the_turn_fails_as_the_server_said() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    turn.step(failed(ErrorRecovery::Compact(RequestOverflow::default()), None));
    let nothing = TurnInput::Compacted(CompactionResult::NothingLeft);
    assert_eq!(turn.step(nothing), [TurnAction::End(TurnOutcome::Failed("it broke".into()))]);
}

#[test]
fn a_request_that_would_not_fit_goes_out_after_a_compaction_or_not_at_all() {
    let too_large = CompactionResult::TooLarge("8k".into());
    for (result, then) in [
        (CompactionResult::Shorter, TurnAction::Request),
        // What is estimated may still fit.
        (CompactionResult::NothingLeft, TurnAction::Request),
        (too_large, TurnAction::End(TurnOutcome::Failed("8k".into()))),
    ] {
        let mut turn = turn();
        turn.step(TurnInput::Begun);
        let full = [TurnAction::Compact(CompactionTrigger::Full)];
        assert_eq!(turn.step(TurnInput::ContextFull), full);
        assert_eq!(turn.step(TurnInput::Compacted(result)), [then]);
    }
}

#[test]
fn a_turn_for_a_compaction_ends_with_it() {
    let mut turn = turn();
    let asked = [TurnAction::Compact(CompactionTrigger::Asked)];
    assert_eq!(turn.step(TurnInput::CompactionAsked), asked);
    let done = TurnInput::Compacted(CompactionResult::NothingLeft);
    assert_eq!(turn.step(done), [TurnAction::End(TurnOutcome::Answered)]);
}

#[test]
fn a_stop_ends_a_turn_whose_conversation_is_being_compacted() {
    for begun in [&[TurnInput::Begun, TurnInput::ContextFull][..], &[TurnInput::CompactionAsked]] {
        let mut turn = turn();
        for input in begun {
            turn.step(input.clone());
        }
        let stopped = [TurnAction::TellUncompacted, TurnAction::End(TurnOutcome::Interrupted)];
        assert_eq!(turn.step(TurnInput::Cancelled), stopped, "{begun:?}");
    }
}

#[test]
fn text_streamed_before_another_request_is_dropped() {
    for (recovery, then) in [
        (ErrorRecovery::Compact(RequestOverflow::default()), vec!["drop", "compact"]),
        (ErrorRecovery::LeaveImagesOut, vec!["drop", "leave images out", "request"]),
        (ErrorRecovery::DescribeTools, vec!["drop", "describe tools", "request"]),
    ] {
        let mut turn = turn();
        turn.step(TurnInput::Begun);
        turn.step(TurnInput::Event(StreamEvent::Text("half".into())));
        assert_eq!(names(&turn.step(failed(recovery, None))), then);
    }
}

#[test]
fn after_three_overloads_in_a_row_the_fallback_model_takes_over_once() {
    let mut turn = turn().with_fallback(Some("other".into()));
    turn.step(TurnInput::Begun);
    for status in [529, 503] {
        assert_eq!(names(&turn.step(refused(status))), ["pause"]);
        turn.step(TurnInput::PauseOver);
    }
    let fall_back = TurnAction::FallBack { model: "other".into(), reason: "it broke".into() };
    assert_eq!(turn.step(refused(500)), [fall_back, TurnAction::Request]);
    assert_eq!(turn.failures(), 0, "the other model is tried as often as the first");
    for _ in 0..4 {
        assert_eq!(names(&turn.step(refused(529))), ["pause"]);
        turn.step(TurnInput::PauseOver);
    }
}

#[test]
fn only_overloads_in_a_row_count() {
    let mut turn = turn().with_fallback(Some("other".into()));
    turn.step(TurnInput::Begun);
    for status in [529, 529, 429, 529, 529] {
        assert_eq!(names(&turn.step(refused(status))), ["pause"], "{status}");
        turn.step(TurnInput::PauseOver);
    }
    call(&mut turn, "a");
    turn.step(TurnInput::CallsDone);
    assert_eq!(names(&turn.step(refused(529))), ["pause"], "an answer came between");
}

#[test]
fn without_another_model_the_same_is_asked_again() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    for _ in 0..5 {
        assert_eq!(names(&turn.step(refused(529))), ["pause"]);
        turn.step(TurnInput::PauseOver);
    }
}

#[test]
fn an_answer_that_reaches_the_limit_goes_on_three_times() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    for _ in 0..3 {
        let actions = say(&mut turn, "so far", StopReason::MaxTokens);
        assert_eq!(names(&actions), ["record", "go on", "request"]);
        assert_eq!(actions[1], TurnAction::ContinueTruncated(TruncationPoint::Answer));
    }
    let actions = say(&mut turn, "so far", StopReason::MaxTokens);
    assert_eq!(names(&actions), ["record", "tell", "end"]);
    assert_eq!(actions[2], TurnAction::End(TurnOutcome::Answered));
}

#[test]
fn a_response_that_only_thought_is_told_to_speak() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    turn.step(TurnInput::Event(StreamEvent::Thinking("hm".into())));
    let actions = turn.step(TurnInput::Event(StreamEvent::Finished(StopReason::MaxTokens)));
    assert_eq!(actions[1], TurnAction::ContinueTruncated(TruncationPoint::Thought));
}

#[test]
fn steering_goes_before_the_rest_of_a_cut_answer() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    turn.step(TurnInput::Steered);
    let actions = say(&mut turn, "so far", StopReason::MaxTokens);
    assert_eq!(names(&actions), ["record", "steer", "request"]);
}

fn any_input() -> impl Strategy<Value = TurnInput> {
    prop_oneof![
        Just(TurnInput::Begun),
        Just(TurnInput::Event(StreamEvent::Text("t".into()))),
        Just(TurnInput::Event(StreamEvent::ToolUseStarted {
            index: 0,
            id: CallId::new("c"),
            name: "Read".into()
        })),
        Just(TurnInput::Event(StreamEvent::Finished(StopReason::EndTurn))),
        Just(TurnInput::Event(StreamEvent::Finished(StopReason::MaxTokens))),
        Just(refused(529)),
        Just(failed(ErrorRecovery::Retry, Some(Duration::ZERO))),
        Just(failed(ErrorRecovery::Compact(RequestOverflow::default()), None)),
        Just(TurnInput::PauseOver),
        Just(TurnInput::CallsDone),
        Just(TurnInput::CallsRepeated(ModelFailure::RepeatedCalls)),
        Just(TurnInput::Compacted(CompactionResult::Shorter)),
        Just(TurnInput::ContextFull),
        Just(TurnInput::CompactionAsked),
        Just(TurnInput::Steered),
        Just(TurnInput::Cancelled),
    ]
}

proptest! {
    /// R57: with any inputs in any order, a turn ends once and does nothing afterwards, and calls
    /// run only from a response that was recorded just before.
    #[test]
    fn nothing_follows_the_end(inputs in prop::collection::vec(any_input(), 0..40)) {
        let mut turn = turn();
        turn.step(TurnInput::Begun);
        let mut ended = false;
        for input in inputs.into_iter().filter(|input| *input != TurnInput::Begun) {
            let actions = turn.step(input);
            prop_assert!(!ended || actions.is_empty());
            for (at, action) in actions.iter().enumerate() {
                if let TurnAction::Run(calls) = action {
                    let recorded = matches!(
                        &actions[at - 1],
                        TurnAction::Record { message, .. }
                            if message.calls().take(calls.len()).eq(calls)
                    );
                    prop_assert!(recorded);
                }
                if let TurnAction::End(_) = action {
                    prop_assert_eq!(at, actions.len() - 1);
                    ended = true;
                }
            }
        }
    }
}

#[test]
fn hooks_are_asked_before_the_end_and_can_continue_only_so_often() {
    let mut turn = turn().with_hook_continuations(2);
    turn.step(TurnInput::Begun);
    for state in [StopHookState::Inactive, StopHookState::Active] {
        let actions = say(&mut turn, "done", StopReason::EndTurn);
        assert_eq!(actions.last(), Some(&TurnAction::AskHooks(state)));
        assert_eq!(turn.step(TurnInput::HooksContinue), [TurnAction::Request]);
    }
    assert_eq!(names(&say(&mut turn, "done", StopReason::EndTurn)), ["record", "end"]);
    assert_eq!(turn.step(TurnInput::HooksContinue), []);
}

#[test]
fn a_turn_that_hooks_let_end_ends_unless_a_steering_message_waits() {
    for (before, actions) in
        [(None, vec!["end"]), (Some(TurnInput::Steered), vec!["steer", "request"])]
    {
        let mut turn = turn().with_hook_continuations(1);
        turn.step(TurnInput::Begun);
        say(&mut turn, "done", StopReason::EndTurn);
        before.into_iter().for_each(|input| drop(turn.step(input)));
        assert_eq!(names(&turn.step(TurnInput::HooksAllowEnd)), actions);
    }
}

#[test]
fn a_stop_while_hooks_are_asked_leaves_a_whole_answer() {
    let mut turn = turn().with_hook_continuations(1);
    turn.step(TurnInput::Begun);
    say(&mut turn, "done", StopReason::EndTurn);
    assert_eq!(turn.step(TurnInput::Cancelled), [TurnAction::End(TurnOutcome::Answered)]);
    assert_eq!(turn.step(TurnInput::HooksAllowEnd), []);
}
