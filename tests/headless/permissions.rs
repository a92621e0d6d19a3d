//! Rules and modes without a user: a call that would need an answer does not run.

use serde_json::json;

use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::test_env::TestEnv;
use crate::{bash, result_of};

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
fn mistakes_of_the_model_are_no_refusals() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let long = format!("echo {}", "x".repeat(17 << 10));
    for (id, name, input) in [
        ("c1", "Raed", json!({"file_path": "a"})),
        ("c2", "Read", json!({"file_path": "a", "pages": "1-2"})),
        ("c3", "Read", json!({"file_path": "a", "offset": "soon"})),
        ("c4", "Bash", json!({"command": "echo 'one\nif true; then"})),
        ("c5", "Bash", json!({"command": "echo a\n) b"})),
        ("c6", "Bash", json!({ "command": long })),
        ("c7", "Bash", json!({"command": "echo \u{202e}a"})),
    ] {
        server.reply(ServerReply::calls("", &[(id, name, input)]));
    }
    server.reply(ServerReply::text("I could not."));
    let ran = env.ask(&server, &["-p", "go", "--output-format", "json"]).assert_exit_code(0);
    assert_eq!(ran.json()["refused"], json!([]));
    let last = server.chat_requests().pop().unwrap();
    for (call, told) in [
        ("c1", "There is no tool"),
        ("c2", "unknown argument `pages`"),
        ("c3", "offset"),
        ("c4", "a quote, a bracket or a here-document may be open. Close every quote"),
        ("c5", "a quote, a bracket or a here-document may be open. Look at line 2, column 1"),
        ("c6", "it is longer than 16 KB. Write long text to a file with Write"),
        ("c7", "it contains the character U+202E. Send the command without"),
    ] {
        let result = result_of(&last, call);
        assert!(result.starts_with("Error: ") && result.contains(told), "{call}: {result}");
    }
    // The same holds in plan mode. A rule that is about the text refuses it all the same.
    server.reply(bash("c1", "echo 'one"));
    server.reply(ServerReply::text("I could not."));
    env.ask(&server, &["--plan", "-p", "go"]).assert_exit_code(0);
    env.write_home("settings.json", r#"{"permissions":{"deny":["Bash(rm *)"]}}"#);
    server.reply(bash("c1", "rm a 'b"));
    server.reply(ServerReply::text("I could not."));
    env.ask(&server, &["-p", "go"]).assert_exit_code(4);
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
