//! `slug acp` as an editor sees it: the real program, with a client that reads every line as the protocol's
//! own types. The faults that other agents had have a test each. `tests/acp/clients.sh` runs clients of
//! other projects.

use serde_json::{Value, json};

use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::test_env::TestEnv;
use client::{EditorClient, notified, updates_of};

mod buffers;
mod client;
mod faults;
mod hostile;
mod questions;
mod sessions;

/// A script of the demo's provider, in the folder of the test.
fn script(env: &TestEnv, responses: &[&str]) -> String {
    let mut text = String::from("model = \"scripted\"\npace = 100000\n");
    for response in responses {
        text.push_str("[[response]]\n");
        text.push_str(response);
    }
    text.push_str("[[epilogue]]\n[[epilogue.step]]\nsay = \"That was all.\"\n");
    env.write_home("script.toml", &text);
    env.slug_home().join("script.toml").to_str().unwrap().to_owned()
}

/// A step that says something.
fn say(text: &str) -> String {
    format!("[[response.step]]\nsay = \"{text}\"\n")
}

/// A step that makes a call; `input` is an inline table of TOML.
fn call(tool: &str, input: &str) -> String {
    format!("[[response.step]]\ncall = \"{tool}\"\ninput = {input}\n")
}

#[test]
fn a_prompt_streams_and_ends() {
    let env = TestEnv::new();
    let mut editor = EditorClient::scripted(&env, &[&say("Hello there.")]);
    let session = editor.new_session(&env);
    let answer = editor.prompt(&session, "Hi");
    assert_eq!(answer["stopReason"], "end_turn");
    let text: String = updates_of(&editor.seen, "agent_message_chunk")
        .map(|it| it["content"]["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(text, "Hello there.");
    assert!(updates_of(&editor.seen, "session_info_update").any(|it| it["title"] == "Hi"));
    editor.ends_well();
}

#[test]
fn a_link_becomes_a_mention_and_an_image_reaches_the_model() {
    let env = TestEnv::new();
    env.write("a.txt", "a\n");
    let server = ModelServer::start();
    server.reply(ServerReply::text("I see."));
    let mut editor = EditorClient::start(env.command_to(&server, &["acp"]), json!({}));
    let session = editor.new_session(&env);
    let uri = format!("file://{}", env.path("a.txt").display());
    let blocks = json!([
        {"type": "text", "text": "Look at"},
        {"type": "resource_link", "name": "a.txt", "uri": uri},
        {"type": "resource", "resource": {"uri": "file:///b.txt", "text": "unsaved words"}},
        {"type": "image", "mimeType": "image/png", "data": PIXEL},
    ]);
    let answer = editor.request("session/prompt", json!({"sessionId": session, "prompt": blocks}));
    assert_eq!(answer.unwrap()["stopReason"], "end_turn");
    let sent = server.model_requests()[0].body.to_string();
    assert!(sent.contains("Look at @a.txt"), "{sent}");
    assert!(sent.contains("unsaved words"), "{sent}");
    assert!(sent.contains("image/png"), "{sent}");
    let audio = json!([{"type": "audio", "mimeType": "audio/wav", "data": ""}]);
    let refused = editor.request("session/prompt", json!({"sessionId": session, "prompt": audio}));
    assert_eq!(refused.unwrap_err()["code"], -32602);
    editor.ends_well();
}

/// A PNG of one pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[test]
fn commands_of_the_editor_do_what_they_say() {
    let env = TestEnv::new();
    let mut editor = EditorClient::scripted(&env, &[&say("Done.")]);
    let session = editor.new_session(&env);
    let refused = editor.request("session/prompt", prompt(&session, "/compact")).unwrap_err();
    assert_eq!(refused["message"], "The conversation is still too short to compact.");
    editor.prompt(&session, "Hi");
    assert_eq!(editor.prompt(&session, "/rename A name")["stopReason"], "end_turn");
    editor.wait_for("the title", |it| notified(it, "session_info_update", "title", "A name"));
    let refused = editor.request("session/prompt", prompt(&session, "/retry")).unwrap_err();
    assert!(refused["message"].as_str().unwrap().contains("Nothing to retry"), "{refused}");
    editor.ends_well();
}

fn prompt(session: &str, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}
