//! `slug -p` as a script uses it: what is printed where, the exit status, and that no call runs
//! that would need an approval.

mod api_keys;
mod compaction;
mod connection;
mod crash_recovery;
mod fail_closed;
mod instructions;
mod own_keys;
mod permissions;
mod sandbox;
mod scratch;
mod security;
mod sessions;

use std::os::unix::process::ExitStatusExt;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use crate::support::model_server::{ModelServer, ReplyGate, ServerReply, wait_until};
use crate::support::test_env::{HeadlessOutput, TestEnv};
use crate::{bash, result_of};

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
fn a_race_is_refused_since_nobody_would_take_an_answer() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let ran = env.ask(&server, &["-p", "/race other-model why"]).assert_exit_code(1);
    assert!(ran.err.contains("needs slug's full screen"), "{}", ran.describe());
    assert_eq!(server.chat_requests().len(), 0);
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
    assert_eq!(result["error"]["kind"], "failed");
    assert!(result["error"]["message"].is_string(), "{result}");
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
fn the_debug_log_has_the_bodies_as_they_travelled() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::error(500, "not now").with_header("retry-after", "0"));
    server.reply(ServerReply::text("Good morning."));
    env.ask(&server, &["--debug-log", "-p", "hello"]).assert_exit_code(0);
    let run = std::fs::read_dir(env.slug_home().join("debug")).unwrap().next().unwrap().unwrap();
    let events = std::fs::read_to_string(run.path().join("events.jsonl")).unwrap();
    let events: Vec<Value> =
        events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| events.iter().filter(|it| it["event"] == kind).collect::<Vec<_>>();
    let text = |event: &Value| {
        std::fs::read_to_string(run.path().join(event["file"].as_str().unwrap())).unwrap()
    };
    let (requests, responses) = (of("wire_request"), of("wire_response"));
    let answers: Vec<_> = responses.iter().map(|it| (it["status"].as_u64(), text(it))).collect();
    assert!(answers[0].0 == Some(500) && answers[0].1.contains("\"not now\""), "{answers:?}");
    assert_eq!(answers[1].0, Some(200));
    assert!(answers[1].1.contains("data: ") && answers[1].1.contains("Good"), "{}", answers[1].1);
    let numbers = |events: &[&Value], field: &str| {
        events.iter().map(|it| it[field].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&responses, "request"), numbers(&requests, "number"));
    let sent: Vec<Value> =
        requests.iter().map(|it| serde_json::from_str(&text(it)).unwrap()).collect();
    let received: Vec<_> = server.model_requests().into_iter().map(|it| it.body).collect();
    assert_eq!(sent, received);
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
    let ran = env.ask(&server, &["--yolo", "-p", "serve"]).assert_exit_code(0);
    assert!(began.elapsed() < std::time::Duration::from_secs(20));
    assert!(result_of(&server.chat_requests()[1], "c1").contains("ok"));
    assert!(ran.err.contains("Still running, and ended now: sleep 300"), "{}", ran.describe());
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
    server.reply(ServerReply::text("a and b are read, c is open."));
    let ran = env.ask(&server, &["-p", "read all"]).assert_exit_code(3);
    assert!(ran.err.contains("max_tool_rounds"), "{}", ran.describe());
    assert_eq!(ran.out, "a and b are read, c is open.\n");
    let requests = server.chat_requests();
    assert_eq!(requests.len(), 4);
    assert_eq!(requests[3].body["tool_choice"], "none");
    assert_eq!(requests[3].body["tools"], requests[0].body["tools"]);
    server.assert_clean();
}

#[test]
fn a_headless_run_has_300_rounds() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("config.toml", "context_window = 400000\n");
    env.write("a.txt", &"a line\n".repeat(400));
    for round in 1..=301 {
        let input = json!({"file_path": "a.txt", "offset": round, "limit": 1});
        server.reply(ServerReply::calls("", &[(&format!("c{round}"), "Read", input)]));
    }
    server.reply(ServerReply::text("300 lines are read."));
    let run = ["-p", "read it line by line", "--output-format", "json"];
    let result = env.ask(&server, &run).assert_exit_code(3).json();
    assert_eq!(result["rounds"], 300);
    assert_eq!(result["error"]["kind"], "round_limit");
    assert_eq!(result["text"], "300 lines are read.");
    let requests = server.chat_requests();
    assert_eq!(requests.len(), 302, "300 rounds, the refused one, and the summary");
    assert!(result_of(&requests[300], "c300").contains("a line"));
    assert!(!result_of(&requests[301], "c301").contains("a line"));
    server.assert_clean();
}

