//! A diff of which only some changes are made.
//!
//! A change is a run of removed and added lines with no unchanged line between them; the screen
//! steps through the same changes. Changes are numbered from 0, from the top. With all changes the
//! old text becomes the new one, with none it stays as it is.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::{DiffLine, DiffLineTag, FileDiff, Hunk, LineEnding};

/// The changes of a diff that the user leaves out, by number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExcludedHunks(BTreeSet<usize>);

impl ExcludedHunks {
    /// Excludes a change, or includes it again.
    pub fn toggle(&mut self, change: usize) {
        if !self.0.remove(&change) {
            self.0.insert(change);
        }
    }

    /// Whether a change is excluded.
    pub fn has(&self, change: usize) -> bool {
        self.0.contains(&change)
    }

    /// The number of excluded changes.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl FromIterator<usize> for ExcludedHunks {
    fn from_iter<I: IntoIterator<Item = usize>>(changes: I) -> Self {
        Self(changes.into_iter().collect())
    }
}

impl FileDiff {
    /// The number of changes in the diff.
    pub fn change_count(&self) -> usize {
        self.hunks.iter().flat_map(runs).filter(|run| is_change(run)).count()
    }

    /// The text `old` with all changes except the excluded ones; `None` if this is not a diff of
    /// `old`.
    pub fn apply_without(&self, old: &str, left_out: &ExcludedHunks) -> Option<String> {
        let mut lines = old.split_inclusive('\n');
        let mut new = String::with_capacity(old.len());
        let mut next = 1;
        let mut change = 0;
        for hunk in &self.hunks {
            while next < hunk.old_start {
                new.push_str(lines.next()?);
                next += 1;
            }
            for run in runs(hunk) {
                let is_taken = !left_out.has(change);
                change += usize::from(is_change(run));
                for line in run {
                    match line.tag {
                        DiffLineTag::Added if is_taken => new.extend([&line.text, line.end.text()]),
                        DiffLineTag::Added => {}
                        DiffLineTag::Context | DiffLineTag::Removed => {
                            let there = lines.next().filter(|there| line.is(there))?;
                            next += 1;
                            if line.tag == DiffLineTag::Context || !is_taken {
                                new.push_str(there);
                            }
                        }
                    }
                }
            }
        }
        new.extend(lines);
        Some(new)
    }

    /// The excluded changes, each under its line number in the file that has the other changes.
    pub fn excluded_text(&self, left_out: &ExcludedHunks) -> String {
        let mut text = String::new();
        let (mut change, mut shift) = (0, 0);
        for hunk in &self.hunks {
            let mut old = hunk.old_start;
            for run in runs(hunk) {
                let count = |tag| run.iter().filter(|line| line.tag == tag).count();
                let (removed, added) = (count(DiffLineTag::Removed), count(DiffLineTag::Added));
                if is_change(run) {
                    if left_out.has(change) {
                        // Writing to a string cannot fail.
                        let _ = writeln!(text, "@@ line {} @@", old.saturating_add_signed(shift));
                        for line in run {
                            let sign = if line.tag == DiffLineTag::Removed { '-' } else { '+' };
                            let _ = writeln!(text, "{sign}{}", line.text);
                        }
                    } else {
                        shift += added as isize - removed as isize;
                    }
                    change += 1;
                }
                old += run.len() - added;
            }
        }
        text
    }
}

/// The lines of a hunk in runs that alternate between changed and unchanged.
fn runs(hunk: &Hunk) -> impl Iterator<Item = &[DiffLine]> {
    hunk.lines.chunk_by(|one, next| {
        (one.tag == DiffLineTag::Context) == (next.tag == DiffLineTag::Context)
    })
}

fn is_change(run: &[DiffLine]) -> bool {
    run.first().is_some_and(|line| line.tag != DiffLineTag::Context)
}

impl DiffLine {
    /// Whether this is `line`, including its line ending.
    fn is(&self, line: &str) -> bool {
        line.strip_prefix(self.text.as_str()) == Some(self.end.text())
    }
}

