//! Finds where a fork of a long log ends, and which entry comes before another, by searching the
//! bytes: ids and titles are searched in the form in which slug writes them, and only the lines
//! that hold them are parsed.
//!
//! Where anything is not as expected (the first line is no session's, the last line is not whole,
//! an id is not found), the result is `None`, and the caller reads the log by the lenient parser
//! instead.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use memchr::memmem::Finder;
use memchr::{memchr, memrchr};

use crate::domain::{EntryId, ToolSpec, TurnId};
use crate::session::log_reader::LONG;
use crate::session::{LogEntry, LogRecord, SessionHeader};

/// How much is read at a time, in bytes.
const WINDOW: usize = 1 << 20;

/// The part of a log that a fork copies.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ForkRange {
    /// The bytes, without the first line.
    pub(super) body: Range<u64>,
    /// Of the log's first line.
    pub(super) server_tools: Vec<ToolSpec>,
    /// A title that the log gets only after the copied part, with the turn of the last copied line.
    pub(super) title: Option<(TurnId, String)>,
}

/// The part to copy: up to and including `upto`, or all of the log.
pub(super) fn find(file: &File, upto: Option<EntryId>) -> io::Result<Option<ForkRange>> {
    let len = file.metadata()?.len();
    if len < LONG {
        return Ok(None);
    }
    let Some((header, record)) = line_at(file, 0, len)? else { return Ok(None) };
    let LogEntry::Session(SessionHeader {
        version: ..=SessionHeader::VERSION, server_tools, ..
    }) = record.entry
    else {
        return Ok(None);
    };
    let Some(upto) = upto else {
        let mut last = [0];
        file.read_exact_at(&mut last, len - 1)?;
        let whole = last == *b"\n";
        let body = header.end..len;
        return Ok(whole.then_some(ForkRange { body, server_tools, title: None }));
    };
    let id_field = format!("\"id\":\"{upto}\"");
    let is_it = |record: &LogRecord| record.id == upto;
    let Some((line, record)) = last_line(file, header.end..len, id_field.as_bytes(), is_it)? else {
        return Ok(None);
    };
    let is_title = |record: &LogRecord| matches!(record.entry, LogEntry::Title { .. });
    let title_in = |part| -> io::Result<Option<String>> {
        let found = last_line(file, part, b"\"type\":\"title\"", is_title)?;
        Ok(found.and_then(|(_, record)| {
            if let LogEntry::Title { title } = record.entry { Some(title) } else { None }
        }))
    };
    let title = match title_in(line.end..len)? {
        Some(title) if title_in(header.end..line.end)?.as_ref() != Some(&title) => {
            Some((record.turn, title))
        }
        Some(_) | None => None,
    };
    Ok(Some(ForkRange { body: header.end..line.end, server_tools, title }))
}

/// The record of an entry, with the id of the entry before it; `None` where the log is short or not
/// as slug writes it.
pub(super) fn record_and_previous(
    file: &File,
    entry: EntryId,
) -> io::Result<Option<(EntryId, LogRecord)>> {
    let len = file.metadata()?.len();
    if len < LONG {
        return Ok(None);
    }
    let id_field = format!("\"id\":\"{entry}\"");
    let is_it = |record: &LogRecord| record.id == entry;
    let Some((line, record)) = last_line(file, 0..len, id_field.as_bytes(), is_it)? else {
        return Ok(None);
    };
    if line.start == 0 {
        return Ok(None);
    }
    let start = line_start(file, line.start - 1, 0)?;
    Ok(line_at(file, start, line.start)?.map(|(_, previous)| (previous.id, record)))
}

/// The last whole line in a part of the file that contains `bytes` and that `is_meant` accepts.
fn last_line(
    file: &File,
    part: Range<u64>,
    bytes: &[u8],
    is_meant: impl Fn(&LogRecord) -> bool,
) -> io::Result<Option<(Range<u64>, LogRecord)>> {
    let finder = Finder::new(bytes);
    let mut window = vec![0; WINDOW + bytes.len()];
    let mut end = part.end;
    while end > part.start {
        let start = end.saturating_sub(WINDOW as u64).max(part.start);
        // The bytes may lie across the border to the window after this one.
        let size = usize::try_from((end + bytes.len() as u64).min(part.end) - start);
        let window = &mut window[..size.map_err(io::Error::other)?];
        file.read_exact_at(window, start)?;
        let found: Vec<usize> = finder.find_iter(window).collect();
        for at in found.into_iter().rev() {
            let begin = line_start(file, start + at as u64, part.start)?;
            if let Some(found) = line_at(file, begin, part.end)?.filter(|it| is_meant(&it.1)) {
                return Ok(Some(found));
            }
        }
        end = start;
    }
    Ok(None)
}

/// The start of the line that contains the byte at `at`; looks back to `floor` at most.
fn line_start(file: &File, at: u64, floor: u64) -> io::Result<u64> {
    let mut window = vec![0; 64 * 1024];
    let mut end = at;
    while end > floor {
        let start = end.saturating_sub(window.len() as u64).max(floor);
        let window = &mut window[..usize::try_from(end - start).map_err(io::Error::other)?];
        file.read_exact_at(window, start)?;
        if let Some(feed) = memrchr(b'\n', window) {
            return Ok(start + feed as u64 + 1);
        }
        end = start;
    }
    Ok(floor)
}

/// The whole line that begins at `start`, if it parses as slug writes it.
fn line_at(file: &File, start: u64, end: u64) -> io::Result<Option<(Range<u64>, LogRecord)>> {
    let mut line = Vec::new();
    let mut window = vec![0; 64 * 1024];
    loop {
        let at = start + line.len() as u64;
        let size = (end - at).min(window.len() as u64);
        let window = &mut window[..usize::try_from(size).map_err(io::Error::other)?];
        if window.is_empty() {
            return Ok(None);
        }
        file.read_exact_at(window, at)?;
        match memchr(b'\n', window) {
            Some(feed) => {
                line.extend_from_slice(&window[..feed]);
                break;
            }
            None => line.extend_from_slice(window),
        }
    }
    let range = start..start + line.len() as u64 + 1;
    Ok(serde_json::from_slice(&line).ok().map(|record| (range, record)))
}
