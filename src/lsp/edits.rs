//! The edits that a server answers a rename with, read strictly: whatever is not understood refuses the
//! whole answer, since a part of a rename is worse than none.
//!
//! Columns become bytes of the files as they are on the disk now, and each file comes with its hash. The
//! tool applies the edits only to files that still have it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::disk::read_regular;
use crate::domain::ContentHash;
use crate::tools::{CodeEdit, CodeFileEdits};

use super::connection::{LspError, lsp_text};
use super::file_uri::path_of_uri;
use super::position::{LspEncoding, LspPosition};
use super::session::{LspSession, MAX_TEXT};

/// The most files and the most edits of one answer.
const MAX_FILES: usize = 500;
const MAX_EDITS: usize = 10_000;

/// The most characters that are shown of what a server has written.
const MAX_SHOWN: usize = 200;

/// An edit as a server writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WrittenEdit {
    start: LspPosition,
    end: LspPosition,
    text: String,
}

/// The edits of an answer by file, and of which version of an open file they are.
#[derive(Debug, Default, PartialEq, Eq)]
struct WrittenEdits(BTreeMap<PathBuf, (Option<i64>, Vec<WrittenEdit>)>);

/// Asks for the edits that give the symbol at `at` the name `name`.
///
/// # Errors
///
/// When the server has ended, refuses, does not answer in time, or answers with what slug does not apply.
pub(super) async fn rename_edits(
    session: &LspSession,
    at: &Value,
    name: &str,
) -> Result<Vec<CodeFileEdits>, LspError> {
    let provider = session.capabilities.get("renameProvider");
    if provider.and_then(|it| it.get("prepareProvider")) == Some(&Value::Bool(true)) {
        let prepared = session.ask("textDocument/prepareRename", at.clone()).await?;
        if prepared.is_null() {
            return Err(LspError::Unusable("What is at this place cannot be renamed.".into()));
        }
    }
    let mut params = at.clone();
    params["newName"] = json!(name);
    let written = WrittenEdits::read(&session.ask("textDocument/rename", params).await?)?;
    let mut files = Vec::new();
    for (path, (version, edits)) in written.0 {
        let open = session.document(&path).await;
        let is_other = |open: &(i64, _)| version.is_some_and(|version| version != open.0);
        if open.as_ref().is_some_and(is_other) {
            return Err(changed(&path));
        }
        let (encoding, open) = (session.encoding, open.map(|(_, text)| text));
        let reading = tokio::task::spawn_blocking(move || {
            file_edits(path, open.as_deref(), encoding, &edits)
        });
        files.push(reading.await.map_err(|error| LspError::Unusable(format!("{error}.")))??);
    }
    Ok(files)
}

impl WrittenEdits {
    /// Reads both forms of an answer; null is no edit.
    fn read(answer: &Value) -> Result<Self, LspError> {
        let mut all = Self::default();
        match (answer.get("documentChanges"), answer.get("changes")) {
            (Some(Value::Array(documents)), _) => {
                for document in documents {
                    if let Some(kind) = document.get("kind") {
                        let kind = lsp_text(kind.as_str().unwrap_or("other"), MAX_SHOWN);
                        return Err(LspError::Unusable(format!(
                            "The rename would also {kind} a file, which slug does not do for a server. \
                             Nothing was changed. Rename it by hand."
                        )));
                    }
                    let id = document.get("textDocument").unwrap_or(&Value::Null);
                    let version = id.get("version").and_then(Value::as_i64);
                    let uri = id.get("uri").and_then(Value::as_str).unwrap_or_default();
                    all.add(uri, version, document.get("edits").unwrap_or(&Value::Null))?;
                }
            }
            (_, Some(Value::Object(files))) => {
                for (uri, edits) in files {
                    all.add(uri, None, edits)?;
                }
            }
            (_, _) if answer.is_null() || answer.as_object().is_some_and(|it| it.is_empty()) => {}
            (_, _) => return Err(unreadable("no list of edits")),
        }
        all.0.retain(|_, (_, edits)| !edits.is_empty());
        let count: usize = all.0.values().map(|(_, edits)| edits.len()).sum();
        if all.0.len() > MAX_FILES || count > MAX_EDITS {
            let files = all.0.len();
            return Err(LspError::Unusable(format!(
                "The rename has {count} edits in {files} files, too many to show. Nothing was changed."
            )));
        }
        Ok(all)
    }

