//! The rename of Lsp: what a server would change, shown and applied like the edits of any other tool.
//!
//! Only the server knows which files a rename changes. So the call is completed first: `changes` are the
//! edits by file, in bytes, each file with the hash of the content that they are for. From then on the
//! call says itself what it writes, and the gate decides about each of the files. What is shown is what is
//! written: a file that has another content by then leaves all files as they are.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::text::WHOLE_FILE;
use super::{CodeEdit, CodeFileEdits, FileChange, FileState, ToolContext, ToolError, off_thread};
use crate::domain::{ContentHash, FileDiff, ToolOutput, pluralise};

/// The argument that has the edits.
pub(super) const CHANGES: &str = "changes";

/// The most files that an answer lists.
const MAX_LISTED: usize = 50;

/// The edits of one file, as they stand in the arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RenamedFile {
    file_path: PathBuf,
    content: ContentHash,
    /// Start, end, and the text in place of the bytes between.
    edits: Vec<(usize, usize, String)>,
}

/// A file with its old and its new text.
#[derive(Debug, Clone)]
pub(super) struct RenamedText {
    path: PathBuf,
    old: String,
    new: String,
}

/// The edits of a server as an argument.
///
/// # Errors
///
/// When a file is outside of the folder, hidden by a rule, or has no name that JSON can hold.
pub(super) fn changes_argument(
    context: &ToolContext,
    files: Vec<CodeFileEdits>,
) -> Result<Value, ToolError> {
    let mut changes = Vec::new();
    for CodeFileEdits { path, content, edits } in files {
        let shown = context.place.show(&path);
        if !path.starts_with(&context.place.cwd) {
            return Err(ToolError(format!(
                "The rename would change {shown}, which is outside the workspace. Nothing was \
                 changed."
            )));
        }
        if (context.is_hidden)(&path) {
            return Err(ToolError(format!(
                "The rename would change {shown}, which a rule does not let you read. Nothing was changed."
            )));
        }
        let edits = edits.into_iter().map(|CodeEdit { start, end, text }| (start, end, text));
        changes.push(RenamedFile { file_path: path, content, edits: edits.collect() });
    }
    serde_json::to_value(changes).map_err(|error| {
        ToolError(format!("The rename would change a file whose name is no text ({error})."))
    })
}

/// The files that the argument names; none without it.
///
/// # Errors
///
/// When it is not as [`changes_argument`] has made it.
pub(super) fn changed_paths(changes: Option<&Value>) -> Result<Vec<PathBuf>, ToolError> {
    Ok(parse(changes)?.into_iter().map(|file| file.file_path).collect())
}

fn parse(changes: Option<&Value>) -> Result<Vec<RenamedFile>, ToolError> {
    let Some(changes) = changes else { return Ok(Vec::new()) };
    let files: Vec<RenamedFile> = Deserialize::deserialize(changes).map_err(|error| {
        ToolError(format!("Lsp: leave out `{CHANGES}`, which slug fills in: {error}."))
    })?;
    if files.iter().all(|file| file.file_path.is_absolute()) {
        return Ok(files);
    }
    Err(ToolError(format!("Lsp: leave out `{CHANGES}`, which slug fills in.")))
}

/// The texts of all files before and after, read now.
///
/// # Errors
///
/// When a file no longer has the content that its edits are for.
pub(super) async fn renamed_texts(
    context: &ToolContext,
    changes: Option<&Value>,
) -> Result<Vec<RenamedText>, ToolError> {
    let mut texts = Vec::new();
    for file in parse(changes)? {
        let read = context.files.read(&file.file_path, WHOLE_FILE).await?;
        let text = match read {
            FileState::File(bytes) if ContentHash::of(&bytes) == file.content => {
                String::from_utf8(bytes).ok()
            }
            FileState::File(_)
            | FileState::TooBig(_)
            | FileState::Missing
            | FileState::Folder
            | FileState::Special => None,
        };
        let applied = text.and_then(|old| Some((apply(&old, &file.edits)?, old)));
        let Some((new, old)) = applied else {
            return Err(has_changed(context, &file.file_path));
        };
        texts.push(RenamedText { path: file.file_path, old, new });
    }
    Ok(texts)
}

