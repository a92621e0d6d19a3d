//! Tests of Vi keys as tables: a text with `|` before the caret, the keys, and the resulting text
//! and caret.
//!
//! `<esc>`, `<cr>`, `<c-r>` and `<bs>` name keys. Each row begins in normal mode.

use proptest::prelude::*;

use super::*;
use crate::tui::app::editor::EditorLines;
use crate::tui::app::keymap::{KeyPress, Keymap};

const WIDTH: u16 = 40;

struct TestVi {
    vi: ViState,
    editor: TextEditor,
}

fn test_vi(text: &str) -> TestVi {
    let caret = text.find('|').unwrap();
    let mut editor = TextEditor::with_text(EditorLines::Many, &text.replacen('|', "", 1));
    editor.set_caret(caret);
    let vi = ViState { mode: ViMode::Normal, ..ViState::default() };
    vi.settle(&mut editor);
    TestVi { vi, editor }
}

impl TestVi {
    fn press(&mut self, key: KeyEvent) -> ViOutcome {
        let step = self.vi.key(&mut self.editor, key, WIDTH);
        // Do what the input does with a key that Vi passes on.
        if step == ViOutcome::Pass {
            match key.code {
                KeyCode::Enter => self.editor.insert_char('\n'),
                _ => self.editor.key(&KeyPress::new(&Keymap::default(), Vec::new(), key)),
            }
            self.vi.settle(&mut self.editor);
        }
        step
    }

    fn keys(&mut self, keys: &str) {
        let mut rest = keys;
        while let Some(c) = rest.chars().next() {
            let named = [
                ("<esc>", KeyCode::Esc, KeyModifiers::NONE),
                ("<cr>", KeyCode::Enter, KeyModifiers::NONE),
                ("<bs>", KeyCode::Backspace, KeyModifiers::NONE),
                ("<c-r>", KeyCode::Char('r'), KeyModifiers::CONTROL),
            ];
            let (key, length) =
                named.iter().find(|(name, ..)| rest.starts_with(name)).map_or(
                    (KeyEvent::from(KeyCode::Char(c)), c.len_utf8()),
                    |(name, code, held)| (KeyEvent::new(*code, *held), name.len()),
                );
            self.press(key);
            rest = &rest[length..];
        }
    }

    fn shown(&self) -> String {
        let mut text = self.editor.text();
        text.insert(self.editor.caret(), '|');
        text
    }
}

#[track_caller]
fn check(rows: &[(&str, &str, &str)]) {
    for (text, keys, want) in rows {
        let mut test = test_vi(text);
        test.keys(keys);
        assert_eq!(test.shown(), *want, "{text:?} {keys}");
    }
}

#[test]
fn motions() {
    check(&[
        ("ab|c", "h", "a|bc"),
        ("|abc", "h", "|abc"),
        ("ab|c", "l", "ab|c"),
        ("|abcd", "2l", "ab|cd"),
        ("a\n|b", "h", "a\n|b"),
        ("a|b\ncd", "j", "ab\nc|d"),
        ("ab\nc|d", "k", "a|b\ncd"),
        ("abc|d\nx\nabcd", "jj", "abcd\nx\nabc|d"),
        ("|one two", "w", "one |two"),
        ("|one.two", "w", "one|.two"),
        ("|one.two x", "W", "one.two |x"),
        ("|one\n\ntwo", "w", "one\n|\ntwo"),
        ("|one\n\ntwo", "2w", "one\n\n|two"),
        ("one |two", "w", "one tw|o"),
        ("one two| three", "b", "one |two three"),
        ("one.t|wo", "b", "one.|two"),
        ("a one.t|wo", "B", "a |one.two"),
        ("one\n|two", "b", "|one\ntwo"),
        ("|one two", "e", "on|e two"),
        ("on|e two", "e", "one tw|o"),
        ("|a.b c", "E", "a.|b c"),
        ("|one two three", "2e", "one tw|o three"),
        ("  a|b", "0", "|  ab"),
        ("  a|b", "^", "  |ab"),
        ("|abc\nd", "$", "ab|c\nd"),
        ("|a\nbc", "2$", "a\nb|c"),
        ("|a,b,c", "f,", "a|,b,c"),
        ("|a,b,c", "2f,", "a,b|,c"),
        ("|a,b,c", "t,", "|a,b,c"),
        ("|ab,c,d", "t,;", "ab,|c,d"),
        ("a,b,|c", "F,", "a,b|,c"),
        ("a,b,c|d", "T,", "a,b,|cd"),
        ("|a,b,c,d", "f,;;", "a,b,c|,d"),
        ("|a,b,c,d", "f,;,", "a|,b,c,d"),
        ("|abc", "fx", "|abc"),
        ("a\nb\n  |c", "gg", "|a\nb\n  c"),
        ("|a\nb\n  c", "G", "a\nb\n  |c"),
        ("|a\nb\nc", "2G", "a\n|b\nc"),
        ("a\n|b\nc", "9G", "a\nb\n|c"),
        ("|a\nb\n\nc", "}", "a\nb\n|\nc"),
        ("|a\nb", "}", "a\n|b"),
        ("a\n\nb\n|c", "{", "a\n|\nb\nc"),
        ("|f(a(b)c)", "%", "f(a(b)c|)"),
        ("f(a(b)c|)", "%", "f|(a(b)c)"),
        ("|日本 語", "w", "日本 |語"),
        ("|👩‍🚀 x", "l", "👩‍🚀| x"),
    ]);
}

