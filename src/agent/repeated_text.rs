//! Notices a model that writes the same text again and again, in an answer or in its thinking.
//!
//! The criterion is strict, because it ends an answer: the newest 4,000 characters at least are one text,
//! over and over, letter by letter. That text may have up to 4,000 characters, and a long one has to
//! stand there five times. A table, a list or code with rows that resemble each other differs
//! somewhere in each of them.

use crate::providers::StreamEvent;

/// So many of the newest characters repeat at least.
const LEAST: usize = 4_000;
/// A text stands there so often at least.
const TIMES: usize = 5;
/// The longest text that counts as repeated.
const LONGEST: usize = 4_000;
/// So many of the newest characters are kept.
const KEPT: usize = LONGEST * TIMES;
/// After so many more characters it is looked again.
const STEP: usize = 200;

/// The newest text of a response, by what it is: an answer or thinking.
#[derive(Debug, Default)]
pub struct RepeatedText {
    newest: Vec<char>,
    kind: Option<StreamedTextKind>,
    unseen: usize,
    /// The borders of the newest text, for the next look to use their place again.
    borders: Vec<usize>,
}

/// What a piece of a response is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamedTextKind {
    Answer,
    Thinking,
}

impl RepeatedText {
    /// Takes the next event of a response. Returns the length of the text that repeats, in
    /// characters. Arguments of calls do not count: files may hold anything.
    pub fn in_event(&mut self, event: &StreamEvent) -> Option<usize> {
        match event {
            StreamEvent::Text(piece) => self.add(StreamedTextKind::Answer, piece),
            StreamEvent::Thinking(piece) => self.add(StreamedTextKind::Thinking, piece),
            StreamEvent::Started
            | StreamEvent::RateLimited(_)
            | StreamEvent::Prefill(_)
            | StreamEvent::Signature(_)
            | StreamEvent::Sealed { .. }
            | StreamEvent::ToolUseStarted { .. }
            | StreamEvent::ToolInputDelta { .. }
            | StreamEvent::Usage(_)
            | StreamEvent::Finished(_) => None,
        }
    }

    fn add(&mut self, kind: StreamedTextKind, piece: &str) -> Option<usize> {
        if self.kind.replace(kind) != Some(kind) {
            self.newest.clear();
        }
        let before = self.newest.len();
        self.newest.extend(piece.chars());
        self.unseen += self.newest.len() - before;
        if self.newest.len() < LEAST || self.unseen < STEP {
            return None;
        }
        self.unseen = 0;
        // Not at every look, so that a character is moved once at most.
        if self.newest.len() > 2 * KEPT {
            self.newest.drain(..self.newest.len() - KEPT);
        }
        repeated_length(&self.newest, &mut self.borders)
    }
}

/// Cuts a text that ends in repetitions behind the second of them. `period` is the length of what
/// repeats, in characters.
pub(super) fn without_repetitions(text: &mut String, period: usize) {
    let chars: Vec<char> = text.chars().collect();
    let pairs = chars.iter().rev().zip(chars.iter().rev().skip(period));
    let same = pairs.take_while(|(a, b)| a == b).count();
    let keep = (chars.len() - same).saturating_add(period);
    if keep < chars.len() {
        *text = chars[..keep].iter().collect();
    }
}

