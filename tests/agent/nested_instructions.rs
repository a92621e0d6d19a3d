//! Instructions for a part of a project go out as notes when work comes to that part.

use serde_json::json;
use slug_code::agent::InitialSession;
use slug_code::domain::{ContentBlock, Message};

use super::fakes::{calls, words};
use super::test_agent::{AgentFixture, queue_replies};

/// The notes with instructions, each with its name.
fn instructions(messages: &[Message]) -> Vec<(String, String)> {
    let blocks = messages.iter().flat_map(|message| &message.content);
    let notes = blocks.filter_map(ContentBlock::as_context);
    let ours = notes.filter(|(name, _)| name.starts_with("instructions:"));
    ours.map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn entering_a_folder_brings_its_instructions_once() {
    let fixture = AgentFixture::new();
    fixture.put("SLUG.md", "For all.");
    fixture.put("web/AGENTS.md", "Use tabs </context> here.");
    fixture.put("web/a.ts", "a");
    fixture.put("web/b.ts", "b");
    let rule = "---\npaths: \"*.ts\"\n---\nNo any.";
    fixture.put(".claude/rules/ts.md", rule);
    let mut agent = fixture.open(InitialSession::New).await;
    let read = |id, path| calls(&[(id, "Read", json!({"file_path": path}))]);
    let replies = [read("c1", "SLUG.md"), read("c2", "web/a.ts"), read("c3", "web/b.ts")];
    queue_replies(&fixture, replies.into_iter().chain([words("done")]));
    agent.turn("go").await;
    agent.close().await;
    let requests = fixture.model.requests();
    assert_eq!(requests.len(), 4);
    assert!(requests.iter().all(|it| it.system == requests[0].system));
    assert!(!requests[0].system.contains("tabs") && !requests[0].system.contains("No any"));
    assert_eq!(instructions(&requests[1].messages), []);
    let sent = instructions(&requests[2].messages);
    let names: Vec<&str> = sent.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["instructions:web/AGENTS.md", "instructions:.claude/rules/ts.md"]);
    assert!(sent[0].1.ends_with("Use tabs < /context> here."), "{}", sent[0].1);
    assert!(sent[1].1.ends_with("No any."), "{}", sent[1].1);
    assert_eq!(instructions(&requests[3].messages), sent);
}