#[test]
fn operators_over_motions() {
    check(&[
        ("one |two three", "dw", "one |three"),
        ("one |two", "dw", "one| "),
        ("one |two\nx", "dw", "one| \nx"),
        ("|one two three", "d2w", "|three"),
        ("|one two three", "2dw", "|three"),
        ("one tw|o", "db", "one |o"),
        ("|one two", "de", "| two"),
        ("one |two", "d$", "one| "),
        ("one |two", "d0", "|two"),
        ("  one |two", "d^", "  |two"),
        ("|a,b,c", "df,", "|b,c"),
        ("|a,b,c", "dt,", "|,b,c"),
        ("a,b,|c", "dF,", "a,b|c"),
        ("a\n|b\nc", "dj", "|a"),
        ("a\n|b\nc", "dk", "|c"),
        ("a\n|b\nc", "dG", "|a"),
        ("a\n|b\nc", "dgg", "|c"),
        ("|a\nb\n\nc", "d}", "|\nc"),
        ("f|(a(b)) x", "d%", "f| x"),
        ("|one two", "cwx<esc>", "|x two"),
        ("|one two three", "c2wx<esc>", "|x three"),
        ("one| two", "cwx<esc>", "one|xtwo"),
        ("|a b", "cwx<esc>", "|x b"),
        ("one |two", "yw0P", "tw|oone two"),
        ("|ab cd", "g~w", "|AB cd"),
        ("|ab cd", "gUe", "|AB cd"),
        ("|AB cd", "gue", "|ab cd"),
        ("|a\nb\nc", ">j", "    |a\n    b\nc"),
        ("    |a\n  b\n\tc", "<2j", "|a\nb\nc"),
        ("x |", "cwy<esc>", "x|y"),
    ]);
}

#[test]
fn lines() {
    check(&[
        ("a\n|b\nc", "dd", "a\n|c"),
        ("a\nb\n|c", "dd", "a\n|b"),
        ("|a", "dd", "|"),
        ("|a\nb\nc", "2dd", "|c"),
        ("|a\nb", "9dd", "|"),
        ("a\n  |b\nc", "ccx<esc>", "a\n|x\nc"),
        ("a\n|b", "Sx<esc>", "a\n|x"),
        ("|a\nb", "yyjp", "a\nb\n|a"),
        ("|a\nb", "YP", "|a\na\nb"),
        ("|a\nb", "ddp", "b\n|a"),
        ("|a\nb", "yy2p", "a\n|a\na\nb"),
        ("|ab\nc", "g~~", "|AB\nc"),
        ("|ab\nc", "gUU", "|AB\nc"),
        ("|ab\nc", "gUgU", "|AB\nc"),
        ("|AB\nc", "guu", "|ab\nc"),
        ("|a\nb", ">>", "    |a\nb"),
        ("    |a\nb", "<<", "|a\nb"),
        ("|a\n  b", "J", "a| b"),
        ("|a\nb\nc", "3J", "a b| c"),
        ("|a\n)", "J", "a|)"),
        ("|a", "J", "|a"),
    ]);
}

#[test]
fn single_keys() {
    check(&[
        ("a|bc", "x", "a|c"),
        ("ab|c", "x", "a|b"),
        ("|abc", "2x", "|c"),
        ("|ab\nc", "9x", "|\nc"),
        ("ab|c", "X", "a|c"),
        ("a|bc", "sx<esc>", "a|xc"),
        ("a|bc\nd", "D", "|a\nd"),
        ("a|bc", "Cx<esc>", "a|x"),
        ("|", "Cx<esc>", "|x"),
        ("|", "sx<esc>", "|x"),
        ("a|bc", "rx", "a|xc"),
        ("|abc", "2rx", "x|xc"),
        ("|abc", "9rx", "|abc"),
        ("a|bc", "r<cr>", "a\n|c"),
        ("|ab", "~", "A|b"),
        ("|ab", "2~", "A|B"),
        ("|👩‍🚀b", "x", "|b"),
        ("a|b", "ylp", "ab|b"),
        ("a|b", "ylP", "a|bb"),
        ("|ab", "x3p", "baa|a"),
        ("a|b", "<bs>", "|ab"),
    ]);
}

