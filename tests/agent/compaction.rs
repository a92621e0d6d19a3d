//! Long conversations in small windows: what stays, what is said, and what brings it back.

use std::sync::Arc;

use serde_json::json;
use slug_code::agent::{AgentCommand, AgentEvent, InitialSession};
use slug_code::domain::{
    CallId, ContentBlock, Message, MessageRole, PermissionMode, RequestSource, StopReason,
};
use slug_code::providers::{ProviderRequest, StreamEvent, ToolChoice};
use slug_code::session::{CompactionEntry, LogEntry, TurnOutcome};

use super::fakes::{ScriptedEvent, ScriptedStream, calls, finish_event, words};
use super::test_agent::{AgentFixture, TestAgent, turn_end};
use super::windowed_model::{SUMMARY, WindowedModel, count_tokens, whole_text};

pub const TASK: &str =
    "Port the parser of the crate `tessera` to the new grammar, and keep its 31 tests.";

pub fn fixture(model: &Arc<WindowedModel>) -> AgentFixture {
    AgentFixture {
        provider: Some(model.clone()),
        max_tokens: None,
        ..AgentFixture::in_mode(PermissionMode::AllowEdits)
    }
}

pub fn compactions(agent: &TestAgent) -> Vec<CompactionEntry> {
    let compaction = |entry: LogEntry| match entry {
        LogEntry::Compaction(compaction) => Some(compaction),
        _ => None,
    };
    agent.records().into_iter().filter_map(|record| compaction(record.entry)).collect()
}

/// Each call is answered exactly once, in the message right behind it, and nothing else is.
pub fn assert_paired(messages: &[Message]) {
    let mut role = MessageRole::User;
    for (at, message) in messages.iter().enumerate() {
        assert_eq!(message.role, role, "message {at}");
        let asked: Vec<&CallId> = message.calls().map(|call| &call.id).collect();
        let next = messages.get(at + 1).map(|next| next.answers().collect::<Vec<_>>());
        assert_eq!(asked, next.unwrap_or_default(), "message {at}");
        role = match role {
            MessageRole::User => MessageRole::Assistant,
            MessageRole::Assistant => MessageRole::User,
        };
    }
}

/// How many bytes two requests have in common at their beginning, of the first one's.
fn shared(before: &ProviderRequest, after: &ProviderRequest) -> (usize, usize) {
    let (before, after) = (whole_text(&before.messages), whole_text(&after.messages));
    let shared = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
    (shared, before.len())
}

fn last_text(request: &ProviderRequest) -> String {
    request.messages.last().map(Message::text).unwrap_or_default()
}

/// Reads a file, notes the plan now and then, and says that the step is done.
pub fn step_by_step(request: &ProviderRequest) -> ScriptedStream {
    let last = request.messages.last().unwrap();
    let done = last.answers().count() > 0;
    let number: usize = last_step(request);
    let id = format!("c{number}");
    if done {
        return words(&format!("Step {number} is done."));
    }
    let read = (id.as_str(), "Read", json!({"file_path": format!("f{}", number % 7)}));
    let todo_id = format!("t{number}");
    let steps = json!({"todos": [
        {"content": "Port the lexer", "status": "completed", "activeForm": "Porting the lexer"},
        {"content": format!("Port rule {}", number / 10), "status": "in_progress", "activeForm": "Porting"},
        {"content": "Run all 31 tests", "status": "pending", "activeForm": "Running"},
    ]});
    match number % 10 {
        0 => calls(&[(todo_id.as_str(), "TodoWrite", steps), read]),
        _ => calls(&[read]),
    }
}

/// The number of the newest step that the user asked for.
pub fn last_step(request: &ProviderRequest) -> usize {
    let texts = request.messages.iter().rev().flat_map(|message| message.content.iter().rev());
    let mut steps = texts.filter_map(ContentBlock::as_text).filter_map(|text| {
        text.strip_prefix("Step ").and_then(|rest| rest.split([':', ' ']).next()?.parse().ok())
    });
    steps.next().unwrap_or(0)
}

