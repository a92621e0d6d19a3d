//! Cuts long text, and says how much was cut.

use std::borrow::Cow;

pub(super) use crate::domain::pluralise;

/// The first `limit` characters of a line, with a note if it is longer.
pub(super) fn line(text: &str, limit: usize) -> Cow<'_, str> {
    match text.char_indices().nth(limit) {
        None => Cow::Borrowed(text),
        Some((end, _)) => {
            let more = text[end..].chars().count();
            Cow::Owned(format!("{}… [{more} more characters]", &text[..end]))
        }
    }
}

/// The parts of a text of which only head and tail are shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HeadAndTail<'a> {
    /// The first part; it ends with a whole line if possible.
    pub head: &'a str,
    /// The last part; it begins with a whole line if possible.
    pub tail: &'a str,
    /// The part between head and tail, which is left out.
    pub hidden: &'a str,
}

/// Head and tail of `text`, at most `limit` bytes together; `None` where the whole text fits.
pub(super) fn ends(text: &str, limit: usize) -> Option<HeadAndTail<'_>> {
    if text.len() <= limit {
        return None;
    }
    let half = limit / 2;
    let is_boundary = |at: &usize| text.is_char_boundary(*at);
    let head_end = (0..=half).rev().find(is_boundary).unwrap_or(0);
    let head_end = text[..head_end].rfind('\n').map_or(head_end, |newline| newline + 1);
    let tail_start = (text.len() - half..text.len()).find(is_boundary).unwrap_or(text.len());
    let tail_start = match text[tail_start..].find('\n') {
        // A tail that is a part of one line is better than none.
        Some(newline) if tail_start + newline + 1 < text.len() => tail_start + newline + 1,
        Some(_) | None => tail_start,
    };
    Some(HeadAndTail {
        head: &text[..head_end],
        tail: &text[tail_start..],
        hidden: &text[head_end..tail_start],
    })
}

/// A number of bytes in a readable unit.
pub(super) fn size(bytes: u64) -> String {
    let units = [("GB", 30), ("MB", 20), ("KB", 10)];
    match units.into_iter().find(|(_, shift)| bytes >> shift > 0) {
        Some((unit, shift)) => format!("{:.1} {unit}", bytes as f64 / (1_u64 << shift) as f64),
        None => pluralise(bytes, "byte"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_line_says_how_much_is_gone() {
        assert_eq!(line("äöü", 3), "äöü");
        assert_eq!(line("äöüß!", 3), "äöü… [2 more characters]");
    }

    #[test]
    fn head_and_tail_are_whole_lines() {
        let ends = ends("one\ntwo\nthree\nfour\nfive\n", 14).unwrap();
        assert_eq!((ends.head, ends.tail, ends.hidden), ("one\n", "five\n", "two\nthree\nfour\n"));
    }

    #[test]
    fn sizes_and_counts_read_well() {
        assert_eq!(
            [size(1), size(1023), size(1536), size(3 << 20)],
            ["1 byte", "1023 bytes", "1.5 KB", "3.0 MB"]
        );
    }

    proptest! {
        #[test]
        fn what_is_cut_and_what_is_kept_are_the_text(text in "[aé\n]{0,60}", limit in 0_usize..40) {
            match ends(&text, limit) {
                None => prop_assert!(text.len() <= limit),
                Some(ends) => {
                    prop_assert_eq!([ends.head, ends.hidden, ends.tail].concat(), &text[..]);
                    prop_assert!(ends.head.len() + ends.tail.len() <= limit);
                }
            }
        }
    }
}