#[test]
fn inserting() {
    check(&[
        ("a|b", "ix<esc>", "a|xb"),
        ("a|b", "ax<esc>", "ab|x"),
        ("|ab", "ax<esc>", "a|xb"),
        ("  a|b", "Ix<esc>", "  |xab"),
        ("|ab\nc", "Ax<esc>", "ab|x\nc"),
        ("|a\nb", "ox<esc>", "a\n|x\nb"),
        ("a\n|b", "Ox<esc>", "a\n|x\nb"),
        ("|a", "3ix<esc>", "xx|xa"),
        ("|a", "2ox<esc>", "a\nx\n|x"),
        ("|", "ix<esc>", "|x"),
        ("|ab", "i<esc>", "|ab"),
    ]);
}

#[test]
fn text_objects() {
    check(&[
        ("one t|wo three", "diw", "one | three"),
        ("one t|wo three", "daw", "one |three"),
        ("one t|wo", "daw", "on|e"),
        ("one| two", "diw", "one|two"),
        ("a |b.c d", "diW", "a | d"),
        ("a |b.c d", "daW", "a |d"),
        ("|a b c", "d2aw", "|c"),
        ("say \"a |b\" now", "di\"", "say \"|\" now"),
        ("say \"a |b\" now", "da\"", "say |now"),
        ("|say \"ab\" now", "ci\"x<esc>", "say \"|x\" now"),
        ("'a|b'", "di'", "'|'"),
        ("`a|b`", "di`", "`|`"),
        ("\"a\\\"|b\"", "di\"", "\"|\""),
        ("f(a, (b|), c)", "di(", "f(a, (|), c)"),
        ("f(a, (b|x), c)", "d2i(", "f(|)"),
        ("f(|a)", "da(", "|f"),
        ("f(|a)", "dib", "f(|)"),
        ("[a|b]", "di[", "[|]"),
        ("{a|b}", "di{", "{|}"),
        ("{\n  a|b\n}", "di{", "{\n|}"),
        ("<a|b>", "di<", "<|>"),
        ("a|b", "di(", "a|b"),
        ("a\nb|\n\nc", "dip", "|\nc"),
        ("a\nb|\n\nc", "dap", "|c"),
        ("a\n\nb|c", "dap", "|a"),
        ("one t|wo", "yiw0P", "tw|oone two"),
    ]);
}

#[test]
fn visual_mode() {
    check(&[
        ("|abc", "vd", "|bc"),
        ("|abc", "vld", "|c"),
        ("ab|c", "vhd", "|a"),
        ("|one two", "vex", "| two"),
        ("|abc", "vlcx<esc>", "|xc"),
        ("|abc", "vly$p", "abca|b"),
        ("a\n|b\nc", "Vd", "a\n|c"),
        ("|a\nb\nc", "Vjd", "|c"),
        ("|a\nb", "VjcX<esc>", "|X"),
        ("|a\nb", "Vyp", "a\n|a\nb"),
        ("|a\nb\nc", "vj>", "    |a\n    b\nc"),
        ("|abc", "vlU", "|ABc"),
        ("|aBc", "v$~", "|AbC"),
        ("|abc", "vlrx", "|xxc"),
        ("|a\nb\nc", "VjJ", "a| b\nc"),
        ("a|bcd", "vlohd", "|d"),
        ("f(a|b)", "vi(d", "f(|)"),
        ("f(a|b)", "va(d", "|f"),
        ("x |one two", "ywwviwp", "x one one| "),
        ("|abc", "v<esc>", "|abc"),
        ("|ab cd", "vVd", "|"),
        ("|ab", "vvx", "|b"),
        ("|a\nb\nc", "ddVp", "|a\nc"),
        ("a\n|b", "yyVp", "a\n|b"),
        ("|👩‍🚀b", "vd", "|b"),
    ]);
}

#[test]
fn undo_and_redo() {
    check(&[
        ("one |two", "dwu", "one |two"),
        ("|one two three", "dwdwuu", "|one two three"),
        ("|one two three", "dwdw2u", "|one two three"),
        ("|one two", "dwu<c-r>", "|two"),
        ("|a", "ixyz<esc>u", "|a"),
        ("|a\nb", ">ju", "|a\nb"),
        ("|one", "cwtwo<esc>u", "|one"),
    ]);
}

