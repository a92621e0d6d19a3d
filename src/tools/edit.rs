//! Edit: replaces text in a file.
//!
//! All text that is not replaced keeps its bytes: line ends, encoding, byte order mark. `matching`
//! finds the old text; there is no matching by similarity.

mod closest_match;
mod lines;
mod matching;
mod narrow;
mod placeholder;

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde_json::{Value, json};

use super::change::{self, PlannedWrite, WriteTarget};
use super::input::{ArgumentReader, InputShape};
use super::{
    Tool, ToolContext, ToolError, WorkingDirectory, off_thread, paths, stopped_output, text, titles,
};
use crate::domain::{
    ExcludedHunks, FileDiff, ToolAccess, ToolCapability, ToolDescriptor, ToolKind, ToolOutput,
    ToolSpec,
};
use matching::{EditMismatch, MatchQuality, ReplaceScope};

pub(in crate::tools) use placeholder::find as placeholder_in;

/// Replaces text in a file that the model has read.
pub(super) struct EditTool;

const SHAPE: InputShape = InputShape {
    tool: "Edit",
    example: r#"{"file_path": "src/main.rs", "old_string": "let a = 1;", "new_string": "let a = 2;"}"#,
    arguments: &[
        ("file_path", &["path", "filePath", "filename"]),
        ("old_string", &["oldString", "old_str", "old_text"]),
        ("new_string", &["newString", "new_str", "new_text"]),
        ("replace_all", &["replaceAll"]),
    ],
    place: "",
};

static DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(SHAPE.tool, ToolKind::Edit, ToolCapability::WriteFiles);

#[derive(Debug, Clone)]
struct EditArguments {
    path: PathBuf,
    old: String,
    new: String,
    scope: ReplaceScope,
}

#[async_trait]
impl Tool for EditTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: SHAPE.tool.into(),
            description: "Replaces text in a file you have read. old_string must match exactly, \
                          with its indentation, in one place only: include lines around it."
                .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "file_path": {"type": "string"},
                    "old_string": {"type": "string"},
                    "new_string": {"type": "string"},
                    "replace_all": {"type": "boolean", "description": "every place"},
                },
                "required": ["file_path", "old_string", "new_string"],
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
        let wanted = parse_arguments(input, &context.place)?;
        let (change, _) = plan_write(context, wanted).await?;
        Ok(change.preview(context, SHAPE.tool, input).await)
    }

    async fn narrow_input(
        &self,
        context: &ToolContext,
        input: &Value,
        shown: &FileDiff,
        left_out: &ExcludedHunks,
    ) -> Result<Value, ToolError> {
        let (change, _) = plan_write(context, parse_arguments(input, &context.place)?).await?;
        let wanted = change.without(context, (SHAPE.tool, input), shown, left_out)?;
        let path = context.place.show(&change.path);
        let old = change.texts.0.clone();
        let found = off_thread(&context.cancel, move || narrow::between(&old, &wanted)).await?;
        let (old, new) = found.flatten().ok_or_else(|| change::not_in_part(&path))?;
        let narrowed = json!({"file_path": path, "old_string": old, "new_string": new});
        change.approve_part(context, SHAPE.tool, &narrowed);
        Ok(narrowed)
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let wanted = parse_arguments(&input, &context.place)?;
        let planned = plan_write(context, wanted).await;
        if context.cancel.is_cancelled() {
            return Ok(stopped_output());
        }
        let (change, quality) = planned?;
        let mut output = change.commit(context, SHAPE.tool, &input).await?;
        match quality {
            MatchQuality::Exact => {}
            MatchQuality::Normalised => {
                output.observation.push_str(" It was found with other dashes, quotes or spaces.");
            }
            MatchQuality::Trimmed => output.observation.push_str(
                " It was found with other white space at the ends of lines; the new lines got the \
                 file's indentation.",
            ),
        }
        Ok(output)
    }
}

