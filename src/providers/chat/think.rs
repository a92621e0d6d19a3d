//! Reasoning that stands in the text itself, between `<think>` and `</think>`, because the server
//! has no parser for it.
//!
//! The opening tag counts only where the answer begins with it. Many templates open the tag in the
//! prompt, so that the answer holds the closing one alone; by then what stood before it has been
//! shown as text, and it stays text: only the tag goes. That one counts on a line of its own, before
//! any code block, so that an answer about such tags keeps them.

use memchr::memchr2;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// A piece of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerPiece<'a> {
    /// What is said.
    Text(&'a str),
    /// What is thought.
    Thinking(&'a str),
}

/// Takes the pieces, none of which is empty.
pub(super) type AnswerPieceSink<'t> = &'t mut dyn FnMut(AnswerPiece<'_>);

/// Tells thought from text while both stream in.
#[derive(Debug, Default)]
pub(super) struct ThinkTagSplitter {
    state: ThinkTagState,
    /// What cannot be told yet.
    held: String,
}

/// A whole answer without what is thought in it.
pub(super) fn without_thought(answer: &str) -> String {
    let mut said = String::new();
    let mut take = |piece: AnswerPiece<'_>| match piece {
        AnswerPiece::Text(text) => said.push_str(text),
        AnswerPiece::Thinking(_) => {}
    };
    let mut splitter = ThinkTagSplitter::default();
    splitter.push(answer, &mut take);
    splitter.finish(&mut take);
    said
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ThinkTagState {
    /// Nothing but white space has come.
    #[default]
    Start,
    /// Between the tags.
    Thinking,
    /// Behind the closing tag, before the text.
    Between,
    /// In text that a lone closing tag may still turn up in.
    Watching(ThinkTagPosition),
    /// In text that is passed on as it is.
    Text,
}

/// Where text ended that was passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThinkTagPosition {
    LineStart,
    /// Within a line that ends in this many backticks.
    Line(u8),
}

impl ThinkTagSplitter {
    /// The server reports reasoning on its own: tags in the text are text.
    pub(super) fn leave_tags(&mut self, take: AnswerPieceSink<'_>) {
        if self.state != ThinkTagState::Text {
            self.finish(take);
            self.state = ThinkTagState::Text;
        }
    }

    /// Takes the next text in.
    pub(super) fn push(&mut self, text: &str, take: AnswerPieceSink<'_>) {
        if self.held.is_empty() {
            self.go_on(text, take);
        } else {
            let mut held = std::mem::take(&mut self.held);
            held.push_str(text);
            self.go_on(&held, take);
        }
    }

    /// The answer is over: nothing is held back any more.
    pub(super) fn finish(&mut self, take: AnswerPieceSink<'_>) {
        let held = std::mem::take(&mut self.held);
        match self.state {
            ThinkTagState::Thinking => give(take, AnswerPiece::Thinking, &held),
            ThinkTagState::Watching(_) if held.trim_end() == CLOSE => {}
            ThinkTagState::Start
            | ThinkTagState::Between
            | ThinkTagState::Watching(_)
            | ThinkTagState::Text => {
                give(take, AnswerPiece::Text, &held);
            }
        }
    }

    fn go_on(&mut self, mut rest: &str, take: AnswerPieceSink<'_>) {
        while !rest.is_empty() {
            let Some(next) = self.step(rest, take) else { return };
            rest = next;
        }
    }

    /// Goes one state on and returns what is left, or nothing when more has to come first.
    fn step<'a>(&mut self, text: &'a str, take: AnswerPieceSink<'_>) -> Option<&'a str> {
        match self.state {
            ThinkTagState::Start => {
                let begun = text.trim_start();
                if let Some(thought) = begun.strip_prefix(OPEN) {
                    self.state = ThinkTagState::Thinking;
                    return Some(thought);
                }
                if OPEN.starts_with(begun) {
                    text.clone_into(&mut self.held);
                    return None;
                }
                self.state = ThinkTagState::Watching(ThinkTagPosition::LineStart);
                Some(text)
            }
            ThinkTagState::Thinking => {
                if let Some((thought, rest)) = text.split_once(CLOSE) {
                    give(take, AnswerPiece::Thinking, thought);
                    self.state = ThinkTagState::Between;
                    return Some(rest);
                }
                let (thought, held) = text.split_at(text.len() - partial_close(text));
                give(take, AnswerPiece::Thinking, thought);
                held.clone_into(&mut self.held);
                None
            }
            ThinkTagState::Between => {
                let said = text.trim_start();
                if !said.is_empty() {
                    self.state = ThinkTagState::Text;
                    return Some(said);
                }
                None
            }
            ThinkTagState::Watching(place) => self.watch(place, text, take),
            ThinkTagState::Text => {
                give(take, AnswerPiece::Text, text);
                None
            }
        }
    }

    fn watch<'a>(
        &mut self,
        mut place: ThinkTagPosition,
        text: &'a str,
        take: AnswerPieceSink<'_>,
    ) -> Option<&'a str> {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            place = match (byte, place) {
                (b'<', ThinkTagPosition::LineStart) if CLOSE.starts_with(cut(&text[at..])) => {
                    give(take, AnswerPiece::Text, &text[..at]);
                    return self.closing(place, &text[at..], take);
                }
                (b'\n', _) => ThinkTagPosition::LineStart,
                (b'`', ThinkTagPosition::Line(2)) => {
                    self.state = ThinkTagState::Text;
                    return Some(text);
                }
                (b'`', ThinkTagPosition::Line(ticks)) => ThinkTagPosition::Line(ticks + 1),
                (b'`', ThinkTagPosition::LineStart) => ThinkTagPosition::Line(1),
                _ => {
                    let quiet = memchr2(b'\n', b'`', &bytes[at..]);
                    at = quiet.map_or(bytes.len(), |quiet| at + quiet);
                    place = ThinkTagPosition::Line(0);
                    continue;
                }
            };
            at += 1;
        }
        give(take, AnswerPiece::Text, text);
        self.state = ThinkTagState::Watching(place);
        None
    }

    /// At what may be the closing tag, as far as it has come.
    fn closing<'a>(
        &mut self,
        place: ThinkTagPosition,
        line: &'a str,
        take: AnswerPieceSink<'_>,
    ) -> Option<&'a str> {
        let Some(rest) = line.strip_prefix(CLOSE).filter(|rest| !rest.is_empty()) else {
            line.clone_into(&mut self.held);
            self.state = ThinkTagState::Watching(place);
            return None;
        };
        if rest.starts_with(['\n', '\r']) {
            give(take, AnswerPiece::Text, "\n");
            self.state = ThinkTagState::Between;
            return Some(rest);
        }
        self.state = ThinkTagState::Text;
        Some(line)
    }
}

