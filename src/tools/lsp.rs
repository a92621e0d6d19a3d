//! Lsp: what language servers know of code.
//!
//! A place is named by a symbol and its line, since models count columns wrongly: the symbol is looked for
//! in the line and, where it is not there, in the lines nearest to it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde_json::{Value, json};

use super::input::{ArgumentReader, FILE_NAMES, InputShape};
use super::lsp_rename::{self, CHANGES, apply_rename, changed_paths, changes_argument};
use super::{
    CodeAnswer, CodeItem, CodeOperation, CodePlace, CodePosition, CodeQuery, FileState, Tool,
    ToolContext, ToolError, WorkingDirectory, off_thread, stopped_output,
};
use crate::disk::IgnoreFiles;
use crate::domain::sanitize::sanitize_line;
use crate::domain::{
    FileDiff, ToolAccess, ToolCapability, ToolDescriptor, ToolKind, ToolOutput, ToolSpec,
    pluralise, strip_invisible,
};

/// Asks the language server of a file.
pub(super) struct LspTool;

const SHAPE: InputShape = InputShape {
    tool: "Lsp",
    example: r#"{"operation": "references", "file_path": "path/to/file.rs", "symbol": "total", "line": 12}"#,
    arguments: &[
        ("operation", &["op", "action"]),
        ("file_path", FILE_NAMES),
        ("symbol", &["name"]),
        ("line", &["line_number"]),
        ("character", &["column", "col"]),
        ("query", &[]),
        ("new_name", &["newName", "new"]),
        (CHANGES, &[]),
    ],
    place: "",
};

static DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(SHAPE.tool, ToolKind::Search, ToolCapability::WriteFiles).deferred();

/// The operations by the names that they have in the schema.
const OPERATIONS: [(&str, CodeOperation); 10] = [
    ("diagnostics", CodeOperation::Diagnostics),
    ("definition", CodeOperation::Definition),
    ("references", CodeOperation::References),
    ("hover", CodeOperation::Hover),
    ("documentSymbols", CodeOperation::DocumentSymbols),
    ("workspaceSymbols", CodeOperation::WorkspaceSymbols),
    ("implementations", CodeOperation::Implementations),
    ("incomingCalls", CodeOperation::IncomingCalls),
    ("outgoingCalls", CodeOperation::OutgoingCalls),
    ("rename", CodeOperation::Rename),
];

/// Names that other agents and the protocol have for an operation, in small letters.
const OTHER_OPERATIONS: [(&str, &str); 15] = [
    ("gotodefinition", "definition"),
    ("preparecallhierarchy", "definition"),
    ("findreferences", "references"),
    ("documentsymbol", "documentSymbols"),
    ("symbols", "documentSymbols"),
    ("workspacesymbol", "workspaceSymbols"),
    ("gotoimplementation", "implementations"),
    ("implementation", "implementations"),
    ("findimplementations", "implementations"),
    ("reference", "references"),
    ("getdiagnostics", "diagnostics"),
    ("diagnostic", "diagnostics"),
    ("callers", "incomingCalls"),
    ("callees", "outgoingCalls"),
    ("renamesymbol", "rename"),
];

/// The largest file that is asked about or quoted from, in bytes.
const MAX_FILE: u64 = 2 << 20;

/// The most places of an answer that are shown, and the most symbols of a file.
const MAX_PLACES: usize = 50;
const MAX_SYMBOLS: usize = 200;

/// The most characters of a line of code that are shown.
const MAX_LINE: usize = 160;

/// What a call asks.
#[derive(Debug)]
struct LspArguments {
    operation: CodeOperation,
    /// Under its name in the schema.
    operation_name: &'static str,
    path: Option<PathBuf>,
    symbol: String,
    /// From 1.
    line: Option<u64>,
    /// From 1, in characters.
    column: Option<u64>,
    query: String,
    new_name: String,
}

