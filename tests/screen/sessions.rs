//! Coming back: continued, resumed, forked, and after a crash.

use serde_json::json;

use crate::support::desk::Desk;
use crate::support::model_server::{Gate, ModelServer, Reply, wait_until};
use crate::support::terminal::{Slug, key};
use crate::{bash, result_of};

/// A session with one question and its answer, left behind.
fn past(desk: &Desk, server: &ModelServer, question: &str, answer: &str) {
    server.reply(Reply::text(answer));
    let mut slug = Slug::chat(desk, server);
    slug.say(question);
    slug.wait_for(answer);
    slug.quit();
}

#[test]
fn continue_shows_the_messages_of_the_newest_session() {
    let (desk, server) = (Desk::new(), ModelServer::start());
    past(&desk, &server, "which colour?", "Blue.");
    server.reply(Reply::text("Because of the sky."));
    let mut slug = Slug::chat_with(&desk, &server, &["--continue"]);
    slug.wait_until("the old messages", |screen| {
        screen.contains("which colour?") && screen.contains("Blue.")
    });
    slug.say("why?");
    slug.wait_for("Because of the sky.");
    let answer = json!({"role": "assistant", "content": "Blue."});
    assert!(server.chats()[1].messages().contains(&answer));
    server.assert_clean();
    assert_eq!(desk.sessions().len(), 1);
}

#[test]
fn a_session_is_resumed_from_the_sidebar() {
    let (desk, server) = (Desk::new(), ModelServer::start());
    past(&desk, &server, "which colour?", "Blue.");
    server.reply(Reply::text("Because of the sky."));
    let mut slug = Slug::chat(&desk, &server);
    slug.keys(key::CTRL_B);
    slug.wait_until("the list with the session", |screen| {
        screen.contains("Sessions") && screen.contains("which colour?")
    });
    slug.keys(key::ENTER);
    slug.wait_for("Blue.");
    slug.say("why?");
    slug.wait_for("Because of the sky.");
    let answer = json!({"role": "assistant", "content": "Blue."});
    assert!(server.chats()[1].messages().contains(&answer));
    server.assert_clean();
}

#[test]
fn a_session_is_forked_from_the_sidebar() {
    let (desk, server) = (Desk::new(), ModelServer::start());
    past(&desk, &server, "which colour?", "Blue.");
    server.reply(Reply::text("Because of the sky."));
    let mut slug = Slug::chat(&desk, &server);
    slug.keys(key::CTRL_B);
    slug.wait_for("which colour?");
    slug.keys("f");
    slug.wait_for("Blue.");
    slug.say("why?");
    slug.wait_for("Because of the sky.");
    slug.quit();
    server.assert_clean();
    let sessions = desk.sessions();
    assert_eq!(sessions.len(), 2, "{sessions:?}");
    let original = sessions.iter().find(|it| it["forked_from"].is_null()).unwrap();
    let fork = sessions.iter().find(|it| !it["forked_from"].is_null()).unwrap();
    assert!(fork["forked_from"].to_string().contains(original["session_id"].as_str().unwrap()));
    assert!(fork["message_count"].as_u64() > original["message_count"].as_u64(), "{sessions:?}");
}

#[test]
fn after_a_kill_in_mid_answer_the_message_is_still_there() {
    let (desk, server, gate) = (Desk::new(), ModelServer::start(), Gate::closed());
    server.reply(Reply::text("one two three four five").gated(&gate));
    server.reply(Reply::text("Counted."));
    let mut slug = Slug::chat(&desk, &server);
    slug.say("count to five");
    gate.let_through(4);
    slug.wait_for("one two three");
    slug.kill();
    let mut slug = Slug::chat_with(&desk, &server, &["--continue"]);
    slug.wait_for("count to five");
    slug.say("again");
    slug.wait_for("Counted.");
    server.assert_clean();
}

#[test]
fn after_a_kill_in_mid_command_the_call_is_answered() {
    let (desk, server) = (Desk::new(), ModelServer::start());
    server.reply(bash("c1", "echo begun > begun; sleep 300"));
    server.reply(Reply::text("It was cut short."));
    let mut slug = Slug::chat(&desk, &server);
    slug.say("wait");
    slug.answer("sleep 300", "y");
    assert!(wait_until(|| desk.path("begun").exists()));
    slug.kill();
    let mut slug = Slug::chat_with(&desk, &server, &["--continue"]);
    slug.wait_for("sleep 300");
    slug.say("what happened?");
    slug.wait_for("It was cut short.");
    let told = result_of(&server.chats()[1], "c1");
    assert!(told.to_lowercase().contains("interrupted"), "{told}");
    server.assert_clean();
}

#[test]
fn after_a_kill_the_draft_is_still_there() {
    let (desk, server) = (Desk::new(), ModelServer::start());
    let mut slug = Slug::chat(&desk, &server);
    slug.keys("half a thought");
    slug.wait_for("half a thought");
    let drafts = desk.slug_home().join("drafts");
    let is_saved = || {
        let entries = std::fs::read_dir(&drafts).into_iter().flatten().flatten();
        let mut saved = entries.filter(|it| it.path().extension().is_some_and(|it| it == "json"));
        saved.any(|it| std::fs::read_to_string(it.path()).is_ok_and(|it| it.contains("half a")))
    };
    assert!(wait_until(is_saved), "no draft in {}", drafts.display());
    slug.kill();
    let mut slug = Slug::chat(&desk, &server);
    slug.wait_for("❯ half a thought");
}
