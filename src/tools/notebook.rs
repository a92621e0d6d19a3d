//! Where the cells of a Jupyter notebook stand in its text, and changes of one cell that leave every
//! other byte as it is.
//!
//! A notebook is never serialised anew: that would lose the spelling of numbers, the order of keys
//! and the layout, and each program that writes notebooks has another one. What is added is laid out as
//! its neighbours are. The form is that of nbformat 4.

mod outline;

use std::collections::BTreeMap;
use std::ops::Range;

use jsonc_parser::ast::{self, Object};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::domain::ContentHash;

pub(super) use outline::outline;

/// The most values that the JSON of a notebook may have: the trees of two million take 300 MB.
const MAX_VALUES: usize = 2_000_000;
/// The most cells that an error names.
const MAX_NAMED: usize = 30;

/// What a cell holds, as its `cell_type` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellKind {
    Code,
    Markdown,
    Raw,
}

/// What a call does to the cells of a notebook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CellChange {
    /// The text of a cell, by its id or its number; a `kind` must be the one that the cell has.
    Replace {
        cell: String,
        kind: Option<CellKind>,
        source: String,
    },
    /// A new cell behind another one, or before all.
    Insert {
        after: Option<String>,
        kind: CellKind,
        source: String,
    },
    Delete {
        cell: String,
    },
}

/// A notebook with a changed cell.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ChangedNotebook {
    pub text: String,
    /// The cell, as the model can name it.
    pub cell: String,
    /// Whether the cell has outputs of the code that it had before.
    pub has_old_outputs: bool,
    /// Whether cells that have no other name than their number have another one now.
    pub moves_numbers: bool,
}

struct NotebookCell {
    span: Range<usize>,
    id: Option<String>,
    kind: Option<CellKind>,
    /// The value of `source`, and whether that is a list.
    source: Option<(Range<usize>, bool)>,
    has_outputs: bool,
    /// Where the name of the first field begins.
    first_field: usize,
}

struct ParsedNotebook<'a> {
    text: &'a str,
    cells: Vec<NotebookCell>,
    /// Of each cell, as [`cell_names`] has them.
    names: Vec<String>,
    /// The list of cells with its brackets.
    list: Range<usize>,
    has_ids: bool,
    /// Whether characters beyond ASCII are written as `\u…`.
    has_escapes: bool,
}

impl CellKind {
    pub(super) fn named(name: &str) -> Option<Self> {
        [Self::Code, Self::Markdown, Self::Raw].into_iter().find(|kind| kind.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Markdown => "markdown",
            Self::Raw => "raw",
        }
    }
}

/// Changes one cell of a notebook.
///
/// # Errors
///
/// When it is no valid notebook or has no such cell; the rest of a sentence that begins with its name.
pub(super) fn change(text: &str, change: &CellChange) -> Result<ChangedNotebook, String> {
    let notebook = ParsedNotebook::parse(text)?;
    let changed = match change {
        CellChange::Replace { cell, kind, source } => {
            let at = notebook.find(cell)?;
            let cell = &notebook.cells[at];
            if kind.is_some() && cell.kind != *kind {
                let now = cell.kind.map_or("unknown", CellKind::name);
                return Err(format!(
                    "has the cell {} with the type {now}, which a replacement keeps. For another \
                     type delete the cell and insert one",
                    notebook.name(at)
                ));
            }
            let Some((span, is_list)) = &cell.source else {
                return Err(format!("has a cell {} without `source`", notebook.name(at)));
            };
            let written = notebook.source(source, *is_list, notebook.indent_of(span.start));
            ChangedNotebook {
                text: notebook.with(span.clone(), &written),
                cell: notebook.name(at),
                has_old_outputs: cell.has_outputs && cell.kind == Some(CellKind::Code),
                moves_numbers: false,
            }
        }
        CellChange::Insert { after, kind, source } => {
            notebook.insert(after.as_deref(), *kind, source)?
        }
        CellChange::Delete { cell } => {
            let at = notebook.find(cell)?;
            ChangedNotebook {
                text: notebook.with(notebook.span_to_delete(at), ""),
                cell: notebook.name(at),
                has_old_outputs: false,
                moves_numbers: notebook.has_numbers(at + 1),
            }
        }
    };
    // What is written is read once more: a notebook that no longer opens would be worse than an error.
    match serde_json::from_str::<IgnoredAny>(&changed.text) {
        Ok(_) => Ok(changed),
        Err(error) => Err(format!("would no longer be JSON ({error})")),
    }
}

