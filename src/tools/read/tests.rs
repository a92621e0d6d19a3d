//! Read as the model uses it, on real files.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;

use super::*;
use crate::domain::ContentHash;
use crate::tools::paths::FIND_IT;
use crate::tools::testing::ToolTestEnv;

async fn read(env: &ToolTestEnv, input: Value) -> String {
    env.run(&ReadTool, input).await.unwrap().observation
}

#[tokio::test]
async fn lines_are_numbered_and_the_content_is_remembered() {
    let env = ToolTestEnv::new();
    env.put("f", "one\n\ttwo\r\nthree");
    assert_eq!(read(&env, json!({"path": "f"})).await, "1\tone\n2\t\ttwo\n3\tthree\n");
    let seen = env.context.reads.seen(&env.path("f"));
    assert_eq!(seen, Some(ContentHash::of(b"one\n\ttwo\r\nthree")));
}

#[tokio::test]
async fn a_cut_result_says_how_to_continue() {
    let env = ToolTestEnv::new();
    let lines: String = (1..=3000).map(|n| format!("line {n}\n")).collect();
    env.put("f", lines.as_str());
    let some = read(&env, json!({"file_path": "f", "offset": "3", "limit": 2})).await;
    assert_eq!(some, "3\tline 3\n4\tline 4\n[Lines 3-4 of 3000. Go on with offset=5.]");
    let all = read(&env, json!({"file_path": "f"})).await;
    assert!(all.ends_with("2000\tline 2000\n[Lines 1-2000 of 3000. Go on with offset=2001.]"));
    let last = read(&env, json!({"file_path": "f", "offset": 3000, "limit": null})).await;
    assert_eq!(last, "3000\tline 3000\n");
}

#[tokio::test]
async fn long_lines_and_much_text_are_cut() {
    let env = ToolTestEnv::new();
    env.put("long", "ä".repeat(2005));
    assert!(read(&env, json!({"file_path": "long"})).await.ends_with("… [5 more characters]\n"));
    env.put("much", format!("{}\n", "x".repeat(1000)).repeat(100));
    let much = read(&env, json!({"file_path": "much"})).await;
    assert!(much.len() < TOTAL_BYTES + 100);
    assert!(
        much.ends_with("[Lines 1-59 of 100. Go on with offset=60.]"),
        "{}",
        &much[much.len() - 60..]
    );
}

#[tokio::test]
async fn huge_files_are_read_in_part() {
    let env = ToolTestEnv::new();
    let mut file = fs::File::create(env.path("huge")).unwrap();
    for number in 1..=20 {
        writeln!(file, "line {number} {}", "x".repeat(1 << 20)).unwrap();
    }
    let text = read(&env, json!({"file_path": "huge", "offset": 19})).await;
    assert!(text.starts_with("19\tline 19 xxx"), "{}", &text[..40]);
    assert!(text.contains("\n20\tline 20 xxx"));
    assert!(
        text.ends_with("[Lines 19-20 of a file of 20.0 MB. Go on with offset=21, or use Grep.]")
    );
    let error = env.run(&ReadTool, json!({"file_path": "huge", "offset": 21})).await.unwrap_err();
    assert_eq!(error.0, "huge has only 20 lines.");
    env.context.cancel.cancel();
    let output = env.run(&ReadTool, json!({"file_path": "huge"})).await.unwrap();
    assert_eq!(output.status, crate::domain::ToolStatus::Cancelled);
}

#[tokio::test]
async fn other_encodings_are_shown_as_text() {
    let env = ToolTestEnv::new();
    env.put("latin", b"caf\xe9\n");
    env.put("wide", b"\xff\xfea\0\xe9\0");
    env.put("nul", b"some words\0and more\n");
    assert_eq!(read(&env, json!({"file_path": "latin"})).await, "1\tcafé\n");
    assert_eq!(read(&env, json!({"file_path": "wide"})).await, "1\taé\n");
    assert_eq!(read(&env, json!({"file_path": "nul"})).await, "1\tsome words␀and more\n");
}

