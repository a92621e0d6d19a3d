//! The modes, as the gate has them.

use serde_json::{Value, json};
use slug_code::agent::{AgentCommand, AgentEvent, InitialSession, Interactivity};
use slug_code::domain::{PermissionMode, ToolStatus};
use slug_code::session::TurnOutcome;

use super::fakes::{calls, words};
use super::test_agent::{AgentFixture, queue_replies};

fn bash(id: &'static str, command: &str) -> (&'static str, &'static str, Value) {
    (id, "Bash", json!({"command": command}))
}

fn write(id: &'static str, path: &str) -> (&'static str, &'static str, Value) {
    (id, "Write", json!({"file_path": path, "content": "new\n"}))
}

/// What becomes of a call where nobody can answer: done, denied by the mode, or refused unasked.
async fn unasked(scene: &AgentFixture, call: (&'static str, &'static str, Value)) -> &'static str {
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(scene, [calls(&[call]), words("done")]);
    assert_eq!(rig.turn("go").await, TurnOutcome::Answered);
    let (told, status) = rig.result("c");
    let listed = rig.events.iter().any(|event| matches!(event, AgentEvent::CallRefused { .. }));
    rig.close().await;
    match (status, told.split(':').next()) {
        (ToolStatus::Done, _) if !listed => "done",
        (ToolStatus::Denied, Some("Denied")) if listed => "denied",
        (ToolStatus::Denied, Some("Refused")) if listed => "asked",
        other => panic!("{other:?}: {told}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_mode_asks_what_it_should() {
    let todo = json!({"todos": [{"content": "a", "status": "pending", "activeForm": "a"}]});
    let cases = [
        (("c", "Read", json!({"file_path": "a"})), ["done", "done", "done", "done"]),
        (("c", "TodoWrite", todo), ["done", "done", "done", "done"]),
        (write("c", "new"), ["asked", "done", "denied", "done"]),
        (write("c", ".slug/settings.json"), ["asked", "asked", "denied", "asked"]),
        (bash("c", "touch x"), ["asked", "asked", "denied", "done"]),
        (bash("c", "rm x"), ["denied", "denied", "denied", "denied"]),
    ];
    for (call, expected) in cases {
        let modes = [
            PermissionMode::Ask,
            PermissionMode::AllowEdits,
            PermissionMode::Plan,
            PermissionMode::Yolo,
        ];
        for (mode, expected) in modes.into_iter().zip(expected) {
            let scene = AgentFixture {
                interactivity: Interactivity::Headless,
                ..AgentFixture::in_mode(mode)
            };
            scene.put("a", "text\n");
            scene.settings(&json!({"permissions": {"deny": ["Bash(rm *)"]}}));
            assert_eq!(unasked(&scene, call.clone()).await, expected, "{mode}: {call:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stricter_mode_holds_for_calls_that_wait_for_others() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [calls(&[bash("c1", "block"), bash("c2", "touch x")]), words("done")]);
    rig.send("go").await;
    rig.wait_for_tool_start().await;
    rig.tell(AgentCommand::SetMode(PermissionMode::Plan)).await;
    rig.wait_for("mode", |event| matches!(event, AgentEvent::ModeChanged(PermissionMode::Plan)))
        .await;
    scene.processes.release();
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(rig.result("c2").1, ToolStatus::Denied);
    assert_eq!(scene.processes.log(), ["begin block", "end block"]);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mode_that_asks_asks_for_calls_that_wait_for_others() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [calls(&[bash("c1", "block"), bash("c2", "touch x")]), words("done")]);
    rig.send("go").await;
    rig.wait_for_tool_start().await;
    rig.tell(AgentCommand::SetMode(PermissionMode::Ask)).await;
    rig.wait_for("mode", |event| matches!(event, AgentEvent::ModeChanged(PermissionMode::Ask)))
        .await;
    scene.processes.release();
    let question = rig.next_approval().await;
    assert_eq!(question.call.as_str(), "c2");
    assert_eq!(rig.stop().await, TurnOutcome::Interrupted);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_question_follows_the_mode() {
    for (mode, status) in
        [(PermissionMode::Yolo, ToolStatus::Done), (PermissionMode::Plan, ToolStatus::Denied)]
    {
        let scene = AgentFixture::new();
        let mut rig = scene.open(InitialSession::New).await;
        queue_replies(&scene, [calls(&[bash("c1", "touch x")]), words("done")]);
        rig.send("go").await;
        let question = rig.next_approval().await;
        rig.tell(AgentCommand::SetMode(mode)).await;
        assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
        assert!(rig.events.contains(&AgentEvent::ApprovalWithdrawn(question.id)));
        assert_eq!(rig.result("c1").1, status, "{mode}");
        rig.close().await;
    }
}
