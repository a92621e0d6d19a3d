//! Read: shows the lines of a text file, numbered.
//!
//! A file of up to 16 MB is read whole, so that a later Edit can tell whether it has changed. A
//! bigger file is read only up to the end of the lines that the call asks for.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde_json::{Value, json};

use super::input::{ArgumentReader, FILE_NAMES, InputShape};
use super::text::{self, WHOLE_FILE};
use super::{
    FileState, Tool, ToolContext, ToolError, WorkingDirectory, paths, stopped_output, titles,
    truncation,
};
use crate::domain::{ToolAccess, ToolCapability, ToolDescriptor, ToolKind, ToolOutput, ToolSpec};

/// Shows a text file as numbered lines.
pub(super) struct ReadTool;

const SHAPE: InputShape = InputShape {
    tool: "Read",
    example: r#"{"file_path": "src/main.rs", "offset": 1, "limit": 200}"#,
    arguments: &[("file_path", FILE_NAMES), ("offset", &["start_line"]), ("limit", &[])],
    place: "",
};

static DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(SHAPE.tool, ToolKind::Read, ToolCapability::ReadFiles);

/// The most lines that are shown, unless the call asks for another number.
const DEFAULT_LIMIT: u64 = 2000;
/// The most characters of a line.
const LINE_CHARS: usize = 2000;
/// The most bytes of all lines together: some 15,000 tokens.
const TOTAL_BYTES: usize = 60_000;
/// The bytes of a big file that are read at a time.
const CHUNK: u64 = 1 << 20;

struct ReadArguments {
    path: PathBuf,
    /// The number of the first line, from 1.
    offset: u64,
    limit: u64,
}

/// Consecutive lines, as they are shown.
struct ReadExcerpt {
    text: String,
    lines: u64,
    is_full: bool,
}

#[async_trait]
impl Tool for ReadTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: SHAPE.tool.into(),
            description: "Shows a text file as numbered lines (number, tab, text), 2000 at most."
                .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "file_path": {"type": "string"},
                    "offset": {"type": "integer", "description": "first line, from 1"},
                    "limit": {"type": "integer", "description": "lines"},
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

    fn canonical_input(&self, input: Value) -> Value {
        SHAPE.canonical(input)
    }

    fn access(
        &self,
        input: &Value,
        place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        Ok(vec![ToolAccess::Read(parse_arguments(input, place)?.path)])
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let wanted = parse_arguments(&input, &context.place)?;
        let shown = context.place.show(&wanted.path);
        match context.files.read(&wanted.path, WHOLE_FILE).await? {
            FileState::File(bytes) => {
                context.reads.record(&wanted.path, &bytes);
                whole(&bytes, &wanted, &shown)
            }
            FileState::TooBig(size) => part(context, &wanted, size, &shown).await,
            FileState::Missing => Err(paths::missing(context, &wanted.path).await),
            FileState::Folder => Err(ToolError(format!(
                "{shown} is a folder. Use Glob to list it, for example \
                 {{\"pattern\": \"*\", \"path\": {}}}.",
                Value::String(shown.clone())
            ))),
            FileState::Special => {
                Err(ToolError(format!("{shown} is a FIFO, socket or device, no file to read.")))
            }
        }
    }
}

fn parse_arguments(input: &Value, place: &WorkingDirectory) -> Result<ReadArguments, ToolError> {
    let input = ArgumentReader::new(SHAPE, input)?;
    let path = input.path("file_path", place)?;
    let offset = input.number("offset")?.unwrap_or(1).max(1);
    let limit = input.number("limit")?.filter(|limit| *limit > 0).unwrap_or(DEFAULT_LIMIT);
    Ok(ReadArguments { path, offset, limit })
}

