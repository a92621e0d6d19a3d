//! Sessions that are continued: resumed, forked, and after a kill at any point.

use serde_json::json;
use slug_code::agent::{AgentCommand, AgentEvent, ForkPosition, InitialSession};
use slug_code::domain::{EntryId, Message, PermissionMode, SessionId, ToolStatus};
use slug_code::session::{LogEntry, TurnOutcome};

use super::fakes::{bash, calls, words};
use super::prefix;
use super::test_agent::{AgentFixture, TestAgent, bytes, queue_replies};
use crate::support::model_server::{ModelServer, ServerReply};

/// A session of two turns with calls.
async fn two_turns(fixture: &AgentFixture) -> TestAgent {
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(fixture, [calls(&[bash("c1", "one"), bash("c2", "two")]), words("first answer")]);
    assert_eq!(agent.turn("first").await, TurnOutcome::Answered);
    queue_replies(fixture, [calls(&[bash("c3", "three")]), words("second answer")]);
    assert_eq!(agent.turn("second").await, TurnOutcome::Answered);
    agent
}

/// The messages of the last request before the newest one.
fn history(fixture: &AgentFixture) -> Vec<Message> {
    let mut messages = fixture.model.last_request().messages;
    messages.pop();
    messages
}

fn entry_of(agent: &TestAgent, text: &str) -> EntryId {
    let is_it = |entry: &LogEntry| match entry {
        LogEntry::Message(message) => message.message().text() == text,
        _ => false,
    };
    agent.records().iter().find(|record| is_it(&record.entry)).unwrap().id
}

#[tokio::test(flavor = "multi_thread")]
async fn saving_says_where_the_session_is() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    let saved = |text: &'static str| move |event: &AgentEvent| matches!(event, AgentEvent::Notice { text: it, .. } if it.contains(text));
    agent.tell(AgentCommand::Save).await;
    agent.wait_for("sentence", saved("starts with its first message")).await;
    queue_replies(&fixture, [words("hello")]);
    agent.turn("hi").await;
    agent.tell(AgentCommand::Save).await;
    agent.wait_for("sentence", saved("Saved in /")).await;
    let notices = agent.notices();
    let path = notices.last().unwrap().rsplit_once(" in ").unwrap().1;
    assert!(std::fs::read_to_string(path).unwrap().contains("hello"), "{path}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_session_sends_the_same_bytes() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = two_turns(&fixture).await;
    let session = agent.id();
    queue_replies(&fixture, [words("third answer")]);
    agent.turn("third").await;
    let before = history(&fixture);
    agent.close().await;

    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    queue_replies(&fixture, [words("fourth answer")]);
    agent.turn("fourth").await;
    let after = history(&fixture);
    assert_eq!(bytes(&after[..before.len()]), bytes(&before));
    assert_eq!(after.len(), before.len() + 2);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_goes_up_to_its_entry_and_leaves_the_rest_alone() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = two_turns(&fixture).await;
    let (session, before) = (agent.id(), agent.records());
    let at = ForkPosition::After(entry_of(&agent, "first answer"));
    agent.tell(AgentCommand::Fork { session, at }).await;
    let forked = AgentEvent::Forked { from: session, at, message: None };
    agent.wait_for("fork", |event| *event == forked).await;
    let fork = agent.id();
    assert_ne!(fork, session);
    queue_replies(&fixture, [words("another second answer")]);
    agent.turn("another second").await;
    let texts: Vec<String> =
        fixture.model.last_request().messages.iter().map(Message::text).collect();
    assert_eq!(texts, ["first", "", "", "first answer", "another second"]);
    assert_eq!(fixture.store.read(session).unwrap().records, before);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_before_a_message_returns_its_text() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = two_turns(&fixture).await;
    let (session, records) = (agent.id(), agent.records());
    let fork = async |agent: &mut TestAgent, words: &str| {
        let at = ForkPosition::Before(entry_of(agent, words));
        agent.tell(AgentCommand::Fork { session, at }).await;
        let forked = AgentEvent::Forked { from: session, at, message: Some(words.into()) };
        agent.wait_for("fork", |event| *event == forked).await;
        assert_ne!(agent.id(), session);
    };
    fork(&mut agent, "second").await;
    queue_replies(&fixture, [words("another second answer")]);
    agent.turn("the second, said otherwise").await;
    let texts: Vec<String> =
        fixture.model.last_request().messages.iter().map(Message::text).collect();
    assert_eq!(texts, ["first", "", "", "first answer", "the second, said otherwise"]);
    agent.tell(AgentCommand::Resume { session }).await;
    agent.wait_for("session", |event| matches!(event, AgentEvent::SessionOpened { .. })).await;
    fork(&mut agent, "first").await;
    queue_replies(&fixture, [words("another first answer")]);
    agent.turn("all of it otherwise").await;
    assert_eq!(fixture.model.last_request().messages.len(), 1, "nothing stood before it");
    assert_eq!(fixture.store.read(session).unwrap().records, records);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_session_begins_with_nothing() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = two_turns(&fixture).await;
    let old = agent.id();
    agent.tell(AgentCommand::NewSession).await;
    agent.wait_for("session", |event| matches!(event, AgentEvent::SessionOpened { .. })).await;
    assert_ne!(agent.id(), old);
    queue_replies(&fixture, [words("hi")]);
    agent.turn("hello").await;
    assert_eq!(fixture.model.last_request().messages.len(), 1);
    agent.tell(AgentCommand::Resume { session: old }).await;
    agent.wait_for("session", |event| matches!(event, AgentEvent::SessionOpened { .. })).await;
    assert_eq!(agent.id(), old);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_session_does_not_restore_its_mode() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [words("hi")]);
    agent.turn("hello").await;
    agent.tell(AgentCommand::SetMode(PermissionMode::Yolo)).await;
    agent.wait_for("mode", |event| *event == AgentEvent::ModeChanged(PermissionMode::Yolo)).await;
    let session = agent.id();
    agent.close().await;
    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    queue_replies(&fixture, [calls(&[bash("c1", "touch x")])]);
    agent.send("go").await;
    agent.next_approval().await;
    agent.stop().await;
    agent.close().await;
}

