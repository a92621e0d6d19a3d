//! Several providers in one session: changing between them, and restoring the last choice.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use slug_code::agent::{AgentCommand, AgentEvent, AgentProvider, InitialSession, ModelPin};
use slug_code::domain::{ModelName, NoticeLevel, ReasoningEffort};
use slug_code::providers::{ErrorRecovery, ProviderError};
use slug_code::session::{LastModels, LogEntry, TurnOutcome};

use super::fakes::{FakeModelList, ScriptedProvider, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies};

/// A fixture with a second provider `other`, and that provider.
fn two() -> (AgentFixture, Arc<ScriptedProvider>) {
    let other = Arc::new(ScriptedProvider::new(FakeModelList::Named(vec!["big", "small"])));
    let agent_provider = AgentProvider {
        name: "other".into(),
        provider: other.clone(),
        model: Some("big".into()),
        max_tokens: Some(777),
        window: 100_000,
        effort: None,
    };
    (AgentFixture { others: vec![agent_provider], ..AgentFixture::new() }, other)
}

async fn changes_to(agent: &mut TestAgent, provider: &str, model: &str) -> Option<ReasoningEffort> {
    let name = ModelName::new(provider, model);
    let changed = agent
        .wait_for(
            "change",
            |event| matches!(event, AgentEvent::ModelChanged { model, .. } if *model == name),
        )
        .await;
    let AgentEvent::ModelChanged { effort, .. } = changed else { unreachable!() };
    effort
}

#[tokio::test(flavor = "multi_thread")]
async fn another_provider_answers_from_the_next_message_on() {
    let (fixture, other) = two();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [words("here")]);
    assert_eq!(agent.turn("one").await, TurnOutcome::Answered);
    agent.tell(AgentCommand::SetModel("other/small".into())).await;
    changes_to(&mut agent, "other", "small").await;
    other.reply(words("there"));
    assert_eq!(agent.turn("two").await, TurnOutcome::Answered);
    let request = other.last_request();
    assert_eq!((request.model.as_str(), request.max_tokens), ("small", Some(777)));
    assert_eq!(request.messages.len(), 3);
    agent.tell(AgentCommand::UseModel(ModelName::new("test", "test-model"))).await;
    changes_to(&mut agent, "test", "test-model").await;
    queue_replies(&fixture, [words("here again")]);
    assert_eq!(agent.turn("three").await, TurnOutcome::Answered);
    assert_eq!(fixture.model.last_request().messages.len(), 5);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_not_there_changes_nothing() {
    let (fixture, _) = two();
    let mut agent = fixture.open(InitialSession::New).await;
    agent.tell(AgentCommand::UseModel(ModelName::new("nobody", "big"))).await;
    agent.wait_for("sentence", |event| {
        matches!(event, AgentEvent::Notice { text, .. } if text.contains("no provider `nobody`"))
    })
    .await;
    queue_replies(&fixture, [words("still here")]);
    assert_eq!(agent.turn("hello").await, TurnOutcome::Answered);
    agent.close().await;
}

