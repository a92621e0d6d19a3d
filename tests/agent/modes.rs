//! What each permission mode allows, asks about and denies, through the gate.

use serde_json::{Value, json};
use slug_code::agent::{AgentCommand, AgentEvent, InitialSession, Interactivity};
use slug_code::domain::{ContentBlock, PermissionMode, ToolStatus};
use slug_code::session::TurnOutcome;

use super::fakes::{bash, calls, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies};

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

/// The mode notes of the last request, oldest first, each by its first word.
fn told_modes(fixture: &AgentFixture) -> Vec<String> {
    let request = fixture.model.last_request();
    let blocks = request.messages.iter().flat_map(|message| &message.content);
    let notes = blocks.filter_map(|block| match block {
        ContentBlock::Context { name, text } if name == "mode" => text.split(':').next(),
        _ => None,
    });
    notes.map(str::to_owned).collect()
}

async fn set_mode(agent: &mut TestAgent, mode: PermissionMode) {
    agent.tell(AgentCommand::SetMode(mode)).await;
    let is_it = |event: &AgentEvent| matches!(event, AgentEvent::ModeChanged(now) if *now == mode);
    agent.wait_for("mode", is_it).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mode_is_told_when_it_differs_from_what_was_told() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [words("one"), words("two"), words("three")]);
    agent.turn("first").await;
    assert_eq!(told_modes(&fixture), ["ask"]);
    // There and back tells nothing new.
    set_mode(&mut agent, PermissionMode::Plan).await;
    set_mode(&mut agent, PermissionMode::Ask).await;
    agent.turn("second").await;
    assert_eq!(told_modes(&fixture), ["ask"]);
    set_mode(&mut agent, PermissionMode::Plan).await;
    agent.turn("third").await;
    assert_eq!(told_modes(&fixture), ["ask", "plan"]);
    let session = agent.id();
    agent.close().await;
    let fixture = AgentFixture { mode: PermissionMode::Plan, ..fixture };
    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    queue_replies(&fixture, [words("four")]);
    agent.turn("fourth").await;
    assert_eq!(told_modes(&fixture), ["ask", "plan"], "a resumed session holds it already");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mode_that_changes_within_a_turn_is_told_with_the_next_request() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [calls(&[bash("c1", "block")]), words("done")]);
    agent.send("go").await;
    agent.wait_for_tool_start().await;
    set_mode(&mut agent, PermissionMode::Plan).await;
    fixture.processes.release();
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(told_modes(&fixture), ["yolo", "plan"]);
    let requests = fixture.model.requests();
    let (first, last) = (&requests[0].messages, &requests[1].messages);
    assert_eq!(first[..], last[..first.len()], "what was sent stays as it was");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_shows_the_folder_that_the_command_starts_in() {
    let fixture = AgentFixture::new();
    fixture.put("sub/a", "text");
    let mut agent = fixture.open(InitialSession::New).await;
    let call = ("c1", "Bash", json!({"command": "touch x", "workdir": "sub"}));
    queue_replies(&fixture, [calls(&[call]), words("done")]);
    agent.send("go").await;
    let question = agent.next_approval().await;
    assert_eq!(question.cwd, fixture.work.join("sub"));
    agent.answer(&question, slug_code::domain::ApprovalAnswer::Once).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    agent.close().await;
}
