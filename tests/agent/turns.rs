//! Turns: steering, limits, failures, and retries.

use std::time::{Duration, Instant};

use serde_json::json;
use slug_code::agent::{AgentCommand, AgentEvent, InitialSession, SteerId};
use slug_code::domain::{MessageRole, PermissionMode, StopReason, ToolStatus};
use slug_code::providers::{ErrorRecovery, RequestOverflow, StreamEvent, ToolChoice};
use slug_code::session::{LogEntry, LogRecord, ModelFailure, TurnOutcome};
use slug_code::tui::app::conversation::block::BlockBody;
use slug_code::tui::app::conversation::transcript::Transcript;

use super::fakes::{ScriptedEvent, bash, calls, failure, finish_event, unfinished_calls, words};
use super::test_agent::{AgentFixture, queue_replies, turn_end};

fn steer(id: u64, text: &str) -> AgentCommand {
    AgentCommand::Steer { id: SteerId(id), text: text.into() }
}

#[tokio::test(flavor = "multi_thread")]
async fn steering_goes_in_after_the_result() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [calls(&[bash("c1", "block")]), words("as you wish")]);
    agent.send("go").await;
    agent.wait_for_tool_start().await;
    agent.tell(steer(1, "the other way")).await;
    agent.tell(steer(2, "no, forget it")).await;
    agent.tell(AgentCommand::WithdrawSteer { id: SteerId(2) }).await;
    let back =
        agent.wait_for("return", |event| matches!(event, AgentEvent::SteerSettled { .. })).await;
    let returned = Some("no, forget it".into());
    assert_eq!(back, AgentEvent::SteerSettled { id: SteerId(2), returned });
    fixture.processes.release();
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let last = fixture.model.last_request().messages.pop().unwrap();
    assert_eq!(last.text(), "the other way");
    assert_eq!(last.answers().count(), 1, "behind the result, in one message");
    let settled = agent
        .events
        .iter()
        .position(|event| *event == AgentEvent::SteerSettled { id: SteerId(1), returned: None });
    let recorded = agent.events.iter().position(|event| match event {
        AgentEvent::Recorded(record) => match &record.entry {
            LogEntry::Message(message) => message.message().text() == "the other way",
            _ => false,
        },
        _ => false,
    });
    assert!(settled.unwrap() < recorded.unwrap(), "first it leaves the queue, then it is said");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn steering_ends_a_wait_and_only_the_wait_that_it_came_in() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    let sleep = |id, seconds: u64| calls(&[(id, "Sleep", json!({"seconds": seconds}))]);
    queue_replies(&fixture, [sleep("c1", 600), sleep("c2", 1), words("as you wish")]);
    agent.send("go").await;
    agent.wait_for_tool_start().await;
    agent.tell(steer(1, "the other way")).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let ended = agent.result("c1").0;
    assert!(ended.starts_with("The user has sent a message, after "), "{ended}");
    assert_eq!(agent.result("c2").0, "1 s have passed.");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_needs_no_answer_of_the_user_and_is_stopped_with_the_turn() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    let sleep = json!({"tool": "Sleep", "input": {"seconds": 600}});
    queue_replies(&fixture, [calls(&[("c1", "Call", sleep)])]);
    agent.send("go").await;
    agent.wait_for_tool_start().await;
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    assert_eq!(agent.result("c1").1, ToolStatus::Cancelled);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn steering_after_the_turn_is_ignored() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [words("one"), words("two")]);
    agent.turn("first").await;
    agent.tell(steer(1, "too late")).await;
    agent.turn("second").await;
    assert_eq!(fixture.model.requests().len(), 2);
    assert!(agent.messages().iter().all(|entry| entry.message().text() != "too late"));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn steering_comes_back_when_the_turn_is_stopped() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [calls(&[bash("c1", "block")])]);
    agent.send("go").await;
    agent.wait_for_tool_start().await;
    agent.tell(steer(1, "the other way")).await;
    agent.tell(AgentCommand::SetMode(PermissionMode::Ask)).await;
    agent.wait_for("mode", |event| matches!(event, AgentEvent::ModeChanged(_))).await;
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    let returned = Some("the other way".into());
    assert!(agent.events.contains(&AgentEvent::SteerSettled { id: SteerId(1), returned }));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rounds_are_limited() {
    let fixture = AgentFixture { rounds: Some(2), ..AgentFixture::in_mode(PermissionMode::Yolo) };
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, ["c1", "c2", "c3"].map(|id| calls(&[bash(id, id)])));
    queue_replies(&fixture, [words("Two are done, one is open.")]);
    assert_eq!(agent.turn("go").await, TurnOutcome::RoundLimit);
    assert_eq!(fixture.processes.log().len(), 4);
    // The summary is asked for with the same beginning of the prompt.
    let requests = fixture.model.requests();
    let [.., before, last] = requests.as_slice() else { panic!("too few requests") };
    assert_eq!((before.tool_choice, last.tool_choice), (ToolChoice::Auto, ToolChoice::None));
    assert_eq!((&before.tools, &before.system), (&last.tools, &last.system));
    assert!(last.messages.starts_with(&before.messages));
    let note = serde_json::to_string(last.messages.last().unwrap()).unwrap();
    assert!(note.contains("what is done, what is open"), "{note}");
    assert_eq!(agent.messages().last().unwrap().message().text(), "Two are done, one is open.");
    assert_eq!(agent.result("c3").1, ToolStatus::Failed);
    queue_replies(&fixture, [words("done")]);
    assert_eq!(agent.turn("go on").await, TurnOutcome::Answered);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn five_rounds_before_the_end_the_model_is_told() {
    let fixture = AgentFixture { rounds: Some(6), ..AgentFixture::in_mode(PermissionMode::Yolo) };
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(
        &fixture,
        [calls(&[bash("c1", "c1")]), calls(&[bash("c2", "c2")]), words("done")],
    );
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    let notes = |at: usize| {
        let sent = serde_json::to_string(&fixture.model.requests()[at].messages).unwrap();
        sent.matches("5 rounds of tool calls are left").count()
    };
    assert_eq!((notes(0), notes(1), notes(2)), (0, 1, 1));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r34_a_passing_failure_leaves_one_clean_history() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    let half = vec![
        ScriptedEvent::Event(StreamEvent::Text("half".into())),
        failure(503, ErrorRecovery::RetryAfter(Duration::ZERO)),
    ];
    queue_replies(&fixture, [half, words("the whole answer")]);
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    let requests = fixture.model.requests();
    assert_eq!(requests[0], requests[1]);
    let texts: Vec<String> = agent.messages().iter().map(|entry| entry.message().text()).collect();
    assert_eq!(texts, ["go", "the whole answer"]);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r25_a_response_that_breaks_off_runs_none_of_its_calls() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = fixture.open(InitialSession::New).await;
    let mut half = unfinished_calls(&[bash("c1", "echo")]);
    half.push(failure(502, ErrorRecovery::RetryAfter(Duration::ZERO)));
    queue_replies(&fixture, [half, calls(&[bash("c1", "echo")]), words("done")]);
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    assert_eq!(fixture.processes.log(), ["begin echo", "end echo"]);
    assert_eq!(agent.result("c1").1, ToolStatus::Done);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permanent_failure_ends_the_turn_and_can_be_retried() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [vec![failure(401, ErrorRecovery::AskUser)], words("now")]);
    assert_eq!(agent.turn("go").await, TurnOutcome::Failed("The server said 401.".into()));
    agent.tell(AgentCommand::Retry).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let requests = fixture.model.requests();
    assert_eq!(requests[0], requests[1]);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_answer_can_be_retried() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    let thought = ScriptedEvent::Event(StreamEvent::Thinking("hm".into()));
    queue_replies(&fixture, [vec![thought, finish_event(StopReason::EndTurn)], words("yes?")]);
    let empty = TurnOutcome::ModelFailed(ModelFailure::EmptyAnswer);
    assert_eq!(agent.turn("go").await, empty);
    let shown = Transcript::from_records(fixture.work.clone(), &agent.records());
    let BlockBody::Notice(notice) = &shown.blocks().last().unwrap().body else {
        panic!("{:?}", shown.blocks().last())
    };
    assert!(notice.text.contains("/retry"), "{}", notice.text);
    agent.tell(AgentCommand::Retry).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let requests = fixture.model.requests();
    assert_eq!(requests[0], requests[1]);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_with_nothing_to_retry_ends_like_a_turn() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    agent.tell(AgentCommand::Retry).await;
    assert!(matches!(agent.wait_for_turn_end().await, TurnOutcome::Failed(_)));
    queue_replies(&fixture, [words("hello")]);
    assert_eq!(agent.turn("hello").await, TurnOutcome::Answered);
    agent.tell(AgentCommand::Retry).await;
    assert!(matches!(agent.wait_for_turn_end().await, TurnOutcome::Failed(_)));
    let turns: Vec<_> =
        agent.events.iter().filter_map(|event| turn_end(event).map(|(turn, _)| turn)).collect();
    assert!(turns.is_sorted_by(|a, b| a < b), "each end is of a turn of its own: {turns:?}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_that_is_too_long_is_made_shorter() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    for number in 0..8 {
        fixture.put(&format!("f{number}"), &"a line of text\n".repeat(40));
        let read = calls(&[("r", "Read", json!({"file_path": format!("f{number}")}))]);
        queue_replies(&fixture, [read, words("read")]);
        agent.turn("read").await;
    }
    queue_replies(
        &fixture,
        [vec![failure(400, ErrorRecovery::Compact(RequestOverflow::default()))], words("fine now")],
    );
    assert_eq!(agent.turn("go on").await, TurnOutcome::Answered);
    let stubs = |messages: &[_]| {
        serde_json::to_string(messages).unwrap().matches("dropped to save").count()
    };
    let requests = fixture.model.requests();
    let [.., before, after] = requests.as_slice() else { panic!("too few requests") };
    assert_eq!((stubs(&before.messages), stubs(&after.messages)), (0, 3));
    assert_eq!(before.messages.len(), after.messages.len());
    // With nothing left to leave out, the turn fails with the server's message.
    queue_replies(
        &fixture,
        (0..3).map(|_| vec![failure(400, ErrorRecovery::Compact(RequestOverflow::default()))]),
    );
    assert_eq!(agent.turn("more").await, TurnOutcome::Failed("The server said 400.".into()));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_message_that_is_sent_is_always_the_users() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [calls(&[bash("c1", "echo")]), words("done"), words("again")]);
    agent.turn("one").await;
    agent.turn("two").await;
    for request in fixture.model.requests() {
        assert_eq!(request.messages.last().unwrap().role, MessageRole::User);
    }
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r25_an_answer_that_keeps_breaking_off_fails_with_what_streamed_last_kept() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = fixture.open(InitialSession::New).await;
    let half = |text: &str| {
        let mut reply = vec![ScriptedEvent::Event(StreamEvent::Text(text.into()))];
        reply.extend(unfinished_calls(&[bash("c1", "echo")]));
        reply
    };
    queue_replies(&fixture, ["first", "second", "third", "last"].map(half));
    let TurnOutcome::Failed(reason) = agent.turn("go").await else { panic!("it did not fail") };
    assert!(reason.contains("before the answer was complete"), "{reason}");
    assert_eq!(fixture.processes.log(), [""; 0]);
    let texts: Vec<String> = agent.messages().iter().map(|entry| entry.message().text()).collect();
    assert_eq!(texts, ["go", "last"]);
    let dropped =
        agent.events.iter().filter(|event| matches!(event, AgentEvent::ResponseDropped { .. }));
    assert_eq!(dropped.count(), 3, "three clean retries");
    agent.close().await;
}