    fn add(&mut self, uri: &str, version: Option<i64>, edits: &Value) -> Result<(), LspError> {
        let Some(path) = path_of_uri(uri).filter(|path| *path == crate::domain::clean_path(path))
        else {
            let uri = lsp_text(uri, MAX_SHOWN);
            return Err(LspError::Unusable(format!(
                "The rename would change {uri}, which is no file. Nothing was changed."
            )));
        };
        let edits = edits.as_array().ok_or_else(|| unreadable("edits that are no list"))?;
        let (known, all) = self.0.entry(path).or_default();
        *known = known.or(version);
        for edit in edits {
            let range = edit.get("range").unwrap_or(&Value::Null);
            let place = |key: &str| LspPosition::read(range.get(key)?);
            let text = edit.get("newText").and_then(Value::as_str);
            let (Some(start), Some(end), Some(text)) = (place("start"), place("end"), text) else {
                return Err(unreadable("an edit without a range or a text"));
            };
            all.push(WrittenEdit { start, end, text: text.to_owned() });
        }
        Ok(())
    }
}

/// The edits of a file in bytes. `open` is the text that the server has of it. Blocks.
fn file_edits(
    path: PathBuf,
    open: Option<&str>,
    encoding: LspEncoding,
    edits: &[WrittenEdit],
) -> Result<CodeFileEdits, LspError> {
    let shown = lsp_text(&path.to_string_lossy(), MAX_SHOWN);
    let read = read_regular(&path, MAX_TEXT + 1).ok().flatten();
    let Some(bytes) = read.filter(|bytes| bytes.len() as u64 <= MAX_TEXT) else {
        return Err(LspError::Unusable(format!(
            "The rename would change {shown}, which is missing, too big or no file. Nothing was changed."
        )));
    };
    let Ok(all) = std::str::from_utf8(&bytes) else {
        return Err(LspError::Unusable(format!(
            "The rename would change {shown}, which is no UTF-8 text. Nothing was changed."
        )));
    };
    let text = all.strip_prefix('\u{feff}').unwrap_or(all);
    if open.is_some_and(|open| open != text) {
        return Err(changed(&path));
    }
    let mark = all.len() - text.len();
    let starts = line_starts(text);
    let byte = |at: LspPosition| mark + byte_at(text, &starts, encoding, at);
    let mut found: Vec<CodeEdit> = edits
        .iter()
        .map(|it| CodeEdit { start: byte(it.start), end: byte(it.end), text: it.text.clone() })
        .collect();
    // Two of the same place are one: some servers find a place by two ways.
    found.sort_by_key(|edit| (edit.start, edit.end));
    found.dedup();
    let is_backwards = found.iter().any(|it| it.end < it.start);
    let overlaps =
        found.windows(2).any(|pair| pair[1].start < pair[0].end || pair[0].start == pair[1].start);
    if is_backwards || overlaps {
        return Err(LspError::Unusable(format!(
            "The rename has edits of {shown} that overlap. Nothing was changed."
        )));
    }
    Ok(CodeFileEdits { content: ContentHash::of(&bytes), path, edits: found })
}

/// Where each line begins. As in the protocol, a carriage return alone ends a line, too.
fn line_starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let is_end = |at: &usize| match bytes[*at] {
        b'\n' => true,
        b'\r' => bytes.get(at + 1) != Some(&b'\n'),
        _ => false,
    };
    std::iter::once(0).chain((0..bytes.len()).filter(is_end).map(|at| at + 1)).collect()
}

fn byte_at(text: &str, starts: &[usize], encoding: LspEncoding, at: LspPosition) -> usize {
    let line = usize::try_from(at.line).unwrap_or(usize::MAX);
    let Some(start) = starts.get(line).copied() else { return text.len() };
    let end = starts.get(line + 1).copied().unwrap_or(text.len());
    let line = text[start..end].trim_end_matches(['\r', '\n']);
    start + encoding.byte(line, at.column)
}

fn unreadable(what: &str) -> LspError {
    LspError::Unusable(format!("The answer to the rename has {what}. Nothing was changed."))
}

