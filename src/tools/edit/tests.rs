//! Edit as the model uses it, on real files.

use proptest::prelude::*;

use super::matching::ReplaceScope;
use super::steps::EditStep;
use super::*;
use crate::domain::{ToolDisplay, ToolStatus};
use crate::tools::testing::ToolTestEnv;

fn input(old: &str, new: &str) -> Value {
    json!({"file_path": "f", "old_string": old, "new_string": new})
}

/// The content of the file after the edit, or the error.
async fn edited(before: impl AsRef<[u8]>, input: Value) -> Result<Vec<u8>, String> {
    let env = ToolTestEnv::new();
    env.put("f", before);
    env.seen("f");
    let result = env.run(&EditTool, input).await;
    result.map(|_| env.bytes("f")).map_err(|error| error.0)
}

#[tokio::test]
async fn exact_text_is_replaced_and_reported() {
    let env = ToolTestEnv::new();
    env.put("f", "a\nb\nc\n");
    env.seen("f");
    let output = env.run(&EditTool, input("b", "B")).await.unwrap();
    assert_eq!(env.bytes("f"), b"a\nB\nc\n");
    assert_eq!(output.observation, "Changed f (+1 -1).");
    assert_eq!(output.summary.as_deref(), Some("+1 -1"));
    assert!(matches!(output.display, Some(ToolDisplay::Diff(diff)) if diff.path == env.path("f")));
    let change = &env.effects.changes()[0];
    assert_eq!(change.before.as_deref(), Some(&b"a\nb\nc\n"[..]));
    assert_eq!(change.after, b"a\nB\nc\n");
    env.run(&EditTool, input("c", "C")).await.unwrap();
}

#[tokio::test]
async fn several_places_need_replace_all() {
    let error = edited("a\nb\na\n", input("a", "x")).await.unwrap_err();
    assert_eq!(
        error,
        "`old_string` matches 2 places in f, at lines 1, 3. Nothing was changed. Include lines \
         around it, or set `replace_all` to true."
    );
    let all = json!({"path": "f", "old_string": "a", "new_string": "xy", "replace_all": "true"});
    assert_eq!(edited("a\nb\na\n", all).await.unwrap(), b"xy\nb\nxy\n");
    let overlapping = edited("aaa", input("aa", "b")).await.unwrap_err();
    assert!(overlapping.contains("matches 2 places"), "{overlapping}");
}

#[tokio::test]
async fn dashes_quotes_and_spaces_are_folded_but_never_written() {
    let text = "say(\u{201c}a \u{2013} b\u{201d}); x\u{a0}= 1;\n";
    let result = edited(text, input("say(\"a - b\"); x = 1", "say(\"a - b\"); x = 2")).await;
    let expected = "say(\u{201c}a \u{2013} b\u{201d}); x\u{a0}= 2;\n";
    assert_eq!(String::from_utf8(result.unwrap()).unwrap(), expected);
}

#[tokio::test]
async fn indentation_is_mapped_where_lines_match_once() {
    let env = ToolTestEnv::new();
    env.put("f", "{\n\tif a {\n\t\tb();\n\t}\n}\n");
    env.seen("f");
    let (old, new) = ("if a {\n    b();\n}", "if a {\n    c();\n    b();\n}");
    let output = env.run(&EditTool, input(old, new)).await.unwrap();
    assert_eq!(env.bytes("f"), b"{\n\tif a {\n\t\tc();\n\t\tb();\n\t}\n}\n");
    assert_eq!(
        output.observation,
        "Changed f (+1 -0). It was found with other white space at the ends of lines; the new \
         lines got the file's indentation:\n2\t\tif a {\n3\t\t\tc();\n4\t\t\tb();\n5\t\t}"
    );

    let error = edited("\tx();\n    x();\n", input("x(); ", "y();")).await.unwrap_err();
    assert!(error.contains("matches 2 places in f, and none exactly"), "{error}");
}

