//! What each permission mode allows, asks about and denies, through the gate.

use serde_json::{Value, json};
use slug_code::agent::{AgentCommand, AgentEvent, InitialSession, Interactivity};
use slug_code::domain::{PermissionMode, ToolStatus};
use slug_code::session::TurnOutcome;

use super::fakes::{bash, calls, words};
use super::test_agent::{AgentFixture, queue_replies};

fn write(id: &'static str, path: &str) -> (&'static str, &'static str, Value) {
    (id, "Write", json!({"file_path": path, "content": "new\n"}))
}

/// What happens to a call in a headless run: done, denied by the mode, or refused because it would
/// need a question.
async fn unasked(
    fixture: &AgentFixture,
    call: (&'static str, &'static str, Value),
) -> &'static str {
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(fixture, [calls(&[call]), words("done")]);
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    let (result, status) = agent.result("c");
    let listed = agent.events.iter().any(|event| matches!(event, AgentEvent::CallRefused { .. }));
    agent.close().await;
    match (status, result.split(':').next()) {
        (ToolStatus::Done, _) if !listed => "done",
        (ToolStatus::Denied, Some("Denied")) if listed => "denied",
        (ToolStatus::Denied, Some("Refused")) if listed => "asked",
        other => panic!("{other:?}: {result}"),
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
            let fixture = AgentFixture {
                interactivity: Interactivity::Headless,
                ..AgentFixture::in_mode(mode)
            };
            fixture.put("a", "text\n");
            fixture.settings(&json!({"permissions": {"deny": ["Bash(rm *)"]}}));
            assert_eq!(unasked(&fixture, call.clone()).await, expected, "{mode}: {call:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stricter_mode_holds_for_calls_that_wait_for_others() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [calls(&[bash("c1", "block"), bash("c2", "touch x")]), words("done")]);
    agent.send("go").await;
    agent.wait_for_tool_start().await;
    agent.tell(AgentCommand::SetMode(PermissionMode::Plan)).await;
    agent
        .wait_for("mode", |event| matches!(event, AgentEvent::ModeChanged(PermissionMode::Plan)))
        .await;
    fixture.processes.release();
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(agent.result("c2").1, ToolStatus::Denied);
    assert_eq!(fixture.processes.log(), ["begin block", "end block"]);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mode_that_asks_asks_for_calls_that_wait_for_others() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [calls(&[bash("c1", "block"), bash("c2", "touch x")]), words("done")]);
    agent.send("go").await;
    agent.wait_for_tool_start().await;
    agent.tell(AgentCommand::SetMode(PermissionMode::Ask)).await;
    agent
        .wait_for("mode", |event| matches!(event, AgentEvent::ModeChanged(PermissionMode::Ask)))
        .await;
    fixture.processes.release();
    let question = agent.next_approval().await;
    assert_eq!(question.call.as_str(), "c2");
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_question_follows_the_mode() {
    for (mode, status) in
        [(PermissionMode::Yolo, ToolStatus::Done), (PermissionMode::Plan, ToolStatus::Denied)]
    {
        let fixture = AgentFixture::new();
        let mut agent = fixture.open(InitialSession::New).await;
        queue_replies(&fixture, [calls(&[bash("c1", "touch x")]), words("done")]);
        agent.send("go").await;
        let question = agent.next_approval().await;
        agent.tell(AgentCommand::SetMode(mode)).await;
        assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
        assert!(agent.events.contains(&AgentEvent::ApprovalWithdrawn(question.id)));
        assert_eq!(agent.result("c1").1, status, "{mode}");
        agent.close().await;
    }
}
