//! Settings that cannot be read as they were meant loosen nothing: every call is asked about, a run
//! without a screen ends before it begins, and the message says what to do and where.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use serde_json::json;
use slug_code::domain::{PermissionMode, PermissionOutcome};
use slug_code::permissions::RuleSet;

use super::test_project::TestProject;
use crate::bash;
use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::terminal::PtySlug;
use crate::support::test_env::TestEnv;

const WHOLE: &str = r#"{
  "permissions": {
    "allow": ["Bash", "Read", "Edit"],
    "ask": ["Bash(npm publish *)"],
    "deny": ["Read(.env)", "Bash(rm *)"]
  },
  "hooks": {}
}"#;

/// A project with a settings file of this text.
fn with_text(text: &str) -> TestProject {
    let mut project = TestProject::new();
    project.rules = RuleSet::new();
    project.rules.add_settings(text, Path::new("settings.json"), &project.workspace);
    project
}

/// Fails unless a command and a write are asked about in the loosest mode.
#[track_caller]
fn asks(project: &mut TestProject, text: &str) {
    project.rules = RuleSet::new();
    project.rules.add_settings(text, Path::new("settings.json"), &project.workspace);
    assert!(!project.rules.faults().is_empty(), "no fault in {text}");
    let outcomes = [
        project.outcome("ls", PermissionMode::Yolo),
        project.outcome("make", PermissionMode::Yolo),
        project.decide_write("new.txt", PermissionMode::Yolo).outcome(),
    ];
    assert!(!outcomes.contains(&PermissionOutcome::Allow), "{outcomes:?} by {text}");
}

/// Fails unless every call is asked about in every mode that could be looser.
#[track_caller]
fn asks_everything(text: &str) {
    let project = with_text(text);
    assert!(!project.rules.faults().is_empty(), "no fault in {text}");
    for mode in [PermissionMode::Ask, PermissionMode::AllowEdits, PermissionMode::Yolo] {
        for line in ["ls", "cat a.txt", "touch x", "make", "git status"] {
            let outcome = project.outcome(line, mode);
            assert_ne!(outcome, PermissionOutcome::Allow, "{line} in {mode:?} by {text}");
        }
        for file in ["a.txt", "new.txt", "/etc/passwd"] {
            let outcome = project.decide_read(file, mode).outcome();
            assert_ne!(outcome, PermissionOutcome::Allow, "reading {file} in {mode:?} by {text}");
            let outcome = project.decide_write(file, mode).outcome();
            assert_ne!(outcome, PermissionOutcome::Allow, "writing {file} in {mode:?} by {text}");
        }
    }
}

#[test]
fn a_file_that_is_cut_anywhere_asks_about_every_call() {
    assert_eq!(with_text(WHOLE).outcome("make", PermissionMode::Ask), PermissionOutcome::Allow);
    let mut project = TestProject::new();
    for end in 0..WHOLE.len() {
        asks(&mut project, &WHOLE[..end]);
    }
    // The beginning of the file is lost, or something stands behind its end.
    for start in (1..WHOLE.len()).step_by(7) {
        asks(&mut project, &WHOLE[start..]);
    }
    asks_everything(&WHOLE[..WHOLE.len() / 2]);
    for behind in ["}", "{}", " x", "]", "\"", "null", "\0"] {
        asks_everything(&format!("{WHOLE}{behind}"));
    }
}

#[test]
fn a_key_that_stands_twice_asks_about_every_call() {
    for text in [
        r#"{"permissions":{"deny":["Bash"]},"permissions":{"allow":["Bash"]}}"#,
        r#"{"permissions":{"deny":["Bash"],"deny":[]}}"#,
        r#"{"permissions":{"allow":[],"allow":["Bash"]}}"#,
        r#"{"permissions":{"ask":["Bash"],"allow":["Bash"],"ask":[]}}"#,
        r#"{"permissions":{"deny":["Bash"],"\u0064eny":[]}}"#,
        r#"{"permissions":{"deny":["Bash"]},"\u0070ermissions":{}}"#,
        r#"{"permissions":{"deny":["Bash"]},"other":1,"permissions":{}}"#,
        r#"{"hooks":{},"permissions":{"allow":["Bash"]},"hooks":{}}"#,
    ] {
        asks_everything(text);
    }
}

