//! Calls on their way: side by side or in order, on record before they run, each with one result.

use serde_json::{Value, json};
use slug_code::agent::{AgentEvent, InitialSession, Interactivity};
use slug_code::domain::{
    ApprovalAnswer, ApprovalKind, ApprovalRequest, PermissionMode, ToolStatus,
};
use slug_code::session::TurnOutcome;

use super::fakes::{calls, cut_calls, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies};

fn bash(id: &'static str, command: &str) -> (&'static str, &'static str, Value) {
    (id, "Bash", json!({"command": command}))
}

fn read(id: &'static str, path: &str) -> (&'static str, &'static str, Value) {
    (id, "Read", json!({"file_path": path}))
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_run_side_by_side() {
    let scene = AgentFixture::new();
    scene.put("pair-one", "1\n");
    scene.put("pair-two", "2\n");
    let mut rig = scene.open(InitialSession::New).await;
    // Each read ends only together with the other.
    queue_replies(
        &scene,
        [calls(&[read("c1", "pair-one"), read("c2", "pair-two")]), words("done")],
    );
    assert_eq!(rig.turn("read both").await, TurnOutcome::Answered);
    assert_eq!((rig.result("c1").1, rig.result("c2").1), (ToolStatus::Done, ToolStatus::Done));
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_things_runs_in_order_once_and_on_record() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = scene.open(InitialSession::New).await;
    let made = [bash("c1", "one"), bash("c2", "two"), bash("c3", "three")];
    queue_replies(&scene, [calls(&made), words("done")]);
    assert_eq!(rig.turn("go").await, TurnOutcome::Answered);
    let happened = scene.processes.log();
    assert_eq!(
        happened,
        ["begin one", "end one", "begin two", "end two", "begin three", "end three"]
    );
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_does_not_wait_for_the_answer_to_a_question() {
    let scene = AgentFixture::new();
    scene.put("a", "text\n");
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [calls(&[bash("c1", "make"), read("c2", "a")]), words("done")]);
    rig.send("go").await;
    let question = rig.next_approval().await;
    if !rig.events.iter().any(|event| matches!(event, AgentEvent::ToolEnded { .. })) {
        assert_eq!(rig.wait_for_tool_end("c2").await, ToolStatus::Done);
    }
    rig.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_panics_leaves_every_call_with_a_result() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    scene.put("a", "text\n");
    scene.put("panic.txt", "text\n");
    let mut rig = scene.open(InitialSession::New).await;
    let made = [bash("c1", "panic"), read("c2", "panic.txt"), read("c3", "a"), bash("c4", "echo")];
    queue_replies(&scene, [calls(&made), words("done")]);
    assert_eq!(rig.turn("go").await, TurnOutcome::Answered);
    let status = |call| rig.result(call).1;
    let all = ["c1", "c2", "c3", "c4"].map(status);
    use ToolStatus::{Done, Failed};
    assert_eq!(all, [Failed, Failed, Done, Done]);
    let ended =
        rig.events.iter().filter(|event| matches!(event, AgentEvent::ToolEnded { .. })).count();
    assert_eq!(ended, 4);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_a_response_that_was_cut_off_are_refused() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [cut_calls(&[bash("c1", "echo")]), words("sorry")]);
    assert_eq!(rig.turn("go").await, TurnOutcome::Answered);
    assert_eq!(scene.processes.log(), [""; 0]);
    let (told, status) = rig.result("c1");
    assert!(told.contains("cut off at the output limit"), "{told}");
    assert_eq!(status, ToolStatus::Denied);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_that_are_wrong_and_tools_that_are_none_tell_the_model_so() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = scene.open(InitialSession::New).await;
    let made = [("c1", "Read", json!([1])), ("c2", "Reed", json!({})), ("c3", "Read", json!({}))];
    queue_replies(&scene, [calls(&made), words("sorry")]);
    assert_eq!(rig.turn("go").await, TurnOutcome::Answered);
    for (call, said) in [
        ("c1", "not a JSON object"),
        ("c2", "There is no tool \"Reed\""),
        ("c3", "`file_path` is missing"),
    ] {
        let (told, status) = rig.result(call);
        assert!(told.contains(said), "{told}");
        assert_eq!(status, ToolStatus::Failed);
    }
    rig.close().await;
}

