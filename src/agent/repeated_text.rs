//! Notices a model that writes the same text again and again, in an answer or in its thinking.
//!
//! The criterion is strict, because it ends an answer: all of the newest 4,000 characters are one text
//! of at most 400 characters, over and over. A table, a list or code with rows that resemble each
//! other differs somewhere in each of them.

use crate::providers::StreamEvent;

/// So many of the newest characters are looked at.
const LOOKED_AT: usize = 4_000;
/// The longest text that counts as repeated, so that it stands there ten times at least.
const LONGEST: usize = 400;
/// After so many more characters it is looked again.
const STEP: usize = 200;

/// The newest text of a response, by what it is: an answer or thinking.
#[derive(Debug, Default)]
pub(super) struct RepeatedText {
    newest: Vec<char>,
    kind: Option<StreamedTextKind>,
    unseen: usize,
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
    pub(super) fn in_event(&mut self, event: &StreamEvent) -> Option<usize> {
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
        if self.newest.len() < LOOKED_AT || self.unseen < STEP {
            return None;
        }
        self.unseen = 0;
        self.newest.drain(..self.newest.len() - LOOKED_AT);
        Some(period(&self.newest)).filter(|period| *period <= LONGEST)
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

/// The shortest length by which a text can be moved so that it covers itself (the failure function of
/// Knuth, Morris and Pratt).
fn period(text: &[char]) -> usize {
    let mut border = vec![0; text.len()];
    let mut length = 0;
    for at in 1..text.len() {
        while length > 0 && text[at] != text[length] {
            length = border[length - 1];
        }
        if text[at] == text[length] {
            length += 1;
        }
        border[at] = length;
    }
    text.len() - border.last().copied().unwrap_or(0)
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
