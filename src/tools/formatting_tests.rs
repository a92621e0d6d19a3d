//! What a formatter makes of a change: one text, shown, written and told.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::{Value, json};

use super::edit::EditTool;
use super::testing::ToolTestEnv;
use super::write::WriteTool;
use super::{FormatRequest, FormatResult, TextFormatter, Tool};
use crate::domain::{ToolDisplay, ToolOutput, ToolStatus};

/// A formatter that answers with a function of how often it has run, and the request.
struct FakeFormatter<F> {
    answer: F,
    runs: AtomicUsize,
}

#[async_trait]
impl<F: Fn(usize, FormatRequest) -> FormatResult + Send + Sync> TextFormatter for FakeFormatter<F> {
    async fn format(&self, request: FormatRequest) -> FormatResult {
        (self.answer)(self.runs.fetch_add(1, Ordering::SeqCst), request)
    }
}

/// A workspace with this formatter, and how often it has run.
fn env_with(
    answer: impl Fn(usize, FormatRequest) -> FormatResult + Send + Sync + 'static,
) -> ToolTestEnv {
    let mut env = ToolTestEnv::new();
    env.context.formatter = Arc::new(FakeFormatter { answer, runs: AtomicUsize::new(0) });
    env
}

fn by_fmt(text: &str) -> FormatResult {
    FormatResult::Formatted { by: "fmt".into(), text: text.into() }
}

/// A formatter that puts one blank around every `=`.
fn spaces(_: usize, request: FormatRequest) -> FormatResult {
    let FormatRequest { after, is_changed_again, .. } = request;
    if is_changed_again {
        return FormatResult::NotConfigured;
    }
    let text = after.replace(" = ", "=").replace('=', " = ");
    by_fmt(&text)
}

fn edit(old: &str, new: &str) -> Value {
    json!({"file_path": "f", "old_string": old, "new_string": new})
}

fn write(content: &str) -> Value {
    json!({"file_path": "f", "content": content})
}

#[tokio::test]
async fn an_edit_writes_what_the_formatter_makes_of_it_in_one_change() {
    let env = env_with(spaces);
    env.put("f", "a = 1\nb = 2\nc=3\n");
    let output = env.run(&EditTool, edit("a = 1", "a=4")).await.unwrap();
    assert_eq!(env.bytes("f"), b"a = 4\nb = 2\nc = 3\n");
    assert_eq!(
        output.observation,
        "Changed f (+2 -2).\nfmt then formatted the file; 2 lines differ from your text:\n1\ta = 4\n3\tc = 3"
    );
    assert_eq!(output.summary.as_deref(), Some("fmt +2 -2"));
    assert_eq!(output.output["formatted_by"], "fmt");
    let Some(ToolDisplay::Diff(diff)) = output.display else { panic!("no diff") };
    assert_eq!((diff.added, diff.formatted_by.as_deref()), (2, Some("fmt")));
    let changes = env.effects.changes();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].before.as_deref(), Some(&b"a = 1\nb = 2\nc=3\n"[..]));
    assert_eq!(changes[0].after, b"a = 4\nb = 2\nc = 3\n");
    // The model knows the file as it is now, and what it was told matches.
    env.run(&EditTool, edit("c = 3", "c = 5")).await.unwrap();
    env.seen("f");
    env.run(&WriteTool, write("d = 1\n")).await.unwrap();
}

#[tokio::test]
async fn a_text_that_is_formatted_already_is_told_as_ever() {
    let env = env_with(spaces);
    let output = env.run(&WriteTool, write("a = 1\n")).await.unwrap();
    assert_eq!(output.observation, "Made f with 1 line.");
    assert_eq!(output.summary.as_deref(), Some("new file, 1 line"));
    let Some(ToolDisplay::Diff(diff)) = output.display else { panic!("no diff") };
    assert_eq!(diff.formatted_by, None);
}

#[tokio::test]
async fn what_was_shown_is_what_is_written() {
    // It changes its mind with each run.
    let env = env_with(|run, _| by_fmt(&format!("version {run}\n")));
    env.put("f", "old\n");
    env.seen("f");
    let input = write("new\n");
    let context = env.context_for(&WriteTool, &input).unwrap();
    let shown = WriteTool.preview(&context, &input).await.unwrap().unwrap();
    assert_eq!(shown.formatted_by.as_deref(), Some("fmt"));
    assert_eq!(env.bytes("f"), b"old\n");
    env.run(&WriteTool, input).await.unwrap();
    assert_eq!(env.bytes("f"), b"version 0\n");
}

#[tokio::test]
async fn a_part_of_a_change_is_written_as_it_was_picked() {
    let env = env_with(spaces);
    env.put("f", "a=1\n2\n3\n4\n5\n6\n7\n8\n9\nz\n");
    env.seen("f");
    let input = edit("z", "z=2");
    let context = env.context_for(&EditTool, &input).unwrap();
    let shown = EditTool.preview(&context, &input).await.unwrap().unwrap();
    assert_eq!(shown.change_count(), 2, "the edit, and a line that was not formatted");
    let left_out = [0].into_iter().collect();
    let part = EditTool.narrow_input(&context, &input, &shown, &left_out).await.unwrap();
    let output = env.run(&EditTool, part).await.unwrap();
    assert_eq!(env.bytes("f"), b"a=1\n2\n3\n4\n5\n6\n7\n8\n9\nz = 2\n");
    assert!(!output.observation.contains("fmt"), "{}", output.observation);
}

