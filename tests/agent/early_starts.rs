//! Reads that start while their response still streams: what counts of them, and what must not start.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use slug_code::agent::{AgentCommand, AgentEvent, InitialSession, RuleRequest};
use slug_code::domain::{ApprovalAnswer, PermissionMode, RuleKind, StopReason, ToolStatus};
use slug_code::permissions::store::RuleEdit;
use slug_code::providers::ErrorRecovery;
use slug_code::session::{LogEntry, TurnOutcome};

use super::fakes::{
    ScriptedEvent, ScriptedStream, StreamPause, calls, failure, finish_event, unfinished_calls,
    words,
};
use super::test_agent::{AgentFixture, TestAgent, queue_replies};

type ScriptedCall = (&'static str, &'static str, Value);

fn read(id: &'static str, file: &str) -> ScriptedCall {
    (id, "Read", json!({"file_path": file}))
}

/// A response whose end, of this reason, waits for the test behind these calls.
fn slow_end(made: &[ScriptedCall], reason: StopReason) -> (ScriptedStream, Arc<StreamPause>) {
    let pause = StreamPause::new();
    let mut reply = unfinished_calls(made);
    reply.extend([ScriptedEvent::Wait(pause.clone()), finish_event(reason)]);
    (reply, pause)
}

fn slow_calls(made: &[ScriptedCall]) -> (ScriptedStream, Arc<StreamPause>) {
    slow_end(made, StopReason::ToolUse)
}

/// The calls that the log announces, in order.
fn announced(agent: &TestAgent) -> Vec<String> {
    let call = |entry: &LogEntry| match entry {
        LogEntry::ToolStarted { call, .. } => Some(call.as_str().to_owned()),
        _ => None,
    };
    agent.records().iter().filter_map(|record| call(&record.entry)).collect()
}

