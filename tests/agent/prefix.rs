//! What a prefix cache sees: each request begins with the bytes of the one before.

use std::sync::Arc;

use serde_json::{Value, json};
use slug_code::agent::{AgentCommand, AgentEvent, InitialSession, SteerId};
use slug_code::domain::{ApprovalAnswer, PermissionMode};
use slug_code::providers::chat::ChatCompletionsProvider;
use slug_code::providers::http::{HttpClient, HttpEndpoint, PlainHttp};
use slug_code::providers::{ConnectionConfig, Provider};
use slug_code::session::TurnOutcome;

use super::fakes::NoteContext;
use super::support::model_server::{ModelServer, ServerReply};
use super::test_agent::AgentFixture;

/// The real provider, against the scripted server.
pub fn chat(server: &ModelServer) -> Arc<dyn Provider> {
    let endpoint = HttpEndpoint::parse(&server.endpoint(), PlainHttp::LoopbackOnly).unwrap();
    Arc::new(ChatCompletionsProvider::new(ConnectionConfig::new(
        Arc::new(HttpClient::new()),
        endpoint,
        None,
    )))
}

fn todos(turn: usize) -> Value {
    let status = if turn.is_multiple_of(2) { "in_progress" } else { "completed" };
    json!({"todos": [
        {"content": format!("step {turn}"), "status": status, "activeForm": "stepping"},
        {"content": "the last step", "status": "pending", "activeForm": "ending"},
    ]})
}

/// That each chat request has all bytes of the one before it, but for the brackets that end it. The
/// tools are part of that: they stand ahead of the messages.
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

/// Fifty turns with reads, writes, edits, plans, notes, refusals, steering, commands of the person's
/// own and titles: the server checks pairing and alternation in each request, and each has the one
/// before it as its beginning.
#[tokio::test(flavor = "multi_thread")]
async fn fifty_turns_only_ever_grow_at_their_end() {
    let server = ModelServer::start();
    let scene = AgentFixture {
        provider: Some(chat(&server)),
        ..AgentFixture::in_mode(PermissionMode::AllowEdits)
    };
    scene.put("SLUG.md", "Be brief.");
    scene.put("a", "text 0\n");
    let note = NoteContext::default();
    let mut rig = scene.open_with(InitialSession::New, vec![Box::new(note.clone())]).await;
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
        rig.send(&format!("turn {turn}")).await;
        let question = rig.next_approval().await;
        if turn % 4 == 1 {
            let text = "and be quick".to_owned();
            rig.tell(AgentCommand::Steer { id: SteerId(turn as u64), text: text.into() }).await;
        }
        let answer = match turn % 3 {
            0 => ApprovalAnswer::Once,
            1 => ApprovalAnswer::Deny { instruction: Some("not now".into()) },
            _ => ApprovalAnswer::Edited { input: json!({"command": "make edited"}) },
        };
        rig.answer(&question, answer).await;
        if turn % 3 == 2 {
            let question = rig.next_approval().await;
            rig.answer(&question, ApprovalAnswer::Once).await;
        }
        assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered, "turn {turn}");
        if turn % 5 == 2 {
            rig.tell(AgentCommand::Shell { command: format!("look {turn}") }).await;
            rig.wait_for("end", |event| matches!(event, AgentEvent::ToolEnded { .. })).await;
            rig.tell(AgentCommand::SetTitle(format!("title {turn}"))).await;
        }
    }
    assert_eq!(server.chat_requests().len(), 150);
    assert_eq!(scene.read("a"), "text 50\n");
    server.assert_clean();
    let session = rig.id();
    rig.close().await;

    let mut rig = scene.open_with(InitialSession::Resume(session), vec![Box::new(note)]).await;
    server.reply(ServerReply::text("Still here."));
    assert_eq!(rig.turn("and again").await, TurnOutcome::Answered);
    server.assert_clean();
    assert_each_begins_with_the_last(&server);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_in_mid_sentence_keeps_the_prefix() {
    let server = ModelServer::start();
    let scene = AgentFixture { provider: Some(chat(&server)), ..AgentFixture::new() };
    let mut rig = scene.open(InitialSession::New).await;
    server.reply(ServerReply::words(["half ", "an ", "answer"]).hanging_after(3));
    rig.send("hello").await;
    rig.wait_for("text", |event| matches!(event, AgentEvent::Text { .. })).await;
    assert_eq!(rig.stop().await, TurnOutcome::Interrupted);
    assert!(server.wait_until_idle(), "the server stops generating");
    server.reply(ServerReply::text("whole"));
    assert_eq!(rig.turn("go on").await, TurnOutcome::Answered);
    server.assert_clean();
    rig.close().await;
}
