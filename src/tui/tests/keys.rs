//! Tests of rebound keys, key sequences, and the places that name keys.

use std::time::Duration;

use crate::agent::AgentCommand;
use crate::config::KeyPreset;
use crate::domain::ContentBlock;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::focus::KeyboardFocus;
use crate::tui::app::wake_at;
use crate::tui::test_screen::{TestScreen, assistant, question, recorded, screen};

const SEQUENCE: &str = "[chat]\nsessions = [\"ctrl+t s\", \"f2\"]\npalette = \"ctrl+t p\"\n";

fn bound() -> TestScreen {
    screen(80, 24).keys(KeyPreset::Default, SEQUENCE)
}

fn answers() -> TestScreen {
    let log = (0..40).map(|number| {
        recorded(&assistant(vec![ContentBlock::Text { text: format!("answer {number}") }]))
    });
    screen(80, 24).events(log)
}

#[test]
fn a_sequence_shows_how_it_can_go_on() {
    let scene =
        bound().key("ctrl+t").shows("ctrl+t …").shows("s sessions").shows("p command palette");
    let scene = scene.key_at_once("s").hides("ctrl+t …");
    assert_eq!(scene.model.conversation.focus, KeyboardFocus::Sidebar);
}

#[test]
fn a_sequence_is_forgotten_after_a_second() {
    let scene = bound().key("ctrl+t");
    assert_eq!(wake_at(&scene.model), Some(scene.model.shared.now + Duration::from_secs(1)));
    let scene = scene.after(1000).hides("ctrl+t …");
    assert_eq!(wake_at(&scene.model), None);
    assert_eq!(scene.key_at_once("s").model.conversation.composer.expanded(), "s");
}

#[test]
fn escape_ends_a_sequence_and_nothing_else() {
    let scene = bound().types("draft").key("ctrl+t").key_at_once("esc").hides("ctrl+t …");
    assert_eq!(scene.model.shared.toast, None);
    assert_eq!(scene.model.conversation.composer.expanded(), "draft");
}

#[test]
fn a_key_that_does_not_go_on_with_a_sequence_says_so_and_types_nothing() {
    let scene = bound().key("ctrl+t").key_at_once("q").shows("ctrl+t q does nothing here");
    assert!(scene.model.conversation.composer.is_empty());
}

#[test]
fn what_works_everywhere_works_within_a_sequence() {
    let scene = bound().types("draft").key("ctrl+t").key_at_once("ctrl+c");
    assert!(scene.model.conversation.composer.is_empty());
}

#[test]
fn the_last_line_the_help_and_the_palette_name_the_keys_that_hold() {
    let scene = bound().resized(120, 40).shows("ctrl+t s sessions").key("?");
    let scene =
        scene.shows("ctrl+t s sessions").key("?").types("past session").shows("ctrl+t s  f2");
    let scene = scene.key("esc").key("ctrl+t").key_at_once("p").types("help").shows("f1");
    scene.key("esc").keys(KeyPreset::Default, "[empty-input]\nhelp = []\n").shows("sessions");
}

#[test]
fn the_dialog_names_the_keys_that_hold() {
    let scene = screen(100, 30).keys(KeyPreset::Default, "[approval]\nonce = \"ctrl+y\"\n");
    let scene = scene.event(question(1, "rm -rf build/")).after(500).shows("ctrl+y  Yes");
    let is_answer = |effect: &ScreenEffect| {
        matches!(effect, ScreenEffect::Agent(_, AgentCommand::Answer { .. }))
    };
    let scene = scene.key("y").shows("❯ y");
    assert!(!scene.effects.iter().any(is_answer), "y is no answer any more");
    assert!(scene.after(500).key("ctrl+y").effects.iter().any(is_answer));
}

#[test]
fn the_palette_has_the_actions_of_the_place_and_does_them() {
    let scene = answers().key("tab").key("ctrl+p").types("copy the text").shows("❯ copy the text");
    let copied = ScreenEffect::Copy { text: "answer 39".into(), what: "the pane" };
    scene.clear_effects().key("enter").expect_effects(&[copied]);
    screen(80, 24).key("ctrl+p").types("copy the text").shows("Nothing matches");
}

#[test]
fn the_palette_writes_the_sign_of_an_action() {
    let scene = screen(80, 24).key("ctrl+p").types("run a shell").key("enter");
    assert_eq!(scene.model.conversation.composer.expanded(), "!");
}

#[test]
fn vi_hands_move_in_the_transcript() {
    let scene = answers().keys(KeyPreset::Vi, "").key("tab").hides("answer 0");
    let scene =
        scene.key("g").shows("g …").key_at_once("g").shows("answer 0").key("G").shows("answer 39");
    let scene = scene.clear_effects().key("y").key_at_once("y");
    let copied = ScreenEffect::Copy { text: "answer 39".into(), what: "the pane" };
    scene
        .expect_effects(&[copied])
        .key("ctrl+b")
        .hides("answer 39")
        .key("ctrl+f")
        .shows("answer 39");
}

#[test]
fn emacs_hands_move_in_the_transcript_and_the_input() {
    let scene = answers().keys(KeyPreset::Emacs, "").key("alt+<").shows("answer 0");
    let scene = scene.key("alt+>").shows("answer 39").key("alt+v").hides("answer 39");
    let scene = scene.types("ab").key("ctrl+b").key("ctrl+b").types("c");
    assert_eq!(scene.model.conversation.composer.expanded(), "cab");
}

#[test]
fn letters_of_a_sequence_are_typed_where_text_is_typed() {
    let scene = screen(80, 24).keys(KeyPreset::Vi, "").types("ggyy{}");
    assert_eq!(scene.model.conversation.composer.expanded(), "ggyy{}");
    assert_eq!(scene.model.shared.pending, None);
}
