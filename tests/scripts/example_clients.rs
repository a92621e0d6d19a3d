//! The clients in `docs/examples` do what they say, over a pipe and over a socket. Node runs the one in
//! TypeScript as it is from version 22.18 on.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::serve::ServedSession;
use crate::support::model_server::{ModelServer, ReplyGate, ServerReply};
use crate::support::skip::skip;
use crate::support::test_env::{SLUG, TestEnv};
use crate::{bash, result_of};

/// A program that runs a client, and the client.
const PYTHON: (&str, &str) = ("python3", "slug_client.py");
const NODE: (&str, &str) = ("node", "slug_client.ts");

/// The client, unless its language is not there; then the test is skipped.
fn client(env: &TestEnv, (language, file): (&str, &str), arguments: &[&str]) -> Option<Command> {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples").join(file);
    let mut command = Command::new(language);
    command.arg(&example).args(arguments).current_dir(env.workspace());
    command.env_clear().envs(env.environment());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let version = Command::new(language).arg("--version").output().ok()?;
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    match language {
        "node" if !strips_types(version.trim()) => None,
        _ => Some(command),
    }
}

fn strips_types(version: &str) -> bool {
    let mut numbers = version.trim_start_matches('v').split('.').map(|it| it.parse::<u32>());
    let mut next = || numbers.next().and_then(Result::ok).unwrap_or_default();
    (next(), next()) >= (22, 18)
}

fn skip_client((language, file): (&str, &str)) {
    skip(format!("{file} needs {language}, for TypeScript 22.18 or newer"));
}

/// Answers a question with yes, another with no and a hint, and one of the model's own.
fn answers_questions(env: &TestEnv, server: &ModelServer, command: &mut Command) {
    server.reply(bash("c1", "touch made.txt"));
    server.reply(bash("c2", "touch other.txt"));
    let asks = json!({"questions": [{"question": "Which?", "header": "Choice",
        "options": [{"label": "red"}, {"label": "blue"}]}]});
    server.reply(ServerReply::calls("", &[("c3", "AskUser", asks)]));
    server.reply(ServerReply::words(["All ", "done."]));
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"y\nleave it\n1\n").unwrap();
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{out}");
    assert!(out.contains("All done.") && out.contains("touch made.txt"), "{out}");
    assert!(env.path("made.txt").exists() && !env.path("other.txt").exists(), "{out}");
    let asked = server.chat_requests();
    assert!(result_of(&asked[2], "c2").contains("leave it"), "{}", result_of(&asked[2], "c2"));
    assert!(result_of(&asked[3], "c3").contains("blue"), "{}", result_of(&asked[3], "c3"));
}

fn over_a_pipe(language: (&str, &str)) {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let slug =
        format!("{SLUG} --trust-workspace --model test-model --endpoint {}", server.endpoint());
    let Some(mut command) = client(&env, language, &["--slug", &slug, "do it"]) else {
        return skip_client(language);
    };
    answers_questions(&env, &server, &mut command);
}

fn over_a_socket(language: (&str, &str)) {
    let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
    let served = ServedSession::start(&env, &server);
    let path = served.path.to_str().unwrap();
    let (Some(mut first), Some(mut second)) = (
        client(&env, language, &["--socket", path, "do it"]),
        client(&env, language, &["--socket", path, "a story"]),
    ) else {
        return skip_client(language);
    };
    let mut watching = served.client();
    answers_questions(&env, &server, &mut first);
    while watching.next_of("access")["writer"] != "nobody" {}
    // The next one takes over, sees the text as it streams, and stops the turn.
    server.reply(ServerReply::words(["Once\n", "upon ", "a time."]).gated(&gate));
    let mut child = second.spawn().unwrap();
    gate.let_through(2);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("Once") {
        line.clear();
        assert_ne!(out.read_line(&mut line).unwrap(), 0, "the text does not come");
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let mut last = served.writer();
    last.send(json!({"type": "end"}));
    served.ends_well();
}

#[test]
fn the_client_in_python_works_over_a_pipe() {
    over_a_pipe(PYTHON);
}

#[test]
fn the_client_in_python_works_over_a_socket() {
    over_a_socket(PYTHON);
}

#[test]
fn the_client_in_typescript_works_over_a_pipe() {
    over_a_pipe(NODE);
}

#[test]
fn the_client_in_typescript_works_over_a_socket() {
    over_a_socket(NODE);
}
