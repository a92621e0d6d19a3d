//! Computes which rows a diff has before anything is laid out: its lines with their numbers, lines
//! side by side, and the folds between changes. The cost depends on the length of the diff, not on
//! how it wraps.

use std::collections::BTreeSet;

use crate::domain::{DiffLine, DiffLineTag, FileDiff, LineEnding};

/// Unchanged lines that stay visible on either side of a change when the rest is folded.
const AROUND: usize = 3;
/// Fewest lines that are folded: the note about the fold takes a row itself.
const LEAST_FOLDED: usize = 2;

/// Whether old and new stand in one column or in two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DiffStyle {
    /// In one column, one below the other.
    Unified,
    /// In two columns, next to each other.
    SideBySide,
}

/// How many of the unchanged lines are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffFolds {
    /// A few lines around each change, and the opened folds, each named by its first line.
    Folded(BTreeSet<usize>),
    /// All lines that the diff holds.
    All,
}

/// A row before it is laid out. Lines are counted from 0 over the whole diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffRow {
    /// A note about the file, such as its permissions or line ends.
    Note(String),
    /// Index of a line.
    Line(usize),
    /// Indexes of an old line and of a new one beside it.
    Pair(Option<usize>, Option<usize>),
    /// A fold: unchanged lines that are not shown.
    Folded {
        /// Index of the first folded line.
        from: usize,
        /// Number of folded lines.
        count: usize,
    },
    /// Number of unchanged lines that the diff does not hold.
    Omitted(usize),
}

/// All rows, and where changes begin among them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiffRows {
    pub rows: Vec<DiffRow>,
    /// The first row of each run of changed lines.
    pub changes: Vec<usize>,
}

/// A line of a diff with its numbers and positions.
#[derive(Debug)]
pub struct DiffLineEntry {
    hunk: usize,
    /// Index of the line in its hunk.
    at: usize,
    pub tag: DiffLineTag,
    /// Line number in the old file; `None` for an added line.
    pub old: Option<usize>,
    /// Line number in the new file; `None` for a removed line.
    pub new: Option<usize>,
    /// Index among the lines of the diff's old side, over all hunks.
    pub old_row: usize,
    /// Index among the lines of the diff's new side, over all hunks.
    pub new_row: usize,
    /// Index of the line that replaced this one, or that this one replaced.
    pub counterpart: Option<usize>,
    /// Start of the line in the texts of all lines put together, in bytes.
    pub source: usize,
}

impl DiffLineEntry {
    /// Whether another line is in the same hunk of the diff.
    pub fn is_same_hunk(&self, other: &Self) -> bool {
        self.hunk == other.hunk
    }

    /// The line in `diff`, which must be the diff that the entry was made from.
    pub fn line<'d>(&self, diff: &'d FileDiff) -> Option<&'d DiffLine> {
        diff.hunks.get(self.hunk)?.lines.get(self.at)
    }
}

/// The first `most` lines of a diff.
pub fn entries(diff: &FileDiff, most: usize) -> Vec<DiffLineEntry> {
    let mut entries = Vec::new();
    let (mut old_row, mut new_row, mut source) = (0, 0, 0);
    for (index, hunk) in diff.hunks.iter().enumerate() {
        let (mut old, mut new) = (hunk.old_start, hunk.new_start);
        let left = most.saturating_sub(entries.len());
        for (at, line) in hunk.lines.iter().enumerate().take(left) {
            let (in_old, in_new) =
                (line.tag != DiffLineTag::Added, line.tag != DiffLineTag::Removed);
            entries.push(DiffLineEntry {
                hunk: index,
                at,
                tag: line.tag,
                old: in_old.then_some(old),
                new: in_new.then_some(new),
                old_row,
                new_row,
                counterpart: None,
                source,
            });
            old += usize::from(in_old);
            new += usize::from(in_new);
            old_row += usize::from(in_old);
            new_row += usize::from(in_new);
            source += line.text.len() + 1;
        }
    }
    for (old, new) in pairs(&entries) {
        if let (Some(old), Some(new)) = (old, new)
            && old != new
        {
            entries[old].counterpart = Some(new);
            entries[new].counterpart = Some(old);
        }
    }
    entries
}

/// The rows of the first `most` lines of a diff.
pub fn rows(diff: &FileDiff, sides: DiffStyle, context: &DiffFolds, most: usize) -> DiffRows {
    let entries = entries(diff, most);
    let notes = notes(diff).into_iter().map(DiffRow::Note).collect();
    let mut rows = DiffRows { rows: notes, changes: Vec::new() };
    let mut at = 0;
    while at < entries.len() {
        let hunk = entries[at].hunk;
        let end = at + entries[at..].iter().take_while(|entry| entry.hunk == hunk).count();
        if let Some(left_out) = left_out(diff, hunk) {
            rows.rows.push(DiffRow::Omitted(left_out));
        }
        hunk_rows(&entries, at, end, sides, context, &mut rows);
        at = end;
    }
    rows
}

