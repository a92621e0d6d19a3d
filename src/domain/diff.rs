//! The difference between two versions of a file, as the log keeps it and the screen draws it.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use similar::{DiffOp, group_diff_ops};

use super::align;

/// The changes in one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FileDiff {
    /// The file's absolute path.
    pub path: PathBuf,
    /// The changed places, in order, each with some unchanged lines around it.
    pub hunks: Vec<Hunk>,
    /// Number of added lines in all hunks.
    pub added: usize,
    /// Number of removed lines in all hunks.
    pub removed: usize,
    /// The change of the file's permissions; `None` if they stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<FileModeChange>,
    /// The project's formatter that has made the new text of what the call proposed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formatted_by: Option<String>,
}

/// The permission bits of a file, before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FileModeChange {
    /// The permission bits before the change.
    pub old: u32,
    /// The permission bits after the change.
    pub new: u32,
}

/// One changed place, with its context lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Hunk {
    /// Number of the first line in the old file, counted from 1.
    pub old_start: usize,
    /// Number of the first line in the new file, counted from 1.
    pub new_start: usize,
    /// The lines, old and new interleaved as in a unified diff.
    pub lines: Vec<DiffLine>,
}

/// One line of a hunk, without its line ending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DiffLine {
    /// Whether the line is in the old file, the new file or both.
    pub tag: DiffLineTag,
    /// The line without its line ending.
    pub text: String,
    /// The line ending; logs leave it out if it is a line feed.
    #[serde(default, skip_serializing_if = "LineEnding::is_lf")]
    pub end: LineEnding,
}

/// Which side a line of a diff is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DiffLineTag {
    /// The line is in both files.
    Context,
    /// The line is only in the old file.
    Removed,
    /// The line is only in the new file.
    Added,
}

/// The end of a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LineEnding {
    /// A line feed.
    #[default]
    Lf,
    /// A carriage return and a line feed.
    CrLf,
    /// Nothing: the file ends without a line feed.
    Missing,
}

/// How many unchanged lines a diff holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffContextSize {
    /// This many lines before and after each change.
    Lines(usize),
    /// All lines of the file.
    WholeFile,
}

/// Unchanged lines around a change by default, as in `diff -u`.
const CONTEXT_LINES: usize = 3;
/// The time limit of the search for the smallest diff. The diff is still correct when it is
/// reached.
const SEARCH: Duration = Duration::from_millis(500);

impl FileDiff {
    /// Compares two versions of `path`, with three lines of context.
    pub fn between(path: impl Into<PathBuf>, old: &str, new: &str) -> Self {
        Self::with(path, old, new, DiffContextSize::Lines(CONTEXT_LINES))
    }

    /// Compares two versions of `path`, with the context that `around` asks for.
    pub fn with(path: impl Into<PathBuf>, old: &str, new: &str, around: DiffContextSize) -> Self {
        // As in git, a carriage return alone does not end a line.
        let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
        let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
        let steps = align(&old_lines, &new_lines, Some(SEARCH));
        let groups = match around {
            DiffContextSize::Lines(lines) => group_diff_ops(steps, lines),
            DiffContextSize::WholeFile if old == new => Vec::new(),
            DiffContextSize::WholeFile => vec![steps],
        };
        let mut hunks = Vec::new();
        let (mut added, mut removed) = (0, 0);
        for group in groups {
            let Some(first) = group.first() else { continue };
            let lines: Vec<DiffLine> =
                group.iter().flat_map(|step| diff_lines(*step, &old_lines, &new_lines)).collect();
            let count = |tag| lines.iter().filter(|line| line.tag == tag).count();
            added += count(DiffLineTag::Added);
            removed += count(DiffLineTag::Removed);
            hunks.push(Hunk {
                old_start: first.old_range().start + 1,
                new_start: first.new_range().start + 1,
                lines,
            });
        }
        Self { path: path.into(), hunks, added, removed, mode: None, formatted_by: None }
    }

