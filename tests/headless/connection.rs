//! The connection to the server: a server that is not ready, overloaded or silent, proxies of the
//! environment, and no network at all.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::connect_proxy::ConnectProxy;
use crate::support::model_server::{ModelServer, ReplyGate, ServerReply, wait_until};
use crate::support::skip::skip;
use crate::support::test_env::{SLUG, TestEnv};

/// Arguments for a question to this endpoint that name no model.
fn unnamed(endpoint: &str) -> [&str; 5] {
    ["--trust-workspace", "-e", endpoint, "-p", "hello"]
}

#[test]
fn a_server_that_still_loads_its_model_is_waited_for() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let loading =
        ServerReply::error(503, "Service Unavailable").with_header("retry-after-ms", "50");
    server.answer("GET /v1/models", loading);
    server.reply(ServerReply::text("Awake."));
    let endpoint = server.endpoint();
    let slug = env.command(&unnamed(&endpoint)).spawn().unwrap();
    assert!(wait_until(|| server.requests().len() > 2), "{:?}", server.requests());
    let list = json!({"data": [{"id": "late-model"}]});
    server.answer("GET /v1/models", ServerReply::json(200, &list));
    let ran = slug.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "Awake.\n", "{err}");
    assert!(err.contains("Trying again in 0.1 s (1 of 36)"), "{err}");
    assert_eq!(server.chat_requests()[0].body["model"], "late-model");
}

#[test]
fn the_model_list_is_retried_as_often_as_an_answer() {
    let env = TestEnv::new();
    let endpoint = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/v1", listener.local_addr().unwrap())
    };
    let ran = env.run(&unnamed(&endpoint)).assert_exit_code(1);
    assert!(ran.err.contains("(4 of 4)"), "{}", ran.describe());
    assert!(ran.err.contains(&format!("No server answers at {endpoint}")), "{}", ran.describe());
}

#[test]
fn a_refused_model_list_is_asked_for_once() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.answer("GET /v1/models", ServerReply::error(401, "bad key"));
    let endpoint = server.endpoint();
    let ran = env.run(&unnamed(&endpoint)).assert_exit_code(1);
    assert!(ran.err.contains("Set `api_key`") && !ran.err.contains("Trying"), "{}", ran.describe());
}

#[test]
fn another_model_answers_where_the_first_ones_server_is_overloaded() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("config.toml", "fallback_model = \"small-model\"\n");
    for _ in 0..3 {
        server.reply(ServerReply::error(529, "Overloaded").with_header("retry-after-ms", "10"));
    }
    server.reply(ServerReply::text("In its place."));
    let ran = env.ask(&server, &["-p", "hello"]).assert_exit_code(0);
    assert_eq!(ran.out, "In its place.\n");
    let note = "slug uses small-model for the rest of this turn.";
    assert!(ran.err.contains(note), "{}", ran.describe());
    let requests: Vec<_> =
        server.chat_requests().iter().map(|chat| chat.body["model"].clone()).collect();
    assert_eq!(requests, ["test-model", "test-model", "test-model", "small-model"]);
    server.assert_clean();
}

#[test]
fn time_limits_come_from_the_configuration() {
    let nothing = ReplyGate::closed();
    for (limit, replies, told) in [
        (
            "first_byte",
            vec![ServerReply::text("late").head_gated(&nothing)],
            "has sent nothing for 1 s",
        ),
        (
            "idle",
            vec![ServerReply::text("half of it").hanging_after(2)],
            "has sent nothing for 1 s",
        ),
        (
            "total",
            vec![ServerReply::text("half of it").hanging_after(2)],
            "still answering after 1 s",
        ),
    ] {
        let (env, server) = (TestEnv::new(), ModelServer::start());
        env.write_home("config.toml", &format!("[timeouts]\n{limit} = 1\n"));
        let is_final = limit == "total";
        replies.into_iter().for_each(|reply| server.reply(reply));
        server.reply(ServerReply::text("Here it is."));
        let ran = env.ask(&server, &["-p", "hello"]).assert_exit_code(i32::from(is_final));
        assert!(ran.err.contains(told), "{limit}: {}", ran.describe());
        assert_eq!(ran.out.contains("Here it is."), !is_final, "{limit}: {}", ran.describe());
    }
}

#[test]
fn r37_a_link_that_goes_down_in_the_midst_of_an_answer_costs_three_more_tries() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("config.toml", "[timeouts]\nidle = 1\n");
    let write = json!({"file_path": "made", "content": "x"});
    for _ in 0..4 {
        // The call is whole, but the answer has no end.
        server
            .reply(ServerReply::calls("half", &[("c1", "Write", write.clone())]).hanging_after(4));
    }
    let ran = env.ask(&server, &["--yolo", "-p", "make it"]).assert_exit_code(1);
    assert!(ran.err.contains("has sent nothing for 1 s"), "{}", ran.describe());
    assert_eq!(ran.err.matches("Trying again").count(), 3, "{}", ran.describe());
    assert!(ran.err.contains("(3 of 3)"), "{}", ran.describe());
    assert!(!env.path("made").exists(), "nothing of an unfinished answer is done");
    let requests = server.chat_requests();
    let [first, others @ ..] = &requests[..] else { panic!("{}", ran.describe()) };
    assert_eq!(others.len(), 3);
    let is_same = others.iter().all(|other| other.body == first.body);
    assert!(is_same, "nothing of it is sent back");
}

