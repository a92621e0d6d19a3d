//! What is known of a hosted model: its cost on record, and what a request heeds.

use slug_code::agent::{AgentCommand, AgentEvent, InitialSession, Interactivity};
use slug_code::domain::{
    ApprovalAnswer, ApprovalKind, Attachment, ContentBlock, ContextWindow, MediaType, MessageImage,
    Money, ReasoningEffort, StopReason, TokenUsage, UserInput,
};
use slug_code::providers::StreamEvent;
use slug_code::session::{LogEntry, SessionSpending, TurnOutcome};

use super::fakes::{ScriptedEvent, ScriptedStream, calls, finish_event, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies};

const USAGE: TokenUsage = TokenUsage { input: 1000, output: 100, cache_read: 400, cache_write: 0 };

/// gpt-5: $1.25 for a million tokens read, $0.125 from the cache, $10 written.
const COST: u64 = 600 * 1250 + 400 * 125 + 100 * 10_000;

fn gpt() -> AgentFixture {
    AgentFixture::hosted("api.openai.com", "gpt-5")
}

fn counted(usage: TokenUsage) -> ScriptedStream {
    let mut reply = words("Well.");
    reply.insert(1, ScriptedEvent::Event(StreamEvent::Usage(usage)));
    reply
}

/// What the front end was told last.
fn told(rig: &TestAgent) -> SessionSpending {
    let told = rig.events.iter().rev().find_map(|event| match event {
        AgentEvent::SpendingChanged(spending) => Some((**spending).clone()),
        _ => None,
    });
    told.expect("nothing was told")
}

#[tokio::test]
async fn a_response_is_on_record_with_its_model_and_cost() {
    let scene = gpt();
    queue_replies(&scene, [counted(USAGE), counted(USAGE)]);
    let mut rig = scene.open(InitialSession::New).await;
    rig.turn("one").await;
    rig.turn("two").await;
    let said = rig.messages();
    let answer = said.last().unwrap();
    assert_eq!(answer.model.as_deref(), Some("gpt-5"));
    assert_eq!(answer.cost, Some(Money::from_nanos(COST)));
    let ends = rig.records().into_iter().filter_map(|record| match record.entry {
        LogEntry::TurnEnd(end) => Some(end.cost),
        _ => None,
    });
    assert_eq!(ends.collect::<Vec<_>>(), [Some(Money::from_nanos(COST)); 2]);
    let total = told(&rig).total();
    assert_eq!((total.cost, total.responses), (Money::from_nanos(2 * COST), 2));
    assert_eq!(told(&rig).by_model()[0].spent.usage.cache_read, 800);
    rig.close().await;
}

#[tokio::test]
async fn a_resumed_session_goes_on_with_its_sum_and_a_fork_begins_at_nothing() {
    let scene = gpt();
    queue_replies(&scene, [counted(USAGE), counted(USAGE), counted(USAGE)]);
    let mut rig = scene.open(InitialSession::New).await;
    rig.turn("one").await;
    let id = rig.id();
    rig.close().await;
    let mut rig = scene.open(InitialSession::Resume(id)).await;
    rig.turn("two").await;
    assert_eq!(told(&rig).total().cost, Money::from_nanos(2 * COST));
    rig.close().await;
    let mut rig = scene.open(InitialSession::Fork(id)).await;
    rig.turn("three").await;
    let spending = told(&rig);
    assert_eq!(spending.total().cost, Money::from_nanos(COST));
    assert_eq!(spending.taken_over().cost, Money::from_nanos(2 * COST));
    assert_eq!(rig.conversation().spending, spending);
    rig.close().await;
}

#[tokio::test]
async fn a_server_on_this_machine_has_no_price() {
    let mut scene = AgentFixture::new();
    scene.model_name = Some("gpt-5");
    queue_replies(&scene, [counted(USAGE)]);
    let mut rig = scene.open(InitialSession::New).await;
    rig.turn("one").await;
    let total = told(&rig).total();
    assert_eq!((total.known_cost(), total.unpriced, total.usage), (None, 1, USAGE));
    rig.close().await;
}

#[tokio::test]
async fn what_nobody_counted_has_no_cost() {
    let scene = gpt();
    queue_replies(&scene, [words("Well.")]);
    let mut rig = scene.open(InitialSession::New).await;
    rig.turn("one").await;
    assert_eq!(told(&rig).total().known_cost(), None);
    rig.close().await;
}

#[tokio::test]
async fn the_catalogue_says_the_window_where_the_server_does_not() {
    for (host, model, expected) in [
        ("api.openai.com", "gpt-4", ContextWindow::Known(8192)),
        ("gateway.example.com", "openai/gpt-4", ContextWindow::Known(8192)),
        ("gateway.example.com", "my-own", ContextWindow::Assumed(100_000)),
    ] {
        let scene = AgentFixture::hosted(host, model);
        let mut rig = scene.open(InitialSession::New).await;
        let changed = |event: &AgentEvent| match event {
            AgentEvent::ModelChanged { window, .. } => Some(*window),
            _ => None,
        };
        // Told before the session is open.
        let window = rig.events.iter().find_map(changed);
        assert_eq!(window, Some(expected), "{model} at {host}");
        queue_replies(&scene, [words("Well.")]);
        rig.turn("one").await;
        rig.close().await;
    }
}

