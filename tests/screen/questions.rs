//! Questions on a real terminal: text typed before a question could be read, at slug or at a shell,
//! answers none of them.

use rustix::process::Signal;
use serde_json::json;

use crate::bash;
use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::terminal::{PtySlug, key};
use crate::support::test_env::TestEnv;

const TRUST: &str = "Do you trust this folder?";
const FOCUS_LOST: &str = "\x1b[O";
const FOCUS_GAINED: &str = "\x1b[I";

/// A folder whose hook creates a file when a session begins.
fn hostile() -> TestEnv {
    let env = TestEnv::new();
    env.write(
        ".slug/settings.json",
        r#"{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch ran"}]}]}}"#,
    );
    env
}

/// slug in a folder that the user was never asked about.
fn begun<'a>(
    env: &'a TestEnv,
    server: &ModelServer,
) -> crate::support::terminal::PtySlugBuilder<'a> {
    PtySlug::at(env, 100, 30).args(&["-m", "test-model", "-e", &server.endpoint()])
}

/// slug as a job of a shell, at the question whether a file may be written.
fn asked_in_a_shell(env: &TestEnv, server: &ModelServer, arguments: &[&str]) -> PtySlug {
    server.reply(bash("c1", "touch made"));
    server.reply(ServerReply::text("As you wish."));
    PtySlug::at(env, 100, 30).server(server).args(arguments).in_shell().open()
}

#[test]
fn what_is_typed_while_slug_starts_trusts_no_folder() {
    for ahead in ["why does it fail", "y", "y\r", "yyyyyyyyyyyyyyyy\r\r"] {
        let (env, server) = (hostile(), ModelServer::start());
        let mut slug = begun(&env, &server).open();
        slug.keys(ahead);
        slug.wait_for_question(TRUST);
        slug.wait_for("on SessionStart runs touch ran");
        slug.keys("n");
        slug.wait_for("test-model");
        slug.quit();
        assert!(!env.path("ran").exists(), "{ahead:?}");
    }
}

#[test]
fn what_is_typed_at_a_shell_behind_the_command_trusts_no_folder() {
    let (env, server) = (hostile(), ModelServer::start());
    let mut slug = begun(&env, &server).in_shell().open();
    slug.keys("why does it fail");
    slug.wait_for_question(TRUST);
    slug.keys("y");
    slug.wait_for("What should I do?");
    assert!(crate::support::model_server::wait_until(|| env.path("ran").exists()));
}

#[test]
fn enter_trusts_no_folder() {
    let (env, server) = (hostile(), ModelServer::start());
    let mut slug = begun(&env, &server).open();
    slug.wait_for_question(TRUST);
    slug.keys(key::ENTER);
    slug.wait_for("What should I do?");
    slug.quit();
    assert!(!env.path("ran").exists());
    // Nor was it remembered as an answer.
    let mut slug = begun(&env, &server).open();
    slug.wait_for_question(TRUST);
}

#[test]
fn a_folder_is_trusted_once_the_end_of_what_it_brings_was_shown() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let rules: Vec<String> = (0..60).map(|n| format!("Bash(make {n})")).collect();
    let hook = json!({"hooks": [{"type": "command", "command": "touch ran"}]});
    let settings = json!({"permissions": {"allow": rules}, "hooks": {"SessionStart": [hook]}});
    env.write("AGENTS.md", "Be brief.\n");
    env.write(".slug/settings.json", &settings.to_string());
    let mut slug = begun(&env, &server).open();
    slug.wait_for_question(TRUST);
    // What runs programs is listed above the rules.
    assert!(slug.screen().contains("on SessionStart runs touch ran"), "{}", slug.screen());
    slug.keys("y");
    slug.wait_for_question("then y");
    slug.keys(key::END);
    slug.wait_for("Bash(make 59)");
    slug.wait_for("1 line of instructions");
    slug.keys("y");
    slug.wait_for("What should I do?");
    assert!(crate::support::model_server::wait_until(|| env.path("ran").exists()));
}

#[test]
fn what_is_typed_at_the_shell_behind_fg_is_no_answer() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let mut slug = asked_in_a_shell(&env, &server, &[]);
    slug.wait_for("What should I do?");
    slug.say("run it");
    slug.wait_for_dialog("touch made");
    for stop in [None, Some(Signal::TSTP), Some(Signal::STOP)] {
        match stop {
            None => slug.keys(key::CTRL_Z),
            Some(signal) => slug.signal_child(signal),
        }
        slug.wait_for("Stopped");
        slug.keys("fg\ny");
        slug.wait_for_dialog("touch made");
        slug.wait_for_no("Stopped");
        assert!(!env.path("made").exists(), "{stop:?}");
    }
    slug.keys("n");
    slug.wait_for("As you wish.");
    assert!(!env.path("made").exists());
}

