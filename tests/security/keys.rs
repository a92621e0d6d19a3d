//! Which environment slug's child processes get, and that slug's keys are redacted in what they
//! print.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use serde_json::json;

use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::test_env::TestEnv;
use crate::{bash, result_of};

/// Variables that name programs for others to start, code that runs before a program, or how the
/// shell reads.
const HELPERS: [&str; 47] = [
    "LESSOPEN",
    "LESSCLOSE",
    "MANPAGER",
    "SYSTEMD_PAGER",
    "DELTA_PAGER",
    "BAT_PAGER",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "SVN_EDITOR",
    "HGEDITOR_EDITOR",
    "KUBE_EDITOR",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "NODE_OPTIONS",
    "PYTHONSTARTUP",
    "PERL5OPT",
    "PERL5DB",
    "RUBYOPT",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "CDPATH",
    "GLOBIGNORE",
    "EXECIGNORE",
    "BASH_FUNC_ls%%",
    "BASH_FUNC_cd%%",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "GIT_PROXY_COMMAND",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "GIT_CONFIG_GLOBAL",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "SSH_ASKPASS",
    "SSH_ASKPASS_REQUIRE",
    "SUDO_ASKPASS",
    "RIPGREP_CONFIG_PATH",
    "TAR_OPTIONS",
];

/// Secrets that are recognised by their name.
const NAMED: [&str; 34] = [
    "DB_PASS",
    "MYSQL_ROOT_PASS",
    "GH_PAT",
    "AZURE_DEVOPS_PAT",
    "SENTRY_DSN",
    "PG_DSN",
    "DATABASE_URL",
    "PRIMARY_DATABASE_URL",
    "REDIS_URL",
    "MONGO_URL",
    "MONGODB_URI",
    "AMQP_URL",
    "GITHUB_TOKEN",
    "NPM_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_SESSION_TOKEN",
    "PGPASSWORD",
    "MYSQL_PWD",
    "SSHPASS_PASSWORD",
    "BORG_PASSPHRASE",
    "VAULT_TOKEN",
    "STRIPE_SECRET",
    "my_api_key",
    "Db_Pass",
    "NPM_CONFIG__AUTH",
    "REGISTRY_AUTH",
    "SLACK_WEBHOOK",
    "SLACK_WEBHOOK_URL",
    "STORAGE_CONNECTION_STRING",
    "OP_SESSION_my",
    "SLUG_API_KEY",
    "SERPER_API_KEY",
    "GEMINI_API_KEY",
];

/// Secrets that are recognised by their shape, under names that say nothing.
fn secrets_by_shape() -> Vec<(String, String)> {
    [
        format!("ghp_{}", "a1B2".repeat(9)),
        format!("github_pat_{}", "a1B2".repeat(15)),
        "AKIAIOSFODNN7EXAMPLE".into(),
        format!("xoxb-123456789012-{}", "a1B2c3".repeat(4)),
        format!("sk-{}", "a1B2c3d4".repeat(5)),
        format!("SG.{}.{}", "a1B2c3d4e5f6g7h8i9j0kl", "a1B2c3d4".repeat(5) + "abc"),
        "Bearer abcdefghijklmnopqrstuvwxyz0123".into(),
        "postgres://me:hunter2@db.example/x".into(),
        "https://me:hunter2@proxy.example:3128".into(),
        "redis://:hunter2@cache.example".into(),
        "mysql+ssh://me:hunter%40@h/x?y=z".into(),
        "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----".into(),
        "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----".into(),
    ]
    .into_iter()
    .enumerate()
    .map(|(number, value)| (format!("PLAIN_{number}"), value))
    .collect()
}

/// Variables that pass: their names only look alike.
const PASSING: [(&str, &str); 8] = [
    ("CARGO_TERM_COLOR", "never"),
    ("COMPASS", "north"),
    ("PATHS", "a:b"),
    ("DISPATCH", "x"),
    ("HOMEPAGE_URL", "https://example.org/x"),
    ("GIT_AUTHOR_NAME", "Me"),
    ("LC_TIME", "C"),
    ("MAKEFLAGS", "-j2"),
];

/// The output of `env`, as a command of the model and as a hook.
fn environments(env: &TestEnv, variables: &[(String, String)]) -> [String; 2] {
    let server = ModelServer::start();
    let hook =
        json!({"matcher": "Bash", "hooks": [{"type": "command", "command": "env > hooked"}]});
    let settings =
        json!({"permissions": {"allow": ["Bash", "Edit"]}, "hooks": {"PreToolUse": [hook]}});
    env.write_home("settings.json", &settings.to_string());
    server.reply(bash("c1", "env > seen; declare -F"));
    server.reply(ServerReply::text("Done."));
    let mut command = env.command_to(&server, &["-p", "go"]);
    let output =
        command.envs(variables.iter().map(|(name, value)| (name, value))).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(
        !result_of(&server.chat_requests()[1], "c1").contains("declare"),
        "no function of a variable's"
    );
    [env.read("seen"), env.read("hooked")]
}

