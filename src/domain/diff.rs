//! The difference between two versions of a file, as the log keeps it and the screen draws it.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use similar::{DiffOp, group_diff_ops};

use super::align;

/// What changes in one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDiff {
    /// The file, absolute.
    pub path: PathBuf,
    /// The changed places, in order, each with some lines around it.
    pub hunks: Vec<Hunk>,
    /// Lines added in all.
    pub added: usize,
    /// Lines removed in all.
    pub removed: usize,
    /// The permissions, where they change too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<FileModeChange>,
}

/// Permission bits of a file, before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileModeChange {
    /// Before.
    pub old: u32,
    /// After.
    pub new: u32,
}

/// One changed place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// Number of the first line in the old file, from 1.
    pub old_start: usize,
    /// Number of the first line in the new file, from 1.
    pub new_start: usize,
    /// The lines, old and new ones interleaved as in a unified diff.
    pub lines: Vec<DiffLine>,
}

/// One line of a hunk, without its line end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffLine {
    /// Which side it is on.
    pub tag: DiffLineTag,
    /// Its text.
    pub text: String,
    /// What ends it.
    #[serde(default, skip_serializing_if = "LineEnding::is_lf")]
    pub end: LineEnding,
}

/// Which side a line of a diff is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiffLineTag {
    /// On both.
    Context,
    /// Only in the old file.
    Removed,
    /// Only in the new file.
    Added,
}

/// What ends a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineEnding {
    /// A line feed.
    #[default]
    Lf,
    /// A carriage return and a line feed.
    CrLf,
    /// Nothing: the file ends here.
    Missing,
}

/// How much of what did not change a diff holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffContextSize {
    /// So many lines around each change.
    Lines(usize),
    /// All lines of the file.
    WholeFile,
}

/// Lines around a change, unless told otherwise.
const CONTEXT_LINES: usize = 3;
/// How long the search for the smallest diff may take. What it has by then is a diff, too.
const SEARCH: Duration = Duration::from_millis(500);

impl FileDiff {
    /// Compares two versions of `path`.
    pub fn between(path: impl Into<PathBuf>, old: &str, new: &str) -> Self {
        Self::with(path, old, new, DiffContextSize::Lines(CONTEXT_LINES))
    }

    /// Compares two versions of `path`, with so much of what did not change.
    pub fn with(path: impl Into<PathBuf>, old: &str, new: &str, around: DiffContextSize) -> Self {
        // Lines as git has them: a carriage return alone ends none.
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
        Self { path: path.into(), hunks, added, removed, mode: None }
    }

    /// All lines, with the hunk that each is in.
    pub fn lines(&self) -> impl Iterator<Item = (&Hunk, &DiffLine)> {
        self.hunks.iter().flat_map(|hunk| hunk.lines.iter().map(move |line| (hunk, line)))
    }
}

/// The lines of one step: those that go before those that come.
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
    /// Whether it is the usual one.
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