/// The text with the edits; `None` where they do not fit it.
fn apply(old: &str, edits: &[(usize, usize, String)]) -> Option<String> {
    let (mut new, mut at) = (String::with_capacity(old.len()), 0);
    for (start, end, text) in edits {
        new.push_str(old.get(at..*start)?);
        new.push_str(text);
        old.get(*start..*end)?;
        at = *end;
    }
    new.push_str(old.get(at..)?);
    Some(new)
}

fn has_changed(context: &ToolContext, path: &Path) -> ToolError {
    ToolError(format!(
        "{} has changed since the rename was computed. Nothing was changed in any file. Repeat the call.",
        context.place.show(path)
    ))
}

/// The diffs of all files, in order; none after a stop.
///
/// # Errors
///
/// As [`renamed_texts`].
pub(super) async fn previews(
    context: &ToolContext,
    changes: Option<&Value>,
) -> Result<Vec<FileDiff>, ToolError> {
    diffs_of(context, renamed_texts(context, changes).await?).await
}

async fn diffs_of(
    context: &ToolContext,
    texts: Vec<RenamedText>,
) -> Result<Vec<FileDiff>, ToolError> {
    let diffs = off_thread(&context.cancel, move || {
        texts.into_iter().map(|it| FileDiff::between(it.path, &it.old, &it.new)).collect()
    });
    Ok(diffs.await?.unwrap_or_default())
}

/// Writes all files or none, and describes what has changed.
///
/// # Errors
///
/// When a file has changed or cannot be written; those written before it have their old content again.
pub(super) async fn apply_rename(
    context: &ToolContext,
    changes: Option<&Value>,
) -> Result<ToolOutput, ToolError> {
    let texts = renamed_texts(context, changes).await?;
    let diffs = diffs_of(context, texts.clone()).await?;
    // A separate task that ends with the last write: even if the turn is stopped meanwhile, all files are
    // written and recorded, so that they can be undone.
    let writer = context.clone();
    let written = tokio::spawn(async move { write_all(&writer, texts).await });
    written.await.map_err(|stopped| ToolError(format!("The rename failed: {stopped}.")))??;
    let edits: usize = diffs.iter().map(FileDiff::change_count).sum();
    let files = pluralise(diffs.len(), "file");
    let mut observation = format!("Renamed in {files} ({}):", pluralise(edits, "changed place"));
    for diff in diffs.iter().take(MAX_LISTED) {
        let shown = context.place.show(&diff.path);
        observation.push_str(&format!("\n{shown} (+{} -{})", diff.added, diff.removed));
    }
    if let more @ 1.. = diffs.len().saturating_sub(MAX_LISTED) {
        observation.push_str(&format!("\n… and {more} more"));
    }
    Ok(ToolOutput::text(observation)
        .with_summary(format!("{files} changed"))
        .with_output(serde_json::json!({"files": diffs.len(), "changes": edits})))
}

async fn write_all(context: &ToolContext, texts: Vec<RenamedText>) -> Result<(), ToolError> {
    for (at, file) in texts.iter().enumerate() {
        let expected = Some(ContentHash::of(file.old.as_bytes()));
        let written = context.files.write(&file.path, file.new.as_bytes(), Some(expected)).await;
        let Err(error) = written else { continue };
        let mut problem = format!("{error}.");
        for file in &texts[..at] {
            let expected = Some(ContentHash::of(file.new.as_bytes()));
            let back = context.files.write(&file.path, file.old.as_bytes(), Some(expected)).await;
            match back {
                Ok(_) => {}
                Err(error) => {
                    // It stays changed, and so has to be known to the undo.
                    report(context, file);
                    problem.push_str(&format!(
                        " {} has the new name and could not be changed back: {error}.",
                        context.place.show(&file.path)
                    ));
                }
            }
        }
        return Err(ToolError(format!(
            "{problem} The other files have their old content. Repeat the call."
        )));
    }
    for file in &texts {
        report(context, file);
    }
    Ok(())
}

/// Tells of a written file, and that the model knows it where it knew it before.
fn report(context: &ToolContext, file: &RenamedText) {
    let old = file.old.as_bytes();
    if context.reads.seen(&file.path) == Some(ContentHash::of(old)) {
        context.reads.record(&file.path, file.new.as_bytes());
    }
    context.effects.file_changed(FileChange {
        path: file.path.clone(),
        before: Some(old.to_vec()),
        after: file.new.clone().into_bytes(),
    });
}