#[test]
fn r36_a_proxy_of_the_environment_leads_to_the_server() {
    let (env, tunnel) = (TestEnv::new(), ConnectProxy::start());
    env.write_home("config.toml", &tunnel.ca_file());
    let mut slug = env.command(&unnamed("https://model.invalid/v1"));
    let ran = slug.env("HTTPS_PROXY", tunnel.address()).output().unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "Through the tunnel.\n", "{err}");
    let requests = tunnel.requests();
    let connects: Vec<&str> = requests.iter().map(|it| it.connect.as_str()).collect();
    assert_eq!(connects, ["CONNECT model.invalid:443 HTTP/1.1"; 2], "the list and the answer");
    assert!(requests[1].head[0].starts_with("POST /v1/chat/completions"), "{requests:?}");
}

#[test]
fn r36_the_configuration_can_bypass_the_proxy_of_the_environment() {
    let (env, tunnel) = (TestEnv::new(), ConnectProxy::start());
    env.write_home("config.toml", "proxy = \"none\"\n");
    // No certificate has so long a name, so no server is asked for one.
    let endpoint = format!("https://{}.invalid/v1", "a".repeat(70));
    let mut slug = env.command(&unnamed(&endpoint));
    slug.env("HTTPS_PROXY", tunnel.address()).env("HTTP_PROXY", tunnel.address());
    let ran = slug.output().unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(err.contains("is not valid, so no certificate can be for it"), "{err}");
    assert!(!err.contains("Trying again"), "{err}");
    assert!(tunnel.requests().is_empty(), "{:?}", tunnel.requests());
}

#[test]
fn the_catalogue_is_fetched_through_the_configured_proxy() {
    let (env, tunnel) = (TestEnv::new(), ConnectProxy::start());
    let proxy = format!("proxy = \"{}\"\n", tunnel.address());
    env.write_home("config.toml", &format!("{}{proxy}", tunnel.ca_file()));
    // The server behind the tunnel lists models, but not in the form of models.dev.
    let ran = env.run(&["models", "refresh"]).assert_exit_code(1);
    assert!(ran.err.contains("models.dev"), "{}", ran.describe());
    let requests = tunnel.requests();
    assert_eq!(requests[0].connect, "CONNECT models.dev:443 HTTP/1.1");
    assert!(requests[0].head[0].starts_with("GET /api.json"), "{requests:?}");
}

/// Runs slug until `words` are on its standard error, and returns everything that was there.
fn until(mut slug: Command, words: &str) -> String {
    let mut slug = slug.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = String::new();
    let mut lines = BufReader::new(slug.stderr.take().unwrap()).lines();
    while let Some(Ok(line)) = lines.next() {
        stderr.push_str(&format!("{line}\n"));
        if stderr.contains(words) {
            break;
        }
    }
    slug.kill().unwrap();
    slug.wait().unwrap();
    stderr
}

/// A command for slug without a network, not even this machine's own. `None` where the system does
/// not let a test take the network away.
fn without_a_network(env: &TestEnv, arguments: &[&str]) -> Option<Command> {
    let unshare = |arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--net"]).args(arguments).stdin(Stdio::null());
        command
    };
    let possible = unshare(&["true"]).stderr(Stdio::null()).status();
    if !possible.is_ok_and(|status| status.success()) {
        return None;
    }
    let mut slug = unshare(&[&[SLUG], arguments].concat());
    slug.current_dir(env.workspace()).env_clear().envs(env.environment());
    Some(slug)
}

#[test]
fn r37_without_a_network_each_try_is_reported_with_its_error() {
    for (endpoint, expected) in [
        ("https://192.0.2.1/v1", "Cannot reach https://192.0.2.1/v1: "),
        ("https://model.invalid/v1", "The host of https://model.invalid/v1 was not found."),
    ] {
        let env = TestEnv::new();
        let Some(slug) = without_a_network(&env, &unnamed(endpoint)) else {
            skip("a test cannot take the network away here");
            return;
        };
        let stderr = until(slug, "Trying again in");
        assert!(stderr.contains(expected) && stderr.contains("(1 of 10)"), "{stderr}");
    }
}

#[test]
fn without_any_model_it_says_what_to_do() {
    let env = TestEnv::new();
    let ran = env.run(&["-p", "hello"]).assert_exit_code(1);
    assert!(ran.err.contains("No model is set up."), "{}", ran.describe());
    assert!(ran.err.contains("slug --provider anthropic -p"), "{}", ran.describe());
    assert!(ran.out.is_empty() && !ran.err.contains("localhost:8000/v1."), "{}", ran.describe());
}
