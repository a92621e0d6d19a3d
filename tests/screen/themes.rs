//! Themes on a real terminal: its reply about the background arrives among the keys; and `/theme`.

use std::fs;

use slug_code::platform::terminal::END_UPDATE;
use slug_code::platform::terminal_background::QUESTION;

use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::terminal::{PtySlug, key};
use crate::support::test_env::TestEnv;

/// The reply of a light terminal.
const LIGHT: &str = "\x1b]11;rgb:fdfd/f6f6/e3e3\x1b\\";
/// The prompt's colour, in slug's dark theme and in its light one.
const DARK_CYAN: &str = "38;2;111;208;220";
const LIGHT_CYAN: &str = "38;2;0;100;118";

fn start(env: &TestEnv, server: &ModelServer) -> PtySlug {
    let start = PtySlug::at(env, 100, 30).server(server);
    let mut slug = start.env("COLORTERM", "truecolor").open();
    slug.wait_for("test-model");
    slug.wait_for_raw("question", |raw| raw.contains(QUESTION));
    slug
}

fn is_light(slug: &PtySlug) {
    slug.wait_for_raw("light colour", |raw| raw.contains(LIGHT_CYAN));
}

#[test]
fn the_first_frame_waits_for_no_answer() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let slug = start(&env, &server);
    let raw = slug.raw();
    let frame = raw.find(END_UPDATE).unwrap();
    assert!(raw[..frame].contains(DARK_CYAN) && !raw[..frame].contains(QUESTION));
}

#[test]
fn a_light_terminal_gets_the_light_theme_and_no_key_is_lost_or_made_up() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Good morning."));
    let mut slug = start(&env, &server);
    slug.keys(&format!("hel{LIGHT}lo"));
    is_light(&slug);
    slug.wait_for("hello");
    slug.keys(key::ENTER);
    slug.wait_for("Good morning.");
    assert!(server.chat_requests()[0].body.to_string().contains("hello\""));
}

#[test]
fn an_answer_may_come_late_and_in_pieces() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Good morning."));
    let mut slug = start(&env, &server);
    slug.say("hello");
    slug.wait_for("Good morning.");
    slug.keys("draft");
    slug.wait_for("draft");
    for piece in LIGHT.chars() {
        slug.keys(&piece.to_string());
    }
    is_light(&slug);
    slug.keys("ed");
    slug.wait_for("drafted");
    assert!(!slug.screen().contains("rgb"), "{}", slug.screen());
}

#[test]
fn escape_is_escape_on_a_terminal_that_never_answers() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let mut slug = start(&env, &server);
    slug.keys("/the");
    slug.wait_for("change the colour theme");
    slug.keys(key::ESC);
    slug.wait_for_no("change the colour theme");
    slug.keys("]11;");
    slug.wait_for("/the]11;");
}

#[test]
fn a_question_before_the_chat_follows_the_background_too() {
    let env = TestEnv::new();
    env.write("SLUG.md", "Be brief.\n");
    let mut slug = PtySlug::at(&env, 100, 30).env("COLORTERM", "truecolor").open();
    slug.wait_for("Do you trust this folder?");
    slug.wait_for_raw("question", |raw| raw.contains(QUESTION));
    slug.keys(LIGHT);
    is_light(&slug);
}

#[test]
fn a_theme_is_chosen_from_the_list_and_kept() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("config.toml", "# mine\n[ui]\nmouse = false # no\n");
    env.write_home("themes/plum.toml", "background = \"#2a1a2e\"\n[palette]\ncyan = \"#abcdef\"\n");
    let mut slug = start(&env, &server);
    slug.keys("/theme");
    slug.wait_for("change the colour theme");
    slug.keys(key::ENTER);
    slug.wait_for("Themes");
    slug.keys("plum");
    // The list shows the theme before it is chosen: the screen's background, and the prompt.
    slug.wait_for_raw("plum", |raw| {
        raw.contains("48;2;42;26;46") && raw.contains("38;2;171;205;239")
    });
    slug.keys(key::ENTER);
    slug.wait_for("Theme: plum");
    let file = env.slug_home().join("config.toml");
    slug.wait_until("the theme in the file", |_| {
        fs::read_to_string(&file).unwrap() == "# mine\n[ui]\nmouse = false # no\ntheme = \"plum\"\n"
    });
    slug.quit();
    let start = PtySlug::at(&env, 100, 30).server(&server);
    let mut again = start.env("COLORTERM", "truecolor").open();
    again.wait_for("test-model");
    let raw = again.raw();
    assert!(raw.contains("48;2;42;26;46") && !raw.contains(QUESTION), "{raw:?}");
}
