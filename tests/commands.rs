//! The commands other than the chat: each prints what its name says, and with `--json` what a
//! script reads.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "in a test, failing loudly is the point"
)]

mod support;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use serde_json::{Value, json};
use support::model_server::{ModelServer, ServerReply};
use support::test_env::{HeadlessOutput, TestEnv};

/// An environment with one session, and the session's id.
fn with_a_session() -> (TestEnv, String) {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Blue."));
    let ran =
        env.ask(&server, &["-p", "which colour?", "--output-format", "json"]).assert_exit_code(0);
    let id = ran.json()["session_id"].as_str().unwrap().to_owned();
    (env, id)
}

fn named<'a>(list: &'a Value, key: &str, name: &str) -> &'a Value {
    let found = list.as_array().unwrap().iter().find(|item| item[key] == name);
    found.unwrap_or_else(|| panic!("no {name} in {list}"))
}

#[test]
fn config_says_each_value_and_where_it_comes_from() {
    let env = TestEnv::new();
    env.write_home("config.toml", "model = \"from-file\"\n");
    let ran = env.run(&["--endpoint", "http://localhost:9999/v1", "config"]).assert_exit_code(0);
    let line = |key: &str| {
        let line = ran.out.lines().find(|line| line.trim_start().starts_with(key));
        line.unwrap_or_else(|| panic!("no {key} in {}", ran.describe())).to_owned()
    };
    assert!(line("model").contains("from-file") && line("model").contains("config.toml"));
    assert!(line("endpoint").contains("9999") && line("endpoint").contains("--endpoint"));
    assert!(line("max_tokens").contains("4096"));
}

#[test]
fn config_never_shows_a_key() {
    let env = TestEnv::new();
    env.write_home("config.toml", "api_key = \"sk-CANARY\"\n");
    for arguments in [vec!["config"], vec!["config", "--json"], vec!["doctor", "--json"]] {
        let ran = env.run(&arguments);
        assert!(!ran.out.contains("CANARY") && !ran.err.contains("CANARY"), "{}", ran.describe());
    }
}

#[test]
fn config_as_json_is_read_by_scripts() {
    let env = TestEnv::new();
    let config = env.run(&["--model", "m", "config", "--json"]).assert_exit_code(0).json();
    let text = config.to_string();
    assert!(text.contains("\"m\"") && text.contains("--model"), "{config}");
}

#[test]
fn keys_says_what_each_action_is_bound_to_and_where() {
    let env = TestEnv::new();
    env.write_home("config.toml", "[ui]\nkeys = \"vi\"\n");
    env.write_home("keys.toml", "[chat]\npalette = \"f5\"\nhlep = \"f6\"\n");
    let list = env.run(&["keys", "--json"]).assert_exit_code(0).json();
    let of = |context: &str, action: &str| {
        let mut rows = list["keys"].as_array().unwrap().iter();
        let row = rows.find(|row| row["context"] == context && row["action"] == action);
        row.unwrap_or_else(|| panic!("no {context}.{action} in {list}")).clone()
    };
    assert_eq!(list["preset"], "vi");
    let palette = of("chat", "palette");
    assert_eq!((&palette["keys"], &palette["origin"]["line"]), (&json!(["f5"]), &json!(2)));
    assert_eq!(of("panes", "scroll-top")["origin"]["kind"], "preset");
    assert_eq!(of("always", "cancel")["keys"], json!(["ctrl+c"]));
    let text = env.run(&["keys"]).assert_exit_code(0).out;
    assert!(text.contains("chat.palette") && text.contains("keys.toml:2)"), "{text}");
    let warning = "keys.toml:3: there is no action in [chat] called `hlep`: did you mean `help`?";
    for command in ["keys", "config", "doctor"] {
        let ran = env.run(&[command]);
        assert!(ran.out.contains(warning), "{command}: {}", ran.describe());
    }
}