/// All misspellings of a word that one slip of a finger makes.
fn slips(word: &str) -> Vec<String> {
    let mut slips = Vec::new();
    for at in 0..word.len() {
        let (before, behind) = word.split_at(at);
        slips.push(format!("{before}{}", &behind[1..]));
        slips.push(format!("{before}{}{behind}", &behind[..1]));
        slips.push(format!("{before}x{}", &behind[1..]));
        if behind.len() > 1 {
            slips.push(format!("{before}{}{}{}", &behind[1..2], &behind[..1], &behind[2..]));
        }
    }
    slips.extend([word.to_uppercase(), format!("{word} "), format!(" {word}"), format!("{word}s")]);
    let mut capital = word.to_owned();
    capital[..1].make_ascii_uppercase();
    slips.push(capital);
    slips.retain(|slip| slip != word);
    slips
}

#[test]
fn a_key_that_is_wrongly_spelled_asks_about_every_call() {
    let mut project = TestProject::new();
    for slip in slips("permissions") {
        asks(&mut project, &json!({slip.clone(): {"deny": ["Bash(rm *)"]}}).to_string());
        asks(&mut project, &json!({slip: {}, "permissions": {"allow": ["Bash"]}}).to_string());
    }
    for slip in slips("hooks") {
        asks(&mut project, &json!({slip: {}, "permissions": {"allow": ["Bash"]}}).to_string());
    }
    for key in ["deny", "ask", "allow"] {
        for slip in slips(key) {
            // One slip may turn one of the three keys into another.
            if !["deny", "ask", "allow"].contains(&slip.as_str()) {
                let lists = json!({"allow": ["Bash"], slip: ["Bash(rm *)"]});
                asks(&mut project, &json!({"permissions": lists}).to_string());
            }
        }
    }
    for other in
        ["denied", "block", "disallow", "defaultMode", "rules", "additionalDirectories", ""]
    {
        let lists = json!({"allow": ["Bash"], other: []});
        asks(&mut project, &json!({"permissions": lists}).to_string());
    }
    // A list of rules at the top of the file, where it does not count.
    for key in ["deny", "ask", "allow"] {
        asks(
            &mut project,
            &json!({key: ["Bash(rm *)"], "permissions": {"allow": ["Bash"]}}).to_string(),
        );
        asks(
            &mut project,
            &json!({"x": {key: ["Bash(rm *)"]}, "permissions": {"allow": ["Bash"]}}).to_string(),
        );
    }
}

#[test]
fn what_is_of_another_kind_asks_about_every_call() {
    for text in [
        "[]",
        "null",
        "true",
        "\"Bash\"",
        "7",
        "",
        " \n",
        "// nothing\n",
        r#"{"permissions":[]}"#,
        r#"{"permissions":null}"#,
        r#"{"permissions":"Bash"}"#,
        r#"{"permissions":{"deny":"Bash(rm *)"}}"#,
        r#"{"permissions":{"deny":{"Bash":true},"allow":["Bash"]}}"#,
        r#"{"permissions":{"deny":null,"allow":["Bash"]}}"#,
        r#"{"permissions":{"deny":[1],"allow":["Bash"]}}"#,
        r#"{"permissions":{"deny":[["Bash(rm *)"]],"allow":["Bash"]}}"#,
        r#"{"permissions":{"deny":[null],"allow":["Bash"]}}"#,
        r#"{"permissions":{"deny":[""],"allow":["Bash"]}}"#,
        r#"{"permissions":{"deny":["Bash("],"allow":["Bash"]}}"#,
        r#"{"permissions":{"deny":["Bash(rm *"],"allow":["Bash"]}}"#,
        r#"{"permissions":{"deny":["Bash()"],"allow":["Bash"]}}"#,
        r#"{"permissions":{"deny":["(rm *)"],"allow":["Bash"]}}"#,
        r#"{"permissions":{"deny":["Bash(rm *) x"],"allow":["Bash"]}}"#,
        r#"{"permissions":{"ask":["Read([)"],"allow":["Bash"]}}"#,
        r#"{permissions:{deny:["Bash"],allow:["Bash"]}}"#,
        r#"{'permissions':{'allow':['Bash']}}"#,
        r#"{"permissions"={"allow":["Bash"]}}"#,
        r#"{"permissions":{"allow":["Bash"]}"#,
        r#"{"permissions":{"allow":["Bash"]}} /* open"#,
    ] {
        asks_everything(text);
    }
}

