//! Where the cells of a Jupyter notebook stand in its text, and changes of one cell that leave every
//! other byte as it is.
//!
//! A notebook is never serialised anew: that would lose the spelling of numbers, the order of keys
//! and the layout, and each program that writes notebooks has another one. What is added is laid out as
//! its neighbours are. The form is that of nbformat 4.

use std::ops::Range;

use jsonc_parser::ast::{self, Object};
use serde_json::Value;

use crate::domain::ContentHash;

/// The kind of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellKind {
    Code,
    Markdown,
    Raw,
}

/// A change of one cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CellChange {
    /// The text of a cell, by its id or its number.
    Replace {
        cell: String,
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

struct Notebook<'a> {
    text: &'a str,
    cells: Vec<NotebookCell>,
    /// The list of cells with its brackets.
    list: Range<usize>,
    has_ids: bool,
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

/// Changes one cell of a notebook. The error is the rest of a sentence that begins with its name.
pub(super) fn change(text: &str, change: &CellChange) -> Result<ChangedNotebook, String> {
    let notebook = Notebook::parse(text)?;
    let changed = match change {
        CellChange::Replace { cell, source } => {
            let at = notebook.find(cell)?;
            let cell = &notebook.cells[at];
            let Some((span, is_list)) = &cell.source else {
                return Err(format!("has a cell {} without `source`", notebook.name(at)));
            };
            let written = notebook.source(source, *is_list, notebook.indent_of(span.start));
            ChangedNotebook {
                text: notebook.with(span.clone(), &written),
                cell: notebook.name(at),
                has_old_outputs: cell.has_outputs && cell.kind == Some(CellKind::Code),
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
            }
        }
    };
    // What is written is read once more: a notebook that no longer opens would be worse than an error.
    match serde_json::from_str::<Value>(&changed.text) {
        Ok(_) => Ok(changed),
        Err(error) => Err(format!("would no longer be JSON ({error})")),
    }
}

impl<'a> Notebook<'a> {
    fn parse(text: &'a str) -> Result<Self, String> {
        // This parser refuses deep nesting, which would overflow the stack of the next one.
        let value: Value =
            serde_json::from_str(text).map_err(|error| format!("is not valid JSON: {error}"))?;
        let major = value["nbformat"].as_u64().unwrap_or(0);
        let minor = value["nbformat_minor"].as_u64().unwrap_or(0);
        if major != 4 {
            return Err(format!(
                "is not a notebook of nbformat 4 (`nbformat` is {})",
                value["nbformat"]
            ));
        }
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
        let list = list.range.start..list.range.end;
        Ok(Self { text, cells, list, has_ids: minor >= 5 })
    }

    /// The cell of this id, or else of this number, counted from 0.
    fn find(&self, cell: &str) -> Result<usize, String> {
        if let Some(at) = self.cells.iter().position(|it| it.id.as_deref() == Some(cell)) {
            return Ok(at);
        }
        let number = cell.parse::<usize>().ok();
        number.filter(|at| *at < self.cells.len()).ok_or_else(|| {
            let names: Vec<String> =
                (0..self.cells.len().min(30)).map(|at| self.name(at)).collect();
            let more = if self.cells.len() > 30 { ", …" } else { "" };
            let count = self.cells.len();
            format!("has no cell {cell:?}. Its {count} cells are {}{more}", names.join(", "))
        })
    }

    fn name(&self, at: usize) -> String {
        self.cells[at].id.clone().unwrap_or_else(|| at.to_string())
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
        let cell = id.clone().unwrap_or_else(|| place.to_string());
        let changed = |text| Ok(ChangedNotebook { text, cell, has_old_outputs: false });
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
        if !self.text.is_ascii() || !self.text.contains("\\u") {
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

/// The value of a field; of several with one name the last, as JSON readers take it.
fn field<'a, 'b>(object: &'b Object<'a>, name: &str) -> Option<&'b ast::Value<'a>> {
    let mut named = object.properties.iter().rev().filter(|it| it.name.as_str() == name);
    named.next().map(|it| &it.value)
}

#[cfg(test)]
mod tests;