#[test]
fn tools_list_names_every_tool() {
    let env = TestEnv::new();
    let tools = env.run(&["tools", "list", "--json"]).assert_exit_code(0).json();
    for name in ["Bash", "Read", "Write", "Edit", "Glob", "Grep", "TodoWrite"] {
        let tool = named(&tools, "name", name);
        assert!(tool["description"].as_str().is_some_and(|it| !it.is_empty()), "{tool}");
    }
    let text = env.run(&["tools", "list"]).assert_exit_code(0).out;
    assert_eq!(text.lines().count(), tools.as_array().unwrap().len());
}

#[test]
fn tools_run_makes_one_call() {
    let env = TestEnv::new();
    env.write("a.txt", "alpha\n");
    let ran = env
        .run(&["tools", "run", "Read", "--input", r#"{"file_path":"a.txt"}"#])
        .assert_exit_code(0);
    assert!(ran.out.contains("alpha"), "{}", ran.describe());
}

#[test]
fn tools_run_as_json_has_status_and_text() {
    let env = TestEnv::new();
    let input = r#"{"file_path":"missing.txt"}"#;
    let ran = env.run(&["tools", "run", "Read", "--input", input, "--json"]).assert_exit_code(1);
    let output = ran.json();
    assert_eq!(output["status"], "failed");
    assert!(output["text"].as_str().unwrap().contains("missing.txt"), "{output}");
}

#[test]
fn tools_run_goes_through_the_gate() {
    let env = TestEnv::new();
    let input = r#"{"command":"touch made"}"#;
    let ran = env.run(&["tools", "run", "Bash", "--input", input]);
    assert_eq!((ran.code, env.path("made").exists()), (Some(4), false), "{}", ran.describe());
    env.run(&["--yolo", "tools", "run", "Bash", "--input", input]).assert_exit_code(0);
    assert!(env.path("made").exists());
}

#[test]
fn tools_run_leaves_no_session_behind() {
    let env = TestEnv::new();
    env.run(&["tools", "run", "Glob", "--input", r#"{"pattern":"*"}"#]).assert_exit_code(0);
    assert!(env.sessions().is_empty());
}

#[test]
fn an_unknown_tool_gets_the_list_of_tools() {
    let env = TestEnv::new();
    let ran = env.run(&["tools", "run", "Raed", "--input", "{}"]);
    assert_eq!(ran.code, Some(1), "{}", ran.describe());
    assert!(format!("{}{}", ran.out, ran.err).contains("Read"), "{}", ran.describe());
}

#[test]
fn sessions_list_tells_title_and_folder() {
    let (env, id) = with_a_session();
    let sessions = env.run(&["sessions", "list", "--json"]).assert_exit_code(0).json();
    let session = named(&sessions, "session_id", &id);
    assert_eq!(session["title"], "which colour?");
    assert_eq!(session["working_directory"], env.workspace().to_str().unwrap());
    let text = env.run(&["sessions", "list"]).assert_exit_code(0).out;
    assert!(text.contains(&id) && text.contains("which colour?"), "{text}");
}

#[test]
fn sessions_list_is_an_empty_array_at_first() {
    assert_eq!(
        TestEnv::new().run(&["sessions", "list", "--json"]).assert_exit_code(0).json(),
        json!([])
    );
}

#[test]
fn sessions_show_prints_what_was_said() {
    let (env, id) = with_a_session();
    let text = env.run(&["sessions", "show", &id]).assert_exit_code(0).out;
    let question = text.find("which colour?").unwrap();
    assert!(text[question..].contains("Blue."), "{text}");
}

#[test]
fn sessions_gc_packs_what_is_old_and_says_what_it_does() {
    let (env, id) = with_a_session();
    let gc = |arguments: &[&str]| {
        env.run(&[&["sessions", "gc"], arguments].concat()).assert_exit_code(0)
    };
    assert_eq!(gc(&[]).out, "There is nothing to remove or pack.\n");
    let now = ["--pack-days", "0"];
    let report = gc(&[&["--dry-run", "--json"], now.as_slice()].concat()).json();
    assert_eq!(report["packed"]["count"], 1);
    let log = env.slug_home().join(format!("sessions/{id}.jsonl"));
    assert!(log.exists());
    let printed = gc(&now).out;
    assert!(printed.starts_with("packed: 1 sessions and contents, from "), "{printed}");
    assert!(!log.exists() && log.with_extension("jsonl.zst").exists());
    assert_eq!(env.sessions().len(), 1);
    assert!(env.run(&["sessions", "show", &id]).assert_exit_code(0).out.contains("## You"));
}

#[test]
fn sessions_show_as_json_is_the_log() {
    let (env, id) = with_a_session();
    let records = env.run(&["sessions", "show", &id, "--json"]).assert_exit_code(0).json();
    let records = records.as_array().unwrap();
    let roles: Vec<&str> = records.iter().filter_map(|record| record["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant"]);
    assert!(records.iter().all(|it| it["id"].is_string() && it["timestamp"].is_string()));
}

#[test]
fn sessions_export_writes_a_file_without_secrets() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let key = format!("ghp_{}", "a1".repeat(18));
    server.reply(ServerReply::text("I see."));
    let question = format!("is {key} mine?");
    let ran = env.ask(&server, &["-p", &question, "--output-format", "json"]).assert_exit_code(0);
    let id = ran.json()["session_id"].as_str().unwrap().to_owned();
    let ran = env.run(&["sessions", "export", &id, "-o", "out.html"]).assert_exit_code(0);
    assert!(ran.err.contains("1 secret was taken out"), "{}", ran.describe());
    let page = env.read("out.html");
    assert!(page.starts_with("<!doctype html>") && page.contains("I see."), "{page}");
    assert!(!page.contains(&key) && page.contains("[redacted: GitHub token]"), "{page}");
    let text = env.run(&["sessions", "export", &id, "--no-redact"]).assert_exit_code(0).out;
    assert!(text.contains(&key) && text.contains("## You"), "{text}");
    let value =
        env.run(&["sessions", "export", &id, "--format", "json"]).assert_exit_code(0).json();
    assert_eq!(value["messages"][1]["content"][0]["text"], "I see.");
}

#[test]
fn sessions_import_takes_chat_messages_over_once() {
    let env = TestEnv::new();
    env.write("chat.jsonl", "{\"role\":\"user\",\"content\":\"which tea?\"}\n");
    let tried =
        env.run(&["sessions", "import", "chat.jsonl", "--dry-run", "--json"]).assert_exit_code(0);
    assert!(env.run(&["sessions", "list", "--json"]).json().as_array().unwrap().is_empty());
    let done = env.run(&["sessions", "import", "chat.jsonl", "--json"]).assert_exit_code(0).json();
    assert_eq!((&tried.json(), &done[0]["kind"]), (&done, &json!("chat")));
    let id = done[0]["session_id"].as_str().unwrap();
    assert!(env.run(&["sessions", "show", id]).assert_exit_code(0).out.contains("which tea?"));
    let again = env.run(&["sessions", "import", "chat.jsonl"]).assert_exit_code(1);
    assert!(again.err.contains("already"), "{}", again.describe());
}

#[test]
fn sessions_import_keeps_images() {
    const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9\
                       awAAAABJRU5ErkJggg==";
    let env = TestEnv::new();
    let address = format!("data:image/png;base64,{DOT}");
    let content = json!([
        {"type": "text", "text": "a dot"}, {"type": "image_url", "image_url": {"url": address}},
    ]);
    env.write("chat.jsonl", &format!("{}\n", json!({"role": "user", "content": content})));
    let imported =
        env.run(&["sessions", "import", "chat.jsonl", "--json"]).assert_exit_code(0).json();
    assert_eq!(imported[0]["left_out"], 0);
    let id = imported[0]["session_id"].as_str().unwrap();
    let page = env.run(&["sessions", "export", id, "--format", "html"]).assert_exit_code(0).out;
    assert!(page.contains(&address) && page.contains("[Image 1 image 1×1]"), "{page}");

    // Images come along in an exported log, but not in a log alone.
    env.run(&["sessions", "export", id, "-o", "out.jsonl"]).assert_exit_code(0);
    let log = env.slug_home().join(format!("sessions/{id}.jsonl"));
    let there = TestEnv::new();
    there.write("alone.jsonl", &std::fs::read_to_string(log).unwrap());
    let imported = there.run(&["sessions", "import", "alone.jsonl"]).assert_exit_code(0);
    assert!(imported.err.contains("it came without 1 image."), "{}", imported.describe());
    there.run(&["sessions", "delete", id]).assert_exit_code(0);
    there.write("out.jsonl", &env.read("out.jsonl"));
    let imported = there.run(&["sessions", "import", "out.jsonl"]).assert_exit_code(0);
    assert_eq!(imported.err, "", "{}", imported.describe());
    let page = there.run(&["sessions", "export", id, "--format", "html"]).assert_exit_code(0).out;
    assert!(page.contains(&address), "{page}");
}

#[test]
fn names_that_are_not_utf8_are_shown_as_far_as_they_are() {
    let (env, id) = with_a_session();
    let name = |name: &[u8]| OsString::from_vec(name.to_vec());
    let run = |arguments: &[&str], last: &[u8]| {
        HeadlessOutput::of(&env.command(arguments).arg(name(last)).output().unwrap())
    };
    let export =
        run(&["sessions", "export", &id, "--json", "-o"], b"out\xff.md").assert_exit_code(0).json();
    assert_eq!(export["file"], "out\u{fffd}.md");
    for (file, text) in
        [(b"a\xff.jsonl", "{\"role\":\"user\",\"content\":\"tea\"}\n"), (b"b\xff.jsonl", "")]
    {
        std::fs::write(env.path("").join(name(file)), text).unwrap();
    }
    let imported =
        run(&["sessions", "import", "--json"], b"a\xff.jsonl").assert_exit_code(0).json();
    assert_eq!(imported[0]["file"], "a\u{fffd}.jsonl");
    let imported =
        run(&["sessions", "import", "--json"], b"b\xff.jsonl").assert_exit_code(1).json();
    assert_eq!(imported[0]["file"], "b\u{fffd}.jsonl");
    run(&["sessions", "import"], b"b\xff.jsonl").assert_exit_code(1);
}

#[test]
fn an_unknown_session_exits_with_one_and_says_how_to_find_those_there_are() {
    let env = TestEnv::new();
    let ran =
        env.run(&["sessions", "show", "0190a1b2-0000-7000-8000-000000000001"]).assert_exit_code(1);
    assert!(ran.err.contains("slug sessions list"), "{}", ran.describe());
}

#[test]
fn permissions_list_names_each_rule_and_its_file() {
    let env = TestEnv::new();
    env.write_home("settings.json", r#"{"permissions":{"allow":["Bash(npm *)"]}}"#);
    let report = env.run(&["permissions", "list", "--json"]).assert_exit_code(0).json();
    let rule = named(&report["rules"], "rule", "Bash(npm *)");
    assert_eq!(rule["kind"], "allow");
    assert!(rule["file"].as_str().unwrap().ends_with(".slug/settings.json"), "{rule}");
    assert_eq!(rule["line"], 1);
    let text = env.run(&["permissions", "list"]).assert_exit_code(0).out;
    assert!(text.starts_with("allow  Bash(npm *)  /"), "{text}");
    assert!(text.contains(".slug/settings.json:1\n"), "{text}");
}

#[test]
fn s36_permissions_say_what_a_wildcard_on_a_runner_means() {
    let env = TestEnv::new();
    env.write_home("settings.json", r#"{"permissions":{"allow":["Bash(npm *)","Bash(ls *)"]}}"#);
    let report = env.run(&["permissions", "list", "--json"]).assert_exit_code(0).json();
    let means = |rule: &str| named(&report["rules"], "rule", rule)["means"].clone();
    assert!(means("Bash(npm *)").as_str().unwrap().contains("any code through npm"), "{report}");
    assert_eq!(means("Bash(ls *)"), Value::Null);
    let text = env.run(&["permissions", "list"]).assert_exit_code(0).out;
    assert_eq!(text.matches("any code through").count(), 1, "{text}");
    let test = ["permissions", "test", "npm run build"];
    let text = env.run(&test).assert_exit_code(0).out;
    assert!(
        text.contains(".slug/settings.json:1") && text.contains("any code through npm"),
        "{text}"
    );
    let report = env.run(&[&test[..], &["--json"]].concat()).assert_exit_code(0).json();
    assert_eq!(report["rule"]["line"], 1);
    assert!(report["commands"][0]["rule"]["means"].is_string(), "{report}");
}

#[test]
fn permissions_list_reads_the_projects_rules_only_with_trust() {
    let env = TestEnv::new();
    env.write(".slug/settings.json", r#"{"permissions":{"deny":["Bash(rm *)"]}}"#);
    let without = env.run(&["permissions", "list"]).assert_exit_code(0).out;
    let with = env.run(&["--trust-workspace", "permissions", "list"]).assert_exit_code(0).out;
    assert!(!without.contains("Bash(rm *)") && with.contains("Bash(rm *)"), "{without}\n{with}");
}

#[test]
fn permissions_test_decides_each_part_of_a_command() {
    let env = TestEnv::new();
    let settings = r#"{"permissions":{"allow":["Bash(git status)"],"deny":["Bash(rm *)"]}}"#;
    env.write("rules.json", settings);
    let test = |input: &str| {
        let arguments = ["permissions", "test", "--settings", "rules.json", "--json", input];
        env.run(&arguments).assert_exit_code(0).json()
    };
    for (input, decision) in [
        ("git status", "allow"),
        ("make", "ask"),
        ("rm -rf build", "deny"),
        ("git status && make", "ask"),
        ("git status && rm x", "deny"),
    ] {
        let report = test(input);
        assert_eq!(report["decision"], decision, "{input}: {report}");
        assert!(report["reason"].is_string(), "{report}");
    }
    let parts = test("git status && make")["commands"].clone();
    assert_eq!(named(&parts, "text", "git status")["decision"], "allow");
    assert_eq!(named(&parts, "text", "make")["decision"], "ask");
}

#[test]
fn permissions_test_takes_mode_and_tool() {
    let env = TestEnv::new();
    let test = |mode: &str| {
        let arguments = ["permissions", "test", "--mode", mode, "--tool", "Write", "--json", "a"];
        env.run(&arguments).assert_exit_code(0).json()["decision"].clone()
    };
    assert_eq!(
        ["ask", "allow-edits", "plan", "yolo"].map(test),
        ["ask", "allow", "deny", "allow"].map(Value::from)
    );
}

#[test]
fn prompt_is_what_is_sent_and_under_six_kilobytes() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Good morning."));
    env.ask(&server, &["-p", "hello"]).assert_exit_code(0);
    let report = env.run(&["prompt", "--json"]).assert_exit_code(0).json();
    let body = &server.chat_requests()[0].body;
    assert_eq!(report["tools"].to_string(), body["tools"].to_string());
    let system = body["messages"][0]["content"].as_str().unwrap();
    assert!(system.starts_with(report["prompt"].as_str().unwrap()), "{system}");
    assert!(report["bytes"]["all"].as_u64().unwrap() < 6 * 1024, "{}", report["bytes"]);
}

#[test]
fn doctor_finds_a_server_and_its_model() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let ran = env.run(&["-e", &server.endpoint(), "doctor", "--json"]);
    let findings = ran.json();
    assert_eq!(named(&findings, "subject", "endpoint")["state"], "ok", "{}", ran.describe());
    assert!(ran.out.contains("test-model"), "{}", ran.describe());
}

#[test]
fn doctor_fails_with_a_remedy_when_no_server_answers() {
    let env = TestEnv::new();
    let endpoint = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/v1", listener.local_addr().unwrap())
    };
    let ran = env.run(&["-e", &endpoint, "doctor", "--json"]).assert_exit_code(1);
    let findings = ran.json();
    let finding = named(&findings, "subject", "endpoint");
    assert_eq!(finding["state"], "fail");
    assert!(finding["remedy"].as_str().is_some_and(|it| !it.is_empty()), "{finding}");
}

#[test]
fn doctor_looks_at_a_broken_configuration_too() {
    let env = TestEnv::new();
    env.write_home("config.toml", "max_tokens = \"many\"\n");
    let ran = env.run(&["doctor"]).assert_exit_code(1);
    assert!(ran.out.contains("max_tokens"), "{}", ran.describe());
}

#[test]
fn completions_are_made_for_each_shell() {
    let env = TestEnv::new();
    for shell in ["bash", "zsh", "fish"] {
        let ran = env.run(&["completions", shell]).assert_exit_code(0);
        assert!(ran.out.contains("trust-workspace"), "{shell}: {}", ran.describe());
    }
    env.run(&["completions", "tcl"]).assert_exit_code(2);
}

#[test]
fn the_manual_is_a_page_for_man() {
    let ran = TestEnv::new().run(&["man"]).assert_exit_code(0);
    assert!(
        ran.out.contains(".TH slug 1") && ran.out.contains(".SH OPTIONS"),
        "{}",
        ran.describe()
    );
}

#[test]
fn help_and_version_are_answers() {
    let env = TestEnv::new();
    let help = env.run(&["--help"]).assert_exit_code(0);
    assert!(help.out.contains("full-screen chat") && help.err.is_empty(), "{}", help.describe());
    let version = env.run(&["--version"]).assert_exit_code(0);
    assert_eq!(version.out, format!("slug {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn without_a_terminal_the_chat_says_what_to_use() {
    let ran = TestEnv::new().run(&["--trust-workspace"]).assert_exit_code(1);
    assert!(ran.err.contains("slug -p"), "{}", ran.describe());
}

#[test]
fn reset_tty_writes_what_puts_a_terminal_right() {
    let ran = TestEnv::new().run(&["--reset-tty"]).assert_exit_code(0);
    assert!(ran.out.contains("\x1b[?1049l") && ran.out.contains("\x1b[?25h"), "{:?}", ran.out);
}

#[test]
fn models_lists_what_the_server_has_and_gives_a_local_one_no_price() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let models = json!({"data": [
        {"id": "gpt-5", "max_model_len": 131_072}, {"id": "small", "max_model_len": 4096},
    ]});
    server.answer("GET /v1/models", ServerReply::json(200, &models));
    let endpoint = server.endpoint();
    let text = env.run(&["-e", &endpoint, "models"]).assert_exit_code(0).out;
    let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(text.starts_with(&format!("openai, at {endpoint}")), "{text}");
    assert!(line("gpt-5").ends_with("131k") && line("small").ends_with("4k"), "{text}");
    let list =
        env.run(&["-e", &endpoint, "models", "list", "gpt-5", "--json"]).assert_exit_code(0).json();
    let offered = &list.as_array().unwrap()[0];
    assert_eq!((&offered["id"], &offered["offered"]), (&json!("gpt-5"), &json!(true)));
    assert_eq!((&offered["window_from"], &offered["price"]), (&json!("server"), &Value::Null));
}

#[test]
fn models_finds_in_the_catalogue_what_no_server_offers() {
    let env = TestEnv::new();
    let closed = ["-e", "http://127.0.0.1:9/v1", "models", "sonnet-5-5"];
    let ran = env.run(&closed).assert_exit_code(0);
    let line = ran.out.lines().find(|line| line.starts_with("anthropic/claude-sonnet-5-5"));
    assert!(
        line.is_some_and(|line| line.contains("$10") && line.contains("1M")),
        "{}",
        ran.describe()
    );
    assert!(ran.err.contains("127.0.0.1:9"), "{}", ran.describe());
    let row = env.run(&[&closed[..], &["--json"]].concat()).assert_exit_code(0).json();
    let row = named(&row, "provider", "anthropic").clone();
    assert_eq!((&row["offered"], &row["window_from"]), (&json!(false), &json!("catalogue")));
    assert_eq!(row["price"]["input"], 2.0);
}

#[test]
fn models_prefers_fetched_facts_to_bundled_ones() {
    let env = TestEnv::new();
    let own = r#"{"date":"2999-01-01","providers":{"xai":{"grok-9":
        {"released":"2998-12-01","window":9000,"price":[1,2]}}}}"#;
    env.write_home("catalogue.json", own);
    let ran = env.run(&["-e", "http://127.0.0.1:9/v1", "models", "grok-9"]).assert_exit_code(0);
    assert!(ran.out.contains("xai/grok-9") && ran.out.contains("2999-01-01"), "{}", ran.describe());
}

/// An environment with two sessions, and their ids, the newer one first.
fn with_two_sessions() -> (TestEnv, [String; 2]) {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let ask = |question: &str, answer: &str| {
        server.reply(ServerReply::text(answer));
        let ran =
            env.ask(&server, &["-p", question, "--output-format", "json"]).assert_exit_code(0);
        ran.json()["session_id"].as_str().unwrap().to_owned()
    };
    let older = ask("which colour is the sky?", "Blue, as a rule.");
    let newer = ask("and grass?", "Green.");
    (env, [newer, older])
}

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|it| it["session_id"].as_str().unwrap()).collect()
}

