//! Sessions that a run continues or forks, and those that it does not.

use serde_json::json;

use crate::support::model_server::{ModelServer, ReplyGate, ServerReply};
use crate::support::test_env::TestEnv;

#[test]
fn continue_goes_on_with_the_newest_session() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Blue."));
    server.reply(ServerReply::text("Because of the sky."));
    env.ask(&server, &["-p", "which colour?"]).assert_exit_code(0);
    env.ask(&server, &["--continue", "-p", "why?"]).assert_exit_code(0);
    let answer = json!({"role": "assistant", "content": "Blue."});
    assert!(server.chat_requests()[1].messages().contains(&answer));
    server.assert_clean();
    assert_eq!(env.sessions().len(), 1);
}

#[test]
fn a_fork_leaves_the_session_as_it_was() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Blue."));
    server.reply(ServerReply::text("Because of the sky."));
    let first =
        env.ask(&server, &["-p", "which colour?", "--output-format", "json"]).assert_exit_code(0);
    let session = first.json()["session_id"].as_str().unwrap().to_owned();
    let before = env.run(&["sessions", "show", &session, "--json"]).out;
    env.ask(&server, &["--fork-session", &session, "-p", "why?"]).assert_exit_code(0);
    assert_eq!(env.run(&["sessions", "show", &session, "--json"]).out, before);
    assert_eq!(env.sessions().len(), 2);
    server.assert_clean();
}

#[test]
fn without_a_session_there_is_nothing_to_continue() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let ran = env.ask(&server, &["--continue", "-p", "why?"]).assert_exit_code(1);
    assert!(ran.err.contains("This folder has no session"), "{}", ran.describe());
}

/// An environment with one session, its id, and its server.
fn with_a_session() -> (TestEnv, String, ModelServer) {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Blue."));
    let first =
        env.ask(&server, &["-p", "which colour?", "--output-format", "json"]).assert_exit_code(0);
    let session = first.json()["session_id"].as_str().unwrap().to_owned();
    (env, session, server)
}

#[test]
fn a_session_that_is_not_there_is_not_replaced_by_another() {
    let (env, _, server) = with_a_session();
    for flag in ["--resume", "--fork-session"] {
        let missing = "0190a1b2-0000-7000-8000-000000000001";
        let ran = env.ask(&server, &[flag, missing, "-p", "why?"]).assert_exit_code(1);
        assert!(ran.err.contains("`slug sessions list`"), "{}", ran.describe());
    }
    assert_eq!(server.chat_requests().len(), 1);
}

#[test]
fn a_session_of_another_folder_is_not_gone_on_with() {
    let (env, session, server) = with_a_session();
    std::fs::create_dir(env.path("elsewhere")).unwrap();
    let arguments = ["--directory", "elsewhere", "--resume", &session, "-p", "why?"];
    let ran = env.ask(&server, &arguments).assert_exit_code(1);
    assert!(ran.err.contains("This session belongs to"), "{}", ran.describe());
    assert_eq!(server.chat_requests().len(), 1);
}

#[test]
fn a_session_that_is_in_use_is_not_gone_on_with() {
    let (env, session, server) = with_a_session();
    let gate = ReplyGate::closed();
    server.reply(ServerReply::text("Sky.").gated(&gate));
    let mut first = env.ask_in_background(&server, &["--resume", &session, "-p", "why?"]);
    server.wait_for_requests(2);
    let arguments = ["--resume", &session, "-p", "how?", "--output-format", "json"];
    let ran = env.ask(&server, &arguments).assert_exit_code(1);
    let result = ran.json();
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.contains("is open in process"), "{result}");
    assert_eq!(server.chat_requests().len(), 2);
    gate.open();
    assert!(first.wait().unwrap().success());
}
