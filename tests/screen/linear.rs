//! The linear front end on a terminal and in a pipe.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::model_server::{ModelServer, ReplyGate, ServerReply};
use crate::support::terminal::{PtySlug, key};
use crate::support::test_env::{HeadlessOutput, TestEnv};
use crate::{bash, last_user_text, result_of};

/// A conversation on a terminal, at its first prompt.
fn talk(env: &TestEnv, server: &ModelServer, arguments: &[&str]) -> PtySlug {
    let slug = PtySlug::at(env, 80, 24).server(server).args(&["--linear"]).args(arguments).open();
    slug.wait_for_raw("a prompt", |raw| raw.ends_with("You: "));
    slug
}

fn says(slug: &PtySlug, text: &str) {
    slug.wait_for_raw(&format!("{text:?}"), |raw| raw.contains(text));
}

fn asks(slug: &PtySlug, prompt: &str) {
    slug.wait_for_raw(&format!("{prompt:?} last"), |raw| raw.ends_with(prompt));
    // A fixed wait: an answer must not come before the question could be read.
    std::thread::sleep(Duration::from_millis(400));
}

/// Runs slug with `input` on its standard input, and returns its output.
fn piped(env: &TestEnv, server: &ModelServer, arguments: &[&str], input: &str) -> HeadlessOutput {
    env.ask_with_input(server, &[&["--linear"], arguments].concat(), input)
}

#[test]
fn a_conversation_moves_no_cursor_and_leaves_the_terminal_as_it_was() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "echo made > made"));
    server.reply(ServerReply::text("It is **made**.\n\nBye."));
    let mut slug = talk(&env, &server, &[]);
    assert!(slug.edits_lines());
    slug.keys("make it\r");
    asks(&slug, "Answer: ");
    says(&slug, "Run this command?\r\n  echo made > made\r\n");
    slug.keys("y\r");
    asks(&slug, "You: ");
    says(&slug, "slug:\x1b[0m It is **made**.\r\n\r\nBye.\r\n");
    assert_eq!(env.read("made"), "made\n");
    slug.keys("/quit\r");
    assert!(slug.wait().success());
    says(&slug, "slug --resume ");
    let raw = slug.raw();
    let sequences: Vec<&str> = raw.split('\x1b').skip(1).collect();
    let is_colour = |sequence: &&str| {
        let end = sequence.find(|c: char| c.is_ascii_alphabetic());
        end.is_some_and(|end| sequence[..=end].ends_with('m'))
    };
    assert!(sequences.iter().all(is_colour), "{raw:?}");
}

#[test]
fn a_dumb_terminal_gets_words_alone() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Good morning."));
    let start = PtySlug::at(&env, 80, 24).server(&server).env("TERM", "dumb");
    let mut slug = start.open();
    asks(&slug, "You: ");
    slug.keys("hello\r");
    says(&slug, "slug: Good morning.\r\n");
    asks(&slug, "You: ");
    // ctrl+d
    slug.keys("\x04");
    assert!(slug.wait().success());
    assert!(!slug.raw().contains('\x1b'), "{:?}", slug.raw());
}

#[test]
fn ctrl_c_stops_the_turn_and_twice_leaves() {
    let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
    server.reply(ServerReply::words(["one\n", "two\n", "three\n"]).gated(&gate));
    let mut slug = talk(&env, &server, &[]);
    slug.keys("count\r");
    gate.let_through(2);
    says(&slug, " one\r\n");
    slug.keys(key::CTRL_C);
    says(&slug, "You stopped the turn.");
    asks(&slug, "You: ");
    slug.keys(key::CTRL_C);
    says(&slug, "ctrl+c again to quit");
    slug.keys(key::CTRL_C);
    assert!(slug.wait().success());
}

/// The row of `/context` for the result of the call that read a file, and its number.
fn numbered_row<'a>(output: &'a str, file: &str) -> Option<(&'a str, usize)> {
    output.lines().find_map(|line| {
        let (number, row) = line.trim().split_once(' ')?;
        row.starts_with(&format!("Read {file}, ~")).then_some((row, number.parse().ok()?))
    })
}

#[test]
fn the_context_is_read_out_and_edited_and_the_next_request_shows_it() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("a.txt", &"alpha, the first letter\n".repeat(40));
    server.reply(ServerReply::calls("", &[("c1", "Read", json!({"file_path": "a.txt"}))]));
    for answer in ["It is read.", "Good.", "Yes."] {
        server.reply(ServerReply::text(answer));
    }
    let mut slug = talk(&env, &server, &[]);
    for message in ["read a.txt\r", "thanks\r"] {
        slug.keys(message);
        asks(&slug, "You: ");
    }
    slug.keys("/context\r");
    asks(&slug, "Edit: ");
    let (_, number) = numbered_row(&slug.raw(), "a.txt").expect("a row with a number");
    for (edit, end) in [
        ("pin", ", pinned"),
        ("pin", "1 turn ago"),
        ("fold", ", left out"),
        ("fold", "1 turn ago"),
        ("fold", ", left out"),
    ] {
        let before = slug.raw().len();
        slug.keys(&format!("{edit} {number}\r"));
        slug.wait_for_raw(&format!("{edit} to end with {end:?}"), |raw| {
            let row = numbered_row(&raw[before..], "a.txt");
            row.is_some_and(|(row, _)| row.ends_with(end)) && raw.ends_with("Edit: ")
        });
    }
    slug.keys("fold 99\r");
    says(&slug, "Type fold or pin and a number from the list");
    slug.keys("\r");
    asks(&slug, "You: ");
    // What is left out changes an earlier message.
    server.forget();
    slug.keys("go on\r");
    let requests = server.wait_for_requests(4);
    assert!(result_of(&requests[2], "c1").contains("alpha, the first letter"));
    assert!(!result_of(&requests[3], "c1").contains("alpha, the first letter"));
    server.assert_clean();
}

