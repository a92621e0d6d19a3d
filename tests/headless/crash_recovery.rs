//! R3: slug is killed at any moment of a turn with tools, and continues the session afterwards.
//!
//! `SLUG_KILL_ROUNDS` sets the number of kills; a thousand take about five minutes on two cores.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::test_env::TestEnv;

const ROUNDS: usize = 16;
/// The longest time before the kill, in ms: about as long as a turn takes.
const LONGEST: u64 = 1500;
const AT_ONCE: usize = 4;

#[test]
fn r3_a_kill_at_any_moment_loses_nothing_that_was_printed() {
    let rounds = std::env::var("SLUG_KILL_ROUNDS").ok().and_then(|text| text.parse().ok());
    let rounds = rounds.unwrap_or(ROUNDS);
    let (next, printed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let round = next.fetch_add(1, Ordering::Relaxed);
                    if round >= rounds {
                        return;
                    }
                    // Spread evenly, in no order.
                    let part = (round * 7919 % rounds) as u64;
                    let after = Duration::from_millis(LONGEST * part / rounds as u64);
                    printed.fetch_add(killed_after(after), Ordering::Relaxed);
                }
            });
        }
    });
    let printed = printed.into_inner();
    eprintln!("{rounds} kills, {printed} lines told before");
    assert!(printed > rounds, "slug was killed before it had said anything: {printed} lines");
}

/// Plays a turn, kills it, checks the log, and continues. Returns how many lines slug had printed.
fn killed_after(after: Duration) -> usize {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("settings.json", r#"{"permissions":{"allow":["Bash", "Write"]}}"#);
    for number in 0..40 {
        server.reply(working(number));
    }
    server.reply(ServerReply::text("All done."));
    let arguments = ["-p", "work", "--output-format", "stream-json"];
    let mut child = env.ask_in_background(&server, &arguments);
    let out = BufReader::new(child.stdout.take().unwrap());
    let reader = thread::spawn(move || {
        let whole = out.lines().map_while(Result::ok);
        whole.map_while(|line| serde_json::from_str(&line).ok()).collect::<Vec<Value>>()
    });
    thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    let printed = reader.join().unwrap();

    let session = left_behind(&env, &printed);
    goes_on(&env, session.as_deref());
    printed.len()
}

/// A response with three calls, each of which appends a line to a file of its own.
fn working(number: usize) -> ServerReply {
    let mark = |id: &str| json!({"command": format!("echo ran >> ran-{id}")});
    let (first, second, third) = (format!("a{number}"), format!("b{number}"), format!("w{number}"));
    let write = json!({"file_path": format!("f{number}.txt"), "content": "x\n".repeat(100)});
    let text = format!("Step {number}.");
    let calls = [
        (first.as_str(), "Bash", mark(&first)),
        (third.as_str(), "Write", write),
        (second.as_str(), "Bash", mark(&second)),
    ];
    ServerReply::calls(&text, &calls).paced(Duration::from_millis(1))
}

/// Asserts that everything printed or done is in the log; returns the session's id.
fn left_behind(env: &TestEnv, printed: &[Value]) -> Option<String> {
    let is_said = |line: &&Value| line["type"] == "message" || line["type"] == "tool_result";
    let acknowledged: Vec<&Value> = printed.iter().filter(is_said).collect();
    let Some(session) = only_session(env) else {
        assert!(acknowledged.is_empty(), "no log, but told: {acknowledged:?}");
        return None;
    };
    let records = env.run(&["sessions", "show", &session, "--json"]).assert_exit_code(0).json();
    let records = records.as_array().unwrap();
    let contents: Vec<&Value> = records.iter().map(|record| &record["content"]).collect();
    let begun: HashSet<&str> = records.iter().filter_map(|it| it["call"].as_str()).collect();
    let answered = |id: &Value| {
        let mut blocks = contents.iter().filter_map(|content| content.as_array()).flatten();
        blocks.any(|block| block["tool_use_id"] == *id)
    };
    for line in acknowledged {
        let is_kept = match line["type"].as_str() {
            Some("message") => contents.contains(&&line["content"]),
            _ => answered(&line["tool_use_id"]),
        };
        assert!(is_kept, "lost: {line}");
    }
    for number in 0..40 {
        for id in [format!("a{number}"), format!("b{number}")] {
            let ran = fs::read_to_string(env.path(&format!("ran-{id}"))).unwrap_or_default();
            assert!(ran.lines().count() <= 1, "{id} ran more than once");
            assert!(ran.is_empty() || begun.contains(id.as_str()), "{id} ran unannounced");
        }
        let written = fs::read(env.path(&format!("f{number}.txt"))).unwrap_or_default();
        assert!(written.is_empty() || written.len() == 200, "a part of f{number}.txt");
    }
    Some(session)
}

fn only_session(env: &TestEnv) -> Option<String> {
    let files = fs::read_dir(env.slug_home().join("sessions")).ok()?;
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut logs = names.filter_map(|name| name.strip_suffix(".jsonl").map(str::to_owned));
    let log = logs.next();
    assert_eq!(logs.next(), None, "more than one log");
    log
}

/// Asserts that a strict server accepts the history, and that no started call runs again.
fn goes_on(env: &TestEnv, session: Option<&str>) {
    let server = ModelServer::start();
    server.reply(ServerReply::text("Here again."));
    let resumed = session.map(|session| ["--resume", session]);
    let mut arguments = vec!["-p", "go on"];
    arguments.extend(resumed.iter().flatten());
    let ran = env.ask(&server, &arguments).assert_exit_code(0);
    assert_eq!(ran.out, "Here again.\n");
    server.assert_clean();
    if let Some(session) = session {
        let log = env.slug_home().join(format!("sessions/{session}.jsonl"));
        for line in fs::read_to_string(log).unwrap().lines() {
            serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        }
    }
}
