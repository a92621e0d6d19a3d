//! Grep as the model uses it, on real files.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::domain::ToolStatus;
use crate::tools::testing::ToolTestEnv;

async fn grep(env: &ToolTestEnv, input: Value) -> String {
    env.run(&GrepTool, input).await.unwrap().observation
}

fn tree() -> ToolTestEnv {
    let env = ToolTestEnv::new();
    env.put("a.rs", "fn one() {}\nfn two() {}\n\nlet x = 1;\n");
    env.put("src/b.rs", "use one;\r\nfn three() {}\r\n");
    env.put("src/c.py", "def one():\n    pass\n");
    env.put(".env", "ONE=1\n");
    env
}

#[tokio::test]
async fn the_three_modes() {
    let env = tree();
    assert_eq!(grep(&env, json!({"pattern": "one"})).await, "a.rs\nsrc/b.rs\nsrc/c.py");
    let content = grep(&env, json!({"pattern": "^fn", "output_mode": "content"})).await;
    assert_eq!(content, "a.rs\n1:fn one() {}\n2:fn two() {}\n\nsrc/b.rs\n2:fn three() {}");
    let plain = json!({"pattern": "two", "output_mode": "content", "-n": false});
    assert_eq!(grep(&env, plain).await, "a.rs\nfn two() {}");
    let count = grep(&env, json!({"pattern": "fn", "output_mode": "count"})).await;
    assert_eq!(count, "a.rs:2\nsrc/b.rs:1\n[3 matches in 2 files]");
    let output = env.run(&GrepTool, json!({"pattern": "fn", "output_mode": "content"})).await;
    assert_eq!(output.unwrap().summary.as_deref(), Some("3 matches"));
}

#[tokio::test]
async fn empty_arguments_are_none_at_all() {
    let env = tree();
    let empty = json!({"pattern": "two", "path": "", "glob": "", "type": "", "output_mode": "content",
        "-i": "", "-n": "", "-A": "", "-B": "", "-C": "", "head_limit": "", "offset": "",
        "multiline": ""});
    assert_eq!(grep(&env, empty).await, "a.rs\n2:fn two() {}");
    let huge = json!({"pattern": "two", "-A": 1e20, "-B": 1e20, "path": "a.rs"});
    assert!(grep(&env, huge).await.contains("2:fn two() {}"));
}

#[tokio::test]
async fn lines_around_a_match_are_shown() {
    let env = ToolTestEnv::new();
    env.put("f", "1\n2\nx\n4\n5\n6\n7\nx\n9\n");
    let around = json!({"pattern": "x", "output_mode": "content", "-C": "1"});
    let expected = "f\n2-2\n3:x\n4-4\n--\n7-7\n8:x\n9-9";
    assert_eq!(grep(&env, around).await, expected);
    let after = json!({"pattern": "x", "-A": 1, "-B": 0, "path": "f", "head_limit": 2});
    let expected = "f\n3:x\n4-4\n[3 more lines in this file]\n\
                    [3 more lines; go on with offset=2, or narrow the search]";
    assert_eq!(grep(&env, after).await, expected);
    let on = json!({"pattern": "x", "-A": 1, "path": "f", "offset": 2});
    assert_eq!(grep(&env, on).await, "f\n--\n8:x\n9-9");
}

#[tokio::test]
async fn case_names_and_types_narrow_the_search() {
    let env = tree();
    let cases = [
        (json!({"pattern": "ONE", "-i": true}), ".env\na.rs\nsrc/b.rs\nsrc/c.py"),
        (json!({"pattern": "one", "glob": "*.rs"}), "a.rs\nsrc/b.rs"),
        (json!({"pattern": "one", "glob": "!*.rs"}), "src/c.py"),
        (json!({"pattern": "one", "glob": "src/*.{rs,py}"}), "src/b.rs\nsrc/c.py"),
        (json!({"pattern": "one", "type": "py"}), "src/c.py"),
        (json!({"pattern": "one", "type": "rs"}), "a.rs\nsrc/b.rs"),
        (json!({"pattern": "one", "path": "src", "glob": "b.*"}), "src/b.rs"),
        (json!({"pattern": "one", "path": "src/c.py"}), "src/c.py"),
        (json!({"pattern": "nothing like it"}), "No matches."),
    ];
    for (input, expected) in cases {
        assert_eq!(grep(&env, input.clone()).await, expected, "{input}");
    }
}

#[tokio::test]
async fn matches_may_go_over_line_ends() {
    let env = tree();
    let spanning = json!({"pattern": "one.*two", "multiline": true, "output_mode": "content"});
    assert_eq!(grep(&env, spanning).await, "a.rs\n1:fn one() {}\n2:fn two() {}");
    assert_eq!(grep(&env, json!({"pattern": "one.*two"})).await, "No matches.");
    let written = json!({"pattern": "\\{\\}\\n\\nlet"});
    assert_eq!(grep(&env, written).await, "a.rs");
    assert_eq!(grep(&env, json!({"pattern": "one;$"})).await, "src/b.rs", "before CRLF");
}

