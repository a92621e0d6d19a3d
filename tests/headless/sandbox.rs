//! `slug -p --sandbox`: which sandboxes end the run before it begins, and what commands can do in
//! one.

use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::skip::skip;
use crate::support::test_env::TestEnv;
use crate::{bash, result_of};

#[test]
fn s112_a_sandbox_that_would_hold_too_much_exits_with_78() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let home = env.home().display().to_string();
    for (dir, words) in [
        ("/", "the whole machine"),
        (home.as_str(), "your home folder"),
        ("gone", "cannot be opened"),
        ("/usr/share", "is not in the sandbox's folder"),
    ] {
        let ran = env.ask(&server, &["--sandbox", dir, "-p", "hello"]).assert_exit_code(78);
        assert!(ran.err.contains(words), "{dir}: {}", ran.describe());
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn s117_a_machine_without_a_sandbox_says_what_is_missing() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    for (method, words) in
        [("bwrap", "install the package bubblewrap"), ("seatbelt", "another operating system")]
    {
        env.write_home("config.toml", &format!("[sandbox]\nmethod = \"{method}\"\n"));
        let mut command = env.command_to(&server, &["--sandbox", ".", "-p", "hello"]);
        let output = command.env("PATH", "/nowhere").output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(78), "{stderr}");
        let is_mac = cfg!(target_os = "macos");
        assert!(is_mac || stderr.contains(words) && stderr.contains(method), "{stderr}");
    }
    assert_eq!(server.requests().len(), 0);
}

/// The result that the model got for a command in the sandbox; `None` where this machine has no
/// sandbox of that kind.
fn in_sandbox(env: &TestEnv, method: &str, command: &str) -> Option<String> {
    in_sandbox_with(env, method, "", command)
}

/// The same, with more settings of the sandbox.
fn in_sandbox_with(env: &TestEnv, method: &str, settings: &str, command: &str) -> Option<String> {
    let server = ModelServer::start();
    server.reply(bash("c1", command));
    server.reply(ServerReply::text("Done."));
    let config = format!("[sandbox]\nmethod = \"{method}\"\n{settings}");
    env.write_home("config.toml", &config);
    let ran = env.ask(&server, &["--sandbox", ".", "-p", "go"]);
    if ran.code == Some(78) {
        skip(&ran.err);
        return None;
    }
    assert_eq!(ran.code, Some(0), "{}", ran.describe());
    Some(result_of(&server.chat_requests()[1], "c1"))
}

#[test]
fn in_the_sandbox_the_scratch_folder_alone_can_be_written_outside_its_folder() {
    for method in ["bwrap", "landlock"] {
        let env = TestEnv::new();
        let command = "cd $SLUG_SCRATCH && echo kept > x && cat x && pwd; echo no > ../other; \
                       mv $SLUG_SCRATCH ../moved; ln -s / link; cat link/etc/hostname > y; true";
        let Some(result) = in_sandbox(&env, method, command) else { continue };
        assert!(result.starts_with("kept\n"), "{method}: {result}");
        let scratch = std::path::PathBuf::from(result.lines().nth(1).unwrap());
        assert_eq!(std::fs::read_to_string(scratch.join("x")).unwrap(), "kept\n", "{method}");
        let around: Vec<_> = std::fs::read_dir(scratch.parent().unwrap()).unwrap().collect();
        assert_eq!(around.len(), 1, "{method}: {around:?}");
    }
}

#[test]
fn in_the_sandbox_commands_run_unasked_and_change_its_folder_alone() {
    for method in ["bwrap", "landlock"] {
        let env = TestEnv::new();
        env.write("src/kept", "");
        env.write_home("notes", "as they were");
        let out = env.slug_home().join("notes").display().to_string();
        let command =
            format!("for i in 1 2; do echo $i >> src/made; done; cat {out}; echo x | tee {out}");
        let Some(tool_result) = in_sandbox(&env, method, &command) else { continue };
        assert_eq!(env.read("src/made"), "1\n2\n", "{method}: {tool_result}");
        assert!(!tool_result.contains("as they were"), "{method}: {tool_result}");
        let kept = std::fs::read_to_string(env.slug_home().join("notes")).unwrap();
        assert_eq!(kept, "as they were");
    }
}

