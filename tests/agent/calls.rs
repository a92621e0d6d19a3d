//! Calls run side by side or in order, are in the log before they run, and each have one result.

use std::sync::Arc;

use serde_json::{Value, json};
use slug_code::agent::{InitialSession, Interactivity};
use slug_code::domain::{
    ApprovalAnswer, ApprovalKind, ApprovalRequest, CallId, PermissionMode, ToolStatus,
};
use slug_code::platform::environment::EnvironmentRules;
use slug_code::session::{ModelFailure, TurnOutcome};

use super::fakes::{bash, calls, cut_calls, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies, tool_end};
use crate::support::process_host::process_host;

fn read(id: &'static str, path: &str) -> (&'static str, &'static str, Value) {
    (id, "Read", json!({"file_path": path}))
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_run_side_by_side() {
    let fixture = AgentFixture::new();
    fixture.put("pair-one", "1\n");
    fixture.put("pair-two", "2\n");
    let mut agent = fixture.open(InitialSession::New).await;
    // Each read ends only together with the other.
    queue_replies(
        &fixture,
        [calls(&[read("c1", "pair-one"), read("c2", "pair-two")]), words("done")],
    );
    assert_eq!(agent.turn("read both").await, TurnOutcome::Answered);
    assert_eq!((agent.result("c1").1, agent.result("c2").1), (ToolStatus::Done, ToolStatus::Done));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_change_something_run_in_order_once_and_on_record() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = fixture.open(InitialSession::New).await;
    let made = [bash("c1", "one"), bash("c2", "two"), bash("c3", "three")];
    queue_replies(&fixture, [calls(&made), words("done")]);
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    let log = fixture.processes.log();
    assert_eq!(log, ["begin one", "end one", "begin two", "end two", "begin three", "end three"]);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_does_not_wait_for_the_answer_to_a_question() {
    let fixture = AgentFixture::new();
    fixture.put("a", "text\n");
    let mut agent = fixture.open(InitialSession::New).await;
    let write = ("c1", "Write", json!({"file_path": "b", "content": "new\n"}));
    queue_replies(&fixture, [calls(&[write, read("c2", "a")]), words("done")]);
    agent.send("go").await;
    let question = agent.next_approval().await;
    if !agent.events.iter().any(|event| tool_end(event).is_some()) {
        assert_eq!(agent.wait_for_tool_end("c2").await, ToolStatus::Done);
    }
    agent.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    agent.close().await;
}

/// A command may change whatever is read behind it.
#[tokio::test(flavor = "multi_thread")]
async fn a_read_waits_for_the_command_before_it() {
    let fixture = AgentFixture::new();
    fixture.put("a", "old\n");
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [calls(&[bash("c1", "make"), read("c2", "a")]), words("done")]);
    agent.send("go").await;
    let question = agent.next_approval().await;
    assert!(!agent.events.iter().any(|event| tool_end(event).is_some()), "{:?}", agent.events);
    fixture.put("a", "made\n");
    agent.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert!(agent.result("c2").0.contains("made"), "{:?}", agent.result("c2"));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_panics_leaves_every_call_with_a_result() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    fixture.put("a", "text\n");
    fixture.put("panic.txt", "text\n");
    let mut agent = fixture.open(InitialSession::New).await;
    let made = [bash("c1", "panic"), read("c2", "panic.txt"), read("c3", "a"), bash("c4", "echo")];
    queue_replies(&fixture, [calls(&made), words("done")]);
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    let status = |call| agent.result(call).1;
    let all = ["c1", "c2", "c3", "c4"].map(status);
    use ToolStatus::{Done, Failed};
    assert_eq!(all, [Failed, Failed, Done, Done]);
    let ended = agent.events.iter().filter(|event| tool_end(event).is_some()).count();
    assert_eq!(ended, 4);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_the_output_limit_cut_is_answered_with_the_limit_and_how_to_split_it() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [cut_calls(&[bash("c1", "echo")]), words("sorry")]);
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    assert_eq!(fixture.processes.log(), [""; 0]);
    let (result, status) = agent.result("c1");
    assert!(result.contains("its output limit of 1000 tokens"), "{result}");
    assert!(result.contains("Send it again in smaller parts"), "{result}");
    assert_eq!(status, ToolStatus::Failed);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_calls_before_a_cut_one_run() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    fixture.put("a", "text\n");
    let mut agent = fixture.open(InitialSession::New).await;
    let made = [bash("c1", "echo"), read("c2", "a"), bash("c3", "touch")];
    queue_replies(&fixture, [cut_calls(&made), words("sorry")]);
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    assert_eq!(fixture.processes.log(), ["begin echo", "end echo"]);
    assert_eq!((agent.result("c1").1, agent.result("c2").1), (ToolStatus::Done, ToolStatus::Done));
    assert!(agent.result("c3").0.contains("in the middle of this call"));
    // Each call has its result right behind the response.
    let sent = fixture.model.last_request().messages;
    let answered: Vec<&str> = sent.last().unwrap().answers().map(CallId::as_str).collect();
    assert_eq!(answered, ["c1", "c2", "c3"]);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_is_told_about_wrong_arguments_and_unknown_tools() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = fixture.open(InitialSession::New).await;
    let made = [("c1", "Read", json!([1])), ("c2", "Reed", json!({})), ("c3", "Read", json!({}))];
    queue_replies(&fixture, [calls(&made), words("sorry")]);
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    for (call, expected) in [
        ("c1", "not a JSON object"),
        ("c2", "There is no tool \"Reed\""),
        ("c3", "`file_path` is missing"),
    ] {
        let (result, status) = agent.result(call);
        assert!(result.contains(expected), "{result}");
        assert_eq!(status, ToolStatus::Failed);
    }
    agent.close().await;
}

