//! A Jupyter notebook as text, for Read: each cell with the name by which NotebookEdit changes it, its
//! type, its whole source, and its outputs in short.
//!
//! Sources are as they are in the file. Of outputs the model gets the text without escape sequences,
//! bounded, and of images and other data only type and size.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{CellKind, cell_names, nbformat_minor, parse_json};
use crate::domain::sanitize::{sanitize_line, strip_ansi};
use crate::tools::truncation;

/// The most bytes of the text of one output.
const OUTPUT_BYTES: usize = 2_000;
/// The most outputs of one cell.
const MAX_OUTPUTS: usize = 10;
/// The most kinds of data that are named of one output.
const MAX_KINDS: usize = 10;
/// The most characters of a name that stands in the file.
const NAME_CHARS: usize = 60;
/// The forms of an output that are shown as text, the best first.
const TEXT_KINDS: &[&str] = &["text/plain", "text/markdown", "text/latex", "text/html"];

/// What Read shows of a notebook.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::tools) struct NotebookOutline {
    pub text: String,
    pub cells: usize,
}

/// Writes a notebook as text.
///
/// # Errors
///
/// When it is no valid notebook of nbformat 4; the rest of a sentence that begins with its name.
pub(in crate::tools) fn outline(text: &str) -> Result<NotebookOutline, String> {
    let notebook = parse_json(text)?;
    nbformat_minor(&notebook)?;
    let cells = notebook["cells"].as_array().ok_or("has no list `cells`")?;
    let objects: Option<Vec<_>> = cells.iter().map(Value::as_object).collect();
    let cells = objects.ok_or("has a cell that is no object")?;
    let names = cell_names(cells.iter().map(|cell| text_field(cell, "id")));
    let mut text = String::new();
    for (cell, name) in cells.iter().zip(names) {
        add_cell(&mut text, cell, &name);
    }
    Ok(NotebookOutline { text, cells: cells.len() })
}

fn add_cell(text: &mut String, cell: &Map<String, Value>, name: &str) {
    let kind = text_field(cell, "cell_type").and_then(CellKind::named);
    let run = cell.get("execution_count").and_then(Value::as_u64);
    let run = run.map(|run| format!(", run as [{run}]")).unwrap_or_default();
    add_lines(text, &format!("=== cell {name}, {}{run}", kind.map_or("unknown", CellKind::name)));
    match cell.get("source").and_then(joined) {
        Some(source) => add_lines(text, &source),
        None => add_lines(text, "[no source]"),
    }
    if let Some(attachments) = cell.get("attachments").and_then(Value::as_object) {
        let names = attachments.keys().take(MAX_KINDS).map(|name| short_name(name));
        let names: Vec<String> = names.collect();
        let more = more_than(attachments.len(), MAX_KINDS);
        add_lines(text, &format!("[attachments: {}{more}]", names.join(", ")));
    }
    let Some(outputs) = cell.get("outputs").and_then(Value::as_array) else { return };
    for output in outputs.iter().take(MAX_OUTPUTS).filter_map(Value::as_object) {
        add_output(text, output);
    }
    if outputs.len() > MAX_OUTPUTS {
        let more = (outputs.len() - MAX_OUTPUTS) as u64;
        add_lines(text, &format!("[{} left out]", truncation::pluralise(more, "more output")));
    }
}

fn add_output(text: &mut String, output: &Map<String, Value>) {
    let data = output.get("data").and_then(Value::as_object);
    let shown = data.and_then(|data| TEXT_KINDS.iter().find(|kind| data.contains_key(**kind)));
    let (title, body) = match text_field(output, "output_type") {
        Some("stream") => {
            let name = text_field(output, "name").map_or("stream".into(), short_name);
            (name, output.get("text").and_then(joined))
        }
        Some("error") => ("error".to_owned(), Some(Cow::Owned(error_text(output)))),
        Some(_) | None => {
            let body = shown.and_then(|kind| data?.get(*kind).and_then(joined));
            ("result".to_owned(), body)
        }
    };
    add_lines(text, &format!("--- {title}"));
    if let Some(body) = body {
        add_bounded(text, &strip_ansi(&body));
    }
    let Some(data) = data else { return };
    let others: Vec<_> = data.iter().filter(|(kind, _)| Some(&kind.as_str()) != shown).collect();
    if !others.is_empty() {
        let named = others.iter().take(MAX_KINDS).map(|(kind, value)| {
            format!("{} of {}", short_name(kind), truncation::size(data_size(kind, value)))
        });
        let named: Vec<String> = named.collect();
        let more = more_than(others.len(), MAX_KINDS);
        add_lines(text, &format!("[not shown: {}{more}]", named.join(", ")));
    }
}

/// The error that ended a cell, with its traceback.
fn error_text(output: &Map<String, Value>) -> String {
    let traceback = output.get("traceback").and_then(Value::as_array);
    let lines: Vec<&str> = traceback.into_iter().flatten().filter_map(Value::as_str).collect();
    if !lines.is_empty() {
        return lines.join("\n");
    }
    let [name, value] = ["ename", "evalue"].map(|it| text_field(output, it).unwrap_or_default());
    format!("{name}: {value}")
}

fn add_bounded(text: &mut String, body: &str) {
    match truncation::ends(body, OUTPUT_BYTES) {
        None => add_lines(text, body),
        Some(parts) => {
            add_lines(text, parts.head);
            let lines = truncation::pluralise(parts.hidden.lines().count() as u64, "line");
            let size = truncation::size(parts.hidden.len() as u64);
            add_lines(text, &format!("[{lines} ({size}) of output left out]"));
            add_lines(text, parts.tail);
        }
    }
}

