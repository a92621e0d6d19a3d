//! Searches all sessions for a text.
//!
//! The bytes of the logs are searched as they are, for the text in the form in which JSON writes
//! it; only a line with a match is parsed. It counts only where the text is in something that the
//! user sees: messages, thinking, the arguments and results of calls, and the user's own commands.
//! Ids, hashes, signatures and names of fields do not count, nor do records that a rewind took
//! back. The sessions that are named first are searched first, by several threads.
//!
//! Small letters match capitals, too, unless the text has a capital; a space matches any white
//! space, line ends included.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, BufRead, BufReader, Read};
use std::iter;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use chrono::{DateTime, Utc};
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use memchr::memmem;
use serde::Serialize;
use serde_json::Value;

use crate::domain::sanitize::sanitize;
use crate::domain::{
    CallId, CallInput, ContentBlock, EntryId, MessageRole, SessionId, compile_regex,
};

use super::line::{self, LogLine, LogLineContext};
use super::undo::RewindHistory;
use super::{LogEntry, LogRecord, MessageEntry, SessionStore};

/// A session is left once so many matches were found in it.
pub const MOST_PLACES: usize = 3;
/// More threads than this only wait for the disk and for each other.
const THREADS: usize = 4;
/// White space as a log has it: as it is, or as JSON escapes it.
const WRITTEN_SPACES: &str = concat!(
    r"(?:[^\S\n]|\\[nrtf]",
    r"|\\u(?i:000[9a-d]|0020|0085|00a0|1680|200[0-9a]|202[89f]|205f|3000))+",
);
/// What only the line of a rewind contains: within a message its quotes are escaped.
const REWIND: &[u8] = br#""type":"rewind""#;
/// How many parents of a fork are followed at most.
const DEEPEST: usize = 1000;
/// How many characters of context are shown before and after a match.
const BEFORE: usize = 40;
const BEHIND: usize = 120;

/// A text to search for, compiled into patterns.
#[derive(Debug, Clone)]
pub struct SearchText {
    /// Finds the text in the bytes of a log.
    log_pattern: RegexMatcher,
    /// Finds the text in what the user sees.
    text_pattern: RegexMatcher,
}

/// The matches of a search in one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionSearchResult {
    pub session: SessionId,
    /// The first matches, in the log's order; at most [`MOST_PLACES`].
    pub places: Vec<SessionSearchHit>,
    /// Whether the search left the session after these, so that there may be more.
    pub more: bool,
}

/// A match in a session, with the text around it on one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionSearchHit {
    /// The id of the log's line.
    pub entry: EntryId,
    /// The call, where the match is in its arguments or its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// When the line was written.
    pub timestamp: DateTime<Utc>,
    /// Serialized as `who`, and as `tool` where a tool is named.
    #[serde(flatten)]
    pub who: SearchHitSource,
    /// The text before the match, in at most 40 characters.
    pub before: String,
    /// The match as the message has it.
    pub found: String,
    /// The text after the match, in at most 120 characters.
    pub behind: String,
}

/// Who wrote the text in which a match was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "who", content = "tool", rename_all = "snake_case")]
pub enum SearchHitSource {
    /// The user, in a message or in a command of their own.
    User,
    Model,
    /// The model, while it was thinking.
    Thinking,
    /// The arguments of a call of the named tool.
    Call(String),
    /// The result of a call of the named tool; `None` where the log does not say which tool.
    Result(Option<String>),
}

impl SearchText {
    /// Compiles a text to search for; `None` where it is blank or too long.
    pub fn new(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.is_empty() {
            return None;
        }
        let any_case = !text.chars().any(char::is_uppercase);
        let pattern = |space: &str, letter: &dyn Fn(char, &mut String)| {
            let word = |word: &&str| {
                let mut pattern = String::new();
                word.chars().for_each(|c| letter(c, &mut pattern));
                pattern
            };
            words.iter().map(word).collect::<Vec<_>>().join(space)
        };
        let build = |lines: Option<u8>, pattern: &str| {
            compile_regex(pattern, |builder| {
                builder.case_insensitive(any_case).line_terminator(lines);
            })
            .ok()
        };
        Some(Self {
            log_pattern: build(Some(b'\n'), &pattern(WRITTEN_SPACES, &push_escaped))?,
            text_pattern: build(None, &pattern(r"\s+", &push_literal))?,
        })
    }

    /// The first match in a text that the user sees.
    fn first(&self, text: &str) -> Option<Range<usize>> {
        // The matcher's error type has no values.
        let found = self.text_pattern.find(text.as_bytes()).ok()??;
        let range = found.start()..found.end();
        text.get(range.clone()).map(|_| range)
    }

