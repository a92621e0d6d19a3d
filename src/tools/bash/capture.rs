//! Keeps the output of a command within bounds, and decodes it while it comes.

use std::collections::VecDeque;

use encoding_rs::{Decoder, UTF_8};

/// The most bytes that are kept of the start and of the end, each.
const END: usize = 5 << 20;

/// The first and the last bytes of an output, and its length.
pub(super) struct OutputCapture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    end: usize,
}

impl OutputCapture {
    /// An empty capture that keeps 5 MB of each end.
    pub fn new() -> Self {
        Self::keeping(END)
    }

    /// An empty capture that keeps `end` bytes of each end.
    pub fn keeping(end: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), total: 0, end }
    }

    /// Adds the next piece of output.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(self.end - self.head.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(self.end)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(self.end);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    /// The length of the whole output in bytes.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Whether bytes in the middle were dropped.
    pub fn is_cut(&self) -> bool {
        self.dropped_bytes() > 0
    }

    /// All kept bytes, with a note where bytes were dropped.
    pub fn whole(&self) -> Vec<u8> {
        let mut whole = self.head.clone();
        if self.is_cut() {
            whole.extend_from_slice(
                format!("\n[{} bytes not kept]\n", self.dropped_bytes()).as_bytes(),
            );
        }
        whole.extend(&self.tail);
        whole
    }

    fn dropped_bytes(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }
}

/// Decodes the pieces of an output as they come. A character that is split between two pieces comes
/// with the second.
pub(crate) struct LiveTextDecoder {
    decoder: Decoder,
    text: String,
}

impl LiveTextDecoder {
    /// A decoder at the start of an output; invalid UTF-8 is replaced.
    pub fn new() -> Self {
        Self { decoder: UTF_8.new_decoder_without_bom_handling(), text: String::new() }
    }

    /// The text that is complete with this piece.
    pub fn text(&mut self, bytes: &[u8]) -> &str {
        self.text.clear();
        // Three bytes for each invalid one, and room for a character that an earlier piece began.
        self.text.reserve(bytes.len() * 3 + 16);
        let _ = self.decoder.decode_to_string(bytes, &mut self.text, false);
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_middle_goes_when_there_is_too_much() {
        let mut capture = OutputCapture::keeping(4);
        for piece in [&b"abc"[..], b"defgh", b"ijklmnop"] {
            capture.push(piece);
        }
        assert_eq!((capture.total(), capture.is_cut()), (16, true));
        assert_eq!(capture.whole(), b"abcd\n[8 bytes not kept]\nmnop");
    }

    proptest! {
        #[test]
        fn how_it_is_split_makes_no_difference(pieces: Vec<Vec<u8>>, end in 1_usize..50) {
            let (mut once, mut split) = (OutputCapture::keeping(end), OutputCapture::keeping(end));
            once.push(&pieces.concat());
            pieces.iter().for_each(|piece| split.push(piece));
            prop_assert_eq!(once.whole(), split.whole());
        }

        #[test]
        fn live_text_is_the_text(text: String, at in 0_usize..50) {
            let mut live = LiveTextDecoder::new();
            let (first, second) = text.as_bytes().split_at(at.min(text.len()));
            let shown = live.text(first).to_owned() + live.text(second);
            prop_assert_eq!(shown, text);
        }

        #[test]
        fn live_text_of_any_bytes_loses_no_piece(bytes: Vec<u8>) {
            let mut live = LiveTextDecoder::new();
            let shown = live.text(&bytes).to_owned() + live.text(b"end");
            prop_assert!(shown.ends_with("end"));
        }
    }
}
