//! Plans and writes the change of one file, for Edit and Write.
//!
//! If the user was shown a preview, the content must be that of the preview. The last check is the
//! write itself, which expects the hash of the old content. Whether the model has to have read a file
//! first is up to the tool: [`current`] says what it has seen of it.
//!
//! The project's formatter gets the new text before it is shown or written, so that the preview, the
//! file, the diff of the result and what can be undone are the same one change. It runs once for a
//! call: what was shown is what is written. A part of a change that the user has picked stays as
//! picked, and a file that a later call of the response changes is formatted with that one.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::text::{self, TextEncoding, WHOLE_FILE};
use super::{
    ChangeFormatting, FileChange, FileState, FormatRequest, FormatResult, PreviewedChange,
    ToolContext, ToolError, WriteReport, off_thread, stopped_output, truncation,
};
use crate::domain::{
    ContentHash, DiffContextSize, DiffLineTag, ExcludedHunks, FileDiff, ToolDisplay, ToolOutput,
};

/// The file that a call wants to change.
pub(super) enum WriteTarget {
    File(Vec<u8>, SeenState),
    Missing,
}

/// What the model has seen of a file that it wants to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SeenState {
    /// The content that the file has now. An empty file has none to be seen.
    Current,
    /// Another content.
    Changed,
    Unread,
}

impl SeenState {
    /// For a call that replaces content which it does not name.
    ///
    /// # Errors
    ///
    /// When the model has not seen the content that the file has now.
    pub fn must_be_current(self, shown: &str) -> Result<(), ToolError> {
        match self {
            Self::Current => Ok(()),
            Self::Unread => Err(ToolError(format!(
                "You have not read {shown} yet. Read it first, then repeat the call."
            ))),
            Self::Changed => Err(ToolError(format!(
                "{shown} has changed since it was read. Read it again, then repeat the call."
            ))),
        }
    }
}

/// The change of one file, before it is written.
#[derive(Debug, Clone)]
pub(super) struct PlannedWrite {
    pub path: PathBuf,
    pub before: Option<Vec<u8>>,
    /// What the model knows of `before`.
    pub seen: SeenState,
    pub after: Vec<u8>,
    /// The old and the new text, for the diff; empty where there is no text.
    pub texts: (String, String),
}

/// Reads the file that a call wants to change. `verb` goes into messages: "edit", "overwrite".
pub(super) async fn current(
    context: &ToolContext,
    path: &Path,
    verb: &str,
) -> Result<WriteTarget, ToolError> {
    let shown = context.place.show(path);
    let bytes = match context.files.read(path, WHOLE_FILE).await? {
        FileState::Missing => return Ok(WriteTarget::Missing),
        FileState::File(bytes) => bytes,
        FileState::TooBig(size) => {
            return Err(ToolError(format!(
                "{shown} has {}, too much to {verb} here. Use Bash, for example sed -i.",
                truncation::size(size)
            )));
        }
        FileState::Folder => {
            return Err(ToolError(format!("{shown} is a folder. Send the path of a file.")));
        }
        FileState::Special => {
            return Err(ToolError(format!(
                "{shown} is a FIFO, socket or device, no file to {verb}."
            )));
        }
    };
    let seen = match context.reads.seen(path) {
        _ if bytes.is_empty() => SeenState::Current,
        None => SeenState::Unread,
        Some(seen) if seen == ContentHash::of(&bytes) => SeenState::Current,
        Some(_) => SeenState::Changed,
    };
    Ok(WriteTarget::File(bytes, seen))
}

impl PlannedWrite {
    /// The diff for the user's approval. The approval will hold for this content alone.
    pub async fn preview(
        self,
        context: &ToolContext,
        tool: &str,
        input: &Value,
    ) -> Option<FileDiff> {
        let before = self.before_hash();
        let formatting = self.formatting(context).await;
        let shown = PreviewedChange { before, formatting: formatting.clone() };
        context.reads.record_preview(call_key(tool, input), shown);
        self.with(&formatting).diff(context, &formatting).await
    }

    /// The new text without the hunks that are left out of `shown`, the preview of `input`.
    ///
    /// # Errors
    ///
    /// When the file has changed since the preview, or the hunks do not fit it.
    pub fn without(
        &self,
        context: &ToolContext,
        (tool, input): (&str, &Value),
        shown: &FileDiff,
        left_out: &ExcludedHunks,
    ) -> Result<String, ToolError> {
        let seen = context.reads.take_preview(&call_key(tool, input));
        let is_as_shown = seen.is_some_and(|seen| seen.before == self.before_hash());
        let text = is_as_shown.then(|| shown.apply_without(&self.texts.0, left_out)).flatten();
        text.ok_or_else(|| changed_since_approved(&context.place.show(&self.path)))
    }

