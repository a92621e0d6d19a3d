//! Servers whose tools are in the tools array from the start of a session on, and what the others cost.

use serde_json::{Value, json};

use super::SERVER;
use crate::support::model_server::{ModelServer, RecordedRequest, ServerReply};
use crate::support::terminal::{PtySlug, key};
use crate::support::test_env::{HeadlessOutput, TestEnv};
use crate::{last_user_text, result_of};

/// What is said where a server has not told its tools in an earlier run.
const UNKNOWN: &str = "slug does not know the tools of these MCP servers yet: s.";

/// The scripted server's tools, by name. `mcp__s__second` comes from its second page.
const TOOLS: [&str; 6] = [
    "mcp__s__big",
    "mcp__s__change",
    "mcp__s__die",
    "mcp__s__echo",
    "mcp__s__hang",
    "mcp__s__second",
];

/// With the scripted server as one of the user's own that is always loaded.
fn env() -> TestEnv {
    let env = TestEnv::new();
    std::fs::create_dir(env.path("state")).unwrap();
    configure(&env, true);
    env.write_home("settings.json", r#"{"permissions":{"allow":["mcp__s__echo"]}}"#);
    env
}

fn configure(env: &TestEnv, always_load: bool) {
    let state = env.path("state").display().to_string();
    env.write_home(
        "config.toml",
        &format!(
            "[mcp.s]\ncommand = \"bash\"\nargs = [\"{SERVER}\", \"{state}\"]\nalways_load = {always_load}\n"
        ),
    );
}

/// The tools of servers in the array of a request.
fn listed(request: &RecordedRequest) -> Vec<&str> {
    let names = request.body["tools"].as_array().unwrap().iter();
    let names = names.map(|tool| tool["function"]["name"].as_str().unwrap());
    names.filter(|name| name.starts_with("mcp__")).collect()
}

/// The bytes of the tools array.
fn array(request: &RecordedRequest) -> String {
    request.body["tools"].to_string()
}

/// Runs slug, which ends with this exit status and a text. Returns its first request.
fn ask(
    env: &TestEnv,
    server: &ModelServer,
    arguments: &[&str],
    code: i32,
) -> (HeadlessOutput, RecordedRequest) {
    let before = server.chat_requests().len();
    server.reply(ServerReply::text("Done."));
    let output = env.ask(server, arguments).assert_exit_code(code);
    (output, server.chat_requests().swap_remove(before))
}

/// The newest session.
fn session(env: &TestEnv) -> String {
    env.sessions()[0]["session_id"].as_str().unwrap().to_owned()
}

#[test]
fn definitions_of_an_earlier_run_are_in_the_array_and_stay_there() {
    let (env, server) = (env(), ModelServer::start());
    let (told, first) = ask(&env, &server, &["-p", "one"], 0);
    assert_eq!(told.err.matches(UNKNOWN).count(), 1, "{}", told.describe());
    assert_eq!(listed(&first), [""; 0], "deferred in this session");
    assert!(last_user_text(&first).contains("- s (6 tools): Finds bugs."));
    let deferred = session(&env);

    let calls = |id: &str, name: &str, input: Value| ServerReply::calls("", &[(id, name, input)]);
    server.reply(calls("c1", "mcp__s__echo", json!({"text": "direct"})));
    server.reply(calls("c2", "Call", json!({"tool": "mcp__s__echo", "input": {"text": "inner"}})));
    server.reply(calls("c3", "ToolSearch", json!({"query": "select:mcp__s__echo"})));
    server.reply(calls("c4", "mcp__s__big", json!({})));
    let (told, second) = ask(&env, &server, &["-p", "two"], 4);
    assert!(!told.err.contains(UNKNOWN), "{}", told.describe());
    assert_eq!(listed(&second), TOOLS);
    assert!(last_user_text(&second).contains("- s (its tools are among yours): Finds bugs."));
    let (of_slug, whole) = (array(&first), array(&second));
    assert!(whole.starts_with(of_slug.strip_suffix(']').unwrap()), "behind slug's own");
    let requests = server.chat_requests();
    let last = requests.last().unwrap();
    assert!(requests[1..].iter().all(|request| array(request) == whole));
    assert_eq!(result_of(last, "c1"), "echo: direct");
    assert_eq!(result_of(last, "c2"), "echo: inner");
    assert_eq!(result_of(last, "c3"), "mcp__s__echo is in your tools: call it directly.");
    assert!(!env.read("state/received").contains("\"name\":\"big\""), "no rule allows it");
    let loaded = session(&env);

    // What the server says later changes no session that began before.
    env.write("state/description", "later");
    let more = ["-p", "three", "--resume", &loaded];
    server.reply(calls("c5", "mcp__s__echo", json!({"text": "x"})));
    let (told, third) = ask(&env, &server, &more, 0);
    assert_eq!(array(&third), whole, "{}", told.describe());
    let refused = result_of(server.chat_requests().last().unwrap(), "c5");
    assert!(refused.contains("It has changed the definition of this tool"), "{refused}");
    let (_, forked) = ask(&env, &server, &["-p", "three", "--fork-session", &loaded], 0);
    assert_eq!(array(&forked), whole);
    server.assert_clean();
    configure(&env, false);
    let (told, fourth) = ask(&env, &server, &more, 0);
    assert_eq!(array(&fourth), of_slug, "a log alone puts nothing into the array");
    assert!(told.err.contains("They are left out"), "{}", told.describe());
    configure(&env, true);
    let (_, fifth) = ask(&env, &server, &["-p", "five", "--resume", &deferred], 0);
    assert_eq!(array(&fifth), of_slug);

    // A new session has the definition that was accepted.
    let begun = |text: &str| {
        let request = ask(&env, &server, &["-p", text], 0).1;
        request.body["tools"].as_array().unwrap().iter().rev().nth(2).unwrap().clone()
    };
    assert_eq!(begun("six")["function"]["description"], "first");
    env.run(&["mcp", "accept", "s"]).assert_exit_code(0);
    assert_eq!(begun("seven")["function"]["description"], "later");
}

/// A tool that rules deny wholly is not put into the array; one that is in it is denied all the same.
#[test]
fn a_denied_tool_is_not_put_into_the_array() {
    let (env, server) = (env(), ModelServer::start());
    ask(&env, &server, &["-p", "one"], 0);
    let deny = |rule: &str| {
        env.write_home("settings.json", &json!({"permissions": {"deny": [rule]}}).to_string());
    };
    deny("mcp__s__die");
    let (_, second) = ask(&env, &server, &["-p", "two"], 0);
    assert!(!listed(&second).contains(&"mcp__s__die"), "{:?}", listed(&second));
    assert_eq!(listed(&second).len(), TOOLS.len() - 1);
    deny("mcp__s__echo");
    let echo = ("c1", "mcp__s__echo", json!({"text": "x"}));
    server.reply(ServerReply::calls("", &[echo]));
    let (_, third) = ask(&env, &server, &["-p", "three", "--resume", &session(&env)], 4);
    assert_eq!(array(&third), array(&second));
    let denied = result_of(server.chat_requests().last().unwrap(), "c1");
    assert!(denied.contains("mcp__s__echo"), "{denied}");
    deny("mcp__s");
    assert_eq!(listed(&ask(&env, &server, &["-p", "four"], 0).1), [""; 0]);
    server.assert_clean();
}

/// A log may come from elsewhere: tools of a server that is not the user's are not put before the model.
#[test]
fn a_server_that_is_gone_takes_its_tools_out_of_the_array() {
    let (env, server) = (env(), ModelServer::start());
    ask(&env, &server, &["-p", "one"], 0);
    let (_, second) = ask(&env, &server, &["-p", "two"], 0);
    env.write_home("config.toml", "");
    let echo = ("c1", "mcp__s__echo", json!({"text": "x"}));
    server.reply(ServerReply::calls("", &[echo]));
    let (_, third) = ask(&env, &server, &["-p", "three", "--resume", &session(&env)], 0);
    assert_eq!((listed(&second), listed(&third)), (TOOLS.to_vec(), Vec::new()));
    let told = result_of(server.chat_requests().last().unwrap(), "c1");
    assert!(told.contains("There is no tool \"mcp__s__echo\""), "{told}");
}

/// `/context` shows what each tool of the array costs.
#[test]
fn the_cost_of_the_context_has_the_tools_of_the_array() {
    let (env, server) = (env(), ModelServer::start());
    ask(&env, &server, &["-p", "one"], 0);
    let mut slug = PtySlug::at(&env, 100, 60).server(&server).open();
    slug.wait_for("What should I do?");
    slug.say("/context");
    slug.wait_for("Tool definitions (17)");
    slug.keys(key::ESC);
    slug.wait_for("What should I do?");
    slug.quit();
}

/// Of servers that the model does not use, a request has a note with a line for each and nothing else.
#[test]
fn ten_servers_add_a_line_each_to_the_first_request() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let (_, without) = ask(&env, &server, &["-p", "one"], 0);
    let mut config = String::new();
    for at in 0..10 {
        let state = env.home().join(format!("state{at}"));
        std::fs::create_dir(&state).unwrap();
        let state = state.display();
        config.push_str(&format!(
            "[mcp.s{at}]\ncommand = \"bash\"\nargs = [\"{SERVER}\", \"{state}\"]\n"
        ));
    }
    env.write_home("config.toml", &config);
    let (_, with) = ask(&env, &server, &["-p", "one"], 0);
    assert_eq!(array(&with), array(&without));
    let text = |request: &RecordedRequest| last_user_text(request);
    let note: Vec<String> = text(&with).lines().map(str::to_owned).collect();
    let known = text(&without);
    let added: Vec<&String> = note.iter().filter(|line| !known.contains(line.as_str())).collect();
    let lines = |line: &&&String| line.ends_with(" (6 tools): Finds bugs.");
    assert_eq!(added.iter().filter(lines).count(), 10, "{added:#?}");
    assert!(added.len() <= 13, "a head, and marks of the note: {added:#?}");
    assert_eq!(with.messages()[0], without.messages()[0], "the system prompt");
}
