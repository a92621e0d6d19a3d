//! What the catalogue knows about a hosted model: its price, budgets, and the limits of a request.

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

/// The cost of [`USAGE`] with gpt-5, in billionths of a dollar: $1.25 for a million tokens read,
/// $0.125 from the cache, $10 written.
const COST: u64 = 600 * 1250 + 400 * 125 + 100 * 10_000;

fn gpt() -> AgentFixture {
    AgentFixture::hosted("api.openai.com", "gpt-5")
}

fn counted(usage: TokenUsage) -> ScriptedStream {
    let mut reply = words("Well.");
    reply.insert(1, ScriptedEvent::Event(StreamEvent::Usage(usage)));
    reply
}

/// The spending that the front end was told last.
fn last_spending(agent: &TestAgent) -> SessionSpending {
    let spending = agent.events.iter().rev().find_map(|event| match event {
        AgentEvent::SpendingChanged(spending) => Some((**spending).clone()),
        _ => None,
    });
    spending.expect("nothing was told")
}

#[tokio::test]
async fn a_response_is_on_record_with_its_model_and_cost() {
    let fixture = gpt();
    queue_replies(&fixture, [counted(USAGE), counted(USAGE)]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn("one").await;
    agent.turn("two").await;
    let messages = agent.messages();
    let answer = messages.last().unwrap();
    assert_eq!(answer.model.as_deref(), Some("gpt-5"));
    assert_eq!(answer.cost, Some(Money::from_nanos(COST)));
    let ends = agent.records().into_iter().filter_map(|record| match record.entry {
        LogEntry::TurnEnd(end) => Some(end.cost),
        _ => None,
    });
    assert_eq!(ends.collect::<Vec<_>>(), [Some(Money::from_nanos(COST)); 2]);
    let total = last_spending(&agent).total();
    assert_eq!((total.cost, total.responses), (Money::from_nanos(2 * COST), 2));
    assert_eq!(last_spending(&agent).by_model()[0].spent.usage.cache_read, 800);
    agent.close().await;
}

#[tokio::test]
async fn a_resumed_session_goes_on_with_its_sum_and_a_fork_begins_at_nothing() {
    let fixture = gpt();
    queue_replies(&fixture, [counted(USAGE), counted(USAGE), counted(USAGE)]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn("one").await;
    let id = agent.id();
    agent.close().await;
    let mut agent = fixture.open(InitialSession::Resume(id)).await;
    agent.turn("two").await;
    assert_eq!(last_spending(&agent).total().cost, Money::from_nanos(2 * COST));
    agent.close().await;
    let mut agent = fixture.open(InitialSession::Fork(id)).await;
    agent.turn("three").await;
    let spending = last_spending(&agent);
    assert_eq!(spending.total().cost, Money::from_nanos(COST));
    assert_eq!(spending.taken_over().cost, Money::from_nanos(2 * COST));
    assert_eq!(agent.conversation().spending, spending);
    agent.close().await;
}

#[tokio::test]
async fn a_server_on_this_machine_has_no_price() {
    let mut fixture = AgentFixture::new();
    fixture.model_name = Some("gpt-5");
    queue_replies(&fixture, [counted(USAGE)]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn("one").await;
    let total = last_spending(&agent).total();
    assert_eq!((total.known_cost(), total.unpriced, total.usage), (None, 1, USAGE));
    agent.close().await;
}

#[tokio::test]
async fn a_response_without_usage_has_no_cost() {
    let fixture = gpt();
    queue_replies(&fixture, [words("Well.")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn("one").await;
    assert_eq!(last_spending(&agent).total().known_cost(), None);
    agent.close().await;
}

#[tokio::test]
async fn the_catalogue_says_the_window_where_the_server_does_not() {
    for (host, model, expected) in [
        ("api.openai.com", "gpt-4", ContextWindow::Known(8192)),
        ("gateway.example.com", "openai/gpt-4", ContextWindow::Known(8192)),
        ("gateway.example.com", "my-own", ContextWindow::Assumed(100_000)),
    ] {
        let fixture = AgentFixture::hosted(host, model);
        let mut agent = fixture.open(InitialSession::New).await;
        let changed = |event: &AgentEvent| match event {
            AgentEvent::ModelChanged { window, .. } => Some(*window),
            _ => None,
        };
        // The model is told before the session is open.
        let window = agent.events.iter().find_map(changed);
        assert_eq!(window, Some(expected), "{model} at {host}");
        queue_replies(&fixture, [words("Well.")]);
        agent.turn("one").await;
        agent.close().await;
    }
}

#[tokio::test]
async fn the_effort_is_one_that_the_model_knows() {
    for (model, effort) in [("gpt-4", None), ("gpt-5", Some(ReasoningEffort::High))] {
        let fixture = AgentFixture::hosted("api.openai.com", model);
        let mut agent = fixture.open(InitialSession::New).await;
        agent.tell(AgentCommand::SetEffort(Some(ReasoningEffort::Max))).await;
        queue_replies(&fixture, [words("Well.")]);
        agent.turn("one").await;
        let request = fixture.model.last_request();
        assert_eq!(request.effort, effort, "{model}");
        agent.close().await;
    }
}

#[tokio::test]
async fn no_image_goes_to_a_model_that_takes_none() {
    for (model, images) in [("gpt-4", 0), ("gpt-5", 1)] {
        let fixture = AgentFixture::hosted("api.openai.com", model);
        let mut agent = fixture.open(InitialSession::New).await;
        let bytes: &[u8] = b"an image";
        fixture.store.blobs().put(bytes).unwrap();
        let image = MessageImage::new("shot.png", MediaType::Png, (3, 2), bytes);
        let label = "[Image 1]".to_owned();
        let text = UserInput { text: label.clone(), images: vec![Attachment { label, image }] };
        fixture.model.reply(vec![finish_event(StopReason::EndTurn)]);
        agent.tell(AgentCommand::Send { text }).await;
        agent.wait_for_turn_end().await;
        let request = fixture.model.last_request();
        let sent = request.messages.iter().flat_map(|message| &message.content);
        let sent = sent.filter(|block| matches!(block, ContentBlock::Image(_))).count();
        assert_eq!(sent, images, "{model}");
        agent.close().await;
    }
}

/// A session with this budget and two requests, each of which reads 1,000 tokens and writes 100.
fn bounded(session: &str) -> AgentFixture {
    let mut fixture = gpt();
    fixture.budgets.session = session.parse().unwrap();
    let read = [("c1", "Read", serde_json::json!({"file_path": "a.txt"}))];
    for mut reply in [calls(&read), words("Well.")] {
        reply.insert(0, ScriptedEvent::Event(StreamEvent::Usage(USAGE)));
        fixture.model.reply(reply);
    }
    fixture
}

#[tokio::test]
async fn a_turn_over_its_budget_asks_before_the_next_request() {
    for (answer, outcome, requests) in [
        (ApprovalAnswer::Once, None, 2),
        (ApprovalAnswer::Session { rules: Vec::new() }, None, 2),
        (ApprovalAnswer::Deny { instruction: None }, Some("would be exceeded"), 1),
    ] {
        let fixture = bounded("700 tokens");
        let mut agent = fixture.open(InitialSession::New).await;
        agent.send("go").await;
        let question = agent.next_approval().await;
        assert_eq!((question.kind, question.tool.as_str()), (ApprovalKind::Budget, "Budget"));
        assert_eq!(fixture.model.requests().len(), 1);
        agent.answer(&question, answer).await;
        match (agent.wait_for_turn_end().await, outcome) {
            (TurnOutcome::Answered, None) => {}
            (TurnOutcome::Budget(reason), Some(words)) => {
                assert!(reason.contains(words) && reason.contains("700 tokens"), "{reason}");
            }
            (ended, expected) => panic!("{ended:?} and not {expected:?}"),
        }
        assert_eq!(fixture.model.requests().len(), requests);
        agent.close().await;
    }
}

#[tokio::test]
async fn a_budget_in_money_counts_what_the_next_request_takes_at_least() {
    // The first response costs $0.0018; the second reads 1,100 tokens from the cache at least.
    for (session, asked) in [("0.0018", true), ("0.0019", true), ("0.01", false)] {
        let fixture = bounded(session);
        let mut agent = fixture.open(InitialSession::New).await;
        agent.send("go").await;
        if asked {
            let question = agent.next_approval().await;
            assert!(question.reason.contains("$0.0018 spent"), "{}", question.reason);
            agent.answer(&question, ApprovalAnswer::Once).await;
        }
        assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
        assert_eq!(agent.approval_count(), usize::from(asked), "{session}");
        agent.close().await;
    }
}

#[tokio::test]
async fn without_a_user_a_budget_stops_the_turn() {
    let mut fixture = bounded("700 tokens");
    fixture.interactivity = Interactivity::Headless;
    let mut agent = fixture.open(InitialSession::New).await;
    assert!(matches!(agent.turn("go").await, TurnOutcome::Budget(_)));
    assert_eq!(fixture.model.requests().len(), 1);
    agent.close().await;
}

#[tokio::test]
async fn a_stop_ends_a_turn_that_waits_for_its_budget() {
    let fixture = bounded("700 tokens");
    let mut agent = fixture.open(InitialSession::New).await;
    agent.send("go").await;
    let question = agent.next_approval().await;
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    let withdrawn = |event: &AgentEvent| matches!(event, AgentEvent::ApprovalWithdrawn(id) if *id == question.id);
    assert!(agent.events.iter().any(withdrawn));
    agent.close().await;
}

#[tokio::test]
async fn a_model_without_a_price_gets_one_warning_and_goes_on() {
    let mut fixture = bounded("0.0000001");
    fixture.model_name = Some("my-own");
    let mut agent = fixture.open(InitialSession::New).await;
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    let warnings =
        agent.notices().iter().filter(|text| text.contains("has no known price")).count();
    assert_eq!((warnings, agent.approval_count()), (1, 0));
    agent.close().await;
}
