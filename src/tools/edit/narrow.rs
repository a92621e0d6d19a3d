//! Finds an edit that turns one text into another, with as few lines as identify its place. Pure.

use super::matching::{self, MatchQuality, ReplaceScope};

/// The old and the new string of an edit that turns `text` into exactly `wanted`. `None` where both
/// are the same, or where no edit does it, since an edit adapts line ends to their neighbours.
pub(super) fn between(text: &str, wanted: &str) -> Option<(String, String)> {
    if text == wanted {
        return None;
    }
    let old: Vec<&str> = text.split_inclusive('\n').collect();
    let new: Vec<&str> = wanted.split_inclusive('\n').collect();
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let pairs = old[start..].iter().rev().zip(new[start..].iter().rev());
    let end = pairs.take_while(|(old, new)| old == new).count();
    // Adds more and more lines around it, until the old string is in one place only.
    let mut around = 0;
    loop {
        let (above, below) = (start.saturating_sub(around), end.saturating_sub(around));
        let old_string = old[above..old.len() - below].concat();
        let new_string = new[above..new.len() - below].concat();
        if is_made(text, &old_string, &new_string, wanted) {
            return Some((old_string, new_string));
        }
        if (above, below) == (0, 0) {
            return None;
        }
        around = (around * 2).max(1);
    }
}

fn is_made(text: &str, old: &str, new: &str, wanted: &str) -> bool {
    if old.is_empty() {
        return false;
    }
    match matching::find(text, old, new, ReplaceScope::One) {
        Ok((MatchQuality::Exact, replacements)) => matching::apply(text, &replacements) == wanted,
        Ok((MatchQuality::Normalised | MatchQuality::Trimmed, _)) | Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_edit_has_no_more_lines_than_needed() {
        let cases = [
            ("a\nb\nc\n", "a\nB\nc\n", Some(("b\n", "B\n"))),
            ("a\nb\na\n", "a\nb\nA\n", Some(("b\na\n", "b\nA\n"))),
            ("a\nc\n", "a\nb\nc\n", Some(("a\nc\n", "a\nb\nc\n"))),
            ("a\nb\n", "a\n", Some(("b\n", ""))),
            ("a", "a", None),
        ];
        for (text, wanted, expected) in cases {
            let expected = expected.map(|(old, new)| (old.to_owned(), new.to_owned()));
            assert_eq!(between(text, wanted), expected, "{text:?} {wanted:?}");
        }
    }

    proptest! {
        #[test]
        fn the_edit_makes_exactly_the_wanted_text(text in "([ab]{0,2}\n){1,8}", wanted in "([ab]{0,2}\n){0,8}") {
            match between(&text, &wanted) {
                Some((old, new)) => prop_assert!(is_made(&text, &old, &new, &wanted)),
                None => prop_assert_eq!(text, wanted),
            }
        }
    }
}