fn changed(path: &Path) -> LspError {
    let shown = lsp_text(&path.to_string_lossy(), MAX_SHOWN);
    LspError::Unusable(format!(
        "{shown} has changed meanwhile. Nothing was changed. Repeat the call."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(line: u64, from: u64, to: u64, text: &str) -> Value {
        json!({"range": {"start": {"line": line, "character": from},
                         "end": {"line": line, "character": to}}, "newText": text})
    }

    fn bytes_of(
        content: &[u8],
        encoding: LspEncoding,
        edits: &Value,
    ) -> Result<Vec<(usize, usize)>, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, content).unwrap();
        let uri = super::super::file_uri::file_uri(&path);
        let mut written =
            WrittenEdits::read(&json!({"changes": {uri: edits}})).map_err(|it| it.to_string())?;
        let (_, edits) = written.0.remove(&path).unwrap();
        let found = file_edits(path, None, encoding, &edits).map_err(|it| it.to_string())?;
        assert_eq!(found.content, ContentHash::of(content));
        Ok(found.edits.iter().map(|it| (it.start, it.end)).collect())
    }

    #[test]
    fn columns_become_bytes_whatever_the_encoding_and_the_ends_of_lines() {
        let text = "a😀ä x\r\n\tß x\rx\n".as_bytes();
        let wanted = Ok(vec![(8, 9), (15, 16), (17, 18)]);
        for (encoding, first, second) in
            [(LspEncoding::Utf8, 8, 4), (LspEncoding::Utf16, 5, 3), (LspEncoding::Utf32, 4, 3)]
        {
            let edits = json!([
                edit(2, 0, 1, "y"),
                edit(0, first, first + 1, "y"),
                edit(1, second, second + 1, "y"),
            ]);
            assert_eq!(bytes_of(text, encoding, &edits), wanted, "{encoding:?}");
        }
        let marked =
            bytes_of("\u{feff}x\n".as_bytes(), LspEncoding::Utf16, &json!([edit(0, 0, 1, "y")]));
        assert_eq!(marked, Ok(vec![(3, 4)]), "behind the byte order mark");
        let beyond = bytes_of(
            b"x\r\ny",
            LspEncoding::Utf16,
            &json!([edit(0, 1, 99, ""), edit(7, 0, 3, "z")]),
        );
        assert_eq!(beyond, Ok(vec![(1, 1), (4, 4)]), "clamped to the line and the text");
    }

    #[test]
    fn edits_that_overlap_and_files_that_are_no_text_are_refused() {
        let twice = json!([edit(0, 0, 2, "y"), edit(0, 0, 2, "y")]);
        assert_eq!(bytes_of(b"abc", LspEncoding::Utf8, &twice), Ok(vec![(0, 2)]));
        for edits in [
            json!([edit(0, 0, 2, "y"), edit(0, 1, 3, "z")]),
            json!([edit(0, 1, 1, "y"), edit(0, 1, 2, "z")]),
            json!([edit(0, 2, 1, "y")]),
        ] {
            let refused = bytes_of(b"abc", LspEncoding::Utf8, &edits).unwrap_err();
            assert!(refused.contains("overlap"), "{refused}");
        }
        let refused =
            bytes_of(b"\xff\xfe", LspEncoding::Utf8, &json!([edit(0, 0, 1, "")])).unwrap_err();
        assert!(refused.contains("no UTF-8 text"), "{refused}");
    }

    #[test]
    fn answers_are_read_in_both_forms_and_what_is_not_understood_is_refused() {
        let documents = json!({"documentChanges": [
            {"textDocument": {"uri": "file:///w/a", "version": 3}, "edits": [edit(0, 0, 1, "y")]},
            {"textDocument": {"uri": "file:///w/b", "version": null}, "edits": []},
        ]});
        let read = WrittenEdits::read(&documents).unwrap();
        assert_eq!(read.0.keys().collect::<Vec<_>>(), [Path::new("/w/a")]);
        assert_eq!(read.0[Path::new("/w/a")].0, Some(3));
        for nothing in [json!(null), json!({}), json!({"changes": {}})] {
            assert_eq!(WrittenEdits::read(&nothing).unwrap(), WrittenEdits::default());
        }
        let many: Vec<Value> = (0..=MAX_EDITS).map(|_| edit(0, 0, 1, "y")).collect();
        for (answer, part) in [
            (
                json!({"documentChanges": [{"kind": "rename", "oldUri": "file:///a"}]}),
                "also rename a file",
            ),
            (json!({"documentChanges": [{"kind": "de\u{1b}lete"}]}), "also de␛lete a file"),
            (json!({"changes": {"jdt://x": [edit(0, 0, 1, "y")]}}), "jdt://x, which is no file"),
            (json!({"changes": {"file:///w/../x": [edit(0, 0, 1, "y")]}}), "which is no file"),
            (json!({"changes": {"file:///a": 4}}), "edits that are no list"),
            (json!({"changes": {"file:///a": [{"newText": "y"}]}}), "without a range"),
            (
                json!({"changes": {"file:///a": [{"range": edit(0, 0, 1, "")["range"], "snippet": {}}]}}),
                "a text",
            ),
            (json!([1]), "no list of edits"),
            (json!({"changes": {"file:///a": many}}), "too many to show"),
        ] {
            let refused = WrittenEdits::read(&answer).unwrap_err().to_string();
            assert!(refused.contains(part), "{refused}");
        }
    }
}
