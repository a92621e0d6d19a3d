//! Every way to exit gives the terminal back.

use rustix::process::{Signal, test_kill_process};

use crate::support::model_server::{ModelServer, ReplyGate, ServerReply, wait_until};
use crate::support::terminal::{PtySlug, key};
use crate::support::test_env::TestEnv;
use crate::{bash, pid};

/// Each mode that slug turns on, and the sequence that turns it off: the alternate screen,
/// bracketed paste, the mouse, focus reports, kitty's keys, the hidden cursor, and its shapes.
const MODES: [(&str, &str); 10] = [
    ("\x1b[?1049h", "\x1b[?1049l"),
    ("\x1b[?2004h", "\x1b[?2004l"),
    ("\x1b[?1000h", "\x1b[?1000l"),
    ("\x1b[?1002h", "\x1b[?1002l"),
    ("\x1b[?1006h", "\x1b[?1006l"),
    ("\x1b[?1004h", "\x1b[?1004l"),
    ("\x1b[>1u", "\x1b[<1u"),
    ("\x1b[?25l", "\x1b[?25h"),
    ("\x1b[6 q", "\x1b[0 q"),
    ("\x1b[2 q", "\x1b[0 q"),
];

/// Fails unless the last change of each mode turned it off.
pub(crate) fn is_given_back(slug: &PtySlug) {
    for (on, off) in MODES {
        slug.wait_for_raw(&format!("{off:?} at the end"), |raw| raw.rfind(off) > raw.rfind(on));
    }
    assert!(slug.edits_lines(), "the terminal is still raw");
}

#[test]
fn quit_gives_the_terminal_back_and_says_how_to_go_on() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Good morning."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("hello");
    slug.wait_for("Good morning.");
    slug.keys("/quit\r");
    assert!(slug.wait().success());
    is_given_back(&slug);
    let session = env.sessions()[0]["session_id"].as_str().unwrap().to_owned();
    slug.wait_for_raw("the way to go on", |raw| {
        raw.rfind(&format!("slug --resume {session}")) > raw.rfind("\x1b[?1049l")
    });
}

#[test]
fn vi_shapes_the_cursor_and_gives_it_back() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let mut slug = PtySlug::chat(&env, &server);
    slug.keys("/vi on\r");
    slug.wait_for("INSERT");
    slug.keys("one two\x1b");
    slug.wait_for("NORMAL");
    slug.wait_for_raw("a block", |raw| raw.rfind("\x1b[2 q") > raw.rfind("\x1b[6 q"));
    slug.keys("dbx");
    slug.wait_until("one deleted word", |screen| {
        screen.contains("❯ one") && !screen.contains("tw")
    });
    slug.keys("S/quit\r");
    assert!(slug.wait().success());
    is_given_back(&slug);
}

#[test]
fn ctrl_c_twice_leaves() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let mut slug = PtySlug::chat(&env, &server);
    slug.keys(key::CTRL_C);
    slug.wait_for("ctrl+c again");
    slug.keys(key::CTRL_C);
    assert!(slug.wait().success());
    is_given_back(&slug);
}

#[test]
fn a_terminate_signal_gives_the_terminal_back_and_is_died_of() {
    let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
    server.reply(ServerReply::text("one two three").gated(&gate));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("count");
    gate.let_through(3);
    slug.wait_for("one two");
    slug.signal(Signal::TERM);
    let status = slug.wait();
    assert_eq!(status.signal(), Some("Terminated"), "{status:?}");
    is_given_back(&slug);
}

#[test]
fn leaving_at_the_trust_question_gives_the_terminal_back() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("SLUG.md", "Be brief.\n");
    let mut slug = PtySlug::at(&env, 80, 24).args(&["-e", &server.endpoint()]).open();
    slug.wait_for_question("Do you trust this folder?");
    slug.keys("q");
    assert!(slug.wait().success());
    is_given_back(&slug);
}

#[test]
fn a_hang_up_ends_slug_and_what_it_runs() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "echo $$ > pid; sleep 300"));
    let mut slug = PtySlug::chat_with(&env, &server, &["--yolo"]);
    slug.say("wait");
    let sleeper = pid(&env.path("pid"));
    slug.signal(Signal::HUP);
    assert_eq!(slug.wait().signal(), Some("Hangup"));
    assert!(wait_until(|| test_kill_process(sleeper).is_err()), "{sleeper:?} still runs");
}

#[test]
fn a_kill_leaves_nothing_running() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "sleep 300 & echo $! > pid; wait"));
    let mut slug = PtySlug::chat_with(&env, &server, &["--yolo"]);
    slug.say("wait");
    let sleeper = pid(&env.path("pid"));
    slug.kill();
    assert!(wait_until(|| test_kill_process(sleeper).is_err()), "{sleeper:?} still runs");
}

#[test]
fn a_terminate_signal_at_the_first_question_gives_the_terminal_back() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("SLUG.md", "Be brief.\n");
    let mut slug = PtySlug::at(&env, 80, 24).args(&["-e", &server.endpoint()]).open();
    slug.wait_for("Do you trust this folder?");
    slug.signal(Signal::TERM);
    assert_eq!(slug.wait().signal(), Some("Terminated"));
    is_given_back(&slug);
}