#[test]
fn the_limit_of_rounds_can_be_set_for_one_run() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("config.toml", "max_tool_rounds = 50\n");
    env.write("a.txt", "a");
    for id in ["c1", "c2"] {
        server.reply(ServerReply::calls("", &[(id, "Read", json!({"file_path": "a.txt"}))]));
    }
    server.reply(ServerReply::text("Half of it."));
    let run = ["--max-rounds", "1", "-p", "go", "--output-format", "json"];
    let result = env.ask(&server, &run).assert_exit_code(3).json();
    assert_eq!((&result["text"], &result["exit"]), (&json!("Half of it."), &json!(3)));
    assert_eq!(result["error"]["kind"], "round_limit");
    assert_eq!(result["rounds"], 1, "the calls behind the last round did not run");
    env.ask(&server, &["--max-rounds", "0", "-p", "go"]).assert_exit_code(2);
    let shown = env.run(&["--max-rounds", "7", "config"]).assert_exit_code(0);
    let line = shown.out.lines().find(|line| line.starts_with("max_tool_rounds")).unwrap();
    assert!(line.contains('7') && line.ends_with("--max-rounds"), "{line}");
}

#[test]
fn what_is_no_answer_fails_the_run() {
    let cases = [
        ("stop", "empty_answer", "sent an empty answer"),
        ("content_filter", "content_filter", "withheld this answer"),
    ];
    for (finish, kind, told) in cases {
        let (env, server) = (TestEnv::new(), ModelServer::start());
        server.reply(ServerReply::deltas([], finish));
        let ran = env.ask(&server, &["-p", "go", "--output-format", "json"]).assert_exit_code(1);
        let result = ran.json();
        assert_eq!((&result["exit"], &result["error"]["kind"]), (&json!(1), &json!(kind)));
        assert!(result["error"]["message"].as_str().unwrap().contains(told), "{result}");
        assert!(!ran.err.contains("Interrupted"), "{}", ran.describe());
    }
}

#[test]
fn a_turn_of_repeated_calls_fails_the_run() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("a.txt", "alpha\n");
    for id in ["c1", "c2", "c3", "c4", "c5", "c6"] {
        server.reply(ServerReply::calls("", &[(id, "Read", json!({"file_path": "a.txt"}))]));
    }
    let ran = env.ask(&server, &["-p", "go", "--output-format", "json"]).assert_exit_code(1);
    let error = &ran.json()["error"];
    assert_eq!(error["kind"], "repeated_calls");
    assert!(error["message"].as_str().unwrap().contains("the same calls, which have"), "{error}");
    assert!(!ran.err.contains("Interrupted"), "{}", ran.describe());
}

#[test]
fn the_output_limit_is_sent_only_where_something_is_known() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    for (config, limit) in [
        ("", Value::Null),
        ("context_window = 9000\n", json!(3000)),
        ("max_tokens = 64000\n", json!(64000)),
    ] {
        env.write_home("config.toml", config);
        server.reply(ServerReply::text("Yes."));
        env.ask(&server, &["-p", "go"]).assert_exit_code(0);
        let sent = server.chat_requests().pop().unwrap();
        assert_eq!(sent.body["max_tokens"], limit, "{config}");
    }
}

#[test]
fn the_result_in_json_has_the_figures_of_the_run() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("old.txt", "one\ntwo\nthree\n");
    let write = |path: &str, content: &str| json!({"file_path": path, "content": content});
    server.reply(ServerReply::calls("", &[("c1", "Write", write("new.txt", "a\nb\n"))]));
    server.reply(bash("c2", "printf 'one\\n2\\n' > old.txt; touch tmp; rm tmp"));
    server.reply(ServerReply::text("Done."));
    let ran = env.ask(&server, &["--yolo", "-p", "go", "--output-format", "json"]);
    let result = ran.assert_exit_code(0).json();
    let file =
        |path: &str, added, removed| json!({"path": path, "added": added, "removed": removed});
    assert_eq!(result["files"], json!([file("new.txt", 2, 0), file("old.txt", 1, 2)]));
    assert_eq!((&result["rounds"], &result["turns"]), (&json!(2), &json!(1)));
    assert_eq!(
        (&result["model"], &result["stop_reason"]),
        (&json!("test-model"), &json!("end_turn"))
    );
    assert!(result["duration_ms"].as_u64().is_some_and(|taken| taken < 60_000), "{result}");
    assert_eq!((&result["background"], &result["error"]), (&json!([]), &Value::Null));
}

