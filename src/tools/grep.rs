//! Grep: searches the contents of files with ripgrep's own libraries, in this process.
//!
//! No program is started, and ripgrep's configuration is not read. Results are in the order of
//! their paths, so that the same search gives the same answer. Where not all rows fit, the files
//! share the room row by row ([`share`]), and the rest is named and counted.

mod report;
mod search;
mod share;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use globset::GlobMatcher;
use grep_regex::RegexMatcher;
use ignore::types::{Types, TypesBuilder};
use serde_json::{Value, json};

use super::input::{ArgumentReader, InputShape};
use super::similarity::similarity;
use super::walk::{self, FileWalk, SearchRoot};
use super::{Tool, ToolContext, ToolError, WorkingDirectory, off_thread, stopped_output, titles};
use crate::domain::{
    RegexError, ToolAccess, ToolCapability, ToolDescriptor, ToolKind, ToolOutput, ToolSpec,
    measured_regex, parse_glob,
};
use report::GrepPage;
use search::{GrepMode, GrepOutcome, GrepQuery};

/// Searches file contents with a regular expression.
pub(super) struct GrepTool;

const SHAPE: InputShape = InputShape {
    tool: "Grep",
    example: r#"{"pattern": "a regular expression", "path": "path/to/folder", "output_mode": "content"}"#,
    arguments: &[
        ("pattern", &["regex", "query", "search"]),
        ("path", &["file_path", "directory", "dir", "folder", "file"]),
        ("glob", &["include"]),
        ("type", &[]),
        ("output_mode", &["mode"]),
        ("-A", &[]),
        ("-B", &[]),
        ("-C", &["context"]),
        ("-i", &["ignore_case", "case_insensitive"]),
        ("-n", &[]),
        ("multiline", &[]),
        ("head_limit", &["limit", "max_results"]),
        ("offset", &["skip"]),
    ],
    place: "",
};

static DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(SHAPE.tool, ToolKind::Search, ToolCapability::ReadFiles);

/// The most lines of a result, unless the call asks for another number.
const DEFAULT_LIMIT: u64 = 250;
/// The most lines that a call can ask for.
const MOST: u64 = 5000;
/// The most lines that a call can skip: as many rows are held in memory.
const MAX_OFFSET: u64 = 20_000;

