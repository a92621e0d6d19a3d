//! Hooks of the real binary: real commands, a scripted model, no user at the keyboard.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::skip::sandbox_or_skip;
use crate::support::test_env::{HeadlessOutput, TestEnv};

/// Writes the user's settings with one hook in the matcher form.
fn hook(env: &TestEnv, event: &str, matcher: &str, command: &str, timeout: f64) {
    let hook = json!({"type": "command", "command": command, "timeout": timeout});
    let settings = json!({"hooks": {event: [{"matcher": matcher, "hooks": [hook]}]}});
    env.write_home("settings.json", &settings.to_string());
}

/// Runs slug for one call; gives the call's result as the model got it, and the output of the run.
fn one_call(
    env: &TestEnv,
    tool: &str,
    input: &Value,
    arguments: &[&str],
) -> (String, HeadlessOutput) {
    let server = ModelServer::start();
    server.reply(ServerReply::calls("", &[("c1", tool, input.clone())]));
    server.reply(ServerReply::text("Done."));
    let arguments: Vec<&str> = arguments.iter().copied().chain(["-p", "go"]).collect();
    let ran = env.ask(&server, &arguments);
    let last = server.chat_requests().pop().unwrap();
    let result = last.messages().iter().find(|message| message["tool_call_id"] == "c1").cloned();
    let result =
        result.unwrap_or_else(|| panic!("{}\n{}", last.body, ran.describe()))["content"].clone();
    (result.as_str().unwrap().to_owned(), ran)
}

/// The name of a file is data: it reaches the hook on standard input, and is never run.
#[test]
fn s72_a_hook_reads_the_call_and_nothing_of_it_is_run() {
    let env = TestEnv::new();
    hook(
        &env,
        "PreToolUse",
        "Read",
        "cat > told.json; touch ran; test -z \"$OPENAI_API_KEY\"",
        30.0,
    );
    let name = "$(touch pwn).rs";
    env.write(name, "hello\n");
    let (result, ran) = one_call(&env, "Read", &json!({"file_path": name}), &[]);
    assert!(result.contains("hello"), "{result}");
    ran.assert_exit_code(0);
    let input: Value = serde_json::from_str(&env.read("told.json")).unwrap();
    assert_eq!(input["tool_input"]["file_path"], name);
    assert_eq!(input["hook_event_name"], "PreToolUse");
    let transcript = std::fs::read_to_string(input["transcript_path"].as_str().unwrap()).unwrap();
    assert!(transcript.contains("\"go\""), "{transcript}");
    assert!(env.path("ran").exists() && !env.path("pwn").exists());
}

#[test]
fn s72_a_hook_that_refuses_fails_or_takes_too_long_lets_nothing_run() {
    let not_executable = |env: &TestEnv| {
        env.write("guard.sh", "#!/bin/sh\nexit 0\n");
        let file = env.path("guard.sh");
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o644)).unwrap();
    };
    for (command, timeout, why) in [
        ("echo 'not today' >&2; exit 2", 30.0, "not today"),
        ("./guard.sh", 30.0, "Run: chmod +x"),
        ("sleep 1000", 0.2, "It took longer than 0.2 seconds and was stopped."),
        ("no-such-guard", 30.0, "It cannot run"),
        ("echo '{\"decision\":'", 30.0, "is not JSON"),
        ("kill -9 $$", 30.0, "It was killed by signal 9."),
    ] {
        let env = TestEnv::new();
        not_executable(&env);
        hook(&env, "PreToolUse", "*", command, timeout);
        let input = json!({"command": "touch made"});
        let (result, ran) = one_call(&env, "Bash", &input, &["--yolo"]);
        assert!(
            result.contains("a hook blocked this call") && result.contains(why),
            "{command}: {result}"
        );
        assert!(ran.err.contains(why), "{}", ran.describe());
        ran.assert_exit_code(4);
        assert!(!env.path("made").exists());
    }
}

#[test]
fn s72_a_deny_rule_stands_above_a_hook_s_yes() {
    let env = TestEnv::new();
    let yes = json!({"hookSpecificOutput": {"permissionDecision": "allow"}});
    let hooks = json!({"PreToolUse": [{"hooks": [
        {"type": "command", "command": format!("echo '{yes}'")}]}]});
    for (rules, exit, made) in [(json!([]), 0, true), (json!(["Bash(touch *)"]), 4, false)] {
        let settings = json!({"permissions": {"deny": rules}, "hooks": hooks});
        env.write_home("settings.json", &settings.to_string());
        let _ = std::fs::remove_file(env.path("made"));
        let (_, ran) = one_call(&env, "Bash", &json!({"command": "touch made"}), &[]);
        ran.assert_exit_code(exit);
        assert_eq!(env.path("made").exists(), made);
    }
}

