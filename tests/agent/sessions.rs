//! Sessions that go on: resumed, forked, and after a kill at any point.

use serde_json::{Value, json};
use slug_code::agent::{AgentCommand, AgentEvent, ForkPosition, InitialSession};
use slug_code::domain::{EntryId, Message, PermissionMode, SessionId};
use slug_code::session::{LogEntry, TurnOutcome};

use super::fakes::{calls, words};
use super::prefix;
use super::support::model_server::{ModelServer, ServerReply};
use super::test_agent::{AgentFixture, TestAgent, bytes, queue_replies};

fn bash(id: &'static str, command: &str) -> (&'static str, &'static str, Value) {
    (id, "Bash", json!({"command": command}))
}

/// A session of two turns with calls.
async fn two_turns(scene: &AgentFixture) -> TestAgent {
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(scene, [calls(&[bash("c1", "one"), bash("c2", "two")]), words("first answer")]);
    assert_eq!(rig.turn("first").await, TurnOutcome::Answered);
    queue_replies(scene, [calls(&[bash("c3", "three")]), words("second answer")]);
    assert_eq!(rig.turn("second").await, TurnOutcome::Answered);
    rig
}

/// What is sent before the newest message.
fn history(scene: &AgentFixture) -> Vec<Message> {
    let mut messages = scene.model.last_request().messages;
    messages.pop();
    messages
}

fn entry_of(rig: &TestAgent, text: &str) -> EntryId {
    let is_it = |entry: &LogEntry| match entry {
        LogEntry::Message(said) => said.message().text() == text,
        _ => false,
    };
    rig.records().iter().find(|record| is_it(&record.entry)).unwrap().id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_session_sends_the_same_bytes() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = two_turns(&scene).await;
    let session = rig.id();
    queue_replies(&scene, [words("third answer")]);
    rig.turn("third").await;
    let before = history(&scene);
    rig.close().await;

    let mut rig = scene.open(InitialSession::Resume(session)).await;
    queue_replies(&scene, [words("fourth answer")]);
    rig.turn("fourth").await;
    let after = history(&scene);
    assert_eq!(bytes(&after[..before.len()]), bytes(&before));
    assert_eq!(after.len(), before.len() + 2);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_goes_up_to_its_entry_and_leaves_the_rest_alone() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = two_turns(&scene).await;
    let (session, before) = (rig.id(), rig.records());
    let at = ForkPosition::After(entry_of(&rig, "first answer"));
    rig.tell(AgentCommand::Fork { session, at }).await;
    let forked = AgentEvent::Forked { from: session, at, message: None };
    rig.wait_for("fork", |event| *event == forked).await;
    let fork = rig.id();
    assert_ne!(fork, session);
    queue_replies(&scene, [words("another second answer")]);
    rig.turn("another second").await;
    let said: Vec<String> = scene.model.last_request().messages.iter().map(Message::text).collect();
    assert_eq!(said, ["first", "", "", "first answer", "another second"]);
    assert_eq!(scene.store.read(session).unwrap().records, before);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_before_a_message_gives_its_words_back() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = two_turns(&scene).await;
    let (session, records) = (rig.id(), rig.records());
    let fork = async |rig: &mut TestAgent, words: &str| {
        let at = ForkPosition::Before(entry_of(rig, words));
        rig.tell(AgentCommand::Fork { session, at }).await;
        let forked = AgentEvent::Forked { from: session, at, message: Some(words.into()) };
        rig.wait_for("fork", |event| *event == forked).await;
        assert_ne!(rig.id(), session);
    };
    fork(&mut rig, "second").await;
    queue_replies(&scene, [words("another second answer")]);
    rig.turn("the second, said otherwise").await;
    let said: Vec<String> = scene.model.last_request().messages.iter().map(Message::text).collect();
    assert_eq!(said, ["first", "", "", "first answer", "the second, said otherwise"]);
    rig.tell(AgentCommand::Resume { session }).await;
    rig.wait_for("session", |event| matches!(event, AgentEvent::SessionOpened { .. })).await;
    fork(&mut rig, "first").await;
    queue_replies(&scene, [words("another first answer")]);
    rig.turn("all of it otherwise").await;
    assert_eq!(scene.model.last_request().messages.len(), 1, "nothing stood before it");
    assert_eq!(scene.store.read(session).unwrap().records, records);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_session_begins_with_nothing() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = two_turns(&scene).await;
    let old = rig.id();
    rig.tell(AgentCommand::NewSession).await;
    rig.wait_for("session", |event| matches!(event, AgentEvent::SessionOpened { .. })).await;
    assert_ne!(rig.id(), old);
    queue_replies(&scene, [words("hi")]);
    rig.turn("hello").await;
    assert_eq!(scene.model.last_request().messages.len(), 1);
    rig.tell(AgentCommand::Resume { session: old }).await;
    rig.wait_for("session", |event| matches!(event, AgentEvent::SessionOpened { .. })).await;
    assert_eq!(rig.id(), old);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_power_comes_back_with_a_session() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [words("hi")]);
    rig.turn("hello").await;
    rig.tell(AgentCommand::SetMode(PermissionMode::Yolo)).await;
    rig.wait_for("mode", |event| *event == AgentEvent::ModeChanged(PermissionMode::Yolo)).await;
    let session = rig.id();
    rig.close().await;
    let mut rig = scene.open(InitialSession::Resume(session)).await;
    queue_replies(&scene, [calls(&[bash("c1", "touch x")])]);
    rig.send("go").await;
    rig.next_approval().await;
    rig.stop().await;
    rig.close().await;
}

