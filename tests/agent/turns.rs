//! Turns: steering, limits, failures, and trying again.

use std::time::Duration;

use serde_json::{Value, json};
use slug_code::agent::{AgentCommand, AgentEvent, InitialSession, SteerId};
use slug_code::domain::{MessageRole, PermissionMode, StopReason, ToolStatus};
use slug_code::providers::{ErrorRecovery, StreamEvent};
use slug_code::session::{LogEntry, TurnOutcome};
use slug_code::tui::app::transcript::Transcript;

use super::fakes::{ScriptedEvent, calls, failure, finish_event, unfinished_calls, words};
use super::test_agent::{AgentFixture, queue_replies};

fn bash(id: &'static str, command: &str) -> (&'static str, &'static str, Value) {
    (id, "Bash", json!({"command": command}))
}

fn steer(id: u64, text: &str) -> AgentCommand {
    AgentCommand::Steer { id: SteerId(id), text: text.into() }
}

#[tokio::test(flavor = "multi_thread")]
async fn steering_goes_in_behind_the_result() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [calls(&[bash("c1", "block")]), words("as you wish")]);
    rig.send("go").await;
    rig.wait_for_tool_start().await;
    rig.tell(steer(1, "the other way")).await;
    rig.tell(steer(2, "no, forget it")).await;
    rig.tell(AgentCommand::WithdrawSteer { id: SteerId(2) }).await;
    let back =
        rig.wait_for("return", |event| matches!(event, AgentEvent::SteerSettled { .. })).await;
    let returned = Some("no, forget it".into());
    assert_eq!(back, AgentEvent::SteerSettled { id: SteerId(2), returned });
    scene.processes.release();
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    let last = scene.model.last_request().messages.pop().unwrap();
    assert_eq!(last.text(), "the other way");
    assert_eq!(last.answers().count(), 1, "behind the result, in one message");
    let settled = rig
        .events
        .iter()
        .position(|event| *event == AgentEvent::SteerSettled { id: SteerId(1), returned: None });
    let recorded = rig.events.iter().position(|event| match event {
        AgentEvent::Recorded(record) => match &record.entry {
            LogEntry::Message(said) => said.message().text() == "the other way",
            _ => false,
        },
        _ => false,
    });
    assert!(settled.unwrap() < recorded.unwrap(), "first it leaves the queue, then it is said");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn steering_after_the_turn_is_the_front_ends_again() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [words("one"), words("two")]);
    rig.turn("first").await;
    rig.tell(steer(1, "too late")).await;
    rig.turn("second").await;
    assert_eq!(scene.model.requests().len(), 2);
    assert!(rig.messages().iter().all(|said| said.message().text() != "too late"));
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn steering_comes_back_when_the_turn_is_stopped() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [calls(&[bash("c1", "block")])]);
    rig.send("go").await;
    rig.wait_for_tool_start().await;
    rig.tell(steer(1, "the other way")).await;
    rig.tell(AgentCommand::SetMode(PermissionMode::Ask)).await;
    rig.wait_for("mode", |event| matches!(event, AgentEvent::ModeChanged(_))).await;
    assert_eq!(rig.stop().await, TurnOutcome::Interrupted);
    let returned = Some("the other way".into());
    assert!(rig.events.contains(&AgentEvent::SteerSettled { id: SteerId(1), returned }));
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rounds_are_limited() {
    let scene = AgentFixture { rounds: 2, ..AgentFixture::in_mode(PermissionMode::Yolo) };
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, ["c1", "c2", "c3"].map(|id| calls(&[bash(id, id)])));
    assert_eq!(rig.turn("go").await, TurnOutcome::RoundLimit);
    assert_eq!(scene.processes.log().len(), 4);
    assert_eq!(rig.result("c3").1, ToolStatus::Denied);
    queue_replies(&scene, [words("done")]);
    assert_eq!(rig.turn("go on").await, TurnOutcome::Answered);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r34_a_passing_failure_leaves_one_clean_history() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    let half = vec![
        ScriptedEvent::Event(StreamEvent::Text("half".into())),
        failure(503, ErrorRecovery::RetryAfter(Duration::ZERO)),
    ];
    queue_replies(&scene, [half, words("the whole answer")]);
    assert_eq!(rig.turn("go").await, TurnOutcome::Answered);
    let requests = scene.model.requests();
    assert_eq!(requests[0], requests[1]);
    let said: Vec<String> = rig.messages().iter().map(|said| said.message().text()).collect();
    assert_eq!(said, ["go", "the whole answer"]);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r25_a_response_that_breaks_off_runs_none_of_its_calls() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = scene.open(InitialSession::New).await;
    let mut half = unfinished_calls(&[bash("c1", "echo")]);
    half.push(failure(502, ErrorRecovery::RetryAfter(Duration::ZERO)));
    queue_replies(&scene, [half, calls(&[bash("c1", "echo")]), words("done")]);
    assert_eq!(rig.turn("go").await, TurnOutcome::Answered);
    assert_eq!(scene.processes.log(), ["begin echo", "end echo"]);
    assert_eq!(rig.result("c1").1, ToolStatus::Done);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_for_good_ends_the_turn_and_can_be_retried() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [vec![failure(401, ErrorRecovery::AskUser)], words("now")]);
    assert_eq!(rig.turn("go").await, TurnOutcome::Failed("The server said 401.".into()));
    rig.tell(AgentCommand::Retry).await;
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    let requests = scene.model.requests();
    assert_eq!(requests[0], requests[1]);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_nothing_can_be_retried() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    let thought = ScriptedEvent::Event(StreamEvent::Thinking("hm".into()));
    queue_replies(&scene, [vec![thought, finish_event(StopReason::EndTurn)], words("yes?")]);
    assert_eq!(rig.turn("go").await, TurnOutcome::Answered);
    assert!(rig.notices().iter().any(|text| text.contains("/retry")), "{:?}", rig.notices());
    rig.tell(AgentCommand::Retry).await;
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    let requests = scene.model.requests();
    assert_eq!(requests[0], requests[1]);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_with_nothing_to_retry_ends_like_a_turn() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    rig.tell(AgentCommand::Retry).await;
    assert!(matches!(rig.wait_for_turn_end().await, TurnOutcome::Failed(_)));
    queue_replies(&scene, [words("hello")]);
    assert_eq!(rig.turn("hello").await, TurnOutcome::Answered);
    rig.tell(AgentCommand::Retry).await;
    assert!(matches!(rig.wait_for_turn_end().await, TurnOutcome::Failed(_)));
    let turns: Vec<_> = rig
        .events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::TurnEnded { turn, .. } => Some(*turn),
            _ => None,
        })
        .collect();
    assert!(turns.is_sorted_by(|a, b| a < b), "each end is of a turn of its own: {turns:?}");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_that_is_too_long_is_made_shorter() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    for number in 0..8 {
        scene.put(&format!("f{number}"), &"a line of text\n".repeat(40));
        let read = calls(&[("r", "Read", json!({"file_path": format!("f{number}")}))]);
        queue_replies(&scene, [read, words("read")]);
        rig.turn("read").await;
    }
    queue_replies(&scene, [vec![failure(400, ErrorRecovery::Compact)], words("fine now")]);
    assert_eq!(rig.turn("go on").await, TurnOutcome::Answered);
    let stubs = |messages: &[_]| {
        serde_json::to_string(messages).unwrap().matches("dropped to save").count()
    };
    let requests = scene.model.requests();
    let [.., before, after] = requests.as_slice() else { panic!("too few requests") };
    assert_eq!((stubs(&before.messages), stubs(&after.messages)), (0, 3));
    assert_eq!(before.messages.len(), after.messages.len());
    // With nothing left to leave out the turn fails with the server's words.
    queue_replies(&scene, (0..3).map(|_| vec![failure(400, ErrorRecovery::Compact)]));
    assert_eq!(rig.turn("more").await, TurnOutcome::Failed("The server said 400.".into()));
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_message_that_is_sent_is_always_the_users() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [calls(&[bash("c1", "echo")]), words("done"), words("again")]);
    rig.turn("one").await;
    rig.turn("two").await;
    for request in scene.model.requests() {
        assert_eq!(request.messages.last().unwrap().role, MessageRole::User);
    }
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r25_an_answer_that_breaks_off_twice_fails_with_what_streamed_kept() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = scene.open(InitialSession::New).await;
    let half = |text: &str| {
        let mut reply = vec![ScriptedEvent::Event(StreamEvent::Text(text.into()))];
        reply.extend(unfinished_calls(&[bash("c1", "echo")]));
        reply
    };
    queue_replies(&scene, [half("first half"), half("second half")]);
    let TurnOutcome::Failed(reason) = rig.turn("go").await else { panic!("it did not fail") };
    assert!(reason.contains("before the answer was complete"), "{reason}");
    assert_eq!(scene.processes.log(), [""; 0]);
    let said: Vec<String> = rig.messages().iter().map(|said| said.message().text()).collect();
    assert_eq!(said, ["go", "second half"]);
    let dropped =
        rig.events.iter().filter(|event| matches!(event, AgentEvent::ResponseDropped { .. }));
    assert_eq!(dropped.count(), 1, "one clean retry");
    rig.close().await;
}