#[test]
fn a_pipe_holds_messages_and_answers() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "echo made > made"));
    server.reply(bash("c2", "echo more > more"));
    server.reply(ServerReply::text("Done, in part."));
    server.reply(ServerReply::text("You are welcome."));
    let input = "make \\\nboth\ny\nt use one file\nthanks\n";
    let ran = piped(&env, &server, &[], input).assert_exit_code(0);
    assert!(env.path("made").exists() && !env.path("more").exists());
    let chats = server.chat_requests();
    assert!(last_user_text(&chats[3]).ends_with("thanks"));
    assert!(result_of(&chats[2], "c2").contains("use one file"));
    for text in ["You: make \nboth\n", "Answer: y\n", "slug: Done, in part.\n"] {
        assert!(ran.out.contains(text), "no {text:?} in {}", ran.describe());
    }
    assert!(ran.out.contains("slug: You are welcome.\n"), "{}", ran.describe());
    assert!(!ran.out.contains('\x1b'), "{}", ran.describe());
    server.assert_clean();
}

#[test]
fn a_session_goes_on_with_its_end_read_out() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Good morning."));
    server.reply(ServerReply::text("Good night."));
    piped(&env, &server, &[], "hello\n").assert_exit_code(0);
    let ran = piped(&env, &server, &["--continue"], "bye\n").assert_exit_code(0);
    let end = "Showing its end.\nYou: hello\nslug: Good morning.\n";
    assert!(ran.out.contains(end), "{}", ran.describe());
    assert!(ran.out.contains("You: bye\nslug: Good night.\n"), "{}", ran.describe());
}

/// Tasks through Call, in one session and after it is opened again.
#[test]
fn tasks_are_read_out_with_the_plan() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let call = |id: &str, tool: &str, input: &Value| {
        let inside = json!({"tool": tool, "input": input});
        server.reply(ServerReply::calls("", &[(id, "Call", inside)]));
    };
    call("c1", "TaskCreate", &json!({"subject": "Mend it"}));
    call("c2", "TaskCreate", &json!({"subject": "Test it", "blocked_by": [1], "owner": "tester"}));
    call("c3", "TaskUpdate", &json!({"id": 1, "status": "in_progress"}));
    server.reply(ServerReply::text("Planned."));
    let plan = "The plan:\nnow: #1 Mend it\nto do: #2 Test it, after #1, by tester\n";
    let ran = piped(&env, &server, &[], "plan it\n/todos\n").assert_exit_code(0);
    let calls = "Tool: TaskCreate Mend it: #1\nTool: TaskCreate Test it: #2\n\
                 Tool: TaskUpdate #1 in progress: 0 of 2 done\n";
    for text in [calls, plan] {
        assert!(ran.out.contains(text), "no {text:?} in {}", ran.describe());
    }
    let ran = piped(&env, &server, &["--continue"], "/todos\n").assert_exit_code(0);
    assert!(ran.out.contains(plan), "{}", ran.describe());
    server.assert_clean();
}

#[test]
fn the_demo_can_be_played_through() {
    let env = TestEnv::new();
    let input = "fix it\ny\ny\n/diff\n/todos\n";
    let ran = env.run_with_input(&["--linear", "--demo", "plain"], input).assert_exit_code(0);
    for text in [
        "Question: Change lib/",
        "-    if [ \"$1\" -lt 500 ]; then\n",
        "Question: Run this command?\n",
        "Tool: plan, 3 of 3 done\n",
        "lib/rates.sh, 4 lines added, 4 removed:\n",
        "done: Run the tests\n",
    ] {
        assert!(ran.out.contains(text), "no {text:?} in {}", ran.describe());
    }
}

#[test]
fn the_tour_is_spoken_as_lines() {
    let env = TestEnv::new();
    let input = "fix it\ny\ny\n/diff\n/undo\n1\n";
    let ran = env.run_with_input(&["--linear", "--demo"], input).assert_exit_code(0);
    let mut rest = ran.out.as_str();
    for text in [
        "Note: Tour 1 of 7: Type a message and press enter.",
        "Note: Tour 2 of 7: slug reads without asking.",
        "Note: Tour 3 of 7: y allows the edit;",
        "Note: Tour 4 of 7: y runs the tests;",
        "Note: Tour 5 of 7: /diff reads out what this session changed.",
        "Note: Tour 6 of 7: /undo goes back before your message, with the file.",
        "Note: Tour 7 of 7: 1 takes back the conversation and the file;",
        "Note: That was slug:",
    ] {
        let (_, behind) =
            rest.split_once(text).unwrap_or_else(|| panic!("no {text:?} in {}", ran.describe()));
        rest = behind;
    }
}