    /// Carries the approval of a part over to the narrowed call, for the same old content.
    pub fn approve_part(&self, context: &ToolContext, tool: &str, narrowed: &Value) {
        let shown = PreviewedChange { before: self.before_hash(), formatting: Default::default() };
        context.reads.record_preview(call_key(tool, narrowed), shown);
    }

    /// Writes the file and describes the change; `remark` follows the description.
    ///
    /// # Errors
    ///
    /// When the file has changed since the preview or the read, or cannot be written.
    pub async fn commit(
        self,
        context: &ToolContext,
        (tool, input): (&str, &Value),
        remark: &str,
    ) -> Result<ToolOutput, ToolError> {
        let shown = context.place.show(&self.path);
        let expected = self.before_hash();
        let formatting = match context.reads.take_preview(&call_key(tool, input)) {
            Some(seen) if seen.before != expected => return Err(changed_since_approved(&shown)),
            Some(seen) => seen.formatting,
            None => self.formatting(context).await,
        };
        if context.cancel.is_cancelled() {
            return Ok(stopped_output());
        }
        let proposed = self.texts.1.clone();
        let change = self.with(&formatting);
        let diff = change.clone().diff(context, &formatting).await;
        let (is_new, seen) = (change.before.is_none(), change.seen);
        // A separate task that ends with the write: even if the turn is stopped meanwhile, a
        // written file is recorded, so that it can be undone.
        let writer = context.clone();
        let written = tokio::spawn(async move {
            let written = writer.files.write(&change.path, &change.after, Some(expected)).await?;
            // What others wrote there meanwhile the model has still not seen.
            if change.seen == SeenState::Current {
                writer.reads.record(&change.path, &change.after);
            }
            let PlannedWrite { path, before, after, .. } = change;
            writer.effects.file_changed(FileChange { path, before, after });
            Ok::<WriteReport, ToolError>(written)
        });
        let written = written
            .await
            .map_err(|stopped| ToolError(format!("cannot write {shown}: {stopped}")))??;
        let Some(diff) = diff else {
            return Ok(ToolOutput::text(format!("Wrote {shown}.")));
        };
        let (mut observation, mut summary) = if is_new {
            let lines = truncation::pluralise(diff.added as u64, "line");
            (format!("Made {shown} with {lines}."), format!("new file, {lines}"))
        } else {
            let counts = format!("+{} -{}", diff.added, diff.removed);
            (format!("Changed {shown} ({counts})."), counts)
        };
        if seen == SeenState::Changed {
            observation.push_str(
                " The file had changed since you read it; what others changed is still there.",
            );
        }
        if written.other_names > 0 {
            let names = truncation::pluralise(written.other_names, "other name");
            observation
                .push_str(&format!(" It had {names} (hard links), which keep the old content."));
            summary.push_str(&format!(", {names} left as before"));
        }
        observation.push_str(remark);
        if let Some(problem) = formatting.problem {
            observation.push_str(&format!(" Not formatted: {problem}"));
        }
        let mut output = json!({
            "path": diff.path, "added": diff.added, "removed": diff.removed, "new": is_new,
        });
        if let Some((by, text)) = formatting.formatted {
            observation.push_str(&reformatted_lines(&by, &proposed, &text));
            summary = format!("{by} {summary}");
            output["formatted_by"] = by.into();
        }
        Ok(ToolOutput::text(observation)
            .with_output(output)
            .with_summary(summary)
            .with_display(ToolDisplay::Diff(diff)))
    }

    fn before_hash(&self) -> Option<ContentHash> {
        self.before.as_deref().map(ContentHash::of)
    }

    async fn diff(self, context: &ToolContext, formatting: &ChangeFormatting) -> Option<FileDiff> {
        let Self { path, texts: (old, new), .. } = self;
        let formatted_by = formatting.formatted.as_ref().map(|(by, _)| by.clone());
        let compare = move || FileDiff { formatted_by, ..FileDiff::between(path, &old, &new) };
        off_thread(&context.cancel, compare).await.ok().flatten()
    }

