//! Replaces the stretches of an output that are no text by a note, so that a few random bytes do not
//! hide the text around them. Pure.

use std::borrow::Cow;
use std::ops::Range;

use crate::tools::{text, truncation};

/// Bytes that no text has, this far apart at most, belong to one stretch.
const MAX_GAP: usize = 32;
/// A stretch with fewer of them is shown: it may be text in an old encoding.
const MIN_STRAY: usize = 4;
/// In a stretch, at least one byte in so many is none of a text.
const MAX_RARITY: usize = 10;

/// The output with a note in the place of each stretch that is no text. If most of it is none, what
/// lies between the first and the last stretch counts as none, too.
pub(super) fn without_binary(printed: &[u8]) -> Cow<'_, [u8]> {
    // UTF-16 has a control character in every other byte, and is text.
    let is_wide = printed.starts_with(b"\xff\xfe") || printed.starts_with(b"\xfe\xff");
    let mut stretches = if is_wide { Vec::new() } else { stretches(printed) };
    let (Some(first), Some(last)) = (stretches.first(), stretches.last()) else {
        return Cow::Borrowed(printed);
    };
    let (mut start, end) = (first.start, last.end);
    // The name of a format stands before what is in it.
    if text::binary_kind(printed).is_some_and(|kind| kind != text::UNKNOWN_BINARY) {
        start = 0;
    }
    if stretches.iter().map(ExactSizeIterator::len).sum::<usize>() * 2 > printed.len() {
        stretches = std::iter::once(start..end).collect();
    } else if let Some(first) = stretches.first_mut() {
        first.start = start;
    }
    let (mut text, mut at) = (Vec::with_capacity(printed.len()), 0);
    for stretch in stretches {
        text.extend_from_slice(&printed[at..stretch.start]);
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        let size = truncation::pluralise(stretch.len() as u64, "byte");
        text.extend_from_slice(format!("[binary, {size}]").as_bytes());
        at = stretch.end;
        if at < printed.len() && printed[at] != b'\n' {
            text.push(b'\n');
        }
    }
    text.extend_from_slice(&printed[at..]);
    Cow::Owned(text)
}

/// The stretches of bytes that are no text, in order.
fn stretches(printed: &[u8]) -> Vec<Range<usize>> {
    let mut found: Vec<(Range<usize>, usize)> = Vec::new();
    for at in stray_bytes(printed) {
        match found.last_mut() {
            Some((stretch, count)) if at <= stretch.end + MAX_GAP => {
                stretch.end = at + 1;
                *count += 1;
            }
            Some(_) | None => found.push((at..at + 1, 1)),
        }
    }
    let is_binary = |(stretch, count): &(Range<usize>, usize)| {
        *count >= MIN_STRAY && count * MAX_RARITY >= stretch.len()
    };
    found.into_iter().filter(is_binary).map(|(stretch, _)| stretch).collect()
}

/// The places of bytes that are not UTF-8, and of control characters that no text has.
fn stray_bytes(printed: &[u8]) -> impl Iterator<Item = usize> {
    let mut start = 0;
    printed.utf8_chunks().flat_map(move |chunk| {
        let (valid, invalid) = (chunk.valid().as_bytes(), chunk.invalid().len());
        let (from, end) = (start, start + valid.len());
        start = end + invalid;
        let controls = valid.iter().enumerate().filter(|(_, byte)| text::is_stray_control(**byte));
        controls.map(move |(at, _)| from + at).chain(end..end + invalid)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(printed: &[u8]) -> String {
        String::from_utf8_lossy(&without_binary(printed)).into_owned()
    }

    #[test]
    fn random_bytes_do_not_hide_the_text_around_them() {
        let noise: Vec<u8> = (0..40_u8).map(|number| number.wrapping_mul(37) | 0x80).collect();
        let text = "a line of text\n".repeat(20);
        let printed = [b"before\n".as_slice(), &noise, b"\n", text.as_bytes()].concat();
        assert_eq!(shown(&printed), format!("before\n[binary, 40 bytes]\n{text}"));
        let twice = [text.as_bytes(), &noise, text.as_bytes(), &noise].concat();
        assert_eq!(shown(&twice), format!("{text}[binary, 40 bytes]\n{text}[binary, 40 bytes]"));
    }

    #[test]
    fn a_program_is_one_note_and_what_follows_is_text() {
        let mut program = b"\x7fELF\x02\x01\x01\0\0\0".to_vec();
        for part in 0..50_u8 {
            program.extend([0, part, 0xff, 0x90, 0, 3, 0, 1]);
            program.extend(b"a_name_of_a_function");
        }
        let size = program.len();
        program.extend(b"\0\0\0\0");
        program.extend(b"\nexit: it failed\n");
        assert_eq!(shown(&program), format!("[binary, {} bytes]\nexit: it failed\n", size + 4));
        assert_eq!(shown(b"GIF89a\x01\0\x01\0\x80\0\0"), "[binary, 13 bytes]");
    }

    #[test]
    fn text_with_a_few_odd_bytes_is_text() {
        for printed in [
            &b"gr\xfc\xdfe aus Stra\xdfburg\n"[..],
            b"caf\xc3\xa9 \xe2\x86\x92 ok\n",
            b"one NUL\0and more\n",
            b"\x1b[32mok\x1b[0m\r\n",
            b"a\x08ab\x08b\x07\n",
            b"\xff\xfea\0b\0c\0d\0e\0",
            b"",
        ] {
            assert_eq!(without_binary(printed), printed);
        }
    }

    proptest! {
        #[test]
        fn text_is_never_touched(printed in "[ -~é→\n\t]{0,80}") {
            prop_assert_eq!(&*without_binary(printed.as_bytes()), printed.as_bytes());
        }

        #[test]
        fn any_bytes_are_taken(printed: Vec<u8>) {
            let _ = without_binary(&printed);
        }
    }
}
