//! Servers as the user adds and accepts them on the command line, and as the model then finds them.

use serde_json::{Value, json};

use super::SERVER;
use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::test_env::TestEnv;
use crate::{last_user_text, result_of};

/// The whole way: the configuration, the note, the search, the gate with its rule, and the call.
#[test]
fn a_model_finds_and_calls_the_tool_of_a_configured_server() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let state = env.path("state");
    std::fs::create_dir(&state).unwrap();
    let state = state.to_str().unwrap();
    env.run(&["mcp", "add", "s", "--", "bash", SERVER, state]).assert_exit_code(0);
    env.write_home("settings.json", r#"{"permissions":{"allow":["mcp__s__echo"]}}"#);
    let calls = |id: &str, name: &str, input: Value| ServerReply::calls("", &[(id, name, input)]);
    server.reply(calls("c1", "ToolSearch", json!({"query": "echo"})));
    let echo = json!({"tool": "mcp__s__echo", "input": {"text": "hi"}});
    server.reply(calls("c2", "Call", echo));
    server.reply(calls("c3", "mcp__s__second", json!({})));
    server.reply(ServerReply::text("Done."));
    env.ask(&server, &["-p", "use the echo"]).assert_exit_code(4);
    let requests = server.chat_requests();
    assert!(last_user_text(&requests[0]).contains("- s (6 tools): Finds bugs."));
    assert!(result_of(&requests[1], "c1").contains("mcp__s__echo: first"));
    assert_eq!(result_of(&requests[2], "c2"), "echo: hi");
    assert!(!requests[0].body["tools"].to_string().contains("mcp__"), "the array stays");
    let received = std::fs::read_to_string(env.path("state").join("received")).unwrap();
    assert!(!received.contains("\"name\":\"second\""), "no rule allows it");
}

/// A tool that settings deny wholly is not told of in the note or by ToolSearch; a call of it is denied.
#[test]
fn a_tool_that_settings_deny_is_not_shown_to_the_model() {
    for (rule, note, found) in [
        ("mcp__s__echo", "- s (5 tools): ", "mcp__s__big"),
        ("mcp__s", "", "No tool matches"),
        ("mcp__s__*", "", "No tool matches"),
    ] {
        let (env, server) = (TestEnv::new(), ModelServer::start());
        let state = env.path("state");
        std::fs::create_dir(&state).unwrap();
        env.run(&["mcp", "add", "s", "--", "bash", SERVER, state.to_str().unwrap()])
            .assert_exit_code(0);
        env.write_home("settings.json", &json!({"permissions": {"deny": [rule]}}).to_string());
        let calls =
            |id: &str, name: &str, input: Value| ServerReply::calls("", &[(id, name, input)]);
        server.reply(calls("c1", "ToolSearch", json!({"query": "mcp", "max_results": 20})));
        let echo = json!({"tool": "mcp__s__echo", "input": {"text": "hi"}});
        server.reply(calls("c2", "Call", echo));
        server.reply(ServerReply::text("Done."));
        env.ask(&server, &["-p", "use the echo"]).assert_exit_code(4);
        let requests = server.chat_requests();
        let told = last_user_text(&requests[0]);
        assert_eq!(told.contains("- s ("), !note.is_empty(), "{rule}: {told}");
        assert!(told.contains(note), "{rule}: {told}");
        let searched = result_of(&requests[1], "c1");
        assert!(searched.contains(found) && !searched.contains("echo"), "{rule}: {searched}");
        let denied = result_of(&requests[2], "c2");
        assert!(denied.contains(rule), "{rule}: {denied}");
        assert!(!std::fs::read_to_string(state.join("received")).unwrap().contains("tools/call"));
    }
}