#[test]
fn repeating() {
    check(&[
        ("|one two three", "dw.", "|three"),
        ("|one two three", "cwx<esc>w.", "x |x three"),
        ("|a b c d", "dw2.", "|d"),
        ("|abc", "x.", "|c"),
        ("|ab\ncd", "A!<esc>j.", "ab!\ncd|!"),
        ("|a\nb", "ox<esc>.", "a\nx\n|x\nb"),
        ("|abcdef", "vld.", "|ef"),
        ("|a\nb\nc\nd", "Vjd.", "|"),
        ("|ab cd", "~w.", "Ab C|d"),
        ("|aXbX", "fXryn;.", "ayb|y"),
        ("|ab", "yl.", "|ab"),
    ]);
}

#[test]
fn a_chip_is_a_word() {
    let mut test = test_vi("one| two");
    test.keys("i");
    test.editor.paste(&"x\n".repeat(30));
    test.keys("<esc>x");
    assert_eq!(test.shown(), "one| two");
    test.keys("u");
    assert_eq!(test.editor.expanded(), format!("one{} two", "x\n".repeat(30)));
}

#[test]
fn an_unfinished_command_is_shown_and_can_be_dropped() {
    let mut test = test_vi("|one");
    assert_eq!(test.vi.label(), "NORMAL");
    test.keys("2d");
    assert_eq!(test.vi.label(), "NORMAL 2d");
    assert_eq!(test.press(KeyCode::Esc.into()), ViOutcome::Done);
    assert_eq!(test.vi.label(), "NORMAL");
    test.keys("dz");
    assert_eq!(test.vi.label(), "NORMAL");
    test.keys("V");
    assert_eq!(test.vi.label(), "VISUAL LINE");
    assert_eq!(test.press(KeyCode::Esc.into()), ViOutcome::Done);
}

#[test]
fn keys_that_vi_does_not_use_are_passed_to_the_input() {
    let mut test = test_vi("|one");
    for (code, held, step) in [
        (KeyCode::Esc, KeyModifiers::NONE, ViOutcome::Pass),
        (KeyCode::Enter, KeyModifiers::NONE, ViOutcome::Pass),
        (KeyCode::Tab, KeyModifiers::NONE, ViOutcome::Pass),
        (KeyCode::Char('p'), KeyModifiers::CONTROL, ViOutcome::Pass),
        (KeyCode::Up, KeyModifiers::NONE, ViOutcome::Older),
        (KeyCode::Char('j'), KeyModifiers::NONE, ViOutcome::Newer),
        (KeyCode::Char('i'), KeyModifiers::NONE, ViOutcome::Done),
        (KeyCode::Char('x'), KeyModifiers::NONE, ViOutcome::Pass),
        (KeyCode::Esc, KeyModifiers::NONE, ViOutcome::Done),
    ] {
        assert_eq!(
            test.vi.key(&mut test.editor, KeyEvent::new(code, held), WIDTH),
            step,
            "{code:?}"
        );
    }
}

fn any_key() -> impl Strategy<Value = KeyEvent> {
    let keys = "hjklwbeWBE0^$fFtT;,gG{}%dcy><~uUiaIAovVxXsSDCYpPrJ.\"'`([<pbB123 é";
    let typed = prop::sample::select(keys.chars().collect::<Vec<_>>())
        .prop_map(|c| KeyEvent::from(KeyCode::Char(c)));
    let named = prop::sample::select(vec![
        KeyEvent::from(KeyCode::Esc),
        KeyEvent::from(KeyCode::Esc),
        KeyEvent::from(KeyCode::Enter),
        KeyEvent::from(KeyCode::Backspace),
        KeyEvent::from(KeyCode::Up),
        KeyEvent::from(KeyCode::Delete),
        KeyEvent::new(KeyCode::Char('r'), KeyModifiers::CONTROL),
    ]);
    prop_oneof![8 => typed, 1 => named]
}

#[test]
fn a_paragraph_may_end_in_any_character() {
    for text in ["|e\u{301}", "a\n\n|日", "|日\n", ".{\"\"{\u{200d}.})ae} b\"\"{\u{301}|👩"] {
        for keys in ["dip", "dap"] {
            test_vi(text).keys(keys);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_keys_leave_the_caret_at_an_invalid_place(
        text in "[a-c .,\"(){}日\\n👩‍🚀e\u{301}]{0,30}",
        keys in prop::collection::vec(any_key(), 0..40),
    ) {
        let mut test = test_vi(&format!("|{text}"));
        for key in keys {
            test.press(key);
            let (text, caret) = (test.editor.text(), test.editor.caret());
            prop_assert_eq!(boundary(&text, caret), caret);
            if test.vi.mode == ViMode::Normal && test.vi.keys.is_empty() {
                let (start, end) = (line_start(&text, caret), line_end(&text, caret));
                prop_assert!(caret < end || start == end, "{text:?} {caret}");
            }
            if let Some(selected) = test.vi.selection(&test.editor) {
                prop_assert!(text.get(selected).is_some());
            }
        }
    }
}
