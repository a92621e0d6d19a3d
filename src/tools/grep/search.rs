//! The search itself. It blocks, and ends soon after the call is cancelled.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};
use tokio_util::sync::CancellationToken;

use super::report::MAX_NAMED;
use super::share::shares;
use crate::tools::ports::lock;
use crate::tools::walk::FileWalk;
use crate::tools::{Files, text, truncation};

/// The most characters of a line that are shown.
const LINE_CHARS: usize = 500;
/// The characters before the match that stay when a longer line is cut.
const BEFORE_MATCH: usize = 100;
/// The most memory for one file, in bytes: a line, or the whole file where matches may span lines.
const HEAP: usize = 64 << 20;
/// The most bytes of such a piece, times the size of the pattern: a search through the piece cannot be
/// stopped, and takes some seconds at worst.
const WORK: usize = 1 << 38;

/// The memory for one file, for a pattern of this compiled size.
pub(super) fn heap(size: usize) -> usize {
    (WORK / size).min(HEAP)
}

/// What to search for.
pub(super) struct GrepQuery {
    pub matcher: RegexMatcher,
    /// See [`heap`].
    pub heap: usize,
    pub mode: GrepMode,
    pub before: usize,
    pub after: usize,
    pub is_multi_line: bool,
    /// The rows that will be shown or skipped, at most.
    pub limit: usize,
    pub files: Arc<dyn Files>,
}

/// What the result shows of each file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GrepMode {
    Files,
    Content,
    Count,
}

/// A row of a result; the number is that of the line, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GrepRow {
    Match(u64, String),
    Context(u64, String),
    /// Lines between two rows are left out here.
    Break,
}

/// What is counted and kept of one file.
#[derive(Debug, Default)]
pub(super) struct GrepFileMatches {
    pub matches: u64,
    /// The first rows, at most [`GrepQuery::limit`], and no more than the file's share of these.
    pub rows: Vec<GrepRow>,
    /// The number of all rows, kept or not.
    pub row_count: u64,
    is_binary: bool,
    /// Whether the file has a piece too long to be searched, so that the matches are those before it.
    is_cut: bool,
}

/// The matches in all files.
#[derive(Debug, Default)]
pub(super) struct GrepOutcome {
    /// The first files by path, as many as can be shown or named.
    pub files: BTreeMap<PathBuf, GrepFileMatches>,
    pub file_count: u64,
    pub matches: u64,
    pub row_count: u64,
    pub unreadable: u64,
    /// Files with pieces that are too long to be searched, the first by path.
    pub cut: BTreeSet<PathBuf>,
    pub cut_count: u64,
    /// Files and folders that a deny rule hides.
    pub hidden: u64,
    /// Folders of the running system that were left out.
    pub of_system: u64,
    /// The number of rows that are kept in `files`.
    pub kept: usize,
}

/// Searches one file.
pub(super) fn file(query: &GrepQuery, path: &Path, cancel: &CancellationToken) -> GrepOutcome {
    let mut outcome = GrepOutcome::default();
    match query.search_file(&mut query.searcher(), path, cancel) {
        Ok(hits) => outcome.add(path.to_owned(), hits, query.limit),
        Err(_) => outcome.unreadable += 1,
    }
    outcome
}

/// Searches the files below a folder for which `is_wanted` returns true.
pub(super) fn folder(
    query: &GrepQuery,
    walk: FileWalk,
    cancel: &CancellationToken,
    is_wanted: impl Fn(&Path) -> bool + Sync,
) -> GrepOutcome {
    let outcome = Mutex::new(GrepOutcome::default());
    // A searcher has buffers worth keeping, so the threads share them.
    let searchers = Mutex::new(Vec::new());
    let passed = walk.each(|entry| {
        if !entry.file_type().is_some_and(|kind| kind.is_file()) || !is_wanted(entry.path()) {
            return;
        }
        let mut searcher = lock(&searchers).pop().unwrap_or_else(|| query.searcher());
        match query.search_file(&mut searcher, entry.path(), cancel) {
            Ok(hits) => lock(&outcome).add(entry.into_path(), hits, query.limit),
            Err(_) => lock(&outcome).unreadable += 1,
        }
        lock(&searchers).push(searcher);
    });
    let mut outcome = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcome.unreadable += passed.unreadable;
    outcome.hidden = passed.hidden;
    outcome.of_system = passed.of_system;
    outcome
}