/// Servers that start, fail, or wait for a yes; none outlives the check.
#[test]
fn doctor_starts_the_servers_and_says_how_each_is() {
    let env = TestEnv::new();
    let state = env.path("state");
    std::fs::create_dir(&state).unwrap();
    let state = state.to_str().unwrap();
    env.run(&["mcp", "add", "good", "--", "bash", SERVER, state]).assert_exit_code(0);
    env.run(&["mcp", "add", "gone", "--", "slug-no-such-program"]).assert_exit_code(0);
    env.write(".mcp.json", r#"{"mcpServers": {"theirs": {"command": "touch", "args": ["ran"]}}}"#);
    let server = ModelServer::start();
    let ran = env.command_to(&server, &["doctor"]).output().unwrap();
    let told = String::from_utf8(ran.stdout).unwrap();
    assert!(told.contains("good starts and has 6 tools."), "{told}");
    assert!(told.contains("gone cannot be used: "), "{told}");
    assert!(told.contains("theirs of .mcp.json has not been allowed to start here"), "{told}");
    assert!(!env.path("ran").exists());
}

/// S93: what is accepted is shown.
#[test]
fn s93_slug_mcp_accept_shows_the_new_definition() {
    let env = TestEnv::new();
    let state = env.path("state");
    std::fs::create_dir(&state).unwrap();
    env.run(&["mcp", "add", "s", "--", "bash", SERVER, state.to_str().unwrap()])
        .assert_exit_code(0);
    let tested = env.run(&["mcp", "test", "s"]);
    assert!(tested.out.contains("echo") && !tested.out.contains("changed"), "{}", tested.out);
    std::fs::write(state.join("description"), "second").unwrap();
    let tested = env.run(&["mcp", "test", "s"]);
    assert!(tested.out.contains("echo  (its definition has changed)"), "{}", tested.out);
    let accepted = env.run(&["mcp", "accept", "s"]);
    assert!(
        accepted.out.contains("echo is accepted as it is now:\n  second\n"),
        "{}",
        accepted.out
    );
    assert!(accepted.out.contains("\"required\": ["), "{}", accepted.out);
    let again = env.run(&["mcp", "accept", "s"]);
    assert_eq!(again.out, "No tool of s has changed.\n");
}

/// A server without resources and prompts has no lines for them.
#[test]
fn slug_mcp_test_prints_prompts_and_resources() {
    let env = TestEnv::new();
    let state = env.path("state");
    std::fs::create_dir(&state).unwrap();
    env.run(&["mcp", "add", "s", "--", "bash", SERVER, state.to_str().unwrap()])
        .assert_exit_code(0);
    let tested = env.run(&["mcp", "test", "s"]).assert_exit_code(0);
    assert!(!tested.out.contains("prompt") && !tested.out.contains("resource"), "{}", tested.out);
    std::fs::write(state.join("offers"), "").unwrap();
    let tested = env.run(&["mcp", "test", "s"]).assert_exit_code(0);
    let offers = "2 prompts\n  /s:review\n  /s:plain\n2 resources\n  note://a\n  note://big\n\
                  1 resource template\n  note://{id}\n";
    assert!(tested.out.ends_with(offers), "{}", tested.out);
    let json = env.run(&["mcp", "test", "s", "--json"]).json();
    assert_eq!(json["prompts"], json!(["review", "plain"]));
    assert_eq!(json["resources"], json!(["note://a", "note://big"]));
    assert_eq!(json["resource_templates"], json!(["note://{id}"]));
    std::fs::write(state.join("broken"), "").unwrap();
    let broken = env.run(&["mcp", "test", "s"]).assert_exit_code(0);
    assert!(broken.err.contains("Listing its resources failed."), "{}", broken.err);
    assert!(broken.out.contains("2 prompts\n"), "{}", broken.out);
}

/// The forms of `slug mcp add` as the documentation has them.
#[test]
fn a_server_is_added_with_options_on_either_side() {
    let env = TestEnv::new();
    let url = "https://tracker.example.com/mcp";
    env.run(&["mcp", "add", "tracker", url, "--header", "Authorization=Bearer ${TOKEN}"])
        .assert_exit_code(0);
    let command =
        ["mcp", "add", "git", "--env", "A=b", "--", "uvx", "mcp-git", "--repository", "."];
    env.run(&command).assert_exit_code(0);
    let found = |name: &str| env.run(&["mcp", "get", name, "--json"]).json();
    let (tracker, git) = (found("tracker"), found("git"));
    assert_eq!((&tracker["starts"], &tracker["sends"]), (&json!(url), &json!(["Authorization"])));
    assert_eq!(git["starts"], "uvx mcp-git --repository .");
    env.run(&["mcp", "add", "x", url, "more"]).assert_exit_code(2);
    env.run(&["mcp", "add", "x", "uvx", "--repository", "."]).assert_exit_code(2);
    env.run(&["mcp", "get", "x"]).assert_exit_code(2);
}
