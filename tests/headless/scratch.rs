//! The scratch folder with real commands, and what a first request costs.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::test_env::TestEnv;
use crate::{bash, result_of};

/// The most bytes of the fixed prompt and the tools in a request.
const MAX_FIXED: usize = 7 * 1024;
/// The most bytes of a first request in a bare repository.
const MAX_FIRST_REQUEST: usize = 8 * 1024;

/// The scratch folder, as the note of a request names it.
fn named_scratch(body: &Value) -> PathBuf {
    let text = body.to_string();
    let (_, rest) = text.split_once("scratch folder: ").unwrap_or_else(|| panic!("{text}"));
    PathBuf::from(rest.split(',').next().unwrap())
}

#[test]
fn the_prompt_and_the_first_request_stay_small() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    for arguments in [&["init", "-q"][..], &["config", "user.name", "x"]] {
        assert!(Command::new("git").args(arguments).current_dir(env.workspace()).status().is_ok());
    }
    server.reply(ServerReply::text("Hello."));
    env.ask(&server, &["-p", "hello"]).assert_exit_code(0);
    let request = &server.chat_requests()[0];
    let fixed =
        request.body["messages"][0].to_string().len() + request.body["tools"].to_string().len();
    assert!(fixed < MAX_FIXED, "prompt and tools are {fixed} bytes");
    assert!(request.raw.len() < MAX_FIRST_REQUEST, "{} bytes", request.raw.len());
}

#[test]
fn the_note_names_the_folder_and_says_that_nobody_can_answer() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("settings.json", r#"{"permissions":{"allow":["Bash(make *)"]}}"#);
    server.reply(bash("c1", "echo a > $SLUG_SCRATCH/a"));
    server.reply(ServerReply::text("Hello."));
    env.ask(&server, &["-p", "hello"]).assert_exit_code(0);
    let body = &server.chat_requests()[0].body;
    let scratch = named_scratch(body);
    assert!(scratch.is_absolute() && scratch.join("a").is_file(), "{}", scratch.display());
    assert_eq!(scratch.metadata().unwrap().permissions().mode() & 0o7777, 0o700);
    let text = body.to_string();
    for told in ["ask: reading", "Nobody can answer", "what these rules allow: Bash(make *)."] {
        assert!(text.contains(told), "{text}");
    }
}

#[test]
fn commands_write_to_the_scratch_folder_unasked_but_not_in_plan_mode() {
    for (flag, exit) in [("--allow-edits", 0), ("--plan", 4)] {
        let (env, server) = (TestEnv::new(), ModelServer::start());
        env.write("a.txt", "alpha\n");
        server.reply(bash("c1", "grep -c alpha a.txt > $SLUG_SCRATCH/count"));
        server.reply(bash("c2", "cat $SLUG_SCRATCH/count; ls -d \"$SLUG_SCRATCH\""));
        server.reply(ServerReply::text("Done."));
        env.ask(&server, &[flag, "-p", "count"]).assert_exit_code(exit);
        let last = &server.chat_requests()[2];
        let scratch = named_scratch(&last.body);
        let printed = result_of(last, "c2");
        assert!(printed.contains(scratch.to_str().unwrap()), "{printed}");
        assert_eq!(scratch.join("count").exists(), exit == 0);
        assert_eq!(printed.starts_with("1\n"), exit == 0, "{printed}");
        server.assert_clean();
    }
}

#[test]
fn long_output_is_whole_in_a_file_that_the_model_may_read() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let text: String = (1..=9000).map(|line| format!("number {line}\n")).collect();
    env.write("numbers.txt", &text);
    server.reply(bash("c1", "grep -n '' numbers.txt"));
    server.after_results(ServerReply::text("Done."));
    env.ask(&server, &["-p", "count"]).assert_exit_code(0);
    let last = server.chat_requests().pop().unwrap();
    let result = result_of(&last, "c1");
    let (_, rest) = result.split_once("All of it is in ").unwrap_or_else(|| panic!("{result}"));
    let file = Path::new(rest.split(": use Grep").next().unwrap()).to_owned();
    assert!(file.starts_with(named_scratch(&last.body)), "{}", file.display());
    let whole = std::fs::read_to_string(&file).unwrap();
    assert_eq!(whole.lines().count(), 9000);
    assert!(whole.ends_with("9000:number 9000\n"));
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);

    // In plan mode, too, the model reads it without a question.
    let path = file.to_str().unwrap();
    server.after_results(ServerReply::text("Read."));
    let session = env.sessions()[0]["session_id"].as_str().unwrap().to_owned();
    server.reply(ServerReply::calls(
        "",
        &[
            ("c2", "Read", json!({"file_path": path, "offset": 4500, "limit": 1})),
            (
                "c3",
                "Grep",
                json!({"pattern": "number 4501$", "path": path, "output_mode": "content"}),
            ),
        ],
    ));
    let resumed = ["--plan", "--resume", &session, "-p", "read it"];
    env.ask(&server, &resumed).assert_exit_code(0);
    let last = server.chat_requests().pop().unwrap();
    assert!(result_of(&last, "c2").contains("number 4500"), "{}", result_of(&last, "c2"));
    assert!(result_of(&last, "c3").contains("number 4501"), "{}", result_of(&last, "c3"));
}

