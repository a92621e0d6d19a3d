//! Splits reasoning off the text, if the server has no parser for it and the model writes it
//! between `<think>` and `</think>`.
//!
//! The opening tag counts only at the beginning of the response. Many templates open the tag in the
//! prompt, so that the response holds only the closing tag. By then the text before it has been
//! shown; it stays text, and only the tag is removed. A lone closing tag counts only on a line of
//! its own, before any code block, so that a response about such tags keeps them.

use memchr::memchr2;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// A piece of a response, after the split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerPiece<'a> {
    /// Part of the visible answer.
    Text(&'a str),
    /// Part of the reasoning.
    Thinking(&'a str),
}

/// Receives the pieces; no piece is empty.
pub(super) type AnswerPieceSink<'t> = &'t mut dyn FnMut(AnswerPiece<'_>);

/// Splits reasoning from text while both stream in.
#[derive(Debug, Default)]
pub(super) struct ThinkTagSplitter {
    state: ThinkTagState,
    /// Text that cannot be classified yet.
    held: String,
}

/// The visible part of a whole response.
pub(super) fn without_thought(answer: &str) -> String {
    let mut visible = String::new();
    let mut take = |piece: AnswerPiece<'_>| match piece {
        AnswerPiece::Text(text) => visible.push_str(text),
        AnswerPiece::Thinking(_) => {}
    };
    let mut splitter = ThinkTagSplitter::default();
    splitter.push(answer, &mut take);
    splitter.finish(&mut take);
    visible
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ThinkTagState {
    /// Only white space has come.
    #[default]
    Start,
    /// Between the tags.
    Thinking,
    /// Behind the closing tag, before the text.
    Between,
    /// In text in which a lone closing tag may still come.
    Watching(ThinkTagPosition),
    /// In text that is passed on unchanged.
    Text,
}

/// How the text that was passed on ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThinkTagPosition {
    LineStart,
    /// In a line that ends with this many backticks.
    Line(u8),
}

impl ThinkTagSplitter {
    /// The server reports reasoning itself: tags in the text are text.
    pub(super) fn leave_tags(&mut self, take: AnswerPieceSink<'_>) {
        if self.state != ThinkTagState::Text {
            self.finish(take);
            self.state = ThinkTagState::Text;
        }
    }

    /// Adds the next text.
    pub(super) fn push(&mut self, text: &str, take: AnswerPieceSink<'_>) {
        if self.held.is_empty() {
            self.go_on(text, take);
        } else {
            let mut held = std::mem::take(&mut self.held);
            held.push_str(text);
            self.go_on(&held, take);
        }
    }

    /// Ends the response: releases the held text.
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

    /// Advances by one state. Returns the rest of the text, or `None` if more text has to come
    /// first.
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
                let visible = text.trim_start();
                if !visible.is_empty() {
                    self.state = ThinkTagState::Text;
                    return Some(visible);
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

    /// Handles what may be the closing tag, as far as it has come.
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

/// The beginning of `line` that could be the closing tag.
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

    /// Reasoning and text after reading these pieces.
    fn read<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (String, String) {
        let (mut thought, mut visible) = (String::new(), String::new());
        let mut take = |piece: AnswerPiece<'_>| match piece {
            AnswerPiece::Thinking(text) => thought.push_str(text),
            AnswerPiece::Text(text) => visible.push_str(text),
        };
        let mut splitter = ThinkTagSplitter::default();
        for piece in pieces {
            splitter.push(piece, &mut take);
        }
        splitter.finish(&mut take);
        (thought, visible)
    }

    #[test]
    fn thinking_is_split_from_text() {
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
        for (whole, thought, visible) in table {
            assert_eq!(read([whole]), (thought.into(), visible.into()), "{whole:?}");
        }
    }

    #[test]
    fn tags_are_left_alone_where_the_server_parses_reasoning_itself() {
        let mut visible = String::new();
        let mut take = |piece: AnswerPiece<'_>| match piece {
            AnswerPiece::Text(text) => visible.push_str(text),
            AnswerPiece::Thinking(text) => panic!("{text}"),
        };
        let mut splitter = ThinkTagSplitter::default();
        splitter.leave_tags(&mut take);
        splitter.push("<think>a", &mut take);
        assert_eq!(visible, "<think>a");
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
