//! The approval dialog: each answer and its effect.

use serde_json::{Value, json};

use crate::support::model_server::{ModelServer, ReplyGate, ServerReply};
use crate::support::terminal::{PtySlug, key};
use crate::support::test_env::TestEnv;
use crate::{bash, result_of};

const EDIT: &str = "let total = 1;";

fn edit(id: &str) -> ServerReply {
    let input = json!({"file_path": "a.rs", "old_string": "total = 1", "new_string": "total = 2"});
    ServerReply::calls("", &[("r1", "Read", json!({"file_path": "a.rs"})), (id, "Edit", input)])
}

#[test]
fn a_command_runs_after_yes_and_its_output_is_shown() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "env printf 'o%s\\n' ne two"));
    server.reply(ServerReply::text("Done."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("run it");
    slug.answer("printf", "y");
    slug.wait_until("output and answer", |screen| {
        screen.lines().any(|row| row.trim() == "one") && screen.contains("Done.")
    });
    assert!(result_of(&server.chat_requests()[1], "c1").contains("one\notwo"));
    server.assert_clean();
}

#[test]
fn nothing_runs_before_the_answer() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "touch made"));
    server.reply(ServerReply::text("Done."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("run it");
    slug.wait_for_dialog("touch made");
    assert!(!env.path("made").exists());
    slug.keys("y");
    slug.wait_for("Done.");
    assert!(env.path("made").exists());
}

#[test]
fn after_no_the_command_does_not_run_and_the_model_is_told() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "touch made"));
    server.reply(ServerReply::text("As you wish."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("run it");
    slug.answer("touch made", "n");
    slug.wait_for("As you wish.");
    assert!(!env.path("made").exists());
    let told = result_of(&server.chat_requests()[1], "c1");
    assert!(told.contains("said no"), "{told}");
    server.assert_clean();
}

#[test]
fn a_no_can_say_what_to_do_instead() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "touch made"));
    server.reply(ServerReply::text("Then with make."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("run it");
    slug.answer("touch made", "t");
    slug.wait_for_no("n  No");
    slug.keys("use the Makefile");
    slug.wait_for("use the Makefile");
    slug.keys(key::ENTER);
    slug.wait_for("Then with make.");
    assert!(!env.path("made").exists());
    let told = result_of(&server.chat_requests()[1], "c1");
    assert!(told.contains("use the Makefile"), "{told}");
}

#[test]
fn an_edit_shows_its_diff_and_yes_writes_the_file() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("a.rs", &format!("fn main() {{\n    {EDIT}\n}}\n"));
    server.reply(edit("c1"));
    server.reply(ServerReply::text("Changed."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("make it two");
    slug.wait_for_dialog("a.rs?  +1 -1");
    slug.wait_until("both sides of the change", |screen| {
        screen.contains("let total = 1;") && screen.contains("let total = 2;")
    });
    assert!(env.read("a.rs").contains("total = 1;"));
    slug.keys("y");
    slug.wait_for("Changed.");
    assert_eq!(env.read("a.rs"), "fn main() {\n    let total = 2;\n}\n");
    server.assert_clean();
}

#[test]
fn a_change_that_is_left_out_is_not_written_and_the_model_is_told() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let text = |first: &str, last: &str| format!("{first}\nfn between() {{}}\n{last}\n");
    env.write("a.rs", &text("use one;", "fn last() {}"));
    let content = text("use two;", "fn other() {}");
    let write = json!({"file_path": "a.rs", "content": content});
    server.reply(ServerReply::calls("", &[("r1", "Read", json!({"file_path": "a.rs"}))]));
    server.reply(ServerReply::calls("", &[("c1", "Write", write)]));
    server.reply(ServerReply::text("Half of it."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("write it");
    slug.answer("Yes, all 2 changes", " ");
    slug.wait_for("Yes, 1 of 2 changes");
    slug.keys("y");
    slug.wait_for("Half of it.");
    slug.wait_for("1 of 2 changes  +1 -1");
    assert_eq!(env.read("a.rs"), text("use one;", "fn other() {}"));
    let told = result_of(&server.chat_requests()[2], "c1");
    assert!(
        told.contains("took 1 of the 2 changes") && told.contains("-use one;\n+use two;"),
        "{told}"
    );
    server.assert_clean();
}

#[test]
fn an_edit_that_cannot_succeed_is_not_asked_about() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("a.rs", "let sum = 1;");
    server.reply(edit("c1"));
    server.reply(ServerReply::text("I will look again."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("make it two");
    slug.wait_for("I will look again.");
    assert!(result_of(&server.chat_requests()[1], "c1").contains("`old_string` is not in a.rs"));
    server.assert_clean();
}

#[test]
fn an_edit_that_was_refused_leaves_the_file_as_it_was() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("a.rs", EDIT);
    server.reply(edit("c1"));
    server.reply(ServerReply::text("Left alone."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("make it two");
    slug.answer("a.rs?  +1 -1", "n");
    slug.wait_for("Left alone.");
    assert_eq!(env.read("a.rs"), EDIT);
}

#[test]
fn always_saves_the_rule_that_is_shown_and_asks_no_more() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "touch made"));
    server.reply(bash("c2", "touch made"));
    server.reply(ServerReply::text("Twice."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("run it");
    slug.answer("Always allow `touch made`", "a");
    // The rule is shown before it is saved, with the file that keeps it.
    slug.wait_for("shop/.slug/settings.local.json");
    slug.wait_for("❯ Bash(touch made)");
    slug.keys(key::ENTER);
    slug.wait_for("Twice.");
    let settings: Value = serde_json::from_str(&env.read(".slug/settings.local.json")).unwrap();
    assert_eq!(settings["permissions"]["allow"], json!(["Bash(touch made)"]));
}

#[test]
fn for_this_session_asks_no_more_and_saves_nothing() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "touch made"));
    server.reply(bash("c2", "touch made"));
    server.reply(ServerReply::text("Twice."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("run it");
    slug.answer("don't ask again for `touch made`", "s");
    slug.wait_for("Twice.");
    assert!(!env.slug_home().join("settings.json").exists());
    assert!(!env.path(".slug").exists());
}

#[test]
fn never_denies_the_next_call_without_asking() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "touch made"));
    server.reply(bash("c2", "touch other"));
    server.reply(ServerReply::text("Neither."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("run it");
    slug.answer("Never allow `touch *`", "d");
    slug.wait_for("❯ Bash(touch *)");
    slug.keys(key::ENTER);
    slug.wait_for("Neither.");
    assert!(!env.path("made").exists() && !env.path("other").exists());
    let told = result_of(&server.chat_requests()[2], "c2");
    assert!(told.contains("Bash(touch *)"), "{told}");
}

#[test]
fn an_edited_command_runs_in_its_place_and_the_model_is_told() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "touch made"));
    server.reply(ServerReply::text("Yours then."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("run it");
    slug.answer("touch made", "e");
    slug.wait_for_no("n  No");
    slug.keys(&format!("{}touch mine", key::CTRL_U));
    slug.wait_for("touch mine");
    slug.keys(key::ENTER);
    // The edited command is checked, and asked about, again.
    slug.answer("$ touch mine", "y");
    slug.wait_for("Yours then.");
    assert!(env.path("mine").exists() && !env.path("made").exists());
    let told = result_of(&server.chat_requests()[1], "c1");
    assert!(told.contains("touch mine"), "{told}");
    server.assert_clean();
}

#[test]
fn several_questions_are_asked_one_after_another() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let call = |file: &str| json!({"command": format!("touch {file}")});
    server
        .reply(ServerReply::calls("", &[("c1", "Bash", call("one")), ("c2", "Bash", call("two"))]));
    server.reply(ServerReply::text("Half of it."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("run both");
    slug.answer("touch one", "n");
    slug.answer("touch two", "y");
    slug.wait_for("Half of it.");
    assert!(!env.path("one").exists() && env.path("two").exists());
    server.assert_clean();
}

#[test]
fn a_file_that_changes_while_it_is_asked_about_is_not_overwritten() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("a.rs", EDIT);
    server.reply(edit("c1"));
    server.reply(ServerReply::text("It has changed."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("make it two");
    slug.wait_for_dialog("a.rs?  +1 -1");
    let others = format!("{EDIT} // and a word of somebody else's");
    env.write("a.rs", &others);
    slug.keys("y");
    slug.wait_for("It has changed.");
    assert_eq!(env.read("a.rs"), others);
    let told = result_of(&server.chat_requests()[1], "c1");
    assert!(told.contains("changed"), "{told}");
}

#[test]
fn what_is_typed_as_the_question_opens_is_no_answer() {
    let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
    server.reply(bash("c1", "touch made").gated(&gate));
    server.reply(ServerReply::text("As you wish."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("run it");
    server.wait_for_requests(1);
    gate.open();
    // Continuous typing: each key comes within the dialog's 300 ms.
    let mut typed = 0;
    while !slug.screen().contains("y  Yes") {
        slug.keys("y");
        typed += 1;
        slug.wait_until("the key", |screen| in_input(screen) == typed || screen.contains("y  Yes"));
    }
    slug.keys("yy");
    slug.wait_until("all keys in the input", |screen| in_input(screen) == typed + 2);
    assert!(!env.path("made").exists());
    slug.answer("touch made", "n");
    slug.wait_for("As you wish.");
}

/// How many times `y` stands in the input, which may take several rows.
fn in_input(screen: &str) -> usize {
    let (_, input) = screen.rsplit_once('❯').unwrap_or_default();
    let rows = input.lines().take_while(|row| !row.trim().is_empty());
    rows.map(|row| row.matches('y').count()).sum()
}

#[test]
fn a_rule_can_be_edited_before_it_is_saved() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "touch one"));
    server.reply(bash("c2", "touch two"));
    server.reply(ServerReply::text("Both."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("run it");
    slug.answer("touch one", "a");
    slug.wait_for("❯ Bash(touch one)");
    slug.keys(&format!("{}Bash(touch *)", key::CTRL_U));
    slug.wait_for("Bash(touch *)");
    slug.keys(key::ENTER);
    slug.wait_for("Both.");
    assert!(env.path("one").exists() && env.path("two").exists());
    assert!(env.read(".slug/settings.local.json").contains("Bash(touch *)"));
}

/// A proxy that answers every request for a page itself, so that no name is resolved.
fn page_proxy() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut buffer = [0; 8192];
            let count = std::io::Read::read(&mut stream, &mut buffer).unwrap_or_default();
            let head = String::from_utf8_lossy(&buffer[..count]);
            let asked = head.split(' ').nth(1).unwrap_or_default();
            let body = format!("<title>A page</title><p>You asked for {asked}.</p>");
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\
                 Connection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = std::io::Write::write_all(&mut stream, answer.as_bytes());
        }
    });
    address
}

