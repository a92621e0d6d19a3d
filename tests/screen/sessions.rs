//! Coming back to sessions: continued, resumed, forked, and after a crash.

use serde_json::json;

use crate::support::model_server::{ModelServer, ReplyGate, ServerReply, wait_until};
use crate::support::terminal::{PtySlug, key};
use crate::support::test_env::TestEnv;
use crate::{bash, result_of};

/// Leaves a session with one question and its answer behind.
fn past(env: &TestEnv, server: &ModelServer, question: &str, answer: &str) {
    server.reply(ServerReply::text(answer));
    let mut slug = PtySlug::chat(env, server);
    slug.say(question);
    slug.wait_for(answer);
    slug.quit();
}

#[test]
fn continue_shows_the_messages_of_the_newest_session() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    past(&env, &server, "which colour?", "Blue.");
    server.reply(ServerReply::text("Because of the sky."));
    let mut slug = PtySlug::chat_with(&env, &server, &["--continue"]);
    slug.wait_until("the old messages", |screen| {
        screen.contains("which colour?") && screen.contains("Blue.")
    });
    slug.say("why?");
    slug.wait_for("Because of the sky.");
    let answer = json!({"role": "assistant", "content": "Blue."});
    assert!(server.chat_requests()[1].messages().contains(&answer));
    server.assert_clean();
    assert_eq!(env.sessions().len(), 1);
}

/// Opens the list of sessions, which has the one about a colour. The start screen names it, too.
fn open_list(slug: &mut PtySlug) {
    slug.keys(key::CTRL_B);
    slug.wait_for("│   which colour?");
}

#[test]
fn a_session_is_resumed_from_the_sidebar() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    past(&env, &server, "which colour?", "Blue.");
    server.reply(ServerReply::text("Because of the sky."));
    let mut slug = PtySlug::chat(&env, &server);
    open_list(&mut slug);
    slug.keys(key::ENTER);
    slug.wait_for("Blue.");
    slug.say("why?");
    slug.wait_for("Because of the sky.");
    let answer = json!({"role": "assistant", "content": "Blue."});
    assert!(server.chat_requests()[1].messages().contains(&answer));
    server.assert_clean();
}

#[test]
fn a_session_is_forked_from_the_sidebar() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    past(&env, &server, "which colour?", "Blue.");
    server.reply(ServerReply::text("Because of the sky."));
    let mut slug = PtySlug::chat(&env, &server);
    open_list(&mut slug);
    slug.keys("f");
    slug.wait_for("Blue.");
    slug.say("why?");
    slug.wait_for("Because of the sky.");
    slug.quit();
    server.assert_clean();
    let sessions = env.sessions();
    assert_eq!(sessions.len(), 2, "{sessions:?}");
    let original = sessions.iter().find(|it| it["forked_from"].is_null()).unwrap();
    let fork = sessions.iter().find(|it| !it["forked_from"].is_null()).unwrap();
    assert!(fork["forked_from"].to_string().contains(original["session_id"].as_str().unwrap()));
    assert!(fork["message_count"].as_u64() > original["message_count"].as_u64(), "{sessions:?}");
}

#[test]
fn a_text_in_a_past_session_is_found_and_opened() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    past(&env, &server, "which colour?", "Blue, of course.");
    past(&env, &server, "and grass?", "Green.");
    let mut slug = PtySlug::chat(&env, &server);
    open_list(&mut slug);
    slug.keys("/of course");
    slug.wait_until("the place that has it", |screen| {
        screen.contains("Blue, of course.") && !screen.contains("│   and grass?")
    });
    slug.keys(key::ENTER);
    slug.wait_until("the session, standing on the match", |screen| {
        screen.contains("1 of 1") && screen.contains("which colour?")
    });
    slug.keys(key::ESC);
    slug.wait_until("the list again", |screen| {
        screen.contains("/ of course") && !screen.contains("1 of 1")
    });
    // Back to the input, to type the command to leave.
    slug.keys("\t");
    slug.quit();
}

#[test]
fn after_a_kill_in_mid_answer_the_message_is_still_there() {
    let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
    server.reply(ServerReply::text("one two three four five").gated(&gate));
    server.reply(ServerReply::text("Counted."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("count to five");
    gate.let_through(4);
    slug.wait_for("one two three");
    slug.kill();
    let mut slug = PtySlug::chat_with(&env, &server, &["--continue"]);
    slug.wait_for("count to five");
    slug.say("again");
    slug.wait_for("Counted.");
    server.assert_clean();
}

#[test]
fn after_a_kill_in_mid_command_the_call_is_answered() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "echo begun > begun; sleep 300"));
    server.reply(ServerReply::text("It was cut short."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("wait");
    slug.answer("sleep 300", "y");
    assert!(wait_until(|| env.path("begun").exists()));
    slug.kill();
    let mut slug = PtySlug::chat_with(&env, &server, &["--continue"]);
    slug.wait_for("sleep 300");
    slug.say("what happened?");
    slug.wait_for("It was cut short.");
    let told = result_of(&server.chat_requests()[1], "c1");
    assert!(told.to_lowercase().contains("interrupted"), "{told}");
    server.assert_clean();
}

#[test]
fn after_a_kill_the_draft_is_still_there() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let mut slug = PtySlug::chat(&env, &server);
    slug.keys("half a thought");
    slug.wait_for("half a thought");
    let drafts = env.slug_home().join("drafts");
    let is_saved = || {
        let entries = std::fs::read_dir(&drafts).into_iter().flatten().flatten();
        let mut saved = entries.filter(|it| it.path().extension().is_some_and(|it| it == "json"));
        saved.any(|it| std::fs::read_to_string(it.path()).is_ok_and(|it| it.contains("half a")))
    };
    assert!(wait_until(is_saved), "no draft in {}", drafts.display());
    slug.kill();
    let mut slug = PtySlug::chat(&env, &server);
    slug.wait_for("❯ half a thought");
}

