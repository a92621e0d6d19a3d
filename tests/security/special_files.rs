//! slug waits for no special file, wherever it reads: a FIFO, a socket, an endless device, or a
//! link to one.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::resources::in_time;
use crate::result_of;
use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::test_env::TestEnv;

fn make_fifo(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Creates something at `path` that is not a regular file.
fn put(kind: &str, path: &Path) -> Option<UnixListener> {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match kind {
        "fifo" => make_fifo(path),
        "socket" => return UnixListener::bind(path).ok(),
        "endless" => symlink("/dev/zero", path).unwrap(),
        "to a fifo" => {
            let fifo = path.with_file_name("the-fifo-itself");
            make_fifo(&fifo);
            symlink(fifo, path).unwrap();
        }
        _ => symlink("/dev/tty", path).unwrap(),
    }
    None
}

#[test]
fn a_walk_opens_nothing_but_regular_files() {
    let places = [
        "shop/.ignore",
        "shop/sub/.ignore",
        "shop/.rgignore",
        "shop/sub/.gitignore",
        "shop/sub/data.txt",
        // Above the folder, and in the user's home.
        ".ignore",
        ".gitignore",
        "home/.config/git/ignore",
        "home/.ignore",
    ];
    for place in places {
        for kind in ["fifo", "to a fifo", "endless", "socket"] {
            let (env, server) = (TestEnv::new(), ModelServer::start());
            env.write("a.txt", "alpha\n");
            env.write("sub/b.txt", "alpha\n");
            let root = env.home().parent().unwrap().to_owned();
            let _listener = put(kind, &root.join(place));
            server.reply(ServerReply::calls(
                "",
                &[
                    ("g1", "Grep", json!({"pattern": "alpha"})),
                    ("g2", "Glob", json!({"pattern": "**/*.txt"})),
                ],
            ));
            server.reply(ServerReply::text("Done."));
            let mut command = env.command_to(&server, &["-p", "go"]);
            let ran = in_time(&mut command, &format!("{kind} at {place}")).assert_exit_code(0);
            let found = result_of(&server.chat_requests()[1], "g1");
            assert!(
                found.contains("a.txt") && found.contains("sub/b.txt"),
                "{place}: {}",
                ran.describe()
            );
        }
    }
}

#[test]
fn a_tool_that_is_given_no_regular_file_says_so() {
    for kind in ["fifo", "to a fifo", "endless", "socket"] {
        let (env, server) = (TestEnv::new(), ModelServer::start());
        let _listener = put(kind, &env.path("it"));
        env.write_home("settings.json", r#"{"permissions":{"allow":["Read","Edit","Write"]}}"#);
        server.reply(ServerReply::calls(
            "",
            &[
                ("r1", "Read", json!({"file_path": "it"})),
                ("w1", "Write", json!({"file_path": "it", "content": "x"})),
                ("e1", "Edit", json!({"file_path": "it", "old_string": "a", "new_string": "b"})),
                ("g1", "Grep", json!({"pattern": "x", "path": "it"})),
            ],
        ));
        server.reply(ServerReply::text("Done."));
        let mut command = env.command_to(&server, &["-p", "see @it and go"]);
        let ran = in_time(&mut command, kind);
        assert!(ran.code.is_some(), "{}", ran.describe());
        for id in ["r1", "w1", "e1"] {
            let result = result_of(&server.chat_requests()[1], id);
            assert!(result.starts_with("Error"), "{id} on {kind}: {result}");
        }
        let there = env.path("it").symlink_metadata().unwrap().file_type();
        assert!(!there.is_file(), "{kind} was replaced");
    }
}

#[test]
fn slugs_own_folder_is_read_without_waiting() {
    for file in [
        "history.jsonl",
        "models.json",
        "favourites.json",
        "folds.json",
        "catalogue.json",
        "hooks-off.json",
        "themes/dark.toml",
        "sessions/01a2009a-f949-70ea-8bd5-f7d2ed8f5d81.jsonl",
        "sessions/01a2009a-f949-70ea-8bd5-f7d2ed8f5d81.meta.json",
        "SLUG.md",
    ] {
        for kind in ["fifo", "endless"] {
            let (env, server) = (TestEnv::new(), ModelServer::start());
            let _listener = put(kind, &env.slug_home().join(file));
            server.reply(ServerReply::text("Done."));
            let mut asked = env.command_to(&server, &["-p", "go"]);
            let ran = in_time(&mut asked, &format!("{kind} at {file}"));
            assert!(ran.code.is_some(), "{file}: {}", ran.describe());
            for arguments in [&["sessions", "list"][..], &["sessions", "search", "x"]] {
                in_time(&mut env.command(arguments), &format!("{arguments:?}, {kind} at {file}"));
            }
        }
    }
}

#[test]
fn the_lists_of_trusted_folders_and_of_sessions_are_read_without_waiting() {
    for kind in ["fifo", "endless"] {
        let (env, server) = (TestEnv::new(), ModelServer::start());
        let _listener = put(kind, &env.slug_home().join("trust.json"));
        server.reply(ServerReply::text("Done."));
        let endpoint = server.endpoint();
        in_time(&mut env.command(&["-m", "test-model", "-e", &endpoint, "-p", "go"]), kind);
        let env = TestEnv::new();
        let _listener = put(kind, &env.slug_home().join("sessions/index"));
        in_time(&mut env.command(&["sessions", "list"]), kind);
    }
}

#[test]
fn an_import_opens_nothing_but_regular_files() {
    for kind in ["fifo", "socket", "endless"] {
        let env = TestEnv::new();
        let _listener = put(kind, &env.path("logs/a.jsonl"));
        env.write("logs/b.jsonl", "{\"role\":\"user\",\"content\":\"hello\"}\n");
        in_time(&mut env.command(&["sessions", "import", "logs/a.jsonl"]), kind)
            .assert_exit_code(1);
        in_time(&mut env.command(&["sessions", "import", "logs"]), kind);
    }
}
