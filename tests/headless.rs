//! `slug -p` as a script uses it: what is printed where, the exit status, and that no call runs
//! that would need an approval.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "in a test, failing loudly is the point"
)]

mod support;

#[path = "headless/connection.rs"]
mod connection;
#[path = "headless/crash_recovery.rs"]
mod crash_recovery;
#[path = "headless/fail_closed.rs"]
mod fail_closed;
#[path = "headless/own_keys.rs"]
mod own_keys;
#[path = "headless/security.rs"]
mod security;

use std::os::unix::process::ExitStatusExt;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};
use support::model_server::{ModelServer, RecordedRequest, ReplyGate, ServerReply, wait_until};
use support::skip::skip;
use support::test_env::{HeadlessOutput, TestEnv, with_server};

fn bash(id: &str, command: &str) -> ServerReply {
    ServerReply::calls("", &[(id, "Bash", json!({"command": command}))])
}

fn result_of(request: &RecordedRequest, id: &str) -> String {
    let is_result = |message: &&Value| message["tool_call_id"] == id;
    let result = request.messages().iter().find(is_result);
    let result = result.unwrap_or_else(|| panic!("no result of {id} in {}", request.body));
    result["content"].as_str().unwrap().to_owned()
}

fn of_type<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["type"] == kind).collect()
}

/// Runs a question in which the model reads a file and then answers.
fn with_a_read(arguments: &[&str]) -> (ModelServer, HeadlessOutput) {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("a.txt", "alpha\n");
    server.reply(ServerReply::calls("Looking.", &[("c1", "Read", json!({"file_path": "a.txt"}))]));
    server.reply(ServerReply::text("It says alpha."));
    let ran = env.ask(&server, arguments).assert_exit_code(0);
    server.assert_clean();
    (server, ran)
}

#[test]
fn text_is_the_answer_alone() {
    let (_, ran) = with_a_read(&["-p", "what is in a.txt?"]);
    assert_eq!(ran.out, "It says alpha.\n");
}

#[test]
fn json_is_one_object_with_answer_session_and_usage() {
    let (_, ran) = with_a_read(&["-p", "what is in a.txt?", "--output-format", "json"]);
    let result = ran.json();
    assert_eq!(result["type"], "result");
    assert_eq!(result["text"], "It says alpha.");
    assert_eq!(result["exit"], 0);
    assert!(result["session_id"].as_str().is_some_and(|id| id.len() == 36), "{result}");
    assert!(result["usage"].is_object() && result["turns"] == 1, "{result}");
    assert!(result.get("cost").is_some(), "{result}");
    // Only the conversation itself has sent requests.
    let main = json!({"usage": result["usage"], "cost": result["cost"]});
    assert_eq!(result["by_source"], json!({"main": main}));
}

#[test]
fn stream_json_begins_with_the_session_and_ends_with_the_result() {
    let (_, ran) = with_a_read(&["-p", "what is in a.txt?", "--output-format", "stream-json"]);
    let lines = ran.lines();
    let (first, last) = (&lines[0], lines.last().unwrap());
    assert_eq!((&first["type"], &last["type"]), (&json!("session"), &json!("result")));
    assert_eq!(first["id"], last["session_id"]);
    assert_eq!(last["text"], "It says alpha.");
}

#[test]
fn stream_json_answers_each_call_with_its_result() {
    let (_, ran) = with_a_read(&["-p", "what is in a.txt?", "--output-format", "stream-json"]);
    let lines = ran.lines();
    let messages = of_type(&lines, "message");
    assert_eq!(messages.len(), 2, "{}", ran.describe());
    let blocks = messages[0]["content"].as_array().unwrap();
    assert_eq!(blocks[0], json!({"type": "text", "text": "Looking."}));
    assert_eq!(
        blocks[1],
        json!({"type": "tool_use", "id": "c1", "name": "Read", "input": {"file_path": "a.txt"}})
    );
    assert!(messages.iter().all(|message| {
        message["role"] == "assistant"
            && message["stop_reason"].is_string()
            && message["usage"].is_object()
    }));
    let results = of_type(&lines, "tool_result");
    assert_eq!(results.len(), 1, "{}", ran.describe());
    assert_eq!(results[0]["tool_use_id"], "c1");
    assert_eq!(results[0]["name"], "Read");
    assert_eq!(results[0]["is_error"], false);
    assert!(results[0]["content"].as_str().unwrap().contains("alpha"));
}

