//! Reads the arguments of Edit: one change, or several in `edits`.

use std::path::PathBuf;

use serde_json::Value;

use super::matching::ReplaceScope;
use super::placeholder;
use super::steps::{EditPlace, EditStep};
use crate::tools::input::{ArgumentReader, FILE_NAMES, InputShape};
use crate::tools::{ToolError, WorkingDirectory};

pub(super) const SHAPE: InputShape = InputShape {
    tool: "Edit",
    example: r#"{"file_path": "path/to/file", "old_string": "the text as it is", "new_string": "the text as it should be"}"#,
    arguments: ARGUMENTS,
    place: "",
};

/// One of several changes.
const STEP: InputShape = InputShape {
    example: r#"{"file_path": "path/to/file", "edits": [{"old_string": "the text as it is", "new_string": "the text as it should be"}, {"start_line": 8, "first_line": "the text of line 8", "new_string": ""}]}"#,
    arguments: ARGUMENTS.split_at(2).1,
    place: " in `edits`",
    ..SHAPE
};

/// The first two are those of the call, the others those of each change.
const ARGUMENTS: &[(&str, &[&str])] = &[
    ("file_path", FILE_NAMES),
    ("edits", &["changes"]),
    ("old_string", OLD),
    ("new_string", NEW),
    ("replace_all", &["replaceAll"]),
    ("start_line", &["startLine"]),
    ("end_line", &["endLine"]),
    ("first_line", &["firstLine"]),
    ("last_line", &["lastLine"]),
    ("insert_after", &["insert_line", "insertAfter"]),
];

const OLD: &[&str] = &["oldString", "old_str", "old_text", "oldText"];
const NEW: &[&str] = &["newString", "new_str", "new_text", "newText"];

/// The most changes of one call. Each looks through the whole file.
const MAX_STEPS: usize = 500;

/// What a call asks for.
#[derive(Debug, Clone)]
pub(super) struct EditArguments {
    pub path: PathBuf,
    /// At least one, in the order in which they are made.
    pub steps: Vec<EditStep>,
}

/// The arguments under their own names, those of each change too.
pub(super) fn canonical(input: Value) -> Value {
    let mut input = SHAPE.canonical(input);
    if let Some(edits) = input.get_mut("edits")
        && let Some(listed) = listed(edits)
    {
        *edits = listed.into_iter().map(|edit| STEP.canonical(edit)).collect();
    }
    input
}

/// Reads the arguments of a call.
///
/// # Errors
///
/// When they do not say one certain change; the error shows what to send.
pub(super) fn parse(input: &Value, place: &WorkingDirectory) -> Result<EditArguments, ToolError> {
    let input = ArgumentReader::new(SHAPE, input)?;
    let path = input.path("file_path", place)?;
    let edits = match input.value("edits") {
        None => Vec::new(),
        Some(Value::String(text)) if text.trim().is_empty() => Vec::new(),
        Some(edits) => {
            listed(edits).ok_or_else(|| input.wrong("`edits` must be an array of objects"))?
        }
    };
    if edits.is_empty() {
        return Ok(EditArguments { path, steps: vec![step(&input)?] });
    }
    if has_step(&input)? {
        return Err(input.wrong("send one change, or several in `edits`, not both"));
    }
    let total = edits.len();
    if total > MAX_STEPS {
        return Err(ToolError(format!(
            "A call takes at most {MAX_STEPS} changes, and this one has {total}. Send them in several calls, \
             or write the file anew with Write."
        )));
    }
    let steps = edits.iter().enumerate().map(|(at, edit)| {
        let read = ArgumentReader::new(STEP, edit).and_then(|edit| step(&edit));
        read.map_err(|error| of_several(error, at, total))
    });
    Ok(EditArguments { path, steps: steps.collect::<Result<_, _>>()? })
}

/// The error about one of several changes.
pub(super) fn of_several(error: ToolError, at: usize, total: usize) -> ToolError {
    match total {
        1 => error,
        _ => ToolError(format!("Change {} of {total}: {}", at + 1, error.0)),
    }
}