#[tokio::test]
async fn ignored_denied_and_special_files_are_left_out() {
    let env = tree();
    env.put(".gitignore", "target/\n");
    env.put("target/x", "one");
    env.put(".git/config", "one");
    env.put("secret.txt", "one");
    env.put("binary", b"one\0\0\x01two");
    env.fifo("pipe");
    symlink(env.path("src"), env.path("link")).unwrap();
    symlink(env.path("a.rs"), env.path("link.rs")).unwrap();
    // S49 for the denied one, R49 for the FIFO.
    let left_out = "[1 file or folder is left out, because deny rules forbid reading]";
    let expected = format!("a.rs\nsrc/b.rs\nsrc/c.py\n{left_out}");
    assert_eq!(grep(&env, json!({"pattern": "one"})).await, expected);
    let denied = json!({"pattern": "one", "path": "secret.txt"});
    assert_eq!(grep(&env, denied).await, format!("No matches.\n{left_out}"));
    env.put("src/secrets/a", "one");
    env.put("src/secrets/b", "one");
    let output = env.run(&GrepTool, json!({"pattern": "one"})).await.unwrap();
    assert_eq!(output.output["hidden"], 2, "a folder counts once");
    assert!(output.observation.ends_with("because deny rules forbid reading]"));
    fs::remove_dir_all(env.path("src/secrets")).unwrap();
    assert_eq!(grep(&env, json!({"pattern": "one", "path": "link.rs"})).await, "link.rs");
    assert_eq!(grep(&env, json!({"pattern": "use", "path": "link"})).await, "link/b.rs");
    let ignored = json!({"pattern": "one", "path": "target"});
    assert_eq!(grep(&env, ignored).await, "target/x", "a folder that is named is searched");
}

#[tokio::test]
async fn files_share_the_room_and_the_rest_is_named_and_counted() {
    let env = ToolTestEnv::new();
    env.put("a", "x\n".repeat(1000));
    env.put("b", "x\n".repeat(2));
    env.put("c", "x\n".repeat(8));
    let content = |more: Value| {
        let mut input = json!({"pattern": "x", "output_mode": "content"});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    };
    let first = grep(&env, content(json!({"head_limit": 8}))).await;
    assert_eq!(
        first,
        "a\n1:x\n2:x\n3:x\n[997 more lines in this file]\n\nb\n1:x\n2:x\n\nc\n1:x\n2:x\n3:x\n\
         [5 more lines in this file]\n[1002 more lines; go on with offset=8, or narrow the search]"
    );
    let next = grep(&env, content(json!({"head_limit": 3, "offset": 8}))).await;
    assert_eq!(
        next,
        "a\n4:x\n5:x\n[995 more lines in this file]\n\nc\n4:x\n[4 more lines in this file]\n\
         [999 more lines; go on with offset=11, or narrow the search]"
    );
    let few = grep(&env, content(json!({"head_limit": 1}))).await;
    assert_eq!(
        few,
        "a\n1:x\n[999 more lines in this file]\n[Also in b (2), c (8)]\n\
         [1009 more lines; go on with offset=1, or narrow the search]"
    );
    let past = env.run(&GrepTool, content(json!({"offset": 1010}))).await.unwrap_err();
    assert_eq!(past.0, "There are only 1010 lines; send an offset below that.");
}

#[tokio::test]
async fn pages_leave_nothing_out_and_show_nothing_twice() {
    let env = ToolTestEnv::new();
    for number in 0..50 {
        env.put(&format!("f{number:02}"), "x\n".repeat(1 + number % 10));
    }
    let input = |offset: usize| json!({"pattern": "x", "output_mode": "content", "head_limit": 40, "offset": offset});
    let mut rows = 0;
    let mut last_of_file = std::collections::HashMap::new();
    for page in 0..7 {
        let text = grep(&env, input(page * 40)).await;
        let mut file = String::new();
        for line in text.lines() {
            if let Some(number) = line.strip_suffix(":x") {
                let number: u32 = number.parse().unwrap();
                let last = last_of_file.insert(file.clone(), number).unwrap_or(0);
                assert_eq!(number, last + 1, "{file}");
                rows += 1;
            } else if line.starts_with('f') {
                file = line.to_owned();
            }
        }
    }
    assert_eq!(rows, 275);
    let output =
        env.run(&GrepTool, json!({"pattern": "x", "output_mode": "content"})).await.unwrap();
    assert_eq!(output.summary.as_deref(), Some("275 matches"));
    assert!(
        output
            .observation
            .ends_with("[25 more lines; go on with offset=250, or narrow the search]")
    );
    let names = grep(&env, json!({"pattern": "x", "head_limit": 2, "offset": 3})).await;
    assert!(names.starts_with("f03\nf04\n[Also in f05 (1), "), "{names}");
    assert!(names.contains(" and 25 more files]\n[45 more lines; go on with offset=5"), "{names}");
    let all = json!({"pattern": "x", "output_mode": "content", "head_limit": 0});
    assert_eq!(grep(&env, all).await.matches(":x").count(), 275);
}

