//! Messages and answers.

use serde_json::json;

use crate::support::model_server::{ModelServer, ReplyGate, ServerReply};
use crate::support::terminal::{PtySlug, key};
use crate::support::test_env::TestEnv;
use crate::{last_user_text, result_of};

#[test]
fn an_answer_is_shown_as_markdown() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("# Findings\n\nIt is **quite** good:\n\n- `one` thing\n"));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("how is it?");
    slug.wait_until("the answer without its marks", |screen| {
        screen.contains("Findings")
            && screen.contains("It is quite good:")
            && screen.contains("one thing")
            && !screen.contains("# Findings")
            && !screen.contains("**")
    });
    let request = &server.chat_requests()[0];
    assert!(last_user_text(request).contains("how is it?"));
    server.assert_clean();
}

#[test]
fn a_second_message_continues_the_conversation() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Blue."));
    server.reply(ServerReply::text("Because of the sky."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("which colour?");
    slug.wait_for("Blue.");
    slug.say("why?");
    slug.wait_for("Because of the sky.");
    let requests = server.chat_requests();
    let answer = json!({"role": "assistant", "content": "Blue."});
    assert!(requests[1].messages().contains(&answer), "{}", requests[1].body);
    server.assert_clean();
}

#[test]
fn reading_inside_the_workspace_is_not_asked_about() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("notes.txt", "the answer is 42\n");
    server.reply(ServerReply::calls("", &[("c1", "Read", json!({"file_path": "notes.txt"}))]));
    server.reply(ServerReply::text("It says 42."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("what do the notes say?");
    slug.wait_for("It says 42.");
    assert!(result_of(&server.chat_requests()[1], "c1").contains("the answer is 42"));
    server.assert_clean();
}

#[test]
fn text_typed_during_an_answer_is_sent_afterwards() {
    let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
    server.reply(ServerReply::text("First answer.").gated(&gate));
    server.reply(ServerReply::text("Second answer."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("first question");
    server.wait_for_requests(1);
    slug.say("second question");
    slug.wait_for("queued");
    assert_eq!(server.chat_requests().len(), 1);
    gate.open();
    slug.wait_for("Second answer.");
    assert!(last_user_text(&server.chat_requests()[1]).contains("second question"));
    server.assert_clean();
}

#[test]
fn a_waiting_message_can_be_taken_back() {
    let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
    server.reply(ServerReply::text("First answer.").gated(&gate));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("first question");
    server.wait_for_requests(1);
    slug.say("second question");
    slug.wait_for("queued");
    slug.keys(key::UP);
    slug.wait_for_no("queued");
    slug.wait_for("❯ second question");
    gate.open();
    slug.wait_for("First answer.");
    assert_eq!(server.chat_requests().len(), 1);
}

#[test]
fn a_message_can_be_sent_into_the_running_turn() {
    let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
    env.write("a.txt", "alpha\n");
    let read = ServerReply::calls("", &[("c1", "Read", json!({"file_path": "a.txt"}))]);
    server.reply(read.gated(&gate));
    server.reply(ServerReply::text("In German: Alpha."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("read a.txt");
    server.wait_for_requests(1);
    slug.keys("answer in German");
    slug.wait_for("answer in German");
    slug.keys(key::CTRL_S);
    slug.wait_for("next step");
    gate.open();
    slug.wait_for("In German: Alpha.");
    let request = &server.chat_requests()[1];
    assert!(result_of(request, "c1").contains("alpha"));
    assert!(last_user_text(request).contains("answer in German"), "{}", request.body);
    server.assert_clean();
}

#[test]
fn a_command_of_the_user_runs_and_the_model_sees_it() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("It greets you."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("!echo he''llo there");
    slug.wait_until("the output, once it has run", |screen| {
        screen.contains("hello there") && !screen.contains("running")
    });
    assert_eq!(server.chat_requests().len(), 0);
    slug.say("what did that print?");
    slug.wait_for("It greets you.");
    let request = &server.chat_requests()[0];
    assert!(last_user_text(request).contains("hello there"), "{}", request.body);
    server.assert_clean();
}

#[test]
fn a_resize_while_it_streams_lays_everything_out_anew() {
    let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
    let words: Vec<String> = (0..40).map(|number| format!("word{number} ")).collect();
    let reply = ServerReply::words(words.iter().map(String::as_str)).gated(&gate);
    server.reply(reply);
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("count");
    gate.let_through(21);
    slug.wait_for("word19");
    slug.resize(60, 24);
    slug.wait_until("a narrow screen", |screen| {
        let rule = "─".repeat(60);
        screen.lines().filter(|row| *row == rule).count() == 2 && screen.contains("word19")
    });
    gate.open();
    slug.wait_for("word39");
    slug.resize(120, 40);
    slug.wait_until("a wide screen with every word in order", |screen| {
        let rule = "─".repeat(120);
        let shown: Vec<&str> =
            screen.split_whitespace().filter(|word| word.starts_with("word")).collect();
        screen.contains(&rule) && shown.iter().copied().eq(words.iter().map(|word| word.trim()))
    });
}

#[test]
fn a_server_that_is_not_there_is_named_with_what_to_do() {
    let env = TestEnv::new();
    let endpoint = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/v1", listener.local_addr().unwrap())
    };
    let arguments = ["--trust-workspace", "-m", "test-model", "-e", &endpoint];
    let mut slug = PtySlug::at(&env, 120, 30).args(&arguments).open();
    slug.wait_for("test-model");
    slug.say("hello");
    slug.wait_for("No server answers at");
}

#[test]
fn a_message_into_a_turn_without_another_step_is_sent_after_it() {
    let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
    server.reply(ServerReply::text("First answer.").gated(&gate));
    server.reply(ServerReply::text("In German, then."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("question");
    server.wait_for_requests(1);
    slug.keys("answer in German");
    slug.wait_for("answer in German");
    slug.keys(key::CTRL_S);
    slug.wait_for("next step");
    gate.open();
    slug.wait_for("In German, then.");
    assert!(last_user_text(&server.chat_requests()[1]).contains("answer in German"));
    server.assert_clean();
}

#[test]
fn thinking_is_folded_and_opens_on_a_key() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::thinking("Let me ponder deeply.", "Four."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("two and two?");
    slug.wait_for("Four.");
    slug.wait_until("a folded pane", |screen| {
        screen.contains("Thought") && !screen.contains("ponder deeply")
    });
    // ctrl+o
    slug.keys("\x0f");
    slug.wait_for("Let me ponder deeply.");
}

#[test]
fn any_size_of_the_screen_is_survived() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nlast words"));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("show me");
    slug.wait_for("last words");
    for (columns, rows) in [(40, 12), (20, 5), (1, 1), (300, 100), (80, 24)] {
        slug.resize(columns, rows);
    }
    slug.wait_until("the screen at its last size", |screen| {
        screen.contains("last words") && screen.contains(&"─".repeat(80))
    });
    slug.quit();
}
