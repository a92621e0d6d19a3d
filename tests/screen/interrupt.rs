//! Escape and ctrl+c while something runs.

use std::time::{Duration, Instant};

use rustix::process::test_kill_process;
use serde_json::json;

use crate::support::model_server::{ModelServer, ReplyGate, ServerReply, wait_until};
use crate::support::terminal::{PtySlug, key};
use crate::support::test_env::TestEnv;
use crate::{bash, pid, result_of};

const STOPPED: &str = "You stopped the turn";

/// Waits until a stopped turn is over: text typed before that is only sent with the next message.
fn wait_for_the_end(slug: &mut PtySlug) {
    slug.wait_until("the end of the turn", |screen| {
        screen.contains(STOPPED) && screen.contains("What should I do?")
    });
}

#[test]
fn escape_stops_an_answer_at_once() {
    let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
    server.reply(ServerReply::text("one two three four five").gated(&gate));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("count");
    gate.let_through(4);
    slug.wait_for("one two three");
    let began = Instant::now();
    slug.keys(key::ESC);
    slug.wait_for(STOPPED);
    let took = began.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn a_pause_counts_down_until_escape_ends_it() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::error(429, "slow down").with_header("retry-after", "50"));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("hello");
    slug.wait_for("s (1 of 5) · esc stops");
    let left = |screen: &str| {
        let (_, rest) = screen.split_once("Trying again in ")?;
        rest.split(' ').next()?.parse::<u32>().ok()
    };
    slug.wait_until("a second less", |screen| left(screen).is_some_and(|left| left < 50));
    slug.keys(key::ESC);
    wait_for_the_end(&mut slug);
    // The next message is held back, since the server asked to be left alone.
    slug.say("and now?");
    slug.wait_for("s for the server · esc stops");
    assert_eq!(server.chat_requests().len(), 1);
    slug.keys(key::ESC);
    slug.wait_until("both stopped", |screen| screen.matches(STOPPED).count() == 2);
}

#[test]
fn a_server_that_still_loads_its_model_is_waited_for_until_escape() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let loading = json!({"error":
        {"code": 503, "message": "Loading model", "type": "unavailable_error"}});
    server.answer("GET /v1/models", ServerReply::json(503, &loading));
    let arguments = ["--trust-workspace", "-e", &server.endpoint()];
    let mut slug = PtySlug::at(&env, 100, 30).args(&arguments).open();
    slug.wait_for("is still loading the model");
    slug.say("hello");
    slug.wait_until("the countdown", |screen| {
        screen.contains("Trying again in") && screen.contains(" of 36) · esc stops")
    });
    slug.keys(key::ESC);
    wait_for_the_end(&mut slug);
    let list = json!({"data": [{"id": "late-model"}]});
    server.answer("GET /v1/models", ServerReply::json(200, &list));
    server.reply(ServerReply::text("Awake."));
    slug.say("and now?");
    slug.wait_for("Awake.");
    assert_eq!(server.chat_requests()[0].body["model"], "late-model");
}

#[test]
fn the_server_sees_the_connection_closed() {
    let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
    server.reply(ServerReply::text("one two three four five").gated(&gate));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("count");
    gate.let_through(4);
    slug.wait_for("one two three");
    slug.keys(key::ESC);
    assert!(wait_until(|| server.aborted_replies() == 1), "the server still generates");
}

#[test]
fn a_partial_answer_is_kept_and_the_next_message_works() {
    let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
    server.reply(ServerReply::text("one two three four five").gated(&gate));
    server.reply(ServerReply::text("Four and five."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("count");
    gate.let_through(4);
    slug.wait_for("one two three");
    slug.keys(key::ESC);
    slug.wait_for(STOPPED);
    slug.say("go on");
    slug.wait_for("Four and five.");
    slug.wait_for("one two three");
    let request = &server.chat_requests()[1];
    assert!(request.body.to_string().contains("one two three"), "{}", request.body);
    server.assert_clean();
}

#[test]
fn escape_ends_a_running_command_with_its_children() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "sleep 300 & echo $! > pid; wait"));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("wait");
    slug.answer("sleep 300", "y");
    let sleeper = pid(&env.path("pid"));
    slug.keys(key::ESC);
    slug.wait_for(STOPPED);
    assert!(wait_until(|| test_kill_process(sleeper).is_err()), "{sleeper:?} still runs");
}

#[test]
fn the_history_stays_valid_after_a_stopped_command() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "echo begun; echo $$ > pid; sleep 300"));
    server.reply(ServerReply::text("Onwards."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("wait");
    slug.answer("sleep 300", "y");
    pid(&env.path("pid"));
    slug.keys(key::ESC);
    slug.wait_for(STOPPED);
    slug.say("never mind");
    slug.wait_for("Onwards.");
    let told = result_of(&server.chat_requests()[1], "c1");
    assert!(told.contains("begun") && told.contains("stopped by the user"), "{told}");
    server.assert_clean();
}

#[test]
fn escape_in_a_question_is_a_no_and_stops_the_turn() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "touch made"));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("run it");
    slug.answer("touch made", key::ESC);
    slug.wait_for("What should I do?");
    assert!(!env.path("made").exists());
    // The call has a result in the next request.
    server.reply(ServerReply::text("As you wish."));
    slug.say("go on");
    slug.wait_for("As you wish.");
    server.assert_clean();
}

#[test]
fn ctrl_c_clears_the_input_first_and_then_stops_the_turn() {
    let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
    server.reply(ServerReply::text("one two three four five").gated(&gate));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("count");
    gate.let_through(4);
    slug.wait_for("one two three");
    slug.keys("half a thought");
    slug.wait_for("half a thought");
    slug.keys(key::CTRL_C);
    slug.wait_for_no("half a thought");
    assert_eq!(server.aborted_replies(), 0);
    slug.keys(key::CTRL_C);
    slug.wait_for(STOPPED);
}