#[test]
fn the_rules_that_can_be_read_still_forbid() {
    for text in [
        r#"{"permissions":{"deny":["Bash(rm *)"],"deney":[]}}"#,
        r#"{"permissions":{"deny":["Bash(rm *)","Bash("]}}"#,
        r#"{"permissions":{"deny":["Bash(rm *)"]},"hoooks":{}}"#,
    ] {
        let project = with_text(text);
        assert_eq!(
            project.outcome("rm x", PermissionMode::Yolo),
            PermissionOutcome::Deny,
            "{text}"
        );
        assert_eq!(project.outcome("ls", PermissionMode::Yolo), PermissionOutcome::Ask, "{text}");
    }
}

#[test]
fn comments_commas_and_marks_at_the_beginning_are_read() {
    let inner = r#""permissions":{"allow":["Bash(make *)"]}"#;
    for text in [
        format!("\u{feff}{{{inner}}}"),
        format!("{{{inner},}}"),
        format!("// first\n{{{inner}}}\n// last"),
        format!("/* a */{{/* b */{inner}/* c\n */}}/* d */"),
        format!("{{\r\n{inner}\r\n}}\r\n"),
        format!("{{{}}}", inner.replace("*)\"]", "*)\", // why\n]")),
        format!("{{{inner}, \"theme\": \"x\", \"mcpServers\": {{}}}}"),
        format!("{{\"note\": \"// no comment, /* nor this */\",{inner}}}"),
        r#"{"permissions":{"deny":["Bash(rm //x /*)"],"allow":["Bash(make *)"]}}"#.to_owned(),
    ] {
        let project = with_text(&text);
        assert_eq!(project.rules.faults(), [], "{text}");
        assert_eq!(
            project.outcome("make x", PermissionMode::Ask),
            PermissionOutcome::Allow,
            "{text}"
        );
    }
}

/// Runs slug in yolo and in allow-edits mode, and fails unless it ends with status 2, before it
/// asks anybody, with these texts in its message.
#[track_caller]
fn ends_with_two(env: &TestEnv, expected: &[&str]) {
    let server = ModelServer::start();
    for mode in ["--yolo", "--allow-edits"] {
        server.reply(ServerReply::text("It went on."));
        let ran = env.ask(&server, &[mode, "-p", "go"]).assert_exit_code(2);
        for text in expected {
            assert!(ran.err.contains(text), "no {text:?} in {}", ran.describe());
        }
    }
    assert!(server.chat_requests().is_empty());
}

#[test]
fn a_settings_file_of_any_place_that_leaves_something_open_ends_a_run() {
    let texts = [
        (&WHOLE[..60], "settings"),
        ("{\"permissions\":\n{\"deny\":[\"Bash(\"]}}", "2"),
        ("{\"permissions\":\n{\n\"denny\":[]}}", "3"),
    ];
    for (text, expected) in texts {
        for file in ["home", ".slug/settings.json", ".slug/settings.local.json"] {
            let env = TestEnv::new();
            match file {
                "home" => env.write_home("settings.json", text),
                file => env.write(file, text),
            }
            let name = if file == "home" { ".slug/settings.json:" } else { file };
            ends_with_two(&env, &[name, expected]);
        }
    }
}