struct GrepArguments {
    root: PathBuf,
    pattern: String,
    names: Option<NameFilter>,
    types: Option<Types>,
    mode: GrepMode,
    before: usize,
    after: usize,
    case: CaseMode,
    lines: MultilineMode,
    numbers: LineNumbers,
    /// How many rows are skipped, in the order in which they are shown.
    offset: usize,
    limit: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CaseMode {
    Sensitive,
    Ignored,
}

/// Whether a match may span lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MultilineMode {
    One,
    /// The pattern itself contains line ends.
    Several,
    /// Lines are spanned, and `.` matches line ends.
    SeveralByDot,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineNumbers {
    Shown,
    Hidden,
}

/// Selects files by name.
struct NameFilter {
    matcher: GlobMatcher,
    /// Whether matching files are left out instead of searched.
    is_negated: bool,
    /// Whether only the last component of the path is matched.
    is_name: bool,
}

#[async_trait]
impl Tool for GrepTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: SHAPE.tool.into(),
            description:
                "Searches file contents by regular expression (no look-around). Skips what \
                          .gitignore names."
                    .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string"},
                    "path": {"type": "string"},
                    "glob": {"type": "string", "description": "*.{ts,tsx}"},
                    "type": {"type": "string", "description": "rust, py, js, ..."},
                    "output_mode": {
                        "type": "string",
                        "enum": ["files_with_matches", "content", "count"],
                        "description": "default: file names only",
                    },
                    "-A": {"type": "integer"},
                    "-B": {"type": "integer"},
                    "-C": {"type": "integer"},
                    "-i": {"type": "boolean"},
                    "-n": {"type": "boolean", "description": "default true"},
                    "multiline": {"type": "boolean", "description": ". matches line ends"},
                    "head_limit": {"type": "integer", "description": "lines, default 250"},
                    "offset": {"type": "integer"},
                },
                "required": ["pattern"],
            }),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &DESCRIPTOR
    }

    fn call_title(&self, input: &Value, cwd: &Path) -> String {
        let text = |key| titles::text(input, key);
        let filter = [text("glob"), text("type")].into_iter().find(|text| !text.is_empty());
        let pattern = format!("{:?}", text("pattern"));
        let path = titles::shown_path(text("path"), cwd);
        titles::join(&[&pattern, &path, filter.unwrap_or_default()])
    }

    fn access(
        &self,
        input: &Value,
        place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        Ok(vec![ToolAccess::Read(parse_arguments(input, place)?.root)])
    }

    fn can_start_early(&self) -> bool {
        true
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let wanted = parse_arguments(&input, &context.place)?;
        let (matcher, size) = matcher(&wanted)?;
        let query = GrepQuery {
            matcher,
            heap: search::heap(size),
            mode: wanted.mode,
            before: wanted.before,
            after: wanted.after,
            is_multi_line: wanted.lines != MultilineMode::One,
            limit: wanted.offset + wanted.limit,
            files: context.files.clone(),
        };
        let Some(kind) = walk::root(context, &wanted.root, walk::SEARCH_ALL).await? else {
            return Ok(stopped_output());
        };
        let GrepArguments { root, names, types, .. } = wanted;
        let (cancel, is_hidden) = (context.cancel.clone(), context.is_hidden.clone());
        let cwd = context.place.cwd.clone();
        let mut walk = FileWalk::new(context, root.clone());
        walk.types = types;
        let work = move || match kind {
            SearchRoot::File if is_hidden(&root) => {
                GrepOutcome { hidden: 1, ..GrepOutcome::default() }
            }
            SearchRoot::File => search::file(&query, &root, &cancel),
            SearchRoot::Folder => search::folder(&query, walk, &cancel, |path| {
                names.as_ref().is_none_or(|names| names.want(path, &[&root, &cwd]))
            }),
        };
        match off_thread(&context.cancel, work).await? {
            Some(_) if context.cancel.is_cancelled() => Ok(stopped_output()),
            Some(outcome) => {
                let page = GrepPage { offset: wanted.offset, limit: wanted.limit };
                report::format_result(&outcome, (wanted.mode, wanted.numbers), page, &context.place)
            }
            None => Ok(stopped_output()),
        }
    }

    fn canonical_input(&self, input: Value) -> Value {
        SHAPE.canonical(input)
    }
}

fn parse_arguments(input: &Value, place: &WorkingDirectory) -> Result<GrepArguments, ToolError> {
    let input = ArgumentReader::new(SHAPE, input)?;
    let pattern = input.text("pattern")?;
    if pattern.is_empty() {
        return Err(input.wrong("`pattern` is empty"));
    }
    let root = input.optional_path("path", place)?;
    let around = input.number("-C")?;
    let before = input.number("-B")?.or(around).unwrap_or(0);
    let after = input.number("-A")?.or(around).unwrap_or(0);
    let mode = match input.optional_text("output_mode")?.as_deref() {
        // A call that asks for lines around a match wants to see lines.
        None | Some("") if before.max(after) > 0 => GrepMode::Content,
        None | Some("" | "files_with_matches" | "files") => GrepMode::Files,
        Some("content") => GrepMode::Content,
        Some("count") => GrepMode::Count,
        Some(other) => {
            return Err(input.wrong(format!(
                "`output_mode` must be files_with_matches, content or count, not {other:?}"
            )));
        }
    };
    let lines = match input.flag("multiline")? {
        true => MultilineMode::SeveralByDot,
        false if pattern.contains("\\n") || pattern.contains('\n') => MultilineMode::Several,
        false => MultilineMode::One,
    };
    let limit = match input.number("head_limit")?.unwrap_or(DEFAULT_LIMIT) {
        0 => MOST,
        limit => limit.min(MOST),
    };
    let offset = input.number("offset")?.unwrap_or(0).min(MAX_OFFSET);
    let given = |name| {
        let text = input.optional_text(name)?;
        Ok::<_, ToolError>(text.filter(|text| !text.trim().is_empty()))
    };
    let small = |count: u64| usize::try_from(count.min(MOST)).unwrap_or(0);
    Ok(GrepArguments {
        root: root.unwrap_or_else(|| place.cwd.clone()),
        names: given("glob")?.map(|glob| names(&glob)).transpose()?,
        types: given("type")?.map(|name| types(&name)).transpose()?,
        pattern,
        mode,
        before: small(before),
        after: small(after),
        case: if input.flag("-i")? { CaseMode::Ignored } else { CaseMode::Sensitive },
        lines,
        numbers: match input.flag_or("-n", true)? {
            true => LineNumbers::Shown,
            false => LineNumbers::Hidden,
        },
        offset: usize::try_from(offset).unwrap_or(0),
        limit: small(limit),
    })
}

