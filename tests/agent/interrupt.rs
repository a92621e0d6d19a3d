//! Escape, at the worst moments: the turn is over at once, what was said is kept, nothing is left
//! open, and the next message works.

use std::time::Duration;

use serde_json::json;
use slug_code::agent::{AgentCommand, AgentEvent, InitialSession};
use slug_code::domain::{CallId, ContentBlock, PermissionMode, StopReason, ToolStatus};
use slug_code::providers::{ErrorRecovery, StreamEvent};
use slug_code::session::{LogEntry, TurnOutcome};

use super::fakes::{
    FakeModelList, ScriptedEvent, StalledContext, calls, failure, unfinished_calls, words,
};
use super::test_agent::{AgentFixture, STOPPED_WITHIN, TestAgent, queue_replies};

fn bash(id: &'static str, command: &str) -> (&'static str, &'static str, serde_json::Value) {
    (id, "Bash", json!({"command": command}))
}

/// After a stop the session goes on as if nothing had been wrong.
async fn goes_on(scene: &AgentFixture, mut rig: TestAgent) {
    queue_replies(scene, [words("still here")]);
    assert_eq!(rig.turn("and now?").await, TurnOutcome::Answered);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn before_the_first_byte() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [vec![ScriptedEvent::Hang]]);
    rig.send("hello").await;
    rig.wait_for("request", |event| matches!(event, AgentEvent::RequestSent { .. })).await;
    assert_eq!(rig.stop().await, TurnOutcome::Interrupted);
    assert_eq!(rig.messages().len(), 1, "nothing was said but the question");
    goes_on(&scene, rig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_mid_sentence_the_words_are_kept() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(
        &scene,
        [vec![ScriptedEvent::Event(StreamEvent::Text("half an ans".into())), ScriptedEvent::Hang]],
    );
    rig.send("hello").await;
    rig.wait_for("text", |event| matches!(event, AgentEvent::Text { .. })).await;
    assert_eq!(rig.stop().await, TurnOutcome::Interrupted);
    let said = rig.messages().pop().unwrap();
    assert_eq!(said.message().text(), "half an ans");
    assert_eq!(said.stop_reason, Some(StopReason::Interrupted));
    queue_replies(&scene, [words("yes")]);
    rig.turn("go on").await;
    let told = scene.model.last_request().messages.pop().unwrap();
    let noted = told
        .content
        .iter()
        .any(|block| matches!(block, ContentBlock::Context { name, .. } if name == "interruption"));
    assert!(noted, "the model is told: {told:?}");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_midst_of_a_call_it_is_never_made() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = scene.open(InitialSession::New).await;
    let mut reply = unfinished_calls(&[bash("c1", "echo")]);
    reply.push(ScriptedEvent::Hang);
    queue_replies(&scene, [reply]);
    rig.send("hello").await;
    rig.wait_for("arguments", |event| matches!(event, AgentEvent::CallInput { .. })).await;
    assert_eq!(rig.stop().await, TurnOutcome::Interrupted);
    assert_eq!(scene.processes.log(), [""; 0]);
    assert!(rig.messages().iter().all(|said| said.message().calls().next().is_none()));
    goes_on(&scene, rig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_server_is_asked_for_its_models() {
    let scene = AgentFixture { model_name: None, ..AgentFixture::with_models(FakeModelList::Hang) };
    let mut rig = scene.open(InitialSession::New).await;
    rig.send("hello").await;
    rig.wait_for("message", |event| matches!(event, AgentEvent::Recorded(_))).await;
    assert_eq!(rig.stop().await, TurnOutcome::Interrupted);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_notes_are_collected_the_message_is_kept() {
    let scene = AgentFixture::new();
    let mut rig = scene.open_with(InitialSession::New, vec![Box::new(StalledContext)]).await;
    rig.send("do not lose this").await;
    rig.wait_for("start", |event| matches!(event, AgentEvent::TurnStarted { .. })).await;
    assert_eq!(rig.stop().await, TurnOutcome::Interrupted);
    assert_eq!(rig.messages()[0].message().text(), "do not lose this");
    assert!(scene.model.requests().is_empty(), "nothing was sent");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn between_enter_and_the_beginning_of_the_turn() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    for round in 0..40 {
        queue_replies(&scene, [vec![ScriptedEvent::Hang]]);
        rig.agent
            .commands
            .try_send(AgentCommand::Send { text: format!("message {round}").into() })
            .unwrap();
        assert_eq!(rig.stop().await, TurnOutcome::Interrupted, "round {round}");
        // The reply to what was stopped before it was sent is for nobody.
        while scene.model.skip() {}
    }
    goes_on(&scene, rig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_nothing_to_stop_the_next_turn_is_left_alone() {
    let scene = AgentFixture::new();
    let rig = scene.open(InitialSession::New).await;
    rig.agent.stop.stop_turn();
    goes_on(&scene, rig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn during_the_pause_before_another_try() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [vec![failure(429, ErrorRecovery::RetryAfter(Duration::from_secs(60)))]]);
    rig.send("hello").await;
    rig.wait_for("pause", |event| matches!(event, AgentEvent::ResponseDropped { .. })).await;
    assert_eq!(rig.stop().await, TurnOutcome::Interrupted);
    goes_on(&scene, rig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_question_is_withdrawn() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [calls(&[bash("c1", "make"), bash("c2", "make test")])]);
    rig.send("hello").await;
    let mut open = vec![rig.next_approval().await.id, rig.next_approval().await.id];
    assert_eq!(rig.stop().await, TurnOutcome::Interrupted);
    for event in &rig.events {
        if let AgentEvent::ApprovalWithdrawn(id) = event {
            open.retain(|open| open != id);
        }
    }
    assert!(open.is_empty(), "still open: {open:?}");
    for call in ["c1", "c2"] {
        assert_eq!(rig.result(call).1, ToolStatus::Cancelled);
    }
    assert_eq!(scene.processes.log(), [""; 0]);
    goes_on(&scene, rig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_runs_ends_with_a_result_and_those_behind_it_never_run() {
    for command in ["block", "deaf"] {
        let scene = AgentFixture::in_mode(PermissionMode::Yolo);
        let mut rig = scene.open(InitialSession::New).await;
        queue_replies(&scene, [calls(&[bash("c1", command), bash("c2", "echo")])]);
        rig.send("hello").await;
        rig.wait_for_tool_start().await;
        assert_eq!(rig.stop().await, TurnOutcome::Interrupted);
        for call in ["c1", "c2"] {
            assert_eq!(rig.result(call).1, ToolStatus::Cancelled, "{command}");
        }
        assert_eq!(scene.processes.log()[0], format!("begin {command}"));
        assert!(!scene.processes.log().contains(&"begin echo".to_owned()));
        goes_on(&scene, rig).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_the_persons_own() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    rig.tell(AgentCommand::Shell { command: "block".into() }).await;
    rig.wait_for_tool_start().await;
    let stopped = std::time::Instant::now();
    rig.agent.stop.stop_turn();
    let ended = |event: &AgentEvent| {
        matches!(event, AgentEvent::ToolEnded { status: ToolStatus::Cancelled, .. })
    };
    rig.wait_for("end of the command", ended).await;
    assert!(stopped.elapsed() < STOPPED_WITHIN);
    goes_on(&scene, rig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_written_all_the_same_is_on_record() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = scene.open(InitialSession::New).await;
    let write = ("c1", "Write", json!({"file_path": "slow.txt", "content": "written"}));
    queue_replies(&scene, [calls(&[write])]);
    rig.send("hello").await;
    scene.files.writing().await;
    assert_eq!(rig.stop().await, TurnOutcome::Interrupted);
    scene.files.release();
    let changed = |event: &AgentEvent| matches!(event, AgentEvent::Recorded(it) if matches!(it.entry, LogEntry::FileChange(_)));
    rig.wait_for("change of the file", changed).await;
    assert_eq!(scene.read("slow.txt"), "written");
    assert_eq!(rig.result(CallId::new("c1").as_str()).1, ToolStatus::Cancelled);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leaving_ends_the_turn_and_saves_it() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [calls(&[bash("c1", "block")])]);
    rig.send("hello").await;
    rig.wait_for_tool_start().await;
    let (session, store) = (rig.id(), scene.store.clone());
    rig.close().await;
    let last = store.read(session).unwrap().records.pop().unwrap();
    assert!(
        matches!(last.entry, LogEntry::TurnEnd(end) if end.outcome == TurnOutcome::Interrupted)
    );
}
