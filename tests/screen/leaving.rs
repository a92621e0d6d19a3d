//! Each way out gives the terminal back.

use rustix::process::Signal;

use crate::support::desk::Desk;
use crate::support::model_server::{Gate, ModelServer, Reply};
use crate::support::terminal::{Slug, key};

const TAKEN: &str = "\x1b[?1049h";
/// Pasting, mouse and focus reports off, the first screen back, the cursor shown.
const GIVEN_BACK: [&str; 6] =
    ["\x1b[?1006l", "\x1b[<1u", "\x1b[?1004l", "\x1b[?2004l", "\x1b[?1049l", "\x1b[?25h"];

/// Fails unless the last things done to the terminal give it back.
fn is_given_back(slug: &Slug) {
    slug.wait_for_raw("leave sequences at the end", |raw| {
        let Some(taken) = raw.rfind(TAKEN) else { return false };
        let mut rest = &raw[taken..];
        GIVEN_BACK.iter().all(|sequence| match rest.rfind(sequence) {
            Some(at) => {
                rest = &rest[at..];
                true
            }
            None => false,
        })
    });
    assert!(slug.edits_lines(), "the terminal is still raw");
}

#[test]
fn quit_gives_the_terminal_back_and_says_how_to_go_on() {
    let (desk, server) = (Desk::new(), ModelServer::start());
    server.reply(Reply::text("Good morning."));
    let mut slug = Slug::chat(&desk, &server);
    slug.say("hello");
    slug.wait_for("Good morning.");
    slug.keys("/quit\r");
    assert!(slug.wait().success());
    is_given_back(&slug);
    let session = desk.sessions()[0]["session_id"].as_str().unwrap().to_owned();
    slug.wait_for_raw("the way to go on", |raw| {
        raw.rfind(&format!("slug --resume {session}")) > raw.rfind("\x1b[?1049l")
    });
}

#[test]
fn ctrl_c_twice_leaves() {
    let (desk, server) = (Desk::new(), ModelServer::start());
    let mut slug = Slug::chat(&desk, &server);
    slug.keys(key::CTRL_C);
    slug.wait_for("ctrl+c again");
    slug.keys(key::CTRL_C);
    assert!(slug.wait().success());
    is_given_back(&slug);
}

#[test]
fn a_terminate_signal_gives_the_terminal_back_and_is_died_of() {
    let (desk, server, gate) = (Desk::new(), ModelServer::start(), Gate::closed());
    server.reply(Reply::text("one two three").gated(&gate));
    let mut slug = Slug::chat(&desk, &server);
    slug.say("count");
    gate.let_through(2);
    slug.wait_for("one");
    slug.signal(Signal::TERM);
    let status = slug.wait();
    assert_eq!(status.signal(), Some("Terminated"), "{status:?}");
    is_given_back(&slug);
}

#[test]
fn leaving_at_the_trust_question_gives_the_terminal_back() {
    let (desk, server) = (Desk::new(), ModelServer::start());
    let mut slug = Slug::at(&desk, 80, 24).args(&["-e", &server.endpoint()]).open();
    slug.wait_for("Do you trust this folder?");
    slug.keys("q");
    assert!(slug.wait().success());
    is_given_back(&slug);
}