    /// The match in a line of a log; `None` where the user does not see the text in it.
    fn place(&self, line: &[u8]) -> Option<SessionSearchHit> {
        let LogLine::Record { record, .. } = line::parse(line, &mut LogLineContext::default())
        else {
            return None;
        };
        let LogRecord { id: entry, timestamp, entry: LogEntry::Message(message), .. } = *record
        else {
            return None;
        };
        if !message.source.is_main() {
            return None;
        }
        searchable_texts(&message).find_map(|SearchableText { who, call, text }| {
            let range = self.first(&text)?;
            let [before, found, behind] = split_excerpt(&text, range);
            Some(SessionSearchHit {
                entry,
                call: call.cloned(),
                timestamp,
                who,
                before,
                found,
                behind,
            })
        })
    }
}

impl SessionStore {
    /// Searches these sessions for a text, in this order as far as several threads can keep one,
    /// and calls `found` for each session with a match as soon as it is known. Ends early once
    /// `stopped` returns true. A log that cannot be read has no matches.
    pub fn search(
        &self,
        text: &SearchText,
        sessions: &[SessionId],
        stopped: &(dyn Fn() -> bool + Sync),
        mut found: impl FnMut(SessionSearchResult),
    ) {
        let next = AtomicUsize::new(0);
        let (send, receive) = mpsc::sync_channel(64);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..threads.min(THREADS).min(sessions.len()) {
                let (next, send) = (&next, send.clone());
                scope.spawn(move || {
                    let mut searcher = searcher();
                    while !stopped()
                        && let Some(session) = sessions.get(next.fetch_add(1, Ordering::Relaxed))
                    {
                        let places = self.places(&mut searcher, text, *session, stopped);
                        // The receiver is gone once the search was stopped.
                        if places.is_some_and(|found| send.send(found).is_err()) {
                            break;
                        }
                    }
                });
            }
            drop(send);
            for one in receive {
                found(one);
            }
        });
    }

    fn places(
        &self,
        searcher: &mut Searcher,
        text: &SearchText,
        session: SessionId,
        stopped: &(dyn Fn() -> bool + Sync),
    ) -> Option<SessionSearchResult> {
        let log = || match self.reader(session) {
            Ok(log) => Ok(CancellableLog { log, stopped }),
            Err(error) => Err(io::Error::other(error)),
        };
        let mut look = |gone: &HashSet<EntryId>| {
            let mut sink = SearchHitSink { text, gone, places: Vec::new(), more: false };
            let searched =
                log().and_then(|log| searcher.search_reader(&text.log_pattern, log, &mut sink));
            if let Err(error) = searched {
                tracing::debug!(%session, %error, "not searched");
            }
            SessionSearchResult { session, places: sink.places, more: sink.more }
        };
        let mut found = look(&HashSet::new());
        // Few sessions have rewinds, and for most logs this shows without parsing their records.
        if !found.places.is_empty() && log().and_then(has_rewind).unwrap_or(false) {
            found = look(&self.rewound_entries(session));
        }
        (!found.places.is_empty() && !stopped()).then_some(found)
    }

    /// The records of a session that a rewind took back.
    fn rewound_entries(&self, session: SessionId) -> HashSet<EntryId> {
        let records = self.read(session).map_or_else(
            |error| {
                tracing::debug!(%session, %error, "what was taken back is found, too");
                Vec::new()
            },
            |loaded| loaded.records,
        );
        let rewinds = RewindHistory::of(&records);
        let gone = records.iter().enumerate().filter(|(at, _)| !rewinds.is_live(*at));
        gone.map(|(_, record)| record.id).collect()
    }
}

fn has_rewind(log: impl Read) -> io::Result<bool> {
    let mark = memmem::Finder::new(REWIND);
    let mut log = BufReader::with_capacity(1 << 18, log);
    let mut line = Vec::new();
    while log.read_until(b'\n', &mut line)? > 0 {
        if mark.find(&line).is_some() {
            return Ok(true);
        }
        line.clear();
    }
    Ok(false)
}

/// Drops sessions whose matches are all copies: a fork begins with a copy of its parent's lines. Of
/// the sessions of a family that have a line, the one that is named first keeps it. `parent`
/// returns the session that a session was forked from; it is needed because lines of plain chat
/// logs can be the same by chance.
pub fn without_copies(
    mut found: Vec<SessionSearchResult>,
    parent: impl Fn(SessionId) -> Option<SessionId>,
) -> Vec<SessionSearchResult> {
    let mut seen = HashSet::new();
    found.retain(|found| {
        let family = iter::successors(Some(found.session), |session| parent(*session));
        let family = family.take(DEEPEST).last();
        let own = found.places.iter().filter(|place| seen.insert((family, place.entry))).count();
        // The session may have matches of its own further on.
        own > 0 || found.more
    });
    found
}

fn searcher() -> Searcher {
    SearcherBuilder::new()
        .line_number(false)
        .binary_detection(BinaryDetection::none())
        .bom_sniffing(false)
        .build()
}

/// A log that ends as soon as the search is stopped.
struct CancellableLog<'a> {
    log: Box<dyn BufRead + Send>,
    stopped: &'a (dyn Fn() -> bool + Sync),
}

impl Read for CancellableLog<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.stopped)() { Ok(0) } else { self.log.read(buffer) }
    }
}