/// What cannot be prevented is told: places whose names are not reserved, and any further down.
#[test]
fn new_protected_places_are_told_once_the_command_has_ended() {
    for method in ["bwrap", "landlock"] {
        let env = TestEnv::new();
        // A command that names such a place is asked about.
        env.write("src/make.sh", "mkdir -p src/.vscode src/plain; echo x > src/.vscode/tasks.json");
        let Some(tool_result) = in_sandbox(&env, method, "bash src/make.sh") else { continue };
        let last = tool_result.lines().last().unwrap();
        assert!(last.contains("new in the sandbox's folder"), "{method}: {tool_result}");
        assert!(last.contains("src/.vscode."), "{method}: {tool_result}");
        let env = TestEnv::new();
        env.write("src/.vscode/tasks.json", "{}");
        let Some(tool_result) = in_sandbox(&env, method, "touch src/plain") else { continue };
        assert!(!tool_result.contains("new in the sandbox"), "{method}: {tool_result}");
    }
}

#[test]
fn s90_refused_hosts_are_the_last_line_of_the_result() {
    let env = TestEnv::new();
    // A redirection to the network would need an approval.
    env.write(
        "src/ask.sh",
        "exec 3<>/dev/tcp/127.0.0.1/3128\nprintf 'CONNECT b.example:443 HTTP/1.1\\r\\n\\r\\n' >&3\n\
         head -c 12 <&3\n",
    );
    let hosts = "hosts = [\"a.example\", \"*.c.example:8443\"]\n";
    let Some(tool_result) = in_sandbox_with(&env, "bwrap", hosts, "bash src/ask.sh") else {
        return;
    };
    assert!(tool_result.starts_with("HTTP/1.1 403"), "{tool_result}");
    let last = tool_result.lines().last().unwrap();
    assert!(
        last.starts_with("[the sandbox refused the network to b.example:443."),
        "{tool_result}"
    );
    assert!(last.contains("`sandbox.hosts`"), "{tool_result}");
}

#[test]
fn s90_where_hosts_cannot_be_told_apart_none_is_allowed_with_a_note() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("config.toml", "[sandbox]\nmethod = \"landlock\"\nhosts = [\"a.example\"]\n");
    server.reply(ServerReply::text("Done."));
    let ran = env.ask(&server, &["--sandbox", ".", "-p", "go"]);
    if ran.code == Some(78) {
        skip(&ran.err);
        return;
    }
    assert!(ran.err.contains("landlock cannot filter by host"), "{}", ran.describe());
}

#[test]
fn s49_a_users_deny_rule_holds_for_names_that_no_rule_can_see() {
    for method in ["bwrap", "landlock"] {
        let env = TestEnv::new();
        env.write("src/.env", "CANARY");
        env.write_home("settings.json", r#"{"permissions":{"deny":["Read(.env)"]}}"#);
        let command = "cat src/$(echo .eXnv | tr -d X); ls src";
        let Some(tool_result) = in_sandbox(&env, method, command) else { continue };
        assert!(
            !tool_result.contains("CANARY") && tool_result.contains("ermission denied"),
            "{method}: {tool_result}"
        );
    }
}

#[test]
fn s118_sandbox_refusals_stand_without_a_user() {
    for method in ["bwrap", "landlock"] {
        let env = TestEnv::new();
        let Some(tool_result) = in_sandbox(&env, method, "touch /usr/slug-was-here") else {
            continue;
        };
        assert!(
            tool_result.contains("No user is there to let it run outside"),
            "{method}: {tool_result}"
        );
        assert!(tool_result.contains(&format!("in a sandbox ({method} around")), "{tool_result}");
        assert!(!std::path::Path::new("/usr/slug-was-here").exists());
    }
}