#[test]
fn a_call_with_broken_arguments_is_reported_raw() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let function = json!({"name": "Read", "arguments": "{\"file_path\": "});
    let delta = json!({"tool_calls":
        [{"index": 0, "id": "c1", "type": "function", "function": function}]});
    server.reply(ServerReply::deltas([delta], "tool_calls"));
    server.reply(ServerReply::text("My mistake."));
    let ran = env.ask(&server, &["-p", "go", "--output-format", "stream-json"]).assert_exit_code(0);
    let lines = ran.lines();
    let block = &of_type(&lines, "message")[0]["content"][0];
    assert!(block["input"].is_null() && block["raw"].is_string(), "{block}");
    assert_eq!(of_type(&lines, "tool_result")[0]["is_error"], true);
    server.assert_clean();
}

#[test]
fn nothing_that_needs_an_answer_runs() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "touch made"));
    server.reply(ServerReply::text("I could not."));
    let ran = env.ask(&server, &["-p", "make it"]).assert_exit_code(4);
    assert!(!env.path("made").exists());
    assert_eq!(ran.out, "I could not.\n");
    assert!(ran.err.contains("Refused Bash"), "{}", ran.describe());
    let tool_result = result_of(&server.chat_requests()[1], "c1");
    assert!(tool_result.contains("Nobody is there to ask"), "{tool_result}");
    server.assert_clean();
}

#[test]
fn refused_calls_are_listed_in_the_result() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "touch made"));
    server.reply(ServerReply::text("I could not."));
    let ran = env.ask(&server, &["-p", "make it", "--output-format", "json"]).assert_exit_code(4);
    let result = ran.json();
    assert_eq!(result["exit"], 4);
    assert_eq!(result["refused"][0]["call"]["input"]["command"], "touch made");
}

#[test]
fn what_a_rule_allows_runs() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("settings.json", r#"{"permissions":{"allow":["Bash(touch *)"]}}"#);
    server.reply(bash("c1", "touch made"));
    server.reply(ServerReply::text("Made."));
    env.ask(&server, &["-p", "make it"]).assert_exit_code(0);
    assert!(env.path("made").exists());
}

#[test]
fn yolo_runs_what_is_not_denied_and_a_deny_rule_holds() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("settings.json", r#"{"permissions":{"deny":["Bash(touch bad)"]}}"#);
    server.reply(bash("c1", "touch good"));
    server.reply(bash("c2", "touch bad"));
    server.reply(ServerReply::text("One of them."));
    env.ask(&server, &["--yolo", "-p", "make both"]);
    assert!(env.path("good").exists() && !env.path("bad").exists());
    assert!(result_of(&server.chat_requests()[2], "c2").contains("Bash(touch bad)"));
}

#[test]
fn plan_changes_nothing() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::calls(
        "",
        &[("c1", "Write", json!({"file_path": "made", "content": "x"}))],
    ));
    server.reply(ServerReply::text("Here is the plan."));
    env.ask(&server, &["--plan", "-p", "make it"]);
    assert!(!env.path("made").exists());
    assert!(result_of(&server.chat_requests()[1], "c1").starts_with("Error: Denied"));
}

#[test]
fn allow_edits_writes_files_of_the_workspace() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let write = json!({"file_path": "new/made.txt", "content": "here\n"});
    server.reply(ServerReply::calls("", &[("c1", "Write", write)]));
    server.reply(ServerReply::text("Made."));
    env.ask(&server, &["--allow-edits", "-p", "make it"]).assert_exit_code(0);
    assert_eq!(env.read("new/made.txt"), "here\n");
}

#[test]
fn standard_input_is_context() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Reviewed."));
    let endpoint = server.endpoint();
    let arguments = ["--trust-workspace", "-m", "test-model", "-e", &endpoint, "-p", "review this"];
    let ran = env.run_with_input(&arguments, "- old\n+ new\n").assert_exit_code(0);
    assert_eq!(ran.out, "Reviewed.\n");
    let body = server.chat_requests()[0].body.to_string();
    assert!(body.contains("review this") && body.contains("- old\\n+ new"), "{body}");
}

