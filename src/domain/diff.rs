//! The difference between two versions of a file, as the log keeps it and the screen draws it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What changes in one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
    /// The file, absolute.
    pub path: PathBuf,
    /// The changed places, in order, each with up to three lines around it.
    pub hunks: Vec<Hunk>,
    /// Lines added in all.
    pub added: usize,
    /// Lines removed in all.
    pub removed: usize,
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
    pub tag: LineTag,
    /// Its text.
    pub text: String,
}

/// Which side a line of a diff is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineTag {
    /// On both.
    Context,
    /// Only in the old file.
    Removed,
    /// Only in the new file.
    Added,
}

impl Diff {
    /// Compares two versions of `path`.
    pub fn between(path: impl Into<PathBuf>, old: &str, new: &str) -> Self {
        let diff = similar::TextDiff::from_lines(old, new);
        let mut hunks = Vec::new();
        let (mut added, mut removed) = (0, 0);
        for group in diff.grouped_ops(3) {
            let Some(first) = group.first() else { continue };
            let mut lines = Vec::new();
            for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
                let tag = match change.tag() {
                    similar::ChangeTag::Equal => LineTag::Context,
                    similar::ChangeTag::Delete => LineTag::Removed,
                    similar::ChangeTag::Insert => LineTag::Added,
                };
                added += usize::from(tag == LineTag::Added);
                removed += usize::from(tag == LineTag::Removed);
                let text = change.value();
                let text = text.strip_suffix('\n').unwrap_or(text);
                let text = text.strip_suffix('\r').unwrap_or(text).to_owned();
                lines.push(DiffLine { tag, text });
            }
            hunks.push(Hunk {
                old_start: first.old_range().start + 1,
                new_start: first.new_range().start + 1,
                lines,
            });
        }
        Self { path: path.into(), hunks, added, removed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_its_place_and_its_neighbours() {
        let diff = Diff::between("f", "a\nb\nc\nd\ne\n", "a\nb\nc\nD\ne\n");
        assert_eq!((diff.added, diff.removed, diff.hunks.len()), (1, 1, 1));
        assert_eq!(diff.hunks[0].old_start, 1);
        let tags: Vec<LineTag> = diff.hunks[0].lines.iter().map(|line| line.tag).collect();
        use LineTag::{Added, Context, Removed};
        assert_eq!(tags, [Context, Context, Context, Removed, Added, Context]);
    }

    #[test]
    fn a_new_file_is_all_added() {
        let diff = Diff::between("f", "", "a\nb\n");
        assert_eq!((diff.added, diff.removed), (2, 0));
    }
}