impl<'a> ParsedNotebook<'a> {
    fn parse(text: &'a str) -> Result<Self, String> {
        let minor = nbformat_minor(&parse_json(text)?)?;
        let parsed =
            jsonc_parser::parse_to_ast(text, &Default::default(), &crate::domain::jsonc::OPTIONS)
                .map_err(|error| format!("is not valid JSON: {error}"))?;
        let Some(ast::Value::Object(top)) = &parsed.value else {
            return Err("is not a JSON object".into());
        };
        let Some(ast::Value::Array(list)) = field(top, "cells") else {
            return Err("has no list `cells`".into());
        };
        let cells = list.elements.iter().map(|cell| match cell {
            ast::Value::Object(cell) => Ok(NotebookCell::of(cell)),
            _ => Err("has a cell that is no object".to_owned()),
        });
        let cells = cells.collect::<Result<Vec<_>, _>>()?;
        let names = cell_names(cells.iter().map(|cell| cell.id.as_deref()));
        let list = list.range.start..list.range.end;
        let has_escapes = text.is_ascii() && text.contains("\\u");
        Ok(Self { text, cells, names, list, has_ids: minor >= 5, has_escapes })
    }

    /// The cell of this id, or else of this number, counted from 0; with `#` only of the number.
    fn find(&self, cell: &str) -> Result<usize, String> {
        let with_id: Vec<usize> = (0..self.cells.len())
            .filter(|at| self.cells[*at].id.as_deref() == Some(cell))
            .collect();
        let at = match (cell.strip_prefix('#'), with_id.as_slice()) {
            (Some(number), _) => number.parse().ok(),
            (None, [one]) => Some(*one),
            (None, []) => cell.parse().ok(),
            (None, several) => {
                let numbers = listed(several.iter().map(|at| format!("#{at}")));
                return Err(format!(
                    "has {} cells with the id {cell:?}. Name one by its number: {numbers}",
                    several.len()
                ));
            }
        };
        at.filter(|at| *at < self.cells.len()).ok_or_else(|| {
            if self.cells.is_empty() {
                return format!("has no cell {cell:?}, and no other");
            }
            format!("has no cell {cell:?}. Its cells: {}", listed(self.names.iter().cloned()))
        })
    }

    fn name(&self, at: usize) -> String {
        self.names[at].clone()
    }

    /// Whether a cell from this one on goes by its number.
    fn has_numbers(&self, from: usize) -> bool {
        self.names.iter().skip(from).any(|name| name.starts_with('#'))
    }

    fn with(&self, span: Range<usize>, new: &str) -> String {
        [&self.text[..span.start], new, &self.text[span.end..]].concat()
    }

    fn insert(
        &self,
        after: Option<&str>,
        kind: CellKind,
        source: &str,
    ) -> Result<ChangedNotebook, String> {
        let id = self.has_ids.then(|| self.new_id(after, source));
        let at = after.map(|after| self.find(after)).transpose()?;
        let place = at.map_or(0, |at| at + 1);
        let cell = id.clone().unwrap_or_else(|| format!("#{place}"));
        let moves_numbers = self.has_numbers(place);
        let changed =
            |text| Ok(ChangedNotebook { text, cell, has_old_outputs: false, moves_numbers });
        let Some(first) = self.cells.first() else {
            let outer = self.indent_of(self.list.start);
            let (cell, close) = match outer {
                Some(outer) => {
                    let inner = format!("{outer}{}", self.unit());
                    (
                        format!("{inner}{}", self.cell(kind, id, source, Some(&inner))),
                        outer.to_owned(),
                    )
                }
                None => (self.cell(kind, id, source, None), String::new()),
            };
            return changed(self.with(self.list.start + 1..self.list.end - 1, &(cell + &close)));
        };
        let indent = self.indent_of(first.span.start);
        let new = self.cell(kind, id, source, indent);
        let between = match indent {
            Some(indent) => format!(",{indent}"),
            None => self.comma().to_owned(),
        };
        match at {
            Some(at) => {
                let end = self.cells[at].span.end;
                changed(self.with(end..end, &format!("{between}{new}")))
            }
            None => {
                let start = first.span.start;
                changed(self.with(start..start, &format!("{new}{between}")))
            }
        }
    }