#[tokio::test]
async fn binary_and_empty_files_say_so() {
    let env = ToolTestEnv::new();
    env.put("a.zip", b"PK\x03\x04 abc");
    env.put("empty", "");
    let archive = read(&env, json!({"file_path": "a.zip"})).await;
    assert_eq!(
        archive,
        "a.zip is no text file (ZIP archive, 8 bytes). Read shows text files, PDFs, images and folders."
    );
    assert_eq!(read(&env, json!({"file_path": "empty"})).await, "empty is empty.");
}

#[tokio::test]
async fn a_notebook_is_shown_by_its_cells() {
    let env = ToolTestEnv::new();
    let cell = |id: &str, source: String| json!({"cell_type": "code", "id": id, "source": source});
    let notebook =
        |cells: Vec<Value>| json!({"cells": cells, "nbformat": 4, "nbformat_minor": 5}).to_string();
    env.put("a.ipynb", notebook(vec![cell("a1", "x\ny".into()), cell("b2", "z".into())]));
    let output = env.run(&ReadTool, json!({"path": "a.ipynb"})).await.unwrap();
    let heading = "[a.ipynb is a notebook with 2 cells, shown as text. NotebookEdit changes a cell by the \
                   name that follows \"cell\".]\n";
    let cells = "1\t=== cell a1, code\n2\tx\n3\ty\n4\t=== cell b2, code\n5\tz\n";
    assert_eq!(output.observation, format!("{heading}{cells}"));
    assert_eq!(output.summary.as_deref(), Some("2 cells"));
    assert_eq!(output.read.unwrap().hash, ContentHash::of(&env.bytes("a.ipynb")));
    let part = read(&env, json!({"path": "a.ipynb", "offset": 2, "limit": 1})).await;
    assert_eq!(part, "2\tx\n[Lines 2-2 of 5. Go on with offset=3.]");
    env.put("none.ipynb", notebook(vec![]));
    assert_eq!(
        read(&env, json!({"path": "none.ipynb"})).await,
        "none.ipynb is a notebook without cells."
    );
    env.put("long.ipynb", notebook(vec![cell("a", "1\n".repeat(20_000))]));
    let long = read(&env, json!({"path": "long.ipynb"})).await;
    assert!(long.contains("]\n[long.ipynb has 20001 lines (39.1 KB). Only"), "{}", &long[..300]);
    assert!(long.ends_with("[Lines 1-200 of 20001. Go on with offset=201.]"));
    env.context.cancel.cancel();
    let output = env.run(&ReadTool, json!({"path": "a.ipynb"})).await.unwrap();
    assert_eq!(output.status, crate::domain::ToolStatus::Cancelled);
}

#[tokio::test]
async fn what_is_no_valid_notebook_is_shown_as_any_text() {
    let env = ToolTestEnv::new();
    for (content, expected) in [
        (
            "{\n",
            "[a.ipynb is not valid JSON: EOF while parsing an object at line 2 column 0. So it is \
                 shown as any text.]\n1\t{\n",
        ),
        (
            "[]",
            "[a.ipynb is not a notebook of nbformat 4 (it has no `nbformat`). So it is shown as any \
                text.]\n1\t[]\n",
        ),
        ("", "a.ipynb is empty."),
        (
            "\0\0\0\0",
            "a.ipynb is no text file (binary file, 4 bytes). Read shows text files, PDFs, \
                     images and folders.",
        ),
    ] {
        env.put("a.ipynb", content);
        assert_eq!(read(&env, json!({"path": "a.ipynb"})).await, expected);
    }
}

