//! An answer that says the same over and over, and what is left of it.

use super::*;

const AGAIN: &str = "Let me look at the file again. ";

#[test]
fn an_answer_that_repeats_one_sentence_is_ended_and_its_repetitions_are_not_kept() {
    for is_thinking in [false, true] {
        let mut turn = turn();
        turn.step(TurnInput::Begun);
        let piece = |text: &str| {
            let text = text.to_owned();
            let event =
                if is_thinking { StreamEvent::Thinking(text) } else { StreamEvent::Text(text) };
            TurnInput::Event(event)
        };
        assert_eq!(turn.step(piece("First the file. ")), []);
        let ended = (0..1_000).map(|_| turn.step(piece(AGAIN))).find(|actions| !actions.is_empty());
        let ended = ended.expect("nobody noticed");
        let [
            TurnAction::Record { message, stop: StopReason::Interrupted, .. },
            TurnAction::End(outcome),
        ] = ended.as_slice()
        else {
            panic!("{ended:?}")
        };
        assert_eq!(*outcome, TurnOutcome::ModelFailed(ModelFailure::RepeatedText));
        let kept = match &message.content[0] {
            ContentBlock::Thinking { thinking, .. } => thinking,
            block => block.as_text().unwrap(),
        };
        assert!(kept.starts_with("First the file. "), "{kept}");
        assert_eq!(kept.matches("Let me look").count(), 2, "{kept}");
    }
}

#[test]
fn a_waiting_message_continues_the_turn_behind_a_repetition() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    turn.step(TurnInput::Steered);
    let actions = turn.step(TurnInput::Event(StreamEvent::Text(AGAIN.repeat(300))));
    assert_eq!(names(&actions), ["record", "steer", "request"]);
}

#[test]
fn a_response_counts_for_itself() {
    let mut turn = turn();
    turn.step(TurnInput::Begun);
    let half = AGAIN.repeat(100);
    assert_eq!(turn.step(TurnInput::Event(StreamEvent::Text(half.clone()))), []);
    turn.step(refused(503));
    turn.step(TurnInput::PauseOver);
    assert_eq!(turn.step(TurnInput::Event(StreamEvent::Text(half))), []);
}
