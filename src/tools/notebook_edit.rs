//! NotebookEdit: changes, adds or removes one cell of a Jupyter notebook; every other byte of the file
//! stays (`notebook`).

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde_json::{Value, json};

use super::change::{self, PlannedWrite, WriteTarget};
use super::input::{ArgumentReader, InputShape};
use super::notebook::{self, CellChange, CellKind, ChangedNotebook};
use super::{
    Tool, ToolContext, ToolError, WorkingDirectory, off_thread, paths, stopped_output, text, titles,
};
use crate::domain::{
    FileDiff, ToolAccess, ToolCapability, ToolDescriptor, ToolKind, ToolOutput, ToolSpec,
};

/// Changes one cell of a notebook.
pub(super) struct NotebookEditTool;

const SHAPE: InputShape = InputShape {
    tool: "NotebookEdit",
    example: r#"{"file_path": "path/to/notebook.ipynb", "cell": "id", "new_source": "print(1)"}"#,
    arguments: &[
        // FILE_NAMES and the name that Claude Code has.
        ("file_path", &["notebook_path", "path", "filePath", "filename", "file", "file_name"]),
        ("cell", &["cell_id", "cell_number", "cell_index"]),
        ("new_source", &["source", "content"]),
        ("edit_mode", &["mode"]),
        ("cell_type", &["type"]),
    ],
    place: "",
};

static DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(SHAPE.tool, ToolKind::Edit, ToolCapability::WriteFiles).deferred();

struct NotebookEditArguments {
    path: PathBuf,
    change: CellChange,
}

#[async_trait]
impl Tool for NotebookEditTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: SHAPE.tool.into(),
            description: "Changes one cell of a Jupyter notebook (.ipynb): replaces its source, \
                          inserts a cell after it, or deletes it. Outputs stay until the cell runs."
                .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "file_path": {"type": "string"},
                    "cell": {
                        "type": "string",
                        "description": "id, or #number from 0; insert: the cell before, none: at the top",
                    },
                    "new_source": {"type": "string"},
                    "edit_mode": {"type": "string", "enum": ["replace", "insert", "delete"]},
                    "cell_type": {
                        "type": "string",
                        "enum": ["code", "markdown", "raw"],
                        "description": "of an inserted cell",
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
        titles::join(&[&path, titles::text(input, "cell")])
    }

    fn canonical_input(&self, input: Value) -> Value {
        SHAPE.canonical(input)
    }

    fn access(
        &self,
        input: &Value,
        place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        let NotebookEditArguments { path, .. } = parse_arguments(input, place)?;
        Ok(vec![ToolAccess::Write(path)])
    }

    async fn preview(
        &self,
        context: &ToolContext,
        input: &Value,
    ) -> Result<Option<FileDiff>, ToolError> {
        let (planned, _) = planned(context, parse_arguments(input, &context.place)?).await?;
        Ok(planned.preview(context, SHAPE.tool, input).await)
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let wanted = parse_arguments(&input, &context.place)?;
        let is_deletion = matches!(wanted.change, CellChange::Delete { .. });
        let planned = planned(context, wanted).await;
        if context.cancel.is_cancelled() {
            return Ok(stopped_output());
        }
        let (planned, changed) = planned?;
        if planned.before.as_ref() == Some(&planned.after) {
            return Ok(ToolOutput::text(format!("Cell {} has exactly this source.", changed.cell))
                .with_summary("unchanged"));
        }
        let mut remark = String::new();
        if !is_deletion {
            remark.push_str(&format!(" The cell is {}.", changed.cell));
        }
        if changed.moves_numbers {
            remark.push_str(" The cells after it have new numbers.");
        }
        if changed.has_old_outputs {
            remark.push_str(" Its outputs are those of the old code until it runs.");
        }
        planned.commit(context, (SHAPE.tool, &input), &remark).await
    }
}

fn parse_arguments(
    input: &Value,
    place: &WorkingDirectory,
) -> Result<NotebookEditArguments, ToolError> {
    let input = ArgumentReader::new(SHAPE, input)?;
    let path = input.path("file_path", place)?;
    let cell = input.optional_text("cell")?;
    let kind = match input.optional_text("cell_type")?.as_deref() {
        None | Some("") => None,
        Some(name) => Some(CellKind::named(&name.to_lowercase()).ok_or_else(|| {
            input.wrong(format!("`cell_type` must be code, markdown or raw, not {name:?}"))
        })?),
    };
    let named = || cell.clone().ok_or_else(|| input.wrong("`cell` is missing"));
    let mode = input.optional_text("edit_mode")?.unwrap_or_default();
    let change = match mode.to_lowercase().as_str() {
        "" | "replace" => {
            CellChange::Replace { cell: named()?, kind, source: input.text("new_source")? }
        }
        "insert" => CellChange::Insert {
            after: cell.clone().filter(|cell| !cell.is_empty()),
            kind: kind.unwrap_or(CellKind::Code),
            source: input.text("new_source")?,
        },
        "delete" => CellChange::Delete { cell: named()? },
        other => {
            let text = format!("`edit_mode` must be replace, insert or delete, not {other:?}");
            return Err(input.wrong(text));
        }
    };
    Ok(NotebookEditArguments { path, change })
}