#[async_trait]
impl Tool for LspTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: SHAPE.tool.into(),
            description: "Asks the language server of a file: diagnostics (errors and warnings), \
                definition, references, hover (type and documentation), documentSymbols, \
                workspaceSymbols (by query), implementations, incomingCalls, outgoingCalls, rename \
                (changes all files that use the symbol). Name a place by symbol and line."
                .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "operation": {"type": "string", "enum": OPERATIONS.map(|(name, _)| name)},
                    "file_path": {"type": "string"},
                    "symbol": {"type": "string", "description": "the name at the place"},
                    "line": {"type": "integer", "description": "from 1; the nearest line with the symbol counts"},
                    "character": {"type": "integer", "description": "from 1, where no symbol is named"},
                    "query": {"type": "string", "description": "for workspaceSymbols"},
                    "new_name": {"type": "string", "description": "for rename"},
                },
                "required": ["operation"],
            }),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &DESCRIPTOR
    }

    fn call_title(&self, input: &Value, cwd: &Path) -> String {
        let place = WorkingDirectory { cwd: cwd.to_owned(), home: None };
        let Ok(wanted) = parse_arguments(input, &place) else { return String::new() };
        let name = if wanted.symbol.is_empty() { wanted.query } else { wanted.symbol };
        let path = wanted.path.map(|path| place.show(&path)).unwrap_or_default();
        let words = [wanted.operation_name, &*name, &*wanted.new_name, &*path];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    fn canonical_input(&self, input: Value) -> Value {
        SHAPE.canonical(input)
    }

    fn access(
        &self,
        input: &Value,
        place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        let path = parse_arguments(input, place)?.path;
        // The lines of an answer come from anywhere in the folder.
        let folder = ToolAccess::Read(place.cwd.clone());
        let changed = changed_paths(input.get(CHANGES))?.into_iter().map(ToolAccess::Write);
        Ok(path.map(ToolAccess::Read).into_iter().chain([folder]).chain(changed).collect())
    }

    fn has_changes_to_find(&self, input: &Value) -> bool {
        let place = WorkingDirectory { cwd: PathBuf::from("/"), home: None };
        parse_arguments(input, &place).is_ok_and(|it| it.operation == CodeOperation::Rename)
    }

    async fn find_changes(&self, context: &ToolContext, input: &Value) -> Result<Value, ToolError> {
        let wanted = parse_arguments(input, &context.place)?;
        let Some((answer, _)) = ask(context, &wanted).await? else {
            return Err(ToolError("Stopped by the user.".into()));
        };
        if answer.edits.is_empty() {
            let symbol = &wanted.symbol;
            return Err(ToolError(format!(
                "The language server would change nothing to rename {symbol}. Look at the symbol and the line."
            )));
        }
        let mut complete = input.clone();
        complete[CHANGES] = changes_argument(context, answer.edits)?;
        Ok(complete)
    }

    async fn preview(
        &self,
        context: &ToolContext,
        input: &Value,
    ) -> Result<Option<FileDiff>, ToolError> {
        Ok(lsp_rename::previews(context, input.get(CHANGES)).await?.into_iter().next())
    }

    async fn other_previews(
        &self,
        context: &ToolContext,
        input: &Value,
    ) -> Result<Vec<FileDiff>, ToolError> {
        Ok(lsp_rename::previews(context, input.get(CHANGES)).await?.into_iter().skip(1).collect())
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let wanted = parse_arguments(&input, &context.place)?;
        if wanted.operation == CodeOperation::Rename {
            return apply_rename(context, input.get(CHANGES)).await;
        }
        let Some((mut answer, moved)) = ask(context, &wanted).await? else {
            return Ok(stopped_output());
        };
        let found = answer.items.len();
        let Some(items) = shown_items(context, &wanted, std::mem::take(&mut answer.items)).await?
        else {
            return Ok(stopped_output());
        };
        answer.notes.extend(moved);
        if let left_out @ 1.. = found - items.len() {
            let what = pluralise(left_out, "result");
            answer.notes.push(format!("{what} in ignored or hidden files left out."));
        }
        Ok(output(context, &wanted, answer, &items).await)
    }
}