/// A turn in which the model reads the same file three times, up to the question to the user.
async fn repeated(fixture: &AgentFixture) -> (TestAgent, ApprovalRequest) {
    fixture.put("a", "text\n");
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(fixture, ["c1", "c2", "c3"].map(|id| calls(&[read(id, "a")])));
    queue_replies(fixture, [words("done")]);
    agent.send("go").await;
    let question = agent.next_approval().await;
    assert_eq!(question.kind, ApprovalKind::RepeatedCall);
    assert!(
        question.reason.contains("has had the same result 2 times in a row"),
        "{}",
        question.reason
    );
    assert_eq!(agent.result("c2").1, ToolStatus::Done);
    (agent, question)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_call_runs_only_with_an_approval() {
    let fixture = AgentFixture::new();
    let (mut agent, question) = repeated(&fixture).await;
    agent.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(agent.result("c3").1, ToolStatus::Done);
    agent.close().await;
}

/// The time that a question waits for its answer is nobody's run time.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_was_not_run_took_no_time() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [calls(&[bash("c1", "make")]), words("I see.")]);
    agent.send("go").await;
    let question = agent.next_approval().await;
    // A fixed wait: it is what must not count.
    tokio::time::sleep(std::time::Duration::from_millis(30)).await;
    agent.answer(&question, ApprovalAnswer::Deny { instruction: None }).await;
    agent.wait_for_turn_end().await;
    let info = agent.messages().into_iter().find_map(|entry| entry.result).unwrap();
    assert_eq!((info.status, info.elapsed_ms), (ToolStatus::Denied, 0));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn denying_a_repeated_call_stops_the_turn() {
    let fixture = AgentFixture::new();
    let (mut agent, question) = repeated(&fixture).await;
    agent.answer(&question, ApprovalAnswer::Deny { instruction: None }).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Interrupted);
    assert_eq!(agent.result("c3").1, ToolStatus::Cancelled);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn denying_a_repeated_call_can_say_what_to_do_instead() {
    let fixture = AgentFixture::new();
    let (mut agent, question) = repeated(&fixture).await;
    let instruction = Some("read b".into());
    agent.answer(&question, ApprovalAnswer::Deny { instruction }).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert!(agent.result("c3").0.contains("read b"));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_user_a_repeated_call_is_not_run_for_ever() {
    let fixture = AgentFixture { interactivity: Interactivity::Headless, ..AgentFixture::new() };
    fixture.put("a", "text\n");
    let mut agent = fixture.open(InitialSession::New).await;
    let again = ["c1", "c2", "c3"].map(|id| calls(&[read(id, "a")]));
    queue_replies(&fixture, again);
    queue_replies(&fixture, [words("done")]);
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    let (result, _) = agent.result("c3");
    assert!(
        result.starts_with("Not run: this exact call has already had the same result 2 times"),
        "{result}"
    );
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_user_a_model_that_only_repeats_calls_ends_its_turn() {
    let fixture = AgentFixture { interactivity: Interactivity::Headless, ..AgentFixture::new() };
    fixture.put("a", "text\n");
    let mut agent = fixture.open(InitialSession::New).await;
    let again = ["c1", "c2", "c3", "c4", "c5", "c6", "c7"].map(|id| calls(&[read(id, "a")]));
    queue_replies(&fixture, again);
    let repetition = TurnOutcome::ModelFailed(ModelFailure::RepeatedCalls);
    assert_eq!(agent.turn("go").await, repetition);
    for id in ["c3", "c4", "c5", "c6"] {
        assert!(agent.result(id).0.starts_with("Not run:"), "{id}: {}", agent.result(id).0);
    }
    assert_eq!(fixture.model.requests().len(), 6);
    agent.close().await;
}

/// There is nothing to ask the user about a call that cannot run.
#[tokio::test(flavor = "multi_thread")]
async fn a_denied_call_that_is_repeated_is_no_question() {
    let fixture = AgentFixture::in_mode(PermissionMode::Plan);
    let mut agent = fixture.open(InitialSession::New).await;
    let write = |id| calls(&[(id, "Write", json!({"file_path": "b", "content": "new\n"}))]);
    queue_replies(&fixture, ["c1", "c2", "c3", "c4", "c5", "c6", "c7"].map(write));
    let repetition = TurnOutcome::ModelFailed(ModelFailure::RepeatedCalls);
    assert_eq!(agent.turn("go").await, repetition);
    assert_eq!(agent.result("c2").1, ToolStatus::Denied);
    assert!(agent.result("c3").0.starts_with("Not run:"), "{}", agent.result("c3").0);
    assert_eq!(fixture.model.requests().len(), 6);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_no_tool_that_is_repeated_is_no_question() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    let call = |id| calls(&[(id, "python3", json!({"code": "1"}))]);
    queue_replies(&fixture, ["c1", "c2", "c3"].map(call));
    queue_replies(&fixture, [words("done")]);
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    assert!(agent.result("c3").0.starts_with("Not run:"), "{}", agent.result("c3").0);
    agent.close().await;
}

/// Queues a response for each of these numbers, with a call of Read that has other wrong arguments.
fn queue_wrong_reads(fixture: &AgentFixture, numbers: std::ops::RangeInclusive<u32>) {
    for number in numbers {
        let id = format!("c{number}");
        queue_replies(fixture, [calls(&[(&id, "Read", json!({"lines": number}))])]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_user_a_tool_that_fails_in_the_same_way_ten_times_ends_the_turn() {
    let interactivity = Interactivity::Headless;
    let fixture = AgentFixture { interactivity, rounds: Some(20), ..AgentFixture::new() };
    let mut agent = fixture.open(InitialSession::New).await;
    queue_wrong_reads(&fixture, 1..=12);
    let repetition = TurnOutcome::ModelFailed(ModelFailure::RepeatedFailures);
    assert_eq!(agent.turn("go").await, repetition);
    assert_eq!(fixture.model.requests().len(), 10);
    let hint = "The arguments of Read were wrong 5 times in a row. A valid call of Read has one JSON object with";
    assert!(!agent.result("c4").0.contains("in a row"), "{}", agent.result("c4").0);
    let (result, status) = agent.result("c5");
    assert!(result.starts_with("Read: unknown argument `lines`. Arguments"), "{result}");
    assert!(
        result.contains(hint) && result.contains("\"file_path\": string, required"),
        "{result}"
    );
    assert_eq!(status, ToolStatus::Failed);
    assert!(agent.result("c10").0.contains("10 times in a row"));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_fails_in_the_same_way_ten_times_is_a_question() {
    let fixture = AgentFixture { rounds: Some(40), ..AgentFixture::new() };
    fixture.put("a", "text\n");
    let mut agent = fixture.open(InitialSession::New).await;
    queue_wrong_reads(&fixture, 1..=9);
    queue_replies(&fixture, [calls(&[read("read", "a")])]);
    queue_wrong_reads(&fixture, 10..=20);
    queue_replies(&fixture, [words("done")]);
    agent.send("go").await;
    let question = agent.next_approval().await;
    assert_eq!(question.kind, ApprovalKind::RepeatedCall);
    let reason =
        "Read has failed in the same way 10 times in a row, with other arguments each time.";
    assert_eq!((question.call.as_str(), question.reason.as_str()), ("c20", reason));
    assert_eq!(agent.result("read").1, ToolStatus::Done);
    agent.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert!(!agent.result("c20").0.contains("in a row"), "counted anew");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ever_other_names_and_broken_arguments_are_failures_of_the_same_way() {
    let interactivity = Interactivity::Headless;
    let fixture = AgentFixture { interactivity, rounds: Some(20), ..AgentFixture::new() };
    let mut agent = fixture.open(InitialSession::New).await;
    for number in 1..=12 {
        let name = format!("guess_{number}");
        queue_replies(&fixture, [calls(&[(&name, &name, json!({"n": number}))])]);
    }
    let repetition = TurnOutcome::ModelFailed(ModelFailure::RepeatedFailures);
    assert_eq!(agent.turn("go").await, repetition);
    assert_eq!(fixture.model.requests().len(), 10);
    assert!(
        agent.result("guess_5").0.contains("You called tools that do not exist 5 times in a row.")
    );
    agent.close().await;
}

/// Ten searches without a match are ten answers.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_fails_is_no_failure_of_its_tool() {
    let interactivity = Interactivity::Headless;
    let fixture = AgentFixture {
        interactivity,
        rounds: Some(20),
        ..AgentFixture::in_mode(PermissionMode::Yolo)
    };
    let host = process_host(std::env::vars_os(), &EnvironmentRules::default());
    let fixture = AgentFixture { sandbox: Some(Arc::new(host)), ..fixture };
    let mut agent = fixture.open(InitialSession::New).await;
    for number in 1..=12 {
        let id = format!("c{number}");
        let command = format!("test -e file_{number}");
        queue_replies(&fixture, [calls(&[(&id, "Bash", json!({"command": command}))])]);
    }
    queue_replies(&fixture, [words("none")]);
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    assert_eq!(agent.result("c12").1, ToolStatus::Failed);
    assert!(!agent.result("c12").0.contains("in a row"), "{}", agent.result("c12").0);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_output_of_a_command_is_kept_whole() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [calls(&[bash("c1", "print 100000")]), words("done")]);
    agent.turn("go").await;
    assert!(agent.result("c1").0.len() < 40_000, "the model gets a part");
    let kept: Vec<_> =
        agent.messages().into_iter().filter_map(|entry| entry.result?.kept).collect();
    assert_eq!(kept.len(), 1);
    let whole = fixture.store.blobs().get(&kept[0]).unwrap().unwrap();
    let long = "x".repeat(100_000);
    assert_eq!(String::from_utf8(whole).unwrap(), format!("{long}print 100000 says hello\n"));
    agent.close().await;
}