#[tokio::test]
async fn text_that_is_nowhere_gets_the_closest_place() {
    let error = edited("fn a() {\n\tlet x = 1;\n}\n", input("let x = 3;", "let y;")).await;
    let error = error.unwrap_err();
    assert!(error.starts_with("`old_string` is not in f. Nothing was changed.\n"), "{error}");
    assert!(error.contains("\n2\t→let x = 1;\n"), "{error}");
}

#[tokio::test]
async fn r16_an_exact_edit_needs_no_read_and_keeps_what_others_changed() {
    let env = ToolTestEnv::new();
    env.put("f", "a\n");
    let output = env.run(&EditTool, input("a", "b")).await.unwrap();
    assert_eq!(output.observation, "Changed f (+1 -1).");
    env.seen("f");
    env.put("f", "b\ntheirs\n");
    for (old, new) in [("b", "c"), ("c", "d")] {
        let output = env.run(&EditTool, input(old, new)).await.unwrap();
        assert_eq!(
            output.observation,
            "Changed f (+1 -1). The file had changed since you read it; what others changed is \
             still there."
        );
    }
    assert_eq!(env.bytes("f"), b"d\ntheirs\n");
    // What others wrote is still unseen, so the whole file cannot be replaced.
    let whole = json!({"file_path": "f", "content": "mine\n"});
    let error = env.run(&crate::tools::write::WriteTool, whole).await.unwrap_err();
    assert!(error.0.starts_with("f has changed since it was read."), "{error}");
}

#[tokio::test]
async fn r16_a_match_that_is_not_exact_needs_the_file_as_it_was_read() {
    let env = ToolTestEnv::new();
    env.put("f", "\tif a {\n\t\tb();\n\t}\n");
    let edit = || input("if a {\n    b();\n}", "if a {\n    c();\n}");
    let error = env.run(&EditTool, edit()).await.unwrap_err();
    assert!(error.0.contains("and you have not read f yet. Nothing was changed."), "{error}");
    env.seen("f");
    env.put("f", "\tif a {\n\t\tb();\n\t}\ntheirs\n");
    let error = env.run(&EditTool, edit()).await.unwrap_err();
    assert!(error.0.contains("and f has changed since you read it."), "{error}");
    assert_eq!(env.bytes("f"), b"\tif a {\n\t\tb();\n\t}\ntheirs\n");
    env.seen("f");
    env.run(&EditTool, edit()).await.unwrap();
}

#[tokio::test]
async fn nothing_is_told_about_a_file_that_was_never_read() {
    let env = ToolTestEnv::new();
    env.put("f", "password = hunter2\n");
    let cases = [
        (input("password = x", "y"), "`old_string` is not in f, and you have not read f yet."),
        (
            json!({"file_path": "f", "start_line": 1, "first_line": "x", "new_string": "y"}),
            "Line 1 of f is not \"x\". Nothing was changed.",
        ),
    ];
    for (input, expected) in cases {
        let error = env.run(&EditTool, input).await.unwrap_err().0;
        assert!(error.starts_with(expected) && !error.contains("hunter2"), "{error}");
    }
}