struct SearchHitSink<'a> {
    text: &'a SearchText,
    /// Records that a rewind took back, so that the user no longer sees them.
    gone: &'a HashSet<EntryId>,
    places: Vec<SessionSearchHit>,
    more: bool,
}

impl Sink for SearchHitSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, line: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let place = self.text.place(line.bytes());
        self.places.extend(place.filter(|place| !self.gone.contains(&place.entry)));
        self.more = self.places.len() >= MOST_PLACES;
        Ok(!self.more)
    }
}

/// Adds the pattern of a letter as a log may have it: JSON escapes some letters, and some programs
/// escape everything except ASCII.
fn push_escaped(c: char, pattern: &mut String) {
    match c {
        '"' => pattern.push_str(r#"\\""#),
        '\\' => pattern.push_str(r"\\\\"),
        '/' => pattern.push_str(r"\\?/"),
        c if c.is_ascii() => push_literal(c, pattern),
        c => {
            pattern.push_str("(?:");
            push_literal(c, pattern);
            for unit in [c.to_lowercase().next(), c.to_uppercase().next()].into_iter().flatten() {
                pattern.push('|');
                let mut units = [0; 2];
                for unit in unit.encode_utf16(&mut units) {
                    pattern.push_str(&format!(r"\\u(?i:{unit:04x})"));
                }
            }
            pattern.push(')');
        }
    }
}

fn push_literal(c: char, pattern: &mut String) {
    if c.is_ascii_punctuation() {
        pattern.push('\\');
    }
    pattern.push(c);
}

/// A part of a message that the user sees.
struct SearchableText<'a> {
    who: SearchHitSource,
    call: Option<&'a CallId>,
    text: Cow<'a, str>,
}

fn searchable_texts(message: &MessageEntry) -> impl Iterator<Item = SearchableText<'_>> {
    message.content.iter().flat_map(|block| parts(message, block)).flatten()
}

/// The visible parts of a block: one for most blocks, none for those that nobody sees.
fn parts<'a>(
    message: &'a MessageEntry,
    block: &'a ContentBlock,
) -> [Option<SearchableText<'a>>; 2] {
    let tool = || message.result.as_ref().map(|info| info.name.clone());
    let part = match block {
        ContentBlock::Text { text } => {
            let who = match message.role {
                MessageRole::User => SearchHitSource::User,
                MessageRole::Assistant => SearchHitSource::Model,
            };
            SearchableText { who, call: None, text: text.into() }
        }
        // A command of the user's own, and its result.
        ContentBlock::Context { name, text } if name == "shell" => {
            let (command, output) = text.split_once('\n').unwrap_or((text, ""));
            let command = command.trim_start_matches("$ ");
            let output = SearchableText {
                who: SearchHitSource::Result(tool()),
                call: None,
                text: output.into(),
            };
            return [
                Some(SearchableText {
                    who: SearchHitSource::User,
                    call: None,
                    text: command.into(),
                }),
                Some(output),
            ];
        }
        ContentBlock::Thinking { thinking, .. } => {
            SearchableText { who: SearchHitSource::Thinking, call: None, text: thinking.into() }
        }
        ContentBlock::ToolUse(call) => {
            let made = call.inner();
            let text = match &made.input {
                CallInput::Valid(input) => strings(input).join("\n").into(),
                CallInput::Invalid(raw) => raw.clone().into(),
            };
            SearchableText {
                who: SearchHitSource::Call(made.into_owned().name),
                call: Some(&call.id),
                text,
            }
        }
        ContentBlock::ToolResult { tool_use_id, content, .. } => SearchableText {
            who: SearchHitSource::Result(tool()),
            call: Some(tool_use_id),
            text: content.into(),
        },
        ContentBlock::Context { .. } | ContentBlock::Image(_) | ContentBlock::Sealed { .. } => {
            return [None, None];
        }
    };
    [Some(part), None]
}

/// The texts in the arguments of a call, without the names of the fields.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(fields) => fields.values().flat_map(strings).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// The text before a match, the match, and the text after it, each on one line. The text before
/// begins on the match's own line.
fn split_excerpt(text: &str, found: Range<usize>) -> [String; 3] {
    let head = &text[..found.start];
    let line = head.rfind('\n').map_or(0, |feed| feed + 1);
    let from = head[line..].char_indices().rev().take(BEFORE).last().map_or(0, |(at, _)| at);
    let start = line + from;
    let cut = if from > 0 { "…" } else { "" };
    let tail = &text[found.end..];
    let end = tail.char_indices().nth(BEHIND).map_or(tail.len(), |(at, _)| at);
    let before = one_line(&head[start..]);
    [format!("{cut}{before}"), one_line(&text[found]), one_line(&tail[..end]).trim_end().to_owned()]
        .map(|text| sanitize(&text).into_owned())
}

/// Replaces each run of white space by one space.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if !c.is_whitespace() => line.push(c),
            _ if line.ends_with(' ') => {}
            _ => line.push(' '),
        }
    }
    line
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
