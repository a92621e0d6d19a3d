//! Answers that fill a small window: dozens of calls, arguments without end, text in a loop. The
//! session goes on.

use std::sync::Arc;

use serde_json::{Value, json};
use slug_code::agent::InitialSession;
use slug_code::domain::{CallInput, ContentBlock, Message, PermissionMode, StopReason};
use slug_code::providers::{ProviderRequest, StreamEvent};
use slug_code::session::{LogEntry, ModelFailure, TurnOutcome};

use super::fakes::{ScriptedEvent, ScriptedStream, bash, calls, cut_calls, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies};
use super::windowed_model::{WindowedModel, whole_text};

const TASK: &str = "Port the parser of the crate `tessera` to the new grammar.";

fn fixture(model: &Arc<WindowedModel>) -> AgentFixture {
    AgentFixture {
        provider: Some(model.clone()),
        max_tokens: None,
        ..AgentFixture::in_mode(PermissionMode::AllowEdits)
    }
}

/// Answers the request number by number, then with words.
fn in_order(
    replies: impl IntoIterator<Item = ScriptedStream>,
) -> impl Fn(&ProviderRequest) -> ScriptedStream + Send + Sync + 'static {
    let replies = std::sync::Mutex::new(replies.into_iter().collect::<Vec<_>>().into_iter());
    move |_| replies.lock().unwrap().next().unwrap_or_else(|| words("Done."))
}

/// Each call of the requests is answered right behind it, and its arguments are JSON.
fn assert_valid(requests: &[ProviderRequest]) {
    for messages in requests.iter().map(|request| &request.messages) {
        for (at, message) in messages.iter().enumerate() {
            let asked: Vec<_> = message.calls().map(|call| &call.id).collect();
            let next = messages.get(at + 1).map(|next| next.answers().collect::<Vec<_>>());
            assert_eq!(asked, next.unwrap_or_default(), "message {at}");
            for call in message.calls() {
                assert!(matches!(call.input, CallInput::Valid(Value::Object(_))), "{call:?}");
            }
        }
    }
}

fn results(agent: &TestAgent) -> Vec<String> {
    let contents = agent.messages().into_iter().flat_map(|entry| entry.content);
    let texts = contents.filter_map(|block| match block {
        ContentBlock::ToolResult { content, .. } => Some(content),
        _ => None,
    });
    texts.collect()
}

