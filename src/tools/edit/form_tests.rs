//! The forms of an edit beside one old text: lines by number, insertions, new files, and several
//! changes at once.

use serde_json::{Value, json};

use super::EditTool;
use crate::tools::Tool;
use crate::tools::testing::ToolTestEnv;

/// The file after the edit of `f`, or the error. The preview must show what is written.
async fn edited(before: impl AsRef<[u8]>, mut change: Value) -> Result<Vec<u8>, String> {
    let env = ToolTestEnv::new();
    env.put("f", before);
    env.seen("f");
    change["file_path"] = json!("f");
    let change = EditTool.canonical_input(change);
    let context = env.context_for(&EditTool, &change).map_err(|error| error.0)?;
    let shown = EditTool.preview(&context, &change).await;
    let ran = env.run(&EditTool, change).await;
    match (shown, ran) {
        (Ok(Some(shown)), Ok(_)) => {
            let change = &env.effects.changes()[0];
            let text = |bytes: &[u8]| super::text::decode(bytes).unwrap().0;
            let before = text(change.before.as_deref().unwrap());
            let again =
                crate::domain::FileDiff::between(env.path("f"), &before, &text(&change.after));
            assert_eq!(shown, again);
            Ok(env.bytes("f"))
        }
        (shown, ran) => {
            let error = ran.unwrap_err();
            assert_eq!(shown.unwrap_err(), error);
            Err(error.0)
        }
    }
}

async fn text_of(before: &str, change: Value) -> String {
    String::from_utf8(edited(before, change).await.unwrap()).unwrap()
}

fn lines(first: usize, last: usize, holds: (&str, &str), new: &str) -> Value {
    json!({"start_line": first, "end_line": last, "first_line": holds.0, "last_line": holds.1,
        "new_string": new})
}

fn after(line: usize, holds: &str, new: &str) -> Value {
    json!({"insert_after": line, "first_line": holds, "new_string": new})
}

#[tokio::test]
async fn lines_are_replaced_by_number_with_their_text_as_guard() {
    let cases = [
        ("a\nb\nc\n", lines(2, 2, ("b", "b"), "B"), "a\nB\nc\n"),
        ("a\nb\nc\n", lines(2, 2, ("b", ""), "B\n"), "a\nB\nc\n"),
        ("a\nb\nc\n", lines(1, 2, ("a", "b"), "x\ny\nz\n"), "x\ny\nz\nc\n"),
        ("a\nb\nc\n", lines(2, 3, ("b", "c"), ""), "a\n"),
        ("a\nb\nc\n", lines(2, 2, ("b", ""), "\n"), "a\n\nc\n"),
        ("1\ta\n2\tb\n", lines(2, 2, ("2\tb", ""), "B"), "1\ta\nB\n"),
        // The white space around the guard does not count, nor does the number that Read shows.
        ("  a\n\tb\n", lines(2, 2, ("b", ""), "\tB"), "  a\n\tB\n"),
        ("a\n\tb\n", lines(2, 2, ("2\t\tb", ""), "\tB"), "a\n\tB\n"),
        // The last line keeps having no line end.
        ("a\nb", lines(2, 2, ("b", ""), "B\n"), "a\nB"),
        ("a\r\nb\r\nc\r\n", lines(2, 2, ("b", ""), "x\ny"), "a\r\nx\r\ny\r\nc\r\n"),
        ("a\r\nb", lines(2, 2, ("b", ""), "x\ny"), "a\r\nx\r\ny"),
        (
            "a\nb\n",
            json!({"start_line": "2", "first_line": "b", "new_string": "B",
            "old_string": "", "insert_after": 0, "edits": []}),
            "a\nB\n",
        ),
    ];
    for (before, change, expected) in cases {
        assert_eq!(text_of(before, change.clone()).await, expected, "{change}");
    }
}

