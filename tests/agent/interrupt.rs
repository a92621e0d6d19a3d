//! Stopping a turn at every moment: it ends at once, what was said is kept, nothing is left open,
//! and the next message works.

use std::time::Duration;

use serde_json::json;
use slug_code::agent::{AgentCommand, AgentEvent, InitialSession};
use slug_code::domain::{CallId, ContentBlock, PermissionMode, StopReason, ToolStatus};
use slug_code::providers::{ErrorRecovery, ProviderError, StreamEvent};
use slug_code::session::{LogEntry, TurnOutcome};

use super::fakes::{
    FakeModelList, ScriptedEvent, StalledContext, bash, calls, failure, unfinished_calls, words,
};
use super::test_agent::{AgentFixture, STOPPED_WITHIN, TestAgent, queue_replies, tool_end};

/// Checks that the session goes on normally after a stop, and closes it.
async fn goes_on(fixture: &AgentFixture, mut agent: TestAgent) {
    queue_replies(fixture, [words("still here")]);
    assert_eq!(agent.turn("and now?").await, TurnOutcome::Answered);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_before_the_first_byte() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [vec![ScriptedEvent::Hang]]);
    agent.send("hello").await;
    agent.wait_for("request", |event| matches!(event, AgentEvent::RequestSent { .. })).await;
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    assert_eq!(agent.messages().len(), 1, "nothing was said but the question");
    goes_on(&fixture, agent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_in_mid_sentence_keeps_the_text() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(
        &fixture,
        [vec![ScriptedEvent::Event(StreamEvent::Text("half an ans".into())), ScriptedEvent::Hang]],
    );
    agent.send("hello").await;
    agent.wait_for("text", |event| matches!(event, AgentEvent::Text { .. })).await;
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    let entry = agent.messages().pop().unwrap();
    assert_eq!(entry.message().text(), "half an ans");
    assert_eq!(entry.stop_reason, Some(StopReason::Interrupted));
    let usage = entry.usage.expect("what streamed was paid for");
    assert!(entry.is_usage_estimated && usage.input > 0 && usage.output > 0, "{usage:?}");
    let of_turn = agent.records().into_iter().find_map(|record| match record.entry {
        LogEntry::TurnEnd(end) => Some(end.usage),
        _ => None,
    });
    assert_eq!(of_turn, Some(usage));
    assert_eq!(agent.conversation().spending.by_source().total().usage, usage);
    assert_eq!(agent.conversation().counted, None, "no server has counted it");
    queue_replies(&fixture, [words("yes")]);
    agent.turn("go on").await;
    let message = fixture.model.last_request().messages.pop().unwrap();
    let is_told = message
        .content
        .iter()
        .any(|block| matches!(block, ContentBlock::Context { name, .. } if name == "interruption"));
    assert!(is_told, "the model is told: {message:?}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_in_the_middle_of_a_calls_arguments_makes_no_call() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = fixture.open(InitialSession::New).await;
    let mut reply = unfinished_calls(&[bash("c1", "echo")]);
    reply.push(ScriptedEvent::Hang);
    queue_replies(&fixture, [reply]);
    agent.send("hello").await;
    agent.wait_for("arguments", |event| matches!(event, AgentEvent::CallInput { .. })).await;
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    assert_eq!(fixture.processes.log(), [""; 0]);
    assert!(agent.messages().iter().all(|entry| entry.message().calls().next().is_none()));
    // Nothing of it is kept, but it was paid for.
    let of_turn = agent.records().into_iter().find_map(|record| match record.entry {
        LogEntry::TurnEnd(end) => Some(end.usage),
        _ => None,
    });
    let usage = of_turn.expect("the turn has ended");
    assert!(usage.input > 0 && usage.output > 0, "{usage:?}");
    assert_eq!(agent.conversation().spending.by_source().total().usage, usage);
    goes_on(&fixture, agent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_while_the_server_is_asked_for_its_models() {
    let fixture =
        AgentFixture { model_name: None, ..AgentFixture::with_models(FakeModelList::Hang) };
    let mut agent = fixture.open(InitialSession::New).await;
    agent.send("hello").await;
    agent.wait_for("message", |event| matches!(event, AgentEvent::Recorded(_))).await;
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_while_notes_are_collected_keeps_the_message() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open_with(InitialSession::New, vec![Box::new(StalledContext)]).await;
    agent.send("do not lose this").await;
    agent.wait_for("start", |event| matches!(event, AgentEvent::TurnStarted { .. })).await;
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    assert_eq!(agent.messages()[0].message().text(), "do not lose this");
    assert!(fixture.model.requests().is_empty(), "nothing was sent");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_before_the_turn_begins() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    for round in 0..40 {
        queue_replies(&fixture, [vec![ScriptedEvent::Hang]]);
        let send = AgentCommand::Send { text: format!("message {round}").into() };
        agent.agent.commands.try_send(send.to(agent.agent.id)).unwrap();
        assert_eq!(agent.stop().await, TurnOutcome::Interrupted, "round {round}");
        // Drops the reply for a message that was stopped before it was sent.
        while fixture.model.skip() {}
    }
    goes_on(&fixture, agent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_with_nothing_to_stop_leaves_the_next_turn_alone() {
    let fixture = AgentFixture::new();
    let agent = fixture.open(InitialSession::New).await;
    agent.agent.stop.stop_turn();
    goes_on(&fixture, agent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_during_the_pause_before_a_retry() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(
        &fixture,
        [vec![failure(429, ErrorRecovery::RetryAfter(Duration::from_secs(60)))]],
    );
    agent.send("hello").await;
    agent.wait_for("pause", |event| matches!(event, AgentEvent::ResponseDropped { .. })).await;
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    goes_on(&fixture, agent).await;
}

/// A server that has answered before gets two minutes to come back, and Escape ends the wait.
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_while_a_server_restarts() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    let gone = || {
        let message = "Nobody listens.".to_owned();
        let recovery = ErrorRecovery::RetryBriefly;
        vec![ScriptedEvent::Fail(ProviderError { message, status: None, recovery })]
    };
    queue_replies(&fixture, [words("Good morning."), gone(), gone(), gone()]);
    assert_eq!(agent.turn("hello").await, TurnOutcome::Answered);
    agent.send("and now?").await;
    let third = |event: &AgentEvent| matches!(event, AgentEvent::ResponseDropped { again: Some(it), .. } if it.number == 3 && it.of == 17);
    agent.wait_for("the third try of seventeen", third).await;
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    goes_on(&fixture, agent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_withdraws_open_questions() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [calls(&[bash("c1", "make"), bash("c2", "make test")])]);
    agent.send("hello").await;
    let mut open = vec![agent.next_approval().await.id, agent.next_approval().await.id];
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    for event in &agent.events {
        if let AgentEvent::ApprovalWithdrawn(id) = event {
            open.retain(|open| open != id);
        }
    }
    assert!(open.is_empty(), "still open: {open:?}");
    for call in ["c1", "c2"] {
        assert_eq!(agent.result(call).1, ToolStatus::Cancelled);
    }
    assert_eq!(fixture.processes.log(), [""; 0]);
    goes_on(&fixture, agent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_a_running_tool_with_a_result_and_later_calls_never_run() {
    for command in ["block", "deaf"] {
        let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
        let mut agent = fixture.open(InitialSession::New).await;
        queue_replies(&fixture, [calls(&[bash("c1", command), bash("c2", "echo")])]);
        agent.send("hello").await;
        agent.wait_for_tool_start().await;
        assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
        for call in ["c1", "c2"] {
            assert_eq!(agent.result(call).1, ToolStatus::Cancelled, "{command}");
        }
        assert_eq!(fixture.processes.log()[0], format!("begin {command}"));
        assert!(!fixture.processes.log().contains(&"begin echo".to_owned()));
        goes_on(&fixture, agent).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_a_command_of_the_user() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    agent.tell(AgentCommand::Shell { command: "block".into() }).await;
    agent.wait_for_tool_start().await;
    let stopped = std::time::Instant::now();
    agent.agent.stop.stop_turn();
    let ended =
        |event: &AgentEvent| tool_end(event).is_some_and(|end| end.status == ToolStatus::Cancelled);
    agent.wait_for("end of the command", ended).await;
    assert!(stopped.elapsed() < STOPPED_WITHIN);
    goes_on(&fixture, agent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_written_after_a_stop_is_on_record() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = fixture.open(InitialSession::New).await;
    let write = ("c1", "Write", json!({"file_path": "slow.txt", "content": "written"}));
    queue_replies(&fixture, [calls(&[write])]);
    agent.send("hello").await;
    fixture.files.writing().await;
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    fixture.files.release();
    let changed = |event: &AgentEvent| matches!(event, AgentEvent::Recorded(it) if matches!(it.entry, LogEntry::FileChange(_)));
    agent.wait_for("change of the file", changed).await;
    assert_eq!(fixture.read("slow.txt"), "written");
    assert_eq!(agent.result(CallId::new("c1").as_str()).1, ToolStatus::Cancelled);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leaving_ends_the_turn_and_saves_it() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [calls(&[bash("c1", "block")])]);
    agent.send("hello").await;
    agent.wait_for_tool_start().await;
    let (session, store) = (agent.id(), fixture.store.clone());
    agent.close().await;
    let last = store.read(session).unwrap().records.pop().unwrap();
    assert!(
        matches!(last.entry, LogEntry::TurnEnd(end) if end.outcome == TurnOutcome::Interrupted)
    );
}
