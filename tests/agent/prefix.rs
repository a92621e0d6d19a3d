//! What a prompt cache sees: each request begins with the bytes of the previous one.

use std::sync::Arc;

use serde_json::{Value, json};
use slug_code::agent::{AgentCommand, AgentEvent, InitialSession, SteerId};
use slug_code::domain::{ApprovalAnswer, PermissionMode, ProviderProtocol};
use slug_code::net::{HttpClient, HttpEndpoint, PlainHttp};
use slug_code::providers::{ConnectionConfig, Provider, connect};
use slug_code::session::TurnOutcome;

use super::fakes::NoteContext;
use super::test_agent::{AgentFixture, tool_end};
use crate::support::model_server::{ModelServer, ServerReply};

/// The real provider, connected to the scripted server.
pub fn chat(server: &ModelServer) -> Arc<dyn Provider> {
    let endpoint = HttpEndpoint::parse(&server.endpoint(), PlainHttp::LoopbackOnly).unwrap();
    let config = ConnectionConfig::new(Arc::new(HttpClient::new()), endpoint, None);
    connect(ProviderProtocol::ChatCompletions, config)
}

fn todos(turn: usize) -> Value {
    let status = if turn.is_multiple_of(2) { "in_progress" } else { "completed" };
    json!({"todos": [
        {"content": format!("step {turn}"), "status": status, "activeForm": "stepping"},
        {"content": "the last step", "status": "pending", "activeForm": "ending"},
    ]})
}

/// Asserts that each chat request begins with all bytes of the previous one, except its closing
/// brackets. That includes the tools, which come before the messages.
fn assert_each_begins_with_the_last(server: &ModelServer) {
    let chats = server.chat_requests();
    for (number, pair) in chats.windows(2).enumerate() {
        let [before, after] = [&pair[0].raw, &pair[1].raw];
        let tools = before.windows(8).position(|bytes| bytes == b"\"tools\":");
        let messages = before.windows(11).position(|bytes| bytes == b"\"messages\":");
        assert!(tools.is_some() && tools < messages, "request {number}");
        let kept = before.strip_suffix(b"]}").unwrap();
        if !after.starts_with(kept) {
            let same = kept.iter().zip(after).take_while(|(one, other)| one == other).count();
            let (was, is) = (&before[same..], &after[same..]);
            let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            panic!("request {number}, byte {same}: {} became {}", shown(was), shown(is));
        }
    }
}

/// Fifty turns with reads, writes, edits, plans, notes, refusals, steering, commands of the user
/// and titles. The server checks pairing and alternation in each request, and each request begins
/// with the previous one.
#[tokio::test(flavor = "multi_thread")]
async fn requests_of_fifty_turns_only_grow_at_their_end() {
    let server = ModelServer::start();
    let fixture = AgentFixture {
        provider: Some(chat(&server)),
        ..AgentFixture::in_mode(PermissionMode::AllowEdits)
    };
    fixture.put("SLUG.md", "Be brief.");
    fixture.put("a", "text 0\n");
    let note = NoteContext::default();
    let mut agent = fixture.open_with(InitialSession::New, vec![Box::new(note.clone())]).await;
    for turn in 0..50 {
        *note.0.lock().unwrap() = Some(format!("as of {}", turn / 3));
        let id = |name: &str| format!("{name}{turn}");
        let file = format!("f{turn}");
        let edit = json!({"file_path": "a", "old_string": format!("text {turn}"),
                          "new_string": format!("text {}", turn + 1)});
        server.reply(ServerReply::calls(
            "Let me look.",
            &[
                (&id("r"), "Read", json!({"file_path": "a"})),
                (&id("g"), "Glob", json!({"pattern": "S*"})),
                (&id("x"), "Read", json!({"file_path": "missing"})),
            ],
        ));
        server.reply(ServerReply::calls(
            "",
            &[
                (&id("t"), "TodoWrite", todos(turn)),
                (&id("w"), "Write", json!({"file_path": file, "content": "new\n"})),
                (&id("e"), "Edit", edit),
                (&id("b"), "Bash", json!({"command": "make"})),
            ],
        ));
        server.reply(ServerReply::thinking("Was that all?", "Done."));
        agent.send(&format!("turn {turn}")).await;
        let question = agent.next_approval().await;
        if turn % 4 == 1 {
            let text = "and be quick".to_owned();
            agent.tell(AgentCommand::Steer { id: SteerId(turn as u64), text: text.into() }).await;
        }
        let answer = match turn % 3 {
            0 => ApprovalAnswer::Once,
            1 => ApprovalAnswer::Deny { instruction: Some("not now".into()) },
            _ => ApprovalAnswer::Edited { input: json!({"command": "make edited"}) },
        };
        agent.answer(&question, answer).await;
        if turn % 3 == 2 {
            let question = agent.next_approval().await;
            agent.answer(&question, ApprovalAnswer::Once).await;
        }
        assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered, "turn {turn}");
        if turn % 5 == 2 {
            agent.tell(AgentCommand::Shell { command: format!("look {turn}") }).await;
            agent.wait_for("end", |event| tool_end(event).is_some()).await;
            agent.tell(AgentCommand::SetTitle(format!("title {turn}"))).await;
        }
    }
    assert_eq!(server.chat_requests().len(), 150);
    assert_eq!(fixture.read("a"), "text 50\n");
    server.assert_clean();
    let session = agent.id();
    agent.close().await;

    let mut agent = fixture.open_with(InitialSession::Resume(session), vec![Box::new(note)]).await;
    server.reply(ServerReply::text("Still here."));
    assert_eq!(agent.turn("and again").await, TurnOutcome::Answered);
    server.assert_clean();
    assert_each_begins_with_the_last(&server);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_in_mid_sentence_keeps_the_prefix() {
    let server = ModelServer::start();
    let fixture = AgentFixture { provider: Some(chat(&server)), ..AgentFixture::new() };
    let mut agent = fixture.open(InitialSession::New).await;
    server.reply(ServerReply::words(["half ", "an ", "answer"]).hanging_after(3));
    agent.send("hello").await;
    agent.wait_for("text", |event| matches!(event, AgentEvent::Text { .. })).await;
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    assert!(server.wait_until_idle(), "the server stops generating");
    server.reply(ServerReply::text("whole"));
    assert_eq!(agent.turn("go on").await, TurnOutcome::Answered);
    server.assert_clean();
    agent.close().await;
}