/// Asks the server; the answer, and a note where the place is not that of the call. `None` after a stop.
async fn ask(
    context: &ToolContext,
    wanted: &LspArguments,
) -> Result<Option<(CodeAnswer, Option<String>)>, ToolError> {
    let text = match &wanted.path {
        None => String::new(),
        Some(path) => read_file(context, path).await?,
    };
    let (position, moved) = match needs_place(wanted.operation) {
        true => find_place(&text, wanted)?,
        false => (CodePosition::default(), None),
    };
    let is_rename = wanted.operation == CodeOperation::Rename;
    let name = if is_rename { &wanted.new_name } else { &wanted.query };
    let query = CodeQuery {
        operation: wanted.operation,
        path: wanted.path.clone(),
        text: text.into(),
        position,
        name: name.clone(),
    };
    let asked = context.cancel.run_until_cancelled(context.code.ask(&query)).await;
    let answer = asked.transpose().map_err(|error| ToolError(error.0))?;
    Ok(answer.map(|answer| (answer, moved)))
}

fn needs_place(operation: CodeOperation) -> bool {
    match operation {
        CodeOperation::Diagnostics
        | CodeOperation::DocumentSymbols
        | CodeOperation::WorkspaceSymbols => false,
        CodeOperation::Definition
        | CodeOperation::References
        | CodeOperation::Hover
        | CodeOperation::Implementations
        | CodeOperation::IncomingCalls
        | CodeOperation::OutgoingCalls
        | CodeOperation::Rename => true,
    }
}

fn parse_arguments(input: &Value, place: &WorkingDirectory) -> Result<LspArguments, ToolError> {
    let arguments = ArgumentReader::new(SHAPE, input)?;
    let written = arguments.text("operation")?;
    let letters: String = written.chars().filter(char::is_ascii_alphanumeric).collect();
    let letters = letters.to_ascii_lowercase();
    let other = OTHER_OPERATIONS.iter().find(|(other, _)| *other == letters);
    let found = OPERATIONS.iter().find(|(name, _)| match other {
        Some((_, own)) => name == own,
        None => name.eq_ignore_ascii_case(&letters),
    });
    let Some((operation_name, operation)) = found.copied() else {
        let names = OPERATIONS.map(|(name, _)| name).join(", ");
        return Err(arguments.wrong(format!("`operation` must be one of {names}")));
    };
    let path = match operation {
        CodeOperation::WorkspaceSymbols => arguments.optional_path("file_path", place)?,
        _ => Some(arguments.path("file_path", place)?),
    };
    let symbol = arguments.optional_text("symbol")?.unwrap_or_default().trim().to_owned();
    let query = arguments.optional_text("query")?.filter(|it| !it.is_empty());
    let wanted = LspArguments {
        operation,
        operation_name,
        path,
        query: query.unwrap_or_else(|| symbol.clone()),
        symbol,
        line: arguments.number("line")?.filter(|line| *line > 0),
        column: arguments.number("character")?.filter(|column| *column > 0),
        new_name: arguments.optional_text("new_name")?.unwrap_or_default().trim().to_owned(),
    };
    let has_place = !wanted.symbol.is_empty() || (wanted.line.is_some() && wanted.column.is_some());
    if needs_place(operation) && !has_place {
        return Err(arguments.wrong("`symbol` is missing: the name that is asked about"));
    }
    if operation == CodeOperation::Rename
        && (wanted.new_name.is_empty() || wanted.new_name.contains(char::is_control))
    {
        return Err(arguments.wrong("`new_name` must be the new name of the symbol"));
    }
    if operation != CodeOperation::Rename && arguments.value(CHANGES).is_some() {
        return Err(arguments.wrong(format!("`{CHANGES}` is not for {operation_name}")));
    }
    if operation == CodeOperation::WorkspaceSymbols && wanted.query.is_empty() {
        return Err(arguments.wrong("`query` is missing: the name, or a part of it"));
    }
    Ok(wanted)
}

