//! Read: shows the lines of a text file, numbered; a notebook by its cells; a PDF by its pages; an image;
//! or what is in a folder.
//!
//! A file of up to 16 MB is read whole, so that a later call can tell whether it has changed. A
//! bigger file is read only up to the end of the lines that the call asks for. Of a very long file a
//! call that names no lines gets the length and the first lines only: the model decides what is
//! worth its window.

mod folder;
mod pdf;

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde_json::{Value, json};

use super::input::{ArgumentReader, FILE_NAMES, InputShape};
use super::text::{self, WHOLE_FILE};
use super::{
    FileState, Tool, ToolContext, ToolError, WorkingDirectory, notebook, off_thread, paths,
    stopped_output, titles, truncation,
};
use crate::domain::{
    ContentHash, MediaType, ToolAccess, ToolCapability, ToolDescriptor, ToolKind, ToolOutput,
    ToolSpec,
};

/// Shows a text file as numbered lines.
pub(super) struct ReadTool;

const SHAPE: InputShape = InputShape {
    tool: "Read",
    example: r#"{"file_path": "path/to/file", "offset": 1, "limit": 200}"#,
    arguments: &[("file_path", FILE_NAMES), ("offset", &["start_line"]), ("limit", &[])],
    place: "",
};

static DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(SHAPE.tool, ToolKind::Read, ToolCapability::ReadFiles);

/// The most lines that are shown, unless the call asks for another number.
const DEFAULT_LIMIT: u64 = 2000;
/// A file with more lines, or more bytes, is very long.
const LONG_LINES: u64 = 10_000;
const LONG_BYTES: usize = 300_000;
/// The lines that are shown of a very long file, unless the call names others.
const BEGINNING: u64 = 200;
/// The most characters of a line.
const LINE_CHARS: usize = 2000;
/// The most bytes of all lines together: some 15,000 tokens.
const TOTAL_BYTES: usize = 60_000;
/// The bytes of a big file that are read at a time.
const CHUNK: u64 = 1 << 20;

/// What a very long file is shown with.
const BEGINNING_ONLY: &str =
    "Only its beginning is shown: send offset and limit for other lines, or use Grep.";

struct ReadArguments {
    path: PathBuf,
    /// The number of the first line, from 1.
    offset: u64,
    /// The most lines; `None` where the call does not say.
    limit: Option<u64>,
    /// Whether the call says which lines it wants.
    names_lines: bool,
}

/// Consecutive lines, as they are shown.
struct ReadExcerpt {
    text: String,
    lines: u64,
    /// The most lines.
    limit: u64,
    is_full: bool,
}

#[async_trait]
impl Tool for ReadTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: SHAPE.tool.into(),
            description: "Shows a file as numbered lines (number, tab, text), a PDF by pages, an \
                          image or a folder."
                .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "file_path": {"type": "string"},
                    "offset": {"type": "integer", "description": "first line or page, from 1"},
                    "limit": {"type": "integer"},
                },
                "required": ["file_path"],
            }),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &DESCRIPTOR
    }

    fn call_title(&self, input: &Value, cwd: &Path) -> String {
        titles::join(&[
            &titles::shown_path(titles::text(input, "file_path"), cwd),
            &titles::lines(input),
        ])
    }

    fn access(
        &self,
        input: &Value,
        place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        Ok(vec![ToolAccess::Read(parse_arguments(input, place)?.path)])
    }

    fn can_start_early(&self) -> bool {
        true
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let wanted = parse_arguments(&input, &context.place)?;
        let shown = context.place.show(&wanted.path);
        match context.files.read(&wanted.path, WHOLE_FILE).await? {
            FileState::File(bytes) if MediaType::of(&bytes).is_some() => {
                let hash = ContentHash::of(&bytes);
                let output = picture(context, bytes, &wanted.path, &shown).await?;
                context.reads.record_hash(&wanted.path, hash.clone());
                Ok(output.with_read(&wanted.path, hash))
            }
            FileState::File(bytes) if pdf::is_pdf(&bytes) => {
                pdf::show(context, &bytes, &wanted, &shown).await
            }
            FileState::File(bytes) => {
                let hash = ContentHash::of(&bytes);
                let output = if wanted.path.extension().is_some_and(|it| it == "ipynb") {
                    match cells(context, bytes, &wanted, &shown).await? {
                        Some(output) => output,
                        None => return Ok(stopped_output()),
                    }
                } else {
                    whole(&bytes, &wanted, &shown)?
                };
                context.reads.record_hash(&wanted.path, hash.clone());
                Ok(output.with_read(&wanted.path, hash))
            }
            FileState::TooBig(size) => part(context, &wanted, size, &shown).await,
            FileState::Missing => Err(paths::missing(context, &wanted.path, paths::FIND_IT).await),
            FileState::Folder => folder::list(context, &wanted, &shown).await,
            FileState::Special => {
                Err(ToolError(format!("{shown} is a FIFO, socket or device, no file to read.")))
            }
        }
    }

    fn canonical_input(&self, input: Value) -> Value {
        SHAPE.canonical(input)
    }
}

