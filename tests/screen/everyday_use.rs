//! Everyday use of the screen: commands, files, the editor, and hostile text.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::skip::sandbox_or_skip;
use crate::support::terminal::{PtySlug, key};
use crate::support::test_env::TestEnv;
use crate::{bash, last_user_text};

#[test]
fn a_failed_message_can_be_sent_again() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::error(400, "the model is being swapped"));
    server.reply(ServerReply::text("Here I am."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("hello");
    slug.wait_for("the model is being swapped");
    slug.say("/retry");
    slug.wait_for("Here I am.");
    assert!(last_user_text(&server.chat_requests()[1]).contains("hello"));
    server.assert_clean();
}

#[test]
fn a_pane_is_explained_with_who_allowed_it_and_what_came_back() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "echo from-the-$((6 * 7))"));
    server.reply(ServerReply::text("It ran."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("run it");
    slug.wait_for_dialog("echo from-the-");
    slug.keys("y");
    slug.wait_for("It ran.");
    slug.wait_for("What should I do?");
    slug.keys("\t[x");
    slug.wait_for("WHAT WAS SENT WITH YOUR MESSAGE");
    slug.wait_for("A note of slug's, environment:");
    slug.keys(key::ESC);
    slug.wait_for_no("WHAT WAS SENT");
    slug.keys("jx");
    slug.wait_for("You were asked, and allowed it.");
    slug.wait_for("command: echo from-the-$((6 * 7))");
    slug.wait_for("  from-the-42");
    server.assert_clean();
}

#[test]
fn where_nothing_can_be_sent_again_the_chat_goes_on() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Here I am."));
    server.reply(ServerReply::text("Still here."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("hello");
    slug.wait_for("Here I am.");
    slug.say("/retry");
    slug.wait_for("Nothing to retry");
    slug.say("are you there?");
    slug.wait_for("Still here.");
    server.assert_clean();
}

#[test]
fn a_server_that_is_busy_is_asked_again() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::error(503, "loading model"));
    server.reply(ServerReply::text("Here I am."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("hello");
    slug.wait_for("Here I am.");
    server.assert_clean();
}

#[test]
fn an_answer_that_breaks_off_is_not_kept_twice() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("one two three").resetting_after(3));
    server.reply(ServerReply::text("one two three"));
    server.reply(ServerReply::text("Bye."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("count");
    slug.wait_for("one two three");
    slug.say("thanks");
    slug.wait_for("Bye.");
    let messages = server.chat_requests().last().unwrap().body["messages"].to_string();
    assert_eq!(messages.matches("one two").count(), 1, "{messages}");
    server.assert_clean();
}

#[test]
fn r37_text_received_before_a_disconnect_is_struck_out() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("config.toml", "[timeouts]\nidle = 1\n");
    server.reply(ServerReply::text("one two three four").hanging_after(3));
    server.reply(ServerReply::text("All of it."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("count");
    slug.wait_for("has sent nothing for 1 s");
    slug.wait_for("All of it.");
    assert!(slug.raw().contains("\u{1b}[9m"), "struck out");
    let [first, second] = &server.chat_requests()[..] else { panic!("{}", slug.raw()) };
    assert_eq!(first.body["messages"], second.body["messages"], "nothing of it is sent back");
}

#[test]
fn clear_begins_a_conversation_without_what_was_said() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Blue."));
    server.reply(ServerReply::text("No idea."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("which colour?");
    slug.wait_for("Blue.");
    slug.say("/clear");
    slug.wait_for_no("Blue.");
    slug.say("which one?");
    slug.wait_for("No idea.");
    assert!(!server.chat_requests()[1].body.to_string().contains("Blue."));
    assert_eq!(env.sessions().len(), 2);
}

#[test]
fn plan_mode_runs_nothing_that_changes_something() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let write = json!({"file_path": "made", "content": "x"});
    server.reply(ServerReply::calls("", &[("c1", "Write", write)]));
    server.reply(ServerReply::text("Here is the plan."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("/mode plan");
    slug.wait_for("Mode plan");
    slug.say("make it");
    slug.wait_for("Here is the plan.");
    assert!(!env.path("made").exists());
    assert!(!slug.raw().contains("Run this command?"));
}

/// Plan mode takes rights away, and gives none that the sandbox does not.
#[test]
fn s115_in_plan_mode_a_hook_stays_inside_the_sandbox_that_is_in_force() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    if sandbox_or_skip(&env.workspace()).is_none() {
        return;
    }
    for (file, text) in [("a.txt", "alpha"), (".env", "CANARY"), ("b.txt", "beta")] {
        env.write(file, text);
    }
    std::fs::create_dir(env.home().join(".ssh")).unwrap();
    std::fs::write(env.home().join(".ssh/id"), "CANARY").unwrap();
    let command = "touch made; cat ~/.ssh/id .env; ls ~/.slug; \
                   echo kept > $TMPDIR/o; cat $TMPDIR/o; cat a.txt; true";
    let hooks = json!({"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]});
    let settings = json!({"permissions": {"deny": ["Read(.env)"]}, "hooks": hooks});
    env.write_home("settings.json", &settings.to_string());
    server.reply(ServerReply::calls("", &[("c1", "Read", json!({"file_path": "b.txt"}))]));
    server.reply(ServerReply::text("Here is the plan."));
    let mut slug = PtySlug::chat_with(&env, &server, &["--sandbox", "."]);
    slug.say("/mode plan");
    slug.wait_for("Mode plan");
    slug.say("look");
    slug.wait_for("Here is the plan.");
    let told = server.chat_requests()[1].body["messages"].to_string();
    assert!(!env.path("made").exists());
    for there in ["alpha", "beta", "kept"] {
        assert!(told.contains(there), "{there}: {told}");
    }
    assert!(!told.contains("CANARY") && !told.contains("settings.json"), "{told}");
}

#[test]
fn hooks_that_changed_hold_once_they_are_trusted_without_a_restart() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let write = |line: &str| {
        let action = json!({"type": "command", "command": line});
        let hooks = json!({"hooks": [{"event": "UserPromptSubmit", "action": action}]});
        env.write(".slug/hooks.json", &hooks.to_string());
    };
    write("echo as it was");
    for _ in 0..3 {
        server.reply(ServerReply::text("Well."));
    }
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("one");
    slug.wait_for("Well.");
    write("echo with news");
    slug.say("two");
    slug.wait_for("The old ones stay active");
    slug.wait_until("two answers", |screen| screen.matches("Well.").count() == 2);
    slug.say("/hooks");
    slug.wait_for("not trusted");
    slug.keys(key::ENTER);
    slug.wait_for_question("runs echo with news");
    slug.keys("y");
    slug.wait_until("the new hook in force", |screen| {
        screen.contains("type to filter")
            && screen.contains("UserPromptSubmit")
            && !screen.contains("not trusted")
    });
    slug.keys(key::ESC);
    slug.wait_for_no("type to filter");
    slug.say("three");
    slug.wait_until("three answers", |screen| screen.matches("Well.").count() == 3);
    let asked: Vec<String> = server.chat_requests().iter().map(|it| it.body.to_string()).collect();
    assert!(!asked[1].contains("with news") && asked[2].contains("with news"), "{}", asked[2]);
}

#[test]
fn the_mode_alters_neither_prompt_nor_tools() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("First."));
    server.reply(ServerReply::text("Second."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("one");
    slug.wait_for("First.");
    slug.say("/mode plan");
    slug.wait_for("Mode plan");
    slug.say("two");
    slug.wait_for("Second.");
    // The server checks that the prefix and the tools are the same, byte for byte.
    server.assert_clean();
}

#[test]
fn diff_shows_what_the_session_changed() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let write = json!({"file_path": "poem.txt", "content": "roses are red\n"});
    server.reply(ServerReply::calls("", &[("c1", "Write", write)]));
    server.reply(ServerReply::text("Written."));
    let mut slug = PtySlug::chat_with(&env, &server, &["--allow-edits"]);
    slug.say("write");
    slug.wait_for("Written.");
    slug.keys("/diff\r");
    slug.wait_until("the change", |screen| {
        let change = screen.split_once("What this session changed");
        change.is_some_and(|(_, it)| it.contains("poem.txt") && it.contains("roses are red"))
    });
}

#[test]
fn a_file_is_named_with_at() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("src/invoice.rs", "");
    env.write("src/other.rs", "");
    server.reply(ServerReply::text("Seen."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.keys("look at @invo");
    slug.wait_for("src/invoice.rs");
    slug.keys("\t");
    slug.wait_for("look at @src/invoice.rs");
    slug.keys(key::ENTER);
    slug.wait_for("Seen.");
    assert!(last_user_text(&server.chat_requests()[0]).contains("look at @src/invoice.rs"));
}

#[test]
fn several_pasted_lines_are_one_message() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Two lines."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.keys("\x1b[200~first line\rsecond line\x1b[201~");
    slug.wait_for("second line");
    assert_eq!(server.chat_requests().len(), 0);
    slug.keys(key::ENTER);
    slug.wait_for("Two lines.");
    assert!(last_user_text(&server.chat_requests()[0]).contains("first line\nsecond line"));
}

#[test]
fn earlier_messages_come_back_with_up() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Blue."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("which colour?");
    slug.wait_for("Blue.");
    slug.quit();
    let mut slug = PtySlug::chat(&env, &server);
    // The command to leave is the newer one, but the history holds no commands.
    slug.keys(key::UP);
    slug.wait_for("❯ which colour?");
}

#[test]
fn a_message_can_be_written_in_the_users_editor() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("editor", "#!/bin/sh\nprintf ' in the editor\\n' >> \"$1\"\n");
    let editor = env.path("editor");
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut slug =
        PtySlug::at(&env, 100, 30).server(&server).env("EDITOR", editor.to_str().unwrap()).open();
    slug.wait_for("test-model");
    slug.keys("begun");
    slug.wait_for("❯ begun");
    slug.keys("\x07");
    slug.wait_for("in the editor");
    assert_eq!(slug.raw().matches("\x1b[?1049h").count(), 2, "lent and taken again");
}

#[test]
fn the_wheel_scrolls_and_the_tail_is_found_again() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let lines: Vec<String> = (0..60).map(|number| format!("- item {number}\n")).collect();
    server.reply(ServerReply::words(lines.iter().map(String::as_str)));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("list");
    slug.wait_for("item 59");
    slug.keys(&"\x1b[<64;10;10M".repeat(6));
    slug.wait_for("more below");
    slug.wait_for_no("item 59");
    // ctrl+end
    slug.keys("\x1b[1;5F");
    slug.wait_for("item 59");
}

#[test]
fn a_small_screen_is_enough() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "touch made"));
    server.reply(ServerReply::text("Done."));
    let mut slug = PtySlug::at(&env, 40, 12).server(&server).open();
    slug.wait_for("ask");
    slug.say("run it");
    slug.wait_for_dialog("touch made");
    // Nothing can be approved before its end was shown.
    slug.keys(key::DOWN);
    slug.wait_for_no("1 more below");
    slug.keys("y");
    slug.wait_for("Done.");
    assert!(env.path("made").exists());
}

#[test]
fn a_models_escape_sequences_do_not_reach_the_terminal() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::words(["\x1b]0;EVIL", "TITLE\x07\x1b[2J\u{9b}31m", "harmless"]));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("hello");
    slug.wait_for("harmless");
    let raw = slug.raw();
    assert!(!raw.contains("\x1b]0;EVIL") && !raw.contains("\u{9b}"), "{raw:?}");
    // The screen was not cleared either: the earlier message is still there.
    slug.wait_for("❯ hello");
}

#[test]
fn a_commands_escape_sequences_do_not_reach_the_terminal() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let mut slug = PtySlug::chat(&env, &server);
    slug.say(r"!printf '\033]52;c;RVZJTA==\007\033[31mred\033[0m\033[2Jend\n'");
    slug.wait_until("the output, its sequences made visible", |screen| {
        let is_output = |row: &str| row.contains("␛]52;c;RVZJTA==") && row.contains("end");
        screen.lines().any(is_output) && !screen.contains("running")
    });
    assert!(!slug.raw().contains("\x1b]52;"));
}