/// R9: the log as a kill may leave it, cut behind any byte of its last turn and behind each line.
#[tokio::test(flavor = "multi_thread")]
async fn r9_after_a_kill_at_any_point_a_strict_server_takes_the_history() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let rig = two_turns(&scene).await;
    let session = rig.id();
    rig.close().await;
    let log = scene.home.join(format!("sessions/{session}.jsonl"));
    let whole = std::fs::read(&log).unwrap();
    let ends: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] == b'\n').collect();
    let mut cuts: Vec<usize> = ends.iter().flat_map(|end| [*end, end + 1]).skip(2).collect();
    cuts.extend(ends.windows(2).map(|line| line[0] + (line[1] - line[0]) / 2));
    for cut in cuts {
        std::fs::write(&log, &whole[..cut]).unwrap();
        goes_on_after_kill(&scene, session, cut).await;
    }
}

async fn goes_on_after_kill(scene: &AgentFixture, session: SessionId, cut: usize) {
    let server = ModelServer::start();
    let provider = prefix::chat(&server);
    let scene = AgentFixture {
        provider: Some(provider),
        ..AgentFixture {
            work: scene.work.clone(),
            home: scene.home.clone(),
            store: scene.store.clone(),
            ..AgentFixture::new()
        }
    };
    let mut rig = scene.open(InitialSession::Resume(session)).await;
    server.reply(ServerReply::text("here again"));
    assert_eq!(rig.turn("go on").await, TurnOutcome::Answered, "cut at {cut}");
    server.assert_clean();
    rig.close().await;
}

/// The records of a session as it was told when it was opened: the end first, then the rest.
async fn told(rig: &mut TestAgent) -> (usize, Vec<slug_code::session::LogRecord>) {
    let opened = rig.events.iter().find_map(|event| match event {
        AgentEvent::SessionOpened { records, .. } => Some(records.to_vec()),
        _ => None,
    });
    let end = opened.unwrap();
    let is_read = |event: &AgentEvent| matches!(event, AgentEvent::SessionRead { .. });
    match rig.wait_for("all of it", is_read).await {
        AgentEvent::SessionRead { earlier, .. } => (end.len(), [earlier.to_vec(), end].concat()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_long_session_is_told_before_all_of_it_is_read() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    for answer in ["x".repeat(5 << 20), "second".into(), "third".into()] {
        queue_replies(&scene, [words(&answer)]);
        rig.turn("go on").await;
    }
    let (session, records) = (rig.id(), rig.records());
    rig.close().await;

    let mut rig = scene.open(InitialSession::Resume(session)).await;
    let (end, all) = told(&mut rig).await;
    assert!(end < records.len() / 2 + 2, "{end} of {}", records.len());
    assert_eq!(all, records);
    queue_replies(&scene, [words("fourth")]);
    assert_eq!(rig.turn("go on").await, TurnOutcome::Answered);
    rig.close().await;
}