/// Notes about the file that its lines do not show.
pub fn notes(diff: &FileDiff) -> Vec<String> {
    let mode = diff.mode.map(|mode| format!("permissions {:o} → {:o}", mode.old, mode.new));
    let ends = |without: DiffLineTag| {
        let mut lines = diff.lines().map(|(_, line)| line).filter(|line| line.tag != without);
        let (mut lf, mut crlf) = (false, false);
        // Both kinds of line ends were seen: the other lines add nothing.
        let _ = lines.by_ref().find(|line| {
            lf |= line.end == LineEnding::Lf;
            crlf |= line.end == LineEnding::CrLf;
            lf && crlf
        });
        match (lf, crlf) {
            (false, false) => None,
            (true, false) => Some("LF"),
            (false, true) => Some("CRLF"),
            (true, true) => Some("LF and CRLF mixed"),
        }
    };
    let ends = match (ends(DiffLineTag::Added), ends(DiffLineTag::Removed)) {
        (None | Some("LF"), None | Some("LF")) => None,
        (Some(old), Some(new)) if old != new => Some(format!("line endings {old} → {new}")),
        (Some(ends), _) | (None, Some(ends)) => Some(format!("line endings {ends}")),
    };
    [mode, ends].into_iter().flatten().collect()
}

/// Number of unchanged lines between a hunk and the one above it.
fn left_out(diff: &FileDiff, hunk: usize) -> Option<usize> {
    let above = diff.hunks.get(hunk.checked_sub(1)?)?;
    let here = diff.hunks.get(hunk)?;
    let lines = above.lines.iter().filter(|line| line.tag != DiffLineTag::Added).count();
    Some(here.old_start.saturating_sub(above.old_start + lines))
}

fn hunk_rows(
    entries: &[DiffLineEntry],
    start: usize,
    end: usize,
    sides: DiffStyle,
    context: &DiffFolds,
    rows: &mut DiffRows,
) {
    let is_context = |at: usize| entries[at].tag == DiffLineTag::Context;
    let mut at = start;
    while at < end {
        let run = (at..end).take_while(|at| is_context(*at)).count();
        if run == 0 {
            let changed = at + (at..end).take_while(|at| !is_context(*at)).count();
            rows.changes.push(rows.rows.len());
            changed_rows(entries, at, changed, sides, rows);
            at = changed;
            continue;
        }
        let above = if at == start { 0 } else { AROUND };
        let below = if at + run == end { 0 } else { AROUND };
        let hidden = run.saturating_sub(above + below);
        let folded = match context {
            DiffFolds::All => false,
            DiffFolds::Folded(open) => hidden >= LEAST_FOLDED && !open.contains(&(at + above)),
        };
        let line = |at: usize| match sides {
            DiffStyle::Unified => DiffRow::Line(at),
            DiffStyle::SideBySide => DiffRow::Pair(Some(at), Some(at)),
        };
        if folded {
            rows.rows.extend((at..at + above).map(line));
            rows.rows.push(DiffRow::Folded { from: at + above, count: hidden });
            rows.rows.extend((at + run - below..at + run).map(line));
        } else {
            rows.rows.extend((at..at + run).map(line));
        }
        at += run;
    }
}

fn changed_rows(
    entries: &[DiffLineEntry],
    start: usize,
    end: usize,
    sides: DiffStyle,
    rows: &mut DiffRows,
) {
    match sides {
        DiffStyle::Unified => rows.rows.extend((start..end).map(DiffRow::Line)),
        DiffStyle::SideBySide => {
            let pairs = pairs(&entries[start..end]).into_iter();
            let place = |at: Option<usize>| at.map(|at| at + start);
            rows.rows.extend(pairs.map(|(old, new)| DiffRow::Pair(place(old), place(new))));
        }
    }
}