fn set(name: &str) -> (String, String) {
    let value = if name.starts_with("BASH_FUNC") { "() { :; }" } else { "CANARY" };
    (name.to_owned(), value.to_owned())
}

#[test]
fn helpers_and_secrets_do_not_reach_commands_or_hooks() {
    let env = TestEnv::new();
    let mut variables: Vec<(String, String)> =
        HELPERS.iter().chain(&NAMED).map(|it| set(it)).collect();
    variables.extend(secrets_by_shape());
    variables.extend(PASSING.map(|(name, value)| (name.to_owned(), value.to_owned())));
    for (what, text) in ["command", "hook"].into_iter().zip(environments(&env, &variables)) {
        for (name, value) in &variables {
            let line = format!("{name}={value}");
            let line = line.lines().next().unwrap();
            let passes = PASSING.iter().any(|(passing, _)| passing == name);
            assert_eq!(text.lines().any(|it| it == line), passes, "{name} of a {what}:\n{text}");
        }
        for line in ["GCM_INTERACTIVE=never", "GH_PROMPT_DISABLED=1", "GIT_TERMINAL_PROMPT=0"] {
            assert!(text.lines().any(|it| it == line), "{line} of a {what}");
        }
        assert!(!text.contains("CANARY") && !text.contains("hunter2"), "{text}");
    }
}

#[test]
fn what_is_passed_by_name_reaches_commands_but_what_changes_the_shell() {
    let env = TestEnv::new();
    let passed =
        ["EDITOR", "NODE_OPTIONS", "GIT_SSH_COMMAND", "DB_PASS", "DATABASE_URL", "PLAIN_7"];
    let never = ["BASH_ENV", "SHELLOPTS", "CDPATH", "SLUG_API_KEY", "OPENAI_API_KEY"];
    let all: Vec<&str> = passed.iter().chain(&never).copied().collect();
    env.write_home("config.toml", &format!("[bash]\nenvironment = {}\n", json!(all)));
    let mut variables: Vec<(String, String)> = all.iter().map(|it| set(it)).collect();
    variables.push(set("VISUAL"));
    let [text, _] = environments(&env, &variables);
    for name in passed {
        assert!(text.contains(&format!("{name}=CANARY\n")), "{name}:\n{text}");
    }
    for name in never.iter().chain(&["VISUAL"]) {
        assert!(!text.contains(&format!("{name}=CANARY")), "{name}:\n{text}");
    }
}

/// Keys in each place of the configuration, used and unused.
fn configure_keys(env: &TestEnv, endpoint: &str) -> Vec<String> {
    let keys: Vec<String> = ["file", "header", "other", "third", "shell"]
        .iter()
        .map(|name| format!("CANARY/of+{name}~with=odd?letters"))
        .collect();
    env.write_home(
        "config.toml",
        &format!(
            "endpoint = \"{endpoint}\"\nmodel = \"test-model\"\napi_key = \"{}\"\n\
             headers = {{ X-Secret = \"{}\" }}\n\
             [providers.other]\nendpoint = \"http://localhost:1/v1\"\napi_key = \"{}\"\n\
             [providers.third]\nendpoint = \"http://localhost:2/v1\"\napi_key = {{ env = \"THIRD\" }}\n",
            keys[0], keys[1], keys[2]
        ),
    );
    keys
}

/// A key in each of the forms that the documentation names.
fn forms(key: &str) -> Vec<String> {
    let hex: String = key.bytes().map(|byte| format!("{byte:02x}")).collect();
    let all_percent: String = key.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let percent = |escape: fn(char) -> String| -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        key.chars().map(|c| if plain(c) { c.to_string() } else { escape(c) }).collect()
    };
    let mut forms = vec![
        key.to_owned(),
        key.chars().rev().collect(),
        hex.clone(),
        hex.to_uppercase(),
        all_percent.clone(),
        all_percent.to_lowercase(),
        percent(|c| format!("%{:02X}", c as u32)),
        percent(|c| format!("%{:02x}", c as u32)),
    ];
    // As part of a longer text, at each of the three alignments of base64.
    for before in ["", "x", "xy", "user:", "key = "] {
        for behind in ["", "\n", "&rest=of it"] {
            let text = format!("{before}{key}{behind}");
            for engine in [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD] {
                forms.push(engine.encode(&text));
            }
        }
    }
    forms
}

