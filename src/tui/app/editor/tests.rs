//! What keys do to a text, as tables: `|` is the caret.

use proptest::prelude::*;

use super::*;
use crate::tui::app::keymap::EditAction;

const WIDE: u16 = u16::MAX;

fn marked(text: &str) -> TextEditor {
    let caret = text.find('|').unwrap();
    let mut editor = TextEditor::with_text(EditorLines::Many, &text.replace('|', ""));
    editor.set_caret(caret);
    editor
}

fn with_mark(editor: &TextEditor) -> String {
    let mut text = editor.text();
    text.insert(editor.caret(), '|');
    text
}

/// A text with `|` for the caret, after the edits.
fn edited(text: &str, edits: &[EditAction], width: u16) -> String {
    let mut editor = marked(text);
    for edit in edits {
        editor.apply(*edit, width);
    }
    with_mark(&editor)
}

#[test]
fn keys_edit_the_text() {
    use EditAction::*;
    let rows: &[(&str, &[EditAction], &str)] = &[
        ("ab|", &[Left], "a|b"),
        ("|ab", &[Left], "|ab"),
        ("a|\nb", &[Right], "a\n|b"),
        ("x👩‍🚀|", &[Left], "x|👩‍🚀"),
        ("x👩‍🚀|y", &[Backspace], "x|y"),
        ("e\u{301}|", &[Backspace], "|"),
        ("|e\u{301}x", &[Delete], "|x"),
        ("🇩🇪|🇫🇷", &[Right], "🇩🇪🇫🇷|"),
        ("a\n|b", &[Backspace], "a|b"),
        ("|日本", &[Delete], "|本"),
        ("one two|", &[WordLeft], "one |two"),
        ("|one two", &[WordRight], "one| two"),
        ("one two  |", &[KillWordLeft], "one |"),
        ("one| two x", &[KillWordRight], "one| x"),
        ("a\nbc|d", &[KillHome], "a\n|d"),
        ("a\n|d", &[KillHome], "a|d"),
        ("a|bc\nd", &[KillEnd], "a|\nd"),
        ("a|\nd", &[KillEnd], "a|d"),
        ("a\nb|c", &[Home], "a\n|bc"),
        ("a\nb|c", &[End], "a\nbc|"),
        ("ab|", &[Backspace, Undo], "ab|"),
        ("ab|", &[Backspace, Undo, Redo], "a|"),
        ("ab|c", &[SelectLeft, SelectLeft, Delete], "|c"),
        ("|one two", &[SelectWordRight, Cut, End, Yank], " twoone|"),
        ("a\nb|", &[SelectAll, Backspace], "|"),
        ("ab|cd", &[SelectHome, Left], "|abcd"),
        ("ab|cd", &[SelectEnd, Right], "abcd|"),
    ];
    for (text, edits, want) in rows {
        assert_eq!(edited(text, edits, WIDE), *want, "{text} {edits:?}");
    }
}

#[test]
fn kills_in_a_row_are_one_and_older_ones_come_in_turn() {
    use EditAction::*;
    let rows: &[(&str, &[EditAction], &str)] = &[
        ("ab cd|", &[KillWordLeft, Home, Yank], "cd|ab "),
        ("a b c|", &[KillWordLeft, KillWordLeft, Yank], "a b c|"),
        ("|a b c", &[KillWordRight, KillWordRight, Yank], "a b| c"),
        ("a b|", &[KillWordLeft, Left, KillHome, End, Yank], " a|"),
        ("a b|", &[KillWordLeft, Left, KillHome, End, Yank, YankOlder], " b|"),
        ("a b|", &[KillWordLeft, Left, KillHome, End, Yank, YankOlder, YankOlder], " a|"),
        ("a b|", &[YankOlder], "a b|"),
    ];
    for (text, edits, want) in rows {
        assert_eq!(edited(text, edits, WIDE), *want, "{text} {edits:?}");
    }
}

#[test]
fn home_and_end_go_by_the_row_and_then_by_the_line() {
    use EditAction::*;
    // Wrapped at 8 columns: "one two ", "three fou", "r".
    let text = "one two thr|ee four";
    for (edits, want) in [
        (&[Home][..], "one two |three four"),
        (&[Home, Home], "|one two three four"),
        (&[End], "one two three four|"),
    ] {
        assert_eq!(edited(text, edits, 10), want, "{edits:?}");
    }
    assert_eq!(edited("on|e two three four", &[End], 8), "one two| three four");
    assert_eq!(edited("on|e two three four", &[End, End], 8), "one two three four|");
    assert_eq!(edited("ab|cdefghij", &[End], 4), "abc|defghij");
}

#[test]
fn kills_with_typing_or_a_new_text_between_them_do_not_join() {
    let mut editor = TextEditor::with_text(EditorLines::Many, "one");
    editor.apply(EditAction::KillHome, WIDE);
    editor.insert_char('x');
    editor.apply(EditAction::KillHome, WIDE);
    editor.apply(EditAction::Yank, WIDE);
    assert_eq!(editor.text(), "x");
    editor.apply(EditAction::KillHome, WIDE);
    editor.start_over("");
    editor.insert("two");
    editor.apply(EditAction::KillHome, WIDE);
    editor.apply(EditAction::Yank, WIDE);
    assert_eq!(editor.text(), "two");
}

