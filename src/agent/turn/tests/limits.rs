//! The limits of a turn: rounds of tool calls, pauses, and what one response may hold.

use super::*;

/// The actions after a response with these calls, then this text, that the output limit cut.
fn cut_after(turn: &mut TurnMachine, calls: &[&str], text: &str) -> Vec<TurnAction> {
    for (index, id) in calls.iter().enumerate() {
        let (id, name) = (CallId::new(*id), "Read".into());
        turn.step(TurnInput::Event(StreamEvent::ToolUseStarted { index, id, name }));
    }
    turn.step(TurnInput::Event(StreamEvent::Text(text.into())));
    turn.step(TurnInput::Event(StreamEvent::Finished(StopReason::MaxTokens)))
}

fn ids(calls: &[ToolCall]) -> Vec<&str> {
    calls.iter().map(|call| call.id.as_str()).collect()
}

#[test]
fn a_call_that_the_output_limit_cut_is_never_run() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    assert_eq!(names(&cut_after(&mut turn, &["a"], "")), ["record", "refuse cut", "request"]);
}

#[test]
fn the_calls_before_a_cut_one_run() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    let actions = cut_after(&mut turn, &["a", "b", "c"], "");
    let [TurnAction::Record { .. }, TurnAction::Run(run), TurnAction::RefuseCut(cut)] =
        actions.as_slice()
    else {
        panic!("{actions:?}")
    };
    assert_eq!((ids(run), ids(cut)), (vec!["a", "b"], vec!["c"]));
    assert_eq!(turn.step(TurnInput::CallsDone), [TurnAction::Request]);
    // The text behind the calls is cut, not the last call.
    assert_eq!(names(&cut_after(&mut turn, &["a", "b"], "And n")), ["record", "run"]);
}

#[test]
fn a_model_that_writes_one_cut_call_after_another_ends_its_turn() {
    let mut turn = TurnMachine::new(TurnLimits { tool_rounds: None });
    turn.step(TurnInput::Begun);
    for _ in 0..4 {
        assert_eq!(names(&cut_after(&mut turn, &["a"], "")), ["record", "refuse cut", "request"]);
    }
    let actions = cut_after(&mut turn, &["a"], "");
    assert_eq!(names(&actions), ["record", "refuse cut", "end"]);
    let failure = TurnOutcome::ModelFailed(ModelFailure::OutputLimit);
    assert_eq!(actions.last(), Some(&TurnAction::End(failure)));
}

#[test]
fn rounds_are_limited_and_the_last_calls_still_get_results() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    for id in ["a", "b"] {
        assert_eq!(names(&call(&mut turn, id)), ["record", "run"]);
        turn.step(TurnInput::CallsDone);
    }
    let actions = call(&mut turn, "c");
    assert_eq!(names(&actions), ["record", "refuse", "ask for summary", "request text"]);
    let actions = say(&mut turn, "All but one.", StopReason::EndTurn);
    assert_eq!(names(&actions), ["record", "end"]);
    assert_eq!(actions[1], TurnAction::End(TurnOutcome::RoundLimit));
}

/// A turn that has used its rounds and waits for the summary.
fn asked_for_summary() -> TurnMachine {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    for id in ["a", "b", "c"] {
        call(&mut turn, id);
        turn.step(TurnInput::CallsDone);
    }
    turn
}

#[test]
fn the_summary_is_asked_for_once_and_whatever_comes_ends_the_turn() {
    for (text, stop) in [
        ("", StopReason::EndTurn),
        ("half of it", StopReason::MaxTokens),
        ("so far", StopReason::Paused),
        ("", StopReason::Refusal),
    ] {
        let actions = say(&mut asked_for_summary(), text, stop);
        let outcome = TurnAction::End(TurnOutcome::RoundLimit);
        assert_eq!(names(&actions), ["record", "end"], "{text:?} {stop:?}");
        assert_eq!(actions.last(), Some(&outcome));
    }
    assert_eq!(names(&call(&mut asked_for_summary(), "d")), ["record", "refuse", "end"]);
}

#[test]
fn a_summary_that_fails_is_tried_again_without_tools_and_then_left_out() {
    let mut turn = asked_for_summary();
    assert_eq!(names(&turn.step(failed(ErrorRecovery::Retry, Some(Duration::ZERO)))), ["pause"]);
    assert_eq!(turn.step(TurnInput::PauseOver), [TurnAction::RequestWithoutTools]);
    let actions = turn.step(failed(ErrorRecovery::GiveUp, None));
    assert_eq!(names(&actions), ["no summary", "end"]);
    assert_eq!(actions[1], TurnAction::End(TurnOutcome::RoundLimit));
}

#[test]
fn the_model_is_told_once_that_five_rounds_are_left() {
    let mut turn = TurnMachine::new(TurnLimits { tool_rounds: Some(8) });
    turn.step(TurnInput::Begun);
    let mut notes = Vec::new();
    for round in 1..=8 {
        call(&mut turn, "a");
        if names(&turn.step(TurnInput::CallsDone)) == ["note rounds", "request"] {
            notes.push(round);
        }
    }
    assert_eq!(notes, [3]);
}

#[test]
fn without_a_limit_rounds_go_on_and_pauses_come_to_an_end() {
    let mut turn = TurnMachine::new(TurnLimits { tool_rounds: None });
    turn.step(TurnInput::Begun);
    for _ in 0..1000 {
        assert_eq!(names(&call(&mut turn, "a")), ["record", "run"]);
        assert_eq!(turn.step(TurnInput::CallsDone), [TurnAction::Request]);
    }
    for _ in 0..100 {
        assert_eq!(names(&say(&mut turn, "so far", StopReason::Paused)), ["record", "request"]);
    }
    assert_eq!(names(&say(&mut turn, "so far", StopReason::Paused)), ["record", "end"]);
}
