//! What the model is told besides the conversation: instruction files, notes and its own plan.

use serde_json::{Value, json};
use slug_code::agent::{AgentEvent, InitialSession};
use slug_code::domain::{ContentBlock, Message, TodoStatus};
use slug_code::session::LogEntry;

use super::fakes::{NoteContext, calls, words};
use super::test_agent::{AgentFixture, queue_replies};

fn notes<'a>(message: &'a Message, name: &str) -> Vec<&'a str> {
    let text = |block: &'a ContentBlock| match block {
        ContentBlock::Context { name: of, text } if of == name => Some(text.as_str()),
        _ => None,
    };
    message.content.iter().filter_map(text).collect()
}

fn todos(states: &[(&str, &str)]) -> Value {
    let todo = |(content, status): &(&str, &str)| json!({"content": content, "status": status, "activeForm": content});
    json!({"todos": states.iter().map(todo).collect::<Vec<_>>()})
}

#[tokio::test(flavor = "multi_thread")]
async fn instruction_files_are_read_at_each_message_and_never_stored() {
    let fixture = AgentFixture::new();
    fixture.put("SLUG.md", "Say SECRET-ONE.");
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [words("one"), words("two"), words("three")]);
    agent.turn("first").await;
    fixture.put("SLUG.md", "Say SECRET-TWO.");
    agent.turn("second").await;
    std::fs::remove_file(fixture.work.join("SLUG.md")).unwrap();
    agent.turn("third").await;
    let systems: Vec<String> =
        fixture.model.requests().into_iter().map(|request| request.system).collect();
    assert!(systems[0].contains("SECRET-ONE") && !systems[0].contains("SECRET-TWO"));
    assert!(systems[1].contains("SECRET-TWO") && !systems[1].contains("SECRET-ONE"));
    assert!(!systems[2].contains("SECRET"));
    let log = fixture.home.join(format!("sessions/{}.jsonl", agent.id()));
    agent.close().await;
    assert!(!std::fs::read_to_string(log).unwrap().contains("SECRET"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_instructions_within_a_turn_waits_for_the_next_message() {
    let fixture =
        AgentFixture { mode: slug_code::domain::PermissionMode::Yolo, ..AgentFixture::new() };
    fixture.put("SLUG.md", "one");
    let mut agent = fixture.open(InitialSession::New).await;
    let read = calls(&[("c1", "Read", json!({"file_path": "SLUG.md"}))]);
    let write = calls(&[("c2", "Bash", json!({"command": "block"}))]);
    queue_replies(&fixture, [read, write, words("done")]);
    agent.send("go").await;
    agent
        .wait_for(
            "command",
            |event| matches!(event, AgentEvent::ToolStarted { call, .. } if call.name == "Bash"),
        )
        .await;
    fixture.put("SLUG.md", "two");
    fixture.processes.release();
    agent.wait_for_turn_end().await;
    let requests = fixture.model.requests();
    assert!(requests.windows(2).all(|pair| pair[0].system == pair[1].system));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_is_sent_again_only_when_it_has_changed() {
    let fixture = AgentFixture::new();
    let note = NoteContext::default();
    let mut agent = fixture.open_with(InitialSession::New, vec![Box::new(note.clone())]).await;
    for (text, is_sent) in [("a", true), ("a", false), ("b", true), ("b", false), ("a", true)] {
        *note.0.lock().unwrap() = Some(text.to_owned());
        queue_replies(&fixture, [words("ok")]);
        agent.turn("go").await;
        let last = fixture.model.last_request().messages.pop().unwrap();
        let expected: &[&str] = if is_sent { &[text] } else { &[] };
        assert_eq!(notes(&last, "note"), expected);
    }
    let session = agent.id();
    agent.close().await;
    let mut agent = fixture.open_with(InitialSession::Resume(session), vec![Box::new(note)]).await;
    queue_replies(&fixture, [words("ok")]);
    agent.turn("go").await;
    let last = fixture.model.last_request().messages.pop().unwrap();
    assert_eq!(notes(&last, "note"), [""; 0], "a resumed session holds it already");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plan_is_told_shown_and_restored() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    let plan = todos(&[("look", "completed"), ("mend", "in_progress")]);
    queue_replies(
        &fixture,
        [calls(&[("c1", "TodoWrite", plan)]), words("ok"), words("ok"), words("ok")],
    );
    agent.turn("go").await;
    let shown = |event: &AgentEvent| {
        matches!(event, AgentEvent::Recorded(record)
            if matches!(&record.entry, LogEntry::Todo { todos } if todos.len() == 2))
    };
    assert!(agent.events.iter().any(shown));
    agent.turn("go on").await;
    let last = fixture.model.last_request().messages.pop().unwrap();
    assert_eq!(notes(&last, "todo"), ["[x] look\n[>] mend"]);
    agent.turn("and on").await;
    let last = fixture.model.last_request().messages.pop().unwrap();
    assert_eq!(notes(&last, "todo"), [""; 0], "it has not changed");
    let session = agent.id();
    agent.close().await;
    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    let restored = |event: &AgentEvent| matches!(event, AgentEvent::SessionState { todos, .. } if todos.len() == 2);
    agent.wait_for("plan", restored).await;
    assert_eq!(agent.conversation().plan.todos[1].status, TodoStatus::InProgress);
    agent.close().await;
}

/// The notes about mentions in each message of the last request.
fn mentions(fixture: &AgentFixture) -> Vec<Vec<String>> {
    let requests = fixture.model.requests();
    let messages = &requests.last().unwrap().messages;
    let found = messages.iter().map(|message| notes(message, "mentions"));
    found.map(|notes| notes.into_iter().map(str::to_owned).collect()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_note_about_mentions_goes_with_its_message_and_never_changes() {
    let fixture = AgentFixture::new();
    fixture.put("src/cart.rs", &"line\n".repeat(220));
    fixture.put("my notes.md", "one\ntwo");
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [words("one"), words("two")]);
    agent.turn("See @src/cart.rs:10-40, @\"my notes.md\" and @src/, but ask @alice.").await;
    let expected = "The user's message refers to:\n\
                - src/cart.rs, lines 10 to 40 (a file of 220 lines)\n\
                - my notes.md (a file of 2 lines)\n\
                - src (a folder)";
    assert_eq!(mentions(&fixture), [[expected]]);
    fixture.put("src/cart.rs", "now it is short\n");
    let id = agent.id();
    agent.close().await;
    let mut agent = fixture.open(InitialSession::Resume(id)).await;
    agent.turn("Nothing is named here, me@example.com.").await;
    assert_eq!(mentions(&fixture)[0], [expected]);
    assert_eq!(mentions(&fixture).concat().len(), 1);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mentioned_file_that_the_model_may_not_read_is_named_and_not_read() {
    let fixture = AgentFixture::new();
    fixture.settings(&json!({"permissions": {"deny": ["Read(secret.txt)"]}}));
    fixture.put("secret.txt", "a\nb\n");
    fixture.put("short.txt", "a\n");
    fixture.put("../outside.txt", "a\nb\n");
    std::os::unix::fs::symlink("../outside.txt", fixture.work.join("link")).unwrap();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [words("one")]);
    agent.turn("@secret.txt @link @short.txt:3-9 @gone.txt").await;
    let expected = "The user's message refers to:\n\
                - secret.txt (a permission rule denies reading it)\n\
                - link (a file outside of the workspace)\n\
                - short.txt, lines 3 to 9 (the file ends at line 1)";
    assert_eq!(mentions(&fixture), [[expected]]);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_past_session_is_told_by_its_title_and_how_to_read_it() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [words("one"), words("two")]);
    agent.turn("Fix the empty cart").await;
    let id = agent.id();
    agent.close().await;
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn(&format!("Go on as in @session:{id}.")).await;
    let note = mentions(&fixture).concat().concat();
    let wanted = format!("- the past session {id}, \"Fix the empty cart\", 2 messages, in ");
    assert!(note.contains(&wanted), "{note}");
    assert!(note.ends_with(&format!("(`slug sessions show {id}` prints it)")), "{note}");
    agent.close().await;
}