#[tokio::test]
async fn a_result_is_bounded_and_goes_on_where_it_was_cut() {
    let env = ToolTestEnv::new();
    for name in ["a", "b"] {
        env.put(name, format!("{}\n", "x".repeat(400)).repeat(100));
    }
    let text = grep(&env, json!({"pattern": "x", "output_mode": "content"})).await;
    assert!(text.len() < 41_000, "{}", text.len());
    let shown = text.lines().filter(|line| line.ends_with("xxx")).count();
    assert!(text.contains(&format!("go on with offset={shown},")), "{}", &text[text.len() - 200..]);
    assert!(text.contains("\nb\n1:x"), "both files are shown");
}

#[tokio::test]
async fn long_lines_show_the_match() {
    let env = ToolTestEnv::new();
    env.put("min.js", format!("{}needle{}", "ä".repeat(1000), "b".repeat(1000)));
    let text = grep(&env, json!({"pattern": "needle", "output_mode": "content"})).await;
    assert!(text.starts_with("min.js\n1:[1900 bytes] …ä"), "{text}");
    assert!(text.contains("äneedleb") && text.ends_with("more characters]"), "{text}");
}

#[tokio::test]
async fn other_encodings_are_searched() {
    let env = ToolTestEnv::new();
    env.put("latin", b"caf\xe9 one\n");
    env.put("wide", b"\xff\xfeo\0n\0e\0");
    let text = grep(&env, json!({"pattern": "one", "output_mode": "content"})).await;
    assert_eq!(text, "latin\n1:café one\n\nwide\n1:one");
}

#[tokio::test]
async fn bad_input_tells_what_to_send() {
    let env = tree();
    fs::create_dir(env.path("lib")).unwrap();
    env.fifo("pipe");
    let cases = [
        (json!({}), "Grep: `pattern` is missing."),
        (json!({"pattern": ""}), "Grep: `pattern` is empty."),
        (json!({"pattern": "a("}), "Grep: `pattern` is no regular expression:"),
        (json!({"pattern": "x", "path": "sr"}), "There is no sr. Did you mean src?"),
        (json!({"pattern": "x", "path": "pipe"}), "pipe is a FIFO, socket or device"),
        (json!({"pattern": "x", "output_mode": "all"}), "Grep: `output_mode` must be"),
        (
            json!({"pattern": "x", "type": "pyton"}),
            "Grep: there is no type `pyton`. Did you mean py",
        ),
        (json!({"pattern": "x", "glob": "["}), "Grep: `glob`: unclosed character class"),
        (json!({"pattern": "x", "-A": "many"}), "Grep: `-A` must be a whole number"),
    ];
    for (input, expected) in cases {
        let error = env.run(&GrepTool, input).await.unwrap_err();
        assert!(error.0.starts_with(expected), "{error}");
    }
    let braces = env.run(&GrepTool, json!({"pattern": "interface{}"})).await.unwrap_err();
    assert!(braces.0.contains("Put \\ before ( )"), "{braces}");
    let around = env.run(&GrepTool, json!({"pattern": "(?!x)y"})).await.unwrap_err();
    assert!(around.0.contains("There is no look-around"), "{around}");
}

#[tokio::test]
async fn a_cancelled_search_ends() {
    let env = tree();
    env.context.cancel.cancel();
    let output = env.run(&GrepTool, json!({"pattern": "one"})).await.unwrap();
    assert_eq!(output.status, ToolStatus::Cancelled);
}

#[tokio::test]
async fn a_pattern_that_would_take_all_memory_is_an_error() {
    let env = tree();
    for pattern in ["(a{1000}){1000}", "((\\w{1,200}){200}x?){200}"] {
        let error = env.run(&GrepTool, json!({"pattern": pattern})).await.unwrap_err();
        assert!(error.0.starts_with("Grep: `pattern`: it is too large; make it"), "{error}");
    }
    let many = json!({"pattern": "one", "glob": "{a,b}".repeat(2000)});
    let error = env.run(&GrepTool, many).await.unwrap_err();
    assert!(error.0.starts_with("Grep: `glob`: the pattern is longer than"), "{error}");
}

#[tokio::test]
async fn a_line_too_long_for_a_large_pattern_is_named_and_a_simple_one_finds_it() {
    let env = ToolTestEnv::new();
    env.put("long", format!("one\n{}one\n", "x".repeat(1 << 20)));
    env.put("short", "one\n");
    let large = "one|(a{1000}){40}";
    let text = grep(&env, json!({"pattern": large, "output_mode": "count"})).await;
    let note = "[Not searched to the end, because a line (or with multiline the file) is too long for this \
                pattern: long. A simpler pattern can search more]";
    assert_eq!(text, format!("long:1\nshort:1\n[2 matches in 2 files]\n{note}"));
    let spanning = json!({"pattern": "x.one|(a{1000}){40}", "multiline": true, "path": "long"});
    let whole = grep(&env, spanning).await;
    assert_eq!(whole, format!("No matches.\n{note}"));
    let simple = grep(&env, json!({"pattern": "one", "output_mode": "count"})).await;
    assert_eq!(simple, "long:2\nshort:1\n[3 matches in 2 files]");
}