fn whole(bytes: &[u8], wanted: &ReadArguments, shown: &str) -> Result<ToolOutput, ToolError> {
    let Some((text, _)) = text::decode(bytes) else {
        return Ok(binary(bytes, bytes.len() as u64, shown));
    };
    let total = text.lines().count() as u64;
    if total == 0 {
        return Ok(ToolOutput::text(format!("{shown} is empty.")).with_summary("empty"));
    }
    if wanted.offset > total {
        return Err(ToolError(format!(
            "{shown} has only {}; send an offset up to {total}.",
            truncation::pluralise(total, "line")
        )));
    }
    let mut excerpt = ReadExcerpt::new();
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

/// Reads a big file up to the lines that the call asks for.
async fn part(
    context: &ToolContext,
    wanted: &ReadArguments,
    size: u64,
    shown: &str,
) -> Result<ToolOutput, ToolError> {
    let mut excerpt = ReadExcerpt::new();
    let mut number = 1;
    // The beginning of an incomplete line, no longer than what can be shown.
    let mut open: Vec<u8> = Vec::new();
    let mut at = 0;
    while !excerpt.is_full {
        if context.cancel.is_cancelled() {
            return Ok(stopped_output());
        }
        let chunk = context.files.read_at(&wanted.path, at, CHUNK).await?;
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
        "{shown} is no text file ({kind}, {size}). Read shows text files only."
    ))
    .with_output(json!({"kind": kind, "size": size}))
    .with_summary(format!("{kind}, {size}"))
}

impl ReadExcerpt {
    fn new() -> Self {
        Self { text: String::new(), lines: 0, is_full: false }
    }