fn parse_arguments(input: &Value, place: &WorkingDirectory) -> Result<ReadArguments, ToolError> {
    let input = ArgumentReader::new(SHAPE, input)?;
    let path = input.path("file_path", place)?;
    let offset = input.number("offset")?.filter(|offset| *offset > 0);
    let limit = input.number("limit")?.filter(|limit| *limit > 0);
    let names_lines = offset.is_some() || limit.is_some();
    Ok(ReadArguments { path, offset: offset.unwrap_or(1), limit, names_lines })
}

/// Gives an image to the model.
async fn picture(
    context: &ToolContext,
    bytes: Vec<u8>,
    path: &Path,
    shown: &str,
) -> Result<ToolOutput, ToolError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let image = context.effects.keep_image(&name, bytes).await.map_err(|error| {
        let error = error.trim_end_matches('.');
        ToolError(format!("{error}. Read shows text files, PDFs, images and folders."))
    })?;
    let about = format!("{} image, {}", image.media_type.short(), image.size());
    Ok(ToolOutput::text(format!("{shown} is an image ({about}). It follows the results."))
        .with_output(json!({"kind": image.media_type.name(), "size": image.size()}))
        .with_summary(about)
        .with_image(image))
}

fn whole(bytes: &[u8], wanted: &ReadArguments, shown: &str) -> Result<ToolOutput, ToolError> {
    match text::decode(bytes) {
        Some((text, _)) => lines(&text, bytes.len(), "", wanted, shown),
        None => Ok(binary(bytes, bytes.len() as u64, shown)),
    }
}

/// Shows a notebook by its cells, or as any text if it is no valid one; `None` if the call was stopped.
async fn cells(
    context: &ToolContext,
    bytes: Vec<u8>,
    wanted: &ReadArguments,
    shown: &str,
) -> Result<Option<ToolOutput>, ToolError> {
    let work = move || match text::decode(&bytes) {
        Some((text, _)) => Ok((notebook::outline(&text), text)),
        None => Err(bytes),
    };
    Ok(Some(match off_thread(&context.cancel, work).await? {
        None => return Ok(None),
        Some(Err(bytes)) => binary(&bytes, bytes.len() as u64, shown),
        Some(Ok((Ok(outline), _))) => {
            let cells = truncation::pluralise(outline.cells as u64, "cell");
            if outline.cells == 0 {
                let text = format!("{shown} is a notebook without cells.");
                return Ok(Some(ToolOutput::text(text).with_summary("no cells")));
            }
            let heading = format!(
                "[{shown} is a notebook with {cells}, shown as text. NotebookEdit changes a cell by \
                 the name that follows \"cell\".]\n"
            );
            lines(&outline.text, outline.text.len(), &heading, wanted, shown)?.with_summary(cells)
        }
        Some(Ok((Err(why), text))) => {
            let heading = format!("[{shown} {why}. So it is shown as any text.]\n");
            lines(&text, text.len(), &heading, wanted, shown)?
        }
    }))
}

/// Shows the lines of `text` that the call asks for, the first of them after the `heading`.
fn lines(
    text: &str,
    size: usize,
    heading: &str,
    wanted: &ReadArguments,
    shown: &str,
) -> Result<ToolOutput, ToolError> {
    let total = text.lines().count() as u64;
    if total == 0 {
        return Ok(ToolOutput::text(format!("{shown} is empty.")).with_summary("empty"));
    }
    if wanted.offset > total {
        return Err(beyond_end(shown, &truncation::pluralise(total, "line"), total));
    }
    let is_long = total > LONG_LINES || size > LONG_BYTES;
    let mut excerpt = ReadExcerpt::new(wanted, is_long);
    if wanted.offset == 1 {
        excerpt.text.push_str(heading);
    }
    if is_long && !wanted.names_lines {
        let (lines, size) = (truncation::pluralise(total, "line"), truncation::size(size as u64));
        excerpt.text += &format!("[{shown} has {lines} ({size}). {BEGINNING_ONLY}]\n");
    }
    let first = usize::try_from(wanted.offset - 1).unwrap_or(usize::MAX);
    for line in text.lines().skip(first) {
        if !excerpt.add(line, wanted) {
            break;
        }
    }
    let next = wanted.offset + excerpt.lines;
    let note = if next <= total {
        format!("[Lines {}-{} of {total}. Go on with offset={next}.]", wanted.offset, next - 1)
    } else {
        String::new()
    };
    Ok(excerpt.output(&note, wanted, Some(total)))
}