/// Text that ran into the output limit.
fn cut(text: &str) -> Vec<ScriptedEvent> {
    let mut reply = words(text);
    reply.pop();
    reply.push(finish_event(StopReason::MaxTokens));
    reply
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_reached_the_limit_goes_on_and_is_one_answer() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [cut("one tw"), cut("o thr"), words("ee")]);
    assert_eq!(rig.turn("count").await, TurnOutcome::Answered);
    let requests = scene.model.requests();
    let roles: Vec<MessageRole> = requests[2].messages.iter().map(|message| message.role).collect();
    use MessageRole::{Assistant, User};
    assert_eq!(roles, [User, Assistant, User, Assistant, User]);
    for (before, after) in requests.iter().zip(&requests[1..]) {
        assert!(after.messages.starts_with(&before.messages), "what was sent stays");
    }
    assert_eq!(rig.notices(), [""; 0]);
    let records = rig.records();
    let shown = Transcript::from_records(scene.work.clone(), &records);
    assert_eq!(shown.last_answer(), Some("one two three"));
    assert_eq!(shown.blocks().len(), 2, "the question and one answer");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_three_continuations_the_person_is_told() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, (0..4).map(|_| cut("more ")));
    assert_eq!(rig.turn("count").await, TurnOutcome::Answered);
    assert_eq!(scene.model.requests().len(), 4);
    let notices = rig.notices();
    assert!(notices.len() == 1 && notices[0].contains("`max_tokens`"), "{notices:?}");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_that_only_thought_is_not_sent_back() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    let thought = StreamEvent::Thinking("hm".into());
    queue_replies(
        &scene,
        [vec![ScriptedEvent::Event(thought), finish_event(StopReason::MaxTokens)], words("Four.")],
    );
    assert_eq!(rig.turn("two and two?").await, TurnOutcome::Answered);
    let last = scene.model.last_request().messages;
    let [message] = last.as_slice() else { panic!("{last:#?}") };
    assert!(message.text().contains("two and two?"));
    let note = serde_json::to_string(message).unwrap();
    assert!(note.contains("continuation") && note.contains("Think less"), "{note}");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_model_stands_in_for_the_rest_of_the_turn() {
    let scene =
        AgentFixture { fallback: Some("other"), ..AgentFixture::in_mode(PermissionMode::Yolo) };
    let mut rig = scene.open(InitialSession::New).await;
    let busy = |status| vec![failure(status, ErrorRecovery::RetryAfter(Duration::ZERO))];
    queue_replies(
        &scene,
        [busy(529), busy(529), busy(503), calls(&[bash("c1", "echo")]), words("done")],
    );
    assert_eq!(rig.turn("go").await, TurnOutcome::Answered);
    let notices = rig.notices();
    let told = "other answers for the rest of this turn";
    assert!(notices.len() == 1 && notices[0].contains(told), "{notices:?}");
    queue_replies(&scene, [words("again")]);
    assert_eq!(rig.turn("and now?").await, TurnOutcome::Answered);
    let asked: Vec<String> = scene.model.requests().into_iter().map(|it| it.model).collect();
    let first = "test-model";
    assert_eq!(asked, [first, first, first, "other", "other", first]);
    let mut shown: Vec<&str> = rig
        .events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::ModelChanged { model, .. } => Some(model.model.as_str()),
            _ => None,
        })
        .collect();
    // Where the server's list comes late, its window is told once more.
    shown.dedup();
    let shown = &shown[shown.iter().position(|name| *name == "other").unwrap()..];
    assert_eq!(shown, ["other", first]);
    rig.close().await;
}
