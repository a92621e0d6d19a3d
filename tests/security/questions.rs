//! One guard for every question: keys that were typed before the question could be read answer
//! nothing, Enter never says yes, and a yes counts only after the end of what it approves was on
//! screen.

use rustix::process::Signal;
use serde_json::json;

use crate::bash;
use crate::support::model_server::{ModelServer, ReplyGate, ServerReply, wait_until};
use crate::support::terminal::{PtySlug, key};
use crate::support::test_env::TestEnv;

const TRUST: &str = "Do you trust this folder?";

/// A folder whose hook leaves a trace when it runs.
fn hostile() -> TestEnv {
    let env = TestEnv::new();
    let hook = json!({"hooks": [{"type": "command", "command": "touch ran"}]});
    env.write(".slug/hooks.json", &json!({"hooks": {"SessionStart": [hook]}}).to_string());
    env
}

#[test]
fn no_other_key_than_y_trusts_a_folder() {
    let (env, server) = (hostile(), ModelServer::start());
    for keys in [" s", "a", "\r\r\r", "\t\r", "te"] {
        let endpoint = server.endpoint();
        let mut slug =
            PtySlug::at(&env, 100, 30).args(&["-m", "test-model", "-e", &endpoint]).open();
        slug.wait_for_question(TRUST);
        slug.keys(keys);
        if slug.screen().contains(TRUST) {
            slug.wait_for_question_after_text(TRUST);
            slug.keys("n");
        }
        // The `n` may come behind the answer, and be typed into the chat.
        slug.wait_for("enter send");
        slug.kill();
        assert!(!env.path("ran").exists(), "{keys:?}");
    }
}

/// Opens the question whether a folder is trusted, stops slug under a shell, and calls it back with
/// keys typed behind.
fn called_back(env: &TestEnv, server: &ModelServer, keys: &str) -> PtySlug {
    let endpoint = server.endpoint();
    let mut slug =
        PtySlug::at(env, 100, 30).args(&["-m", "test-model", "-e", &endpoint]).in_shell().open();
    slug.wait_for_question(TRUST);
    slug.signal_child(Signal::STOP);
    slug.wait_for("Stopped");
    slug.keys(keys);
    slug.wait_for_no("Stopped");
    slug.wait_for_question(TRUST);
    slug
}

#[test]
fn what_is_typed_behind_fg_trusts_no_folder() {
    for keys in ["fg\nyy", "fg\ny\n", "fg\ny\ny\n"] {
        let (env, server) = (hostile(), ModelServer::start());
        let slug = called_back(&env, &server, keys);
        assert!(!env.path("ran").exists(), "{keys:?}");
        drop(slug);
    }
}

#[test]
fn what_was_typed_while_the_model_answered_approves_nothing() {
    for ahead in ["y", "a", "yyyyyyyy", "and then y"] {
        let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
        server.reply(bash("c1", "touch made").gated(&gate));
        server.reply(ServerReply::text("As you wish."));
        let mut slug = PtySlug::chat(&env, &server);
        slug.say("run it");
        server.wait_for_requests(1);
        slug.keys(ahead);
        gate.open();
        slug.wait_for_dialog("touch made");
        assert!(!env.path("made").exists(), "{ahead:?}");
        assert!(!env.path(".slug/settings.local.json").exists(), "{ahead:?}");
        slug.keys("n");
        slug.wait_for("As you wish.");
        assert!(!env.path("made").exists(), "{ahead:?}");
        slug.kill();
    }
}

#[test]
fn enter_approves_no_danger_whatever_it_is_bound_to() {
    for answer in ["session", "always"] {
        let (env, server) = (TestEnv::new(), ModelServer::start());
        env.write("kept", "");
        let own = format!("[approval]\naccept = []\n{answer} = [\"x\", \"enter\"]\n");
        env.write_home("keys.toml", &own);
        server.reply(bash("c1", "rm kept"));
        server.reply(ServerReply::text("As you wish."));
        let mut slug = PtySlug::chat(&env, &server);
        slug.say("run it");
        slug.wait_for_dialog("rm kept");
        slug.keys("\r\r");
        slug.wait_for_dialog("rm kept");
        assert!(env.path("kept").exists(), "{answer}");
        slug.keys("n");
        slug.wait_for("As you wish.");
        assert!(env.path("kept").exists(), "{answer}");
    }
}