#[tokio::test]
async fn text_is_inserted_behind_a_line() {
    let cases = [
        ("a\nb\n", after(1, "a", "x\n"), "a\nx\nb\n"),
        ("a\nb\n", after(2, "b", "x"), "a\nb\nx\n"),
        ("a\nb", after(2, "b", "x\n"), "a\nb\nx"),
        ("a\nb\n", after(0, "", "x\ny"), "x\ny\na\nb\n"),
        ("a\nb\n", json!({"insert_line": 0, "new_string": "x"}), "x\na\nb\n"),
        ("a\r\nb\r\n", after(1, "a", "x\ny\n"), "a\r\nx\r\ny\r\nb\r\n"),
        ("a\r\nb", after(2, "b", "x"), "a\r\nb\r\nx"),
        ("", after(0, "", "x"), "x\n"),
    ];
    for (before, change, expected) in cases {
        assert_eq!(text_of(before, change.clone()).await, expected, "{change}");
    }
}

#[tokio::test]
async fn a_file_can_be_made_or_an_empty_one_filled() {
    let env = ToolTestEnv::new();
    let change = json!({"file": "a/new.rs", "old_string": "", "new_string": "fn main() {}\n"});
    let output = env.run(&EditTool, change).await.unwrap();
    assert_eq!(output.observation, "Made a/new.rs with 1 line.");
    let top = json!({"file": "top", "insert_after": 0, "new_string": "x"});
    env.run(&EditTool, top).await.unwrap();
    assert_eq!(env.bytes("top"), b"x\n");
    env.put("empty", "");
    let change = json!({"file_path": "empty", "old_string": "", "new_string": "x\n"});
    env.run(&EditTool, change).await.unwrap();
    assert_eq!(env.bytes("empty"), b"x\n");
}

#[tokio::test]
async fn encodings_are_kept_by_every_form() {
    let cases: [(&[u8], Value, &[u8]); 5] = [
        (b"\xef\xbb\xbfa\nb\n", lines(1, 1, ("a", ""), "x"), b"\xef\xbb\xbfx\nb\n"),
        (b"\xef\xbb\xbfa\n", after(0, "", "x"), b"\xef\xbb\xbfx\na\n"),
        (b"\xff\xfea\0\n\0", after(1, "a", "\u{e9}"), b"\xff\xfea\0\n\0\xe9\0\n\0"),
        (b"caf\xe9\nb\n", lines(2, 2, ("b", ""), "th\u{e9}"), b"caf\xe9\nth\xe9\n"),
        (
            b"caf\xe9\r\nb\r\n",
            json!({"edits": [{"old_string": "b", "new_string": "c"}, after(1, "café", "d")]}),
            b"caf\xe9\r\nd\r\nc\r\n",
        ),
    ];
    for (before, change, expected) in cases {
        assert_eq!(edited(before, change.clone()).await.as_deref(), Ok(expected), "{change}");
    }
    let lacks = edited(b"caf\xe9\nb\n", lines(2, 2, ("b", ""), "日")).await.unwrap_err();
    assert!(lacks.contains("its encoding has no character '日'"), "{lacks}");
}

#[tokio::test]
async fn several_changes_are_made_in_order() {
    let cases = [
        // The second one sees what the first one made.
        (
            json!([{"old_string": "a", "new_string": "x1"}, {"old_string": "x1", "new_string": "y"}]),
            "y\nb\nc\nd\n",
        ),
        // Numbers are those of the file before the call.
        (
            json!([after(1, "a", "n\nm"), lines(3, 3, ("c", ""), "C"), lines(2, 2, ("b", ""), "")]),
            "a\nn\nm\nC\nd\n",
        ),
        (
            json!([lines(2, 2, ("b", ""), ""), after(2, "b", "x"), after(2, "b", "y")]),
            "a\nx\ny\nc\nd\n",
        ),
        (
            json!([after(2, "b", "x"), lines(2, 2, ("b", ""), "B"), lines(3, 4, ("c", "d"), "D")]),
            "a\nB\nx\nD\n",
        ),
        (
            json!([{"oldString": "b\nc", "newString": "one"}, lines(4, 4, ("d", ""), "D")]),
            "a\none\nD\n",
        ),
        (json!([{"old_string": "a", "new_string": "A", "replace_all": true}]), "A\nb\nc\nd\n"),
        (json!("[{\"old_string\": \"a\", \"new_string\": \"A\"}]"), "A\nb\nc\nd\n"),
    ];
    for (edits, expected) in cases {
        let change = json!({"edits": edits});
        assert_eq!(text_of("a\nb\nc\nd\n", change.clone()).await, expected, "{change}");
    }
}

