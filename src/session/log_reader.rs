//! Reads a log, whatever state it is in.
//!
//! A log is read line by line, so that a large one is never in memory twice. Only an error of the
//! disk can make the reading fail. Lines that make no sense are reported and left where they are.
//! Only a torn tail, which is a last line that was cut off, is marked for removal; the store moves
//! it to a file of its own before anything is appended.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::io::{self, BufRead};
use std::ops::Range;

use crate::domain::{EntryId, pluralise};

use super::line::{self, LogLine, LogLineContext};
use super::{LogEntry, LogRecord, SessionHeader};

/// A log that was read, with everything unusual about it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadedLog {
    /// The first line; `None` where it is damaged or the file is a plain chat log.
    pub header: Option<SessionHeader>,
    /// The records in order, the header's among them.
    pub records: Vec<LogRecord>,
    /// What the user should know about the file; at most one notice of each kind.
    pub notices: Vec<LogNotice>,
    /// The length of all whole lines, in bytes. What follows is a torn tail.
    pub good_len: usize,
    /// How the file ends.
    pub tail: LogTail,
    /// Whether the log has a newer format, so that slug must not append to it.
    pub read_only: bool,
    /// The offset at which each record's line ends, in bytes.
    ends: Vec<usize>,
    /// The offset of the line after the header, in bytes.
    body: usize,
}

/// Whether a log's last line is whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LogTail {
    /// With a line feed, or it is empty.
    #[default]
    Whole,
    /// With a whole line that only lacks its line feed.
    NoLineFeed,
    /// With a part of a line, at these bytes.
    Torn(Range<usize>),
}

/// Something unusual about a log that the user should know. Its `Display` is a sentence for the
/// screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogNotice {
    /// The last line was cut off.
    TornTail {
        /// The bytes of the file that the cut line takes.
        bytes: Range<usize>,
    },
    /// Some lines in the middle are not JSON objects.
    Damaged {
        /// The bytes of the file that each of them takes.
        lines: Vec<Range<usize>>,
    },
    /// Some records are of types or in shapes that are not known here.
    NotUnderstood {
        /// The number of such records by their type.
        types: BTreeMap<String, usize>,
    },
    /// Some parts of messages are of a kind that is not known here.
    PartsLeftOut { count: usize },
    /// Some records have the id of an earlier one; only the earlier one counts.
    Duplicates { count: usize },
    /// The first line that says what the session is, is missing.
    NoHeader,
    /// The log has a newer format, so it is read-only.
    NewerVersion { version: u32 },
}

/// Reads a whole log from memory. Never fails: whatever is wrong is in [`LoadedLog::notices`].
pub fn load(bytes: &[u8]) -> LoadedLog {
    // Reading from a slice cannot fail.
    load_from(bytes).unwrap_or_default()
}

/// Reads a whole log like [`load`]. Fails only where the reader does.
pub(super) fn load_from(mut log: impl BufRead) -> io::Result<LoadedLog> {
    let mut loader = LogLoader::default();
    let mut tail = LogTail::Whole;
    let mut bytes = Vec::new();
    let mut at = 0;
    loop {
        bytes.clear();
        if log.read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        let range = at..at + bytes.len();
        let mut text = bytes.as_slice();
        if at == 0 {
            text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
            loader.body = bytes.len() - text.len();
        }
        at = range.end;
        let is_ended = text.ends_with(b"\n");
        if text.is_empty() {
            break;
        }
        let line = line::parse(text.strip_suffix(b"\n").unwrap_or(text), &mut loader.context);
        if !is_ended {
            if matches!(line, LogLine::Damaged) {
                let begin = range.end - text.len();
                loader.notices.push(LogNotice::TornTail { bytes: begin..range.end });
                tail = LogTail::Torn(begin..range.end);
                break;
            }
            tail = LogTail::NoLineFeed;
        }
        loader.take(line, range);
    }
    let good_len = match &tail {
        LogTail::Whole | LogTail::NoLineFeed => at,
        LogTail::Torn(torn) => torn.start,
    };
    Ok(loader.finish(good_len, tail))
}

/// How many records of a long session are shown before all of it has been read.
pub const NEWEST_RECORDS: usize = 1000;
/// In bytes. A shorter log is read as a whole at once.
pub(super) const LONG: u64 = 4 << 20;
/// How much of a long log is read from its end for its newest records, in bytes.
pub(super) const END: u64 = 1 << 20;

/// The newest records in the end of a long log, starting where a conversation can start. `None`
/// where the end is not as slug writes it; then [`load`] finds out why.
pub(super) fn newest(end: &[u8]) -> Option<Vec<LogRecord>> {
    let whole = memchr::memchr(b'\n', end)? + 1..end.ends_with(b"\n").then_some(end.len())?;
    let mut records = Vec::new();
    for line in end[whole].split_inclusive(|byte| *byte == b'\n').rev().take(NEWEST_RECORDS) {
        records.push(serde_json::from_slice::<LogRecord>(line).ok()?);
    }
    records.reverse();
    let begin = records.iter().position(LogRecord::can_start_conversation)?;
    Some(records.split_off(begin))
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Default)]
struct LogLoader {
    context: LogLineContext,
    header: Option<SessionHeader>,
    records: Vec<LogRecord>,
    ends: Vec<usize>,
    body: usize,
    seen: HashSet<EntryId>,
    newer: Option<u32>,
    damaged: Vec<Range<usize>>,
    not_understood: BTreeMap<String, usize>,
    parts_left_out: usize,
    duplicates: usize,
    notices: Vec<LogNotice>,
}