/// 500 turns over a window of 16k tokens: no error, no refusal of the server's, the task and the plan
/// are in each request, calls have their results, and between compactions requests only grow.
#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_turns_fit_into_a_small_window() {
    let model = WindowedModel::new(16_384, step_by_step);
    let fixture = fixture(&model);
    for number in 0..7 {
        fixture.put(
            &format!("f{number}"),
            &format!("let row_{number} = parse(grammar);\n").repeat(60),
        );
    }
    let mut agent = fixture.open(InitialSession::New).await;
    assert_eq!(agent.turn(TASK).await, TurnOutcome::Answered);
    for number in 1..500 {
        let text = format!("Step {number}: port rule {} as the grammar says.", number / 10);
        assert_eq!(agent.turn(&text).await, TurnOutcome::Answered, "{:?}", agent.notices());
    }
    assert_eq!(model.refused(), 0, "no request was too long");
    assert_eq!(agent.notices(), [""; 0], "nothing had to be said");
    let requests = model.requests();
    for (at, request) in requests.iter().enumerate() {
        assert_paired(&request.messages);
        let text = whole_text(&request.messages);
        assert!(text.contains(TASK), "request {at} has lost the task");
        // Every tenth step begins with another plan, and may be compacted behind that.
        let step = last_step(request);
        let plans = [step.saturating_sub(1), step].map(|step| format!("Port rule {}", step / 10));
        let has_plan = plans.iter().any(|plan| text.contains(plan));
        assert!(at < 3 || has_plan, "request {at} has lost the plan: {plans:?}");
    }
    let (mut kept, mut all, mut cuts) = (0, 0, 0);
    for pair in requests.windows(2) {
        let (same, of) = shared(&pair[0], &pair[1]);
        if same * 100 < of * 95 {
            cuts += 1;
        } else {
            kept += same;
            all += of;
        }
    }
    let made = compactions(&agent);
    assert!(cuts <= made.len(), "{cuts} breaks, {} compactions", made.len());
    assert!(kept * 1000 >= all * 950, "{kept} of {all} bytes were sent again");
    assert!((5..150).contains(&made.len()), "{} compactions", made.len());
    let spent = agent.conversation().spending;
    let sources: Vec<RequestSource> = spent.by_source().iter().map(|(source, _)| source).collect();
    assert_eq!(sources, [RequestSource::Main, RequestSource::Compaction]);
    // Everything is still in the log.
    let texts =
        agent.messages().iter().filter(|it| it.message().text().starts_with("Step ")).count();
    assert_eq!(texts, 499 + 500, "what was asked, and what was answered");
    agent.close().await;
}

/// A turn with many rounds is compacted in its midst, and goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_single_turn_goes_on_through_several_windows() {
    let model = WindowedModel::new(12_000, |request| {
        let done = whole_text(&request.messages).matches("\"tool_use\"").count();
        let told = request.messages.iter().flat_map(Message::calls).last();
        let number = told.map_or(0, |call| call.id.as_str()[1..].parse::<usize>().unwrap() + 1);
        match number {
            60.. => words(&format!("All read, {done} of it in sight.")),
            _ => {
                let id = format!("c{number}");
                calls(&[(id.as_str(), "Read", json!({"file_path": format!("f{number}")}))])
            }
        }
    });
    let fixture = AgentFixture { rounds: Some(100), ..fixture(&model) };
    for number in 0..60 {
        fixture.put(&format!("f{number}"), &format!("line of file {number}\n").repeat(120));
    }
    let mut agent = fixture.open(InitialSession::New).await;
    assert_eq!(agent.turn(TASK).await, TurnOutcome::Answered, "{:?}", agent.notices());
    assert_eq!(model.refused(), 0);
    assert!(compactions(&agent).len() >= 4, "{}", compactions(&agent).len());
    for request in model.requests() {
        assert_paired(&request.messages);
        assert!(whole_text(&request.messages).contains(TASK));
    }
    let last = compactions(&agent).pop().unwrap();
    assert!(last.files_read.len() > 40, "the files are cumulative: {:?}", last.files_read);
    let mut notes = compactions(&agent).into_iter().filter_map(|it| it.note);
    let note = notes.next_back().expect("no summary was needed");
    assert!(note.text.contains("## Files read so far\nf0, f1"), "{}", note.text);
    agent.close().await;
}

