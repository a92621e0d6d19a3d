//! A session that somebody else wrote restores nothing outside the workspace and no protected
//! place, unless the user says so for that very file; and the dialog marks both.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::model_server::{ModelServer, wait_until};
use crate::support::terminal::{PtySlug, key};
use crate::support::test_env::TestEnv;

const ID: &str = "01a2009a-f949-70ea-8bd5-f7d2ed8f5d81";

fn hash(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Another user's slug home with one session, in which these files were changed from one text to
/// another.
fn theirs(env: &TestEnv, changes: &[Value]) -> PathBuf {
    let home = env.home().parent().unwrap().join("theirs/.slug");
    for text in ["then", "now", "/etc", "elsewhere"] {
        let hash = hash(text);
        let folder = home.join("blobs").join(&hash[..2]);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(&hash[2..]), text).unwrap();
    }
    let mut number = 0;
    let mut line = |turn: u32, mut entry: Value| {
        number += 1;
        entry["id"] = json!(format!("01a2009b-01e3-72a3-998e-{number:012}"));
        entry["timestamp"] = json!("2026-11-22T00:14:48.291310437Z");
        entry["turn"] = json!(turn);
        format!("{entry}\n")
    };
    let cwd = env.workspace();
    let mut log = line(
        0,
        json!({"type": "session", "session_id": ID, "version": 1, "cwd": cwd,
               "model": "test-model", "provider": "openai"}),
    );
    let content = json!([{"type": "text", "text": "make it so"}]);
    log += &line(1, json!({"type": "message", "role": "user", "content": content}));
    for change in changes {
        log += &line(1, change.clone());
    }
    let content = json!([{"type": "text", "text": "It is so."}]);
    log += &line(
        1,
        json!({"type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"}),
    );
    fs::create_dir_all(home.join("sessions")).unwrap();
    fs::write(home.join("sessions").join(format!("{ID}.jsonl")), log).unwrap();
    home.join("sessions")
}

fn changed(path: &Path) -> Value {
    json!({"type": "file_change", "path": path, "before": hash("then"), "after": hash("now"), "mode": 0o644})
}

/// Opens slug with that session imported, and the dialog of `/undo` open.
fn undoing(env: &TestEnv, server: &ModelServer, changes: &[Value], marker: &str) -> PtySlug {
    let sessions = theirs(env, changes);
    env.run(&["sessions", "import", sessions.to_str().unwrap()]).assert_exit_code(0);
    let mut slug = PtySlug::at(env, 120, 40).server(server).args(&["--resume", ID]).open();
    slug.wait_for("It is so.");
    slug.say("/undo");
    slug.wait_for_question(marker);
    slug
}

/// Files that need an answer of their own to be restored: those outside, and protected places.
fn guarded(env: &TestEnv) -> Vec<PathBuf> {
    let root = env.home().parent().unwrap().to_owned();
    symlink(&root, env.path("link")).unwrap();
    vec![
        root.join("outside.txt"),
        env.home().join(".bashrc"),
        env.home().join(".ssh/authorized_keys"),
        env.slug_home().join("settings.json"),
        env.path("../dotted.txt"),
        env.path("link/linked.txt"),
        env.path(".git/hooks/post-checkout"),
        env.path(".claude/settings.json"),
        env.path(".envrc"),
        env.path(".vscode/tasks.json"),
        env.path("sub/.npmrc"),
        env.path(".github/workflows/ci.yml"),
    ]
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn an_imported_session_takes_back_only_what_is_plain() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let plain = env.path("plain.txt");
    let guarded = guarded(&env);
    put(&plain, "now");
    // slug's own settings stay as they are, or slug would not start.
    for path in guarded.iter().filter(|path| !path.ends_with(".slug/settings.json")) {
        put(path, "now");
    }
    put(&env.slug_home().join("settings.json"), "{}");
    let mut changes = vec![changed(&plain)];
    changes.extend(guarded.iter().map(|path| changed(path)));
    let mut slug = undoing(&env, &server, &changes, "plain.txt");
    let dialog = slug.screen();
    assert!(dialog.contains("outside"), "{dialog}");
    slug.keys(key::END);
    slug.keys("y");
    assert!(wait_until(|| fs::read_to_string(&plain).unwrap() == "then"), "{}", slug.screen());
    slug.wait_for("Rewound");
    slug.kill();
    for path in &guarded {
        let text = fs::read_to_string(path).unwrap();
        assert_ne!(text, "then", "{}", path.display());
    }
}

#[test]
fn the_dialog_marks_each_file_that_is_outside_or_takes_orders() {
    for (file, marks, key) in [
        ("../outside.txt", "outside", "y"),
        ("../home/notes.txt", "outside", "\r"),
        (".git/hooks/post-checkout", "git", "y"),
        (".claude/settings.json", "agent", "\r"),
        (".envrc", "protected", "\r"),
    ] {
        let (env, server) = (TestEnv::new(), ModelServer::start());
        let path = env.workspace().join(file);
        put(&path, "now");
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut slug = undoing(&env, &server, &[changed(&path)], &name);
        let screen = slug.screen();
        let line = screen.lines().find(|line| line.contains(&name)).unwrap();
        let around = screen.contains(marks);
        assert!(around, "{file} has no mark: {line}\n{screen}");
        // Neither a yes nor Enter restores such a file: both take the conversation back alone.
        slug.keys(key);
        slug.wait_for("Rewound");
        slug.kill();
        assert_eq!(fs::read_to_string(&path).unwrap(), "now", "{file}");
    }
}

#[test]
fn a_file_that_was_taken_by_name_goes_back_and_not_by_enter() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let path = env.path(".envrc");
    put(&path, "now");
    let mut slug = undoing(&env, &server, &[changed(&path)], ".envrc");
    let before = slug.screen();
    slug.keys(" ");
    slug.wait_until("a change of the dialog", |screen| screen != before);
    slug.keys("\r\r");
    // The dialog still asks.
    slug.wait_for_question(".envrc");
    assert_eq!(fs::read_to_string(&path).unwrap(), "now");
    slug.keys("y");
    assert!(wait_until(|| fs::read_to_string(&path).unwrap() == "then"), "{}", slug.screen());
}

#[test]
fn a_log_that_lies_about_where_a_file_is_leads_nowhere_else() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let (plain, outside) = (env.path("plain.txt"), env.home().join("outside.txt"));
    let (linked, place) = (env.path("linked"), env.path("folder/file.txt"));
    put(&plain, "now");
    put(&outside, "now");
    put(&place, "now");
    symlink("elsewhere", &linked).unwrap();
    let mut lies = changed(&env.path("inside.txt"));
    lies["real"] = json!(outside);
    // The log claims that a link out of the folder was there, behind which a file is put.
    let mut out = changed(&env.path("out"));
    out["kind_before"] = json!("link");
    out["before"] = json!(hash("/etc"));
    let behind = changed(&env.path("out/outside.txt"));
    put(&env.path("out"), "now");
    let changes = [changed(&plain), lies, out, behind];
    let mut slug = undoing(&env, &server, &changes, "plain.txt");
    slug.keys("y");
    assert!(wait_until(|| fs::read_to_string(&plain).unwrap() == "then"), "{}", slug.screen());
    slug.wait_for("Rewound");
    slug.kill();
    assert_eq!(fs::read_to_string(&outside).unwrap(), "now");
    assert!(!Path::new("/etc/outside.txt").exists());
}
