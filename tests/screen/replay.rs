//! `slug replay` on a terminal, and as files.

use std::fs;
use std::path::PathBuf;

use crate::bash;
use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::terminal::{PtySlug, key};
use crate::support::test_env::TestEnv;

const LEFT: &str = "\x1b[D";
const HOME: &str = "\x1b[H";
const SECRET: &str = "ghp_Z9x8Y7w6V5u4T3s2R1q0Z9x8Y7w6V5u4T3s2R1q0";

/// Leaves a session with an approved command behind, whose output holds a secret. Returns its id and
/// log.
fn past(env: &TestEnv, server: &ModelServer) -> (String, PathBuf) {
    server.reply(bash("c1", &format!("touch made; echo {SECRET}")));
    server.reply(ServerReply::text("It is **done**."));
    let mut slug = PtySlug::chat(env, server);
    slug.say("make the file");
    slug.answer("touch made", "y");
    slug.wait_for("It is done.");
    slug.quit();
    let id = env.sessions()[0]["session_id"].as_str().unwrap().to_owned();
    let log = env.slug_home().join(format!("sessions/{id}.jsonl"));
    (id, log)
}

#[test]
fn a_replay_is_played_with_its_keys_and_leaves_the_log_alone() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let (id, log) = past(&env, &server);
    let (before, requests) = (fs::read(&log).unwrap(), server.chat_requests().len());
    fs::remove_file(env.workspace().join("made")).unwrap();
    let mut slug = PtySlug::at(&env, 80, 24).args(&["replay", &id]).open();
    slug.wait_for("space pause");
    slug.wait_for("the end");
    slug.wait_for("It is done.");
    assert!(!slug.screen().contains("ghp_"), "{}", slug.screen());
    slug.keys(LEFT);
    slug.wait_for("paused");
    slug.wait_for_no("It is done.");
    slug.keys(key::RIGHT);
    slug.wait_for("It is done.");
    // An answer to a question of the past is none, and neither is text.
    slug.keys("y");
    slug.keys("hello\r");
    slug.keys(&format!("{}+", HOME));
    slug.wait_for("2×");
    slug.keys(" ");
    slug.wait_for("❯ make the file");
    assert!(!slug.screen().contains("hello"), "{}", slug.screen());
    slug.keys("q");
    slug.wait();
    assert_eq!(fs::read(&log).unwrap(), before);
    assert_eq!(server.chat_requests().len(), requests, "no model is asked");
    assert!(!env.workspace().join("made").exists(), "nothing ran again");
    assert_eq!(env.sessions().len(), 1);
}

#[test]
fn s105_a_replay_is_written_in_each_form_without_secrets() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let (id, log) = past(&env, &server);
    let before = fs::read(&log).unwrap();
    for (form, begins) in [
        ("asciicast", "{\"version\":2,\"width\":90,\"height\":30,"),
        ("asciicast-v3", "{\"version\":3,\"term\":{\"cols\":90,\"rows\":30},"),
        ("svg", "<svg xmlns="),
        ("html", "<!doctype html>"),
        ("text", "   0:0"),
    ] {
        let file = env.workspace().join("replay");
        let path = file.to_str().unwrap();
        let arguments = ["replay", &id, "--format", form, "--size", "90x30", "--out", path];
        let ran = env.run(&arguments).assert_exit_code(0);
        assert!(ran.err.contains("redacted"), "{}", ran.err);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with(begins), "{form}: {}", &text[..60]);
        assert!(text.contains("make the file") && !text.contains(SECRET), "{form}");
        let printed = env.run(&arguments[..6]).assert_exit_code(0);
        assert_eq!(printed.out, text, "the same on standard output");
    }
    assert_eq!(fs::read(&log).unwrap(), before);
}

#[test]
fn a_replay_without_a_terminal_says_what_to_do() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let (id, _) = past(&env, &server);
    let ran = env.run(&["replay", &id]).assert_exit_code(1);
    assert!(ran.err.contains("--format text"), "{}", ran.err);
    for wrong in [["--size", "9x9"], ["--speed", "0"], ["--max-pause", "-1"]] {
        let arguments = [&["replay", &id, "--format", "svg"], wrong.as_slice()].concat();
        env.run(&arguments).assert_exit_code(2);
    }
}