/// The middle of a form, of which nothing may be left.
fn core_of(form: &str) -> String {
    let letters: Vec<char> = form.chars().collect();
    let from = letters.len() / 3;
    letters[from..from + 12].iter().collect()
}

#[test]
fn a_key_of_any_place_is_redacted_in_each_form_whoever_prints_it() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let mut keys = configure_keys(&env, &server.endpoint());
    env.write_home("settings.json", r#"{"permissions":{"allow":["Bash"]}}"#);
    keys.push("CANARY-of-the-flag.0123".into());
    let all: Vec<String> = keys.iter().flat_map(|key| forms(key)).collect();
    for (number, part) in all.chunks(60).enumerate() {
        env.write(&format!("notes{number}"), &(part.join("\n") + "\n"));
    }
    let files = all.chunks(60).count();
    let mut calls = vec![
        ("b1".to_owned(), "Bash", json!({"command": "cat notes*"})),
        ("g1".to_owned(), "Grep", json!({"pattern": ".", "output_mode": "content"})),
    ];
    for number in 0..files {
        calls.push((format!("r{number}"), "Read", json!({"file_path": format!("notes{number}")})));
    }
    let calls: Vec<(&str, &str, serde_json::Value)> =
        calls.iter().map(|(id, name, input)| (id.as_str(), *name, input.clone())).collect();
    server.reply(ServerReply::calls("", &calls));
    server.reply(ServerReply::text("Done."));
    let mut command = env.command(&["--trust-workspace", "-k", &keys[5], "-p", "go"]);
    let output = command.env("THIRD", &keys[3]).env("SLUG_API_KEY", &keys[4]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let request = server.chat_requests().pop().unwrap();
    for (id, ..) in &calls {
        let result = result_of(&request, id);
        assert!(result.contains("[redacted"), "{id}: {result}");
        for form in &all {
            assert!(!result.contains(&core_of(form)), "{form} in {id}:\n{result}");
        }
    }
}

#[test]
fn a_key_is_redacted_in_what_a_hook_says() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let keys = configure_keys(&env, &server.endpoint());
    let all: Vec<String> = keys[..2].iter().flat_map(|key| forms(key)).collect();
    env.write("notes", &(all.join("\n") + "\n"));
    let hook = json!({"hooks": [{"type": "command", "command": "cat notes"}]});
    let settings = json!({"hooks": {"UserPromptSubmit": [hook]}});
    env.write_home("settings.json", &settings.to_string());
    server.reply(ServerReply::text("Done."));
    let ran = env.run(&["--trust-workspace", "-p", "go"]).assert_exit_code(0);
    let sent = server.chat_requests()[0].body.to_string();
    assert!(sent.contains("[redacted"), "{sent}");
    for form in &all {
        assert!(!sent.contains(&core_of(form)), "{form} in {sent}");
        assert!(!ran.err.contains(&core_of(form)), "{form} in {}", ran.describe());
    }
}

#[test]
fn a_key_that_a_command_prints_is_redacted_too() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let key = "CANARY+printed/by=a~command";
    let endpoint = server.endpoint();
    let config = format!(
        "endpoint = \"{endpoint}\"\nmodel = \"test-model\"\napi_key_command = \"cat ../key\"\n"
    );
    env.write_home("config.toml", &config);
    std::fs::write(env.home().join("key"), format!("{key}\n")).unwrap();
    env.write("notes", &(forms(key).join("\n") + "\n"));
    server.reply(ServerReply::calls("", &[("r1", "Read", json!({"file_path": "notes"}))]));
    server.reply(ServerReply::text("Done."));
    env.run(&["--trust-workspace", "-p", "go"]).assert_exit_code(0);
    assert_eq!(server.chat_requests()[0].headers["authorization"], format!("Bearer {key}"));
    let result = result_of(&server.chat_requests()[1], "r1");
    for form in forms(key) {
        assert!(!result.contains(&core_of(&form)), "{form} in {result}");
    }
}

/// No process that slug starts keeps the keys where another program could look for them.
#[cfg(target_os = "linux")]
#[test]
fn neither_hooks_nor_their_helpers_hold_a_key_in_their_environment() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let look = "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | \
                grep 'CANARY-in-plac[e]' > found; true";
    let hook = json!({"hooks": [{"type": "command", "command": look}]});
    let settings = json!({"hooks": {"UserPromptSubmit": [hook]}});
    env.write_home("settings.json", &settings.to_string());
    server.reply(ServerReply::text("Done."));
    let mut command = env.command_to(&server, &["-k", "CANARY-in-place-1", "-p", "go"]);
    command.env("SLUG_API_KEY", "CANARY-in-place-2").env("ANTHROPIC_API_KEY", "CANARY-in-place-3");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(env.read("found"), "");
}