/// Adds a text that ends with a line end, unless it is empty.
fn add_lines(text: &mut String, lines: &str) {
    text.push_str(lines);
    if !lines.is_empty() && !lines.ends_with('\n') {
        text.push('\n');
    }
}

/// A text of nbformat, which is a string or a list of strings.
fn joined(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Array(lines) => {
            lines.iter().map(Value::as_str).collect::<Option<String>>().map(Cow::Owned)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// The bytes of an output; of an image those that base64 stands for.
fn data_size(kind: &str, value: &Value) -> u64 {
    let bytes = joined(value).map_or_else(|| value.to_string().len(), |text| text.len()) as u64;
    let is_base64 = kind.starts_with("image/") && kind != "image/svg+xml";
    if is_base64 { bytes / 4 * 3 } else { bytes }
}

fn text_field<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    object.get(name).and_then(Value::as_str)
}

fn short_name(name: &str) -> String {
    truncation::line(&sanitize_line(name), NAME_CHARS).into_owned()
}

fn more_than(count: usize, shown: usize) -> String {
    match count.checked_sub(shown) {
        None | Some(0) => String::new(),
        Some(more) => format!(" and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(cells: &Value) -> String {
        let notebook = json!({"cells": cells, "nbformat": 4, "nbformat_minor": 5});
        outline(&notebook.to_string()).unwrap().text
    }

    #[test]
    fn each_cell_has_its_name_its_type_and_its_source() {
        let text = shown(&json!([
            {"cell_type": "markdown", "id": "intro", "source": ["# Title\n", "text"],
             "attachments": {"a.png": {"image/png": "AAAA"}}},
            {"cell_type": "code", "id": "b2", "execution_count": 3, "outputs": [],
             "source": "print(1)\n\nx\n"},
            {"cell_type": "code", "execution_count": null, "source": []},
            {"cell_type": "sql", "id": "b 2"},
        ]));
        assert_eq!(
            text,
            "=== cell intro, markdown\n# Title\ntext\n[attachments: a.png]\n\
             === cell b2, code, run as [3]\nprint(1)\n\nx\n\
             === cell #2, code\n\
             === cell #3, unknown\n[no source]\n"
        );
    }

    #[test]
    fn outputs_are_short_and_images_are_named() {
        let text = shown(&json!([{"cell_type": "code", "id": "a", "source": "x", "outputs": [
            {"output_type": "stream", "name": "stdout", "text": ["\u{1b}[31mred\u{1b}[0m\n", "2\n"]},
            {"output_type": "stream", "name": "stderr", "text": "line\n".repeat(1_000)},
            {"output_type": "execute_result", "data": {"text/html": "<b>",
             "text/plain": ["a\n", "b"], "image/png": "A".repeat(4096)}},
            {"output_type": "display_data", "data": {"image/svg+xml": ["<svg>", "</svg>"]}},
            {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\u{1b}[0;31mE: v"]},
            {"output_type": "error", "ename": "E", "evalue": "v", "traceback": []},
        ]}]));
        let line_count = text.lines().filter(|line| *line == "line").count();
        assert_eq!(line_count, 399);
        let text = text.replace("line\n", "");
        assert_eq!(
            text,
            "=== cell a, code\nx\n\
             --- stdout\nred\n2\n\
             --- stderr\n[601 lines (2.9 KB) of output left out]\n\
             --- result\na\nb\n[not shown: text/html of 3 bytes, image/png of 3.0 KB]\n\
             --- result\n[not shown: image/svg+xml of 11 bytes]\n\
             --- error\nE: v\n--- error\nE: v\n"
        );
        let many = json!([{"cell_type": "code", "source": "", "outputs":
            vec![json!({"output_type": "stream", "name": "stdout", "text": "x"}); 25]}]);
        let text = shown(&many);
        assert!(text.ends_with("x\n[15 more outputs left out]\n"), "{text}");
        assert_eq!(text.matches("--- stdout").count(), 10);
    }

    #[test]
    fn hostile_notebooks_are_bounded_or_refused() {
        let name = "n\n=== cell b, code\u{1b}[2J".repeat(1_000);
        let text = shown(&json!([
            {"cell_type": "code", "id": name, "source": {"a": 1}, "outputs": [
                1, {}, {"output_type": "stream", "name": name, "text": [1]},
                {"data": {name: {"deep": [1, 2]}}}, {"output_type": "error", "traceback": 3},
            ]},
            {"cell_type": "code", "id": "x", "source": ""},
            {"cell_type": "code", "id": "x", "source": ""},
        ]));
        assert!(text.len() < 1_000 && !text.contains('\u{1b}'), "{text}");
        let cells: Vec<&str> = text.lines().filter(|line| line.starts_with("===")).collect();
        assert_eq!(cells, ["=== cell #0, code", "=== cell #1, code", "=== cell #2, code"]);
        let deep = "[".repeat(1_000_000);
        let many = format!("{{\"nbformat\":4,\"cells\":[{}{{}}]}}", "{},".repeat(2_000_000));
        for (text, expected) in [
            ("", "is not valid JSON"),
            ("[]", "is not a notebook of nbformat 4 (it has no `nbformat`)"),
            ("{\"nbformat\": 3, \"worksheets\": []}", "is not a notebook of nbformat 4"),
            ("{\"nbformat\": 4}", "has no list `cells`"),
            ("{\"nbformat\": 4, \"cells\": [[]]}", "has a cell that is no object"),
            (deep.as_str(), "is not valid JSON"),
            (many.as_str(), "has too many values"),
        ] {
            let error = outline(text).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