fn listed(edits: &Value) -> Option<Vec<Value>> {
    match edits {
        Value::Array(edits) => Some(edits.clone()),
        Value::String(text) => serde_json::from_str(text).ok(),
        // One change alone.
        Value::Object(_) => Some(vec![edits.clone()]),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Whether a change stands beside `edits`. Empty texts and zeros are what models put where they
/// mean nothing.
fn has_step(input: &ArgumentReader<'_>) -> Result<bool, ToolError> {
    for name in ["old_string", "new_string", "first_line", "last_line"] {
        if input.optional_text(name)?.is_some_and(|text| !text.is_empty()) {
            return Ok(true);
        }
    }
    for name in ["start_line", "end_line", "insert_after"] {
        if input.number(name)?.is_some_and(|number| number > 0) {
            return Ok(true);
        }
    }
    input.flag("replace_all")
}

fn step(input: &ArgumentReader<'_>) -> Result<EditStep, ToolError> {
    let line = |name| {
        let number = input.number(name)?;
        Ok::<_, ToolError>(number.map(|number| usize::try_from(number).unwrap_or(usize::MAX)))
    };
    let is_blank = |name| {
        let text = input.optional_text(name)?;
        Ok::<_, ToolError>(text.is_none_or(|text| text.is_empty()))
    };
    let old = input.optional_text("old_string")?;
    let is_text = old.as_ref().is_some_and(|old| !old.is_empty());
    let start = line("start_line")?.filter(|start| *start > 0);
    let end = line("end_line")?.filter(|end| *end > 0);
    let after = line("insert_after")?.filter(|after| *after > 0 || (!is_text && start.is_none()));
    let is_all = input.flag("replace_all")?;
    let forms = [is_text, start.is_some(), after.is_some()];
    if forms.into_iter().filter(|is_form| *is_form).count() > 1 {
        return Err(input.wrong(
            "send one of `old_string`, `start_line` and `insert_after`, and leave the others out",
        ));
    }
    let place = if let Some(first) = start {
        let last = end.unwrap_or(first);
        if last < first {
            return Err(input.wrong("`end_line` is before `start_line`"));
        }
        let holds_last = match last > first {
            true => Some(input.text("last_line")?),
            false => input.optional_text("last_line")?.filter(|text| !text.is_empty()),
        };
        EditPlace::Lines { first, last, holds: (input.text("first_line")?, holds_last) }
    } else if let Some(line) = after {
        if end.is_some() || !is_blank("last_line")? {
            return Err(input.wrong("`end_line` and `last_line` go with `start_line` only"));
        }
        let holds = if line > 0 { Some(input.text("first_line")?) } else { None };
        EditPlace::After { line, holds }
    } else {
        if end.is_some() || !is_blank("first_line")? || !is_blank("last_line")? {
            return Err(input.wrong("`start_line` is missing"));
        }
        let old = input.text("old_string")?;
        if old.is_empty() {
            EditPlace::NewFile
        } else {
            let scope = if is_all { ReplaceScope::All } else { ReplaceScope::One };
            EditPlace::Text { old, scope }
        }
    };
    let new = input.text("new_string")?;
    match &place {
        EditPlace::Text { old, .. } => {
            if *old == new {
                return Err(input.wrong("`old_string` and `new_string` are the same"));
            }
            if let Some(line) = placeholder::find(&new, old) {
                return Err(left_out(line));
            }
        }
        EditPlace::Lines { .. } | EditPlace::After { .. } if is_all => {
            return Err(input.wrong("`replace_all` goes with `old_string` only"));
        }
        EditPlace::After { .. } if new.is_empty() => {
            return Err(input.wrong("`new_string` is empty, so there is nothing to insert"));
        }
        EditPlace::Lines { .. } | EditPlace::After { .. } | EditPlace::NewFile => {}
    }
    Ok(EditStep { place, new })
}

/// The error about a placeholder in the new text.
pub(super) fn left_out(line: &str) -> ToolError {
    ToolError(format!(
        "`new_string` holds the placeholder `{line}`, which would replace real text. Send all of \
         the new text, or a smaller `old_string`."
    ))
}