#[test]
fn standard_input_alone_is_the_question() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Forty-two."));
    let endpoint = server.endpoint();
    let arguments = ["--trust-workspace", "-m", "test-model", "-e", &endpoint, "-p"];
    let ran = env.run_with_input(&arguments, "what is six times seven?").assert_exit_code(0);
    assert_eq!(ran.out, "Forty-two.\n");
}

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
    assert!(ran.err.contains("no session of this folder"), "{}", ran.describe());
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
    assert!(result["error"].as_str().unwrap().contains("is open in process"), "{result}");
    assert_eq!(server.chat_requests().len(), 2);
    gate.open();
    assert!(first.wait().unwrap().success());
}

#[test]
fn of_several_models_the_first_is_taken_with_a_note() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let models = json!({"object": "list", "data": [
        {"id": "small-model", "object": "model"}, {"id": "large-model", "object": "model"}]});
    server.answer("GET /v1/models", ServerReply::json(200, &models));
    server.reply(ServerReply::text("Small it is."));
    let ran = env
        .run(&["--trust-workspace", "-e", &server.endpoint(), "-p", "hello"])
        .assert_exit_code(0);
    assert_eq!(server.chat_requests()[0].body["model"], "small-model");
    assert!(ran.err.contains("small-model"), "{}", ran.describe());
    assert_eq!(ran.out, "Small it is.\n");
}

#[test]
fn an_unreachable_server_is_reported_and_exits_with_one() {
    let env = TestEnv::new();
    let endpoint = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/v1", listener.local_addr().unwrap())
    };
    let arguments = ["--trust-workspace", "-m", "m", "-e", &endpoint, "-p", "hello"];
    let ran = env.run(&arguments).assert_exit_code(1);
    let sentence = format!("No server answers at {endpoint}");
    assert!(ran.err.contains(&sentence) && ran.out.is_empty(), "{}", ran.describe());
}

#[test]
fn r36_a_dead_proxy_of_the_environment_is_named_without_its_password() {
    let env = TestEnv::new();
    let dead = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let arguments =
        ["--trust-workspace", "-m", "m", "-e", "https://model.invalid/v1", "-p", "hello"];
    let mut slug = env.command(&arguments);
    slug.env("HTTPS_PROXY", format!("http://me:CANARY@{dead}"));
    let ran = slug.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert_eq!(ran.status.code(), Some(1), "{err}");
    assert!(err.contains(&format!("No proxy answers at http://{dead}")), "{err}");
    assert!(err.contains("Trying again in") && err.contains("(4 of 4)"), "{err}");
    assert!(!format!("{out}{err}").contains("CANARY"), "{err}");
}

#[test]
fn a_failure_is_in_the_result_object_too() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::error(401, "bad key"));
    let ran = env.ask(&server, &["-p", "hello", "--output-format", "json"]).assert_exit_code(1);
    let result = ran.json();
    assert_eq!(result["exit"], 1);
    assert!(result["error"].is_string(), "{result}");
}

#[test]
fn a_wrong_command_line_exits_with_two() {
    let env = TestEnv::new();
    let ran = env.run(&["--no-such-flag"]).assert_exit_code(2);
    assert!(ran.err.contains("--no-such-flag"), "{}", ran.describe());
}

#[test]
fn a_wrong_configuration_exits_with_two_and_names_file_and_line() {
    let env = TestEnv::new();
    env.write_home("config.toml", "model = \"m\"\nmax_tokens = \"many\"\n");
    let ran = env.run(&["-p", "hello"]).assert_exit_code(2);
    assert!(ran.err.contains("config.toml:2"), "{}", ran.describe());
}

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
        let endpoint = server.endpoint();
        let arguments = with_server(&endpoint, &["--sandbox", ".", "-p", "hello"]);
        let output = env.command(&arguments).env("PATH", "/nowhere").output().unwrap();
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
    assert!(ran.err.contains("landlock cannot tell hosts apart"), "{}", ran.describe());
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
            tool_result.contains("Nobody is there to let it run outside"),
            "{method}: {tool_result}"
        );
        assert!(tool_result.contains(&format!("in a sandbox ({method} around")), "{tool_result}");
        assert!(!std::path::Path::new("/usr/slug-was-here").exists());
    }
}