/// Pairs of lines: those of a removed run beside those of the added run after it.
fn pairs(entries: &[DiffLineEntry]) -> Vec<(Option<usize>, Option<usize>)> {
    let mut pairs = Vec::new();
    let mut at = 0;
    while at < entries.len() {
        let run = |from: usize, tag: DiffLineTag| {
            from + entries[from..].iter().take_while(|entry| entry.tag == tag).count()
        };
        let removed = run(at, DiffLineTag::Removed);
        let added = run(removed, DiffLineTag::Added);
        let length = (removed - at).max(added - removed);
        for offset in 0..length {
            let old = (at + offset < removed).then_some(at + offset);
            let new = (removed + offset < added).then_some(removed + offset);
            pairs.push((old, new));
        }
        at = added;
        if length == 0 {
            pairs.push((Some(at), Some(at)));
            at += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use crate::domain::{DiffContextSize, FileModeChange};

    use super::*;

    fn numbered(count: usize) -> String {
        (1..=count).map(|n| format!("line {n}\n")).collect()
    }

    fn whole(count: usize, changed: &[usize]) -> FileDiff {
        let old = numbered(count);
        let mut new = old.clone();
        for number in changed {
            new = new.replace(&format!("line {number}\n"), &format!("LINE {number}\n"));
        }
        FileDiff::with("f", &old, &new, DiffContextSize::WholeFile)
    }

    fn folds(rows: &DiffRows) -> Vec<(usize, usize)> {
        let fold = |row: &DiffRow| match row {
            DiffRow::Folded { from, count } => Some((*from, *count)),
            DiffRow::Note(_) | DiffRow::Line(_) | DiffRow::Pair(..) | DiffRow::Omitted(_) => None,
        };
        rows.rows.iter().filter_map(fold).collect()
    }

    #[test]
    fn unchanged_lines_are_folded_except_next_to_changes() {
        let diff = whole(40, &[10, 30]);
        let none = DiffFolds::Folded(BTreeSet::new());
        let unified = rows(&diff, DiffStyle::Unified, &none, usize::MAX);
        assert_eq!(folds(&unified), [(0, 6), (14, 13), (35, 7)]);
        assert_eq!(unified.rows.len(), 3 + 2 * (3 + 2 + 3));
        assert_eq!(unified.changes, [4, 13]);
        let opened = DiffFolds::Folded(BTreeSet::from([14]));
        let rows_of = |context| rows(&diff, DiffStyle::Unified, &context, usize::MAX);
        assert_eq!(folds(&rows_of(opened)), [(0, 6), (35, 7)]);
        assert_eq!(rows_of(DiffFolds::All).rows.len(), 42);
    }

    #[test]
    fn a_single_line_is_not_folded() {
        let none = DiffFolds::Folded(BTreeSet::new());
        let apart = |lines: usize| {
            folds(&rows(&whole(40, &[1, 2 + lines]), DiffStyle::SideBySide, &none, 99))
        };
        assert_eq!(apart(7).len(), 1);
        assert_eq!(apart(8), [(5, 2), (15, 27)]);
    }

    #[test]
    fn sides_have_the_same_lines() {
        let diff = whole(20, &[4, 5, 18]);
        let all = |sides| rows(&diff, sides, &DiffFolds::All, usize::MAX);
        let mut lines: Vec<usize> = all(DiffStyle::SideBySide)
            .rows
            .into_iter()
            .flat_map(|row| match row {
                DiffRow::Pair(old, new) => [old, new.filter(|new| Some(*new) != old)],
                DiffRow::Note(_)
                | DiffRow::Line(_)
                | DiffRow::Folded { .. }
                | DiffRow::Omitted(_) => [None, None],
            })
            .flatten()
            .collect();
        lines.sort_unstable();
        assert_eq!(lines, (0..diff.lines().count()).collect::<Vec<usize>>());
    }

    #[test]
    fn lines_that_the_diff_does_not_hold_are_counted() {
        let old = numbered(30);
        let new = old.replace("line 3\n", "LINE 3\n").replace("line 25\n", "LINE 25\n");
        let rows =
            rows(&FileDiff::between("f", &old, &new), DiffStyle::Unified, &DiffFolds::All, 99);
        assert!(rows.rows.contains(&DiffRow::Omitted(15)), "{rows:?}");
    }

    #[test]
    fn notes_tell_what_the_lines_do_not_show() {
        let table = [
            ("a\n", "b\n", None, &[][..]),
            ("a\r\n", "b\r\n", None, &["line endings CRLF"]),
            ("a\r\n", "a\n", None, &["line endings CRLF → LF"]),
            ("a\nb\n", "a\nb\r\n", None, &["line endings LF → LF and CRLF mixed"]),
            ("", "b", Some(FileModeChange { old: 0o644, new: 0o755 }), &["permissions 644 → 755"]),
        ];
        for (old, new, mode, wanted) in table {
            let diff = FileDiff { mode, ..FileDiff::between("f", old, new) };
            assert_eq!(notes(&diff), wanted, "{old:?} {new:?}");
        }
    }
}