#[test]
fn a_diff_or_a_command_that_is_longer_than_the_screen_takes_no_yes_before_its_end() {
    let many = |from: &str| (0..70).map(|n| format!("{from} {n}\n")).collect::<String>();
    for what in ["Edit", "Bash", "Write"] {
        let (env, server) = (TestEnv::new(), ModelServer::start());
        let (old, new) = (many("before"), many("after"));
        env.write("a.txt", &old);
        let file = env.path("a.txt");
        let call = match what {
            "Edit" => json!({"file_path": file, "old_string": old, "new_string": new}),
            "Write" => json!({"file_path": file, "content": new}),
            _ => json!({"command": format!("touch made\n{}", many("echo"))}),
        };
        server.reply(ServerReply::calls("", &[("r1", "Read", json!({"file_path": file}))]));
        server.reply(ServerReply::calls("", &[("c1", what, call)]));
        server.reply(ServerReply::text("As you wish."));
        let mut slug = PtySlug::chat(&env, &server);
        slug.say("go");
        slug.wait_for_dialog("Scroll to the end");
        let untouched = || {
            env.read("a.txt") == old && !env.path("made").exists() && !env.path(".slug").exists()
        };
        for keys in ["y", "s", "a", "yyy", "\r", "ysa\r"] {
            slug.keys(keys);
            slug.wait_for_dialog_after_text("Scroll to the end");
        }
        // One page on is not yet the end.
        slug.keys("\x1b[6~y");
        slug.wait_for_dialog("Scroll to the end");
        assert!(untouched(), "{what}");
        slug.keys(key::END);
        slug.wait_for_no("Scroll to the end");
        assert!(untouched(), "{what}");
        slug.keys("y");
        slug.wait_for("As you wish.");
        assert!(!untouched(), "{what}");
    }
}

#[test]
fn a_click_does_not_approve_before_the_end_was_shown() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let text: String = (0..90).map(|n| format!("line {n}\n")).collect();
    let input = json!({"file_path": env.path("long.txt"), "content": text});
    server.reply(ServerReply::calls("", &[("c1", "Write", input)]));
    server.reply(ServerReply::text("As you wish."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("write it");
    slug.wait_for_dialog("Scroll to the end");
    for text in ["y  Yes", "a  Always", "s  Yes"] {
        if slug.screen().contains(text) {
            slug.click(text);
        }
    }
    slug.wait_for_dialog("Scroll to the end");
    assert!(!env.path("long.txt").exists());
    slug.keys("n");
    slug.wait_for("As you wish.");
    assert!(!env.path("long.txt").exists());
}

#[test]
fn keys_waiting_when_focus_returns_answer_nothing() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "touch made"));
    server.reply(ServerReply::text("As you wish."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("run it");
    slug.wait_for_dialog("touch made");
    for keys in ["a", "s", "d", "n"] {
        slug.keys("\x1b[O");
        slug.keys(&format!("\x1b[I{keys}"));
        slug.wait_for_dialog("touch made");
        assert!(!env.path("made").exists(), "{keys}");
        assert!(!env.path(".slug/settings.local.json").exists(), "{keys}");
    }
    slug.keys("y");
    slug.wait_for("As you wish.");
    assert!(env.path("made").exists());
}

#[test]
fn what_is_typed_behind_undo_takes_nothing_back() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::calls(
        "",
        &[("w1", "Write", json!({"file_path": "a.txt", "content": "two\n"}))],
    ));
    server.reply(ServerReply::text("Written."));
    let mut slug = PtySlug::at(&env, 100, 30).server(&server).args(&["--allow-edits"]).open();
    slug.wait_for("test-model");
    slug.say("write it");
    slug.wait_for("Written.");
    // A rewind waits for the end of the turn.
    slug.wait_for("What should I do?");
    slug.keys("/undo");
    slug.wait_for("/undo");
    slug.keys("\ryf");
    slug.wait_for_question("a.txt");
    assert_eq!(env.read("a.txt"), "two\n");
    slug.keys("y");
    assert!(wait_until(|| !env.path("a.txt").exists()), "{}", slug.screen());
}

#[test]
fn keys_typed_behind_a_message_do_not_exceed_the_budget() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Spent."));
    let mut slug = PtySlug::chat_with(&env, &server, &["--budget", "10 tokens"]);
    slug.keys("hello");
    slug.wait_for("hello");
    slug.keys("\ry");
    slug.keys("ygo2");
    slug.wait_for_question("budget");
    assert!(server.chat_requests().is_empty(), "{}", slug.screen());
}
