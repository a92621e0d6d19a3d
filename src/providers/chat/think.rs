//! Reasoning that stands in the text itself, between `<think>` and `</think>`, because the server
//! has no parser for it.
//!
//! The opening tag counts only where the answer begins with it. Many templates open the tag in the
//! prompt, so that the answer holds the closing one alone; by then what stood before it has been
//! shown as text, and it stays text: only the tag goes. That one counts on a line of its own, before
//! any code block, so that an answer about such tags keeps them.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// What is said.
    Text(String),
    /// What is thought.
    Thinking(String),
}

/// Tells thought from text while both stream in.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    state: State,
    /// What cannot be told yet.
    held: String,
}

/// A whole answer without what is thought in it.
pub(super) fn without_thought(answer: &str) -> String {
    let mut splitter = Splitter::default();
    let mut pieces = Vec::new();
    splitter.push(answer, &mut pieces);
    splitter.finish(&mut pieces);
    let said = |piece| match piece {
        Piece::Text(text) => Some(text),
        Piece::Thinking(_) => None,
    };
    pieces.into_iter().filter_map(said).collect()
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing but white space has come.
    #[default]
    Start,
    /// Between the tags.
    Thinking,
    /// Behind the closing tag, before the text.
    Between,
    /// In text that a lone closing tag may still turn up in.
    Watching(Place),
    /// In text that is passed on as it is.
    Text,
}

/// Where text ended that was passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    LineStart,
    /// Within a line that ends in this many backticks.
    Line(u8),
}

impl Splitter {
    /// The server reports reasoning on its own: tags in the text are text.
    pub(super) fn leave_tags(&mut self, out: &mut Vec<Piece>) {
        if self.state != State::Text {
            self.finish(out);
            self.state = State::Text;
        }
    }

    /// Takes the next text in.
    pub(super) fn push(&mut self, text: &str, out: &mut Vec<Piece>) {
        let mut rest = std::mem::take(&mut self.held);
        rest.push_str(text);
        while !rest.is_empty() {
            let Some(next) = self.step(rest, out) else { return };
            rest = next;
        }
    }

    /// The answer is over: nothing is held back any more.
    pub(super) fn finish(&mut self, out: &mut Vec<Piece>) {
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            return;
        }
        match self.state {
            State::Thinking => out.push(Piece::Thinking(held)),
            State::Watching(_) if held.trim_end() == CLOSE => {}
            State::Start | State::Between | State::Watching(_) | State::Text => {
                out.push(Piece::Text(held));
            }
        }
    }

    /// Goes one state on and returns what is left, or nothing when more has to come first.
    fn step(&mut self, text: String, out: &mut Vec<Piece>) -> Option<String> {
        match self.state {
            State::Start => {
                let begun = text.trim_start();
                if let Some(thought) = begun.strip_prefix(OPEN) {
                    self.state = State::Thinking;
                    return Some(thought.to_owned());
                }
                if OPEN.starts_with(begun) {
                    self.held = text;
                    return None;
                }
                self.state = State::Watching(Place::LineStart);
                Some(text)
            }
            State::Thinking => {
                if let Some((thought, rest)) = text.split_once(CLOSE) {
                    push(out, Piece::Thinking, thought);
                    self.state = State::Between;
                    return Some(rest.to_owned());
                }
                let keep = text.len() - partial_close(&text);
                push(out, Piece::Thinking, &text[..keep]);
                self.held = text[keep..].to_owned();
                None
            }
            State::Between => {
                let said = text.trim_start();
                if !said.is_empty() {
                    self.state = State::Text;
                    return Some(said.to_owned());
                }
                None
            }
            State::Watching(place) => self.watch(place, &text, out),
            State::Text => {
                out.push(Piece::Text(text));
                None
            }
        }
    }

    fn watch(&mut self, mut place: Place, text: &str, out: &mut Vec<Piece>) -> Option<String> {
        for (at, letter) in text.char_indices() {
            let line = &text[at..];
            if letter == '<' && place == Place::LineStart && CLOSE.starts_with(cut(line)) {
                push(out, Piece::Text, &text[..at]);
                let Some(rest) = line.strip_prefix(CLOSE).filter(|rest| !rest.is_empty()) else {
                    self.held = line.to_owned();
                    self.state = State::Watching(place);
                    return None;
                };
                if rest.starts_with(['\n', '\r']) {
                    push(out, Piece::Text, "\n");
                    self.state = State::Between;
                    return Some(rest.to_owned());
                }
                self.state = State::Text;
                return Some(line.to_owned());
            }
            place = match (letter, place) {
                ('\n', _) => Place::LineStart,
                ('`', Place::Line(2)) => {
                    self.state = State::Text;
                    return Some(text.to_owned());
                }
                ('`', Place::Line(ticks)) => Place::Line(ticks + 1),
                ('`', Place::LineStart) => Place::Line(1),
                (_, _) => Place::Line(0),
            };
        }
        push(out, Piece::Text, text);
        self.state = State::Watching(place);
        None
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

fn push(out: &mut Vec<Piece>, piece: fn(String) -> Piece, text: &str) {
    if !text.is_empty() {
        out.push(piece(text.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Thought and text after reading these pieces.
    fn read<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (String, String) {
        let mut splitter = Splitter::default();
        let mut out = Vec::new();
        for piece in pieces {
            splitter.push(piece, &mut out);
        }
        splitter.finish(&mut out);
        let (mut thought, mut said) = (String::new(), String::new());
        for piece in out {
            match piece {
                Piece::Thinking(text) => thought.push_str(&text),
                Piece::Text(text) => said.push_str(&text),
            }
        }
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
        let mut splitter = Splitter::default();
        let mut out = Vec::new();
        splitter.leave_tags(&mut out);
        splitter.push("<think>a", &mut out);
        assert_eq!(out, [Piece::Text("<think>a".into())]);
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
