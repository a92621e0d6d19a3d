//! The text of a result: rows below the name of their file, and what is not shown.

use std::fmt::Write;
use std::path::Path;

use serde_json::json;

use super::LineNumbers;
use super::search::{GrepFileMatches, GrepMode, GrepOutcome, GrepRow};
use super::share::shares;
use crate::domain::ToolOutput;
use crate::tools::walk::{hidden_note, system_note};
use crate::tools::{ToolError, WorkingDirectory, truncation};

/// The most bytes of a result: some 10,000 tokens.
const TOTAL_BYTES: usize = 40_000;
/// The most files of which no row is shown and that are named.
pub(super) const MAX_NAMED: usize = 20;

/// The rows that a call wants, in the order in which they are shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct GrepPage {
    /// How many are skipped.
    pub offset: usize,
    pub limit: usize,
}

/// The result of a search.
///
/// # Errors
///
/// When the call skips more rows than there are.
pub(super) fn format_result(
    outcome: &GrepOutcome,
    (mode, numbers): (GrepMode, LineNumbers),
    page: GrepPage,
    place: &WorkingDirectory,
) -> Result<ToolOutput, ToolError> {
    let skipped = page.offset as u64;
    if skipped > 0 && skipped >= outcome.row_count {
        return Err(ToolError(format!(
            "There are only {}; send an offset below that.",
            truncation::pluralise(outcome.row_count, "line")
        )));
    }
    let files: Vec<(&Path, &GrepFileMatches)> =
        outcome.files.iter().map(|(path, hits)| (path.as_path(), hits)).collect();
    let counts: Vec<u64> = files.iter().map(|(_, hits)| hits.row_count).collect();
    let before = shares(&counts, skipped);
    let render = |count: u64| {
        let until = shares(&counts, skipped + count);
        rows_text(&files, (&before, &until), (mode, numbers), place)
    };
    let (mut shown, mut text) = (page.limit as u64, String::new());
    let left = outcome.row_count.saturating_sub(skipped);
    shown = shown.min(left);
    if shown > 0 {
        text = render(shown);
    }
    // Fewer rows, where those do not fit.
    let (mut fits, mut too_many) = (0, shown);
    if text.len() > TOTAL_BYTES {
        while fits + 1 < too_many {
            let middle = fits + (too_many - fits) / 2;
            if render(middle).len() <= TOTAL_BYTES { fits = middle } else { too_many = middle }
        }
        shown = fits.max(1);
        text = render(shown);
    }
    if outcome.file_count == 0 {
        text.push_str("No matches.\n");
    }
    let more = left - shown;
    if more > 0 {
        let until = shares(&counts, skipped + shown);
        text.push_str(&rest(outcome, (&files, &until), (more, skipped + shown), place));
    }
    let file_count = truncation::pluralise(outcome.file_count, "file");
    let matches = truncation::pluralise(outcome.matches, "match");
    if mode == GrepMode::Count && outcome.file_count > 0 {
        let _ = writeln!(text, "[{matches} in {file_count}]");
    }
    if outcome.unreadable > 0 {
        let unreadable = truncation::pluralise(outcome.unreadable, "file");
        let _ = writeln!(text, "[{unreadable} could not be searched]");
    }
    if outcome.cut_count > 0 {
        let _ = writeln!(text, "{}", cut_note(outcome, place));
    }
    for note in hidden_note(outcome.hidden).into_iter().chain(system_note(outcome.of_system)) {
        let _ = writeln!(text, "{note}");
    }
    Ok(ToolOutput::text(text.trim_end())
        .with_output(json!({
            "matches": outcome.matches, "files": outcome.file_count, "lines_not_shown": more,
            "hidden": outcome.hidden,
        }))
        .with_summary(match mode {
            GrepMode::Files => file_count,
            GrepMode::Count | GrepMode::Content => matches,
        }))
}

/// Which files were not searched to their ends.
fn cut_note(outcome: &GrepOutcome, place: &WorkingDirectory) -> String {
    let names: Vec<String> = outcome.cut.iter().map(|path| place.show(path)).collect();
    let more = match outcome.cut_count.saturating_sub(names.len() as u64) {
        0 => String::new(),
        more => format!(" and {}", truncation::pluralise(more, "more file")),
    };
    format!(
        "[Not searched to the end, because a line (or with multiline the file) is too long for this \
         pattern: {}{more}. A simpler pattern can search more]",
        names.join(", ")
    )
}

/// The rows from one share of each file to another.
fn rows_text(
    files: &[(&Path, &GrepFileMatches)],
    (from, until): (&[u64], &[u64]),
    (mode, numbers): (GrepMode, LineNumbers),
    place: &WorkingDirectory,
) -> String {
    let mut text = String::new();
    for (at, (path, hits)) in files.iter().enumerate() {
        if from[at] == until[at] {
            continue;
        }
        let path = place.show(path);
        match mode {
            GrepMode::Files => {
                let _ = writeln!(text, "{path}");
            }
            GrepMode::Count => {
                let _ = writeln!(text, "{path}:{}", hits.matches);
            }
            GrepMode::Content => {
                if !text.is_empty() {
                    text.push('\n');
                }
                let _ = writeln!(text, "{path}");
                let index = |row: u64| usize::try_from(row).unwrap_or(usize::MAX);
                let rows = hits.rows.iter().take(index(until[at])).skip(index(from[at]));
                for row in rows {
                    text.push_str(&line(row, numbers));
                    text.push('\n');
                }
                let more = hits.row_count - until[at];
                if more > 0 {
                    let _ = writeln!(
                        text,
                        "[{} in this file]",
                        truncation::pluralise(more, "more line")
                    );
                }
            }
        }
    }
    text
}

/// What is not shown: the files without a row, with their matches, and how to go on.
fn rest(
    outcome: &GrepOutcome,
    (files, until): (&[(&Path, &GrepFileMatches)], &[u64]),
    (more, next): (u64, u64),
    place: &WorkingDirectory,
) -> String {
    let unshown = files.iter().zip(until).filter(|(_, until)| **until == 0);
    let named: Vec<String> = unshown
        .take(MAX_NAMED)
        .map(|((path, hits), _)| format!("{} ({})", place.show(path), hits.matches))
        .collect();
    let shown_files = until.iter().filter(|until| **until > 0).count();
    let others =
        outcome.file_count.saturating_sub(shown_files as u64).saturating_sub(named.len() as u64);
    let mut text = String::new();
    if !named.is_empty() {
        let others = match others {
            0 => String::new(),
            others => format!(" and {}", truncation::pluralise(others, "more file")),
        };
        let _ = writeln!(text, "[Also in {}{others}]", named.join(", "));
    }
    let more = truncation::pluralise(more, "more line");
    let _ = writeln!(text, "[{more}; go on with offset={next}, or narrow the search]");
    text
}

fn line(row: &GrepRow, numbers: LineNumbers) -> String {
    let (sign, number, text) = match row {
        GrepRow::Match(number, text) => (':', number, text),
        GrepRow::Context(number, text) => ('-', number, text),
        GrepRow::Break => return String::from("--"),
    };
    match numbers {
        LineNumbers::Shown => format!("{number}{sign}{text}"),
        LineNumbers::Hidden => text.clone(),
    }
}