/// A model that reads the same file three times, to where the person is asked about it.
async fn repeated(scene: &AgentFixture) -> (TestAgent, ApprovalRequest) {
    scene.put("a", "text\n");
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(scene, ["c1", "c2", "c3"].map(|id| calls(&[read(id, "a")])));
    queue_replies(scene, [words("done")]);
    rig.send("go").await;
    let question = rig.next_approval().await;
    assert_eq!(question.kind, ApprovalKind::RepeatedCall);
    assert!(question.reason.contains("this exact call 2 times"), "{}", question.reason);
    assert_eq!(rig.result("c2").1, ToolStatus::Done);
    (rig, question)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_call_with_the_same_result_goes_on_only_with_a_yes() {
    let scene = AgentFixture::new();
    let (mut rig, question) = repeated(&scene).await;
    rig.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(rig.result("c3").1, ToolStatus::Done);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_to_the_same_call_again_stops_the_turn() {
    let scene = AgentFixture::new();
    let (mut rig, question) = repeated(&scene).await;
    rig.answer(&question, ApprovalAnswer::Deny { instruction: None }).await;
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Interrupted);
    assert_eq!(rig.result("c3").1, ToolStatus::Cancelled);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_to_the_same_call_again_can_say_what_to_do_instead() {
    let scene = AgentFixture::new();
    let (mut rig, question) = repeated(&scene).await;
    let instruction = Some("read b".into());
    rig.answer(&question, ApprovalAnswer::Deny { instruction }).await;
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    assert!(rig.result("c3").0.contains("read b"));
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_person_the_same_call_with_the_same_result_is_not_run_for_ever() {
    let scene = AgentFixture { interactivity: Interactivity::Headless, ..AgentFixture::new() };
    scene.put("a", "text\n");
    let mut rig = scene.open(InitialSession::New).await;
    let again = ["c1", "c2", "c3"].map(|id| calls(&[read(id, "a")]));
    queue_replies(&scene, again);
    queue_replies(&scene, [words("done")]);
    assert_eq!(rig.turn("go").await, TurnOutcome::Answered);
    let (told, _) = rig.result("c3");
    assert!(told.starts_with("Not run: you made this exact call 2 times"), "{told}");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_person_a_model_that_goes_in_circles_ends_its_turn() {
    let scene = AgentFixture { interactivity: Interactivity::Headless, ..AgentFixture::new() };
    scene.put("a", "text\n");
    let mut rig = scene.open(InitialSession::New).await;
    let again = ["c1", "c2", "c3", "c4", "c5", "c6", "c7"].map(|id| calls(&[read(id, "a")]));
    queue_replies(&scene, again);
    assert_eq!(rig.turn("go").await, TurnOutcome::Interrupted);
    for id in ["c3", "c4", "c5", "c6"] {
        assert!(rig.result(id).0.starts_with("Not run:"), "{id}: {}", rig.result(id).0);
    }
    assert!(rig.notices().iter().any(|text| text.contains("again and again")));
    assert_eq!(scene.model.requests().len(), 6);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_printed_is_kept_whole() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = scene.open(InitialSession::New).await;
    let long = "x".repeat(100_000);
    queue_replies(&scene, [calls(&[bash("c1", &long)]), words("done")]);
    rig.turn("go").await;
    assert!(rig.result("c1").0.len() < 40_000, "the model gets a part");
    let kept: Vec<_> = rig.messages().into_iter().filter_map(|said| said.result?.kept).collect();
    assert_eq!(kept.len(), 1);
    let whole = scene.store.blobs().get(&kept[0]).unwrap().unwrap();
    assert_eq!(String::from_utf8(whole).unwrap(), format!("{long} says hello\n"));
    rig.close().await;
}