#[test]
fn a_new_folder_is_asked_about_and_not_trusted_without_an_answer() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("SLUG.md", "Say moo.");
    server.reply(ServerReply::text("Hello."));
    server.reply(ServerReply::text("Moo."));
    let endpoint = server.endpoint();
    let arguments = ["--model", "test-model", "--endpoint", &endpoint, "--linear"];
    let ran = env.run_with_input(&arguments, "n\nhello\n").assert_exit_code(0);
    assert!(ran.out.contains("Do you trust this folder?"), "{}", ran.describe());
    let item = "SLUG.md, instructions for the model:\n    1 line of instructions\n";
    assert!(ran.out.contains(item), "{}", ran.describe());
    assert!(!server.chat_requests()[0].body.to_string().contains("Say moo."));
    env.run_with_input(&arguments, "y\nhello\n").assert_exit_code(0);
    assert!(server.chat_requests()[1].body.to_string().contains("Say moo."));
}

/// A settings file with one hook at the end of each answer.
fn settings(command: &str) -> String {
    format!(
        r#"{{"permissions":{{"deny":["Bash(make *)"]}},
            "hooks":{{"Stop":[{{"hooks":[{{"type":"command","command":"{command}"}}]}}]}}}}"#
    )
}

#[test]
fn the_question_about_a_folder_says_every_rule_and_every_program() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write(".slug/settings.json", &settings("true"));
    let endpoint = server.endpoint();
    let arguments = ["--model", "test-model", "--endpoint", &endpoint, "--linear"];
    let ran = env.run_with_input(&arguments, "n\n").assert_exit_code(0);
    let item = ".slug/settings.json, programs that slug would run, permission rules:\n    \
                on Stop runs true\n    deny Bash(make *)\n";
    assert!(ran.out.contains(item), "{}", ran.describe());
}

#[test]
fn what_changes_while_the_question_is_open_is_asked_about_before_it_holds() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write(".slug/settings.json", &settings("true"));
    let endpoint = server.endpoint();
    let arguments = ["--model", "test-model", "--endpoint", &endpoint, "--linear"];
    let mut slug = PtySlug::at(&env, 80, 24).args(&arguments).open();
    asks(&slug, "> ");
    env.write(".slug/settings.json", &settings("touch marker"));
    slug.keys("y\r");
    says(&slug, "has changed since you trusted it");
    says(&slug, "New: on Stop runs touch marker");
    asks(&slug, "> ");
    slug.keys("n\r");
    slug.wait_for_raw("a prompt", |raw| raw.ends_with("You: "));
    slug.keys("/quit\r");
    assert!(slug.wait().success());
}

#[test]
fn hooks_are_listed_tried_switched_and_trusted_with_their_commands_said() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write(".slug/settings.json", &settings("echo tried"));
    env.write("new.json", &settings("echo new"));
    server.reply(ServerReply::text("Hello."));
    let endpoint = server.endpoint();
    let arguments = ["--model", "test-model", "--endpoint", &endpoint, "--linear"];
    let input = "y\n/hooks\n1\n2\n/hooks\n1\n1\n\n!cp new.json .slug/settings.json\nhi\n\
                 /hooks\n1\n2\ny\n\n";
    let ran = env.run_with_input(&arguments, input).assert_exit_code(0);
    let news = ".slug/settings.json, programs that slug would run, permission rules\n  \
                + on Stop runs echo new\n    deny Bash(make *)\n  - on Stop runs echo tried\n";
    let answers = "Type y to trust, n to leave them off.\n";
    for text in [
        "Note: Hooks:\n1. Stop, echo tried, on\n",
        "Note: Hook:\n  echo tried\n",
        "Standard output:\ntried\n",
        "Note: Hooks:\n1. Stop, echo tried, off\n",
        "1. Hooks have changed, the new version is not active yet, not trusted\n",
        &format!("Question: Trust the new hooks?\n{news}{answers}"),
        "Note: Hooks:\n1. Stop, echo new, on\n",
    ] {
        assert!(ran.out.contains(text), "no {text:?} in {}", ran.describe());
    }
}

#[test]
fn a_signal_ends_it() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let mut slug = talk(&env, &server, &[]);
    slug.signal(rustix::process::Signal::TERM);
    assert_eq!(slug.wait().signal(), Some("Terminated"));
}

#[test]
fn without_a_terminal_to_show_it_the_screen_is_refused_with_a_way_out() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let ran = env.ask(&server, &[]).assert_exit_code(1);
    assert!(ran.err.contains("slug --linear"), "{}", ran.describe());
}