    /// The cell with the comma that belongs to it.
    fn span_to_delete(&self, at: usize) -> Range<usize> {
        let cell = &self.cells[at].span;
        match (at.checked_sub(1), self.cells.get(at + 1)) {
            (_, Some(next)) => cell.start..next.span.start,
            (Some(before), None) => self.cells[before].span.end..cell.end,
            (None, None) => self.list.start + 1..self.list.end - 1,
        }
    }

    /// An id that no cell has. The same call has the same one, so that what is shown is what is written.
    fn new_id(&self, after: Option<&str>, source: &str) -> String {
        let is_free = |id: &String| self.cells.iter().all(|cell| cell.id.as_ref() != Some(id));
        (0_u32..)
            .map(|round| {
                let seed = format!("{round}\n{after:?}\n{source}\n{}", self.text);
                ContentHash::of(seed.as_bytes()).to_string().chars().take(8).collect::<String>()
            })
            .find(is_free)
            .unwrap_or_default()
    }

    /// A new cell. `indent` is the line end and the spaces before its bracket; `None` in a notebook that
    /// has its cells on one line.
    fn cell(
        &self,
        kind: CellKind,
        id: Option<String>,
        source: &str,
        indent: Option<&str>,
    ) -> String {
        let inner = indent.map(|indent| format!("{indent}{}", self.unit()));
        let is_list = self.cells.iter().find_map(|cell| cell.source.as_ref()).is_none_or(|it| it.1);
        let source = self.source(source, is_list, inner.as_deref());
        let mut fields = vec![("cell_type", format!("\"{}\"", kind.name()))];
        if kind == CellKind::Code {
            fields.push(("execution_count", "null".into()));
        }
        if let Some(id) = id {
            fields.push(("id", format!("\"{id}\"")));
        }
        fields.push(("metadata", "{}".into()));
        if kind == CellKind::Code {
            fields.push(("outputs", "[]".into()));
        }
        fields.push(("source", source));
        let colon = self.colon();
        let fields: Vec<String> =
            fields.into_iter().map(|(name, value)| format!("\"{name}\"{colon}{value}")).collect();
        match (&inner, indent) {
            (Some(inner), Some(indent)) => {
                format!("{{{inner}{}{indent}}}", fields.join(&format!(",{inner}")))
            }
            (_, _) => format!("{{{}}}", fields.join(self.comma())),
        }
    }

    /// A text as the value of `source`. `indent` is that of the field.
    fn source(&self, source: &str, is_list: bool, indent: Option<&str>) -> String {
        if !is_list {
            return self.string(source);
        }
        let lines: Vec<String> =
            source.split_inclusive('\n').map(|line| self.string(line)).collect();
        match indent {
            _ if lines.is_empty() => "[]".to_owned(),
            Some(indent) => {
                let inner = format!("{indent}{}", self.unit());
                format!("[{inner}{}{indent}]", lines.join(&format!(",{inner}")))
            }
            None => format!("[{}]", lines.join(self.comma())),
        }
    }

    /// A string, with characters beyond ASCII escaped where the notebook escapes them.
    fn string(&self, text: &str) -> String {
        let written = Value::String(text.to_owned()).to_string();
        if !self.has_escapes {
            return written;
        }
        let mut escaped = String::with_capacity(written.len());
        for c in written.chars() {
            if c.is_ascii() {
                escaped.push(c);
            } else {
                let units = c.encode_utf16(&mut [0; 2]).to_vec();
                escaped.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
            }
        }
        escaped
    }