/// A response whose text ran into the output limit.
fn cut(text: &str) -> Vec<ScriptedEvent> {
    let mut reply = words(text);
    reply.pop();
    reply.push(finish_event(StopReason::MaxTokens));
    reply
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_reached_the_limit_goes_on_and_is_one_answer() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [cut("one tw"), cut("o thr"), words("ee")]);
    assert_eq!(agent.turn("count").await, TurnOutcome::Answered);
    let requests = fixture.model.requests();
    let roles: Vec<MessageRole> = requests[2].messages.iter().map(|message| message.role).collect();
    use MessageRole::{Assistant, User};
    assert_eq!(roles, [User, Assistant, User, Assistant, User]);
    for (before, after) in requests.iter().zip(&requests[1..]) {
        assert!(after.messages.starts_with(&before.messages), "what was sent stays");
    }
    assert_eq!(agent.notices(), [""; 0]);
    let records = agent.records();
    let shown = Transcript::from_records(fixture.work.clone(), &records);
    assert_eq!(shown.last_answer(), Some("one two three"));
    assert_eq!(shown.blocks().len(), 2, "the question and one answer");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_three_continuations_the_user_is_told() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, (0..4).map(|_| cut("more ")));
    assert_eq!(agent.turn("count").await, TurnOutcome::Answered);
    assert_eq!(fixture.model.requests().len(), 4);
    let notices = agent.notices();
    assert!(notices.len() == 1 && notices[0].contains("`max_tokens`"), "{notices:?}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_that_only_thought_is_not_sent_back() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    let thought = StreamEvent::Thinking("hm".into());
    queue_replies(
        &fixture,
        [vec![ScriptedEvent::Event(thought), finish_event(StopReason::MaxTokens)], words("Four.")],
    );
    assert_eq!(agent.turn("two and two?").await, TurnOutcome::Answered);
    let last = fixture.model.last_request().messages;
    let [message] = last.as_slice() else { panic!("{last:#?}") };
    assert!(message.text().contains("two and two?"));
    let note = serde_json::to_string(message).unwrap();
    assert!(note.contains("continuation") && note.contains("Think less"), "{note}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fallback_model_answers_for_the_rest_of_the_turn() {
    let fixture =
        AgentFixture { fallback: Some("other"), ..AgentFixture::in_mode(PermissionMode::Yolo) };
    let mut agent = fixture.open(InitialSession::New).await;
    let busy = |status| vec![failure(status, ErrorRecovery::RetryAfter(Duration::ZERO))];
    queue_replies(
        &fixture,
        [busy(529), busy(529), busy(503), calls(&[bash("c1", "echo")]), words("done")],
    );
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    let notices = agent.notices();
    let expected = "slug uses other for the rest of this turn";
    assert!(notices.len() == 1 && notices[0].contains(expected), "{notices:?}");
    queue_replies(&fixture, [words("again")]);
    assert_eq!(agent.turn("and now?").await, TurnOutcome::Answered);
    let asked: Vec<String> = fixture.model.requests().into_iter().map(|it| it.model).collect();
    let first = "test-model";
    assert_eq!(asked, [first, first, first, "other", "other", first]);
    let mut shown: Vec<&str> = agent
        .events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::ModelChanged { model, .. } => Some(model.model.as_str()),
            _ => None,
        })
        .collect();
    // When the server's list comes late, the model is told once more with its window.
    shown.dedup();
    let shown = &shown[shown.iter().position(|name| *name == "other").unwrap()..];
    assert_eq!(shown, ["other", first]);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_fallback_model_the_next_smaller_one_stands_in() {
    let busy = || vec![failure(529, ErrorRecovery::RetryAfter(Duration::ZERO))];
    let (opus, sonnet) = ("claude-opus-5-5", "claude-sonnet-5-5");
    let fixture = AgentFixture::hosted("api.anthropic.com", opus);
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [busy(), busy(), busy(), words("done"), words("again")]);
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    let notices = agent.notices();
    let expected = "slug uses claude-sonnet-5-5 for the rest of this turn";
    assert!(notices.len() == 1 && notices[0].contains(expected), "{notices:?}");
    assert_eq!(agent.turn("and now?").await, TurnOutcome::Answered);
    let asked: Vec<String> = fixture.model.requests().into_iter().map(|it| it.model).collect();
    assert_eq!(asked, [opus, opus, opus, sonnet, opus]);
    agent.close().await;
}