/// The error where the offset is larger than the `total` of what there is to show.
fn beyond_end(shown: &str, count: &str, total: u64) -> ToolError {
    ToolError(format!("{shown} has only {count}; send an offset up to {total}."))
}

/// Reads a big file up to the lines that the call asks for.
async fn part(
    context: &ToolContext,
    wanted: &ReadArguments,
    size: u64,
    shown: &str,
) -> Result<ToolOutput, ToolError> {
    let mut excerpt = ReadExcerpt::new(wanted, true);
    if !wanted.names_lines {
        excerpt.text =
            format!("[{shown} is a file of {}. {BEGINNING_ONLY}]\n", truncation::size(size));
    }
    let mut number = 1;
    // The beginning of an incomplete line, no longer than what can be shown.
    let mut open: Vec<u8> = Vec::new();
    let mut at = 0;
    while !excerpt.is_full {
        if context.cancel.is_cancelled() {
            return Ok(stopped_output());
        }
        let chunk = context.files.read_at(&wanted.path, at, CHUNK).await?;
        if at == 0 && pdf::is_pdf(&chunk) {
            return pdf::big(context, wanted, size, shown).await;
        }
        if at == 0 && (text::binary_kind(&chunk).is_some() || is_utf16(&chunk)) {
            return Ok(binary(&chunk, size, shown));
        }
        at += chunk.len() as u64;
        let is_end = chunk.is_empty();
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            let room = (LINE_CHARS * 4 + 4).saturating_sub(open.len());
            open.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") {
                if number >= wanted.offset && !excerpt.add(&line_text(&open), wanted) {
                    break;
                }
                number += 1;
                open.clear();
            }
        }
        if is_end {
            if number >= wanted.offset && !open.is_empty() {
                excerpt.add(&line_text(&open), wanted);
            }
            break;
        }
    }
    if excerpt.lines == 0 {
        return Err(ToolError(format!("{shown} has only {} lines.", number - 1)));
    }
    let next = wanted.offset + excerpt.lines;
    let note = format!(
        "[Lines {}-{} of a file of {}. Go on with offset={next}, or use Grep.]",
        wanted.offset,
        next - 1,
        truncation::size(size)
    );
    Ok(excerpt.output(&note, wanted, None))
}

fn line_text(bytes: &[u8]) -> String {
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    text::line(line.strip_suffix(b"\r").unwrap_or(line)).into_owned()
}

fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")
}

fn binary(bytes: &[u8], size: u64, shown: &str) -> ToolOutput {
    let kind = text::binary_kind(bytes).unwrap_or("unknown encoding");
    let size = truncation::size(size);
    ToolOutput::text(format!(
        "{shown} is no text file ({kind}, {size}). Read shows text files, PDFs, images \
         and folders."
    ))
    .with_output(json!({"kind": kind, "size": size}))
    .with_summary(format!("{kind}, {size}"))
}

impl ReadExcerpt {
    fn new(wanted: &ReadArguments, is_long: bool) -> Self {
        let usual = if is_long && !wanted.names_lines { BEGINNING } else { DEFAULT_LIMIT };
        let limit = wanted.limit.unwrap_or(usual);
        Self { text: String::new(), lines: 0, limit, is_full: false }
    }

    /// Adds the next line; returns whether there was room.
    fn add(&mut self, line: &str, wanted: &ReadArguments) -> bool {
        let line = truncation::line(line, LINE_CHARS);
        // A NUL ends the text for some model servers.
        let line = line.replace('\0', "␀");
        self.is_full = self.lines == self.limit
            || (self.lines > 0 && self.text.len() + line.len() > TOTAL_BYTES);
        if self.is_full {
            return false;
        }
        let number = wanted.offset + self.lines;
        self.text.push_str(&format!("{number}\t{line}\n"));
        self.lines += 1;
        true
    }

    fn output(self, note: &str, wanted: &ReadArguments, total: Option<u64>) -> ToolOutput {
        let output = json!({
            "first_line": wanted.offset, "lines": self.lines, "total_lines": total,
        });
        let summary = truncation::pluralise(self.lines, "line");
        ToolOutput::text(self.text + note).with_output(output).with_summary(summary)
    }
}

#[cfg(test)]
mod tests;
