//! `/mcp` on a real terminal, with a server that is a program.

use serde_json::json;

use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::terminal::{PtySlug, key};
use crate::support::test_env::TestEnv;

/// With the scripted server as one of the user's own.
fn env() -> TestEnv {
    let env = TestEnv::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/server.sh");
    let state = env.workspace().display().to_string();
    let server = format!("[mcp.s]\ncommand = \"bash\"\nargs = [\"{script}\", \"{state}\"]\n");
    env.write_home("config.toml", &server);
    env
}

#[test]
fn a_server_is_seen_restarted_and_its_changed_tool_accepted() {
    let (env, server) = (env(), ModelServer::start());
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("/mcp");
    slug.wait_for("ready");
    slug.wait_for("6 tools");
    slug.keys("\r");
    slug.wait_for("calls itself  scripted 1");
    slug.wait_for("asks you");
    slug.wait_for("hello on standard error");
    env.write("description", "second");
    slug.keys("r");
    slug.wait_for("These tools are not called until you accept their new definitions:");
    slug.wait_for_question("c accepts them");
    assert_eq!(env.read("starts").matches("started").count(), 2);
    slug.keys("c");
    slug.wait_for_no("1 tool changed");
    slug.wait_for("echo    second");
    slug.keys(key::ESC);
    slug.wait_for("1 server");
    slug.keys(key::ESC);
    slug.wait_for_no("1 server");
    slug.quit();
    server.assert_clean();
}

/// S55: a project's server starts with a yes to what is on screen, and not before.
#[test]
fn s55_a_projects_server_starts_with_a_yes_to_what_is_shown() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let script = std::fs::read_to_string("tests/mcp/server.sh").unwrap();
    env.write("tool.sh", &script);
    env.write(
        ".mcp.json",
        r#"{"mcpServers": {"p": {"command": "bash", "args": ["tool.sh", "."]}}}"#,
    );
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("/mcp");
    slug.wait_for("not allowed here yet");
    slug.keys("y");
    slug.wait_for_question("a yes covers tool.sh as it is now");
    assert!(!env.path("starts").exists());
    env.write("tool.sh", &format!("# changed\n{script}"));
    slug.keys("y");
    slug.wait_for("p has changed since it was shown.");
    slug.wait_for_question("a yes covers tool.sh as it is now");
    assert!(!env.path("starts").exists());
    slug.keys("y");
    slug.wait_for("calls itself  scripted 1");
    assert_eq!(env.read("starts"), "started\n");
    slug.keys(key::ESC);
    slug.wait_for("1 server");
    slug.keys(key::ESC);
    slug.wait_for_no("1 server");
    slug.quit();
}

#[test]
fn in_linear_mode_the_servers_are_listed_and_one_is_restarted() {
    let (env, server) = (env(), ModelServer::start());
    let mut slug = PtySlug::at(&env, 100, 30).server(&server).args(&["--linear"]).open();
    slug.wait_for_raw("a prompt", |raw| raw.ends_with("You: "));
    slug.keys("/mcp\r");
    slug.wait_for_raw("the list", |raw| {
        raw.contains("1. s: ready, 6 tools, yours") && raw.ends_with("Number: ")
    });
    slug.keys("1\r");
    slug.wait_for_raw("the server", |raw| {
        raw.contains("  echo: asks you, ~22 tokens. first\r\n") && raw.ends_with("Answer: ")
    });
    slug.keys("restart\r");
    slug.wait_for_raw("the start", |raw| raw.contains("Restarting s."));
    slug.wait_for_raw("the server again", |raw| {
        raw.matches("calls itself  scripted 1").count() == 2 && raw.ends_with("Answer: ")
    });
    slug.keys("\r");
    slug.wait_for_raw("the list", |raw| raw.ends_with("Number: "));
    slug.keys("\r");
    slug.wait_for_raw("a prompt", |raw| raw.ends_with("You: "));
    assert_eq!(env.read("starts").matches("started").count(), 2);
    slug.keys("/quit\r");
    assert!(slug.wait().success());
}

/// The pane of a call shows what its server tells of it while it runs.
#[test]
fn the_progress_of_a_call_is_shown_while_it_runs() {
    let (env, server) = (env(), ModelServer::start());
    env.write("slow", "");
    let hang = json!({"tool": "mcp__s__hang", "input": {}});
    server.reply(ServerReply::calls("", &[("c1", "Call", hang)]));
    server.reply(ServerReply::text("It came."));
    let mut slug = PtySlug::chat_with(&env, &server, &["--yolo"]);
    slug.say("/mcp");
    slug.wait_for("ready");
    slug.keys(key::ESC);
    slug.wait_for_no("ready");
    slug.say("wait for it");
    slug.wait_for("1/2 halfway");
    assert_eq!(server.chat_requests().len(), 1, "the call runs");
    env.write("release", "");
    slug.wait_for("It came.");
    slug.quit();
    server.assert_clean();
}
