//! `slug sessions`: lists, searches, shows, exports, imports, renames, deletes and packs sessions.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use serde_json::{Value, json};

use super::named;
use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::test_env::{HeadlessOutput, TestEnv};

/// An environment with one session, and the session's id.
fn with_a_session() -> (TestEnv, String) {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Blue."));
    let ran =
        env.ask(&server, &["-p", "which colour?", "--output-format", "json"]).assert_exit_code(0);
    let id = ran.json()["session_id"].as_str().unwrap().to_owned();
    (env, id)
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
fn a_fork_is_listed_by_the_first_message_of_its_own() {
    let (env, id) = with_a_session();
    let server = ModelServer::start();
    server.reply(ServerReply::text("Red."));
    env.ask(&server, &["--fork-session", &id, "-p", "which other?"]).assert_exit_code(0);
    let sessions = env.run(&["sessions", "list", "--json"]).assert_exit_code(0).json();
    let mut titles: Vec<&str> =
        sessions.as_array().unwrap().iter().map(|it| it["title"].as_str().unwrap()).collect();
    titles.sort_unstable();
    assert_eq!(titles, ["which colour?", "which other?"]);
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
    assert_eq!(gc(&[]).out, "Nothing to remove or compress.\n");
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
    assert!(ran.err.contains("1 secret was redacted"), "{}", ran.describe());
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
    assert!(ran.err.contains("`someday` is not a date"), "{}", ran.describe());
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
    assert_eq!(text, "No session contains this text.\n");
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
