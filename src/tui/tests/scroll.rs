//! Tests of the view's position, of folding, and of selecting.

use serde_json::json;

use crate::agent::AgentEvent;
use crate::domain::ContentBlock;
use crate::tui::app::conversation::scroll::ScrollAnchor;
use crate::tui::test_screen::{
    TURN, TestScreen, assistant, call, done, recorded, result, screen, user,
};

/// A chat of forty answers with one numbered sentence each.
fn long() -> TestScreen {
    let log = (0..40).map(|number| {
        let words = "with words enough to be wrapped on a narrow screen".repeat(2);
        let text = format!("answer {number} {words}");
        recorded(&assistant(vec![ContentBlock::Text { text }]))
    });
    screen(80, 24).events(log)
}

fn top(scene: &TestScreen) -> String {
    scene.text().lines().nth(2).unwrap_or_default().trim_matches(['"', ' ', '▐']).to_owned()
}

#[test]
fn the_tail_is_followed_until_the_user_goes_up() {
    let scene = long().shows("answer 39").key("pgup").hides("answer 39").shows("more below");
    let before = top(&scene);
    let scene = scene
        .event(AgentEvent::TurnStarted { turn: TURN })
        .event(AgentEvent::Text { turn: TURN, text: "one\ntwo\nthree\n".into() });
    assert_eq!(top(&scene), before);
    scene.shows("4 new lines below").key("ctrl+end").shows("three").hides("below");
}

#[test]
fn going_down_to_the_tail_follows_it_again() {
    let scene = long().key("pgup").key("pgdn").key("pgdn");
    assert_eq!(scene.model.conversation.scroll.anchor, ScrollAnchor::Tail);
}

#[test]
fn the_place_survives_a_resize() {
    let scene = long().key("pgup").key("pgup").key("up").key("shift+up");
    let place = scene.model.conversation.scroll.anchor;
    let word = top(&scene);
    let scene = scene.resized(43, 24);
    assert_eq!(scene.model.conversation.scroll.anchor, place);
    assert!(word.starts_with(&top(&scene)), "{word} / {}", top(&scene));
    let scene = scene.resized(80, 24);
    assert_eq!(top(&scene), word);
}

#[test]
fn every_row_is_reached_by_lines() {
    let mut scene = long();
    let mut seen = 0;
    for _ in 0..200 {
        scene = scene.key_at_once("shift+up");
        seen += 1;
        if scene.text().contains("answer 0 ") {
            break;
        }
    }
    // 40 answers of two rows and a gap, less the last gap and the rows on screen.
    assert_eq!(seen, 40 * 3 - 1 - usize::from(scene.model.conversation.geometry.transcript.height));
}

#[test]
fn a_click_folds_a_pane() {
    let log = [
        user("look"),
        assistant(vec![ContentBlock::ToolUse(call("c1", "Read", json!({"file_path": "a.rs"})))]),
        result("c1", "the text of the file", done("Read", 3)),
    ];
    let scene = screen(80, 24).events(log.iter().map(recorded)).hides("the text of the file");
    let row = scene.text().lines().position(|line| line.contains("Read")).unwrap() as u16;
    let scene = scene.drag((5, row), (5, row)).shows("the text of the file").shows("▾ Read");
    scene.drag((5, row), (5, row)).hides("the text of the file");
}

#[test]
fn panes_fold_from_the_keyboard() {
    let log = [
        assistant(vec![ContentBlock::ToolUse(call("c1", "Read", json!({"file_path": "a.rs"})))]),
        result("c1", "the text of the file", done("Read", 3)),
    ];
    screen(80, 24)
        .events(log.iter().map(recorded))
        .key("tab")
        .shows("▎▸ Read")
        .shows("enter fold/unfold")
        .key("enter")
        .shows("the text of the file")
        .key("tab")
        .key("ctrl+o")
        .key("ctrl+o")
        .hides("the text of the file");
}

/// All panes open, all closed: the end of a conversation is followed before and after.
#[test]
fn folding_all_panes_at_the_end_keeps_following_it() {
    let body = (0..60).map(|at| format!("row {at}\n")).collect::<String>();
    let log = [
        user("look"),
        assistant(vec![ContentBlock::ToolUse(call("c1", "Read", json!({"file_path": "a.rs"})))]),
        result("c1", &body, done("Read", 3)),
    ];
    let text = |text: &str| AgentEvent::Text { turn: TURN, text: text.into() };
    let scene = screen(80, 24)
        .events(log.iter().map(recorded))
        .event(AgentEvent::TurnStarted { turn: TURN })
        .event(text("begun"))
        .key("ctrl+o")
        .key("ctrl+o")
        .event(text(&"\n\nmore".repeat(40)));
    assert_eq!(scene.model.conversation.scroll.anchor, ScrollAnchor::Tail);
    let scene = scene.event(text("\n\nthe end")).shows("the end").key("ctrl+o");
    scene.event(text("\n\nand more")).shows("and more");
}
