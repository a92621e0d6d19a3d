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
    assert_eq!(content, "a.rs:1:fn one() {}\na.rs:2:fn two() {}\nsrc/b.rs:2:fn three() {}");
    let plain = json!({"pattern": "two", "output_mode": "content", "-n": false});
    assert_eq!(grep(&env, plain).await, "a.rs:fn two() {}");
    let count = grep(&env, json!({"pattern": "fn", "output_mode": "count"})).await;
    assert_eq!(count, "a.rs:2\nsrc/b.rs:1\n[3 matches in 2 files]");
    let output = env.run(&GrepTool, json!({"pattern": "fn", "output_mode": "content"})).await;
    assert_eq!(output.unwrap().summary.as_deref(), Some("3 matches"));
}

#[tokio::test]
async fn lines_around_a_match_are_shown() {
    let env = ToolTestEnv::new();
    env.put("f", "1\n2\nx\n4\n5\n6\n7\nx\n9\n");
    let around = json!({"pattern": "x", "output_mode": "content", "-C": "1"});
    let expected = "f-2-2\nf:3:x\nf-4-4\n--\nf-7-7\nf:8:x\nf-9-9";
    assert_eq!(grep(&env, around).await, expected);
    let after = json!({"pattern": "x", "-A": 1, "-B": 0, "path": "f", "head_limit": 2});
    let expected = "f:3:x\nf-4-4\n[3 more lines; narrow the search or raise head_limit]";
    assert_eq!(grep(&env, after).await, expected);
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
    assert_eq!(grep(&env, spanning).await, "a.rs:1:fn one() {}\na.rs:2:fn two() {}");
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
async fn much_is_cut_in_the_order_of_paths() {
    let env = ToolTestEnv::new();
    for number in 0..50 {
        env.put(&format!("f{number:02}"), "x\n".repeat(10));
    }
    let output =
        env.run(&GrepTool, json!({"pattern": "x", "output_mode": "content"})).await.unwrap();
    let lines: Vec<&str> = output.observation.lines().collect();
    assert_eq!((lines[0], lines[249]), ("f00:1:x", "f24:10:x"));
    assert_eq!(lines[250..], ["[250 more lines; narrow the search or raise head_limit]"]);
    assert_eq!(output.summary.as_deref(), Some("500 matches"));
    let all = json!({"pattern": "x", "output_mode": "content", "head_limit": 0});
    assert_eq!(grep(&env, all).await.lines().count(), 500);
}

#[tokio::test]
async fn long_lines_show_the_match() {
    let env = ToolTestEnv::new();
    env.put("min.js", format!("{}needle{}", "ä".repeat(1000), "b".repeat(1000)));
    let text = grep(&env, json!({"pattern": "needle", "output_mode": "content"})).await;
    assert!(text.starts_with("min.js:1:[1900 bytes] …ä"), "{text}");
    assert!(text.contains("äneedleb") && text.ends_with("more characters]"), "{text}");
}

#[tokio::test]
async fn other_encodings_are_searched() {
    let env = ToolTestEnv::new();
    env.put("latin", b"caf\xe9 one\n");
    env.put("wide", b"\xff\xfeo\0n\0e\0");
    let text = grep(&env, json!({"pattern": "one", "output_mode": "content"})).await;
    assert_eq!(text, "latin:1:café one\nwide:1:one");
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
        (json!({"pattern": "x", "glob": "["}), "Grep: `glob`: error parsing glob"),
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