    /// Adds the next line; returns whether there was room.
    fn add(&mut self, line: &str, wanted: &ReadArguments) -> bool {
        let line = truncation::line(line, LINE_CHARS);
        // A NUL ends the text for some model servers.
        let line = line.replace('\0', "␀");
        self.is_full = self.lines == wanted.limit
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
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::ffi::OsStrExt;

    use super::*;
    use crate::domain::ContentHash;
    use crate::tools::testing::ToolTestEnv;

    async fn read(env: &ToolTestEnv, input: Value) -> String {
        env.run(&ReadTool, input).await.unwrap().observation
    }

    #[tokio::test]
    async fn lines_are_numbered_and_the_content_is_remembered() {
        let env = ToolTestEnv::new();
        env.put("f", "one\n\ttwo\r\nthree");
        assert_eq!(read(&env, json!({"path": "f"})).await, "1\tone\n2\t\ttwo\n3\tthree\n");
        let seen = env.context.reads.seen(&env.path("f"));
        assert_eq!(seen, Some(ContentHash::of(b"one\n\ttwo\r\nthree")));
    }

    #[tokio::test]
    async fn a_cut_result_says_how_to_continue() {
        let env = ToolTestEnv::new();
        let lines: String = (1..=3000).map(|n| format!("line {n}\n")).collect();
        env.put("f", lines.as_str());
        let some = read(&env, json!({"file_path": "f", "offset": "3", "limit": 2})).await;
        assert_eq!(some, "3\tline 3\n4\tline 4\n[Lines 3-4 of 3000. Go on with offset=5.]");
        let all = read(&env, json!({"file_path": "f"})).await;
        assert!(all.ends_with("2000\tline 2000\n[Lines 1-2000 of 3000. Go on with offset=2001.]"));
        let last = read(&env, json!({"file_path": "f", "offset": 3000, "limit": null})).await;
        assert_eq!(last, "3000\tline 3000\n");
    }

    #[tokio::test]
    async fn long_lines_and_much_text_are_cut() {
        let env = ToolTestEnv::new();
        env.put("long", "ä".repeat(2005));
        assert!(
            read(&env, json!({"file_path": "long"})).await.ends_with("… [5 more characters]\n")
        );
        env.put("much", format!("{}\n", "x".repeat(1000)).repeat(100));
        let much = read(&env, json!({"file_path": "much"})).await;
        assert!(much.len() < TOTAL_BYTES + 100);
        assert!(
            much.ends_with("[Lines 1-59 of 100. Go on with offset=60.]"),
            "{}",
            &much[much.len() - 60..]
        );
    }

    #[tokio::test]
    async fn huge_files_are_read_in_part() {
        let env = ToolTestEnv::new();
        let mut file = fs::File::create(env.path("huge")).unwrap();
        for number in 1..=20 {
            writeln!(file, "line {number} {}", "x".repeat(1 << 20)).unwrap();
        }
        let text = read(&env, json!({"file_path": "huge", "offset": 19})).await;
        assert!(text.starts_with("19\tline 19 xxx"), "{}", &text[..40]);
        assert!(text.contains("\n20\tline 20 xxx"));
        assert!(
            text.ends_with(
                "[Lines 19-20 of a file of 20.0 MB. Go on with offset=21, or use Grep.]"
            )
        );
        let error =
            env.run(&ReadTool, json!({"file_path": "huge", "offset": 21})).await.unwrap_err();
        assert_eq!(error.0, "huge has only 20 lines.");
        env.context.cancel.cancel();
        let output = env.run(&ReadTool, json!({"file_path": "huge"})).await.unwrap();
        assert_eq!(output.status, crate::domain::ToolStatus::Cancelled);
    }

    #[tokio::test]
    async fn other_encodings_are_shown_as_text() {
        let env = ToolTestEnv::new();
        env.put("latin", b"caf\xe9\n");
        env.put("wide", b"\xff\xfea\0\xe9\0");
        env.put("nul", b"some words\0and more\n");
        assert_eq!(read(&env, json!({"file_path": "latin"})).await, "1\tcafé\n");
        assert_eq!(read(&env, json!({"file_path": "wide"})).await, "1\taé\n");
        assert_eq!(read(&env, json!({"file_path": "nul"})).await, "1\tsome words␀and more\n");
    }

    #[tokio::test]
    async fn binary_and_empty_files_say_so() {
        let env = ToolTestEnv::new();
        env.put("a.png", b"\x89PNG\r\n\x1a\n\0\0\0");
        env.put("empty", "");
        let image = read(&env, json!({"file_path": "a.png"})).await;
        assert_eq!(
            image,
            "a.png is no text file (PNG image, 11 bytes). Read shows text files only."
        );
        assert_eq!(read(&env, json!({"file_path": "empty"})).await, "empty is empty.");
    }

    #[tokio::test]
    async fn r49_other_kinds_of_files_are_refused() {
        let env = ToolTestEnv::new();
        env.fifo("pipe");
        fs::create_dir(env.path("src")).unwrap();
        env.put("main.rs", "");
        env.put("secret_main.rs", "");
        let cases = [
            ("pipe", "pipe is a FIFO, socket or device"),
            ("/dev/zero", "/dev/zero is a FIFO, socket or device"),
            ("src", "src is a folder. Use Glob to list it"),
            ("mian.rs", "There is no mian.rs. Did you mean main.rs?"),
            (
                "lib/none/x.rs",
                "There is no lib/none/x.rs. Its folder is not there either; the nearest that is: .",
            ),
            ("quite-other", "There is no quite-other. Use Glob to find it."),
        ];
        for (path, expected) in cases {
            let error = env.run(&ReadTool, json!({"file_path": path})).await.unwrap_err();
            assert!(error.0.starts_with(expected), "{error}");
        }
    }

    #[tokio::test]
    async fn r52_any_name_can_be_read() {
        let env = ToolTestEnv::new();
        let names: [&[u8]; 5] =
            [b"caf\xe9", b"a\nb\tc\x1b", b"-rf", b"trailing ", "👩‍👩‍👧 con".as_bytes()];
        for name in names {
            let path = env.path("").join(OsStr::from_bytes(name));
            fs::write(&path, "x").unwrap();
            let shown = env.context.place.show(&path);
            assert!(!shown.chars().any(char::is_control));
            assert_eq!(read(&env, json!({"file_path": shown})).await, "1\tx\n");
        }
    }

    #[test]
    fn bad_input_tells_what_to_send() {
        let place = WorkingDirectory { cwd: "/w".into(), home: None };
        let error = ReadTool.access(&json!({"limit": 3}), &place).unwrap_err();
        assert!(error.0.starts_with("Read: `file_path` is missing. Send for example {"), "{error}");
        assert_eq!(
            ReadTool.access(&json!({"file_path": "../a/./b"}), &place),
            Ok(vec![ToolAccess::Read("/a/b".into())])
        );
    }
}
