//! The mouse, the clipboard, and the text that stays in the terminal, as the terminal sees them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::terminal::PtySlug;
use crate::support::test_env::TestEnv;

/// A mouse event in SGR form: its code, and its cell, counted from 0.
fn mouse(code: u8, cell: (usize, usize), last: char) -> String {
    format!("\x1b[<{code};{};{}{last}", cell.0 + 1, cell.1 + 1)
}

/// The cell where a text begins on screen.
fn find(slug: &PtySlug, text: &str) -> (usize, usize) {
    let screen = slug.screen();
    let place = screen.lines().enumerate().find_map(|(row, line)| {
        let at = line.find(text)?;
        Some((line[..at].chars().count(), row))
    });
    place.unwrap_or_else(|| panic!("no {text:?} in\n{screen}"))
}

/// slug with this answer on screen.
fn answered(env: &TestEnv, server: &ModelServer, text: &str, until: &str) -> PtySlug {
    server.reply(ServerReply::text(text));
    let mut slug = PtySlug::chat(env, server);
    slug.say("go on");
    slug.wait_for(until);
    slug.wait_until("the end of the turn", |screen| !screen.contains("esc stop"));
    slug
}

/// The decoded text of the last OSC 52 sequence.
fn copied(slug: &PtySlug) -> Option<String> {
    let raw = slug.raw();
    let (_, last) = raw.rsplit_once("\x1b]52;c;")?;
    let (encoded, _) = last.split_once('\x07')?;
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}

#[test]
fn the_wheel_scrolls_and_the_line_below_brings_back() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let text: String = (0..80).map(|n| format!("line {n}\n\n")).collect();
    let mut slug = answered(&env, &server, &text, "line 79");
    for _ in 0..5 {
        slug.keys(&mouse(64, (10, 10), 'M'));
    }
    slug.wait_for("more below");
    slug.wait_for_no("line 79");
    let below = find(&slug, "more below");
    slug.keys(&(mouse(0, below, 'M') + &mouse(0, below, 'm')));
    slug.wait_for("line 79");
    slug.wait_for_no("more below");
}

#[test]
fn a_drag_hands_the_source_to_the_terminal_and_says_so() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let words = "words enough to be wrapped on a screen of a hundred columns ".repeat(3);
    let text = format!("Some **bold** text, {words}and the end.");
    let mut slug = answered(&env, &server, &text, "the end.");
    let (from, to) = (find(&slug, "bold"), find(&slug, "end."));
    let to = (to.0 + 3, to.1);
    slug.keys(&mouse(0, from, 'M'));
    slug.keys(&mouse(32, to, 'M'));
    slug.keys(&mouse(0, to, 'm'));
    let wanted = text.strip_prefix("Some ").unwrap();
    slug.wait_for_raw("the source by OSC 52", |_| copied(&slug).as_deref() == Some(wanted));
    // Which clipboard took it depends on the machine.
    slug.wait_for(": the selection");
    let screen = slug.screen();
    let told = ["Sent to the terminal", "Copied"];
    assert!(told.iter().any(|told| screen.contains(told)), "{screen}");
    if screen.contains("clipboard.txt") {
        let kept = std::fs::read_to_string(env.slug_home().join("clipboard.txt")).unwrap();
        assert_eq!(kept, wanted);
    }
}

#[test]
fn a_text_too_long_for_the_terminal_is_kept_in_a_file() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let text: String = (0..8_000).map(|number| format!("0123456789 {number} ")).collect();
    server.reply(ServerReply::text(&text));
    let start = PtySlug::at(&env, 100, 30).server(&server);
    // Over ssh the system's clipboard belongs to the other machine.
    let mut slug = start.env("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22").open();
    slug.wait_for("test-model");
    slug.say("go on");
    slug.wait_until("the answer", |screen| {
        screen.contains("0123456789") && !screen.contains("esc stop")
    });
    slug.keys("/copy\r");
    slug.wait_for("Too long for the terminal: saved in");
    assert!(copied(&slug).is_none());
    let kept = std::fs::read_to_string(env.slug_home().join("clipboard.txt")).unwrap();
    assert_eq!(kept.trim(), text.trim());
}

#[test]
fn a_search_finds_what_is_above_and_goes_back() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let text: String = (0..80).map(|n| format!("line {n}\n\n")).collect();
    let mut slug = answered(&env, &server, &text, "line 79");
    slug.keys("\x06line 7\x1b[A");
    slug.wait_for("10 of 11");
    slug.keys("\x1b[B\x1b[B");
    slug.wait_for("1 of 11");
    slug.wait_for("line 8");
    slug.keys("\x1b");
    slug.wait_for("line 79");
    slug.wait_for_no("of 11");
}

#[test]
fn the_end_of_the_transcript_stays_in_the_terminal() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let mut slug = answered(&env, &server, "An answer with **weight**.", "weight");
    slug.keys("/quit\r");
    assert!(slug.wait().success());
    slug.wait_for_raw("the end behind the other screen", |raw| {
        let (_, after) = raw.rsplit_once("\x1b[?1049l").unwrap_or_default();
        let order =
            ["go on", "An answer with ", "weight", "slug --resume"].map(|it| after.find(it));
        order.iter().all(Option::is_some) && order.is_sorted()
    });
}

#[test]
fn nothing_stays_if_nothing_is_wanted() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("config.toml", "[ui]\nleave = \"nothing\"\n");
    let mut slug = answered(&env, &server, "An answer.", "An answer.");
    slug.keys("/quit\r");
    assert!(slug.wait().success());
    slug.wait_for_raw("how to go on", |raw| raw.contains("slug --resume"));
    let raw = slug.raw();
    let (_, after) = raw.rsplit_once("\x1b[?1049l").unwrap();
    assert!(!after.contains("An answer."), "{after:?}");
}