    /// The line end and the white space before the text at `at`, or before the name of the field whose
    /// value it is; `None` where something else is on its line.
    fn indent_of(&self, at: usize) -> Option<&'a str> {
        let line = self.text[..at].rfind('\n')?;
        let start = line - usize::from(self.text[..line].ends_with('\r'));
        let before = &self.text[line + 1..at];
        let spaces = before.len() - before.trim_start_matches([' ', '\t']).len();
        let rest = &before[spaces..];
        let is_name =
            rest.starts_with('"') && rest.trim_end().ends_with(':') && !rest.contains(',');
        (rest.is_empty() || is_name).then(|| &self.text[start..line + 1 + spaces])
    }

    /// One step of indentation.
    fn unit(&self) -> &'a str {
        let Some(first) = self.cells.first() else {
            return self
                .indent_of(self.list.start)
                .map_or(" ", |outer| outer.trim_start_matches(['\r', '\n']));
        };
        let indents = (self.indent_of(first.first_field), self.indent_of(first.span.start));
        match indents {
            (Some(field), Some(cell)) => field.strip_prefix(cell).unwrap_or(" "),
            (_, _) => " ",
        }
    }

    /// What stands between a name and its value.
    fn colon(&self) -> &'static str {
        if self.text.contains("\"nbformat\": ") { ": " } else { ":" }
    }

    /// What stands between values on one line.
    fn comma(&self) -> &'static str {
        if self.text.contains("\"nbformat\": ") { ", " } else { "," }
    }
}

impl NotebookCell {
    fn of(cell: &Object<'_>) -> Self {
        let text = |name: &str| match field(cell, name) {
            Some(ast::Value::StringLit(text)) => Some(text.value.clone().into_owned()),
            _ => None,
        };
        let source = match field(cell, "source") {
            Some(ast::Value::StringLit(text)) => Some((text.range.start..text.range.end, false)),
            Some(ast::Value::Array(list)) => Some((list.range.start..list.range.end, true)),
            _ => None,
        };
        let has_outputs = match field(cell, "outputs") {
            Some(ast::Value::Array(outputs)) => !outputs.elements.is_empty(),
            _ => false,
        };
        Self {
            span: cell.range.start..cell.range.end,
            id: text("id"),
            kind: text("cell_type").and_then(|name| CellKind::named(&name)),
            source,
            has_outputs,
            first_field: cell.properties.first().map_or(cell.range.start, |it| it.range.start),
        }
    }
}

/// The value of a whole notebook, which has neither too many values nor deep nesting, so that other
/// readers of the text need to fear neither.
fn parse_json(text: &str) -> Result<Value, String> {
    let marks = text.bytes().filter(|byte| matches!(byte, b',' | b':' | b'[' | b'{')).count();
    if marks > MAX_VALUES {
        return Err("has too many values to be read as a notebook. Use Bash with a script".into());
    }
    serde_json::from_str(text).map_err(|error| format!("is not valid JSON: {error}"))
}

/// The minor version of a notebook of nbformat 4. Cells have ids from 5 on.
fn nbformat_minor(notebook: &Value) -> Result<u64, String> {
    match &notebook["nbformat"] {
        Value::Number(major) if major.as_u64() == Some(4) => {
            Ok(notebook["nbformat_minor"].as_u64().unwrap_or(0))
        }
        Value::Number(major) => {
            Err(format!("is not a notebook of nbformat 4 (`nbformat` is {major})"))
        }
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            Err("is not a notebook of nbformat 4 (it has no `nbformat`)".into())
        }
    }
}

/// What each cell is called: by its id where that is one as nbformat 4.5 has them and no other cell has
/// it, otherwise by its number. No id begins with `#`, so each name means one cell only.
fn cell_names<'a>(ids: impl Iterator<Item = Option<&'a str>> + Clone) -> Vec<String> {
    let mut counts = BTreeMap::new();
    for id in ids.clone().flatten() {
        *counts.entry(id).or_insert(0_u32) += 1;
    }
    let is_plain = |id: &&str| {
        let is_allowed = |c: u8| c.is_ascii_alphanumeric() || c == b'-' || c == b'_';
        (1..=64).contains(&id.len()) && id.bytes().all(is_allowed) && counts.get(id) == Some(&1)
    };
    ids.enumerate()
        .map(|(at, id)| id.filter(is_plain).map_or_else(|| format!("#{at}"), str::to_owned))
        .collect()
}

/// The first names of a list, and how many more there are.
fn listed(mut names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(MAX_NAMED);
    let shown: Vec<String> = names.by_ref().take(MAX_NAMED).collect();
    let end = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &end
}

/// The value of a field; of several with one name the last, as JSON readers take it.
fn field<'a, 'b>(object: &'b Object<'a>, name: &str) -> Option<&'b ast::Value<'a>> {
    let mut named = object.properties.iter().rev().filter(|it| it.name.as_str() == name);
    named.next().map(|it| &it.value)
}

#[cfg(test)]
mod tests;
