//! The commands other than the chat: each prints what its name says, and with `--json` what a
//! script reads.

mod eval;
mod sessions;

use serde_json::{Value, json};

use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::test_env::TestEnv;

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
    assert!(line("max_tokens").contains("not set"));
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
    for name in ["Bash", "Read", "Write", "Edit", "Glob", "Grep", "TodoWrite", "ToolSearch", "Call"]
    {
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
fn tools_run_as_json_has_status_output_observation_and_display() {
    let env = TestEnv::new();
    let input = r#"{"file_path":"missing.txt"}"#;
    let ran = env.run(&["tools", "run", "Read", "--input", input, "--json"]).assert_exit_code(1);
    let output = ran.json();
    assert_eq!(output["status"], "failed");
    assert!(output["observation"].as_str().unwrap().contains("missing.txt"), "{output}");
    assert!(output.get("display").unwrap().is_null() && output.get("output").is_some(), "{output}");

    let input = r#"{"file_path":"new.txt","content":"one\n"}"#;
    let ran = env.run(&["--yolo", "tools", "run", "Write", "--input", input, "--json"]);
    let output = ran.assert_exit_code(0).json();
    assert_eq!((&output["status"], &output["display"]["kind"]), (&"done".into(), &"diff".into()));
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
fn permissions_alone_lists_the_rules_and_says_so_where_there_is_none() {
    let env = TestEnv::new();
    let none = env.run(&["permissions"]).assert_exit_code(0).out;
    assert_eq!(none, "No rule applies here. Add rules with /permissions in a chat.\n");
    env.write_home("settings.json", r#"{"permissions":{"allow":["Bash(npm *)"]}}"#);
    let listed = env.run(&["permissions"]).assert_exit_code(0).out;
    assert!(listed.starts_with("allow  Bash(npm *)"), "{listed}");
    assert_eq!(listed, env.run(&["permissions", "list"]).assert_exit_code(0).out);
}

#[test]
fn a_mistyped_key_of_the_configuration_is_answered_with_the_nearest() {
    let env = TestEnv::new();
    env.write_home("config.toml", "[ui]\nthme = \"dark\"\n");
    let said = env.run(&["config"]).assert_exit_code(0).out;
    let warned = "config.toml:2: slug does not know the key `ui.thme` and ignores it: did you mean \
                  `ui.theme`?";
    assert!(said.contains(warned), "{said}");
    env.write_home("config.toml", "modle = \"m\"\n");
    let said = env.run(&["config"]).assert_exit_code(2).err;
    let refused = "config.toml:1: slug does not know the key `modle`: did you mean `model`?";
    assert!(said.contains(refused), "{said}");
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
fn prompt_is_what_is_sent_and_under_seven_kilobytes() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Good morning."));
    env.ask(&server, &["-p", "hello"]).assert_exit_code(0);
    let report = env.run(&["prompt", "--json"]).assert_exit_code(0).json();
    let body = &server.chat_requests()[0].body;
    assert_eq!(report["tools"].to_string(), body["tools"].to_string());
    let system = body["messages"][0]["content"].as_str().unwrap();
    assert!(system.starts_with(report["prompt"].as_str().unwrap()), "{system}");
    assert!(report["bytes"]["all"].as_u64().unwrap() < 7 * 1024, "{}", report["bytes"]);
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