#[test]
fn slugs_keys_are_not_in_the_file() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let line = "the key is CANARY-KEY-4711 and more\n".repeat(2000);
    env.write("keys.txt", &line);
    env.write_home("config.toml", "api_key = \"CANARY-KEY-4711\"\n");
    server.reply(bash("c1", "cat keys.txt"));
    server.after_results(ServerReply::text("Done."));
    env.ask(&server, &["-p", "show"]).assert_exit_code(0);
    let last = server.chat_requests().pop().unwrap();
    let result = result_of(&last, "c1");
    let (_, rest) = result.split_once("All of it is in ").unwrap_or_else(|| panic!("{result}"));
    let whole = std::fs::read_to_string(rest.split(": use Grep").next().unwrap()).unwrap();
    assert_eq!(whole.lines().count(), 2000);
    assert!(whole.contains("the key is [redacted") && !whole.contains("CANARY"));
    assert!(!result.contains("CANARY"), "{result}");
}

#[test]
fn a_link_in_the_folders_place_leaves_a_session_without_one() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Hello."));
    env.ask(&server, &["-p", "hello"]).assert_exit_code(0);
    let scratch = named_scratch(&server.chat_requests()[0].body);
    let target = env.home().join("target");
    std::fs::create_dir(&target).unwrap();
    assert!(!scratch.exists(), "an empty one is not left behind");
    std::fs::create_dir(scratch.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&target, &scratch).unwrap();
    let session = env.sessions()[0]["session_id"].as_str().unwrap().to_owned();
    server.reply(bash("c1", "echo a > $SLUG_SCRATCH/x; true"));
    server.reply(ServerReply::text("No."));
    let ran = env.ask(&server, &["--resume", &session, "-p", "write"]).assert_exit_code(4);
    assert!(ran.err.contains("There is no scratch folder"), "{}", ran.describe());
    assert_eq!(std::fs::read_dir(&target).unwrap().count(), 0);
    let last = server.chat_requests().pop().unwrap().body;
    let newest = last["messages"].as_array().unwrap().iter().rev();
    let told =
        newest.map(Value::to_string).find(|text| text.contains("name=\\\"mode\\\"")).unwrap();
    assert!(!told.contains("scratch folder:"), "{told}");
}

#[test]
fn a_command_starts_in_its_workdir() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("sub/a.txt", "alpha\n");
    let call = |id, folder: &str| {
        let input = json!({"command": "pwd && cat a.txt", "workdir": folder});
        ServerReply::calls("", &[(id, "Bash", input)])
    };
    server.reply(call("c1", "sub"));
    server.reply(call("c2", "/usr"));
    server.reply(call("c3", "none"));
    server.reply(ServerReply::text("Done."));
    env.ask(&server, &["-p", "look"]).assert_exit_code(4);
    let last = server.chat_requests().pop().unwrap();
    let (inside, outside, none) =
        (result_of(&last, "c1"), result_of(&last, "c2"), result_of(&last, "c3"));
    assert!(inside.ends_with("/sub\nalpha"), "{inside}");
    assert!(outside.contains("Refused: Reads outside the workspace."), "{outside}");
    assert!(none.contains("none") && none.contains("Nothing was run"), "{none}");
}

#[test]
fn a_workdir_through_a_link_is_the_folder_that_was_judged() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("a/b/c/file", "deep\n");
    env.write("a/notes", "inside\n");
    std::fs::write(env.workspace().join("../notes"), "outside\n").unwrap();
    std::os::unix::fs::symlink("a/b/c", env.path("link")).unwrap();
    // From the link's own name, the shell would go up out of the workspace.
    let input = json!({"command": "cd ../.. && pwd && cat notes", "workdir": "link"});
    server.reply(ServerReply::calls("", &[("c1", "Bash", input)]));
    server.reply(ServerReply::text("Done."));
    env.ask(&server, &["-p", "look"]).assert_exit_code(0);
    let result = result_of(&server.chat_requests()[1], "c1");
    assert!(result.ends_with("/a\ninside"), "{result}");
}