#[tokio::test]
async fn s51_a_change_between_approval_and_write_is_not_overwritten() {
    let env = ToolTestEnv::new();
    env.put("f", "a\n");
    env.seen("f");
    let diff = EditTool
        .preview(&env.context_for(&EditTool, &input("a", "b")).unwrap(), &input("a", "b"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((diff.added, diff.removed), (1, 1));
    assert_eq!(env.bytes("f"), b"a\n", "a preview writes nothing");
    env.put("f", "a theirs\n");
    // Even if another call has read the new content meanwhile.
    env.seen("f");
    let error = env.run(&EditTool, input("a", "b")).await.unwrap_err();
    assert!(error.0.starts_with("f has changed since the change was approved."), "{error}");
    assert_eq!(env.bytes("f"), b"a theirs\n");
    let again = env.run(&EditTool, input("a", "b")).await;
    assert!(again.is_ok(), "a new call stands for itself");
}

#[tokio::test]
async fn r51_encodings_and_line_ends_are_kept() {
    let cases: [(&[u8], &[u8]); 9] = [
        (b"caf\xe9 word \xe9\n", b"caf\xe9 text \xe9\n"),
        (b"\x80\x9f\x81 word\n", b"\x80\x9f\x81 text\n"),
        // GBK
        (b"\xc4\xe3\xba\xc3 word \xca\xc0\n", b"\xc4\xe3\xba\xc3 text \xca\xc0\n"),
        (b"\xff\xfew\0o\0r\0d\0\r\0\n\0", b"\xff\xfet\0e\0x\0t\0\r\0\n\0"),
        (b"\xfe\xff\0w\0o\0r\0d", b"\xfe\xff\0t\0e\0x\0t"),
        (b"\xef\xbb\xbfword\r\na\nb\r\n", b"\xef\xbb\xbftext\r\na\nb\r\n"),
        (b"a\rword\rb", b"a\rtext\rb"),
        (b"word", b"text"),
        (b"some more text\0 word here", b"some more text\0 text here"),
    ];
    for (before, after) in cases {
        assert_eq!(edited(before, input("word", "text")).await.as_deref(), Ok(after));
    }
    let several = edited(b"a\r\nb\r\nc\n", input("a\nb\nc", "a\nx\ny\nc")).await;
    assert_eq!(several.unwrap(), b"a\r\nx\r\ny\r\nc\n");
}

#[tokio::test]
async fn r51_characters_that_the_encoding_lacks_are_refused() {
    let error = edited(b"caf\xe9 word\n", input("word", "日")).await.unwrap_err();
    assert!(error.contains("its encoding has no character '日'"), "{error}");
    let error = edited(b"\x7fELF\x02\x01 word\0\0\0", input("word", "text")).await.unwrap_err();
    assert!(error.starts_with("f is no text file (ELF program)"), "{error}");
}

#[tokio::test]
async fn an_empty_old_string_makes_a_file_but_replaces_none() {
    let env = ToolTestEnv::new();
    let output = env.run(&EditTool, input("", "new\n")).await.unwrap();
    assert_eq!(output.summary.as_deref(), Some("new file, 1 line"));
    let error = env.run(&EditTool, input("", "other\n")).await.unwrap_err();
    assert!(error.0.starts_with("`old_string` is empty, but f exists."), "{error}");
    assert_eq!(env.bytes("f"), b"new\n");
}

#[tokio::test]
async fn bad_input_tells_what_to_send() {
    let env = ToolTestEnv::new();
    env.put("file.rs", "a\n");
    let cases = [
        (input("a", "a"), "Edit: `old_string` and `new_string` are the same."),
        (input("a", "b\n// ... existing code ...\n"), "`new_string` holds the placeholder"),
        (json!({"file_path": "f", "new_string": "b"}), "Edit: `old_string` is missing."),
        (json!({"old_string": "a", "new_string": "b"}), "Edit: `file_path` is missing."),
        (input("a", "b"), "There is no f."),
        (
            json!({"file_path": "flie.rs", "old_string": "a", "new_string": "b"}),
            "There is no flie.rs. Did you mean file.rs?",
        ),
    ];
    for (input, expected) in cases {
        let error = env.run(&EditTool, input).await.unwrap_err();
        assert!(error.0.starts_with(expected), "{error}");
    }
}

#[tokio::test]
async fn a_stopped_call_changes_nothing() {
    let env = ToolTestEnv::new();
    env.put("f", "a\n");
    env.seen("f");
    env.context.cancel.cancel();
    let output = env.run(&EditTool, input("a", "b")).await.unwrap();
    assert_eq!(output.status, ToolStatus::Cancelled);
    assert_eq!(env.bytes("f"), b"a\n");
}

#[tokio::test]
async fn r49_a_fifo_is_refused() {
    let env = ToolTestEnv::new();
    env.fifo("f");
    let error = env.run(&EditTool, input("a", "b")).await.unwrap_err();
    assert!(error.0.starts_with("f is a FIFO, socket or device"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever the bytes around it and their line ends are, an edit changes only the one place.
    #[test]
    fn r51_bytes_outside_the_hunk_are_identical(
        before in proptest::collection::vec(prop_oneof![32_u8..127, 128_u8.., Just(b'\n'), Just(b'\r')], 0..60),
        after in proptest::collection::vec(prop_oneof![32_u8..127, 128_u8.., Just(b'\n'), Just(b'\r')], 0..60),
        mark in prop_oneof![Just(&b""[..]), Just(&b"\xef\xbb\xbf"[..])],
    ) {
        let whole = |word: &str| [mark, &before, word.as_bytes(), &after].concat();
        let place = EditPlace::Text { old: "@@one@@two@@".into(), scope: ReplaceScope::One };
        let steps = vec![EditStep { place, new: "@@one two@@".into() }];
        let wanted = EditArguments { path: "/f".into(), steps };
        let before = Some(whole("@@one@@two@@"));
        if let Ok(planned) = edit(before, SeenState::Current, wanted, "f") {
            prop_assert_eq!(planned.change.after, whole("@@one two@@"));
        } else {
            prop_assert!(text::decode(&whole("@@one@@two@@")).is_none());
        }
    }

    /// The same for lines that match only when trimmed.
    #[test]
    fn r51_lines_outside_a_trimmed_match_are_identical(
        before in "([a-z \t\u{2014}]{0,8}(\r\n|\n)){0,5}",
        after in "((\r\n|\n)[a-z \t\u{2014}]{0,8}){0,5}",
        indent in "[ \t]{1,6}",
    ) {
        let text = format!("{before}{indent}ONE{after}");
        let (quality, found) = matching::find(&text, "\u{b}ONE", "TWO", ReplaceScope::One).unwrap();
        prop_assert_eq!(quality, MatchQuality::Trimmed);
        let new = matching::apply(&text, &found);
        prop_assert!(new.starts_with(&before) && new.ends_with(&after));
        prop_assert!(new[before.len()..new.len() - after.len()].contains("TWO"));
    }

    /// No input of a model panics, and an edit that reports success has been made.
    #[test]
    fn any_texts_are_handled(text in "[ab\u{2014}\u{2019} \t\r\n]{0,40}", old in "[ab' \t\n-]{1,10}", new in "[ab \n]{0,10}") {
        if let Ok((_, found)) = matching::find(&text, &old, &new, ReplaceScope::One) {
            prop_assert_eq!(found.len(), 1);
            matching::apply(&text, &found);
        } else {
            closest_match::hint(&text, &old, &new);
        }
    }
}

#[tokio::test]
async fn a_big_file_is_edited_or_explained() {
    let text = "some line of text that is not it\n".repeat(20_000) + "needle\n";
    let found = edited(&text, input("needle", "thread")).await;
    assert!(found.unwrap().ends_with(b"thread\n"));
    let missing = edited(&text, input("some line of prose\nthat is not there", "x")).await;
    assert!(missing.unwrap_err().contains("The closest place"));
}

#[tokio::test]
async fn many_equal_lines_take_no_longer_than_others() {
    let text = "a\n".repeat(100_000);
    let old = "a\n".repeat(50_000) + "b\n";
    let began = std::time::Instant::now();
    let missing = edited(&text, input(&old, "x")).await.unwrap_err();
    assert!(missing.contains("lines were compared"), "{missing}");
    let several = edited(&text, input(&" a \n".repeat(50), "x")).await.unwrap_err();
    assert!(several.contains("matches 1000 places"), "{several}");
    assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_part_of_an_edit_is_an_edit_of_its_own() {
    let all = |old: &str, new: &str| json!({"file_path": "f", "old_string": old, "new_string": new, "replace_all": true});
    let cases = [
        // The remaining text is in several places.
        ("x\na\nx\na\nx\n", all("a", "b"), 0, "x\na\nx\nb\nx\n"),
        ("x\na\nx\na\nx\n", all("a", "b"), 1, "x\nb\nx\na\nx\n"),
        ("a\r\nx\r\na\r\n", all("a", "b\nc"), 0, "a\r\nx\r\nb\r\nc\r\n"),
        ("a\nx\na", all("a", "b"), 0, "a\nx\nb"),
        // Only new lines, beside lines that exist twice.
        ("x\nx\nx\n", input("x\nx\nx\n", "n\nx\nx\nx\nm\n"), 0, "x\nx\nx\nm\n"),
        ("a\nb\nc\n", input("a\nb\nc\n", "b\n"), 1, "b\nc\n"),
    ];
    for (before, whole, left_out, after) in cases {
        let env = ToolTestEnv::new();
        env.put("f", before);
        env.seen("f");
        let shown = EditTool
            .preview(&env.context_for(&EditTool, &whole).unwrap(), &whole)
            .await
            .unwrap()
            .unwrap();
        let left_out = [left_out].into_iter().collect();
        let part = EditTool
            .narrow_input(&env.context_for(&EditTool, &whole).unwrap(), &whole, &shown, &left_out)
            .await
            .unwrap();
        env.run(&EditTool, part).await.unwrap();
        assert_eq!(String::from_utf8(env.bytes("f")).unwrap(), after, "{before:?}");
    }
}

#[tokio::test]
async fn s51_a_part_holds_for_the_content_that_was_shown() {
    let whole = json!({
        "file_path": "f", "old_string": "a", "new_string": "b", "replace_all": true,
    });
    let env = ToolTestEnv::new();
    env.put("f", "a\nx\na\n");
    env.seen("f");
    let shown = EditTool
        .preview(&env.context_for(&EditTool, &whole).unwrap(), &whole)
        .await
        .unwrap()
        .unwrap();
    let left_out = [0].into_iter().collect();
    env.put("f", "a\nx\na\ntheirs\n");
    env.seen("f");
    let error = EditTool
        .narrow_input(&env.context_for(&EditTool, &whole).unwrap(), &whole, &shown, &left_out)
        .await
        .unwrap_err();
    assert!(error.0.starts_with("f has changed since the change was approved."), "{error}");
    let shown = EditTool
        .preview(&env.context_for(&EditTool, &whole).unwrap(), &whole)
        .await
        .unwrap()
        .unwrap();
    let part = EditTool
        .narrow_input(&env.context_for(&EditTool, &whole).unwrap(), &whole, &shown, &left_out)
        .await
        .unwrap();
    env.put("f", "again\na\nx\na\ntheirs\n");
    env.seen("f");
    let error = env.run(&EditTool, part).await.unwrap_err();
    assert!(error.0.starts_with("f has changed since the change was approved."), "{error}");
    assert_eq!(env.bytes("f"), b"again\na\nx\na\ntheirs\n");
}

#[tokio::test]
async fn a_preview_fails_as_the_edit_would() {
    let env = ToolTestEnv::new();
    env.put("f", "a\n");
    env.seen("f");
    let error = EditTool
        .preview(
            &env.context_for(&EditTool, &input("nowhere", "b")).unwrap(),
            &input("nowhere", "b"),
        )
        .await
        .unwrap_err();
    let run = env.run(&EditTool, input("nowhere", "b")).await.unwrap_err();
    assert_eq!(error, run);
}

#[tokio::test]
async fn s43_other_names_of_a_file_are_reported_and_keep_the_old_content() {
    let env = ToolTestEnv::new();
    env.put("x", "a\n");
    std::fs::hard_link(env.path("x"), env.path("bashrc")).unwrap();
    env.seen("x");
    let edit = json!({"file_path": "x", "old_string": "a", "new_string": "b"});
    let output = env.run(&EditTool, edit).await.unwrap();
    assert_eq!((env.bytes("x"), env.bytes("bashrc")), (b"b\n".to_vec(), b"a\n".to_vec()));
    assert!(output.observation.ends_with("1 other name (hard links), which keep the old content."));
    assert_eq!(output.summary.as_deref(), Some("+1 -1, 1 other name left as before"));
}