#[test]
fn a_fetch_is_asked_about_by_its_address_and_s_allows_its_domain() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let fetch = |id: &'static str, url: &str| {
        let input = json!({"tool": "WebFetch", "input": {"url": url, "format": "text"}});
        ServerReply::calls("", &[(id, "Call", input)])
    };
    server.reply(fetch("c1", "http://docs.example.org/a"));
    server.reply(fetch("c2", "http://docs.example.org/b"));
    server.reply(fetch("c3", "http://127.0.0.1:1234/"));
    server.reply(ServerReply::text("Read."));
    let proxy = page_proxy();
    let slug = PtySlug::at(&env, 100, 30).server(&server).env("HTTP_PROXY", &proxy);
    let mut slug = slug.open();
    slug.wait_for("? keys");
    slug.say("read both");
    slug.wait_for_dialog("http://docs.example.org/a");
    let screen = slug.screen();
    for part in
        ["Fetch this?", "Asks the server docs.example.org.", "`docs.example.org` this session"]
    {
        assert!(screen.contains(part), "{part}:\n{screen}");
    }
    slug.keys("s");
    slug.wait_for("Read.");
    let requests = server.chat_requests();
    for (at, id, path) in [(1, "c1", "a"), (2, "c2", "b")] {
        let page = result_of(&requests[at], id);
        let text = format!("You asked for http://docs.example.org/{path}.");
        assert!(page.contains("</untrusted ") && page.contains(&text), "{page}");
    }
    let refused = result_of(&requests[3], "c3");
    assert!(refused.contains("127.0.0.1 is this machine or in a private network"), "{refused}");
    server.assert_clean();
}
