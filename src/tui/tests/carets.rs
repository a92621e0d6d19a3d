//! Tests that the terminal's cursor stands at the caret of every text field, so that an input
//! method opens its window there.

use crate::tui::test_screen::{TestScreen, question, screen};

use super::pager::{numbered, ran};
use super::sessions::listed;

/// Opens a text field and types into it.
type FieldOpener = fn((u16, u16)) -> TestScreen;

fn asked((width, height): (u16, u16)) -> TestScreen {
    screen(width, height).event(question(1, "git status && rm -rf build/")).after(400)
}

const FIELDS: &[(&str, FieldOpener)] = &[
    ("the input", |(width, height)| screen(width, height)),
    ("a rule", |size| asked(size).key("a").key("ctrl+u")),
    ("a command", |size| asked(size).key("e").key("ctrl+u")),
    ("an instruction", |size| asked(size).key("t")),
    ("a new title", |(width, height)| listed(width, height).key("r").key("ctrl+u")),
    ("the filter of the sessions", |(width, height)| listed(width, height).key("/")),
    ("the filter of a list", |(width, height)| screen(width, height).key("ctrl+p")),
    ("the filter of the history", |(width, height)| screen(width, height).key("ctrl+r")),
    ("the search", |(width, height)| screen(width, height).key("ctrl+f")),
    ("the pager's search", |(width, height)| ran(width, height, &numbered(300), None).key("/")),
];

#[test]
fn the_cursor_stands_at_the_caret_of_each_field() {
    for (name, opens) in FIELDS {
        for size in [(40, 12), (80, 24), (120, 40)] {
            let scene = opens(size).types("日ab").key("left");
            let (before, under) = scene.around_caret();
            let at = (before.ends_with("a"), under.as_str());
            assert_eq!(at, (true, "b"), "{name} at {size:?}: {before:?}\n{}", scene.text());
            let (before, under) = scene.key("end").around_caret();
            let at = (before.ends_with("ab"), under.as_str());
            assert_eq!(at, (true, " "), "{name} at {size:?}, at the end: {before:?}");
        }
    }
}

#[test]
fn the_caret_stays_in_sight_in_a_text_longer_than_its_field() {
    for (name, opens) in FIELDS {
        let scene = opens((80, 24)).types(&"0123456789".repeat(12)).types("xyz").key("left");
        let (before, under) = scene.around_caret();
        let at = (before.ends_with("y"), under.as_str());
        assert_eq!(at, (true, "z"), "{name}: {before:?}\n{}", scene.text());
    }
}
