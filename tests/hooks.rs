//! Hooks of the real binary: real commands, a scripted model, nobody at the keyboard.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "in a test, failing loudly is the point"
)]

mod support;

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use support::model_server::{ModelServer, ServerReply};
use support::skip::sandbox_or_skip;
use support::test_env::{HeadlessOutput, TestEnv};

/// The person's settings with one hook in the form in wide use.
fn hook(desk: &TestEnv, event: &str, matcher: &str, command: &str, timeout: f64) {
    let hook = json!({"type": "command", "command": command, "timeout": timeout});
    let settings = json!({"hooks": {event: [{"matcher": matcher, "hooks": [hook]}]}});
    desk.write_home("settings.json", &settings.to_string());
}

/// A run of one call; what the model was told of it, and what came of the run.
fn one_call(
    desk: &TestEnv,
    tool: &str,
    input: &Value,
    arguments: &[&str],
) -> (String, HeadlessOutput) {
    let server = ModelServer::start();
    server.reply(ServerReply::calls("", &[("c1", tool, input.clone())]));
    server.reply(ServerReply::text("Done."));
    let arguments: Vec<&str> = arguments.iter().copied().chain(["-p", "go"]).collect();
    let ran = desk.ask(&server, &arguments);
    let last = server.chat_requests().pop().unwrap();
    let result = last.messages().iter().find(|message| message["tool_call_id"] == "c1").cloned();
    let told =
        result.unwrap_or_else(|| panic!("{}\n{}", last.body, ran.describe()))["content"].clone();
    (told.as_str().unwrap().to_owned(), ran)
}

/// The name of a file is data: it reaches the hook on standard input, and runs nothing.
#[test]
fn s72_a_hook_reads_the_call_and_nothing_of_it_is_run() {
    let desk = TestEnv::new();
    hook(
        &desk,
        "PreToolUse",
        "Read",
        "cat > told.json; touch ran; test -z \"$OPENAI_API_KEY\"",
        30.0,
    );
    let name = "$(touch pwn).rs";
    desk.write(name, "hello\n");
    let (told, ran) = one_call(&desk, "Read", &json!({"file_path": name}), &[]);
    assert!(told.contains("hello"), "{told}");
    ran.assert_exit_code(0);
    let input: Value = serde_json::from_str(&desk.read("told.json")).unwrap();
    assert_eq!(input["tool_input"]["file_path"], name);
    assert_eq!(input["hook_event_name"], "PreToolUse");
    let transcript = std::fs::read_to_string(input["transcript_path"].as_str().unwrap()).unwrap();
    assert!(transcript.contains("\"go\""), "{transcript}");
    assert!(desk.path("ran").exists() && !desk.path("pwn").exists());
}

#[test]
fn s72_a_hook_that_refuses_fails_or_takes_too_long_lets_nothing_run() {
    let not_executable = |desk: &TestEnv| {
        desk.write("guard.sh", "#!/bin/sh\nexit 0\n");
        let file = desk.path("guard.sh");
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o644)).unwrap();
    };
    for (command, timeout, why) in [
        ("echo 'not today' >&2; exit 2", 30.0, "not today"),
        ("./guard.sh", 30.0, "Run: chmod +x"),
        ("sleep 1000", 0.2, "It took longer than 0.2 seconds and was ended."),
        ("no-such-guard", 30.0, "It cannot be run"),
        ("echo '{\"decision\":'", 30.0, "is not JSON"),
        ("kill -9 $$", 30.0, "Signal 9 ended it."),
    ] {
        let desk = TestEnv::new();
        not_executable(&desk);
        hook(&desk, "PreToolUse", "*", command, timeout);
        let input = json!({"command": "touch made"});
        let (told, ran) = one_call(&desk, "Bash", &input, &["--yolo"]);
        assert!(
            told.contains("a hook blocked this call") && told.contains(why),
            "{command}: {told}"
        );
        assert!(ran.err.contains(why), "{}", ran.describe());
        ran.assert_exit_code(4);
        assert!(!desk.path("made").exists());
    }
}

#[test]
fn s72_a_deny_rule_stands_above_a_hook_s_yes() {
    let desk = TestEnv::new();
    let yes = json!({"hookSpecificOutput": {"permissionDecision": "allow"}});
    let hooks = json!({"PreToolUse": [{"hooks": [
        {"type": "command", "command": format!("echo '{yes}'")}]}]});
    for (rules, exit, made) in [(json!([]), 0, true), (json!(["Bash(touch *)"]), 4, false)] {
        let settings = json!({"permissions": {"deny": rules}, "hooks": hooks});
        desk.write_home("settings.json", &settings.to_string());
        let _ = std::fs::remove_file(desk.path("made"));
        let (_, ran) = one_call(&desk, "Bash", &json!({"command": "touch made"}), &[]);
        ran.assert_exit_code(exit);
        assert_eq!(desk.path("made").exists(), made);
    }
}