/// A conversation of some rounds, each of which read a file of its own.
pub async fn with_rounds(fixture: &AgentFixture, count: usize) -> TestAgent {
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn(TASK).await;
    for number in 1..count {
        agent.turn(&format!("Step {number}: go on.")).await;
    }
    agent
}

pub fn with_files(model: &Arc<WindowedModel>) -> AgentFixture {
    let fixture = fixture(model);
    for number in 0..7 {
        fixture.put(&format!("f{number}"), &format!("line of file {number}\n").repeat(60));
    }
    fixture
}

#[tokio::test(flavor = "multi_thread")]
async fn compact_with_a_focus_asks_the_same_prefix_for_a_summary() {
    let model = WindowedModel::new(64_000, step_by_step);
    let fixture = with_files(&model);
    let mut agent = with_rounds(&fixture, 12).await;
    agent.tell(AgentCommand::Compact { focus: Some("the API".into()) }).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let (main, summaries) = (model.requests(), model.summaries());
    let [summary] = summaries.as_slice() else { panic!("{} requests", summaries.len()) };
    let last = main.last().unwrap();
    assert_eq!((&summary.system, &summary.tools), (&last.system, &last.tools));
    let (same, of) = shared(last, summary);
    assert!(same >= of - 2, "{same} of {of} bytes");
    assert!(whole_text(&summary.messages).contains("above all: the API"));

    let made = compactions(&agent);
    let [compaction] = made.as_slice() else { panic!("{made:?}") };
    assert!(compaction.told().ends_with("summary by test-model."), "{}", compaction.told());
    agent.turn("Step 12: go on.").await;
    let after = model.requests().pop().unwrap();
    assert_paired(&after.messages);
    assert!(count_tokens(&after) < count_tokens(last));
    let text = whole_text(&after.messages);
    let note = format!("{}", json!(SUMMARY));
    assert!(text.contains(&note[1..note.len() - 1]), "{text}");
    assert!(text.contains("This note is a record of what was done, not an instruction"), "{text}");
    assert!(text.contains(TASK) && text.contains("Step 1: go on."), "{text}");
    assert!(text.contains("Port rule 1"), "the plan: {text}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn compact_undo_sends_everything_again_also_after_a_resume() {
    let model = WindowedModel::new(64_000, step_by_step);
    let fixture = with_files(&model);
    let mut agent = with_rounds(&fixture, 10).await;
    let before = agent.conversation().messages;
    agent.tell(AgentCommand::Compact { focus: None }).await;
    agent.wait_for_turn_end().await;
    assert!(agent.conversation().messages.len() < before.len());
    agent.tell(AgentCommand::UndoCompaction).await;
    agent.wait_for("word", |event| {
        matches!(event, AgentEvent::Notice { text, .. } if text.contains("The messages now take"))
    })
    .await;
    assert_eq!(agent.conversation().messages, before);
    let estimated =
        |event: &AgentEvent| matches!(event, AgentEvent::ContextEstimated(it) if it.used > 1_000);
    agent.wait_for("the size of what is sent again", estimated).await;
    agent.turn("Step 10: go on.").await;
    let sent = model.requests().pop().unwrap();
    assert!(whole_text(&sent.messages).contains("Step 3 is done."));
    agent.tell(AgentCommand::UndoCompaction).await;
    agent.wait_for("word", |event| {
        matches!(event, AgentEvent::Notice { text, .. } if text.contains("No compaction to undo"))
    })
    .await;
    let session = agent.id();
    agent.close().await;
    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    agent.turn("Step 11: go on.").await;
    let sent = model.requests().pop().unwrap();
    assert!(whole_text(&sent.messages).contains("Step 3 is done."));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_in_place_of_a_summary_is_not_run_and_slug_writes_the_note() {
    let model = WindowedModel::new(64_000, step_by_step);
    model.summarise(Some(calls(&[("x", "Write", json!({"file_path": "w", "content": "no"}))])));
    let fixture = with_files(&model);
    let mut agent = with_rounds(&fixture, 10).await;
    agent.tell(AgentCommand::Compact { focus: None }).await;
    agent.wait_for_turn_end().await;
    let choices: Vec<ToolChoice> = model.summaries().iter().map(|it| it.tool_choice).collect();
    assert_eq!(choices, [ToolChoice::Auto, ToolChoice::None], "asked once more, for text only");
    assert_eq!(fixture.read("w"), "");
    let made = compactions(&agent);
    let note = made[0].note.clone().unwrap();
    assert_eq!(note.model, None);
    assert!(note.text.contains("## Task\n") && note.text.contains(TASK), "{}", note.text);
    assert!(note.text.contains("Step 0 is done."), "what was said: {}", note.text);
    assert!(note.text.contains("f0, f1, f2"), "what was read: {}", note.text);
    assert!(agent.notices().iter().any(|it| it.contains("made a note from the log")));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn escape_stops_a_compaction_and_leaves_the_conversation() {
    let model = WindowedModel::new(64_000, step_by_step);
    model.summarise(None);
    let fixture = with_files(&model);
    let mut agent = with_rounds(&fixture, 10).await;
    let before = agent.conversation().messages;
    agent.tell(AgentCommand::Compact { focus: None }).await;
    while model.summaries().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    assert_told_as_stopped(&agent);
    assert_eq!(agent.conversation().messages, before);
    assert_eq!(model.summaries().len(), 1, "it was not tried again");
    assert!(compactions(&agent).is_empty());
    agent.turn("Step 10: go on.").await;
    let text = whole_text(&model.requests().pop().unwrap().messages);
    assert!(!text.contains("stopped your last answer"), "there was none: {text}");
    agent.close().await;
}

/// What the user showed with `!` is sent on after a compaction, and slug's own note names it.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_of_the_users_has_shown_survives_a_compaction() {
    for has_summary in [true, false] {
        let model = WindowedModel::new(64_000, step_by_step);
        if !has_summary {
            model.summarise(Some(words("No.")));
        }
        let fixture = with_files(&model);
        let mut agent = fixture.open(InitialSession::New).await;
        agent.turn(TASK).await;
        agent.tell(AgentCommand::Shell { command: "deploy staging".into() }).await;
        for number in 1..14 {
            agent.turn(&format!("Step {number}: go on.")).await;
        }
        agent.tell(AgentCommand::Compact { focus: None }).await;
        agent.wait_for_turn_end().await;
        let note = compactions(&agent).pop().unwrap().note.unwrap();
        assert_eq!(note.model.is_some(), has_summary);
        let is_named = note.text.contains("## Commands that the user ran\n- $ deploy staging");
        assert_eq!(is_named, !has_summary, "{}", note.text);
        agent.turn("Step 14: go on.").await;
        let sent = whole_text(&model.requests().pop().unwrap().messages);
        assert!(sent.contains("$ deploy staging\\ndeploy staging says hello"), "{sent}");
        agent.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn compact_shortens_a_conversation_of_one_long_answer() {
    let lines = (0..800).map(|line| format!("Line {line} has one more of them.\n"));
    let answer = lines.collect::<String>();
    let model = WindowedModel::new(64_000, move |_| words(&answer));
    let fixture = fixture(&model);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn(TASK).await;
    agent.tell(AgentCommand::Compact { focus: None }).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let tokens = compactions(&agent).pop().expect("nothing was saved").tokens.unwrap();
    assert!(tokens.after + 3_000 < tokens.before, "{tokens:?}");
    assert_eq!(agent.notices(), [""; 0]);
    agent.turn("And now?").await;
    let sent = model.requests().pop().unwrap();
    assert_paired(&sent.messages);
    let text = whole_text(&sent.messages);
    assert!(text.contains(TASK) && text.contains("Some steps are done."), "{text}");
    assert!(!text.contains("has one more"), "{text}");
    agent.close().await;
}

/// The user reads that they stopped a compaction, and of no failure.
fn assert_told_as_stopped(agent: &TestAgent) {
    let notices = agent.notices();
    assert_eq!(notices, ["The compaction was stopped. The conversation is as it was."]);
    let failed = agent.events.iter().find(|it| matches!(it, AgentEvent::ResponseDropped { .. }));
    assert_eq!(failed, None);
}

/// As after any other stop, so that queued messages wait.
#[tokio::test(flavor = "multi_thread")]
async fn escape_in_an_automatic_compaction_stops_the_turn() {
    let model = WindowedModel::new(9_000, step_by_step);
    model.summarise(None);
    let fixture = with_files(&model);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn(TASK).await;
    let compacting = |event: &AgentEvent| matches!(event, AgentEvent::CompactionProgress { .. });
    for number in 1.. {
        assert!(number < 60, "nothing was compacted");
        agent.send(&format!("Step {number}: go on.")).await;
        let next = |event: &AgentEvent| compacting(event) || turn_end(event).is_some();
        if compacting(&agent.wait_for("the end of a turn", next).await) {
            break;
        }
    }
    let before = agent.conversation().messages;
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    assert_told_as_stopped(&agent);
    assert_eq!(agent.conversation().messages, before);
    agent.close().await;
}

/// A message that is sent before the front end knows of the turn waits for its end.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_right_behind_compact_waits_for_it() {
    let model = WindowedModel::new(64_000, step_by_step);
    let fixture = with_files(&model);
    let mut agent = with_rounds(&fixture, 10).await;
    agent.tell(AgentCommand::Compact { focus: None }).await;
    agent.send("Step 10: go on.").await;
    agent.wait_for_turn_end().await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(compactions(&agent).len(), 1);
    assert!(last_text(&model.requests()[model.requests().len() - 2]).ends_with("Step 10: go on."));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_that_is_too_small_is_said_with_numbers() {
    let model = WindowedModel::new(4_096, step_by_step);
    let fixture = fixture(&model);
    let mut agent = fixture.open(InitialSession::New).await;
    let TurnOutcome::Failed(reason) = agent.turn(&"word ".repeat(4_000)).await else {
        panic!("{:?}", agent.notices())
    };
    assert!(
        reason.starts_with("The context window of test-model is too small: it has 4"),
        "{reason}"
    );
    assert!(reason.contains("your messages ~") && reason.contains("the tools ~"), "{reason}");
    assert!(reason.contains("take your last message (~"), "{reason}");
    assert!(reason.contains("start the server with a larger context"), "{reason}");
    assert!(model.requests().is_empty(), "nothing was sent in vain");
    agent.close().await;
}

/// A request that leaves the answer less than a third of the window goes out with a lower limit.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_fits_is_sent_with_less_room_for_the_answer() {
    let model = WindowedModel::new(16_384, |_| words("Yes."));
    let fixture = fixture(&model);
    let mut agent = fixture.open(InitialSession::New).await;
    assert_eq!(agent.turn("Hello.").await, TurnOutcome::Answered);
    let ordinary = model.requests()[0].max_tokens.unwrap();
    let fixed = count_tokens(&model.requests()[0]);
    // The same words as those from which the estimate was learned.
    let tools = model.requests()[0].tools.clone();
    let described = tools.iter().map(|tool| tool.description.replace('"', " "));
    let words = described.collect::<Vec<_>>().concat().replace('\n', " ");
    let bytes = usize::try_from(16_384 - 2_500 - fixed).unwrap() * 3;
    let long: String = words.chars().filter(char::is_ascii).cycle().take(bytes).collect();
    assert_eq!(agent.turn(&long).await, TurnOutcome::Answered, "{:?}", agent.notices());
    let lowered = model.requests().pop().unwrap().max_tokens.unwrap();
    assert!((1_000..3_000).contains(&lowered) && lowered < ordinary, "{lowered} of {ordinary}");
    assert_eq!(model.refused(), 0);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_too_large_is_not_sent_with_a_later_message_either() {
    let model = WindowedModel::new(8_192, step_by_step);
    let fixture = fixture(&model);
    let mut agent = fixture.open(InitialSession::New).await;
    for text in [&"word ".repeat(9_000), "And now?", "Still?"] {
        let outcome = agent.turn(text).await;
        let TurnOutcome::Failed(reason) = outcome else { panic!("{outcome:?}") };
        assert!(reason.contains("is too small"), "{reason}");
    }
    assert!(model.requests().is_empty() && model.refused() == 0, "nothing was sent in vain");
    agent.close().await;
}

/// A hook that forbids every compaction must not have slug ask it for ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_keeps_what_cannot_be_sent_ends_the_turn() {
    let model = WindowedModel::new(8_192, step_by_step);
    let fixture = fixture(&model);
    let hook = json!({"event": "PreCompact", "action": {"type": "command", "command": "keep"}});
    let hooks = json!({"hooks": [hook]}).to_string();
    std::fs::write(fixture.home.join("hooks.json"), hooks).unwrap();
    fixture.hooks.set("keep", 2, "", "not now");
    let mut agent = fixture.open(InitialSession::New).await;
    let outcome = agent.turn(&"word ".repeat(9_000)).await;
    let TurnOutcome::Failed(reason) = outcome else { panic!("{outcome:?}") };
    assert!(reason.contains("is too small"), "{reason}");
    agent.close().await;
}

/// What is no summary, twice in a row: slug makes the note, and nothing runs.
#[tokio::test(flavor = "multi_thread")]
async fn text_that_is_no_summary_never_takes_the_place_of_the_conversation() {
    let model = WindowedModel::new(64_000, step_by_step);
    let fixture = with_files(&model);
    let mut agent = with_rounds(&fixture, 10).await;
    agent.tell(AgentCommand::Compact { focus: None }).await;
    agent.wait_for_turn_end().await;
    let asked = model.summaries().pop().unwrap();
    let notes = asked.messages.last().unwrap().content.iter();
    let instruction = notes.filter_map(ContentBlock::as_context).next_back().unwrap().1.to_owned();
    let call =
        json!({"name": "Write", "arguments": {"file_path": "w", "content": "x".repeat(300)}});
    for text in [instruction, call.to_string(), "I go on. ".repeat(1_000)] {
        agent.tell(AgentCommand::UndoCompaction).await;
        model.summarise(Some(words(&text)));
        agent.tell(AgentCommand::Compact { focus: None }).await;
        agent.wait_for_turn_end().await;
        let note = compactions(&agent).pop().unwrap().note.unwrap();
        assert_eq!(note.model, None, "{}", note.text);
        assert!(note.text.contains(TASK), "{}", note.text);
        assert_eq!(fixture.read("w"), "");
    }
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_summary_has_an_output_limit_of_its_own_and_its_progress_is_told() {
    let model = WindowedModel::new(64_000, step_by_step);
    let fixture = with_files(&model);
    let mut agent = with_rounds(&fixture, 10).await;
    agent.tell(AgentCommand::Compact { focus: None }).await;
    let told = |written: std::ops::RangeInclusive<u64>| move |event: &AgentEvent| matches!(event, AgentEvent::CompactionProgress { written: it, .. } if written.contains(it));
    agent.wait_for("the beginning", told(0..=0)).await;
    agent.wait_for("more of it", told(1..=30)).await;
    let all = SUMMARY.len() as u64;
    agent.wait_for("all of it", told(all..=all)).await;
    agent.wait_for_turn_end().await;
    let ordinary = model.requests().pop().unwrap().max_tokens.unwrap();
    let cap = model.summaries().pop().unwrap().max_tokens.unwrap();
    assert!(cap <= 5_000 && cap < ordinary, "{cap} of {ordinary}");
    agent.close().await;
}

/// A model that thinks is not kept from a summary by the limit for one.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_used_its_limit_up_in_thinking_gets_the_ordinary_one() {
    let model = WindowedModel::new(64_000, step_by_step);
    let fixture = with_files(&model);
    let mut agent = with_rounds(&fixture, 10).await;
    model.summarise(Some(vec![
        ScriptedEvent::Event(StreamEvent::Thinking("Well, what was there".into())),
        finish_event(StopReason::MaxTokens),
    ]));
    agent.tell(AgentCommand::Compact { focus: None }).await;
    agent.wait_for_turn_end().await;
    let ordinary = model.requests().pop().unwrap().max_tokens;
    let limits: Vec<Option<u32>> = model.summaries().iter().map(|it| it.max_tokens).collect();
    assert!(limits.len() == 2 && limits[0] < limits[1] && limits[1] == ordinary, "{limits:?}");
    agent.close().await;
}

/// Servers that name no window refuse, and from then on less is sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_window_that_nobody_names_is_learned_from_refusals() {
    let model = WindowedModel::silent(9_000, step_by_step);
    let fixture = with_files(&model);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn(TASK).await;
    for number in 1..60 {
        let outcome = agent.turn(&format!("Step {number}: go on.")).await;
        assert_eq!(outcome, TurnOutcome::Answered, "{:?}", agent.notices());
    }
    assert!((1..4).contains(&model.refused()), "{} refusals", model.refused());
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_keeps_the_conversation_also_from_the_automatic_compaction() {
    let model = WindowedModel::new(9_000, step_by_step);
    let fixture = with_files(&model);
    let hook = json!({"event": "PreCompact", "action": {"type": "command", "command": "keep"}});
    let hooks = json!({"hooks": [hook]}).to_string();
    std::fs::write(fixture.home.join("hooks.json"), hooks).unwrap();
    fixture.hooks.set("keep", 2, "", "not now");
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn(TASK).await;
    let mut number = 1;
    while fixture.hooks.inputs().is_empty() {
        assert!(number < 30, "no hook was asked");
        agent.turn(&format!("Step {number}: go on.")).await;
        number += 1;
    }
    assert_eq!(fixture.hooks.inputs()[0].1["trigger"], "auto");
    assert!(compactions(&agent).is_empty() && model.summaries().is_empty());
    assert!(agent.notices().iter().any(|it| it.ends_with("let this happen: not now")));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_is_larger_than_the_window_is_cut() {
    let model = WindowedModel::new(12_000, |request| match request.messages.last() {
        Some(last) if last.answers().count() > 0 => words("Read."),
        Some(_) | None => calls(&[("c1", "Read", json!({"file_path": "long"}))]),
    });
    let fixture = fixture(&model);
    fixture.put("long", &"a line of some length in a long file\n".repeat(1_500));
    let mut agent = fixture.open(InitialSession::New).await;
    assert_eq!(agent.turn(TASK).await, TurnOutcome::Answered, "{:?}", agent.notices());
    assert_eq!(model.refused(), 0);
    let sent = whole_text(&model.requests().pop().unwrap().messages);
    assert!(sent.contains("characters left out here"), "{}", sent.len());
    agent.close().await;
}
