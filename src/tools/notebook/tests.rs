//! Tests of changes of one cell.

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// As Jupyter writes a notebook: indent 1, sorted keys, characters beyond ASCII as they are.
const JUPYTER: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Title\n",
    "text é"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "b2",
   "metadata": {"x": 1.0, "big": 123456789012345678901234567890},
   "outputs": [
    {"name": "stdout", "output_type": "stream", "text": ["1\n"]}
   ],
   "source": "print(1)"
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

const COMPACT: &str = r#"{"cells":[{"cell_type":"raw","metadata":{},"source":["a\u00e9"]}],"metadata":{},"nbformat":4,"nbformat_minor":2}"#;

fn replace(cell: &str, source: &str) -> CellChange {
    CellChange::Replace { cell: cell.into(), kind: None, source: source.into() }
}

fn insert(after: Option<&str>, kind: CellKind, source: &str) -> CellChange {
    CellChange::Insert { after: after.map(Into::into), kind, source: source.into() }
}

fn changed(text: &str, wanted: &CellChange) -> String {
    change(text, wanted).unwrap().text
}

fn source_of(cell: &Value) -> String {
    match &cell["source"] {
        Value::Array(lines) => lines.iter().map(|it| it.as_str().unwrap()).collect(),
        other => other.as_str().unwrap().to_owned(),
    }
}

#[test]
fn only_the_source_of_the_cell_changes() {
    let lines = "[\n    \"# Title\\n\",\n    \"text é\"\n   ]";
    let new = changed(JUPYTER, &replace("intro", "one\ntwo \"2\"\n"));
    assert_eq!(new, JUPYTER.replace(lines, "[\n    \"one\\n\",\n    \"two \\\"2\\\"\\n\"\n   ]"));
    assert_eq!(changed(JUPYTER, &replace("0", "")), JUPYTER.replace(lines, "[]"));
    let code = change(JUPYTER, &replace("b2", "print(2)\né")).unwrap();
    assert_eq!(code.text, JUPYTER.replace("\"print(1)\"", "\"print(2)\\né\""));
    assert!(code.has_old_outputs && code.cell == "b2");
    let windows = JUPYTER.replace('\n', "\r\n");
    let new = changed(&windows, &replace("intro", "a\nb"));
    let lines = lines.replace('\n', "\r\n");
    assert_eq!(new, windows.replace(&lines, "[\r\n    \"a\\n\",\r\n    \"b\"\r\n   ]"));
}

#[test]
fn a_new_cell_is_laid_out_as_its_neighbours_are() {
    let text = changed(JUPYTER, &insert(Some("intro"), CellKind::Code, "x = 1\ny"));
    let value: Value = serde_json::from_str(&text).unwrap();
    let id = value["cells"][1]["id"].as_str().unwrap().to_owned();
    assert!(id.len() == 8 && id.bytes().all(|c| c.is_ascii_hexdigit()), "{id}");
    let cell = format!(
        "  }},\n  {{\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"{id}\",\n   \
         \"metadata\": {{}},\n   \"outputs\": [],\n   \"source\": [\n    \"x = 1\\n\",\n    \"y\"\n   ]\n  }},\n"
    );
    assert_eq!(text, JUPYTER.replacen("  },\n", &cell, 1));
    let again = changed(JUPYTER, &insert(Some("intro"), CellKind::Code, "x = 1\ny"));
    assert_eq!(text, again, "the same call writes the same cell");

    let compact = changed(COMPACT, &insert(None, CellKind::Markdown, "é\nb"));
    let cell = r#"{"cell_type":"markdown","metadata":{},"source":["\u00e9\n","b"]},"#;
    assert_eq!(compact, COMPACT.replacen("[{", &format!("[{cell}{{"), 1), "no id before minor 5");
}

#[test]
fn a_deleted_cell_takes_its_comma_with_it() {
    let kinds = |text: &str| -> Vec<String> {
        let value: Value = serde_json::from_str(text).unwrap();
        let cells = value["cells"].as_array().unwrap().clone();
        cells.iter().map(|cell| cell["cell_type"].as_str().unwrap().to_owned()).collect()
    };
    let delete = |cell: &str| CellChange::Delete { cell: cell.into() };
    let first = changed(JUPYTER, &delete("intro"));
    assert_eq!(kinds(&first), ["code"]);
    assert!(first.starts_with("{\n \"cells\": [\n  {\n   \"cell_type\": \"code\""), "{first}");
    let last = changed(JUPYTER, &delete("1"));
    assert_eq!(kinds(&last), ["markdown"]);
    assert!(last.contains("   ]\n  }\n ],\n"), "{last}");
    let none = changed(&last, &delete("intro"));
    assert_eq!(kinds(&none), [""; 0]);
    let one = changed(&none, &insert(None, CellKind::Markdown, "a"));
    assert_eq!(kinds(&one), ["markdown"]);
    assert_eq!(kinds(&changed(COMPACT, &delete("0"))), [""; 0]);
}