#[test]
fn keys_that_wait_as_the_window_gets_the_focus_are_no_answer() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "touch made"));
    server.reply(ServerReply::text("As you wish."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("run it");
    slug.wait_for_dialog("touch made");
    slug.keys(FOCUS_LOST);
    slug.keys(&format!("{FOCUS_GAINED}y"));
    slug.wait_for("❯ y");
    slug.wait_for_dialog("touch made");
    assert!(!env.path("made").exists());
    slug.keys("n");
    slug.wait_for("As you wish.");
    assert!(!env.path("made").exists());
}

#[test]
fn enter_takes_the_marked_answer_and_never_a_yes_to_danger() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("kept", "");
    env.write_home("keys.toml", "[approval]\naccept = []\nonce = [\"y\", \"enter\"]\n");
    server.reply(bash("c1", "rm kept"));
    server.reply(bash("c2", "touch made"));
    server.reply(ServerReply::text("As you wish."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("run it");
    slug.wait_for_dialog("rm kept");
    slug.wait_for("Deletes files");
    slug.keys("\r\r\r");
    slug.wait_for_dialog("rm kept");
    assert!(env.path("kept").exists());
    slug.keys("n");
    slug.wait_for_dialog("touch made");
    slug.keys("\r");
    slug.wait_for("As you wish.");
    assert!(env.path("kept").exists() && env.path("made").exists());
}

#[test]
fn a_file_that_is_longer_than_the_screen_is_written_once_its_end_was_seen() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let text: String = (0..90).map(|n| format!("line {n}\n")).collect();
    let input = json!({"file_path": env.path("long.txt"), "content": text});
    server.reply(ServerReply::calls("", &[("c1", "Write", input)]));
    server.reply(ServerReply::text("Written."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("write it");
    slug.wait_for_dialog("long.txt");
    for key in ["y", "s", "a"] {
        slug.keys(key);
        slug.wait_for_dialog("Scroll to the end");
    }
    assert!(!env.path("long.txt").exists());
    slug.keys(key::END);
    slug.wait_for("line 89");
    slug.keys("y");
    slug.wait_for("Written.");
    assert_eq!(env.read("long.txt"), text);
}

#[test]
fn a_line_that_was_typed_before_the_question_is_no_answer_in_the_linear_mode() {
    let (env, server) = (hostile(), ModelServer::start());
    let mut slug = begun(&env, &server).args(&["--linear"]).open();
    slug.keys("y\ry");
    slug.wait_for_raw("the question", |raw| raw.ends_with("> "));
    slug.wait_for_question(TRUST);
    // The half line was dropped, too.
    slug.keys("\r");
    slug.wait_for_raw("the question again", |raw| raw.matches(TRUST).count() == 2);
    slug.wait_for_question(TRUST);
    slug.keys("n\r");
    slug.wait_for_raw("a prompt", |raw| raw.ends_with("You: "));
    slug.keys("/quit\r");
    assert!(slug.wait().success());
    assert!(!env.path("ran").exists());
}

#[test]
fn what_is_typed_at_the_shell_behind_fg_is_no_answer_in_the_linear_mode() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let mut slug = asked_in_a_shell(&env, &server, &["--linear"]);
    slug.wait_for_raw("a prompt", |raw| raw.ends_with("You: "));
    slug.keys("run it\n");
    slug.wait_for_raw("the question", |raw| raw.ends_with("Answer: "));
    slug.wait_for_question("touch made");
    slug.keys(key::CTRL_Z);
    slug.wait_for("Stopped");
    slug.keys("fg\ny\n");
    slug.wait_for_raw("that it was too early", |raw| raw.contains("before the question"));
    slug.wait_for_raw("the question again", |raw| raw.ends_with("Answer: "));
    assert!(!env.path("made").exists());
    slug.wait_for_question("touch made");
    slug.keys("n\n");
    slug.wait_for("As you wish.");
    assert!(!env.path("made").exists());
}

#[test]
fn a_line_that_was_typed_ahead_allows_no_unencrypted_server() {
    let env = TestEnv::new();
    let arguments = ["-m", "test-model", "-e", "http://192.0.2.1:9/v1", "--trust-workspace"];
    let mut slug = PtySlug::at(&env, 100, 30).args(&arguments).open();
    slug.keys("y\ry");
    slug.wait_for_question("Use it all the same");
    slug.wait_for_question("Use it all the same");
    slug.keys("\r");
    assert!(!slug.wait().success());
    assert!(slug.raw().contains("allow this origin"), "{}", slug.raw());
    let kept = std::fs::read_dir(env.slug_home()).unwrap().filter_map(|file| {
        std::fs::read_to_string(file.unwrap().path()).ok().filter(|text| text.contains("192.0.2.1"))
    });
    assert_eq!(kept.count(), 0);
}
