//! Tests of searching the transcript, and of the caret in it.

use serde_json::json;

use crate::agent::AgentEvent;
use crate::domain::{ContentBlock, ToolDisplay};
use crate::session::ToolResultInfo;
use crate::tui::app::ScreenEffect;
use crate::tui::app::conversation::scroll::ScrollAnchor;
use crate::tui::app::focus::KeyboardFocus;
use crate::tui::test_screen::{
    TURN, TestScreen, assistant, call, done, recorded, result, screen, user,
};

/// Forty answers, a folded read with one line that says `needle`, and a last answer.
fn talk() -> TestScreen {
    let said = |text: String| assistant(vec![ContentBlock::Text { text }]);
    let file: String =
        (0..60).map(|n| format!("{}\n", if n == 40 { "a needle here" } else { "hay" })).collect();
    let log = (0..20)
        .map(|number| said(format!("answer {number} says Apple, apple")))
        .chain([
            assistant(vec![ContentBlock::ToolUse(call(
                "c1",
                "Read",
                json!({"file_path": "a.rs"}),
            ))]),
            result("c1", &file, done("Read", 3)),
        ])
        .chain((20..40).map(|number| said(format!("answer {number} says Apple, apple"))));
    screen(80, 24).events(log.map(|record| recorded(&record)))
}

fn line(scene: &TestScreen, text: &str) -> Option<usize> {
    scene.text().lines().position(|line| line.contains(text))
}

#[test]
fn matches_are_counted_and_gone_through() {
    let scene = talk().key("ctrl+f").shows("type to search").types("apple").after(20);
    let scene = scene.shows("/ apple").shows("80 of 80").key("up").shows("79 of 80");
    let scene = scene.key("down").key("down").shows("1 of 80").shows("answer 0 says");
    let scene = scene.key("enter").shows("n next").key("N").shows("80 of 80");
    let scene = scene.key("n").key("n").shows("2 of 80");
    let scene = scene.key("esc").hides("of 80").shows("answer 0 says");
    assert!(matches!(scene.model.conversation.focus, KeyboardFocus::Pane(_)));
}

#[test]
fn a_capital_makes_it_exact_and_an_expression_is_read_on_request() {
    let scene = talk().key("ctrl+f").types("Apple").after(20).shows("40 of 40");
    let scene = scene.key("ctrl+u").types("answer 1[0-3]").after(20).shows("no match");
    let scene = scene.key("alt+r").after(20).shows("4 of 4").shows("regex on");
    let scene = scene.types("(").shows("unclosed group").key("backspace").after(20);
    scene.shows("4 of 4");
}

#[test]
fn escape_goes_back_to_where_one_was() {
    let scene = talk().key("pgup").key("pgup");
    let (anchor, text) = (scene.model.conversation.scroll.anchor, scene.text());
    let scene = scene.key("ctrl+f").types("answer 2 ").after(20).shows("answer 2 says");
    assert_ne!(scene.model.conversation.scroll.anchor, anchor);
    let scene = scene.key("esc");
    assert_eq!((scene.model.conversation.scroll.anchor, scene.text()), (anchor, text));
    let scene = talk().key("ctrl+f").types("answer 2 ").after(20).key("esc").shows("answer 39");
    assert_eq!(scene.model.conversation.scroll.anchor, ScrollAnchor::Tail);
}

#[test]
fn a_folded_pane_is_open_while_the_search_stands_in_it() {
    let scene = talk().key("ctrl+f").types("needle").after(20);
    let scene = scene.shows("1 of 1").shows("a needle here");
    let row = line(&scene, "a needle here").unwrap();
    assert!((4..18).contains(&row), "the match has lines around it\n{}", scene.text());
    // The pane folds again once the current match is elsewhere.
    let scene = scene.key("ctrl+u").types("answer 19").after(20).shows("▸ Read");
    let scene = scene.key("ctrl+u").types("needle").after(20).shows("a needle here").key("esc");
    scene.key("ctrl+f").types("answer 19").after(20).shows("▸ Read");
}

#[test]
fn escape_after_enter_ends_the_search_and_keeps_the_place() {
    let found = talk().key("ctrl+f").types("needle").after(20).key("enter").shows("1 of 1");
    let (anchor, above) = (found.model.conversation.scroll.anchor, line(&found, "a needle here"));
    let scene = found.key("esc").hides("1 of 1");
    assert_eq!(line(&scene, "a needle here"), above);
    assert_eq!(scene.model.conversation.scroll.anchor, anchor);
    assert!(matches!(scene.model.conversation.focus, KeyboardFocus::Pane(_)));
    // From here escape does what it does without a search: to the input, then back to a message.
    let scene = scene.key("esc");
    assert_eq!(scene.model.conversation.focus, KeyboardFocus::Input);
    assert_eq!(line(&scene, "a needle here"), above);
    scene.key("esc").shows("again to rewind");
}

#[test]
fn a_match_in_a_call_among_others_stays_in_sight_after_escape() {
    let calls = ["a", "b", "c"].map(|id| {
        let file = format!("{id}.rs");
        ContentBlock::ToolUse(call(id, "Read", json!({"file_path": file})))
    });
    let texts = ["one", "a needle here", "three"];
    let results = ["a", "b", "c"].into_iter().zip(texts);
    let scene = screen(80, 24).event(recorded(&assistant(calls.to_vec())));
    let scene = results
        .fold(scene, |scene, (id, text)| scene.event(recorded(&result(id, text, done("Read", 1)))));
    let end = assistant(vec![ContentBlock::Text { text: "line\n\n".repeat(40) }]);
    let scene = scene.event(recorded(&end)).key("ctrl+f").types("needle").after(20);
    let scene = scene.key("enter").shows("a needle here").key("esc").shows("a needle here");
    scene.key("esc").shows("a needle here").hides("1 of 1");
}

