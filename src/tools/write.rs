//! Write: makes a file, or replaces a whole one.
//!
//! A replaced file keeps its encoding, byte order mark and line ends where the new text can be
//! written with them.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde_json::{Value, json};

use super::change::{self, PlannedWrite, SeenState, WriteTarget};
use super::edit::placeholder_in;
use super::input::{ArgumentReader, FILE_NAMES, InputShape};
use super::text::{self, TextEncoding};
use super::{Tool, ToolContext, ToolError, WorkingDirectory, stopped_output, titles};
use crate::domain::{
    ExcludedHunks, FileDiff, ToolAccess, ToolCapability, ToolDescriptor, ToolKind, ToolOutput,
    ToolSpec,
};

/// Makes a file, or replaces a whole one that the model has read.
pub(super) struct WriteTool;

const SHAPE: InputShape = InputShape {
    tool: "Write",
    example: r#"{"file_path": "path/to/file", "content": "the whole content"}"#,
    arguments: &[("file_path", FILE_NAMES), ("content", &["contents", "file_text", "text"])],
    place: "",
};

static DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(SHAPE.tool, ToolKind::Edit, ToolCapability::WriteFiles);

struct WriteArguments {
    path: PathBuf,
    content: String,
}

#[async_trait]
impl Tool for WriteTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: SHAPE.tool.into(),
            description: "Makes a file, or replaces a whole file you have read.".into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "file_path": {"type": "string"},
                    "content": {"type": "string"},
                },
                "required": ["file_path", "content"],
            }),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &DESCRIPTOR
    }

    fn call_title(&self, input: &Value, cwd: &Path) -> String {
        titles::shown_path(titles::text(input, "file_path"), cwd)
    }

    fn access(
        &self,
        input: &Value,
        place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        Ok(vec![ToolAccess::Write(parse_arguments(input, place)?.path)])
    }

    async fn preview(
        &self,
        context: &ToolContext,
        input: &Value,
    ) -> Result<Option<FileDiff>, ToolError> {
        let change = planned(context, parse_arguments(input, &context.place)?).await?;
        Ok(change.preview(context, SHAPE.tool, input).await)
    }

    async fn narrow_input(
        &self,
        context: &ToolContext,
        input: &Value,
        shown: &FileDiff,
        left_out: &ExcludedHunks,
    ) -> Result<Value, ToolError> {
        let change = planned(context, parse_arguments(input, &context.place)?).await?;
        let content = change.without(context, (SHAPE.tool, input), shown, left_out)?;
        let path = context.place.show(&change.path);
        let narrowed = json!({"file_path": path, "content": content});
        // Line ends are adapted to the file, so the planned text must be exactly this one.
        let again = planned(context, parse_arguments(&narrowed, &context.place)?).await?;
        if again.texts.1 != content {
            return Err(change::not_in_part(&path));
        }
        change.approve_part(context, SHAPE.tool, &narrowed);
        Ok(narrowed)
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let planned = planned(context, parse_arguments(&input, &context.place)?).await;
        if context.cancel.is_cancelled() {
            return Ok(stopped_output());
        }
        let change = planned?;
        if change.before.as_ref() == Some(&change.after) {
            let shown = context.place.show(&change.path);
            return Ok(ToolOutput::text(format!("{shown} has exactly this content already."))
                .with_summary("unchanged"));
        }
        change.commit(context, (SHAPE.tool, &input), "").await
    }

    fn canonical_input(&self, input: Value) -> Value {
        SHAPE.canonical(input)
    }
}

fn parse_arguments(input: &Value, place: &WorkingDirectory) -> Result<WriteArguments, ToolError> {
    let input = ArgumentReader::new(SHAPE, input)?;
    let path = input.path("file_path", place)?;
    let content = input.text("content")?;
    Ok(WriteArguments { path, content })
}