#[test]
fn an_unknown_key_is_reported_with_file_and_line() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("config.toml", "\n[ui]\nmuose = true\n");
    server.reply(ServerReply::text("Good morning."));
    let ran = env.ask(&server, &["-p", "hello"]).assert_exit_code(0);
    assert!(ran.err.contains("config.toml:3") && ran.err.contains("muose"), "{}", ran.describe());
    assert_eq!(ran.out, "Good morning.\n");
    // An unknown key that may have been meant to restrict something ends the run.
    env.write_home("config.toml", "\n[sandbox]\nhost = []\n");
    let ran = env.ask(&server, &["-p", "hello"]).assert_exit_code(2);
    assert!(
        ran.err.contains("config.toml:3") && ran.err.contains("sandbox.host"),
        "{}",
        ran.describe()
    );
}

#[test]
fn without_trust_the_folders_own_files_are_left_out_with_a_note() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("SLUG.md", "Speak like a PIRATE.\n");
    env.write(".slug/settings.json", r#"{"permissions":{"allow":["Bash"]}}"#);
    server.reply(bash("c1", "touch made"));
    server.reply(ServerReply::text("No."));
    let arguments = ["-m", "test-model", "-e", &server.endpoint(), "-p", "go"];
    let ran = env.run(&arguments).assert_exit_code(4);
    assert!(ran.err.contains("not trusted"), "{}", ran.describe());
    assert!(!env.path("made").exists());
    assert!(!server.chat_requests()[0].body.to_string().contains("PIRATE"));
}

#[test]
fn instructions_are_sent_under_their_headings_in_order() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("SLUG.md", "global\n");
    env.write("SLUG.md", "project\n");
    env.write(".slug/rules/style.md", "style\n");
    env.write("SLUG.local.md", "private\n");
    server.reply(ServerReply::text("Understood."));
    env.ask(&server, &["-p", "hello"]).assert_exit_code(0);
    let body = server.chat_requests()[0].body["messages"].to_string();
    let headings =
        ["# Global Rules", "# Project Rules", "# Rule: style.md", "# Local Notes (private)"];
    let places: Vec<usize> = headings
        .iter()
        .map(|heading| body.find(heading).unwrap_or_else(|| panic!("no {heading} in {body}")))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn instructions_are_never_stored_in_the_session() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("SLUG.md", "Speak like a PIRATE.\n");
    server.reply(ServerReply::text("Arr."));
    env.ask(&server, &["-p", "hello"]).assert_exit_code(0);
    assert!(server.chat_requests()[0].body.to_string().contains("PIRATE"));
    let folder = env.slug_home().join("sessions");
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!text.contains("PIRATE"), "{text}");
    }
}

#[test]
fn s100_s102_the_key_reaches_its_server_and_no_child_or_log() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("settings.json", r#"{"permissions":{"allow":["Bash"]}}"#);
    server.reply(bash("c1", "env"));
    server.reply(ServerReply::text("Done."));
    let endpoint = server.endpoint();
    let mut command =
        env.command(&["--trust-workspace", "--debug-log", "-m", "test-model", "-p", "env"]);
    command.env("SLUG_API_KEY", "sk-CANARY-0123456789").env("SLUG_ENDPOINT", &endpoint);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let requests = server.chat_requests();
    assert_eq!(requests[0].headers["authorization"], "Bearer sk-CANARY-0123456789");
    assert!(!requests[1].body.to_string().contains("CANARY"));
    assert_nowhere(&env, "CANARY");
}

/// Asserts that no file of slug's home holds `secret`.
fn assert_nowhere(env: &TestEnv, secret: &str) {
    let mut folders = vec![env.slug_home()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            assert!(!String::from_utf8_lossy(&bytes).contains(secret), "{}", path.display());
        }
    }
}