/// Plan mode changes nothing, whoever wants it. In a sandbox a hook can still read; without one it
/// is not run, and a guard hook that is not run blocks.
#[test]
fn s106_a_hook_that_writes_is_refused_in_plan_mode() {
    let env = TestEnv::new();
    env.write("a.txt", "alpha\n");
    env.write("note.txt", "mind the gap\n");
    let (read, plan) = (json!({"file_path": "a.txt"}), ["--plan"]);
    let sandboxed = sandbox_or_skip(&env.workspace()).is_some();
    for event in ["PreToolUse", "PostToolUse"] {
        hook(&env, event, "Read", "touch made && echo written", 30.0);
        let (result, ran) = one_call(&env, "Read", &read, &plan);
        assert!(!env.path("made").exists() && !result.contains("written"), "{result}");
        assert_eq!(result.contains("alpha"), sandboxed || event == "PostToolUse", "{result}");
        assert!(ran.err.contains("settings.json:1"), "{}", ran.describe());
    }
    if sandboxed {
        let command = "echo kept > $TMPDIR/o && cat $TMPDIR/o";
        hook(&env, "PreToolUse", "Read", command, 30.0);
        let (result, ran) = one_call(&env, "Read", &read, &plan);
        assert!(result.contains("kept"), "{result}\n{}", ran.describe());
    }
    hook(&env, "PreToolUse", "Read", "cat note.txt", 30.0);
    let (result, ran) = one_call(&env, "Read", &read, &plan);
    assert!(
        result.contains("alpha") && result.contains("mind the gap"),
        "{result}\n{}",
        ran.describe()
    );
    if sandboxed {
        hook(&env, "PreToolUse", "Read", "grep -q alpha a.txt && exit 2", 30.0);
        let (result, _) = one_call(&env, "Read", &read, &plan);
        assert!(!result.contains("alpha"), "a guard stands guard there, too: {result}");
    }
}

#[test]
fn s115_a_hook_runs_inside_the_sandbox_that_is_in_force() {
    let env = TestEnv::new();
    if sandbox_or_skip(&env.workspace()).is_none() {
        return;
    }
    env.write("a.txt", "alpha\n");
    hook(&env, "PreToolUse", "Read", "touch inside; touch ../escaped; true", 30.0);
    let read = json!({"file_path": "a.txt"});
    let (result, ran) = one_call(&env, "Read", &read, &["--sandbox", "."]);
    assert!(result.contains("alpha"), "{result}\n{}", ran.describe());
    assert!(env.path("inside").exists() && !env.path("../escaped").exists());
}

#[test]
fn hooks_of_a_folder_wait_for_its_trust() {
    let env = TestEnv::new();
    let action = json!({"type": "command", "command": "touch made; exit 1"});
    let hooks = json!({"hooks": [{"event": "user_prompt_submit", "action": action}]});
    env.write(".slug/hooks.json", &hooks.to_string());
    let server = ModelServer::start();
    server.reply(ServerReply::text("Hello."));
    let endpoint = server.endpoint();
    let ran = env.run(&["--model", "test-model", "--endpoint", &endpoint, "-p", "go"]);
    assert!(!env.path("made").exists(), "{}", ran.describe());
    ran.assert_exit_code(0);
    let ran = env.ask(&server, &["-p", "go"]);
    assert!(env.path("made").exists() && ran.err.contains("did not let this message through"));
    ran.assert_exit_code(1);
}

/// The user trusted a hook that has nothing to run. What the model writes there is not run.
#[test]
fn a_file_that_the_model_writes_where_a_trusted_hook_looks_for_one_is_not_run() {
    for (line, file, text) in [
        ("sh ./opt.sh || true", "opt.sh", "touch made\n"),
        ("make -s lint", "GNUmakefile", "lint:\n\t@touch made\n"),
    ] {
        let env = TestEnv::new();
        let hooks = json!({"PostToolUse": [{"matcher": "Write", "hooks": [
            {"type": "command", "command": line}]}]});
        env.write(".slug/hooks.json", &json!({"hooks": hooks}).to_string());
        env.write("Makefile", "lint:\n");
        let input = json!({"file_path": file, "content": text});
        let (_, ran) = one_call(&env, "Write", &input, &["--allow-edits"]);
        assert_eq!(env.read(file), text, "{}", ran.describe());
        assert!(!env.path("made").exists(), "{line}: {}", ran.describe());
        let why = format!("{file} has appeared since slug started");
        assert!(ran.err.contains(&why), "{}", ran.describe());
    }
}

/// The user's own hook names a program of the system, whatever folder slug is started in.
#[test]
fn a_relative_entry_of_path_finds_no_program_of_the_project_for_a_hook() {
    let env = TestEnv::new();
    let server = ModelServer::start();
    server.reply(ServerReply::text("Hello."));
    hook(&env, "UserPromptSubmit", "", "prober || true; echo \"$PATH\" > path", 30.0);
    env.write("prober", "#!/bin/sh\ntouch made\n");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(env.path("prober"), executable).unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut slug = env.command_to(&server, &["-p", "go"]);
    let ran = HeadlessOutput::of(&slug.env("PATH", format!(".:{path}::")).output().unwrap());
    assert!(!env.path("made").exists(), "{}", ran.describe());
    assert_eq!(env.read("path").trim(), path);
}

/// A hook may ask slug itself something, and does not start itself by that.
#[test]
fn a_hook_starts_no_hooks() {
    let env = TestEnv::new();
    let server = ModelServer::start();
    let slug = env!("CARGO_BIN_EXE_slug");
    let endpoint = server.endpoint();
    let command = format!("echo x >> count; {slug} -e {endpoint} -m test -p inner");
    hook(&env, "UserPromptSubmit", "", &command, 60.0);
    server.reply(ServerReply::text("Inner."));
    server.reply(ServerReply::text("Outer."));
    let ran = env.ask(&server, &["-p", "go"]);
    assert_eq!(ran.out, "Outer.\n", "{}", ran.describe());
    assert_eq!(env.read("count"), "x\n");
    let outer = server.chat_requests().pop().unwrap();
    let sent = outer.body.to_string();
    assert!(sent.contains("Inner."), "what it printed is context: {sent}");
}