#[tokio::test]
async fn an_image_goes_to_the_model() {
    let env = ToolTestEnv::new();
    let png = crate::platform::image::png("p", (30, 20), &[9; 30 * 20 * 4]).unwrap();
    env.put("shots/a.png", &png);
    let output = env.run(&ReadTool, json!({"file_path": "shots/a.png"})).await.unwrap();
    assert_eq!(
        output.observation,
        "shots/a.png is an image (PNG image, 30×20). It follows the results."
    );
    assert_eq!(output.summary.as_deref(), Some("PNG image, 30×20"));
    let image = output.image.unwrap();
    assert_eq!((image.name(), &image.hash), ("a.png", &ContentHash::of(&png)));
    assert_eq!(env.effects.kept(), std::slice::from_ref(&png));
    assert_eq!(output.read.unwrap().hash, ContentHash::of(&png), "what was seen can be replaced");
    env.put("b.png", b"\x89PNG\r\n\x1a\n\0\0\0");
    let error = env.run(&ReadTool, json!({"file_path": "b.png"})).await.unwrap_err();
    assert!(error.0.starts_with("b.png is damaged") && !error.0.contains(".."), "{error}");
}

#[tokio::test]
async fn a_folder_is_listed_with_types_and_sizes() {
    let env = ToolTestEnv::new();
    env.put("w/src/main.rs", "");
    env.put("w/b.txt", "x".repeat(2048));
    env.put("w/a.log", "");
    env.put("w/.gitignore", "*.log\ntarget/\n");
    env.put("w/target/x", "");
    env.put("w/.git/config", "");
    env.put("w/secret.txt", "");
    env.fifo("w/pipe");
    std::os::unix::fs::symlink("src", env.path("w/link")).unwrap();
    let output = env.run(&ReadTool, json!({"path": "w"})).await.unwrap();
    assert_eq!(
        output.observation,
        "w is a folder with 8 entries:\n.git/  (ignored)\nsrc/\ntarget/  (ignored)\n\
         .gitignore  14 bytes\na.log  0 bytes  (ignored)\nb.txt  2.0 KB\nlink -> src\n\
         pipe  FIFO, socket or device\n\
         [1 file or folder is left out, because deny rules forbid reading]"
    );
    assert_eq!(output.summary.as_deref(), Some("8 entries"));
    let some = read(&env, json!({"path": "w", "offset": 2, "limit": 2})).await;
    assert!(
        some.starts_with(
            "w is a folder with 8 entries:\nsrc/\ntarget/  (ignored)\n[Go on with offset=4"
        ),
        "{some}"
    );
    assert_eq!(
        env.run(&ReadTool, json!({"path": "w", "offset": 9})).await.unwrap_err().0,
        "w has only 8 entries; send an offset up to 8."
    );
    fs::create_dir(env.path("none")).unwrap();
    assert_eq!(read(&env, json!({"path": "none"})).await, "none is an empty folder.");
}

#[tokio::test]
async fn a_long_folder_is_listed_in_parts() {
    let env = ToolTestEnv::new();
    for number in 0..1_000 {
        env.put(&format!("w/{}{number:04}", "x".repeat(100)), "");
    }
    let output = read(&env, json!({"path": "w", "limit": 20_000})).await;
    assert!(output.len() < TOTAL_BYTES + 200, "{} bytes", output.len());
    let listed = output.matches("xx0").count();
    assert!(output.ends_with(&format!("[Go on with offset={}, or use Glob.]", listed + 1)));
}

#[tokio::test]
async fn an_offset_beyond_the_end_is_no_read() {
    let env = ToolTestEnv::new();
    env.put("f", "one\ntwo\n");
    let error = env.run(&ReadTool, json!({"path": "f", "offset": 3})).await.unwrap_err();
    assert_eq!(error.0, "f has only 2 lines; send an offset up to 2.");
    assert_eq!(env.context.reads.seen(&env.path("f")), None);
    let output = env.run(&ReadTool, json!({"path": "f", "offset": 2})).await.unwrap();
    let seen = output.read.unwrap();
    assert_eq!(
        (seen.path, Some(&seen.hash)),
        (env.path("f"), env.context.reads.seen(&env.path("f")).as_ref())
    );
}