/// The length of what a text repeats at its end, often enough to count.
///
/// Read from its end, each beginning of a text is moved by its period to cover itself (the failure
/// function of Knuth, Morris and Pratt). The periods grow with the beginnings, so that a text which
/// repeats nothing is read no further than [`LONGEST`].
fn repeated_length(text: &[char], borders: &mut Vec<usize>) -> Option<usize> {
    let from_end = |at: usize| text[text.len() - 1 - at];
    borders.clear();
    borders.push(0);
    let mut border = 0;
    for at in 1..text.len().min(KEPT) {
        while border > 0 && from_end(at) != from_end(border) {
            border = borders[border - 1];
        }
        if from_end(at) == from_end(border) {
            border += 1;
        }
        borders.push(border);
        let length = at + 1;
        let period = length - border;
        if period > LONGEST {
            return None;
        }
        if length >= LEAST.max(TIMES * period) {
            return Some(period);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Streams a text in pieces, and returns after how many characters it is found to repeat.
    fn found_after(text: &str, piece: usize) -> Option<usize> {
        let mut watch = RepeatedText::default();
        let chars: Vec<char> = text.chars().collect();
        let mut read = 0;
        for piece in chars.chunks(piece) {
            read += piece.len();
            let piece: String = piece.iter().collect();
            if watch.add(StreamedTextKind::Answer, &piece).is_some() {
                return Some(read);
            }
        }
        None
    }

    #[test]
    fn a_sentence_over_and_over_is_found_soon_however_it_is_cut() {
        let looped =
            format!("First I look at the file. {}", "Let me check this again. ".repeat(600));
        for piece in [1, 7, 5_000] {
            let after = found_after(&looped, piece);
            assert!(after.is_some_and(|after| after <= 5_000), "{piece}: {after:?}");
        }
        let long = "x".repeat(399) + "\n";
        assert!(found_after(&long.repeat(30), 10).is_some());
        assert!(found_after(&"はい。".repeat(3_000), 10).is_some(), "characters, not bytes");
        assert!(found_after(&" ".repeat(9_000), 10).is_some(), "nothing but spaces");
    }

    #[test]
    fn a_long_text_over_and_over_is_found() {
        for (period, most) in [(461, 4_800), (525, 4_800), (1_500, 8_000), (4_000, 20_500)] {
            let lines: String =
                (0..).map(|n| format!("{n}. Then step {}.\n", n * n)).take(400).collect();
            let paragraph = &lines[..period];
            let looped = format!("First, an outline. {}", paragraph.repeat(40));
            for piece in [1, 24, 3_000] {
                let after = found_after(&looped, piece);
                assert!(after.is_some_and(|after| after <= most + piece), "{period}: {after:?}");
            }
            let fixture = paragraph.repeat(4) + "The end.\n";
            assert_eq!(found_after(&fixture, 24), None, "four times {period}");
        }
    }

    #[test]
    fn the_work_for_a_piece_does_not_grow_with_the_text() {
        let sentence = |n: usize| format!("Sentence {n} says that {} follows. ", n * 7);
        let prose: String = (0..20_000).map(sentence).collect();
        let sevenths: String = (0..400).map(sentence).collect();
        // A long text that repeats, and differs each time.
        let nearly: String = (0..100).map(|n| format!("{}{n}\n", &sevenths[..3_000])).collect();
        for (text, most) in [(prose, LONGEST + 50), (nearly, KEPT)] {
            let mut watch = RepeatedText::default();
            let (mut looks, mut kept) = (0, 0);
            for piece in text.as_bytes().chunks(24) {
                let piece = str::from_utf8(piece).unwrap();
                assert_eq!(watch.add(StreamedTextKind::Answer, piece), None);
                kept = kept.max(watch.newest.len());
                if watch.unseen == 0 {
                    assert!(watch.borders.len() <= most, "{}", watch.borders.len());
                    looks += 1;
                }
            }
            assert!(looks <= text.len() / STEP && kept <= 2 * KEPT + STEP + 24, "{looks} {kept}");
        }
    }

    #[test]
    fn tables_lists_code_and_prose_are_left_alone() {
        let table: String = (0..400).map(|row| format!("| {row} | ok | - | - |\n")).collect();
        let code: String =
            (0..300).map(|arm| format!("        Token::T{arm} => self.next(),\n")).collect();
        let zeros = format!("{}\n", "0, ".repeat(40)).repeat(20);
        let rule = format!("{}\nResults\n{}\n", "=".repeat(900), "=".repeat(900)).repeat(2);
        let tests: String = (0..200).map(|n| format!("test case_{n} ... ok\n")).collect();
        let refrain = format!("{}\n", "la la la ".repeat(30)) + "A verse of its own.\n";
        for text in [table, code, zeros, rule, tests, refrain] {
            assert_eq!(found_after(&text, 13), None, "{}", &text[..60]);
        }
        let mut nearly = "All the same here. ".repeat(205);
        nearly.push_str("But not this. ");
        assert_eq!(found_after(&nearly.repeat(4), 13), None, "3,900 characters in a row");
    }

    #[test]
    fn an_answer_that_follows_the_same_thought_counts_for_itself() {
        let mut watch = RepeatedText::default();
        let text = "again ".repeat(500);
        assert_eq!(watch.add(StreamedTextKind::Thinking, &text), None);
        assert_eq!(watch.add(StreamedTextKind::Answer, &text), None);
        assert_eq!(watch.add(StreamedTextKind::Answer, &text), Some(6));
    }

    #[test]
    fn two_repetitions_stay_of_what_repeats() {
        let mut text = format!("I look. {}", "Again? ".repeat(900));
        without_repetitions(&mut text, 7);
        assert_eq!(text, "I look. Again? Again?");
        let mut plain = "nothing of it".to_owned();
        without_repetitions(&mut plain, 4);
        assert_eq!(plain, "nothing of it");
    }
}