/// Whether this machine has a sandbox.
/// Plan mode changes nothing, whoever wants it. In a sandbox a hook can still look; without one it
/// is not run, and a guard that is not run lets nothing through.
#[test]
fn s106_a_hook_that_writes_is_refused_in_plan_mode() {
    let desk = TestEnv::new();
    desk.write("a.txt", "alpha\n");
    desk.write("note.txt", "mind the gap\n");
    let (read, plan) = (json!({"file_path": "a.txt"}), ["--plan"]);
    let sandboxed = sandbox_or_skip(&desk.workspace()).is_some();
    for event in ["PreToolUse", "PostToolUse"] {
        hook(&desk, event, "Read", "touch made && echo written", 30.0);
        let (told, ran) = one_call(&desk, "Read", &read, &plan);
        assert!(!desk.path("made").exists() && !told.contains("written"), "{told}");
        assert_eq!(told.contains("alpha"), sandboxed || event == "PostToolUse", "{told}");
        assert!(ran.err.contains("settings.json:1"), "{}", ran.describe());
    }
    if sandboxed {
        let command = "echo kept > $TMPDIR/o && cat $TMPDIR/o";
        hook(&desk, "PreToolUse", "Read", command, 30.0);
        let (told, ran) = one_call(&desk, "Read", &read, &plan);
        assert!(told.contains("kept"), "{told}\n{}", ran.describe());
    }
    hook(&desk, "PreToolUse", "Read", "cat note.txt", 30.0);
    let (told, ran) = one_call(&desk, "Read", &read, &plan);
    assert!(told.contains("alpha") && told.contains("mind the gap"), "{told}\n{}", ran.describe());
    if sandboxed {
        hook(&desk, "PreToolUse", "Read", "grep -q alpha a.txt && exit 2", 30.0);
        let (told, _) = one_call(&desk, "Read", &read, &plan);
        assert!(!told.contains("alpha"), "a guard stands guard there, too: {told}");
    }
}

#[test]
fn s115_a_hook_runs_inside_the_sandbox_that_is_in_force() {
    let desk = TestEnv::new();
    if sandbox_or_skip(&desk.workspace()).is_none() {
        return;
    }
    desk.write("a.txt", "alpha\n");
    hook(&desk, "PreToolUse", "Read", "touch inside; touch ../escaped; true", 30.0);
    let read = json!({"file_path": "a.txt"});
    let (told, ran) = one_call(&desk, "Read", &read, &["--sandbox", "."]);
    assert!(told.contains("alpha"), "{told}\n{}", ran.describe());
    assert!(desk.path("inside").exists() && !desk.path("../escaped").exists());
}

#[test]
fn hooks_of_a_folder_wait_for_its_trust() {
    let desk = TestEnv::new();
    let action = json!({"type": "command", "command": "touch made; exit 1"});
    let hooks = json!({"hooks": [{"event": "user_prompt_submit", "action": action}]});
    desk.write(".slug/hooks.json", &hooks.to_string());
    let server = ModelServer::start();
    server.reply(ServerReply::text("Hello."));
    let endpoint = server.endpoint();
    let ran = desk.run(&["--model", "test-model", "--endpoint", &endpoint, "-p", "go"]);
    assert!(!desk.path("made").exists(), "{}", ran.describe());
    ran.assert_exit_code(0);
    let ran = desk.ask(&server, &["-p", "go"]);
    assert!(desk.path("made").exists() && ran.err.contains("did not let this message through"));
    ran.assert_exit_code(1);
}

/// A hook may ask slug itself something, and does not start itself by that.
#[test]
fn a_hook_starts_no_hooks() {
    let desk = TestEnv::new();
    let server = ModelServer::start();
    let slug = env!("CARGO_BIN_EXE_slug");
    let endpoint = server.endpoint();
    let command = format!("echo x >> count; {slug} -e {endpoint} -m test -p inner");
    hook(&desk, "UserPromptSubmit", "", &command, 60.0);
    server.reply(ServerReply::text("Inner."));
    server.reply(ServerReply::text("Outer."));
    let ran = desk.ask(&server, &["-p", "go"]);
    assert_eq!(ran.out, "Outer.\n", "{}", ran.describe());
    assert_eq!(desk.read("count"), "x\n");
    let outer = server.chat_requests().pop().unwrap();
    let sent = outer.body.to_string();
    assert!(sent.contains("Inner."), "what it printed is context: {sent}");
}