#[test]
fn the_event_stream_begins_with_what_runs() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Yes."));
    let ran = env.ask(&server, &["--allow-edits", "-p", "go", "--output-format", "stream-json"]);
    let lines = ran.assert_exit_code(0).lines();
    let first = &lines[0];
    assert_eq!(
        (&first["type"], &first["id"]),
        (&json!("session"), &lines.last().unwrap()["session_id"])
    );
    assert_eq!(first["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(first["cwd"], json!(env.workspace().canonicalize().unwrap()));
    assert_eq!((&first["model"], &first["mode"]), (&json!("test-model"), &json!("allow-edits")));
    let tools = first["tools"].as_array().unwrap();
    let sent = server.chat_requests()[0].body["tools"].as_array().unwrap().len();
    assert!(tools.contains(&json!("Bash")) && tools.len() == sent, "{first}");
}

#[test]
fn a_time_limit_stops_a_run_with_three() {
    let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
    server.reply(ServerReply::text("one two three four").gated(&gate));
    gate.let_through(3);
    let run = ["-p", "count", "--timeout", "2s", "--output-format", "json"];
    let ran = env.ask(&server, &run).assert_exit_code(3);
    let result = ran.json();
    assert_eq!((&result["exit"], &result["error"]["kind"]), (&json!(3), &json!("timeout")));
    assert!(result["text"].as_str().unwrap().starts_with("one two"), "{result}");
    assert!(wait_until(|| server.aborted_replies() == 1), "the server still generates");
    assert!(!ran.err.contains("reading the prompt"), "{}", ran.describe());
    // What takes less time is not stopped, and a wrong time is an error of the command line.
    server.reply(ServerReply::text("Four."));
    env.ask(&server, &["--continue", "-p", "go on", "--timeout", "1m"]).assert_exit_code(0);
    for wrong in ["0", "soon", "1.5"] {
        env.ask(&server, &["-p", "go", "--timeout", wrong]).assert_exit_code(2);
    }
    server.assert_clean();
}

#[test]
fn a_time_limit_says_that_the_server_was_still_reading() {
    let progress = "data: {\"choices\":[],\"prompt_progress\":{\"total\":12000,\"cache\":0,\"processed\":4096}}\n\n";
    for (pieces, told) in [
        (vec![progress], "while the server was still reading the prompt (4.1k of 12k tokens)."),
        (vec![": still here\n\n"], "before the server sent any of its answer."),
    ] {
        let (env, server) = (TestEnv::new(), ModelServer::start());
        let shown = pieces.len();
        server.reply(ServerReply::raw(200, "text/event-stream", pieces).hanging_after(shown));
        let ran = env.ask(&server, &["-p", "count", "--timeout", "2s"]).assert_exit_code(3);
        assert!(ran.err.contains(told) && ran.err.contains("--continue"), "{}", ran.describe());
    }
}

#[test]
fn what_commands_left_running_is_named_in_the_result() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "sleep 300 & echo ok"));
    server.reply(bash("c2", "echo over"));
    server.reply(ServerReply::text("Started."));
    let ran = env.ask(&server, &["--yolo", "-p", "serve", "--output-format", "json"]);
    assert_eq!(ran.assert_exit_code(0).json()["background"], json!(["sleep 300 & echo ok"]));
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
    assert_eq!(result["error"]["kind"], "budget");
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.contains("5 tokens for this session"), "{result}");
    assert!(server.chat_requests().is_empty());
    let wrong = env.ask(&server, &["-p", "go", "--budget", "much"]).assert_exit_code(2);
    assert!(wrong.err.contains("500k tokens"), "{}", wrong.describe());
}