#[test]
fn a_settings_file_that_is_no_text_ends_a_run() {
    let utf16: Vec<u8> = WHOLE.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let latin = b"{\"permissions\":{\"deny\":[\"Read(caf\xe9)\"],\"allow\":[\"Bash\"]}}".to_vec();
    for bytes in [utf16, latin, vec![0; 100], b"\xff\xfe".to_vec()] {
        let env = TestEnv::new();
        env.write_home("settings.json", "");
        fs::write(env.slug_home().join("settings.json"), bytes).unwrap();
        ends_with_two(&env, &["settings.json"]);
    }
}

#[test]
fn something_in_the_place_of_a_settings_file_ends_a_run() {
    for what in ["folder", "circle", "socket", "device", "closed"] {
        let env = TestEnv::new();
        env.write_home("x", "");
        let path = env.slug_home().join("settings.json");
        let mut listener = None;
        match what {
            "folder" => fs::create_dir(&path).unwrap(),
            "circle" => symlink(&path, &path).unwrap(),
            "socket" => listener = std::os::unix::net::UnixListener::bind(&path).ok(),
            "device" => symlink("/dev/zero", &path).unwrap(),
            _ => {
                if rustix::process::geteuid().is_root() {
                    eprintln!("skipped: root reads what is closed");
                    continue;
                }
                fs::write(&path, WHOLE).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
            }
        }
        ends_with_two(&env, &["settings.json"]);
        drop(listener);
    }
}

#[test]
fn a_settings_file_behind_a_link_that_leads_nowhere_ends_a_run() {
    for file in ["settings.json", "config.toml"] {
        let env = TestEnv::new();
        env.write_home("x", "");
        symlink(env.home().join("unmounted/file"), env.slug_home().join(file)).unwrap();
        ends_with_two(&env, &[file]);
    }
}

#[test]
fn a_configuration_that_is_not_meant_so_ends_a_run_with_file_and_line() {
    for (text, line) in [
        ("model = \"m\"\npermission_mode = \"aks\"\n", ":2"),
        ("model = \"m\"\nmodel = \"n\"\n", ":2"),
        ("model = \"m\n", ":1"),
        ("[bash]\nenvironment = \"GITHUB_TOKEN\"\n", ":2"),
        ("\n\npermision_mode = \"plan\"\n", ":3"),
        ("[sandbox]\nnetwrok = false\n", ":2"),
        ("[budget]\nsesion = \"1\"\n", ":2"),
        ("[budget]\nsession = \"much\"\n", ":2"),
        ("[sandbox]\nnetwork = \"no\"\n", ":2"),
        ("[sandbox]\nhosts = \"crates.io\"\n", ":2"),
        ("[sandbox\nnetwork = false\n", ":1"),
        ("api_kye = \"x\"\n", ":1"),
        ("[providers.x]\nendpoint = \"http://localhost:1\"\napi_ky = \"x\"\n", ":3"),
        ("max_tool_rounds = 0\n", ":1"),
        ("max_tool_rounds = -1\n", ":1"),
    ] {
        let env = TestEnv::new();
        env.write_home("config.toml", text);
        ends_with_two(&env, &[&format!("config.toml{line}")]);
    }
}

#[test]
fn a_project_s_configuration_changes_no_power_even_where_it_is_broken() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write(
        ".slug/config.toml",
        "permission_mode = \"yolo\"\n[bash]\nenvironment = [\"A_TOKEN\"]\n",
    );
    server.reply(bash("c1", "touch made"));
    server.reply(ServerReply::text("Done."));
    let ran = env.ask(&server, &["-p", "go"]).assert_exit_code(4);
    assert!(ran.err.contains("permission_mode"), "{}", ran.describe());
    assert!(!env.path("made").exists());
}