/// As while an editor is open over the screen: nobody takes an event until the turn is over.
#[tokio::test(flavor = "multi_thread")]
async fn a_front_end_that_is_away_stops_no_stream_and_no_tool() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = fixture.open(InitialSession::New).await;
    let long_answer: String = (0..20_000).map(|number| format!("word{number} ")).collect();
    let mut first = words(&long_answer);
    first.pop();
    first.extend(calls(&[bash("c1", "echo hello")]));
    queue_replies(&fixture, [first, words(&long_answer)]);
    let known = agent.events.len();
    agent.send("tell me everything").await;

    let is_over =
        |record: &LogRecord| matches!(record.entry, LogEntry::TurnEnd(_) | LogEntry::Interrupted);
    let began = Instant::now();
    let log = || fixture.store.read(agent.id()).map(|log| log.records);
    while !log().is_ok_and(|records| records.iter().any(is_over)) {
        assert!(began.elapsed() < Duration::from_secs(60), "the turn waits for the front end");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(agent.result("c1").1, ToolStatus::Done);

    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let text = |event: &AgentEvent| match event {
        AgentEvent::Text { text, .. } => Some(text.clone()),
        _ => None,
    };
    let told: String = agent.events.iter().filter_map(text).collect();
    assert_eq!(told, long_answer.repeat(2), "no delta is lost");
    let count = agent.events.len() - known;
    assert!(count < 2_000, "{count} events waited: deltas have to merge");
    agent.close().await;
}
