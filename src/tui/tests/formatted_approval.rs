//! Tests of the approval dialog for a change that a formatter has had a part in.

use crate::domain::FileDiff;
use crate::tui::test_screen::TestScreen;

use super::rename_approval::asked_about;

/// A formatted change, asked about on a screen of this size.
fn asked(width: u16, height: u16) -> TestScreen {
    let path = "/home/me/src/webshop/src/cart.rs";
    let diff = FileDiff {
        formatted_by: Some("rustfmt".into()),
        ..FileDiff::between(path, "let a=1;\nlet b = 2;\n", "let a = 1;\nlet b = 3;\n")
    };
    let input = serde_json::json!({"file_path": path, "old_string": "2", "new_string": "3"});
    asked_about((width, height), ("Edit", input), vec![diff])
}

#[test]
fn the_question_says_who_has_made_the_text() {
    for (width, height) in [(80, 24), (120, 40), (40, 12)] {
        let scene = asked(width, height).shows("Change src/cart.rs?");
        let scene = scene.shows("Formatted by rustfmt");
        insta::assert_snapshot!(format!("formatted_{width}x{height}"), scene.readable_text());
    }
}