async fn read_file(context: &ToolContext, path: &Path) -> Result<String, ToolError> {
    let shown = context.place.show(path);
    let problem = match context.files.read(path, MAX_FILE).await? {
        FileState::File(bytes) => match String::from_utf8(bytes) {
            Ok(text) => {
                return Ok(text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned));
            }
            Err(_) => "is no UTF-8 text",
        },
        FileState::TooBig(_) => "is too big for language servers; use Grep",
        FileState::Missing => "is not there; use Glob to find it",
        FileState::Folder | FileState::Special => "is no regular file; name one",
    };
    Err(ToolError(format!("{shown} {problem}.")))
}

/// Where the symbol is, and a note where that is on another line than the call says.
fn find_place(
    text: &str,
    wanted: &LspArguments,
) -> Result<(CodePosition, Option<String>), ToolError> {
    let line = wanted.line.map(|line| usize::try_from(line - 1).unwrap_or(usize::MAX));
    if wanted.symbol.is_empty() {
        let (line, column) = (line.unwrap_or_default(), wanted.column.unwrap_or(1));
        let Some(at) = text.lines().nth(line) else {
            let count = pluralise(text.lines().count(), "line");
            return Err(ToolError(format!("{}: the file has only {count}.", SHAPE.tool)));
        };
        let column = usize::try_from(column - 1).unwrap_or(usize::MAX);
        let byte = at.char_indices().nth(column).map_or(at.len(), |(byte, _)| byte);
        return Ok((CodePosition { line, byte }, None));
    }
    // `Cart.total` and `cart::total` are the `total` of something else.
    let last = wanted.symbol.rsplit(['.', ':', '#', ' ']).next().unwrap_or_default();
    let name = last.trim_end_matches(['(', ')', '!', '?']);
    let found = [wanted.symbol.as_str(), name].into_iter().find_map(|name| {
        let lines = text.lines().enumerate().filter_map(|(at, it)| Some((at, word_in(it, name)?)));
        lines.min_by_key(|(at, _)| line.map_or(0, |line| at.abs_diff(line)))
    });
    let Some((at, byte)) = found else {
        return Err(ToolError(format!(
            "{}: `{}` is not in the file. Name a symbol as it is written there.",
            SHAPE.tool, wanted.symbol
        )));
    };
    let moved = line.filter(|line| *line != at);
    let note = moved.map(|_| format!("`{name}` taken from line {}.", at + 1));
    Ok((CodePosition { line: at, byte }, note))
}