#[test]
fn sessions_list_is_narrowed_by_project_model_date_and_count() {
    let (env, [newer, older]) = with_two_sessions();
    let cases: [(&[&str], &[&str]); 7] = [
        (&[], &[&newer, &older]),
        (&["--limit", "1"], &[&newer]),
        (&["--project", "shop"], &[&newer, &older]),
        (&["--project", "elsewhere"], &[]),
        (&["--model", "no-such-model"], &[]),
        (&["--since", "today"], &[&newer, &older]),
        (&["--since", "2999-01-01"], &[]),
    ];
    for (flags, expected) in cases {
        let arguments = [&["sessions", "list", "--json"], flags].concat();
        let list = env.run(&arguments).assert_exit_code(0).json();
        assert_eq!(ids(&list), expected, "{flags:?}");
    }
    let ran = env.run(&["sessions", "list", "--since", "someday"]).assert_exit_code(2);
    assert!(ran.err.contains("`someday` is no date"), "{}", ran.describe());
}

#[test]
fn sessions_search_finds_messages_with_their_context() {
    let (env, [newer, older]) = with_two_sessions();
    let found = env.run(&["sessions", "search", "blue, as", "--json"]).assert_exit_code(0).json();
    assert_eq!(ids(&found), [older.as_str()]);
    let place = &found[0]["places"][0];
    assert_eq!((&place["who"], &place["found"]), (&json!("model"), &json!("Blue, as")));
    assert_eq!((&place["before"], &place["behind"]), (&json!(""), &json!(" a rule.")));
    let text = env.run(&["sessions", "search", "GRASS"]).assert_exit_code(0).out;
    assert_eq!(text, "No session has this in it.\n");
    let text = env.run(&["sessions", "search", "project:shop grass"]).assert_exit_code(0).out;
    assert!(text.contains(&newer) && text.contains("you") && text.contains("and grass?"), "{text}");
    env.run(&["sessions", "search", "project:shop"]).assert_exit_code(2);
}