impl LineEnding {
    fn text(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::Missing => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OLD: &str = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n";
    const NEW: &str = "a\nB\nB2\nc\nd\nE\nf\ng\nh\ni\nj\nl\nm";

    fn without(left_out: impl IntoIterator<Item = usize>) -> String {
        let diff = FileDiff::between("f", OLD, NEW);
        diff.apply_without(OLD, &left_out.into_iter().collect()).unwrap()
    }

    #[test]
    fn changes_are_runs_whichever_hunk_they_are_in() {
        let diff = FileDiff::between("f", OLD, NEW);
        assert_eq!((diff.change_count(), diff.hunks.len()), (4, 1));
        assert_eq!(FileDiff::between("f", OLD, OLD).change_count(), 0);
        let far = format!("x\n{}y\n", "same\n".repeat(20));
        let near = format!("X\n{}Y\n", "same\n".repeat(20));
        assert_eq!(FileDiff::between("f", &far, &near).change_count(), 2);
    }

    #[test]
    fn a_change_that_is_left_out_keeps_the_old_lines() {
        assert_eq!(without([]), NEW);
        assert_eq!(without([0]), NEW.replace("B\nB2\n", "b\n"));
        assert_eq!(without([1, 2]), NEW.replace("E\n", "e\n").replace("j\n", "j\nk\n"));
        assert_eq!(without([3]), NEW.replace("l\nm", "l\n"));
        assert_eq!(without(0..4), OLD);
    }

    #[test]
    fn excluded_changes_are_listed_with_their_lines_in_the_new_file() {
        let diff = FileDiff::between("f", OLD, NEW);
        let excluded = diff.excluded_text(&[1, 3].into_iter().collect());
        assert_eq!(excluded, "@@ line 6 @@\n-e\n+E\n@@ line 13 @@\n+m\n");
        let then = diff.apply_without(OLD, &[1, 3].into_iter().collect()).unwrap();
        assert_eq!(then.lines().nth(6 - 1), Some("e"));
    }

    #[test]
    fn a_diff_of_another_text_is_refused() {
        let diff = FileDiff::between("f", OLD, NEW);
        for other in ["", "a\nb\n", &OLD.replace("b\n", "b\r\n"), &OLD.replace('e', "x")] {
            assert_eq!(diff.apply_without(other, &ExcludedHunks::default()), None, "{other:?}");
        }
    }

    fn lines() -> impl Strategy<Value = String> {
        let line = prop_oneof!["[abc]{0,1}\n", "[ab]\r\n", Just("\r".to_owned())];
        (prop::collection::vec(line, 0..20), "[ab]{0,1}")
            .prop_map(|(lines, end)| lines.concat() + &end)
    }

    proptest! {
        #[test]
        fn all_changes_make_the_new_text_and_none_the_old(old in lines(), new in lines()) {
            let diff = FileDiff::between("f", &old, &new);
            let all = diff.apply_without(&old, &ExcludedHunks::default());
            prop_assert_eq!(all.as_deref(), Some(new.as_str()));
            let none = diff.apply_without(&old, &(0..diff.change_count()).collect());
            prop_assert_eq!(none.as_deref(), Some(old.as_str()));
        }

        #[test]
        fn what_is_left_out_can_be_added_later(
            old in lines(), new in lines(), out in prop::collection::btree_set(0usize..8, 0..8),
        ) {
            let diff = FileDiff::between("f", &old, &new);
            let included = (0..diff.change_count()).filter(|change| !out.contains(change));
            let (out, included): (ExcludedHunks, ExcludedHunks) =
                (out.iter().copied().collect(), included.collect());
            let part = diff.apply_without(&old, &out).unwrap();
            let other = diff.apply_without(&old, &included).unwrap();
            // Both parts together change as many lines as the whole diff.
            let lines = |text: &str| text.split_inclusive('\n').count() as isize;
            let whole = lines(&new) - lines(&old);
            let parts = lines(&part) + lines(&other) - 2 * lines(&old);
            prop_assert_eq!(whole, parts);
        }
    }
}
