//! What the model is told besides the conversation: instruction files, notes and its own plan.

use serde_json::{Value, json};
use slug_code::agent::{AgentEvent, InitialSession};
use slug_code::domain::{ContentBlock, Message, TodoStatus};

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
    let scene = AgentFixture::new();
    scene.put("SLUG.md", "Say SECRET-ONE.");
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [words("one"), words("two"), words("three")]);
    rig.turn("first").await;
    scene.put("SLUG.md", "Say SECRET-TWO.");
    rig.turn("second").await;
    std::fs::remove_file(scene.work.join("SLUG.md")).unwrap();
    rig.turn("third").await;
    let systems: Vec<String> =
        scene.model.requests().into_iter().map(|request| request.system).collect();
    assert!(systems[0].contains("SECRET-ONE") && !systems[0].contains("SECRET-TWO"));
    assert!(systems[1].contains("SECRET-TWO") && !systems[1].contains("SECRET-ONE"));
    assert!(!systems[2].contains("SECRET"));
    let log = scene.home.join(format!("sessions/{}.jsonl", rig.id()));
    rig.close().await;
    assert!(!std::fs::read_to_string(log).unwrap().contains("SECRET"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_instructions_within_a_turn_waits_for_the_next_message() {
    let scene =
        AgentFixture { mode: slug_code::domain::PermissionMode::Yolo, ..AgentFixture::new() };
    scene.put("SLUG.md", "one");
    let mut rig = scene.open(InitialSession::New).await;
    let read = calls(&[("c1", "Read", json!({"file_path": "SLUG.md"}))]);
    let write = calls(&[("c2", "Bash", json!({"command": "block"}))]);
    queue_replies(&scene, [read, write, words("done")]);
    rig.send("go").await;
    rig.wait_for(
        "command",
        |event| matches!(event, AgentEvent::ToolStarted { call, .. } if call.name == "Bash"),
    )
    .await;
    scene.put("SLUG.md", "two");
    scene.processes.release();
    rig.wait_for_turn_end().await;
    let requests = scene.model.requests();
    assert!(requests.windows(2).all(|pair| pair[0].system == pair[1].system));
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_is_sent_again_only_when_it_has_changed() {
    let scene = AgentFixture::new();
    let note = NoteContext::default();
    let mut rig = scene.open_with(InitialSession::New, vec![Box::new(note.clone())]).await;
    for (text, told) in [("a", true), ("a", false), ("b", true), ("b", false), ("a", true)] {
        *note.0.lock().unwrap() = Some(text.to_owned());
        queue_replies(&scene, [words("ok")]);
        rig.turn("go").await;
        let last = scene.model.last_request().messages.pop().unwrap();
        let expected: &[&str] = if told { &[text] } else { &[] };
        assert_eq!(notes(&last, "note"), expected);
    }
    let session = rig.id();
    rig.close().await;
    let mut rig = scene.open_with(InitialSession::Resume(session), vec![Box::new(note)]).await;
    queue_replies(&scene, [words("ok")]);
    rig.turn("go").await;
    let last = scene.model.last_request().messages.pop().unwrap();
    assert_eq!(notes(&last, "note"), [""; 0], "a resumed session holds it already");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plan_is_told_shown_and_restored() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    let plan = todos(&[("look", "completed"), ("mend", "in_progress")]);
    queue_replies(
        &scene,
        [calls(&[("c1", "TodoWrite", plan)]), words("ok"), words("ok"), words("ok")],
    );
    rig.turn("go").await;
    let shown =
        |event: &AgentEvent| matches!(event, AgentEvent::TodosChanged(todos) if todos.len() == 2);
    assert!(rig.events.iter().any(shown));
    rig.turn("go on").await;
    let last = scene.model.last_request().messages.pop().unwrap();
    assert_eq!(notes(&last, "todo"), ["[x] look\n[>] mend"]);
    rig.turn("and on").await;
    let last = scene.model.last_request().messages.pop().unwrap();
    assert_eq!(notes(&last, "todo"), [""; 0], "it has not changed");
    let session = rig.id();
    rig.close().await;
    let mut rig = scene.open(InitialSession::Resume(session)).await;
    rig.wait_for("plan", shown).await;
    assert_eq!(rig.conversation().todos[1].status, TodoStatus::InProgress);
    rig.close().await;
}

/// What the model was told with each message of the person's about what it refers to.
fn mentions(scene: &AgentFixture) -> Vec<Vec<String>> {
    let requests = scene.model.requests();
    let messages = &requests.last().unwrap().messages;
    let told = messages.iter().map(|message| notes(message, "mentions"));
    told.map(|told| told.into_iter().map(str::to_owned).collect()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_message_refers_to_is_told_with_it_and_sent_the_same_ever_after() {
    let scene = AgentFixture::new();
    scene.put("src/cart.rs", &"line\n".repeat(220));
    scene.put("my notes.md", "one\ntwo");
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [words("one"), words("two")]);
    rig.turn("See @src/cart.rs:10-40, @\"my notes.md\" and @src/, but ask @alice.").await;
    let told = "The user's message refers to:\n\
                - src/cart.rs, lines 10 to 40 (a file of 220 lines)\n\
                - my notes.md (a file of 2 lines)\n\
                - src (a folder)";
    assert_eq!(mentions(&scene), [[told]]);
    scene.put("src/cart.rs", "now it is short\n");
    let id = rig.id();
    rig.close().await;
    let mut rig = scene.open(InitialSession::Resume(id)).await;
    rig.turn("Nothing is named here, me@example.com.").await;
    assert_eq!(mentions(&scene)[0], [told]);
    assert_eq!(mentions(&scene).concat().len(), 1);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_model_may_not_read_is_named_and_not_read() {
    let scene = AgentFixture::new();
    scene.settings(&json!({"permissions": {"deny": ["Read(secret.txt)"]}}));
    scene.put("secret.txt", "a\nb\n");
    scene.put("short.txt", "a\n");
    scene.put("../outside.txt", "a\nb\n");
    std::os::unix::fs::symlink("../outside.txt", scene.work.join("link")).unwrap();
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [words("one")]);
    rig.turn("@secret.txt @link @short.txt:3-9 @gone.txt").await;
    let told = "The user's message refers to:\n\
                - secret.txt (a permission rule denies reading it)\n\
                - link (a file outside of the workspace)\n\
                - short.txt, lines 3 to 9 (the file ends at line 1)";
    assert_eq!(mentions(&scene), [[told]]);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_past_session_is_told_by_its_title_and_how_to_read_it() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [words("one"), words("two")]);
    rig.turn("Fix the empty cart").await;
    let id = rig.id();
    rig.close().await;
    let mut rig = scene.open(InitialSession::New).await;
    rig.turn(&format!("Go on as in @session:{id}.")).await;
    let told = mentions(&scene).concat().concat();
    let wanted = format!("- the past session {id}, \"Fix the empty cart\", 2 messages, in ");
    assert!(told.contains(&wanted), "{told}");
    assert!(told.ends_with(&format!("(`slug sessions show {id}` prints it)")), "{told}");
    rig.close().await;
}