#[test]
fn what_is_no_notebook_or_has_no_such_cell_is_refused() {
    let deep =
        format!("{{\"nbformat\":4,\"cells\":{}{}}}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let empty = "{\"nbformat\": 4, \"cells\": []}";
    let long = format!("{{\"nbformat\": \"{}\"}}", "x".repeat(1_000_000));
    let many = format!("{{\"nbformat\": 4, \"cells\": [{}{{}}]}}", "{},".repeat(2_000_000));
    let cells = format!("{{\"nbformat\": 4, \"cells\": [{}{{}}]}}", "{},".repeat(99));
    let names: Vec<String> = (0..30).map(|at| format!("#{at}")).collect();
    let listed = format!("has no cell \"x\". Its cells: {} and 70 more", names.join(", "));
    for (text, wanted, expected) in [
        ("{", replace("0", ""), "is not valid JSON"),
        ("[]", replace("0", ""), "is not a notebook of nbformat 4 (it has no `nbformat`)"),
        (
            "{\"nbformat\": 3}",
            replace("0", ""),
            "is not a notebook of nbformat 4 (`nbformat` is 3)",
        ),
        ("{\"nbformat\": 4}", replace("0", ""), "has no list `cells`"),
        ("{\"nbformat\": 4, \"cells\": [1]}", replace("0", ""), "has a cell that is no object"),
        ("{\"nbformat\": 4, \"cells\": [{}]}", replace("0", ""), "has a cell #0 without `source`"),
        ("{\"nbformat\": 4, // x\n \"cells\": []}", replace("0", ""), "is not valid JSON"),
        (deep.as_str(), replace("0", ""), "is not valid JSON"),
        (JUPYTER, replace("cell-1", ""), "has no cell \"cell-1\". Its cells: intro, b2"),
        (JUPYTER, replace("2", ""), "has no cell \"2\""),
        (JUPYTER, replace("#2", ""), "has no cell \"#2\""),
        (JUPYTER, replace("#intro", ""), "has no cell \"#intro\""),
        (empty, replace("0", ""), "has no cell \"0\", and no other"),
        (long.as_str(), replace("0", ""), "is not a notebook of nbformat 4 (it has no `nbformat`)"),
        (many.as_str(), replace("0", ""), "has too many values"),
        (&cells, replace("x", ""), &listed),
    ] {
        let error = change(text, &wanted).unwrap_err();
        assert!(error.starts_with(expected) && error.len() < 500, "{error}");
    }
    let other_kind = CellChange::Replace {
        cell: "b2".into(),
        kind: Some(CellKind::Markdown),
        source: String::new(),
    };
    assert!(
        change(JUPYTER, &other_kind).unwrap_err().starts_with("has the cell b2 with the type code")
    );
}

/// A cell that one name means is the one that the name was given to.
#[test]
fn each_name_means_one_cell() {
    let ids = [
        json!("a"),
        json!("twice"),
        json!("twice"),
        json!(null),
        json!("1"),
        json!(""),
        json!("#0"),
        json!("new\nline"),
        json!(7),
        json!("é"),
        json!("x".repeat(65)),
    ];
    let cells: Vec<Value> = ids.iter().map(|id| json!({"id": id, "source": "old"})).collect();
    let text = json!({"nbformat": 4, "nbformat_minor": 5, "cells": cells}).to_string();
    let names = ParsedNotebook::parse(&text).unwrap().names;
    assert_eq!(names, ["a", "#1", "#2", "#3", "1", "#5", "#6", "#7", "#8", "#9", "#10"]);
    for (at, name) in names.iter().enumerate() {
        let new = change(&text, &replace(name, "new")).unwrap();
        assert_eq!(&new.cell, name);
        let value: Value = serde_json::from_str(&new.text).unwrap();
        let is_new = |cell: &Value| cell["source"] == "new";
        assert_eq!(value["cells"].as_array().unwrap().iter().position(is_new), Some(at), "{name}");
    }
    assert_eq!(
        change(&text, &replace("twice", "")).unwrap_err(),
        "has 2 cells with the id \"twice\". Name one by its number: #1, #2"
    );
    let delete = |cell: &str| change(&text, &CellChange::Delete { cell: cell.into() }).unwrap();
    assert!(delete("a").moves_numbers && !delete("#10").moves_numbers);
}

#[test]
fn a_big_notebook_with_big_cells_is_changed_at_once() {
    let image = "A".repeat(8 << 20);
    let text =
        COMPACT.replacen("\"metadata\":{}}", &format!("\"metadata\":{{\"x\":\"{image}\"}}}}"), 1);
    let text = text.replacen("[{", &format!("[{{\"attachments\":\"{image}\","), 1);
    let source = "é line\n".repeat(50_000);
    let start = std::time::Instant::now();
    let new = changed(&text, &replace("#0", &source));
    assert!(new.len() > text.len() + source.len() && new.contains("\\u00e9 line\\n"));
    assert!(start.elapsed() < std::time::Duration::from_secs(20), "{:?}", start.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The text that a cell is given is the text that it has, and nothing else changes.
    #[test]
    fn a_cell_has_the_text_that_it_was_given(source in any::<String>(), at in 0..2_usize) {
        for text in [JUPYTER, COMPACT] {
            let at = if text == COMPACT { 0 } else { at };
            let new = changed(text, &replace(&at.to_string(), &source));
            let mut before: Value = serde_json::from_str(text).unwrap();
            let mut after: Value = serde_json::from_str(&new).unwrap();
            prop_assert_eq!(source_of(&after["cells"][at]), source.clone());
            before["cells"][at]["source"] = json!(null);
            after["cells"][at]["source"] = json!(null);
            prop_assert_eq!(before, after);
        }
    }

    /// A new cell that is deleted leaves no byte behind.
    #[test]
    fn a_cell_that_comes_and_goes_leaves_nothing(source in any::<String>(), at in 0..3_usize) {
        let windows = JUPYTER.replace('\n', "\r\n");
        for (text, cells) in [(JUPYTER, 2), (&windows, 2), (COMPACT, 1)] {
            let at = at.min(cells);
            let after = at.checked_sub(1).map(|at| format!("#{at}"));
            let new = change(text, &insert(after.as_deref(), CellKind::Markdown, &source)).unwrap();
            let value: Value = serde_json::from_str(&new.text).unwrap();
            prop_assert_eq!(source_of(&value["cells"][at]), source.clone());
            prop_assert_eq!(changed(&new.text, &CellChange::Delete { cell: new.cell }), text);
        }
    }
}