#[test]
fn a_foreign_file_loosens_nothing_and_is_reported_with_a_remedy() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can give a file away");
        return;
    }
    for file in ["settings.json", "config.toml", "hooks.json"] {
        let env = TestEnv::new();
        let text = match file {
            "settings.json" => r#"{"permissions":{"allow":["Bash"]}}"#,
            "config.toml" => "permission_mode = \"yolo\"\n",
            _ => {
                r#"{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch ran"}]}]}}"#
            }
        };
        env.write_home(file, text);
        chown(env.slug_home().join(file), Some(4321), None).unwrap();
        let server = ModelServer::start();
        server.reply(bash("c1", "touch made"));
        server.reply(ServerReply::text("Done."));
        for _ in 0..2 {
            let ran = env.ask(&server, &["-p", "go"]);
            assert_ne!(ran.code, Some(0), "{file}: {}", ran.describe());
            assert!(
                ran.err.contains(file) && ran.err.contains("4321"),
                "{file}: {}",
                ran.describe()
            );
        }
        assert!(!env.path("made").exists() && !env.path("ran").exists(), "{file}");
    }
    // In the project's folder, too, a file of a third user does not count.
    for (file, text) in [
        (".slug/settings.json", r#"{"permissions":{"allow":["Bash"]}}"#),
        (".slug/settings.local.json", r#"{"permissions":{"allow":["Bash"]}}"#),
    ] {
        let env = TestEnv::new();
        env.write(file, text);
        chown(env.path(file), Some(4321), None).unwrap();
        ends_with_two(&env, &[file, "4321"]);
    }
}

#[test]
fn a_key_file_that_others_can_read_is_reported_at_every_start() {
    let server = ModelServer::start();
    let endpoint = server.endpoint();
    for text in [
        "[providers.other]\nendpoint = \"http://localhost:1/v1\"\napi_key = \"CANARY-of-another\"\n".to_owned(),
        format!("[providers.mine]\nendpoint = \"{endpoint}\"\napi_key = \"CANARY-of-mine\"\n"),
        "headers = { X-Auth-Token = \"CANARY-header\" }\n".to_owned(),
        "query = { key = \"CANARY-query\" }\n".to_owned(),
    ] {
        let env = TestEnv::new();
        env.write_home("config.toml", &text);
        let path = env.slug_home().join("config.toml");
        for (mode, is_told) in [(0o604, true), (0o644, true), (0o660, true), (0o600, false), (0o400, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            for _ in 0..2 {
                server.reply(ServerReply::text("Good morning."));
                let ran = env.ask(&server, &["-p", "hello"]).assert_exit_code(0);
                assert_eq!(ran.err.contains("chmod 600"), is_told, "{mode:o} {text}: {}", ran.describe());
                assert!(!ran.err.contains("CANARY"), "{}", ran.describe());
            }
        }
        // The same for a file under another name.
        fs::copy(&path, env.path("other.toml")).unwrap();
        fs::set_permissions(env.path("other.toml"), fs::Permissions::from_mode(0o644)).unwrap();
        server.reply(ServerReply::text("Good morning."));
        let ran = env.ask(&server, &["--config", "other.toml", "-p", "hello"]).assert_exit_code(0);
        assert!(ran.err.contains("other.toml") && ran.err.contains("chmod 600"), "{}", ran.describe());
    }
}

#[test]
fn a_screen_asks_about_every_call_where_a_file_is_cut() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("settings.json", &WHOLE[..70]);
    server.reply(ServerReply::calls("", &[("r1", "Read", json!({"file_path": "a.txt"}))]));
    server.reply(bash("c1", "ls"));
    server.reply(ServerReply::text("As you wish."));
    env.write("a.txt", "alpha\n");
    let mut slug = PtySlug::at(&env, 100, 30).server(&server).args(&["--yolo"]).open();
    slug.wait_for("settings.json");
    slug.say("go");
    slug.answer("a.txt", "n");
    slug.answer("ls", "n");
    slug.wait_for("As you wish.");
}