impl GrepOutcome {
    fn add(&mut self, path: PathBuf, hits: GrepFileMatches, limit: usize) {
        if hits.is_cut {
            self.cut_count += 1;
            self.cut.insert(path.clone());
            if self.cut.len() > MAX_NAMED {
                self.cut.pop_last();
            }
        }
        if hits.matches == 0 || hits.is_binary {
            return;
        }
        self.file_count += 1;
        self.matches += hits.matches;
        self.row_count += hits.row_count;
        self.kept += hits.rows.len();
        self.files.insert(path, hits);
        // Files that sort after so many others get no row and no name, whatever is still found.
        if self.files.len() > limit + MAX_NAMED
            && let Some((_, last)) = self.files.pop_last()
        {
            self.kept -= last.rows.len();
        }
        // A file's share only gets smaller by other files. Sharing out takes a look at all files, so
        // it waits until as much again has come.
        if self.kept > limit.saturating_mul(2) {
            self.keep_shares(limit);
        }
    }

    fn keep_shares(&mut self, limit: usize) {
        let counts: Vec<u64> = self.files.values().map(|hits| hits.row_count).collect();
        let shares = shares(&counts, limit as u64);
        self.kept = 0;
        for (hits, share) in self.files.values_mut().zip(shares) {
            hits.rows.truncate(usize::try_from(share).unwrap_or(usize::MAX));
            self.kept += hits.rows.len();
        }
    }
}

impl GrepQuery {
    fn searcher(&self) -> Searcher {
        let mut builder = SearcherBuilder::new();
        builder
            .line_number(true)
            .multi_line(self.is_multi_line)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(self.heap));
        if !self.is_multi_line {
            builder.line_terminator(LineTerminator::crlf());
        }
        if self.mode == GrepMode::Content {
            builder.before_context(self.before).after_context(self.after);
        }
        builder.build()
    }

    fn search_file(
        &self,
        searcher: &mut Searcher,
        path: &Path,
        cancel: &CancellationToken,
    ) -> io::Result<GrepFileMatches> {
        let Some(file) = self.files.open(path).map_err(io::Error::other)? else {
            return Ok(GrepFileMatches::default());
        };
        let mut rows = GrepSink { query: self, cancel, hits: GrepFileMatches::default() };
        let mut reader = CancellableFile { file, cancel, has_failed: false };
        if let Err(error) = searcher.search_reader(&self.matcher, &mut reader, &mut rows) {
            // What else fails is that a piece is longer than the memory for it.
            if reader.has_failed || cancel.is_cancelled() {
                return Err(error);
            }
            rows.hits.is_cut = true;
        }
        Ok(rows.hits)
    }

    /// A line as it is shown: of a long line the part around the match.
    fn excerpt(&self, bytes: &[u8]) -> String {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        if bytes.len() > LINE_CHARS
            && let Ok(Some(found)) = self.matcher.find(bytes)
            && found.start() > LINE_CHARS - BEFORE_MATCH
        {
            let mut start = found.start() - BEFORE_MATCH;
            // Not in the middle of a character.
            start += bytes[start..].iter().take_while(|byte| **byte & 0xc0 == 0x80).count();
            let rest = text::line(&bytes[start..]);
            return format!("[{start} bytes] …{}", truncation::line(&rest, LINE_CHARS));
        }
        truncation::line(&text::line(bytes), LINE_CHARS).into_owned()
    }
}

/// Collects the matches that the searcher finds in one file.
struct GrepSink<'a> {
    query: &'a GrepQuery,
    cancel: &'a CancellationToken,
    hits: GrepFileMatches,
}

impl GrepSink<'_> {
    fn push(&mut self, row: impl FnOnce(&GrepQuery) -> GrepRow) {
        self.hits.row_count += 1;
        if self.hits.rows.len() < self.query.limit {
            self.hits.rows.push(row(self.query));
        }
    }
}

impl Sink for GrepSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.cancel.is_cancelled() {
            return Err(cancelled());
        }
        self.hits.matches += 1;
        match self.query.mode {
            GrepMode::Files => {
                self.hits.row_count = 1;
                Ok(false)
            }
            GrepMode::Count => {
                self.hits.row_count = 1;
                Ok(true)
            }
            GrepMode::Content => {
                let first = found.line_number().unwrap_or(0);
                for (number, line) in (first..).zip(found.lines()) {
                    self.push(|query| GrepRow::Match(number, query.excerpt(line)));
                }
                Ok(true)
            }
        }
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let number = context.line_number().unwrap_or(0);
        self.push(|query| GrepRow::Context(number, query.excerpt(context.bytes())));
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.push(|_| GrepRow::Break);
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.hits.is_binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// A file whose reads fail once the call is cancelled.
struct CancellableFile<'a> {
    file: File,
    cancel: &'a CancellationToken,
    has_failed: bool,
}

fn cancelled() -> io::Error {
    io::Error::other("cancelled")
}

impl Read for CancellableFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(cancelled());
        }
        self.file.read(buffer).inspect_err(|_| self.has_failed = true)
    }
}