fn reads(count: usize, file: impl Fn(usize) -> String) -> ScriptedStream {
    let ids: Vec<String> = (0..count).map(|number| format!("c{number}")).collect();
    let all: Vec<(&str, &str, Value)> = ids
        .iter()
        .enumerate()
        .map(|(number, id)| (id.as_str(), "Read", json!({"file_path": file(number)})))
        .collect();
    calls(&all)
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_calls_of_one_answer_run_once() {
    let model = WindowedModel::new(16_384, in_order([reads(60, |_| "f".to_owned())]));
    let fixture = fixture(&model);
    fixture.put("f", &"let row = parse(grammar);\n".repeat(60));
    let mut agent = fixture.open(InitialSession::New).await;
    assert_eq!(agent.turn(TASK).await, TurnOutcome::Answered, "{:?}", agent.notices());
    let results = results(&agent);
    assert_eq!(results.len(), 60, "each has its result");
    let notes = results
        .iter()
        .filter(|it| it.starts_with("Not run: this response has the same call twice"));
    assert_eq!(notes.count(), 59);
    assert_valid(&model.requests());
    assert_eq!(model.refused(), 0);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_one_answer_runs_again_behind_a_change() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let write = ("c2", "Write", json!({"file_path": "g", "content": "x"}));
    queue_replies(
        &fixture,
        [calls(&[bash("c1", "print 3"), write, bash("c3", "print 3"), bash("c4", "print 3")])],
    );
    fixture.model.reply(words("Done."));
    let mut agent = fixture.open(InitialSession::New).await;
    assert_eq!(agent.turn(TASK).await, TurnOutcome::Answered, "{:?}", agent.notices());
    let not_run: Vec<bool> = results(&agent).iter().map(|it| it.starts_with("Not run")).collect();
    assert_eq!(not_run.iter().filter(|it| **it).count(), 1, "{:?}", results(&agent));
    agent.close().await;
}

/// More calls in one answer than the window has room for, with results and all.
#[tokio::test(flavor = "multi_thread")]
async fn hundreds_of_calls_in_one_answer_do_not_end_the_session() {
    let model = WindowedModel::new(
        16_384,
        in_order([reads(250, |number| format!("f{number}")), words("Read."), words("And again.")]),
    );
    let fixture = fixture(&model);
    for number in 0..250 {
        fixture.put(&format!("f{number}"), &format!("line {number}\n"));
    }
    let mut agent = fixture.open(InitialSession::New).await;
    assert_eq!(agent.turn(TASK).await, TurnOutcome::Answered, "{:?}", agent.notices());
    assert_eq!(agent.turn("Go on.").await, TurnOutcome::Answered, "{:?}", agent.notices());
    let requests = model.requests();
    assert_valid(&requests);
    assert!(requests.iter().all(|it| whole_text(&it.messages).contains(TASK)));
    assert_eq!(results(&agent).len(), 250, "the log has all");
    agent.close().await;
}

/// A model that writes a long file is cut at its output limit, in the midst of the call.
#[tokio::test(flavor = "multi_thread")]
async fn a_cut_call_as_long_as_the_output_limit_does_not_fill_the_window() {
    let long = "fn rule() -> Grammar { todo() }\n".repeat(500);
    let write = json!({"file_path": "src/parser.rs", "content": long});
    let model =
        WindowedModel::new(
            16_384,
            in_order((0..3).map(|number| {
                cut_calls(&[(format!("w{number}").as_str(), "Write", write.clone())])
            })),
        );
    let fixture = fixture(&model);
    let mut agent = fixture.open(InitialSession::New).await;
    assert_eq!(agent.turn(TASK).await, TurnOutcome::Answered, "{:?}", agent.notices());
    assert_eq!(agent.turn("Go on.").await, TurnOutcome::Answered, "{:?}", agent.notices());
    let requests = model.requests();
    assert_valid(&requests);
    let last = whole_text(&requests.last().unwrap().messages);
    assert!(last.contains("src/parser.rs"), "the short arguments stay: {last}");
    assert!(last.contains(" characters of this argument are left out"), "{last}");
    let logged =
        agent.messages().into_iter().filter(|it| whole_text(&[it.message()]).len() > 15_000);
    assert_eq!(logged.count(), 3, "the log keeps them whole");
    agent.close().await;
}

/// Older calls with long arguments are cut where stubs for results are not enough.
#[tokio::test(flavor = "multi_thread")]
async fn older_arguments_are_cut_before_a_summary_is_needed() {
    let content = |number: usize| format!("// file {number}\n{}", "let x = 1;\n".repeat(180));
    let ids: Vec<String> = (0..30).map(|number| format!("w{number}")).collect();
    let replies = (0..30).map(|number| {
        let input = json!({"file_path": format!("f{number}"), "content": content(number)});
        calls(&[(ids[number].as_str(), "Write", input)])
    });
    let model = WindowedModel::new(24_000, in_order(replies));
    let fixture = AgentFixture { rounds: Some(100), ..fixture(&model) };
    let mut agent = fixture.open(InitialSession::New).await;
    assert_eq!(agent.turn(TASK).await, TurnOutcome::Answered, "{:?}", agent.notices());
    assert_eq!(model.refused(), 0);
    assert_valid(&model.requests());
    let compactions = agent.records().into_iter().filter_map(|record| match record.entry {
        LogEntry::Compaction(compaction) => Some(compaction),
        _ => None,
    });
    let first = compactions.into_iter().next().expect("no compaction");
    assert!(first.note.is_none() && !first.cut_calls.is_empty(), "{first:?}");
    assert!((0..30).all(|number| fixture.read(&format!("f{number}")) == content(number)));
    agent.close().await;
}

/// A model that copies from its own cut call would write slug's mark into a file.
#[tokio::test]
async fn a_call_that_repeats_the_mark_of_a_cut_argument_is_not_run() {
    let fixture = AgentFixture::in_mode(PermissionMode::AllowEdits);
    let mark = "fn a() {[slug: 812 characters of this argument are left out to save space]";
    let write = calls(&[("c1", "Write", json!({"file_path": "f", "content": mark}))]);
    queue_replies(&fixture, [write, words("I see.")]);
    let mut agent = fixture.open(InitialSession::New).await;
    assert_eq!(agent.turn("write").await, TurnOutcome::Answered);
    assert_eq!(fixture.read("f"), "");
    assert!(results(&agent)[0].contains("Send the whole text"), "{:?}", results(&agent));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sentence_over_and_over_ends_the_answer_as_a_repetition() {
    let again = "Let me check the parser once more. ";
    let fixture = AgentFixture::new();
    let mut looped: ScriptedStream =
        (0..1_000).map(|_| ScriptedEvent::Event(StreamEvent::Text(again.into()))).collect();
    looped.push(ScriptedEvent::Hang);
    queue_replies(&fixture, [looped, words("Sorry.")]);
    let mut agent = fixture.open(InitialSession::New).await;
    let outcome = agent.turn(TASK).await;
    assert_eq!(outcome, TurnOutcome::ModelFailed(ModelFailure::RepeatedText));
    let entry = agent.messages().pop().unwrap();
    assert_eq!(entry.message().text().trim(), again.repeat(2).trim());
    assert_eq!(entry.stop_reason, Some(StopReason::Interrupted));
    let usage = entry.usage.expect("what streamed was paid for");
    assert!(entry.is_usage_estimated && usage.output >= 1_000, "{usage:?}");
    assert_eq!(agent.turn("And now?").await, TurnOutcome::Answered);
    let sent = fixture.model.last_request().messages;
    assert_eq!(sent.iter().map(Message::text).filter(|it| it.contains(again.trim())).count(), 1);
    agent.close().await;
}
