//! Several providers in one session: changing between them, and finding the last one again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use slug_code::agent::{AgentCommand, AgentEvent, AgentProvider, InitialSession, ModelPin};
use slug_code::domain::{ModelName, NoticeLevel, ReasoningEffort};
use slug_code::providers::{ErrorRecovery, ProviderError};
use slug_code::session::{LastModels, LogEntry, TurnOutcome};

use super::fakes::{FakeModelList, ScriptedProvider, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies};

/// A scene with a provider `other` beside its own, and that provider.
fn two() -> (AgentFixture, Arc<ScriptedProvider>) {
    let other = Arc::new(ScriptedProvider::new(FakeModelList::Named(vec!["big", "small"])));
    let service = AgentProvider {
        name: "other".into(),
        provider: other.clone(),
        model: Some("big".into()),
        max_tokens: 777,
        window: 100_000,
        effort: None,
    };
    (AgentFixture { others: vec![service], ..AgentFixture::new() }, other)
}

async fn changes_to(rig: &mut TestAgent, provider: &str, model: &str) -> Option<ReasoningEffort> {
    let name = ModelName::new(provider, model);
    let changed = rig
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
    let (scene, other) = two();
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [words("here")]);
    assert_eq!(rig.turn("one").await, TurnOutcome::Answered);
    rig.tell(AgentCommand::SetModel("other/small".into())).await;
    changes_to(&mut rig, "other", "small").await;
    other.reply(words("there"));
    assert_eq!(rig.turn("two").await, TurnOutcome::Answered);
    let request = other.last_request();
    assert_eq!((request.model.as_str(), request.max_tokens), ("small", 777));
    assert_eq!(request.messages.len(), 3);
    rig.tell(AgentCommand::UseModel(ModelName::new("test", "test-model"))).await;
    changes_to(&mut rig, "test", "test-model").await;
    queue_replies(&scene, [words("here again")]);
    assert_eq!(rig.turn("three").await, TurnOutcome::Answered);
    assert_eq!(scene.model.last_request().messages.len(), 5);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_not_there_changes_nothing() {
    let (scene, _) = two();
    let mut rig = scene.open(InitialSession::New).await;
    rig.tell(AgentCommand::UseModel(ModelName::new("nobody", "big"))).await;
    rig.wait_for("sentence", |event| {
        matches!(event, AgentEvent::Notice { text, .. } if text.contains("no provider `nobody`"))
    })
    .await;
    queue_replies(&scene, [words("still here")]);
    assert_eq!(rig.turn("hello").await, TurnOutcome::Answered);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn how_hard_it_thinks_is_sent_and_kept() {
    let (scene, _) = two();
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [words("quick"), words("slow")]);
    rig.turn("one").await;
    assert_eq!(scene.model.last_request().effort, None);
    rig.tell(AgentCommand::SetEffort(Some(ReasoningEffort::High))).await;
    rig.turn("two").await;
    assert_eq!(scene.model.last_request().effort, Some(ReasoningEffort::High));
    let said = rig.records().into_iter().find_map(|record| match record.entry {
        LogEntry::Model { effort, .. } => Some(effort),
        _ => None,
    });
    assert_eq!(said, Some(Some(ReasoningEffort::High)));
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_on_with_its_own_model_unless_another_was_named() {
    let (scene, other) = two();
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [words("here")]);
    rig.turn("one").await;
    rig.tell(AgentCommand::SetModel("other/small".into())).await;
    rig.tell(AgentCommand::SetEffort(Some(ReasoningEffort::Low))).await;
    changes_to(&mut rig, "other", "small").await;
    other.reply(words("there"));
    rig.turn("two").await;
    let session = rig.id();
    rig.close().await;

    let mut rig = scene.open(InitialSession::Resume(session)).await;
    assert_eq!(changes_to(&mut rig, "other", "small").await, Some(ReasoningEffort::Low));
    other.reply(words("there again"));
    assert_eq!(rig.turn("three").await, TurnOutcome::Answered);
    rig.close().await;

    let scene = AgentFixture { model_pin: ModelPin::Explicit, ..scene };
    let mut rig = scene.open(InitialSession::Resume(session)).await;
    queue_replies(&scene, [words("here")]);
    assert_eq!(rig.turn("four").await, TurnOutcome::Answered);
    assert_eq!(scene.model.last_request().model, "test-model");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_chosen_in_a_folder_is_remembered_there() {
    let (scene, _) = two();
    let mut rig = scene.open(InitialSession::New).await;
    rig.tell(AgentCommand::SetModel("other/small".into())).await;
    changes_to(&mut rig, "other", "small").await;
    rig.close().await;
    let kept = LastModels::load(&scene.home.join("models.json"));
    let last = kept.of(&scene.work).unwrap();
    assert_eq!((&last.name, last.effort), (&ModelName::new("other", "small"), None));
}

/// A scene whose server lists its models only after it has failed so often in this way.
fn failing(times: usize, recovery: ErrorRecovery) -> AgentFixture {
    let message = "It is not ready.".to_owned();
    let failure = ProviderError { message, status: Some(503), recovery };
    let failures = Mutex::new(std::iter::repeat_n(failure, times).collect());
    AgentFixture {
        model_name: None,
        ..AgentFixture::with_models(FakeModelList::AfterFailures(failures))
    }
}

/// The tries that were announced.
fn tries(rig: &TestAgent) -> Vec<u32> {
    let number = |event: &AgentEvent| match event {
        AgentEvent::ResponseDropped { again, .. } => again.map(|again| again.number),
        _ => None,
    };
    rig.events.iter().filter_map(number).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_fails_is_waited_for_as_an_answer_is() {
    let scene = failing(4, ErrorRecovery::RetryAfter(Duration::from_millis(1)));
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [words("awake")]);
    assert_eq!(rig.turn("hello").await, TurnOutcome::Answered);
    // The first failure may have come before the message.
    let tries = tries(&rig);
    assert!(matches!(tries.as_slice(), [1, 2, 3] | [1, 2, 3, 4]), "{tries:?}");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_fails_in_passing_is_told_quietly_and_asked_for_with_the_next_message() {
    let scene = AgentFixture { model_name: Some("test-model"), ..failing(1, ErrorRecovery::Retry) };
    let mut rig = scene.open(InitialSession::New).await;
    let told = |event: &AgentEvent| {
        matches!(event, AgentEvent::Notice { level: NoticeLevel::Info, text } if
            text == "It is not ready. slug asks again with your next message.")
    };
    rig.wait_for("word of it", told).await;
    queue_replies(&scene, [words("awake")]);
    assert_eq!(rig.turn("hello").await, TurnOutcome::Answered);
    rig.wait_for("list", |event| matches!(event, AgentEvent::ModelChanged { .. })).await;
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wait_for_a_list_ends_with_the_turn() {
    let scene = failing(100, ErrorRecovery::RetryAfter(Duration::from_secs(60)));
    let mut rig = scene.open(InitialSession::New).await;
    rig.send("hello").await;
    rig.wait_for("pause", |event| matches!(event, AgentEvent::ResponseDropped { .. })).await;
    assert_eq!(rig.stop().await, TurnOutcome::Interrupted);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_would_fail_again_is_not_waited_for() {
    let scene = failing(100, ErrorRecovery::AskUser);
    let mut rig = scene.open(InitialSession::New).await;
    let outcome = TurnOutcome::Failed("It is not ready.".to_owned());
    assert_eq!(rig.turn("hello").await, outcome);
    assert_eq!(tries(&rig), [0; 0]);
    rig.close().await;
}