fn is_shown_as_run(agent: &TestAgent) -> bool {
    agent.events.iter().any(|event| matches!(event, AgentEvent::ToolStarted { .. }))
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_start_while_the_response_streams_and_count_once_it_has_ended() {
    let fixture = AgentFixture::new();
    fixture.put("pair1", "one");
    fixture.put("pair2", "two");
    fixture.put("c.rs", "three");
    let glob = ("c3", "Glob", json!({"pattern": "*.rs"}));
    let grep = ("c4", "Grep", json!({"pattern": "three"}));
    // Neither of the first two ends before the other has begun.
    let made = [read("c1", "pair1"), read("c2", "pair2"), glob, grep];
    let (reply, pause) = slow_calls(&made);
    queue_replies(&fixture, [reply, words("done")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.send("go").await;
    fixture.files.reading("pair1").await;
    fixture.files.reading("pair2").await;
    pause.reached().await;
    assert!(announced(&agent).is_empty() && !is_shown_as_run(&agent));
    pause.release();
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    for (call, shows) in [("c1", "one"), ("c2", "two"), ("c3", "c.rs"), ("c4", "c.rs")] {
        let (result, status) = agent.result(call);
        assert_eq!(status, ToolStatus::Done, "{call}: {result}");
        assert!(result.contains(shows), "{call}: {result}");
    }
    let mut reads = fixture.files.reads();
    reads.sort();
    assert_eq!(reads, ["pair1", "pair2"], "each is read once");
    let mut started = announced(&agent);
    started.sort();
    assert_eq!(started, ["c1", "c2", "c3", "c4"]);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_stopped_response_has_read_does_not_count() {
    let fixture = AgentFixture::in_mode(PermissionMode::AllowEdits);
    fixture.put("a.txt", "one\n");
    let (reply, pause) = slow_calls(&[read("c1", "a.txt")]);
    let write = json!({"file_path": "a.txt", "content": "two\n"});
    queue_replies(&fixture, [reply, calls(&[("c2", "Write", write)]), words("done")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.send("go").await;
    fixture.files.reading("a.txt").await;
    pause.reached().await;
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    assert!(announced(&agent).is_empty() && !is_shown_as_run(&agent));
    agent.turn("go on").await;
    let (result, status) = agent.result("c2");
    assert_eq!(status, ToolStatus::Failed, "the model has not seen the file: {result}");
    assert_eq!(fixture.read("a.txt"), "one\n");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r25_a_response_that_breaks_off_drops_what_was_read_for_it() {
    let fixture = AgentFixture::new();
    fixture.put("a.txt", "old");
    let pause = StreamPause::new();
    let mut half = unfinished_calls(&[read("c1", "a.txt")]);
    let fails = failure(502, ErrorRecovery::RetryAfter(Duration::ZERO));
    half.extend([ScriptedEvent::Wait(pause.clone()), fails]);
    queue_replies(&fixture, [half, calls(&[read("c1", "a.txt")]), words("done")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.send("go").await;
    fixture.files.reading("a.txt").await;
    pause.reached().await;
    fixture.put("a.txt", "new");
    pause.release();
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let (result, _) = agent.result("c1");
    assert!(result.contains("new") && !result.contains("old"), "{result}");
    assert_eq!(announced(&agent), ["c1"]);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_behind_a_change_waits_for_it() {
    let fixture = AgentFixture::in_mode(PermissionMode::AllowEdits);
    fixture.put("first", "1");
    fixture.put("b.txt", "old");
    let write = ("c2", "Write", json!({"file_path": "new.txt", "content": "new"}));
    let made = [read("c1", "first"), write, read("c3", "new.txt"), read("c4", "b.txt")];
    let (reply, pause) = slow_calls(&made);
    queue_replies(&fixture, [reply, words("done")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.send("go").await;
    fixture.files.reading("first").await;
    pause.reached().await;
    fixture.put("b.txt", "changed meanwhile");
    pause.release();
    agent.wait_for_turn_end().await;
    assert!(agent.result("c3").0.contains("new"), "{:?}", agent.result("c3"));
    assert!(agent.result("c4").0.contains("meanwhile"), "{:?}", agent.result("c4"));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_starts_for_which_a_hook_is_due() {
    let fixture = AgentFixture::new();
    let guard = json!({"matcher": "Read", "hooks": [{"type": "command", "command": "guard"}]});
    fixture.settings(&json!({"hooks": {"PreToolUse": [guard]}}));
    fixture.hooks.set("guard", 2, "", "not today");
    fixture.put("a.txt", "one");
    fixture.put("b.rs", "two");
    let glob = ("c2", "Glob", json!({"pattern": "*.rs"}));
    let (reply, pause) = slow_calls(&[read("c1", "a.txt"), glob]);
    queue_replies(&fixture, [reply, words("done")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.send("go").await;
    pause.reached().await;
    assert!(fixture.hooks.run().is_empty());
    pause.release();
    agent.wait_for_turn_end().await;
    assert_eq!(fixture.hooks.run(), ["guard"], "asked once, and only about Read");
    assert_eq!(agent.result("c1").1, ToolStatus::Denied);
    assert_eq!(agent.result("c2").1, ToolStatus::Done);
    assert!(fixture.files.reads().is_empty());
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_starts_that_is_denied_or_asked_about() {
    let fixture = AgentFixture::new();
    fixture.settings(&json!({"permissions": {"deny": ["Read(secret*)"]}}));
    fixture.put("secret.txt", "s");
    fixture.put("last", "l");
    let outside = fixture.home.join("outside.txt");
    std::fs::write(&outside, "o").unwrap();
    let made =
        [read("c1", "secret.txt"), read("c2", outside.to_str().unwrap()), read("c3", "last")];
    let (reply, pause) = slow_calls(&made);
    queue_replies(&fixture, [reply, words("done")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.send("go").await;
    fixture.files.reading("last").await;
    pause.reached().await;
    assert_eq!(agent.approval_count(), 0);
    pause.release();
    let question = agent.next_approval().await;
    assert_eq!(fixture.files.reads(), ["last"]);
    agent.answer(&question, ApprovalAnswer::Deny { instruction: None }).await;
    agent.wait_for_turn_end().await;
    assert_eq!(fixture.files.reads(), ["last"]);
    assert_eq!(agent.result("c1").1, ToolStatus::Denied);
    assert_eq!(agent.result("c2").1, ToolStatus::Denied);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_comes_while_the_response_streams_holds_for_what_has_started() {
    let fixture = AgentFixture::new();
    fixture.put("a.txt", "one");
    fixture.put("b.txt", "one");
    let grep = ("c2", "Grep", json!({"pattern": "one", "output_mode": "content"}));
    let (reply, pause) = slow_calls(&[read("c1", "a.txt"), grep]);
    queue_replies(&fixture, [reply, words("done")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.send("go").await;
    fixture.files.reading("a.txt").await;
    pause.reached().await;
    let edit = RuleEdit::Add((RuleKind::Deny, "Read(a.txt)".to_owned()));
    agent.tell(AgentCommand::Rules(RuleRequest::Change { file: None, edit })).await;
    agent.wait_for("the rule", |event| matches!(event, AgentEvent::Rules(_))).await;
    pause.release();
    agent.wait_for_turn_end().await;
    assert_eq!(agent.result("c1").1, ToolStatus::Denied);
    let (found, _) = agent.result("c2");
    assert!(found.contains("b.txt") && !found.contains("a.txt"), "{found}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_the_output_limit_may_have_cut_is_not_answered_by_what_was_read() {
    let fixture = AgentFixture::new();
    fixture.put("a.txt", "quux");
    let mut reply = unfinished_calls(&[read("c1", "a.txt")]);
    reply.push(finish_event(StopReason::MaxTokens));
    queue_replies(&fixture, [reply, words("done")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn("go").await;
    let (result, status) = agent.result("c1");
    assert_eq!(status, ToolStatus::Failed);
    assert!(!result.contains("quux"), "{result}");
    assert!(announced(&agent).is_empty());
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_calls_start_within_a_bound_and_all_get_results() {
    let fixture = AgentFixture::new();
    let ids: Vec<&'static str> = (0..60).map(|at| &*format!("c{at}").leak()).collect();
    let made: Vec<ScriptedCall> = ids.iter().map(|id| read(id, &format!("{id}.txt"))).collect();
    for id in &ids {
        fixture.put(&format!("{id}.txt"), id);
    }
    let (reply, pause) = slow_calls(&made);
    queue_replies(&fixture, [reply, words("done")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.send("go").await;
    for id in &ids[..16] {
        fixture.files.reading(&format!("{id}.txt")).await;
    }
    pause.reached().await;
    assert_eq!(fixture.files.reads().len(), 16);
    pause.release();
    agent.wait_for_turn_end().await;
    assert_eq!(fixture.files.reads().len(), ids.len());
    assert!(ids.iter().all(|id| agent.result(id).0.contains(id)));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_panics_early_is_answered_as_one_that_panics_later() {
    let fixture = AgentFixture::new();
    fixture.put("a.txt", "one");
    queue_replies(
        &fixture,
        [calls(&[read("c1", "panic.txt"), read("c2", "a.txt")]), words("done")],
    );
    let mut agent = fixture.open(InitialSession::New).await;
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    assert_eq!(agent.result("c1").1, ToolStatus::Failed);
    assert_eq!(agent.result("c2").1, ToolStatus::Done);
    agent.close().await;
}