impl LogLoader {
    fn take(&mut self, line: LogLine, range: Range<usize>) {
        match line {
            LogLine::Blank => {}
            LogLine::Record { record, left_out } => {
                self.parts_left_out += left_out;
                self.take_record(*record, range.end);
            }
            LogLine::NotUnderstood { name } => *self.not_understood.entry(name).or_default() += 1,
            LogLine::Newer { version } => {
                self.newer = self.newer.max(Some(version));
                if self.records.is_empty() {
                    self.body = range.end;
                }
            }
            LogLine::Damaged => self.damaged.push(range),
        }
    }

    fn take_record(&mut self, record: LogRecord, end: usize) {
        if !self.seen.insert(record.id) {
            self.duplicates += 1;
            return;
        }
        if let LogEntry::Session(header) = &record.entry {
            if header.version > SessionHeader::VERSION {
                self.newer = self.newer.max(Some(header.version));
            }
            if self.records.is_empty() {
                self.header = Some(header.clone());
                self.body = end;
            }
        }
        self.records.push(record);
        self.ends.push(end);
    }

    fn finish(mut self, good_len: usize, tail: LogTail) -> LoadedLog {
        if let Some(version) = self.newer {
            self.notices.push(LogNotice::NewerVersion { version });
        } else if self.header.is_none() {
            self.notices.push(LogNotice::NoHeader);
        }
        if !self.damaged.is_empty() {
            self.notices.push(LogNotice::Damaged { lines: self.damaged });
        }
        if !self.not_understood.is_empty() {
            self.notices.push(LogNotice::NotUnderstood { types: self.not_understood });
        }
        if self.parts_left_out > 0 {
            self.notices.push(LogNotice::PartsLeftOut { count: self.parts_left_out });
        }
        if self.duplicates > 0 {
            self.notices.push(LogNotice::Duplicates { count: self.duplicates });
        }
        LoadedLog {
            header: self.header,
            records: self.records,
            notices: self.notices,
            good_len,
            tail,
            read_only: self.newer.is_some(),
            ends: self.ends,
            body: self.body,
        }
    }
}

/// The records of a log up to some entry, and their bytes.
pub(super) struct LogPart<'a> {
    /// In order, the header's among them.
    pub(super) records: &'a [LogRecord],
    /// Where their lines are in the file, without the header's.
    pub(super) body: Range<usize>,
}

impl LoadedLog {
    /// All of the log except its torn tail.
    pub(super) fn whole(&self) -> LogPart<'_> {
        LogPart { records: &self.records, body: self.body..self.good_len.max(self.body) }
    }

    /// The log up to and including `entry`; `None` where it has no such entry.
    pub(super) fn upto(&self, entry: EntryId) -> Option<LogPart<'_>> {
        let position = self.records.iter().position(|record| record.id == entry)?;
        let body = self.body..self.ends[position].max(self.body);
        Some(LogPart { records: &self.records[..=position], body })
    }
}

impl fmt::Display for LogNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TornTail { bytes } => {
                let count = bytes.end - bytes.start;
                write!(
                    f,
                    "The session's last line was cut off; everything before it is here. Its \
                     {count} bytes are moved to a .torn file next to the log when the session \
                     continues."
                )
            }
            Self::Damaged { lines } => {
                let few: Vec<String> = lines
                    .iter()
                    .take(3)
                    .map(|bytes| format!("{} to {}", bytes.start, bytes.end))
                    .collect();
                let more = if lines.len() > few.len() { " and further on" } else { "" };
                let count = pluralise(lines.len(), "line");
                write!(
                    f,
                    "The session log has {count} that cannot be read (bytes {}{more}). The rest \
                     is here, and the file is unchanged.",
                    few.join(", ")
                )
            }
            Self::NotUnderstood { types } => {
                let names: Vec<&str> = types.keys().map(String::as_str).collect();
                let count = pluralise(types.values().sum::<usize>(), "record");
                write!(
                    f,
                    "The session has {count} from another program or a newer slug ({}), not \
                     shown here but kept in the file.",
                    names.join(", ")
                )
            }
            Self::PartsLeftOut { count } => {
                let count = pluralise(*count, "part");
                write!(
                    f,
                    "The session's messages have {count} of a kind unknown to this slug, not \
                     shown here but kept in the file."
                )
            }
            Self::Duplicates { count } => {
                let count = pluralise(*count, "record");
                write!(f, "The session log repeats {count}; each was read once.")
            }
            Self::NoHeader => f.write_str(
                "The session's first line (folder and model) is missing. It continues in this \
                 folder with the current model.",
            ),
            Self::NewerVersion { version } => write!(
                f,
                "This session was written by a newer slug (format {version}) and is read-only. \
                 Update slug, or fork the session, to continue it."
            ),
        }
    }
}

#[cfg(test)]
#[path = "log_reader_tests.rs"]
mod tests;