#[tokio::test]
async fn a_very_long_file_says_how_long_it_is_before_it_fills_the_window() {
    let env = ToolTestEnv::new();
    env.put("log", "a line of it\n".repeat(50_000));
    let beginning = read(&env, json!({"path": "log"})).await;
    assert!(
        beginning.starts_with(
            "[log has 50000 lines (634.8 KB). Only its beginning is shown: send offset and limit \
             for other lines, or use Grep.]\n1\ta line of it\n"
        ),
        "{}",
        &beginning[..200]
    );
    assert!(
        beginning.ends_with("\n200\ta line of it\n[Lines 1-200 of 50000. Go on with offset=201.]")
    );
    let asked = read(&env, json!({"path": "log", "limit": 1000})).await;
    assert!(asked.starts_with("1\ta line") && asked.contains("\n1000\ta line"));
    let on = read(&env, json!({"path": "log", "offset": 201})).await;
    assert!(on.starts_with("201\ta line") && on.contains("\n2200\ta line"));
}

#[tokio::test]
async fn r49_other_kinds_of_files_are_refused() {
    let env = ToolTestEnv::new();
    env.fifo("pipe");
    fs::create_dir(env.path("src")).unwrap();
    env.put("main.rs", "");
    env.put("secret_main.rs", "");
    let cases = [
        ("pipe", "pipe is a FIFO, socket or device"),
        ("/dev/zero", "/dev/zero is a FIFO, socket or device"),
        ("mian.rs", "There is no mian.rs. Did you mean main.rs?"),
        ("quite-other", "There is no quite-other. Use Glob to search for it."),
    ];
    for (path, expected) in cases {
        let error = env.run(&ReadTool, json!({"file_path": path})).await.unwrap_err();
        assert!(error.0.starts_with(expected), "{error}");
    }
}

/// A model that is told of `..` goes there.
#[tokio::test]
async fn what_is_suggested_for_a_missing_path_is_there_and_inside_the_working_folder() {
    let env = ToolTestEnv::new();
    env.put("main.rs", "");
    env.put("src/tools/read.rs", "");
    env.put("src/hidden/secret_read.rs", "");
    let outside = env.path("").parent().unwrap().join("nowhere");
    let outside = |end: &str| outside.join(end).display().to_string();
    let cases = [
        ("lib/none/x.rs".to_owned(), FIND_IT),
        ("srcs/tools/read.rs".to_owned(), "Did you mean src/tools/read.rs?"),
        (
            "src/tool/raed.rs".to_owned(),
            "Its folder is not there either; `src` is the nearest folder that is.",
        ),
        ("src/tools/raed.rs".to_owned(), "Did you mean src/tools/read.rs?"),
        (outside("src/tools/read.rs"), "Did you mean src/tools/read.rs?"),
        (outside("main.rs"), "Did you mean main.rs?"),
        (outside("mian.rs"), FIND_IT),
        ("../mian.rs".to_owned(), FIND_IT),
        ("/src/hidden/secret_read.rs".to_owned(), FIND_IT),
        ("src/hidden/secret_raed.rs".to_owned(), FIND_IT),
    ];
    for (path, advice) in cases {
        let error = env.run(&ReadTool, json!({"file_path": path})).await.unwrap_err();
        let shown = env.context.place.show(&env.context.place.resolve(&path));
        assert_eq!(error.0, format!("There is no {shown}. {advice}"));
    }
}

#[tokio::test]
async fn r52_any_name_can_be_read() {
    let env = ToolTestEnv::new();
    let names: [&[u8]; 5] = [b"caf\xe9", b"a\nb\tc\x1b", b"-rf", b"trailing ", "👩‍👩‍👧 con".as_bytes()];
    for name in names {
        let path = env.path("").join(OsStr::from_bytes(name));
        fs::write(&path, "x").unwrap();
        let shown = env.context.place.show(&path);
        assert!(!shown.chars().any(char::is_control));
        assert_eq!(read(&env, json!({"file_path": shown})).await, "1\tx\n");
    }
}

#[test]
fn bad_input_tells_what_to_send() {
    let place = WorkingDirectory { cwd: "/w".into(), home: None };
    let error = ReadTool.access(&json!({"limit": 3}), &place).unwrap_err();
    assert!(error.0.starts_with("Read: `file_path` is missing. Send for example {"), "{error}");
    assert_eq!(
        ReadTool.access(&json!({"file_path": "../a/./b"}), &place),
        Ok(vec![ToolAccess::Read("/a/b".into())])
    );
}