/// As much of `line` as could be the closing tag.
fn cut(line: &str) -> &str {
    line.get(..CLOSE.len()).unwrap_or(line)
}

/// How many bytes at the end of `text` may be the beginning of the closing tag.
fn partial_close(text: &str) -> usize {
    (1..CLOSE.len()).rev().find(|&length| text.ends_with(&CLOSE[..length])).unwrap_or(0)
}

fn give<'a>(take: AnswerPieceSink<'_>, piece: fn(&'a str) -> AnswerPiece<'a>, text: &'a str) {
    if !text.is_empty() {
        take(piece(text));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Thought and text after reading these pieces.
    fn read<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (String, String) {
        let (mut thought, mut said) = (String::new(), String::new());
        let mut take = |piece: AnswerPiece<'_>| match piece {
            AnswerPiece::Thinking(text) => thought.push_str(text),
            AnswerPiece::Text(text) => said.push_str(text),
        };
        let mut splitter = ThinkTagSplitter::default();
        for piece in pieces {
            splitter.push(piece, &mut take);
        }
        splitter.finish(&mut take);
        (thought, said)
    }

    #[test]
    fn thought_is_told_from_text() {
        let table = [
            ("<think>\nhm\n</think>\n\nyes", "\nhm\n", "yes"),
            ("\n <think>hm</think>yes", "hm", "yes"),
            ("<think></think>yes", "", "yes"),
            ("<think>cut off", "cut off", ""),
            ("hm\n</think>\n\nyes", "", "hm\n\nyes"),
            ("hm\n</think>", "", "hm\n"),
            ("</think>\n\nyes", "", "\nyes"),
            ("plain", "", "plain"),
            ("  plain", "", "  plain"),
            ("a <think>b</think> c", "", "a <think>b</think> c"),
            ("the tag `</think>` ends it", "", "the tag `</think>` ends it"),
            ("```\n</think>\n```", "", "```\n</think>\n```"),
            ("a\n</thinking>\nb", "", "a\n</thinking>\nb"),
            ("a\n</think> b", "", "a\n</think> b"),
            ("<think>a</think>b\n</think>\nc", "a", "b\n</think>\nc"),
            ("<thin", "", "<thin"),
            ("é<\n<é", "", "é<\n<é"),
        ];
        for (whole, thought, said) in table {
            assert_eq!(read([whole]), (thought.into(), said.into()), "{whole:?}");
        }
    }

    #[test]
    fn tags_are_left_alone_where_the_server_parses_reasoning_itself() {
        let mut said = String::new();
        let mut take = |piece: AnswerPiece<'_>| match piece {
            AnswerPiece::Text(text) => said.push_str(text),
            AnswerPiece::Thinking(text) => panic!("{text}"),
        };
        let mut splitter = ThinkTagSplitter::default();
        splitter.leave_tags(&mut take);
        splitter.push("<think>a", &mut take);
        assert_eq!(said, "<think>a");
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "<think>", "</think>", "\n", "`", "```", "a", "é", "<", "</", " ", "think>",
                ]),
                0..16,
            ),
        ) {
            let whole = parts.concat();
            let mut letters = [0; 4];
            let singles: Vec<String> =
                whole.chars().map(|c| c.encode_utf8(&mut letters).to_owned()).collect();
            let expected = read([whole.as_str()]);
            prop_assert_eq!(&read(parts.iter().copied()), &expected);
            prop_assert_eq!(&read(singles.iter().map(String::as_str)), &expected);
        }
    }
}