/// A call whose output has a thousand lines; line 500 says `needle` twice.
fn long_output() -> TestScreen {
    let text = |n: usize| match n {
        500 => "a needle, and another needle\n".to_owned(),
        n => format!("line {n}\n"),
    };
    let output: String = (0..1000).map(text).collect();
    let log = [
        assistant(vec![ContentBlock::ToolUse(call("c1", "Bash", json!({"command": "seq"})))]),
        result("c1", &output, done("Bash", 3)),
        assistant(vec![ContentBlock::Text { text: "That was all.".into() }]),
    ];
    screen(80, 24).events(log.map(|record| recorded(&record)))
}

#[test]
fn enter_opens_the_pager_at_a_match_that_is_left_out() {
    let scene = long_output().key("ctrl+f").types("needle").after(20);
    let scene = scene.shows("2 of 2, not on screen: enter opens it").key("enter");
    let scene = scene.shows("a needle, and another needle").shows("line 499").shows("2 of 2");
    let scene = scene.key("N").shows("1 of 2");
    // Back in the transcript the same match is current.
    scene
        .key("esc")
        .hides("line 499")
        .shows("2 of 2, not on screen")
        .key("enter")
        .shows("line 499");
}

#[test]
fn enter_folds_the_pane_of_a_match_that_is_shown() {
    let scene = talk().key("ctrl+f").types("needle").after(20).key("enter").key("enter");
    scene.shows("▸ Read").hides("a needle here");
}

#[test]
fn text_that_streams_during_a_search_is_found_too() {
    let scene = talk().key("ctrl+f").types("pear").after(20).shows("no match");
    let scene = scene
        .event(AgentEvent::TurnStarted { turn: TURN })
        .event(AgentEvent::Text { turn: TURN, text: "a pe".into() })
        .after(20)
        .event(AgentEvent::Text { turn: TURN, text: "ar and a pear".into() })
        .after(20)
        .after(20);
    scene.shows("of 2");
}

#[test]
fn pasted_text_is_looked_for() {
    let scene =
        talk().key("ctrl+f").msg(crate::tui::app::ScreenMsg::Paste("needle".into())).after(20);
    scene.shows("/ needle").shows("1 of 1");
}

/// A screen with the caret on the first character of an answer.
fn caret(text: &str) -> TestScreen {
    let log = [user("hi"), assistant(vec![ContentBlock::Text { text: text.into() }])];
    screen(40, 16).events(log.iter().map(recorded)).key("tab").key("v")
}

#[test]
fn the_caret_selects_by_characters_words_and_rows() {
    for (keys, wanted) in [
        ("v l l y", "The"),
        ("w v w y", "quick b"),
        ("w v e y", "q"),
        ("v $ y", "The quick brown fox jumps over the"),
        ("j v 0 $ y", "lazy dog and goes on"),
        ("shift+right shift+right enter", "The"),
        ("l v h y", "Th"),
        ("V y", "The quick brown fox jumps over the lazy dog and goes on"),
        ("y", "The quick brown fox jumps over the lazy dog and goes on"),
        ("w w b v l l l l y", "quick"),
    ] {
        let text = "The quick brown fox jumps over the lazy dog and goes on\n\nnext";
        let mut scene = caret(text).clear_effects();
        for key in keys.split(' ') {
            scene = scene.key(key);
        }
        let copied = ScreenEffect::Copy { text: wanted.into(), what: "the selection" };
        assert_eq!(scene.effects.pop_front(), Some(copied), "{keys}\n{}", scene.text());
        assert!(matches!(scene.model.conversation.focus, KeyboardFocus::Pane(_)));
    }
}

#[test]
fn the_caret_goes_beyond_the_screen() {
    let text: String = (0..60).map(|n| format!("line {n}\n\n")).collect();
    let mut scene = caret(&text).key("G").after(20).key("$").key("v");
    for _ in 0..30 {
        scene = scene.key("up").after(20).after(20);
    }
    let scene = scene.clear_effects().key("y");
    let Some(ScreenEffect::Copy { text, .. }) = scene.effects.front() else {
        panic!("nothing copied")
    };
    assert!(text.starts_with("9\n\nline 30") && text.ends_with("line 59"), "{text}");
    let mut scene = scene.key("v").key("g").after(20).after(20).key("V").clear_effects();
    scene = scene.key("y");
    let copied = ScreenEffect::Copy { text: "hi".into(), what: "the selection" };
    assert_eq!(scene.effects.pop_front(), Some(copied));
}

#[test]
fn the_caret_leaves_in_two_steps() {
    let scene = caret("some text").key("v").key("l");
    assert!(scene.model.conversation.selection.is_some());
    let scene = scene.key("esc");
    assert!(
        scene.model.conversation.selection.is_none()
            && matches!(scene.model.conversation.focus, KeyboardFocus::Caret(_))
    );
    let scene = scene.key("esc");
    assert!(matches!(scene.model.conversation.focus, KeyboardFocus::Pane(_)));
}

#[test]
fn coloured_output_is_copied_without_its_colours() {
    let display = ToolDisplay::Terminal { text: "\x1b[32mall\x1b[0m good\n".into() };
    let info = ToolResultInfo { display: Some(display), ..done("Bash", 3) };
    let log = [
        assistant(vec![ContentBlock::ToolUse(call("c1", "Bash", json!({"command": "true"})))]),
        result("c1", "ok", info),
    ];
    let scene = screen(60, 16).events(log.iter().map(recorded));
    let mut scene = scene.key("tab").key("v").key("j").clear_effects().key("y");
    let copied = ScreenEffect::Copy { text: "all good".into(), what: "the selection" };
    assert_eq!(scene.effects.pop_front(), Some(copied));
}