async fn planned(context: &ToolContext, wanted: WriteArguments) -> Result<PlannedWrite, ToolError> {
    let WriteArguments { path, content } = wanted;
    let shown = context.place.show(&path);
    // What stands in a file that is replaced whole is lost, so the model has to know it.
    let before = match change::current(context, &path, "overwrite").await? {
        WriteTarget::File(bytes, seen) => {
            seen.must_be_current(&shown)?;
            Some(bytes)
        }
        WriteTarget::Missing => None,
    };
    let (old_text, encoding) =
        before.as_deref().and_then(text::decode).unwrap_or((String::new(), TextEncoding::Utf8));
    if let Some(line) = placeholder_in(&content, &old_text).filter(|_| before.is_some()) {
        return Err(ToolError(format!(
            "`content` holds the placeholder `{line}`, which would replace real text. Send the \
             whole file, or use Edit."
        )));
    }
    let content = text::with_line_ends_of(&old_text, content);
    let after = change::encode_text(&content, encoding, &shown)?;
    Ok(PlannedWrite { path, before, seen: SeenState::Current, after, texts: (old_text, content) })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::domain::{ToolDisplay, ToolStatus};
    use crate::tools::testing::ToolTestEnv;

    fn input(path: &str, content: &str) -> Value {
        json!({"file_path": path, "content": content})
    }

    #[tokio::test]
    async fn a_new_file_is_made_with_its_folders() {
        let env = ToolTestEnv::new();
        let output = env.run(&WriteTool, input("a/b/c.txt", "one\ntwo\n")).await.unwrap();
        assert_eq!(env.bytes("a/b/c.txt"), b"one\ntwo\n");
        assert_eq!(output.observation, "Made a/b/c.txt with 2 lines.");
        assert_eq!(output.summary.as_deref(), Some("new file, 2 lines"));
        assert!(matches!(output.display, Some(ToolDisplay::Diff(diff)) if diff.added == 2));
        let changes = env.effects.changes();
        assert_eq!((&changes[0].before, &changes[0].after[..]), (&None, &b"one\ntwo\n"[..]));
    }

    #[tokio::test]
    async fn an_existing_file_has_to_be_read_first() {
        let env = ToolTestEnv::new();
        env.put("f", "old\n");
        let error = env.run(&WriteTool, input("f", "new\n")).await.unwrap_err();
        assert_eq!(error.0, "You have not read f yet. Read it first, then repeat the call.");
        env.seen("f");
        let output = env.run(&WriteTool, input("f", "new\n")).await.unwrap();
        assert_eq!(output.summary.as_deref(), Some("+1 -1"));
        let again = env.run(&WriteTool, input("f", "newer\n")).await;
        assert!(again.is_ok(), "the model knows what it wrote itself");
    }

    #[tokio::test]
    async fn r16_a_file_changed_since_it_was_read_stays() {
        let env = ToolTestEnv::new();
        env.put("f", "old\n");
        env.seen("f");
        env.put("f", "theirs\n");
        let error = env.run(&WriteTool, input("f", "new\n")).await.unwrap_err();
        assert!(error.0.starts_with("f has changed since it was read."), "{error}");
        assert_eq!(env.bytes("f"), b"theirs\n");
    }

    #[tokio::test]
    async fn s51_a_file_that_appears_after_the_preview_stays() {
        let env = ToolTestEnv::new();
        let input = input("f", "new\n");
        let diff = WriteTool
            .preview(&env.context_for(&WriteTool, &input).unwrap(), &input)
            .await
            .unwrap()
            .unwrap();
        assert_eq!((diff.added, diff.removed), (1, 0));
        assert!(!env.path("f").exists(), "a preview writes nothing");
        env.put("f", "theirs\n");
        env.seen("f");
        let error = env.run(&WriteTool, input).await.unwrap_err();
        assert!(error.0.starts_with("f has changed since the change was approved."), "{error}");
        assert_eq!(env.bytes("f"), b"theirs\n");
    }

    #[tokio::test]
    async fn a_part_of_what_is_written_is_a_text_of_its_own() {
        let env = ToolTestEnv::new();
        env.put("f", "a\r\nb\r\nc\r\n");
        env.seen("f");
        let whole = input("f", "A\nb\nC\n");
        let shown = WriteTool
            .preview(&env.context_for(&WriteTool, &whole).unwrap(), &whole)
            .await
            .unwrap()
            .unwrap();
        let left_out = [0].into_iter().collect();
        let part = WriteTool
            .narrow_input(&env.context_for(&WriteTool, &whole).unwrap(), &whole, &shown, &left_out)
            .await
            .unwrap();
        env.run(&WriteTool, part).await.unwrap();
        assert_eq!(env.bytes("f"), b"a\r\nb\r\nC\r\n");
    }

    #[tokio::test]
    async fn encoding_and_line_ends_of_the_replaced_file_are_kept() {
        let cases: [(&[u8], &str, &[u8]); 5] = [
            (b"\xef\xbb\xbfa\r\nb\r\n", "c\nd\n", b"\xef\xbb\xbfc\r\nd\r\n"),
            (b"\xff\xfea\0", "b", b"\xff\xfeb\0"),
            (b"caf\xe9\n", "th\u{e9}\n", b"th\xe9\n"),
            (b"a\r\nb\n", "c\n", b"c\n"),
            (b"", "日\n", "日\n".as_bytes()),
        ];
        for (old, new, expected) in cases {
            let env = ToolTestEnv::new();
            env.put("f", old);
            env.seen("f");
            env.run(&WriteTool, input("f", new)).await.unwrap();
            assert_eq!(env.bytes("f"), expected);
        }
    }

    #[tokio::test]
    async fn a_character_that_the_encoding_of_the_file_lacks_is_an_error() {
        let env = ToolTestEnv::new();
        env.put("f", b"caf\xe9\n");
        env.seen("f");
        let error = env.run(&WriteTool, input("f", "日\n")).await.unwrap_err();
        assert!(error.0.starts_with("f is not UTF-8 and its encoding has no character '日'"));
        assert_eq!(env.bytes("f"), b"caf\xe9\n");
    }

    #[tokio::test]
    async fn an_empty_file_needs_no_read() {
        let env = ToolTestEnv::new();
        env.put("f", "");
        env.run(&WriteTool, input("f", "new\n")).await.unwrap();
        assert_eq!(env.bytes("f"), b"new\n");
    }

    #[tokio::test]
    async fn a_placeholder_is_refused_over_real_text() {
        let env = ToolTestEnv::new();
        env.put("f", "a\nb\nc\n");
        env.seen("f");
        let error = env.run(&WriteTool, input("f", "A\n// ... rest of the code\n")).await;
        assert!(error.unwrap_err().0.contains("`// ... rest of the code`"));
        assert_eq!(env.bytes("f"), b"a\nb\nc\n");
    }

    #[tokio::test]
    async fn a_file_that_could_not_be_changed_again_is_not_written() {
        let env = ToolTestEnv::new();
        let content = "x".repeat((16 << 20) + 1);
        let error = env.run(&WriteTool, input("f", &content)).await.unwrap_err();
        assert!(error.0.starts_with("f would have 16.0 MB, too much to write here."), "{error}");
        assert!(!env.path("f").exists());
    }

    #[tokio::test]
    async fn a_stopped_call_writes_nothing() {
        let env = ToolTestEnv::new();
        env.context.cancel.cancel();
        let output = env.run(&WriteTool, input("f", "new\n")).await.unwrap();
        assert_eq!(output.status, ToolStatus::Cancelled);
        assert!(!env.path("f").exists());
    }

    #[tokio::test]
    async fn unwritable_paths_are_reported() {
        let env = ToolTestEnv::new();
        fs::create_dir(env.path("d")).unwrap();
        env.put("file", "x");
        let cases = [
            (input("d", "x"), "d is a folder."),
            (input("file/below", "x"), "cannot make the folder of"),
            (json!({"file_path": "f"}), "Write: `content` is missing."),
            (json!({"content": "f"}), "Write: `file_path` is missing."),
            (json!({"file_path": "f", "content": {}}), "Write: `content` must be a string"),
            (input("", "x"), "Write: `file_path` is missing."),
        ];
        for (input, expected) in cases {
            let error = env.run(&WriteTool, input).await.unwrap_err();
            assert!(error.0.starts_with(expected), "{error}");
        }
    }
}
