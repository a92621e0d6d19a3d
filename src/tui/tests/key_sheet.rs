//! Tests of the sheet of keys, and of the list of all keys.

use std::sync::Arc;

use crate::config::KeyPreset;
use crate::tui::app::keymap::{ChatKey, KeyChord, KeyContext, KeyPlace, Keymap, TerminalKeys};
use crate::tui::test_screen::{TestScreen, recorded, screen, user};

/// A screen in a terminal that sends only what every terminal sends, under a multiplexer.
fn in_tmux() -> TestScreen {
    let mut scene = screen(80, 24);
    let prefix: Option<KeyChord> = "ctrl+b".parse().ok();
    let terminal = TerminalKeys { extended: false, prefix, taken: None };
    let mut keys = Keymap::default();
    keys.show_only(|keys| keys.is_sent_by(&terminal));
    scene.model.shared.settings.keys = Arc::new(keys);
    scene
}

#[test]
fn the_sheet_at_120x40() {
    insta::assert_snapshot!(screen(120, 40).key("?").readable_text());
}

#[test]
fn a_narrow_screen_has_fewer_columns() {
    insta::assert_snapshot!(screen(60, 30).key("?").readable_text());
    let narrow = screen(40, 12).key("?").shows("Type").hides("Act");
    narrow.key("end").shows("all keys, to search").hides("Type ");
}

#[test]
fn the_keys_of_the_present_place_come_first() {
    let panes = screen(80, 24).event(recorded(&user("first"))).key("tab").key("?");
    insta::assert_snapshot!(panes.readable_text());
    screen(120, 30).key("ctrl+b").key("?").shows("rename").shows("all projects");
}

#[test]
fn the_sheet_has_about_25_keys_each_in_few_words() {
    let scene = screen(80, 24).key("?").text();
    let keys = Keymap::default();
    let on_sheet = |context| keys.rows(context).iter().filter_map(|row| row.sheet);
    for (_, words) in KeyContext::ALL.into_iter().flat_map(on_sheet) {
        assert!(words.len() <= 12, "{words}");
    }
    let rows = KeyPlace::EmptyInput.listed().flat_map(on_sheet);
    let count = rows.filter(|(_, words)| scene.contains(words)).count();
    assert!((24..=28).contains(&count), "{count}\n{scene}");
}

#[test]
fn only_keys_that_the_terminal_sends_are_on_the_sheet_and_in_the_list() {
    let sheet = in_tmux().key("?").hides("shift+enter").hides("ctrl+b");
    let sheet = sheet.shows("alt+enter").shows("alt+s");
    let list = sheet.key("?").types("past session").shows("alt+s").hides("ctrl+b");
    list.key("esc").hides("ctrl+b");
}

#[test]
fn the_same_key_again_lists_all_keys_with_a_filter() {
    let list = screen(80, 24).key("?").key("?").shows("All keys").shows("type to filter");
    insta::assert_snapshot!(list.types("fold").readable_text());
}

#[test]
fn a_key_is_found_by_its_name_and_by_what_it_is() {
    let list = || screen(100, 30).key("?").key("?");
    list().types("ctrl+k").shows("delete to the end of the line");
    list().types("rewind.files").shows("Rewind");
    list().types("wheel").shows("Mouse");
    list().types("new line in every").shows("\\ enter");
}

#[test]
fn a_chosen_key_does_what_it_does_or_says_where_it_works() {
    let sessions = screen(80, 24).key("?").key("?").types("open a past session").key("enter");
    sessions.hides("All keys").shows("Sessions");
    let elsewhere = screen(80, 24).key("?").key("?").types("fork the session after").key("enter");
    elsewhere.shows("This key works only in: Panes.");
}

#[test]
fn a_rebound_key_is_on_the_sheet() {
    let bound = screen(80, 24).keys(KeyPreset::Default, "[chat]\nsessions = \"f2\"\n");
    assert_eq!(bound.model.shared.settings.keys.key(ChatKey::Sessions), "f2");
    bound.key("?").shows("f2").hides("ctrl+b");
}