/// The real key is only in the file that the command reads; the debug log learns it when it is
/// printed.
#[test]
fn s100_s102_a_key_from_anywhere_reaches_its_server_and_no_child_or_log() {
    use std::os::unix::fs::PermissionsExt;
    let key = "CANARY-0123456789".to_owned();
    for way in [
        "api_key_command = [\"cat\", \"../../tmp/key\"]",
        "api_key_command = \"env > ../../tmp/seen; cat ../../tmp/key\"",
        "api_key = { keyring = \"work\" }",
        "api_key = { env = \"MY_LLM\" }",
    ] {
        let (env, server) = (TestEnv::new(), ModelServer::start());
        let tmp = env.home().join("../tmp");
        std::fs::write(tmp.join("key"), format!("{key}\nuser: me\n")).unwrap();
        let tool = tmp.join("secret-tool");
        std::fs::write(&tool, "#!/bin/sh\ncat \"${0%/*}/key\"\n").unwrap();
        std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        env.write_home("settings.json", r#"{"permissions":{"allow":["Bash"]}}"#);
        let endpoint = server.endpoint();
        let config = format!(
            "endpoint = \"{endpoint}\"\nmodel = \"test-model\"\n{way}\n\
             headers = {{ X-Who = {{ env = \"MY_WHO\" }} }}\n"
        );
        env.write_home("config.toml", &config);
        server.reply(bash("c1", "env; cat /proc/$PPID/cmdline"));
        server.reply(ServerReply::text("Done."));
        let mut command = env.command(&["--trust-workspace", "--debug-log", "-p", "env"]);
        let path = std::env::var_os("PATH").unwrap();
        let paths = std::iter::once(tmp.clone()).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(paths).unwrap());
        command.env("OPENAI_API_KEY", "CANARY-openai").env("MY_WHO", "CANARY-who-it-is");
        if way.contains("MY_LLM") {
            command.env("MY_LLM", &key);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{way}: {output:?}");
        let requests = server.chat_requests();
        assert_eq!(requests[0].headers["authorization"], format!("Bearer {key}"), "{way}");
        assert_eq!(requests[0].headers["x-who"], "CANARY-who-it-is", "{way}");
        assert!(!requests[1].body.to_string().contains("CANARY"), "{way}");
        assert!(!String::from_utf8_lossy(&output.stderr).contains("CANARY"), "{way}");
        assert_nowhere(&env, "CANARY");
        if let Ok(seen) = std::fs::read_to_string(tmp.join("seen")) {
            assert!(seen.contains("PATH=") && !seen.contains("CANARY"), "{seen}");
        }

        // A key that the server repeats is taken out of the debug log, though only the key is
        // known.
        server.reply(ServerReply::text(&format!("Your key is {key}.")));
        let mut command = env.command(&["--trust-workspace", "--debug-log", "-p", "again"]);
        let paths = std::iter::once(tmp.clone()).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(paths).unwrap()).env("MY_LLM", &key);
        command.env("MY_WHO", "x");
        assert!(command.output().unwrap().status.success());
        let mut folders = vec![env.slug_home().join("debug"), env.slug_home().join("logs")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let text = std::fs::read_to_string(&path).unwrap();
                    assert!(!text.contains(&key), "{way}: {}", path.display());
                }
            }
        }
    }
}

#[test]
fn a_missing_key_is_reported_before_anything_is_sent() {
    for (way, expected) in [
        ("api_key_command = \"echo locked >&2; exit 3\"", "exit status: 3: locked"),
        ("api_key = { env = \"NOT_SET_HERE\" }", "variable NOT_SET_HERE, which is not set"),
    ] {
        let (env, server) = (TestEnv::new(), ModelServer::start());
        let endpoint = server.endpoint();
        let config = format!("endpoint = \"{endpoint}\"\nmodel = \"test-model\"\n{way}\n");
        env.write_home("config.toml", &config);
        let ran = env.run(&["--trust-workspace", "-p", "hello"]).assert_exit_code(1);
        assert!(ran.describe().contains(expected), "{}", ran.describe());
        assert!(server.chat_requests().is_empty(), "{way}");
        let doctor = env.run(&["doctor"]).assert_exit_code(1);
        assert!(
            doctor.describe().contains("There is no key for")
                && doctor.describe().contains(expected)
        );
    }
}

#[test]
fn what_slug_writes_is_closed_to_others() {
    use std::os::unix::fs::PermissionsExt;
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Good morning."));
    env.ask(&server, &["--debug-log", "-p", "hello"]).assert_exit_code(0);
    let mut folders = vec![env.slug_home()];
    while let Some(folder) = folders.pop() {
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
            }
        }
    }
}