/// R9: the log as a kill may leave it, cut after each line and in the middle of each line.
#[tokio::test(flavor = "multi_thread")]
async fn r9_after_a_kill_at_any_point_a_strict_server_takes_the_history() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let agent = two_turns(&fixture).await;
    let session = agent.id();
    agent.close().await;
    let log = fixture.home.join(format!("sessions/{session}.jsonl"));
    let whole = std::fs::read(&log).unwrap();
    let ends: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] == b'\n').collect();
    let mut cuts: Vec<usize> = ends.iter().flat_map(|end| [*end, end + 1]).skip(2).collect();
    cuts.extend(ends.windows(2).map(|line| line[0] + (line[1] - line[0]) / 2));
    for cut in cuts {
        std::fs::write(&log, &whole[..cut]).unwrap();
        goes_on_after_kill(&fixture, session, cut).await;
    }
}

async fn goes_on_after_kill(fixture: &AgentFixture, session: SessionId, cut: usize) {
    let server = ModelServer::start();
    let provider = prefix::chat(&server);
    let fixture = AgentFixture {
        provider: Some(provider),
        ..AgentFixture {
            work: fixture.work.clone(),
            home: fixture.home.clone(),
            store: fixture.store.clone(),
            ..AgentFixture::new()
        }
    };
    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    server.reply(ServerReply::text("here again"));
    assert_eq!(agent.turn("go on").await, TurnOutcome::Answered, "cut at {cut}");
    server.assert_clean();
    agent.close().await;
}

/// The records of a session as they were told when it was opened: how many came first, and all.
async fn opened_records(agent: &mut TestAgent) -> (usize, Vec<slug_code::session::LogRecord>) {
    let opened = agent.events.iter().find_map(|event| match event {
        AgentEvent::SessionOpened { records, .. } => Some(records.to_vec()),
        _ => None,
    });
    let end = opened.unwrap();
    let is_read = |event: &AgentEvent| matches!(event, AgentEvent::SessionRead { .. });
    match agent.wait_for("all of it", is_read).await {
        AgentEvent::SessionRead { earlier, .. } => (end.len(), [earlier.to_vec(), end].concat()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_long_session_is_shown_before_all_of_it_is_read() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    let long: String = (0..800_000).map(|number| format!("x{number}")).collect();
    for answer in [long, "second".into(), "third".into()] {
        queue_replies(&fixture, [words(&answer)]);
        agent.turn("go on").await;
    }
    let (session, records) = (agent.id(), agent.records());
    agent.close().await;

    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    let (end, all) = opened_records(&mut agent).await;
    assert!(end < records.len() / 2 + 2, "{end} of {}", records.len());
    assert_eq!(all, records);
    queue_replies(&fixture, [words("fourth")]);
    assert_eq!(agent.turn("go on").await, TurnOutcome::Answered);
    agent.close().await;
}

#[tokio::test]
async fn what_was_read_still_counts_after_a_resume() {
    let fixture = AgentFixture::in_mode(PermissionMode::AllowEdits);
    for name in ["read", "unread", "changed"] {
        fixture.put(name, "old\n");
    }
    let mut agent = fixture.open(InitialSession::New).await;
    let read = |id: &'static str, name: &str| (id, "Read", json!({"file_path": name}));
    let made = ("m1", "Write", json!({"file_path": "made", "content": "old\n"}));
    let replies = [calls(&[read("r1", "read"), read("r2", "changed"), made]), words("seen")];
    queue_replies(&fixture, replies);
    assert_eq!(agent.turn("look").await, TurnOutcome::Answered);
    let id = agent.id();
    agent.close().await;
    fixture.put("changed", "theirs\n");
    let mut agent = fixture.open(InitialSession::Resume(id)).await;
    let write = |id: &'static str, name: &str| {
        (id, "Write", json!({"file_path": name, "content": "new\n"}))
    };
    let writes =
        [write("w1", "read"), write("w2", "unread"), write("w3", "changed"), write("w4", "made")];
    queue_replies(&fixture, [calls(&writes), words("done")]);
    assert_eq!(agent.turn("write").await, TurnOutcome::Answered);
    for (call, status, said) in [
        ("w1", ToolStatus::Done, "Changed read (+1 -1)."),
        ("w2", ToolStatus::Failed, "You have not read unread yet."),
        ("w3", ToolStatus::Failed, "changed has changed since it was read."),
        ("w4", ToolStatus::Done, "Changed made (+1 -1)."),
    ] {
        let result = agent.result(call);
        assert!(result.1 == status && result.0.starts_with(said), "{result:?}");
    }
    agent.close().await;
}
