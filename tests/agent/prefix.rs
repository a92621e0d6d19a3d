//! What a prefix cache sees: each request begins with the bytes of the one before.

use std::sync::Arc;

use serde_json::{Value, json};
use slug_code::agent::{Command, Event, Start, SteerId};
use slug_code::domain::{Answer, Mode};
use slug_code::providers::chat::ChatCompletions;
use slug_code::providers::http::{Endpoint, Http, PlainHttp};
use slug_code::providers::{Provider, Way};
use slug_code::session::TurnOutcome;

use super::fakes::Note;
use super::rig::Scene;
use super::support::model_server::{ModelServer, Reply};

/// The real provider, against the scripted server.
pub fn chat(server: &ModelServer) -> Arc<dyn Provider> {
    let endpoint = Endpoint::parse(&server.endpoint(), PlainHttp::LoopbackOnly).unwrap();
    Arc::new(ChatCompletions::new(Way::new(Arc::new(Http::new()), endpoint, None)))
}

fn todos(turn: usize) -> Value {
    let status = if turn.is_multiple_of(2) { "in_progress" } else { "completed" };
    json!({"todos": [
        {"content": format!("step {turn}"), "status": status, "activeForm": "stepping"},
        {"content": "the last step", "status": "pending", "activeForm": "ending"},
    ]})
}

/// Twenty turns with reads, writes, plans, notes, refusals, steering, commands of the person's own
/// and a change of mode: the server checks pairing, alternation, tools and prefix of each request.
#[tokio::test(flavor = "multi_thread")]
async fn twenty_turns_only_ever_grow_at_their_end() {
    let server = ModelServer::start();
    let scene = Scene { provider: Some(chat(&server)), ..Scene::in_mode(Mode::AllowEdits) };
    scene.put("SLUG.md", "Be brief.");
    scene.put("a", "text\n");
    let note = Note::default();
    let mut rig = scene.open_with(Start::New, vec![Box::new(note.clone())]).await;
    for turn in 0..20 {
        *note.0.lock().unwrap() = Some(format!("as of {}", turn / 3));
        let id = |name: &str| format!("{name}{turn}");
        let file = format!("f{turn}");
        server.reply(Reply::calls(
            "Let me look.",
            &[
                (&id("r"), "Read", json!({"file_path": "a"})),
                (&id("g"), "Glob", json!({"pattern": "*"})),
                (&id("x"), "Read", json!({"file_path": "missing"})),
            ],
        ));
        server.reply(Reply::calls(
            "",
            &[
                (&id("t"), "TodoWrite", todos(turn)),
                (&id("w"), "Write", json!({"file_path": file, "content": "new\n"})),
                (&id("b"), "Bash", json!({"command": "make"})),
            ],
        ));
        server.reply(Reply::thinking("Was that all?", "Done."));
        rig.send(&format!("turn {turn}")).await;
        let question = rig.asked().await;
        if turn % 4 == 1 {
            let text = "and be quick".to_owned();
            rig.tell(Command::Steer { id: SteerId(turn as u64), text: text.into() }).await;
        }
        let answer = match turn % 3 {
            0 => Answer::Once,
            1 => Answer::Deny { instruction: Some("not now".into()) },
            _ => Answer::Edited { input: json!({"command": "make edited"}) },
        };
        rig.answer(&question, answer).await;
        if turn % 3 == 2 {
            let question = rig.asked().await;
            rig.answer(&question, Answer::Once).await;
        }
        assert_eq!(rig.ended().await, TurnOutcome::Answered, "turn {turn}");
        if turn % 5 == 2 {
            rig.tell(Command::Shell { command: format!("look {turn}") }).await;
            rig.until("end", |event| matches!(event, Event::ToolEnded { .. })).await;
            rig.tell(Command::SetTitle(format!("title {turn}"))).await;
        }
    }
    assert_eq!(server.chats().len(), 60);
    server.assert_clean();
    let session = rig.id();
    rig.close().await;

    let mut rig = scene.open_with(Start::Resume(session), vec![Box::new(note)]).await;
    server.reply(Reply::text("Still here."));
    assert_eq!(rig.turn("and again").await, TurnOutcome::Answered);
    server.assert_clean();
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_in_mid_sentence_keeps_the_prefix() {
    let server = ModelServer::start();
    let scene = Scene { provider: Some(chat(&server)), ..Scene::new() };
    let mut rig = scene.open(Start::New).await;
    server.reply(Reply::words(["half ", "an ", "answer"]).hanging_after(3));
    rig.send("hello").await;
    rig.until("text", |event| matches!(event, Event::Text { .. })).await;
    assert_eq!(rig.stop().await, TurnOutcome::Interrupted);
    assert!(server.wait_until_idle(), "the server stops generating");
    server.reply(Reply::text("whole"));
    assert_eq!(rig.turn("go on").await, TurnOutcome::Answered);
    server.assert_clean();
    rig.close().await;
}