    /// All lines in order, each with its hunk.
    pub fn lines(&self) -> impl Iterator<Item = (&Hunk, &DiffLine)> {
        self.hunks.iter().flat_map(|hunk| hunk.lines.iter().map(move |line| (hunk, line)))
    }
}

/// The lines of one step: removed lines before added ones.
fn diff_lines<'a>(
    step: DiffOp,
    old: &'a [&str],
    new: &'a [&str],
) -> impl Iterator<Item = DiffLine> + use<'a> {
    let (gone, come) = match step {
        DiffOp::Equal { .. } => (DiffLineTag::Context, None),
        DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => {
            (DiffLineTag::Removed, Some(DiffLineTag::Added))
        }
    };
    let before = old[step.old_range()].iter().map(move |line| DiffLine::new(gone, line));
    let after = come.into_iter().flat_map(move |tag| {
        new[step.new_range()].iter().map(move |line| DiffLine::new(tag, line))
    });
    before.chain(after)
}

impl DiffLine {
    fn new(tag: DiffLineTag, line: &str) -> Self {
        let (text, end) = match (line.strip_suffix("\r\n"), line.strip_suffix('\n')) {
            (Some(text), _) => (text, LineEnding::CrLf),
            (None, Some(text)) => (text, LineEnding::Lf),
            (None, None) => (line, LineEnding::Missing),
        };
        Self { tag, text: text.to_owned(), end }
    }
}

impl LineEnding {
    /// Whether it is a line feed, which logs leave out.
    fn is_lf(&self) -> bool {
        *self == Self::Lf
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_its_place_and_its_neighbours() {
        let diff = FileDiff::between("f", "a\nb\nc\nd\ne\n", "a\nb\nc\nD\ne\n");
        assert_eq!((diff.added, diff.removed, diff.hunks.len()), (1, 1, 1));
        assert_eq!(diff.hunks[0].old_start, 1);
        let tags: Vec<DiffLineTag> = diff.hunks[0].lines.iter().map(|line| line.tag).collect();
        use DiffLineTag::{Added, Context, Removed};
        assert_eq!(tags, [Context, Context, Context, Removed, Added, Context]);
    }

    #[test]
    fn a_new_file_is_all_added() {
        let diff = FileDiff::between("f", "", "a\nb\n");
        assert_eq!((diff.added, diff.removed), (2, 0));
    }

    #[test]
    fn all_lines_are_there_on_request() {
        let old: String = (0..100).map(|n| format!("{n}\n")).collect();
        let new = old.replace("50\n", "fifty\n");
        let diff = FileDiff::with("f", &old, &new, DiffContextSize::WholeFile);
        assert_eq!((diff.hunks.len(), diff.lines().count(), diff.added), (1, 101, 1));
        assert_eq!(FileDiff::with("f", &old, &old, DiffContextSize::WholeFile).hunks, []);
    }

    #[test]
    fn line_ends_are_kept_beside_the_text() {
        let diff = FileDiff::between("f", "a\r\nb", "a\nb\n");
        let ends: Vec<(&str, LineEnding)> =
            diff.lines().map(|(_, line)| (line.text.as_str(), line.end)).collect();
        use LineEnding::{CrLf, Lf, Missing};
        assert_eq!(ends, [("a", CrLf), ("b", Missing), ("a", Lf), ("b", Lf)]);
    }

    #[test]
    fn a_log_from_before_line_ends_were_kept_is_read() {
        let json = r#"{"path":"f","hunks":[{"old_start":1,"new_start":1,"lines":
            [{"tag":"added","text":"x"}]}],"added":1,"removed":0}"#;
        let diff: FileDiff = serde_json::from_str(json).unwrap();
        assert_eq!(diff, FileDiff::between("f", "", "x\n"));
        assert_eq!(serde_json::to_value(&diff).unwrap().get("mode"), None);
    }
}