#[tokio::test]
async fn effort_goes_by_what_the_model_knows() {
    for (model, effort) in [("gpt-4", None), ("gpt-5", Some(ReasoningEffort::High))] {
        let scene = AgentFixture::hosted("api.openai.com", model);
        let mut rig = scene.open(InitialSession::New).await;
        rig.tell(AgentCommand::SetEffort(Some(ReasoningEffort::Max))).await;
        queue_replies(&scene, [words("Well.")]);
        rig.turn("one").await;
        let request = scene.model.last_request();
        assert_eq!(request.effort, effort, "{model}");
        rig.close().await;
    }
}

#[tokio::test]
async fn no_image_goes_to_a_model_that_takes_none() {
    for (model, images) in [("gpt-4", 0), ("gpt-5", 1)] {
        let scene = AgentFixture::hosted("api.openai.com", model);
        let mut rig = scene.open(InitialSession::New).await;
        let bytes: &[u8] = b"an image";
        scene.store.blobs().put(bytes).unwrap();
        let image = MessageImage::new("shot.png", MediaType::Png, (3, 2), bytes);
        let label = "[Image 1]".to_owned();
        let text = UserInput { text: label.clone(), images: vec![Attachment { label, image }] };
        scene.model.reply(vec![finish_event(StopReason::EndTurn)]);
        rig.tell(AgentCommand::Send { text }).await;
        rig.wait_for_turn_end().await;
        let request = scene.model.last_request();
        let sent = request.messages.iter().flat_map(|message| &message.content);
        let sent = sent.filter(|block| matches!(block, ContentBlock::Image(_))).count();
        assert_eq!(sent, images, "{model}");
        rig.close().await;
    }
}

/// Two requests with this budget, each of which reads 1,000 tokens and writes 100.
fn bounded(session: &str) -> AgentFixture {
    let mut scene = gpt();
    scene.budgets.session = session.parse().unwrap();
    let read = [("c1", "Read", serde_json::json!({"file_path": "a.txt"}))];
    for mut reply in [calls(&read), words("Well.")] {
        reply.insert(0, ScriptedEvent::Event(StreamEvent::Usage(USAGE)));
        scene.model.reply(reply);
    }
    scene
}

#[tokio::test]
async fn a_turn_over_its_budget_asks_before_the_next_request() {
    for (answer, outcome, requests) in [
        (ApprovalAnswer::Once, None, 2),
        (ApprovalAnswer::Session { rules: Vec::new() }, None, 2),
        (ApprovalAnswer::Deny { instruction: None }, Some("would be overdrawn"), 1),
    ] {
        let scene = bounded("700 tokens");
        let mut rig = scene.open(InitialSession::New).await;
        rig.send("go").await;
        let question = rig.next_approval().await;
        assert_eq!((question.kind, question.tool.as_str()), (ApprovalKind::Budget, "Budget"));
        assert_eq!(scene.model.requests().len(), 1);
        rig.answer(&question, answer).await;
        match (rig.wait_for_turn_end().await, outcome) {
            (TurnOutcome::Answered, None) => {}
            (TurnOutcome::Budget(reason), Some(words)) => {
                assert!(reason.contains(words) && reason.contains("700 tokens"), "{reason}");
            }
            (ended, expected) => panic!("{ended:?} and not {expected:?}"),
        }
        assert_eq!(scene.model.requests().len(), requests);
        rig.close().await;
    }
}

#[tokio::test]
async fn a_budget_in_money_counts_what_the_next_request_takes_at_least() {
    // The first response costs $0.0018; the second reads 1,100 tokens from the cache at least.
    for (session, asked) in [("0.0018", true), ("0.0019", true), ("0.01", false)] {
        let scene = bounded(session);
        let mut rig = scene.open(InitialSession::New).await;
        rig.send("go").await;
        if asked {
            let question = rig.next_approval().await;
            assert!(question.reason.contains("$0.0018 are spent"), "{}", question.reason);
            rig.answer(&question, ApprovalAnswer::Once).await;
        }
        assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
        assert_eq!(rig.approval_count(), usize::from(asked), "{session}");
        rig.close().await;
    }
}

#[tokio::test]
async fn without_a_person_a_budget_stops_the_turn() {
    let mut scene = bounded("700 tokens");
    scene.interactivity = Interactivity::Headless;
    let mut rig = scene.open(InitialSession::New).await;
    assert!(matches!(rig.turn("go").await, TurnOutcome::Budget(_)));
    assert_eq!(scene.model.requests().len(), 1);
    rig.close().await;
}

#[tokio::test]
async fn a_stop_ends_a_turn_that_waits_for_its_budget() {
    let scene = bounded("700 tokens");
    let mut rig = scene.open(InitialSession::New).await;
    rig.send("go").await;
    let question = rig.next_approval().await;
    assert_eq!(rig.stop().await, TurnOutcome::Interrupted);
    let withdrawn = |event: &AgentEvent| matches!(event, AgentEvent::ApprovalWithdrawn(id) if *id == question.id);
    assert!(rig.events.iter().any(withdrawn));
    rig.close().await;
}

#[tokio::test]
async fn a_model_without_a_price_is_told_once_and_goes_on() {
    let mut scene = bounded("0.0000001");
    scene.model_name = Some("my-own");
    let mut rig = scene.open(InitialSession::New).await;
    assert_eq!(rig.turn("go").await, TurnOutcome::Answered);
    let told = rig.notices().iter().filter(|text| text.contains("No price is known")).count();
    assert_eq!((told, rig.approval_count()), (1, 0));
    rig.close().await;
}