#[test]
fn sessions_rename_gives_a_title_and_delete_moves_to_the_trash() {
    let (env, [newer, older]) = with_two_sessions();
    let renamed =
        env.run(&["sessions", "rename", &older, "The sky", "--json"]).assert_exit_code(0).json();
    assert_eq!(renamed, json!({"session_id": older, "title": "The sky"}));
    let list = env.run(&["sessions", "list", "--json"]).assert_exit_code(0).json();
    assert_eq!(named(&list, "session_id", &older)["title"], "The sky");
    env.run(&["sessions", "rename", &older, "  "]).assert_exit_code(2);
    let deleted =
        env.run(&["sessions", "delete", &older, &newer, "--json"]).assert_exit_code(0).json();
    assert_eq!(deleted, json!({"deleted": [older, newer]}));
    assert_eq!(env.run(&["sessions", "list", "--json"]).assert_exit_code(0).json(), json!([]));
    assert!(env.slug_home().join("trash").join(format!("{older}.jsonl")).exists());
    env.run(&["sessions", "delete", &older]).assert_exit_code(1);
}

#[test]
fn a_session_that_is_open_is_neither_renamed_nor_deleted() {
    let (env, [newer, older]) = with_two_sessions();
    // An advisory lock of this process, like that of another slug.
    let path = env.slug_home().join("sessions").join(format!("{newer}.lock"));
    let lock = std::fs::File::create(path).unwrap();
    lock.lock().unwrap();
    for arguments in [&["rename", &newer, "x"][..], &["delete", &newer]] {
        let ran = env.run(&[&["sessions"], arguments].concat()).assert_exit_code(1);
        assert!(ran.err.contains("is open in"), "{}", ran.describe());
    }
    let ran = env.run(&["sessions", "delete", &newer, &older, "--json"]).assert_exit_code(1);
    assert_eq!(ran.json(), json!({"deleted": [older]}), "what can be deleted is");
    assert_eq!(ids(&env.run(&["sessions", "list", "--json"]).assert_exit_code(0).json()), [newer]);
}