/// A log may come from elsewhere: it chooses among the user's providers, and names no other.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_names_an_unknown_provider_is_resumed_with_the_current_one() {
    let (mut fixture, other) = two();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [words("here")]);
    agent.turn("one").await;
    agent.tell(AgentCommand::SetModel("other/small".into())).await;
    changes_to(&mut agent, "other", "small").await;
    other.reply(words("there"));
    agent.turn("two").await;
    let session = agent.id();
    agent.close().await;
    fixture.others.clear();
    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    queue_replies(&fixture, [words("here again")]);
    assert_eq!(agent.turn("three").await, TurnOutcome::Answered);
    assert_eq!(fixture.model.last_request().model, "test-model");
    let told = agent.notices().join("\n");
    assert!(told.contains("no provider other") && told.contains("test answers now"), "{told}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_typed_model_that_the_server_does_not_list_is_used_and_told() {
    let models = FakeModelList::Named(vec!["test-model", "qwen3-coder"]);
    let fixture = AgentFixture::with_models(models);
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [words("here"), words("there")]);
    assert_eq!(agent.turn("one").await, TurnOutcome::Answered);
    let is_warning = |event: &AgentEvent| {
        matches!(event, AgentEvent::Notice { level: NoticeLevel::Warning, .. })
    };
    agent.tell(AgentCommand::SetModel("qwen3-codr".into())).await;
    agent.wait_for("warning", is_warning).await;
    agent.tell(AgentCommand::SetModel("qwen3-coder".into())).await;
    changes_to(&mut agent, "test", "qwen3-coder").await;
    assert_eq!(agent.turn("two").await, TurnOutcome::Answered);
    assert_eq!(fixture.model.last_request().model, "qwen3-coder");
    assert_eq!(
        agent.notices(),
        ["The server does not list a model `qwen3-codr`; slug asks for it anyway. Did you mean \
          `qwen3-coder`? /model shows the list."]
    );
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_effort_is_sent_and_logged() {
    let (fixture, _) = two();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [words("quick"), words("slow")]);
    agent.turn("one").await;
    assert_eq!(fixture.model.last_request().effort, None);
    agent.tell(AgentCommand::SetEffort(Some(ReasoningEffort::High))).await;
    agent.turn("two").await;
    assert_eq!(fixture.model.last_request().effort, Some(ReasoningEffort::High));
    let effort = agent.records().into_iter().find_map(|record| match record.entry {
        LogEntry::Model { effort, .. } => Some(effort),
        _ => None,
    });
    assert_eq!(effort, Some(Some(ReasoningEffort::High)));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_on_with_its_own_model_unless_another_was_named() {
    let (fixture, other) = two();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [words("here")]);
    agent.turn("one").await;
    agent.tell(AgentCommand::SetModel("other/small".into())).await;
    agent.tell(AgentCommand::SetEffort(Some(ReasoningEffort::Low))).await;
    changes_to(&mut agent, "other", "small").await;
    other.reply(words("there"));
    agent.turn("two").await;
    let session = agent.id();
    agent.close().await;

    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    assert_eq!(changes_to(&mut agent, "other", "small").await, Some(ReasoningEffort::Low));
    other.reply(words("there again"));
    assert_eq!(agent.turn("three").await, TurnOutcome::Answered);
    agent.close().await;

    let fixture = AgentFixture { model_pin: ModelPin::Explicit, ..fixture };
    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    queue_replies(&fixture, [words("here")]);
    assert_eq!(agent.turn("four").await, TurnOutcome::Answered);
    assert_eq!(fixture.model.last_request().model, "test-model");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_chosen_in_a_folder_is_remembered_there() {
    let (fixture, _) = two();
    let mut agent = fixture.open(InitialSession::New).await;
    agent.tell(AgentCommand::SetModel("other/small".into())).await;
    changes_to(&mut agent, "other", "small").await;
    agent.close().await;
    let last_models = LastModels::load(&fixture.home.join("models.json"));
    let last = last_models.of(&fixture.work).unwrap();
    assert_eq!((&last.name, last.effort), (&ModelName::new("other", "small"), None));
}

/// A fixture whose server lists its models only after this many failures.
fn failing(times: usize, recovery: ErrorRecovery) -> AgentFixture {
    let message = "It is not ready.".to_owned();
    let failure = ProviderError { message, status: Some(503), recovery };
    let failures = Mutex::new(std::iter::repeat_n(failure, times).collect());
    AgentFixture {
        model_name: None,
        ..AgentFixture::with_models(FakeModelList::AfterFailures(failures))
    }
}

/// The numbers of the retries that were announced.
fn tries(agent: &TestAgent) -> Vec<u32> {
    let number = |event: &AgentEvent| match event {
        AgentEvent::ResponseDropped { again, .. } => again.map(|again| again.number),
        _ => None,
    };
    agent.events.iter().filter_map(number).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_list_that_fails_is_retried_like_a_request() {
    let fixture = failing(4, ErrorRecovery::RetryAfter(Duration::from_millis(1)));
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [words("awake")]);
    assert_eq!(agent.turn("hello").await, TurnOutcome::Answered);
    // The first failure may have come before the message.
    let tries = tries(&agent);
    assert!(matches!(tries.as_slice(), [1, 2, 3] | [1, 2, 3, 4]), "{tries:?}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_list_that_fails_for_now_is_requested_again_with_the_next_message() {
    let fixture =
        AgentFixture { model_name: Some("test-model"), ..failing(1, ErrorRecovery::Retry) };
    let mut agent = fixture.open(InitialSession::New).await;
    let is_notice = |event: &AgentEvent| {
        matches!(event, AgentEvent::Notice { level: NoticeLevel::Info, text } if
            text == "It is not ready. slug will retry when you send a message.")
    };
    agent.wait_for("word of it", is_notice).await;
    queue_replies(&fixture, [words("awake")]);
    let before = agent.events.len();
    assert_eq!(agent.turn("hello").await, TurnOutcome::Answered);
    let is_list = |event: &AgentEvent| matches!(event, AgentEvent::ModelChanged { .. });
    // It is taken between two requests, too.
    if !agent.events[before..].iter().any(is_list) {
        agent.wait_for("list", is_list).await;
    }
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_the_wait_for_a_model_list() {
    let fixture = failing(100, ErrorRecovery::RetryAfter(Duration::from_secs(60)));
    let mut agent = fixture.open(InitialSession::New).await;
    agent.send("hello").await;
    agent.wait_for("pause", |event| matches!(event, AgentEvent::ResponseDropped { .. })).await;
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_list_that_would_fail_again_is_not_retried() {
    let fixture = failing(100, ErrorRecovery::AskUser);
    let mut agent = fixture.open(InitialSession::New).await;
    let outcome = TurnOutcome::Failed("It is not ready.".to_owned());
    assert_eq!(agent.turn("hello").await, outcome);
    assert_eq!(tries(&agent), [0; 0]);
    agent.close().await;
}