#[test]
fn an_interrupt_ends_slug_and_its_children() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "echo $$ > pid; sleep 300"));
    let child = env.ask_in_background(&server, &["--yolo", "-p", "wait"]);
    let sleeper = || {
        let text = std::fs::read_to_string(env.path("pid")).ok()?;
        Pid::from_raw(text.strip_suffix('\n')?.parse().ok()?)
    };
    assert!(wait_until(|| sleeper().is_some()), "the command has not begun");
    kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(2), "{output:?}");
    let sleeper = sleeper().unwrap();
    assert!(wait_until(|| test_kill_process(sleeper).is_err()), "{sleeper:?} still runs");
}

#[test]
fn after_an_interrupt_in_mid_answer_the_session_can_be_continued() {
    let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
    server.reply(ServerReply::text("one two three four").gated(&gate));
    server.reply(ServerReply::text("Four."));
    let child = env.ask_in_background(&server, &["-p", "count"]);
    gate.let_through(3);
    server.wait_for_requests(1);
    kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(2), "{output:?}");
    assert!(wait_until(|| server.aborted_replies() == 1), "the server still generates");
    let ran = env.ask(&server, &["--continue", "-p", "go on"]).assert_exit_code(0);
    assert_eq!(ran.out, "Four.\n");
    server.assert_clean();
}

#[test]
fn the_demo_answers_without_a_server() {
    let env = TestEnv::new();
    env.write(
        "script.toml",
        "model = \"demo\"\n[[response]]\n[[response.step]]\nsay = \"Scripted.\"\n",
    );
    let script = env.path("script.toml");
    let script = script.to_str().unwrap();
    let ran = env.run(&["--trust-workspace", "--demo", script, "-p", "hello"]).assert_exit_code(0);
    assert_eq!(ran.out, "Scripted.\n");
}

#[test]
fn slugs_own_permissions_are_not_changed_even_with_yolo() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let rules = r#"{"permissions":{"allow":["Bash"]}}"#;
    let write = json!({"file_path": ".slug/settings.json", "content": rules});
    server.reply(ServerReply::calls("", &[("c1", "Write", write)]));
    server.reply(bash("c2", "mkdir -p .slug && echo '{}' > .slug/settings.local.json"));
    server.reply(ServerReply::text("I could not."));
    env.ask(&server, &["--yolo", "-p", "free yourself"]);
    assert!(!env.path(".slug/settings.json").exists());
    assert!(!env.path(".slug/settings.local.json").exists());
    server.assert_clean();
}

#[test]
fn reading_outside_the_workspace_needs_an_answer() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let secret = env.home().join("secret.txt");
    std::fs::write(&secret, "CANARY").unwrap();
    std::os::unix::fs::symlink(&secret, env.path("link.txt")).unwrap();
    server.reply(ServerReply::calls("", &[("c1", "Read", json!({"file_path": secret}))]));
    server.reply(ServerReply::calls("", &[("c2", "Read", json!({"file_path": "link.txt"}))]));
    server.reply(ServerReply::calls(
        "",
        &[("c3", "Read", json!({"file_path": "../home/secret.txt"}))],
    ));
    server.reply(ServerReply::text("I could not."));
    env.ask(&server, &["-p", "read it"]).assert_exit_code(4);
    for request in server.chat_requests() {
        assert!(!request.body.to_string().contains("CANARY"), "{}", request.body);
    }
}

#[test]
fn edits_through_a_link_out_of_the_workspace_need_an_answer() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let outside = env.home().join("profile");
    std::fs::write(&outside, "before").unwrap();
    std::os::unix::fs::symlink(&outside, env.path("link")).unwrap();
    server.reply(ServerReply::calls("", &[("c1", "Read", json!({"file_path": "link"}))]));
    let write = json!({"file_path": "link", "content": "after"});
    server.reply(ServerReply::calls("", &[("c2", "Write", write)]));
    server.reply(ServerReply::text("I could not."));
    env.ask(&server, &["--allow-edits", "-p", "write"]).assert_exit_code(4);
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "before");
}