#[test]
fn undo_removes_typing_word_by_word_and_restores_erased_text_at_once() {
    let mut editor = TextEditor::new(EditorLines::Many);
    for c in "one two".chars() {
        editor.insert_char(c);
    }
    editor.apply(EditAction::Undo, WIDE);
    assert_eq!(editor.text(), "one ");
    editor.apply(EditAction::Redo, WIDE);
    assert_eq!(editor.text(), "one two");
    for _ in 0..3 {
        editor.apply(EditAction::Backspace, WIDE);
    }
    editor.apply(EditAction::Undo, WIDE);
    assert_eq!(editor.text(), "one two");
}

#[test]
fn the_caret_moves_by_the_rows_of_the_screen() {
    let mut editor = TextEditor::with_text(EditorLines::Many, "one two three\nx");
    editor.set_caret(4);
    assert!(!editor.up(8));
    assert!(editor.down(8));
    assert_eq!(editor.caret(), 12);
    assert!(editor.down(8));
    assert_eq!(editor.caret(), 15);
    assert!(!editor.down(8));
}

#[test]
fn a_short_row_does_not_lose_the_column() {
    let mut editor = marked("abc|def\nx\nabcdef");
    editor.down(80);
    editor.down(80);
    assert_eq!(with_mark(&editor), "abcdef\nx\nabc|def");
}

#[test]
fn pasted_text_is_sanitized() {
    let text = |lines, text: &str| {
        let mut editor = TextEditor::new(lines);
        editor.paste(text);
        editor.text()
    };
    assert_eq!(text(EditorLines::Many, "a\r\nb\rc"), "a\nb\nc");
    assert_eq!(text(EditorLines::One, "a\r\nb"), "a b");
    assert_eq!(text(EditorLines::Many, "\u{1b}[31mred\u{1b}[0m\tx\u{7}\u{0}"), "red\tx");
}

#[test]
fn a_chip_is_one_character_to_every_key() {
    use EditAction::*;
    let long = "word\n".repeat(30);
    for edits in [&[Backspace][..], &[Left, Delete], &[KillWordLeft], &[SelectLeft, Cut]] {
        let mut editor = TextEditor::new(EditorLines::Many);
        editor.insert("a ");
        editor.paste(&long);
        assert_eq!(editor.text().chars().count(), 3);
        assert_eq!(editor.expanded(), format!("a {long}"));
        for edit in edits {
            editor.apply(*edit, WIDE);
        }
        assert_eq!(editor.expanded(), "a ", "{edits:?}");
        editor.apply(Undo, WIDE);
        assert_eq!(editor.expanded(), format!("a {long}"));
    }
}

#[test]
fn a_chip_expands_in_place_unless_it_is_too_long() {
    let mut editor = TextEditor::new(EditorLines::Many);
    assert_eq!(editor.expand_chip(), ChipExpansion::NoChip);
    let long = "word\n".repeat(30);
    editor.paste(&long);
    assert_eq!(editor.expand_chip(), ChipExpansion::Done);
    assert_eq!(editor.text(), long);
    editor.apply(EditAction::Undo, WIDE);
    assert_eq!(editor.text().chars().count(), 1);
    editor.paste(&"x".repeat(EDITABLE_CHARS + 1));
    assert_eq!(editor.expand_chip(), ChipExpansion::TooLong);
}

#[test]
fn a_killed_chip_outlives_what_was_sent() {
    let mut editor = TextEditor::new(EditorLines::Many);
    let long = "word\n".repeat(30);
    editor.paste(&long);
    editor.apply(EditAction::KillHome, WIDE);
    editor.paste(&"y".repeat(3000));
    editor.start_over("");
    assert!(editor.is_empty());
    editor.apply(EditAction::Yank, WIDE);
    assert_eq!(editor.expanded(), long);
}

#[test]
fn a_group_is_one_undo_step() {
    let mut editor = TextEditor::with_text(EditorLines::Many, "x");
    editor.open_group();
    editor.insert("one");
    editor.set_caret(0);
    editor.insert("two");
    editor.close_group();
    editor.undo();
    assert_eq!(editor.text(), "x");
    editor.redo();
    assert_eq!(editor.text(), "twoxone");
}

fn any_edit() -> impl Strategy<Value = EditAction> {
    use EditAction::*;
    prop::sample::select(vec![
        Left,
        Right,
        WordLeft,
        WordRight,
        Home,
        End,
        SelectLeft,
        SelectRight,
        SelectWordLeft,
        SelectWordRight,
        SelectHome,
        SelectEnd,
        SelectAll,
        Cut,
        Backspace,
        Delete,
        KillWordLeft,
        KillWordRight,
        KillHome,
        KillEnd,
        Yank,
        YankOlder,
        Undo,
        Redo,
    ])
}

proptest! {
    #[test]
    fn the_caret_never_stands_inside_a_grapheme(
        text in "[a-c 日\n👩‍🚀e\u{301}🇩🇪]{0,30}",
        edits in prop::collection::vec(any_edit(), 0..20),
        width in 1u16..12,
    ) {
        let mut editor = TextEditor::with_text(EditorLines::Many, &text);
        for edit in edits {
            editor.apply(edit, width);
            let (text, caret) = (editor.text(), editor.caret());
            prop_assert_eq!(words::boundary(&text, caret), caret);
        }
    }

    #[test]
    fn undo_leads_back_to_the_beginning(
        text in "[a-c 日\n]{0,20}",
        edits in prop::collection::vec(any_edit(), 0..20),
    ) {
        let mut editor = TextEditor::new(EditorLines::Many);
        for c in text.chars() {
            editor.insert_char(c);
        }
        for edit in edits {
            editor.apply(edit, WIDE);
        }
        while editor.undo() {}
        prop_assert_eq!(editor.text(), "");
        while editor.redo() {}
        while editor.undo() {}
        prop_assert_eq!(editor.text(), "");
    }
}