#[tokio::test]
async fn s51_a_file_that_changes_after_the_preview_stays_formatted_or_not() {
    let env = env_with(spaces);
    env.put("f", "old\n");
    let input = edit("old", "a=1");
    let context = env.context_for(&EditTool, &input).unwrap();
    EditTool.preview(&context, &input).await.unwrap();
    env.put("f", "theirs, not old\n");
    let error = env.run(&EditTool, input).await.unwrap_err();
    assert!(error.0.starts_with("f has changed since the change was approved."), "{error}");
    assert_eq!(env.bytes("f"), b"theirs, not old\n");
}

#[tokio::test]
async fn a_formatter_that_fails_leaves_the_text_and_the_result_says_why() {
    let env = env_with(|run, _| {
        FormatResult::Failed((run == 0).then(|| "fmt failed: no such brace.".into()))
    });
    let output = env.run(&WriteTool, write("a=1\n")).await.unwrap();
    assert_eq!(env.bytes("f"), b"a=1\n");
    assert_eq!(output.observation, "Made f with 1 line. Not formatted: fmt failed: no such brace.");
    let output = env.run(&WriteTool, write("b=1\n")).await.unwrap();
    assert_eq!(output.observation, "Changed f (+1 -1).");
}

#[tokio::test]
async fn a_formatter_that_takes_the_change_back_is_not_followed() {
    let env = env_with(|_, request| by_fmt(&request.before.unwrap_or_default()));
    env.put("f", "a\n");
    env.run(&EditTool, edit("a", "b")).await.unwrap();
    assert_eq!(env.bytes("f"), b"b\n");
}

#[tokio::test]
async fn a_file_that_a_later_call_changes_is_formatted_with_that_one() {
    let env = env_with(spaces);
    env.put("f", "a=1\nb=1\n");
    let path = env.path("f");
    let first = env.context.reads.announce(std::slice::from_ref(&path));
    let second = env.context.reads.announce(&[path]);
    env.run(&EditTool, edit("a=1", "a=2")).await.unwrap();
    assert_eq!(env.bytes("f"), b"a=2\nb=1\n", "the next call knows it as it was");
    drop(first);
    env.run(&EditTool, edit("b=1", "b=2")).await.unwrap();
    assert_eq!(env.bytes("f"), b"a = 2\nb = 2\n");
    drop(second);
}

#[tokio::test]
async fn line_ends_and_encodings_stay() {
    let env = env_with(|run, request| match run {
        0 => by_fmt(&request.after.replace('=', " = ").replace("\r\n", "\n")),
        _ => by_fmt("must not be asked"),
    });
    env.put("f", "a=1\r\nb\r\n");
    env.run(&EditTool, edit("b", "c")).await.unwrap();
    assert_eq!(env.bytes("f"), b"a = 1\r\nc\r\n");
    for bytes in [&b"\xff\xfea\0"[..], b"\xef\xbb\xbfa\n", b"caf\xe9 a\n"] {
        env.put("f", bytes);
        env.run(&EditTool, edit("a", "b")).await.unwrap_or_else(|_| ToolOutput::text(""));
        assert!(!env.bytes("f").ends_with(b"asked"));
    }
}

#[tokio::test]
async fn of_many_lines_the_model_is_told_some() {
    let env = env_with(|_, request| by_fmt(&request.after.replace('=', &" = ".repeat(200))));
    let output = env.run(&WriteTool, write(&"a=1\n".repeat(100))).await.unwrap();
    let told = output.observation;
    assert!(told.contains("100 lines differ from your text:\n1\ta = "), "{told}");
    assert!(told.ends_with("\n[88 more: read the file before you edit there]"), "{told}");
    assert!(told.len() < 3_000, "{}", told.len());
    let env = env_with(|_, _| by_fmt("a\n"));
    let output = env.run(&WriteTool, write("a\n\n\n")).await.unwrap();
    assert!(output.observation.ends_with("it took lines out and changed none."));
}

#[tokio::test]
async fn a_stop_ends_the_formatter_and_nothing_is_written() {
    struct EndlessFormatter;
    #[async_trait]
    impl TextFormatter for EndlessFormatter {
        async fn format(&self, _: FormatRequest) -> FormatResult {
            std::future::pending().await
        }
    }
    let mut env = ToolTestEnv::new();
    env.context.formatter = Arc::new(EndlessFormatter);
    let input = write("new\n");
    let context = env.context_for(&WriteTool, &input).unwrap();
    let stop = context.cancel.clone();
    let (output, ()) = tokio::join!(WriteTool.run(&context, input), async { stop.cancel() });
    assert_eq!(output.unwrap().status, ToolStatus::Cancelled);
    assert!(!env.path("f").exists());
}
