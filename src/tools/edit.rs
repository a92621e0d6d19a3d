//! Edit: changes places in a file, by their text or by their lines; several at once, all or none.
//!
//! All text that is not replaced keeps its bytes: line ends, encoding, byte order mark. `matching`
//! finds the old text, `steps` makes the changes; there is no matching by similarity.
//!
//! An exact match and lines that hold what the call says need no earlier Read: the match itself
//! shows that the model knows the place. Any other match counts only in a file that is as the model
//! last read it. What a file holds is told only to a model that has read it before.

mod arguments;
mod closest_match;
mod lines;
mod matching;
mod narrow;
mod placeholder;
mod report;
mod steps;

use std::path::Path;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::change::{self, PlannedWrite, SeenState, WriteTarget};
use super::{
    Tool, ToolContext, ToolError, WorkingDirectory, off_thread, paths, stopped_output, text, titles,
};
use crate::domain::{
    ExcludedHunks, FileDiff, ToolAccess, ToolCapability, ToolDescriptor, ToolKind, ToolOutput,
    ToolSpec,
};
use arguments::{EditArguments, SHAPE};
use matching::MatchQuality;
use steps::{EditPlace, EditedText};

pub(in crate::tools) use placeholder::find as placeholder_in;

/// Changes places in a file.
pub(super) struct EditTool;

static DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(SHAPE.tool, ToolKind::Edit, ToolCapability::WriteFiles);

/// A change that can be written, and how its places were found.
struct PlannedEdit {
    change: PlannedWrite,
    edited: EditedText,
}

#[async_trait]
impl Tool for EditTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: SHAPE.tool.into(),
            description: "Changes a file. old_string must match exactly, in one place only. Or \
                          replace lines by number."
                .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "file_path": {"type": "string"},
                    "old_string": {"type": "string", "description": "empty: new file"},
                    "new_string": {"type": "string"},
                    "replace_all": {"type": "boolean"},
                    "start_line": {"type": "integer", "description": "instead of old_string"},
                    "end_line": {"type": "integer"},
                    "first_line": {"type": "string", "description": "what that line holds now"},
                    "last_line": {"type": "string"},
                    "insert_after": {
                        "type": "integer",
                        "description": "line; its text in first_line; 0: top",
                    },
                    "edits": {
                        "type": "array",
                        "items": {"type": "object"},
                        "description": "several such changes, all or none",
                    },
                },
                "required": ["file_path"],
            }),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &DESCRIPTOR
    }

    fn call_title(&self, input: &Value, cwd: &Path) -> String {
        let path = titles::shown_path(titles::text(input, "file_path"), cwd);
        titles::join(&[&path, &report::title_of_places(input)])
    }

    fn canonical_input(&self, input: Value) -> Value {
        arguments::canonical(input)
    }

    fn access(
        &self,
        input: &Value,
        place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        Ok(vec![ToolAccess::Write(arguments::parse(input, place)?.path)])
    }

    async fn preview(
        &self,
        context: &ToolContext,
        input: &Value,
    ) -> Result<Option<FileDiff>, ToolError> {
        let wanted = arguments::parse(input, &context.place)?;
        let planned = plan_write(context, wanted).await?;
        Ok(planned.change.preview(context, SHAPE.tool, input).await)
    }

    async fn narrow_input(
        &self,
        context: &ToolContext,
        input: &Value,
        shown: &FileDiff,
        left_out: &ExcludedHunks,
    ) -> Result<Value, ToolError> {
        let planned = plan_write(context, arguments::parse(input, &context.place)?).await?;
        let change = planned.change;
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
        let wanted = arguments::parse(&input, &context.place)?;
        let planned = plan_write(context, wanted).await;
        if context.cancel.is_cancelled() {
            return Ok(stopped_output());
        }
        let PlannedEdit { change, edited } = planned?;
        change.commit(context, (SHAPE.tool, &input), &report::how_found(&edited)).await
    }
}

async fn plan_write(
    context: &ToolContext,
    wanted: EditArguments,
) -> Result<PlannedEdit, ToolError> {
    let shown = context.place.show(&wanted.path);
    let (before, seen) = match change::current(context, &wanted.path, "edit").await? {
        WriteTarget::File(bytes, seen) => (Some(bytes), seen),
        WriteTarget::Missing if is_new_file(&wanted) => (None, SeenState::Current),
        WriteTarget::Missing => {
            return Err(paths::missing(context, &wanted.path, paths::FIND_IT).await);
        }
    };
    off_thread(&context.cancel, move || edit(before, seen, wanted, &shown))
        .await?
        .ok_or_else(|| ToolError("Stopped before anything was written.".into()))?
}

/// Whether the call makes the file that it names.
fn is_new_file(wanted: &EditArguments) -> bool {
    match wanted.steps.first().map(|step| &step.place) {
        Some(EditPlace::NewFile | EditPlace::After { line: 0, .. }) => true,
        Some(EditPlace::Text { .. } | EditPlace::Lines { .. } | EditPlace::After { .. }) | None => {
            false
        }
    }
}

/// Makes the changes. Runs off the asynchronous threads: files can be big.
fn edit(
    before: Option<Vec<u8>>,
    seen: SeenState,
    wanted: EditArguments,
    shown: &str,
) -> Result<PlannedEdit, ToolError> {
    let EditArguments { path, steps } = wanted;
    let bytes = before.as_deref().unwrap_or_default();
    let Some((old_text, encoding)) = text::decode(bytes) else {
        let kind = text::binary_kind(bytes).unwrap_or("unknown encoding");
        return Err(ToolError(format!(
            "{shown} is no text file ({kind}). Edit changes text files only."
        )));
    };
    let edited = steps::apply(&old_text, &steps).map_err(|(at, failure)| {
        let error = report::explain(&failure, &steps[at], seen, shown);
        arguments::of_several(error, at, steps.len())
    })?;
    if edited.quality != MatchQuality::Exact && seen != SeenState::Current {
        return Err(report::not_exact(seen, shown));
    }
    let after = change::encode_text(&edited.text, encoding, shown)?;
    if before.as_ref() == Some(&after) {
        return Err(ToolError(format!("{shown} has exactly this text already.")));
    }
    let texts = (old_text, edited.text.clone());
    Ok(PlannedEdit { change: PlannedWrite { path, before, seen, after, texts }, edited })
}

#[cfg(test)]
mod form_tests;
#[cfg(test)]
mod tests;
