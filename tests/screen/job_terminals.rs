//! Jobs on a terminal in slug on a real one: a program is taken over, used and given back. Also in a run
//! that has no screen to show it on.

use serde_json::json;

use crate::support::model_server::{ModelServer, ServerReply, result_of};
use crate::support::skip::skip;
use crate::support::terminal::{PtySlug, key};
use crate::support::test_env::TestEnv;

/// The key that gives a terminal back: ctrl+].
const GIVE_BACK: &str = "\u{1d}";

fn begun(env: &TestEnv, server: &ModelServer, command: &str) -> PtySlug {
    let input = json!({"command": command, "tty": true});
    server.reply(ServerReply::calls("", &[("c1", "Bash", input)]));
    server.reply(ServerReply::text("It is on a terminal."));
    let mut slug = PtySlug::chat_with(env, server, &["--yolo"]);
    slug.say("start it");
    slug.wait_for("It is on a terminal.");
    slug.say("/jobs");
    slug.wait_for("Terminal of job 1");
    slug
}

#[test]
fn a_program_is_taken_over_resized_and_given_back() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let command = "trap 'echo size $(stty size)' WINCH; echo ready; \
                   while :; do read -r -t 0.2 line && echo \"got <$line>\"; done";
    let mut slug = begun(&env, &server, command);
    slug.wait_for("\n ready");
    slug.keys("t");
    slug.wait_for("Your keys go to job 1");
    // The keys that end a turn, leave slug and open its lists are the program's.
    slug.keys("one ?/q\r");
    slug.wait_for("\ngot <one ?/q>");
    slug.resize(90, 20);
    slug.wait_for("size 18 90");
    slug.keys("\u{1b}[200~two\u{1b}[201~\r");
    slug.wait_for("\ngot <two>");
    slug.keys(GIVE_BACK);
    slug.wait_for("Terminal of job 1");
    slug.keys(GIVE_BACK);
    slug.wait_for("Your keys go to job 1");
    slug.wait_for("^]");
    slug.keys(GIVE_BACK);
    slug.wait_for("Terminal of job 1");
    slug.keys("x");
    slug.wait_for_question("x again ends job 1");
    slug.keys("x");
    slug.wait_for("killed after");
    slug.keys(key::ESC);
    slug.wait_for("It is on a terminal.");
    slug.quit();
    server.assert_clean();
}

#[test]
fn a_password_that_is_typed_is_in_no_file_of_slugs() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let command = "stty -echo; printf 'Password: '; read -r secret; stty echo; \
                   echo; echo \"${#secret} letters\"";
    let mut slug = begun(&env, &server, command);
    slug.wait_for("Password:");
    slug.keys("t");
    slug.wait_for("not shown, and not logged");
    slug.keys("CANARY-4711\r");
    slug.wait_for("11 letters");
    assert!(!slug.raw().contains("CANARY"));
    slug.wait_for("ended with status 0");
    slug.keys(key::ESC);
    slug.wait_for("It is on a terminal.");
    slug.quit();
    let mut folders = vec![env.home(), env.slug_home()];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if let Ok(bytes) = std::fs::read(entry.path()) {
                files += 1;
                let holds = bytes.windows(6).any(|part| part == b"CANARY");
                assert!(!holds, "{}", entry.path().display());
            }
        }
    }
    assert!(files > 2, "{files} files are no home");
    server.assert_clean();
}

#[test]
fn s73_what_a_program_says_to_a_terminal_does_not_reach_the_users() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let command = r"printf '\033]0;TITLE-1\007\033]52;c;Q0xJUEJPQVJE\007\033]9;NOTE-2\007'; \
                    printf '\033]8;;http://evil.example/LINK-3\033\\text\033]8;;\033\\'; \
                    printf '\033Pq#0QQ\033\\\033_GIMAGE-4\033\\'; echo; echo the-end; sleep 1000";
    let mut slug = begun(&env, &server, command);
    slug.wait_for("\n the-end");
    slug.keys("t");
    slug.wait_for("Your keys go to job 1");
    let raw = slug.raw();
    // The command itself is on screen, in its call and in the list: only sequences count.
    for sequence in
        ["\u{1b}]0;TITLE", "\u{1b}]52", "\u{1b}]9;NOTE", "\u{1b}]8;;http://evil", "\u{1b}_GIMAGE"]
    {
        assert!(!raw.contains(sequence), "{sequence:?} reached the terminal");
    }
    slug.keys(GIVE_BACK);
    slug.wait_for("Terminal of job 1");
    server.assert_clean();
}

#[test]
fn vim_works_in_a_terminal_that_was_taken_over() {
    if !["/usr/bin/vim", "/usr/local/bin/vim"].iter().any(|at| std::path::Path::new(at).exists()) {
        return skip("vim is not installed");
    }
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let mut slug = begun(&env, &server, "vim -u NONE -N notes.md");
    slug.keys("t");
    slug.wait_for("Your keys go to job 1");
    slug.wait_for("\"notes.md\"");
    slug.keys("ione\rtwo");
    slug.keys("\u{1b}");
    slug.wait_for("\ntwo");
    // Arrows, as vim has asked for them: up, and to the end of the line.
    slug.keys("\u{1b}[A");
    slug.keys("A line\u{1b}");
    slug.wait_for("one line");
    slug.keys(":wq\r");
    slug.wait_for("ended with status 0");
    assert_eq!(env.read("notes.md"), "one line\ntwo\n");
    slug.keys(key::ESC);
    slug.wait_for("It is on a terminal.");
    slug.quit();
    server.assert_clean();
}

#[test]
fn a_command_on_a_terminal_needs_no_pane() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let start = json!({"command": "stty size; read line; echo \"got $line\"", "tty": true});
    server.reply(ServerReply::calls("", &[("c1", "Bash", start)]));
    let typed = json!({"job": 1, "text": "a line\n"});
    server.reply(ServerReply::calls("", &[("c2", "BashInput", typed)]));
    let look = json!({"job": 1, "wait": 20});
    server.reply(ServerReply::calls("", &[("c3", "BashOutput", look)]));
    server.reply(ServerReply::text("Done."));
    env.ask(&server, &["-p", "go", "--yolo"]).assert_exit_code(0);
    let requests = server.chat_requests();
    let begun = result_of(&requests[1], "c1");
    assert!(begun.contains("[runs on a terminal as job 1. "), "{begun}");
    let ended = result_of(&requests[3], "c3");
    assert!(ended.starts_with("24 80\na line\ngot a line\n[job 1 has ended"), "{ended}");
}