#[test]
fn a_long_output_reaches_the_model_cut_and_says_so() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "seq 1 200000"));
    server.reply(ServerReply::text("Long."));
    env.ask(&server, &["--yolo", "-p", "count"]).assert_exit_code(0);
    let tool_result = result_of(&server.chat_requests()[1], "c1");
    assert!(tool_result.len() < 40 << 10, "{}", tool_result.len());
    assert!(tool_result.starts_with("1\n2\n") && tool_result.contains("\n200000"), "{tool_result}");
}

#[test]
fn a_background_process_does_not_delay_the_result() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "sleep 300 & echo $! > pid; echo ok"));
    server.reply(ServerReply::text("Started."));
    let began = std::time::Instant::now();
    env.ask(&server, &["--yolo", "-p", "serve"]).assert_exit_code(0);
    assert!(began.elapsed() < std::time::Duration::from_secs(20));
    assert!(result_of(&server.chat_requests()[1], "c1").contains("ok"));
    // No process that slug started outlives it.
    let pid = Pid::from_raw(env.read("pid").trim().parse().unwrap()).unwrap();
    assert!(wait_until(|| test_kill_process(pid).is_err()), "{pid:?} still runs");
}

#[test]
fn a_turn_ends_at_its_limit_of_rounds() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("config.toml", "max_tool_rounds = 2\n");
    for file in ["a", "b", "c"] {
        env.write(&format!("{file}.txt"), file);
        let input = json!({"file_path": format!("{file}.txt")});
        server.reply(ServerReply::calls("", &[(file, "Read", input)]));
    }
    let ran = env.ask(&server, &["-p", "read all"]).assert_exit_code(1);
    assert!(ran.err.contains("max_tool_rounds"), "{}", ran.describe());
    server.assert_clean();
}

#[test]
fn agents_md_is_read_where_there_is_no_slug_md() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("AGENTS.md", "Tabs, not spaces.\n");
    server.reply(ServerReply::text("Understood."));
    env.ask(&server, &["-p", "hello"]).assert_exit_code(0);
    let body = server.chat_requests()[0].body["messages"].to_string();
    assert!(body.contains("# Project Rules") && body.contains("Tabs, not spaces."), "{body}");
}

#[test]
fn an_unwritable_home_is_reported_with_a_remedy() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    // A file in the place of the folder: not even root can write below it.
    std::fs::write(env.slug_home(), "").unwrap();
    let ran = env.ask(&server, &["-p", "hello"]).assert_exit_code(1);
    assert!(ran.err.contains("SLUG_HOME"), "{}", ran.describe());
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_session_that_cannot_be_written_fails_and_asks_nothing() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("sessions", "a file where the folder would be");
    server.reply(ServerReply::text("Never."));
    env.ask(&server, &["-p", "hello"]).assert_exit_code(1);
    assert_eq!(server.chat_requests().len(), 0);
}

#[test]
fn temperature_and_effort_are_sent_only_where_they_are_set() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("One."));
    server.reply(ServerReply::text("Two."));
    env.ask(&server, &["-p", "hello"]).assert_exit_code(0);
    env.write_home("config.toml", "temperature = 0.5\neffort = \"low\"\n");
    env.ask(&server, &["-p", "hello"]).assert_exit_code(0);
    let requests = server.chat_requests();
    assert!(requests[0].body.get("temperature").is_none());
    assert!(requests[0].body.get("reasoning_effort").is_none());
    assert_eq!(requests[1].body["temperature"], 0.5);
    assert_eq!(requests[1].body["reasoning_effort"], "low");
}

#[test]
fn a_budget_stops_a_run_with_three() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let run = ["-p", "go", "--budget", "5 tokens", "--output-format", "json"];
    let ran = env.ask(&server, &run).assert_exit_code(3);
    let result = ran.json();
    assert_eq!((&result["exit"], &result["cost"]), (&json!(3), &Value::Null));
    assert!(result["error"].as_str().unwrap().contains("5 tokens for this session"), "{result}");
    assert!(server.chat_requests().is_empty());
    let wrong = env.ask(&server, &["-p", "go", "--budget", "much"]).assert_exit_code(2);
    assert!(wrong.err.contains("500k tokens"), "{}", wrong.describe());
}