async fn planned(
    context: &ToolContext,
    wanted: NotebookEditArguments,
) -> Result<(PlannedWrite, ChangedNotebook), ToolError> {
    let NotebookEditArguments { path, change } = wanted;
    let shown = context.place.show(&path);
    let (before, seen) = match change::current(context, &path, "edit").await? {
        // The call says nothing of the old source, and a number may mean another cell by now.
        WriteTarget::File(bytes, seen) => {
            seen.must_be_current(&shown)?;
            (bytes, seen)
        }
        WriteTarget::Missing => return Err(paths::missing(context, &path, paths::FIND_IT).await),
    };
    let work = move || {
        let Some((old, encoding)) = text::decode(&before) else {
            return Err(ToolError(format!("{shown} is no text, so it is no notebook.")));
        };
        let changed = notebook::change(&old, &change)
            .map_err(|why| ToolError(format!("{shown} {why}. Nothing was written.")))?;
        let after = change::encode_text(&changed.text, encoding, &shown)?;
        let texts = (old, changed.text.clone());
        Ok((PlannedWrite { path, before: Some(before), seen, after, texts }, changed))
    };
    off_thread(&context.cancel, work)
        .await?
        .ok_or_else(|| ToolError("Stopped before anything was written.".into()))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ToolDisplay, ToolStatus};
    use crate::tools::testing::ToolTestEnv;

    const NOTEBOOK: &str = "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"id\": \"a1\",\n   \"metadata\": {},\n   \"outputs\": [1],\n   \"source\": \"x\"\n  }\n ],\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n";

    #[tokio::test]
    async fn a_cell_is_changed_in_place_and_its_outputs_are_called_old() {
        let env = ToolTestEnv::new();
        env.put("a.ipynb", NOTEBOOK);
        env.seen("a.ipynb");
        let input = json!({"notebook_path": "a.ipynb", "cell_id": "a1", "new_source": "y\n"});
        let output = env.run(&NotebookEditTool, input).await.unwrap();
        let expected = NOTEBOOK.replace("\"x\"", "\"y\\n\"");
        assert_eq!(env.bytes("a.ipynb"), expected.as_bytes());
        assert_eq!(
            output.observation,
            "Changed a.ipynb (+1 -1). The cell is a1. Its outputs are those of the old code until it runs."
        );
        assert!(matches!(output.display, Some(ToolDisplay::Diff(_))));
        assert_eq!(env.effects.changes().len(), 1, "one step to undo");
    }

    #[tokio::test]
    async fn what_was_shown_is_what_is_written() {
        let env = ToolTestEnv::new();
        env.put("a.ipynb", NOTEBOOK);
        env.seen("a.ipynb");
        let input = json!({"file_path": "a.ipynb", "edit_mode": "insert", "cell_type": "markdown",
                           "new_source": "# Title"});
        let context = env.context_for(&NotebookEditTool, &input).unwrap();
        let shown = NotebookEditTool.preview(&context, &input).await.unwrap().unwrap();
        let output = env.run(&NotebookEditTool, input).await.unwrap();
        assert_eq!(output.display, Some(ToolDisplay::Diff(shown)));
    }

    #[tokio::test]
    async fn mistakes_are_told_and_nothing_is_written() {
        let env = ToolTestEnv::new();
        env.put("a.ipynb", NOTEBOOK);
        env.put("image.ipynb", b"\x89PNG\r\n\x1a\n\0");
        env.put("unread.ipynb", NOTEBOOK);
        env.put("changed.ipynb", "{}");
        for name in ["a.ipynb", "image.ipynb", "changed.ipynb"] {
            env.seen(name);
        }
        env.put("changed.ipynb", NOTEBOOK);
        for (input, expected) in [
            (json!({}), "NotebookEdit: `file_path` is missing."),
            (json!({"file_path": "a.ipynb"}), "NotebookEdit: `cell` is missing."),
            (
                json!({"file_path": "a.ipynb", "cell": "a1"}),
                "NotebookEdit: `new_source` is missing.",
            ),
            (
                json!({"file_path": "a.ipynb", "cell": "a1", "new_source": "", "edit_mode": "move"}),
                "NotebookEdit: `edit_mode` must be replace, insert or delete, not \"move\".",
            ),
            (
                json!({"file_path": "a.ipynb", "cell": "a1", "new_source": "", "cell_type": "sql"}),
                "NotebookEdit: `cell_type` must be code, markdown or raw, not \"sql\".",
            ),
            (
                json!({"file_path": "a.ipynb", "cell": "zz", "edit_mode": "delete"}),
                "a.ipynb has no cell \"zz\". Its cells: a1. Nothing was written.",
            ),
            (
                json!({"file_path": "unread.ipynb", "cell": "zz", "edit_mode": "delete"}),
                "You have not read unread.ipynb yet. Read it first, then repeat the call.",
            ),
            (
                json!({"file_path": "changed.ipynb", "cell": "a1", "edit_mode": "delete"}),
                "changed.ipynb has changed since it was read. Read it again, then repeat the call.",
            ),
            (
                json!({"file_path": "image.ipynb", "cell": "0", "edit_mode": "delete"}),
                "image.ipynb is no text, so it is no notebook.",
            ),
        ] {
            let error = env.run(&NotebookEditTool, input).await.unwrap_err().0;
            assert!(error.starts_with(expected), "{error}");
        }
        let missing = json!({"file_path": "b.ipynb", "cell": "0", "edit_mode": "delete"});
        assert!(env.run(&NotebookEditTool, missing).await.is_err());
        assert_eq!(env.bytes("a.ipynb"), NOTEBOOK.as_bytes());
    }

    #[tokio::test]
    async fn a_stopped_call_writes_nothing() {
        let env = ToolTestEnv::new();
        env.put("a.ipynb", NOTEBOOK);
        env.seen("a.ipynb");
        env.context.cancel.cancel();
        let input = json!({"file_path": "a.ipynb", "cell": "a1", "edit_mode": "delete"});
        let output = env.run(&NotebookEditTool, input).await.unwrap();
        assert_eq!(output.status, ToolStatus::Cancelled);
        assert_eq!(env.bytes("a.ipynb"), NOTEBOOK.as_bytes());
    }
}
