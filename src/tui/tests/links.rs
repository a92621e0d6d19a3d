//! Tests of links in the model's text, from the text to the cells of the screen.

use crate::domain::ContentBlock;
use crate::tui::test_screen::{TestScreen, assistant, question, recorded, screen};

fn said(text: &str) -> TestScreen {
    let text = ContentBlock::Text { text: text.into() };
    screen(60, 16).event(recorded(&assistant(vec![text])))
}

#[test]
fn the_cells_of_a_link_lead_to_its_address() {
    let scene = said("See [the docs](https://docs.example/) of it.");
    assert_eq!(
        scene.links(),
        [("the docs", "https://docs.example/"), ("https://docs.example/", "https://docs.example/")]
            .map(|(text, address)| (text.to_owned(), address.to_owned()))
    );
}

#[test]
fn a_link_under_a_dialog_cannot_be_clicked() {
    let rows = "https://a.example/x\n\n".repeat(8);
    let open = said(&rows).links().len();
    let covered = said(&rows).event(question(1, "cargo test")).links();
    assert!(covered.len() < open, "{covered:?}");
    assert!(covered.iter().all(|(text, _)| text.starts_with("https")), "{covered:?}");
}
