//! Tests of every kind of screen at every size: nothing panics, and nothing is drawn outside of the
//! screen.

use proptest::prelude::*;

use crate::agent::AgentEvent;
use crate::domain::ContentBlock;
use crate::tui::test_screen::{
    TURN, TestScreen, assistant, call, done, question, recorded, result,
};
use crate::tui::test_screen::{screen, user};

const TEXT: &str = "# A heading that is long\n\nSome prose with `code` and **more**, 漢字 and 👩‍👩‍👧.\n\n\
    - one\n  - two\n\n| a | b |\n|---|---|\n| cell | another cell |\n\n```rust\nfn main() {}\n```\n";

/// What may be open or running.
const SCENES: [fn(TestScreen) -> TestScreen; 9] = [
    |scene| scene,
    |scene| scene.types("a draft that wraps").key("alt+enter").types("and a second line"),
    said,
    |scene| said(scene).event(AgentEvent::TurnStarted { turn: TURN }).event(streamed()),
    |scene| {
        said(scene)
            .event(AgentEvent::TurnStarted { turn: TURN })
            .event(question(1, "rm -rf build/"))
    },
    |scene| said(scene).key("?"),
    |scene| said(scene).key("ctrl+b"),
    |scene| said(scene).types("/").key("down"),
    |scene| said(scene).key("ctrl+p").types("s"),
];

fn said(scene: TestScreen) -> TestScreen {
    let calls =
        vec![ContentBlock::ToolUse(call("c1", "Read", serde_json::json!({"file_path": "a.rs"})))];
    let records = [
        user("what is this?"),
        assistant(calls),
        result("c1", &"a line of output\n".repeat(50), done("Read", 3)),
        assistant(vec![ContentBlock::Text { text: TEXT.repeat(3) }]),
    ];
    records.iter().fold(scene, |scene, record| scene.event(recorded(record)))
}

fn streamed() -> AgentEvent {
    AgentEvent::Text { turn: TURN, text: TEXT.into() }
}

fn sizes() -> impl Strategy<Value = (u16, u16)> {
    let odd = prop_oneof![
        Just((0, 0)),
        Just((1, 1)),
        Just((0, 24)),
        Just((80, 0)),
        Just((20, 5)),
        Just((500, 200))
    ];
    prop_oneof![1 => odd, 4 => (0_u16..130, 0_u16..50)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_scene_stands_any_change_of_size(
        scene in 0..SCENES.len(),
        first in sizes(),
        then in prop::collection::vec(sizes(), 1..6),
    ) {
        let mut shown = SCENES[scene](screen(first.0, first.1));
        for (width, height) in then {
            shown = shown.resized(width, height).event(streamed()).key("pgup").key("esc");
        }
        shown = shown.resized(100, 30);
        prop_assert!(shown.text().contains('❯') || shown.text().contains('│'), "{}", shown.text());
    }
}