#[tokio::test]
async fn of_several_changes_all_are_made_or_none() {
    let good = json!({"old_string": "a", "new_string": "A"});
    let cases = [
        (
            json!([good, {"old_string": "zz", "new_string": "y"}]),
            "Change 2 of 2: `old_string` is not in f. Nothing was changed.",
        ),
        (
            json!([good, lines(2, 2, ("x", ""), "y")]),
            "Change 2 of 2: Line 2 of f is not \"x\", but \"b\". Nothing was changed.",
        ),
        (
            json!([good, lines(1, 1, ("a", ""), "y")]),
            "Change 2 of 2: an earlier change of this call has changed the text at line 1.",
        ),
        (
            json!([{"old_string": "a\nb", "new_string": "x"}, after(1, "a", "y")]),
            "Change 2 of 2: an earlier change of this call has changed the text at line 1.",
        ),
        (json!([good, {"old_string": "a"}]), "Change 2 of 2: Edit: `new_string` is missing."),
        (json!([good, {"text": "a"}]), "Change 2 of 2: Edit: unknown argument `text` in `edits`"),
        (json!([good, 3]), "Change 2 of 2: Edit: what is in `edits` must be JSON objects."),
    ];
    for (edits, expected) in cases {
        let error = edited("a\nb\nc\n", json!({"edits": edits})).await.unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
    let both = json!({"edits": [good], "old_string": "a", "new_string": "b"});
    let error = edited("a\nb\nc\n", both).await.unwrap_err();
    assert!(error.starts_with("Edit: send one change, or several in `edits`, not both."));
}

#[tokio::test]
async fn a_guard_that_does_not_hold_says_what_is_there() {
    let cases = [
        (
            lines(2, 2, ("c", ""), "x"),
            "Line 2 of f is not \"c\", but \"b\". Nothing was changed. That text is at line 3.",
        ),
        (
            lines(2, 2, ("zz", ""), "x"),
            "Line 2 of f is not \"zz\", but \"b\". Nothing was changed. Read the file, then",
        ),
        (lines(1, 3, ("a", "b"), "x"), "Line 3 of f is not \"b\", but \"c\"."),
        (lines(9, 9, ("a", ""), "x"), "f has no line 9, but 3 lines."),
        (after(9, "a", "x"), "f has no line 9, but 3 lines."),
        (after(1, "b", "x"), "Line 1 of f is not \"b\", but \"a\"."),
        (json!({"start_line": 1, "new_string": "x"}), "Edit: `first_line` is missing."),
        (
            json!({"start_line": 1, "end_line": 2, "first_line": "a", "new_string": "x"}),
            "Edit: `last_line` is missing.",
        ),
        (json!({"insert_after": 1, "new_string": "x"}), "Edit: `first_line` is missing."),
        (json!({"end_line": 1, "new_string": "x"}), "Edit: `start_line` is missing."),
        (
            json!({"old_string": "a", "first_line": "a", "new_string": "x"}),
            "Edit: `start_line` is missing.",
        ),
        (
            json!({"insert_after": 1, "end_line": 3, "first_line": "a", "new_string": "x"}),
            "Edit: `end_line` and `last_line` go with `start_line` only.",
        ),
        (lines(3, 2, ("c", "b"), "x"), "Edit: `end_line` is before `start_line`."),
        (after(1, "a", ""), "Edit: `new_string` is empty, so there is nothing to insert."),
        (
            json!({"old_string": "a", "start_line": 1, "first_line": "a", "new_string": "x"}),
            "Edit: send one of `old_string`, `start_line` and `insert_after`",
        ),
        (lines(1, 2, ("a", "b"), "// ... rest of code"), "`new_string` holds the placeholder"),
    ];
    for (change, expected) in cases {
        let error = edited("a\nb\nc\n", change.clone()).await.unwrap_err();
        assert!(error.starts_with(expected), "{change}: {error}");
    }
}

#[tokio::test]
async fn where_old_and_new_disagree_about_the_indentation_nothing_is_changed() {
    let file = "f:\n\tif a {\n\t\tb();\n\t}\n";
    let change = |old: &str, new: &str| json!({"old_string": old, "new_string": new});
    // The new text has the indentation that the old one lacks: it could be added twice.
    let error = edited(file, change("  b();", "\t\tc();\n\t\tb();")).await.unwrap_err();
    assert_eq!(
        error,
        "`old_string` is at line 3 of f with other indentation, and `new_string` begins with \
         another one again, so it is not certain what the new lines should get. Nothing was \
         changed. Send both with the indentation of the file (→ is a tab, · a space):\n\
         3\t→→b();"
    );
    let agreed = [
        ("  b();", "  c();\n  b();", "f:\n\tif a {\n\t\tc();\n\t\tb();\n\t}\n"),
        ("if a {\n    b();\n}", "b();", "f:\n\tb();\n"),
        // Where the file has the indentation of the old text, nothing is mapped.
        ("\t\tb(); ", "c();", "f:\n\tif a {\nc();\n\t}\n"),
    ];
    for (old, new, expected) in agreed {
        assert_eq!(text_of(file, change(old, new)).await, expected, "{old:?}");
    }
}

#[tokio::test]
async fn a_part_of_several_changes_can_be_taken() {
    let env = ToolTestEnv::new();
    env.put("f", "a\nx\nx\nx\nx\nx\nx\nx\nb\n");
    let whole = json!({"file_path": "f", "edits": [
        {"old_string": "a", "new_string": "A"},
        lines(9, 9, ("b", ""), "B"),
    ]});
    let context = env.context_for(&EditTool, &whole).unwrap();
    let shown = EditTool.preview(&context, &whole).await.unwrap().unwrap();
    assert_eq!(shown.change_count(), 2);
    let left_out = [0].into_iter().collect();
    let part = EditTool.narrow_input(&context, &whole, &shown, &left_out).await.unwrap();
    env.run(&EditTool, part).await.unwrap();
    assert_eq!(env.bytes("f"), b"a\nx\nx\nx\nx\nx\nx\nx\nB\n");
}

#[test]
fn the_title_says_which_lines_or_how_many_changes() {
    for (change, title) in [
        (json!({"old_string": "a"}), "f"),
        (lines(3, 5, ("a", "b"), ""), "f 3-5"),
        (lines(3, 3, ("a", "b"), ""), "f 3"),
        (json!({"edits": [{}, {}]}), "f 2 changes"),
    ] {
        let mut change = change;
        change["file_path"] = json!("/w/f");
        assert_eq!(EditTool.call_title(&change, std::path::Path::new("/w")), title);
    }
}

#[tokio::test]
async fn a_result_that_would_fill_the_memory_is_refused_before_it_is_made() {
    let all =
        |old: &str, new: &str| json!({"old_string": old, "new_string": new, "replace_all": true});
    let growing = json!({"edits": [all("a", &"b".repeat(100)), all("b", &"c".repeat(1000))]});
    for (change, told) in [
        (all("a", &"b".repeat(50_000)), "f would have 95.4 MB with 2000 places replaced"),
        (all("a", &"\n".repeat(50_000)), "f would have 95.4 MB with 2000 places replaced"),
        (growing, "f would have 190.7 MB with 200000 places replaced"),
        (all("a", &"b".repeat(9_000)), "f would have 17.2 MB, too much to write here"),
    ] {
        let error = edited("a".repeat(2000), change).await.unwrap_err();
        assert!(error.contains(told), "{error}");
    }
    let many = edited("a".repeat(1_000_001), all("a", "b")).await.unwrap_err();
    assert!(many.contains("with 1000001 places replaced, too much to edit here"), "{many}");
}

#[tokio::test]
async fn the_number_of_changes_is_bounded() {
    let step = json!({"old_string": "a", "new_string": "a"});
    let many = json!({"edits": vec![step; 501]});
    let error = edited("a\n", many).await.unwrap_err();
    assert!(error.contains("at most 500 changes, and this one has 501"), "{error}");
}