    /// What the project's formatter makes of the new text. One that it leaves as it is, or turns back
    /// into the old one, is written as the call has it.
    async fn formatting(&self, context: &ToolContext) -> ChangeFormatting {
        let (old, new) = &self.texts;
        // Other encodings are for the encoder, and a formatter reads UTF-8.
        if self.after != new.as_bytes() {
            return ChangeFormatting::default();
        }
        let request = FormatRequest {
            path: self.path.clone(),
            before: self.before.is_some().then(|| old.clone()),
            after: new.clone(),
            is_changed_again: context.reads.is_changed_again(&self.path),
        };
        let result = context.cancel.run_until_cancelled(context.formatter.format(request)).await;
        match result {
            None | Some(FormatResult::NotConfigured) => ChangeFormatting::default(),
            Some(FormatResult::Failed(problem)) => ChangeFormatting { formatted: None, problem },
            Some(FormatResult::Formatted { by, text }) => {
                let text = text::with_line_ends_of(new, text);
                let is_other = text != *new && (self.before.is_none() || text != *old);
                let fits = text.len() as u64 <= WHOLE_FILE;
                let formatted = (is_other && fits).then(|| (by, text.into()));
                ChangeFormatting { formatted, problem: None }
            }
        }
    }

    fn with(self, formatting: &ChangeFormatting) -> Self {
        match &formatting.formatted {
            None => self,
            Some((_, text)) => Self {
                after: text.as_bytes().to_owned(),
                texts: (self.texts.0, text.to_string()),
                ..self
            },
        }
    }
}

/// The most lines, and bytes of each, that a result shows of what a formatter has written.
const SHOWN_LINES: usize = 12;
const SHOWN_LINE: usize = 160;

/// What the model is told of the lines that a formatter has written otherwise than the call, so that
/// its next edit matches.
fn reformatted_lines(by: &str, proposed: &str, formatted: &str) -> String {
    let diff = FileDiff::with("", proposed, formatted, DiffContextSize::Lines(0));
    let mut lines = Vec::new();
    for hunk in &diff.hunks {
        let added = hunk.lines.iter().filter(|line| line.tag == DiffLineTag::Added);
        lines.extend(added.zip(hunk.new_start..).map(|(line, number)| {
            let shown = line.text.floor_char_boundary(SHOWN_LINE);
            let cut = if shown < line.text.len() { "…" } else { "" };
            format!("\n{number}\t{}{cut}", &line.text[..shown])
        }));
    }
    let count = truncation::pluralise(lines.len() as u64, "line");
    let more = lines.len().saturating_sub(SHOWN_LINES);
    lines.truncate(SHOWN_LINES);
    let mut told = match lines[..] {
        [] => format!("\n{by} then formatted the file; it took lines out and changed none."),
        [_] => format!("\n{by} then formatted the file; 1 line differs from your text:"),
        [_, ..] => format!("\n{by} then formatted the file; {count} differ from your text:"),
    };
    told.extend(lines);
    if more > 0 {
        told.push_str(&format!("\n[{more} more: read the file before you edit there]"));
    }
    told
}

/// Encodes the new text of a file; fails where the encoding lacks a character, and where the file would be
/// too big to be changed again.
pub(super) fn encode_text(
    text: &str,
    encoding: TextEncoding,
    shown: &str,
) -> Result<Vec<u8>, ToolError> {
    let bytes = text::encode(text, encoding).map_err(|c| {
        ToolError(format!(
            "{shown} is not UTF-8 and its encoding has no character {c:?}. Nothing was written. \
             Leave that character out, or convert the file first, for example with iconv."
        ))
    })?;
    match bytes.len() as u64 {
        0..=WHOLE_FILE => Ok(bytes),
        size => Err(ToolError(format!(
            "{shown} would have {}, too much to write here. Nothing was written. Use Bash.",
            truncation::size(size)
        ))),
    }
}

fn changed_since_approved(shown: &str) -> ToolError {
    ToolError(format!(
        "{shown} has changed since the change was approved. Nothing was written. Read it again, \
         then repeat the call."
    ))
}

/// The error where a part of a change cannot be a call of its own.
pub(super) fn not_in_part(shown: &str) -> ToolError {
    ToolError(format!(
        "This change of {shown} cannot be made in part. Take all of it, or say no and what to do \
         instead."
    ))
}

/// Identifies a call by its tool and its arguments.
fn call_key(tool: &str, input: &Value) -> ContentHash {
    ContentHash::of(format!("{tool}\n{input}").as_bytes())
}
