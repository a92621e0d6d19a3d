//! Tests of vi keys in the input: which keys are left to the rest of the screen, and what is shown
//! of the mode.

use crate::agent::{AgentCommand, AgentEvent};
use crate::tui::app::conversation::composer::{CaretShape, EditingMode};
use crate::tui::app::{ScreenEffect, ScreenMsg};
use crate::tui::test_screen::{AGENT, TURN, TestScreen, screen};

fn vi() -> TestScreen {
    let mut scene = screen(80, 24);
    scene.model.conversation.composer.set_typing(EditingMode::Vi);
    scene.after(1)
}

fn text(scene: &TestScreen) -> String {
    scene.model.conversation.composer.editor.text()
}

#[test]
fn the_mode_is_shown_in_the_last_line_and_by_the_cursor() {
    let scene = vi().shows("INSERT").types("one two");
    assert_eq!(scene.model.caret_shape(), CaretShape::Bar);
    let scene = scene.key("esc").shows("NORMAL  ask   i insert");
    assert_eq!((scene.model.caret_shape(), scene.caret()), (CaretShape::Block, (9, 21)));
    let scene = scene.types("2d").shows("NORMAL 2d");
    assert_eq!(scene.model.caret_shape(), CaretShape::Underline);
    let scene = scene.key("esc").types("vb").shows("VISUAL").types("d");
    assert_eq!(text(&scene), "one ");
}

#[test]
fn escape_leaves_insert_mode_before_it_stops_the_turn() {
    vi().event(AgentEvent::TurnStarted { turn: TURN })
        .types("a")
        .clear_effects()
        .key_at_once("esc")
        .expect_effects(&[])
        .shows("NORMAL")
        .key_at_once("esc")
        .expect_effects(&[ScreenEffect::CancelTurn(AGENT)]);
}

#[test]
fn enter_sends_in_normal_mode_and_the_next_text_is_typed() {
    let scene =
        vi().types("hello").key_at_once("esc").clear_effects().key_at_once("enter").expect_effects(
            &[
                ScreenEffect::AddHistory("hello".into()),
                ScreenEffect::Agent(AGENT, AgentCommand::Send { text: "hello".into() }),
            ],
        );
    assert_eq!(text(&scene.shows("INSERT").types("x")), "x");
}

#[test]
fn j_and_k_reach_the_history_at_the_edge() {
    let scene = vi().types("new").key("esc").types("0D").types("k");
    assert_eq!(text(&scene), "run the tests");
    assert_eq!(text(&scene.types("j")), "");
}

#[test]
fn signs_at_the_beginning_of_an_empty_input_mean_what_they_mean_everywhere() {
    vi().key("esc").types("/").shows("INSERT").shows("/sessions");
    vi().key("esc").types("?").shows("all keys, to search");
}

#[test]
fn no_list_opens_under_commands_of_vis() {
    let scene = vi().types("/mod").shows("switch the model").key("esc").key("esc");
    scene.hides("switch the model").types("h").hides("switch the model").shows("NORMAL");
}

#[test]
fn a_command_turns_it_on_and_off() {
    let on =
        screen(80, 24).msg(ScreenMsg::Paste("/vi on".into())).key("enter").shows("Vi keys are on");
    let off = on.after(5000).shows("INSERT").msg(ScreenMsg::Paste("/vi off".into())).key("enter");
    off.after(5000).hides("INSERT");
    screen(80, 24).types("/vi o").shows("use vi keys");
}