/// The compiled pattern, and the bound of its size.
fn matcher(wanted: &GrepArguments) -> Result<(RegexMatcher, usize), ToolError> {
    let pattern = &wanted.pattern;
    let compiled = measured_regex(pattern, |builder| {
        builder.case_insensitive(wanted.case == CaseMode::Ignored).multi_line(true);
        match wanted.lines {
            // Without it `$` would not match before CRLF.
            MultilineMode::One => builder.crlf(true),
            MultilineMode::Several => builder,
            MultilineMode::SeveralByDot => builder.dot_matches_new_line(true),
        };
    });
    compiled.map_err(|error| {
        let RegexError::Invalid(error) = error else {
            return ToolError(format!("Grep: `pattern`: {error}."));
        };
        let around = ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|sign| pattern.contains(sign));
        let hint = if around {
            "There is no look-around; search for the plain part and look at the lines."
        } else {
            "Put \\ before ( ) [ ] { } . * + ? | ^ $ to search for these characters themselves."
        };
        ToolError(format!("Grep: `pattern` is no regular expression: {error}\n{hint}"))
    })
}

fn names(glob: &str) -> Result<NameFilter, ToolError> {
    let (is_negated, pattern) = match glob.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, glob),
    };
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let pattern = pattern.strip_prefix('/').unwrap_or(pattern);
    let glob = parse_glob(pattern).map_err(|error| ToolError(format!("Grep: `glob`: {error}.")))?;
    Ok(NameFilter { matcher: glob.compile_matcher(), is_negated, is_name: !pattern.contains('/') })
}

impl NameFilter {
    /// Whether the file is searched; a pattern with folders may start from any of `bases`.
    fn want(&self, path: &Path, bases: &[&Path]) -> bool {
        let matches = if self.is_name {
            self.matcher.is_match(path.file_name().unwrap_or(OsStr::new("")))
        } else {
            let mut inside = bases.iter().filter_map(|base| path.strip_prefix(base).ok());
            inside.any(|path| self.matcher.is_match(path))
        };
        matches != self.is_negated
    }
}

fn types(name: &str) -> Result<Types, ToolError> {
    let lower = name.trim().trim_start_matches('.').to_ascii_lowercase();
    let known = match lower.as_str() {
        "rs" => "rust",
        "javascript" | "jsx" | "mjs" => "js",
        "tsx" => "ts",
        "golang" => "go",
        "yml" => "yaml",
        "bash" | "shell" => "sh",
        "c++" => "cpp",
        "rb" => "ruby",
        "kt" => "kotlin",
        other => other,
    };
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    let mut near: Vec<(f32, String)> = builder
        .definitions()
        .iter()
        .map(|definition| (similarity(known, definition.name()), definition.name().to_owned()))
        .filter(|(score, _)| *score >= 0.4)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    builder.select(known).build().map_err(|_| {
        let near: Vec<String> = near.into_iter().take(3).map(|(_, name)| name).collect();
        let near = match near.is_empty() {
            true => String::new(),
            false => format!(" Did you mean {}?", near.join(" or ")),
        };
        ToolError(format!("Grep: there is no type `{name}`.{near} `glob` takes any file names."))
    })
}

#[cfg(test)]
mod tests;