#[test]
fn a_log_of_900_mb_without_its_meta_file_is_listed_at_once() {
    use std::io::{Seek, SeekFrom, Write};
    let (env, id) = with_a_session();
    let sessions = env.slug_home().join("sessions");
    let log = sessions.join(format!("{id}.jsonl"));
    let last = std::fs::read_to_string(&log).unwrap().trim_end().lines().last().unwrap().to_owned();
    let mut file = std::fs::OpenOptions::new().write(true).open(&log).unwrap();
    file.set_len(900 << 20).unwrap();
    file.seek(SeekFrom::End(0)).unwrap();
    write!(file, "\n{last}\n").unwrap();
    for entry in std::fs::read_dir(&sessions).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() && path != log {
            std::fs::remove_file(path).unwrap();
        }
    }
    // The limit on slug's memory: a log that was loaded would not fit.
    let mut command = std::process::Command::new("/bin/sh");
    let slug = env.command(&["sessions", "list"]);
    command.args(["-c", "ulimit -v 700000; exec \"$0\" sessions list"]).arg(slug.get_program());
    command.current_dir(env.workspace()).env_clear().envs(env.environment());
    let ran = HeadlessOutput::of(&command.output().unwrap()).assert_exit_code(0);
    let line = ran
        .out
        .lines()
        .find(|line| line.contains(&id))
        .unwrap_or_else(|| panic!("{}", ran.describe()));
    assert!(line.contains("which colour?") && line.contains(" ? "), "{line}");
    let listed = env.run(&["sessions", "list", "--json"]).assert_exit_code(0).json();
    assert_eq!(listed[0]["is_partial"], true, "{listed}");
}
