//! Finds the words of a changed line that differ.

use std::ops::Range;

use similar::DiffOp;
use unicode_segmentation::UnicodeSegmentation;

use crate::domain::align;

/// A line of more words is marked as a whole: the search is quadratic in the worst case.
const MAX_WORDS: usize = 200;
/// With a smaller share of common text, in percent, two lines do not count as versions of each
/// other.
const MIN_COMMON: usize = 40;

/// The changed byte ranges of an old and a new line; empty where the lines have little in common.
pub(super) fn changed(old: &str, new: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let none = (Vec::new(), Vec::new());
    let (old_words, new_words) = (words(old), words(new));
    if old_words.len() > MAX_WORDS || new_words.len() > MAX_WORDS {
        return none;
    }
    let before: Vec<&str> = old_words.iter().map(|(_, word)| *word).collect();
    let after: Vec<&str> = new_words.iter().map(|(_, word)| *word).collect();
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    let mut common = 0;
    for operation in align(&before, &after, None) {
        if let DiffOp::Equal { old_index, len, .. } = operation {
            let equal = before[old_index..old_index + len].iter();
            common += equal.map(|word| word.trim().len()).sum::<usize>();
        } else {
            add(&mut removed, old, &old_words, operation.old_range());
            add(&mut added, new, &new_words, operation.new_range());
        }
    }
    let visible = |text: &str| text.split_whitespace().map(str::len).sum::<usize>();
    if common * 200 < MIN_COMMON * (visible(old) + visible(new)) {
        return none;
    }
    (removed, added)
}

fn words(line: &str) -> Vec<(usize, &str)> {
    line.split_word_bound_indices().take(MAX_WORDS + 1).collect()
}

/// Adds the range of some words, merged with the previous range if only spaces lie between.
fn add(ranges: &mut Vec<Range<usize>>, line: &str, words: &[(usize, &str)], changed: Range<usize>) {
    let start = |index: usize| words.get(index).map_or(line.len(), |(at, _)| *at);
    let range = start(changed.start)..start(changed.end);
    if range.is_empty() {
        return;
    }
    match ranges.last_mut() {
        Some(last) if line[last.end..range.start].trim().is_empty() => last.end = range.end,
        Some(_) | None => ranges.push(range),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(old: &str, new: &str) -> (Vec<String>, Vec<String>) {
        let (removed, added) = changed(old, new);
        let texts = |line: &str, ranges: Vec<Range<usize>>| {
            ranges.into_iter().map(|range| line[range].to_owned()).collect()
        };
        (texts(old, removed), texts(new, added))
    }

    #[test]
    fn only_the_changed_words_are_marked() {
        let table = [
            ("let total = old(a);", "let total = new(a);", "old", "new"),
            ("return a + b", "return a + b + c", "", " + c"),
            ("fn a(x: u8)", "fn a(x: u16)", "u8", "u16"),
        ];
        for (old, new, removed, added) in table {
            let (r, a) = marked(old, new);
            assert_eq!((r.concat(), a.concat()), (removed.into(), added.into()), "{old}");
        }
    }

    #[test]
    fn changes_with_only_spaces_between_are_one() {
        assert_eq!(marked("keep this one two", "keep this uno dos").1, ["uno dos"]);
    }

    #[test]
    fn lines_with_little_in_common_have_no_marks() {
        assert_eq!(marked("use std::fmt;", "pub struct Money(i64);"), (vec![], vec![]));
        let long = "word ".repeat(300);
        assert_eq!(marked(&long, &long.replace("word w", "sword w")), (vec![], vec![]));
    }
}