fn parse_arguments(input: &Value, place: &WorkingDirectory) -> Result<EditArguments, ToolError> {
    let input = ArgumentReader::new(SHAPE, input)?;
    let path = input.path("file_path", place)?;
    let old = input.text("old_string")?;
    let new = input.text("new_string")?;
    let scope = match input.flag("replace_all")? {
        true => ReplaceScope::All,
        false => ReplaceScope::One,
    };
    if old == new {
        return Err(input.wrong("`old_string` and `new_string` are the same"));
    }
    if let Some(line) = placeholder_in(&new, &old) {
        return Err(ToolError(format!(
            "`new_string` holds the placeholder `{line}`, which would replace real text. Send all \
             of the new text, or a smaller `old_string`."
        )));
    }
    Ok(EditArguments { path, old, new, scope })
}

async fn plan_write(
    context: &ToolContext,
    wanted: EditArguments,
) -> Result<(PlannedWrite, MatchQuality), ToolError> {
    let shown = context.place.show(&wanted.path);
    let before = match change::current(context, &wanted.path, "edit").await? {
        WriteTarget::File(bytes) => bytes,
        WriteTarget::Missing if wanted.old.is_empty() => {
            let EditArguments { path, new, .. } = wanted;
            let after = new.clone().into_bytes();
            let change = PlannedWrite { path, before: None, after, texts: (String::new(), new) };
            return Ok((change, MatchQuality::Exact));
        }
        WriteTarget::Missing => return Err(paths::missing(context, &wanted.path).await),
    };
    if wanted.old.is_empty() {
        return Err(ToolError(format!(
            "`old_string` is empty, but {shown} exists. Send the text to replace, or use Write to \
             replace the whole file."
        )));
    }
    off_thread(&context.cancel, move || replace_text(before, wanted, &shown))
        .await?
        .ok_or_else(|| ToolError("Stopped before anything was written.".into()))?
}

/// Finds the places and replaces them. Runs off the asynchronous threads: files can be big.
fn replace_text(
    before: Vec<u8>,
    wanted: EditArguments,
    shown: &str,
) -> Result<(PlannedWrite, MatchQuality), ToolError> {
    let EditArguments { path, old, new, scope } = wanted;
    let Some((old_text, encoding)) = text::decode(&before) else {
        let kind = text::binary_kind(&before).unwrap_or("unknown encoding");
        return Err(ToolError(format!(
            "{shown} is no text file ({kind}). Edit changes text files only."
        )));
    };
    let (quality, replacements) = matching::find(&old_text, &old, &new, scope)
        .map_err(|mismatch| explain_mismatch(&mismatch, &old_text, &old, &new, shown))?;
    let new_text = matching::apply(&old_text, &replacements);
    let after = change::encode_text(&new_text, encoding, shown)?;
    if after == before {
        return Err(ToolError(format!("{shown} has exactly this text already.")));
    }
    let change = PlannedWrite { path, before: Some(before), after, texts: (old_text, new_text) };
    Ok((change, quality))
}

fn explain_mismatch(
    mismatch: &EditMismatch,
    text: &str,
    old: &str,
    new: &str,
    shown: &str,
) -> ToolError {
    let (quality, numbers) = match mismatch {
        EditMismatch::Nowhere => {
            let hint = closest_match::hint(text, &old.replace("\r\n", "\n"), new);
            return ToolError(format!(
                "`old_string` is not in {shown}. Nothing was changed.\n{}",
                hint.trim_end()
            ));
        }
        EditMismatch::Several(quality, numbers) => (quality, numbers),
    };
    let first: Vec<String> = numbers.iter().take(10).map(usize::to_string).collect();
    let more = if numbers.len() > first.len() { ", …" } else { "" };
    let (how, remedy) = match quality {
        MatchQuality::Exact => ("", "Include lines around it, or set `replace_all` to true."),
        MatchQuality::Normalised => (
            ", and none exactly (dashes, quotes or spaces differ)",
            "Send it exactly as the file has it, with lines around it.",
        ),
        MatchQuality::Trimmed => (
            ", and none exactly (indentation differs)",
            "Send it exactly as the file has it, with lines around it.",
        ),
    };
    ToolError(format!(
        "`old_string` matches {} places in {shown}{how}, at lines {}{more}. Nothing was changed. \
         {remedy}",
        numbers.len(),
        first.join(", "),
    ))
}

#[cfg(test)]
mod tests;
