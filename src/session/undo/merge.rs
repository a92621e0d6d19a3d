//! Merges three versions of a file into one, line by line.
//!
//! Careful rather than clever: changes of the two sides that touch each other are a conflict,
//! unless they are the same.

use std::ops::Range;
use std::time::Duration;

use similar::DiffOp;

use crate::domain::align;

/// Longer files are not merged, in bytes.
const LARGEST: usize = 4 << 20;
/// How long each comparison may take. A comparison that is cut short still gives a usable result.
const DIFF_TIMEOUT: Duration = Duration::from_millis(500);

/// `base` with the changes of `ours` and of `theirs`; `None` where both change the same place,
/// where a version is too long, or where it has NUL bytes and so no lines.
pub(super) fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    let all = [base, ours, theirs];
    if all.iter().any(|bytes| bytes.len() > LARGEST || bytes.contains(&0)) {
        return None;
    }
    let [base, ours, theirs] = all.map(lines);
    let mut ours = MergeSide::new(&base, &ours);
    let mut theirs = MergeSide::new(&base, &theirs);
    let mut merged = Vec::new();
    let mut at = 0;
    while let Some(start) = [ours.next(), theirs.next()].into_iter().flatten().min() {
        merged.extend(base[at..start].concat());
        let mut end = start;
        // A change of one side may extend the place, and so touch the next change of the other
        // side.
        let mut parts = (start..start, start..start);
        loop {
            parts = (ours.upto(end, parts.0), theirs.upto(end, parts.1));
            let reach = parts.0.end.max(parts.1.end);
            if reach == end {
                break;
            }
            end = reach;
        }
        let mine = ours.text(start..end);
        let other = theirs.text(start..end);
        let base = &base[start..end];
        if mine == other || other == base {
            merged.extend(mine.concat());
        } else if mine == base {
            merged.extend(other.concat());
        } else {
            return None;
        }
        ours.pass();
        theirs.pass();
        at = end;
    }
    merged.extend(base[at..].concat());
    Some(merged)
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// One version of the file, as changes of the base.
struct MergeSide<'a> {
    lines: &'a [&'a [u8]],
    /// Ranges of lines in the base, and in this version the lines that replace them.
    changes: Vec<(Range<usize>, Range<usize>)>,
    /// How many changes come before the current place.
    passed: usize,
    /// How many changes are in the current place.
    taken: usize,
}

impl<'a> MergeSide<'a> {
    fn new(base: &[&'a [u8]], lines: &'a [&'a [u8]]) -> Self {
        let changes = align(base, lines, Some(DIFF_TIMEOUT))
            .into_iter()
            .filter(|step| !matches!(step, DiffOp::Equal { .. }))
            .map(|step| (step.old_range(), step.new_range()))
            .collect();
        Self { lines, changes, passed: 0, taken: 0 }
    }

    /// The line of the base at which the next change begins.
    fn next(&self) -> Option<usize> {
        self.changes.get(self.passed).map(|(old, _)| old.start)
    }

    /// Adds the changes that touch the base up to line `end` to the place; returns the place with
    /// them.
    fn upto(&mut self, end: usize, place: Range<usize>) -> Range<usize> {
        let mut reach = place.end;
        while let Some((old, _)) = self.changes.get(self.passed + self.taken)
            && old.start <= end.max(reach)
        {
            reach = reach.max(old.end);
            self.taken += 1;
        }
        place.start..reach
    }

    /// The lines of this version that replace these lines of the base.
    fn text(&self, place: Range<usize>) -> &'a [&'a [u8]] {
        let shifted = |at: usize, changes: &[(Range<usize>, Range<usize>)]| match changes.last() {
            Some((old, new)) => at - old.end + new.end,
            None => at,
        };
        let start = shifted(place.start, &self.changes[..self.passed]);
        let end = shifted(place.end, &self.changes[..self.passed + self.taken]);
        &self.lines[start..end]
    }

    fn pass(&mut self) {
        self.passed += self.taken;
        self.taken = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn merged(base: &str, ours: &str, theirs: &str) -> Option<String> {
        let merged = merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes())?;
        Some(String::from_utf8(merged).unwrap())
    }

    #[test]
    fn changes_of_other_places_come_together() {
        let base = "a\nb\nc\nd\ne\nf\n";
        for (ours, theirs, expected) in [
            ("A\nb\nc\nd\ne\nf\n", "a\nb\nc\nd\ne\nF\n", Some("A\nb\nc\nd\ne\nF\n")),
            ("a\nb\nc\nd\ne\nf\nnew\n", "b\nc\nd\ne\nf\n", Some("b\nc\nd\ne\nf\nnew\n")),
            ("a\nb\nx\ny\nc\nd\ne\nf\n", "a\nb\nc\nd\nf\n", Some("a\nb\nx\ny\nc\nd\nf\n")),
            ("a\nB\nc\nd\ne\nf\n", "a\nB\nc\nd\ne\nf\n", Some("a\nB\nc\nd\ne\nf\n")),
            ("a\nB\nc\nd\ne\nf\n", "a\nX\nc\nd\ne\nf\n", None),
            ("a\nB\nc\nd\ne\nf\n", "a\nb\nX\nd\ne\nf\n", None),
            ("a\nb\nc\nd\ne\nf\nours\n", "a\nb\nc\nd\ne\nf\ntheirs\n", None),
            ("", "a\nb\nc\nd\ne\nF\n", None),
        ] {
            assert_eq!(merged(base, ours, theirs).as_deref(), expected, "{ours:?} {theirs:?}");
        }
    }

    #[test]
    fn files_with_nul_bytes_are_not_merged() {
        assert_eq!(merge(b"a\n\0", b"a\n\0b\n", b"\0"), None);
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let lines = prop::collection::vec("[a-d]\n|[a-d]", 0..12);
        lines.prop_map(|lines| lines.concat().into_bytes())
    }

    proptest! {
        #[test]
        fn one_side_alone_is_taken_and_both_sides_are_equal(
            base in text(), ours in text(), theirs in text(),
        ) {
            prop_assert_eq!(merge(&base, &ours, &base), Some(ours.clone()));
            prop_assert_eq!(merge(&base, &base, &theirs), Some(theirs.clone()));
            prop_assert_eq!(merge(&base, &ours, &ours), Some(ours.clone()));
            prop_assert_eq!(merge(&base, &ours, &theirs), merge(&base, &theirs, &ours));
        }

        #[test]
        fn lines_that_one_side_added_are_never_lost(
            base in prop::collection::vec("[a-d]\n", 0..10),
            at in 0..10_usize,
            theirs in text(),
        ) {
            let mut ours = base.clone();
            ours.insert(at.min(base.len()), "mine\n".to_owned());
            if let Some(merged) = merge(base.concat().as_bytes(), ours.concat().as_bytes(), &theirs) {
                prop_assert!(String::from_utf8(merged).unwrap().contains("mine\n"));
            }
        }
    }
}