/// Where a name is in a line, as a word of its own.
fn word_in(line: &str, name: &str) -> Option<usize> {
    if name.is_empty() {
        return None;
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_whole = |at: &usize| {
        !line[..*at].chars().next_back().is_some_and(is_word)
            && !line[at + name.len()..].chars().next().is_some_and(is_word)
    };
    line.match_indices(name).map(|(at, _)| at).find(is_whole)
}

/// The results that the model may see: none in hidden files, and none in ignored ones unless these are
/// asked for. `None` after a stop.
async fn shown_items(
    context: &ToolContext,
    wanted: &LspArguments,
    items: Vec<CodeItem>,
) -> Result<Option<Vec<CodeItem>>, ToolError> {
    let (cwd, is_hidden) = (context.place.cwd.clone(), context.is_hidden.clone());
    let own = wanted.path.clone();
    // What a library defines is often in an ignored folder.
    let keeps_ignored = wanted.operation == CodeOperation::Definition;
    off_thread(&context.cancel, move || {
        let rules = IgnoreFiles::of(&cwd);
        let mut known: BTreeMap<PathBuf, bool> = BTreeMap::new();
        let mut is_shown = |place: &CodePlace| match place {
            CodePlace::Foreign(_) => true,
            CodePlace::File(path) if own.as_ref() == Some(path) => true,
            CodePlace::File(path) => *known.entry(path.clone()).or_insert_with(|| {
                // A server may name a file by a link, or a way round.
                let is_hidden_there = path.canonicalize().is_ok_and(|real| is_hidden(&real));
                !is_hidden(path)
                    && !is_hidden_there
                    && (keeps_ignored || !is_ignored(&rules, path, &cwd))
            }),
        };
        items.into_iter().filter(|item| is_shown(&item.place)).collect()
    })
    .await
}

fn is_ignored(rules: &IgnoreFiles, path: &Path, cwd: &Path) -> bool {
    let inside = path.ancestors().take_while(|it| it.starts_with(cwd) && *it != cwd);
    inside.enumerate().any(|(above, it)| rules.leaves_out(it, above > 0))
}

async fn output(
    context: &ToolContext,
    wanted: &LspArguments,
    answer: CodeAnswer,
    items: &[CodeItem],
) -> ToolOutput {
    let mut text = strip_invisible(&answer.text).text.into_owned();
    let is_list = wanted.operation != CodeOperation::Hover;
    let limit = match wanted.operation {
        CodeOperation::DocumentSymbols => MAX_SYMBOLS,
        _ => MAX_PLACES,
    };
    let shown = &items[..items.len().min(limit)];
    let lines = quoted_lines(context, shown).await;
    for item in shown {
        let line = usize::try_from(item.line).unwrap_or(usize::MAX);
        let place = match &item.place {
            CodePlace::File(path)
                if wanted.path.as_ref() == Some(path) && !item.label.is_empty() =>
            {
                item.line.to_string()
            }
            CodePlace::File(path) => format!("{}:{}", context.place.show(path), item.line),
            CodePlace::Foreign(uri) => format!("{uri}:{}", item.line),
        };
        let code = match &item.place {
            CodePlace::File(path) => lines.get(path).and_then(|lines| lines.get(&line)),
            CodePlace::Foreign(_) => None,
        };
        let about = match (item.label.is_empty(), code) {
            (false, _) => item.label.clone(),
            (true, Some(code)) => code.clone(),
            (true, None) => String::new(),
        };
        let indent = "  ".repeat(item.depth);
        text.push_str(format!("{indent}{place}: {about}").trim_end_matches([':', ' ']));
        text.push('\n');
    }
    if let more @ 1.. = items.len() - shown.len() {
        text.push_str(&format!("… and {more} more\n"));
    }
    let summary = match (wanted.operation, items.len()) {
        (CodeOperation::Hover, _) if text.is_empty() => "nothing known".to_owned(),
        (CodeOperation::Hover, _) => String::new(),
        (CodeOperation::Diagnostics, count) => pluralise(count, "finding"),
        (CodeOperation::DocumentSymbols | CodeOperation::WorkspaceSymbols, count) => {
            pluralise(count, "symbol")
        }
        (_, count) => pluralise(count, "place"),
    };
    if text.is_empty() {
        text.push_str(match wanted.operation {
            CodeOperation::Diagnostics => "The language server finds nothing wrong in this file.\n",
            _ => "The language server knows nothing here.\n",
        });
    }
    for note in &answer.notes {
        text.push_str(&format!("[{}]\n", strip_invisible(note).text));
    }
    let output = ToolOutput::text(text.trim_end());
    let output = if summary.is_empty() { output } else { output.with_summary(summary) };
    if is_list { output.with_output(json!({"count": items.len()})) } else { output }
}

/// The lines of code that results without a label point at, by file and number.
async fn quoted_lines(
    context: &ToolContext,
    items: &[CodeItem],
) -> BTreeMap<PathBuf, BTreeMap<usize, String>> {
    let mut wanted: BTreeMap<&PathBuf, BTreeSet<usize>> = BTreeMap::new();
    for item in items {
        if let (CodePlace::File(path), true) = (&item.place, item.label.is_empty()) {
            let line = usize::try_from(item.line).unwrap_or(usize::MAX);
            wanted.entry(path).or_default().insert(line);
        }
    }
    let mut found = BTreeMap::new();
    for (path, numbers) in wanted {
        // Outside of the folder nothing is read that the call was not approved for.
        let Ok(FileState::File(bytes)) = context.files.read(path, MAX_FILE).await else { continue };
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().zip(1..).filter(|(_, number)| numbers.contains(number));
        let line = |(line, number): (&str, usize)| {
            let line: String = sanitize_line(line.trim()).chars().take(MAX_LINE).collect();
            (number, line)
        };
        found.insert(path.clone(), lines.map(line).collect());
    }
    found
}
