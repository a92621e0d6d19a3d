//! Turns: steering, limits, failures, and trying again.

use std::time::Duration;

use serde_json::{Value, json};
use slug_code::agent::{Command, Event, Start, SteerId};
use slug_code::domain::{Mode, Role, StopReason, ToolStatus};
use slug_code::providers::{Recovery, StreamEvent};
use slug_code::session::{Entry, TurnOutcome};

use super::fakes::{Say, begun, calls, failure, finished, words};
use super::rig::{Scene, play};

fn bash(id: &'static str, command: &str) -> (&'static str, &'static str, Value) {
    (id, "Bash", json!({"command": command}))
}

fn steer(id: u64, text: &str) -> Command {
    Command::Steer { id: SteerId(id), text: text.into() }
}

#[tokio::test(flavor = "multi_thread")]
async fn steering_goes_in_behind_the_result() {
    let scene = Scene::in_mode(Mode::Yolo);
    let mut rig = scene.open(Start::New).await;
    play(&scene, [calls(&[bash("c1", "block")]), words("as you wish")]);
    rig.send("go").await;
    rig.tool_started().await;
    rig.tell(steer(1, "the other way")).await;
    rig.tell(steer(2, "no, forget it")).await;
    rig.tell(Command::Unsteer { id: SteerId(2) }).await;
    let back = rig.until("return", |event| matches!(event, Event::SteerSettled { .. })).await;
    let returned = Some("no, forget it".into());
    assert_eq!(back, Event::SteerSettled { id: SteerId(2), returned });
    scene.processes.release();
    assert_eq!(rig.ended().await, TurnOutcome::Answered);
    let last = scene.model.last_request().messages.pop().unwrap();
    assert_eq!(last.text(), "the other way");
    assert_eq!(last.answers().count(), 1, "behind the result, in one message");
    let settled = rig
        .heard
        .iter()
        .position(|event| *event == Event::SteerSettled { id: SteerId(1), returned: None });
    let recorded = rig.heard.iter().position(|event| match event {
        Event::Recorded(record) => match &record.entry {
            Entry::Message(said) => said.message().text() == "the other way",
            _ => false,
        },
        _ => false,
    });
    assert!(settled.unwrap() < recorded.unwrap(), "first it leaves the queue, then it is said");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn steering_after_the_turn_is_the_front_ends_again() {
    let scene = Scene::new();
    let mut rig = scene.open(Start::New).await;
    play(&scene, [words("one"), words("two")]);
    rig.turn("first").await;
    rig.tell(steer(1, "too late")).await;
    rig.turn("second").await;
    assert_eq!(scene.model.requests().len(), 2);
    assert!(rig.said().iter().all(|said| said.message().text() != "too late"));
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn steering_comes_back_when_the_turn_is_stopped() {
    let scene = Scene::in_mode(Mode::Yolo);
    let mut rig = scene.open(Start::New).await;
    play(&scene, [calls(&[bash("c1", "block")])]);
    rig.send("go").await;
    rig.tool_started().await;
    rig.tell(steer(1, "the other way")).await;
    rig.tell(Command::SetMode(Mode::Ask)).await;
    rig.until("mode", |event| matches!(event, Event::ModeChanged(_))).await;
    assert_eq!(rig.stop().await, TurnOutcome::Interrupted);
    let returned = Some("the other way".into());
    assert!(rig.heard.contains(&Event::SteerSettled { id: SteerId(1), returned }));
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rounds_are_limited() {
    let scene = Scene { rounds: 2, ..Scene::in_mode(Mode::Yolo) };
    let mut rig = scene.open(Start::New).await;
    play(&scene, ["c1", "c2", "c3"].map(|id| calls(&[bash(id, id)])));
    assert_eq!(rig.turn("go").await, TurnOutcome::RoundLimit);
    assert_eq!(scene.processes.happened().len(), 4);
    assert_eq!(rig.result("c3").1, ToolStatus::Denied);
    play(&scene, [words("done")]);
    assert_eq!(rig.turn("go on").await, TurnOutcome::Answered);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r34_a_passing_failure_leaves_one_clean_history() {
    let scene = Scene::new();
    let mut rig = scene.open(Start::New).await;
    let half = vec![
        Say::Event(StreamEvent::Text("half".into())),
        failure(503, Recovery::RetryAfter(Duration::ZERO)),
    ];
    play(&scene, [half, words("the whole answer")]);
    assert_eq!(rig.turn("go").await, TurnOutcome::Answered);
    let requests = scene.model.requests();
    assert_eq!(requests[0], requests[1]);
    let said: Vec<String> = rig.said().iter().map(|said| said.message().text()).collect();
    assert_eq!(said, ["go", "the whole answer"]);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r25_a_response_that_breaks_off_runs_none_of_its_calls() {
    let scene = Scene::in_mode(Mode::Yolo);
    let mut rig = scene.open(Start::New).await;
    let mut half = begun(&[bash("c1", "echo")]);
    half.push(failure(502, Recovery::RetryAfter(Duration::ZERO)));
    // A stream that just ends was not complete either; its pause is short and random.
    let ends = begun(&[bash("c1", "echo")]);
    play(&scene, [half, ends, calls(&[bash("c1", "echo")]), words("done")]);
    assert_eq!(rig.turn("go").await, TurnOutcome::Answered);
    assert_eq!(scene.processes.happened(), ["begin echo", "end echo"]);
    assert_eq!(rig.result("c1").1, ToolStatus::Done);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_for_good_ends_the_turn_and_can_be_retried() {
    let scene = Scene::new();
    let mut rig = scene.open(Start::New).await;
    play(&scene, [vec![failure(401, Recovery::AskPerson)], words("now")]);
    assert_eq!(rig.turn("go").await, TurnOutcome::Failed("The server said 401.".into()));
    rig.tell(Command::Retry).await;
    assert_eq!(rig.ended().await, TurnOutcome::Answered);
    let requests = scene.model.requests();
    assert_eq!(requests[0], requests[1]);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_nothing_can_be_retried() {
    let scene = Scene::new();
    let mut rig = scene.open(Start::New).await;
    let thought = Say::Event(StreamEvent::Thinking("hm".into()));
    play(&scene, [vec![thought, finished(StopReason::EndTurn)], words("yes?")]);
    assert_eq!(rig.turn("go").await, TurnOutcome::Answered);
    assert!(rig.notices().iter().any(|text| text.contains("/retry")), "{:?}", rig.notices());
    rig.tell(Command::Retry).await;
    assert_eq!(rig.ended().await, TurnOutcome::Answered);
    let requests = scene.model.requests();
    assert_eq!(requests[0], requests[1]);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_with_nothing_to_retry_ends_like_a_turn() {
    let scene = Scene::new();
    let mut rig = scene.open(Start::New).await;
    rig.tell(Command::Retry).await;
    assert!(matches!(rig.ended().await, TurnOutcome::Failed(_)));
    play(&scene, [words("hello")]);
    assert_eq!(rig.turn("hello").await, TurnOutcome::Answered);
    rig.tell(Command::Retry).await;
    assert!(matches!(rig.ended().await, TurnOutcome::Failed(_)));
    let turns: Vec<_> = rig
        .heard
        .iter()
        .filter_map(|event| match event {
            Event::TurnEnded { turn, .. } => Some(*turn),
            _ => None,
        })
        .collect();
    assert!(turns.is_sorted_by(|a, b| a < b), "each end is of a turn of its own: {turns:?}");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_that_is_too_long_is_made_shorter() {
    let scene = Scene::new();
    let mut rig = scene.open(Start::New).await;
    for number in 0..8 {
        scene.put(&format!("f{number}"), &"a line of text\n".repeat(40));
        let read = calls(&[("r", "Read", json!({"file_path": format!("f{number}")}))]);
        play(&scene, [read, words("read")]);
        rig.turn("read").await;
    }
    play(&scene, [vec![failure(400, Recovery::Compact)], words("fine now")]);
    assert_eq!(rig.turn("go on").await, TurnOutcome::Answered);
    let stubs = |messages: &[_]| {
        serde_json::to_string(messages).unwrap().matches("dropped to save").count()
    };
    let requests = scene.model.requests();
    let [.., before, after] = requests.as_slice() else { panic!("too few requests") };
    assert_eq!((stubs(&before.messages), stubs(&after.messages)), (0, 3));
    assert_eq!(before.messages.len(), after.messages.len());
    // With nothing left to leave out the turn fails with the server's words.
    play(&scene, (0..3).map(|_| vec![failure(400, Recovery::Compact)]));
    assert_eq!(rig.turn("more").await, TurnOutcome::Failed("The server said 400.".into()));
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_message_that_is_sent_is_always_the_users() {
    let scene = Scene::in_mode(Mode::Yolo);
    let mut rig = scene.open(Start::New).await;
    play(&scene, [calls(&[bash("c1", "echo")]), words("done"), words("again")]);
    rig.turn("one").await;
    rig.turn("two").await;
    for request in scene.model.requests() {
        assert_eq!(request.messages.last().unwrap().role, Role::User);
    }
    rig.close().await;
}