#[test]
fn messages_that_wait_are_in_the_input_after_slug_was_left() {
    let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
    server.reply(ServerReply::text("First answer.").gated(&gate));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("what is this?");
    for waiting in ["and that?", "and all the rest?"] {
        server.wait_for_requests(1);
        slug.say(waiting);
        slug.wait_for_no(&format!("❯ {waiting}"));
    }
    slug.keys(key::ESC);
    slug.wait_for("Several messages queued");
    slug.quit();
    let mut slug = PtySlug::chat(&env, &server);
    slug.wait_for("❯ and that?");
    slug.wait_for("and all the rest?");
}

#[test]
fn a_session_is_forked_from_any_message() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Blue."));
    server.reply(ServerReply::text("Because of the sky."));
    server.reply(ServerReply::text("Then green."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("which colour?");
    slug.wait_for("Blue.");
    slug.say("why?");
    slug.wait_for("Because of the sky.");
    // To the panes, first the newest, and back to the first answer.
    slug.keys("\t");
    slug.wait_for("f fork");
    // A turn that took its time has a line at its end, which is a pane, too.
    while !slug.screen().contains("▎Blue.") {
        let before = slug.screen();
        slug.keys("k");
        slug.wait_until("another pane with the focus", |screen| screen != before);
    }
    slug.keys("f");
    slug.wait_for_no("Because of the sky.");
    slug.wait_for("Blue.");
    slug.say("another one");
    slug.wait_for("Then green.");
    let body = server.chat_requests()[2].body["messages"].to_string();
    assert!(body.contains("Blue.") && !body.contains("Because of the sky."), "{body}");
    server.assert_clean();
    assert_eq!(env.sessions().len(), 2);
}

#[test]
fn a_session_is_renamed_in_the_sidebar() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    past(&env, &server, "which colour?", "Blue.");
    let mut slug = PtySlug::chat(&env, &server);
    open_list(&mut slug);
    slug.keys("r");
    slug.keys(key::CTRL_U);
    slug.keys("About the sky");
    slug.wait_for("About the sky");
    slug.keys(key::ENTER);
    assert!(wait_until(|| env.sessions()[0]["title"] == "About the sky"), "{:?}", env.sessions());
}

#[test]
fn a_deleted_session_can_be_brought_back() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    past(&env, &server, "which colour?", "Blue.");
    let mut slug = PtySlug::chat(&env, &server);
    open_list(&mut slug);
    slug.keys("d");
    assert!(wait_until(|| env.sessions().is_empty()), "{:?}", env.sessions());
    assert!(std::fs::read_dir(env.slug_home().join("trash")).unwrap().next().is_some());
    slug.keys("u");
    assert!(wait_until(|| env.sessions().len() == 1));
    slug.wait_for("which colour?");
}

#[test]
fn a_session_that_is_open_elsewhere_is_not_written_to() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Blue."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("which colour?");
    slug.wait_for("Blue.");
    let id = env.sessions()[0]["session_id"].as_str().unwrap().to_owned();
    let mut second = PtySlug::chat_with(&env, &server, &["--resume", &id]);
    second.wait_for("is open in process");
    // The new message goes into a new session.
    server.reply(ServerReply::text("Why what?"));
    second.say("why?");
    second.wait_for("Why what?");
    assert!(!server.chat_requests()[1].body.to_string().contains("Blue."));
    assert_eq!(env.sessions().len(), 2);
}

#[test]
fn a_torn_record_at_the_end_costs_nothing_but_itself() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    past(&env, &server, "which colour?", "Blue.");
    let id = env.sessions()[0]["session_id"].as_str().unwrap().to_owned();
    let log = env.slug_home().join(format!("sessions/{id}.jsonl"));
    let whole = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, format!("{whole}{{\"id\":\"0190")).unwrap();
    server.reply(ServerReply::text("Because of the sky."));
    let mut slug = PtySlug::chat_with(&env, &server, &["--continue"]);
    slug.wait_for("Blue.");
    slug.wait_for("last line was cut off");
    slug.say("why?");
    slug.wait_for("Because of the sky.");
    server.assert_clean();
    let now = std::fs::read_to_string(&log).unwrap();
    assert!(now.starts_with(&whole) && now.len() > whole.len());
    assert!(now.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
}

#[test]
fn a_session_of_another_folder_can_be_read_and_says_how_to_go_on() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    past(&env, &server, "which colour?", "Blue.");
    let id = env.sessions()[0]["session_id"].as_str().unwrap().to_owned();
    std::fs::create_dir(env.path("elsewhere")).unwrap();
    let arguments = ["--directory", "elsewhere", "--resume", &id];
    let mut slug = PtySlug::chat_with(&env, &server, &arguments);
    slug.wait_for("Blue.");
    slug.wait_for("This session belongs to");
    slug.say("why?");
    slug.wait_for_no("Sending");
    slug.wait_for("What should I do?");
    assert_eq!(server.chat_requests().len(), 1);
}
