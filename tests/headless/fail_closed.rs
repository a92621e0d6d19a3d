//! slug refuses to run where it cannot know what it must forbid, and waits for no FIFO.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::skip::skip;
use crate::support::test_env::{HeadlessOutput, TestEnv};
use crate::{bash, result_of};

/// Far more than a run takes, and far less than for ever.
const LONGEST: Duration = Duration::from_secs(60);

/// Runs slug to its end, or kills it and fails.
fn in_time(mut command: Command, what: &str) -> HeadlessOutput {
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > LONGEST {
            child.kill().unwrap();
            panic!("{what}: slug hangs");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    HeadlessOutput::of(&child.wait_with_output().unwrap())
}

fn make_fifo(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn settings_that_leave_open_what_they_forbid_end_a_run_before_it_begins() {
    let whole = r#"{"permissions": {"allow": ["Bash"], "deny": ["Read(.env)"]}}"#;
    for (what, file, text, told) in [
        ("cut", "home", &whole[..40], "settings.json:1: not valid JSON"),
        ("empty", "home", "", "settings.json:1: empty"),
        (
            "twice",
            "home",
            "{\"permissions\": {\"deny\": [\"Read\"],\n\"deny\": []}}",
            "settings.json:2: `deny` is here twice",
        ),
        ("key", "home", "{\n\"permisions\": {}}", "settings.json:2: there is no key `permisions`"),
        ("hooks", "home", "{\n\"hooks\": 5}", "settings.json:2: `hooks` is neither a list nor"),
        ("project", "project", &whole[..40], "shop/.slug/settings.json:1: not valid JSON"),
    ] {
        for mode in ["--yolo", "--allow-edits"] {
            let (env, server) = (TestEnv::new(), ModelServer::start());
            match file {
                "home" => env.write_home("settings.json", text),
                _ => env.write(".slug/settings.json", text),
            }
            let ran = env.ask(&server, &[mode, "-p", "go"]).assert_exit_code(2);
            assert!(ran.err.contains(told), "{what}: {}", ran.describe());
            assert!(server.chat_requests().is_empty(), "{what}");
        }
    }
}

#[test]
fn a_link_that_leads_nowhere_is_a_file_that_cannot_be_read() {
    for file in ["settings.json", "hooks.json"] {
        let (env, server) = (TestEnv::new(), ModelServer::start());
        env.write_home(file, "");
        let path = env.slug_home().join(file);
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/nowhere/of/mine.json", &path).unwrap();
        server.reply(bash("c1", "touch X"));
        server.reply(ServerReply::text("Done."));
        let ran = env.ask(&server, &["--yolo", "-p", "go"]);
        assert!(ran.err.contains("is a broken link"), "{file}: {}", ran.describe());
        assert!(!env.path("X").exists(), "{file}: {}", ran.describe());
    }
}

#[test]
fn events_outside_of_hooks_block_what_they_would_have_guarded() {
    for file in ["settings.json", "hooks.json"] {
        let (env, server) = (TestEnv::new(), ModelServer::start());
        env.write_home(
            file,
            r#"{"PreToolUse":[{"hooks":[{"type":"command","command":"exit 2"}]}]}"#,
        );
        server.reply(bash("c1", "touch X"));
        server.reply(ServerReply::text("Done."));
        let ran = env.ask(&server, &["--yolo", "-p", "go"]);
        assert!(
            ran.err.contains(&format!("{file}:1: `PreToolUse` is outside `hooks`")),
            "{file}: {}",
            ran.describe()
        );
        assert!(!env.path("X").exists(), "{file}: {}", ran.describe());
    }
}

#[test]
fn comments_a_trailing_comma_and_a_byte_order_mark_are_read() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let settings =
        "\u{feff}{ // mine\n\"permissions\": {\"allow\": [\"Bash(echo *)\",], /* x */ },\n}\n";
    env.write_home("settings.json", settings);
    server.reply(bash("c1", "echo hello"));
    server.reply(ServerReply::text("Done."));
    let ran = env.ask(&server, &["-p", "go"]).assert_exit_code(0);
    assert!(result_of(&server.chat_requests()[1], "c1").contains("hello"), "{}", ran.describe());
}

#[test]
fn a_foreign_file_is_not_obeyed() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    for (file, text) in
        [("settings.json", r#"{"permissions":{"allow":["Bash"]}}"#), ("config.toml", "")]
    {
        env.write_home(file, text);
        let path = env.slug_home().join(file);
        if chown(&path, Some(12_345), None).is_err() {
            skip("only root can give a file away");
            return;
        }
        let ran = env.ask(&server, &["-p", "go"]).assert_exit_code(2);
        assert!(ran.err.contains("belongs to another user (uid 12345)"), "{}", ran.describe());
        assert!(ran.err.contains(file) && ran.err.contains("chown"), "{}", ran.describe());
        fs::remove_file(&path).unwrap();
    }
    assert!(server.chat_requests().is_empty());
}

#[test]
fn a_file_with_keys_that_others_can_read_is_reported_at_every_start() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("config.toml", "api_key = \"sk-CANARY\"\n");
    let path = env.slug_home().join("config.toml");
    for (mode, is_told) in [(0o644, true), (0o640, true), (0o600, false)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        for _ in 0..2 {
            server.reply(ServerReply::text("Good morning."));
            let ran = env.ask(&server, &["-p", "hello"]).assert_exit_code(0);
            assert_eq!(ran.err.contains("chmod 600"), is_told, "{mode:o}: {}", ran.describe());
        }
    }
    env.write_home("config.toml", "model = \"m\"\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    server.reply(ServerReply::text("Good morning."));
    let ran = env.ask(&server, &["-p", "hello"]).assert_exit_code(0);
    assert!(!ran.err.contains("chmod 600"), "{}", ran.describe());
}

#[test]
fn a_fifo_in_the_place_of_any_file_is_not_waited_for() {
    let of_workspace = [
        ".ignore",
        ".gitignore",
        "sub/.gitignore",
        ".git",
        ".git/HEAD",
        ".git/info/exclude",
        "SLUG.md",
        "AGENTS.md",
        "CLAUDE.md",
        "SLUG.local.md",
        ".slug/rules/x.md",
        ".slug/config.toml",
        ".slug/settings.json",
        ".slug/settings.local.json",
        ".slug/hooks.json",
        ".mcp.json",
        "sub/a.txt",
    ];
    let of_home =
        ["config.toml", "settings.json", "hooks.json", "keys.toml", "SLUG.md", "themes/x.toml"];
    let files = of_workspace.map(|file| (file, false)).into_iter();
    for (file, is_of_home) in files.chain(of_home.map(|file| (file, true))) {
        let (env, server) = (TestEnv::new(), ModelServer::start());
        env.write("a.txt", "alpha\n");
        env.write("sub/b.txt", "alpha\n");
        let folder = if is_of_home { env.slug_home() } else { env.workspace() };
        make_fifo(&folder.join(file));
        server.reply(ServerReply::calls(
            "",
            &[
                ("g1", "Grep", json!({"pattern": "alpha"})),
                ("g2", "Glob", json!({"pattern": "*"})),
                ("b1", "Bash", json!({"command": "touch made"})),
            ],
        ));
        server.reply(ServerReply::text("Done."));
        let command = env.command_to(&server, &["--yolo", "-p", "see @sub/ and go"]);
        let ran = in_time(command, file);
        // A file with rules that slug would have obeyed ends the run; any other is ignored.
        let is_obeyed = ["config.toml", "settings.json", "settings.local.json"]
            .iter()
            .any(|name| file.ends_with(name));
        let expected = if is_obeyed { 2 } else { 0 };
        if file.ends_with("hooks.json") {
            assert_ne!(ran.code, None, "{file}: {}", ran.describe());
            continue;
        }
        assert_eq!(ran.code, Some(expected), "{file}: {}", ran.describe());
        if !is_obeyed {
            let found = result_of(&server.chat_requests()[1], "g1");
            assert!(found.contains("a.txt") && found.contains("sub/b.txt"), "{file}: {found}");
            assert!(env.path("made").exists(), "{file}: {}", ran.describe());
        }
    }
}

#[test]
fn an_answer_of_too_many_calls_or_bytes_ends_with_an_error() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let delta = |index: usize| {
        json!({"tool_calls": [{
            "index": index,
            "id": format!("c{index}"),
            "type": "function",
            "function": {"name": "Bash", "arguments": "{\"command\": \"touch made\"}"},
        }]})
    };
    server.reply(ServerReply::deltas((0..5_000).map(delta), "tool_calls"));
    let ran = env.ask(&server, &["--yolo", "-p", "go"]).assert_exit_code(1);
    assert!(ran.err.contains("more than 256 tool calls"), "{}", ran.describe());
    assert!(!env.path("made").exists());
    let text: String = (0..160_000).map(|number| number.to_string()).collect();
    server.reply(ServerReply::deltas((0..20).map(|_| json!({"content": text.clone()})), "stop"));
    let ran = env.ask(&server, &["-p", "go"]).assert_exit_code(1);
    assert!(ran.err.contains("more than 16 MB"), "{}", ran.describe());
    assert_eq!(server.chat_requests().len(), 2);
}
