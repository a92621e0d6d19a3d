//! Reads lines on a thread of its own, since standard input blocks.
//!
//! A line that ends in a backslash goes on in the next one. The thread reads at most one line
//! ahead, so that what stands in a pipe waits there until it is wanted.

use std::io::{self, BufRead};
use std::thread;

use tokio::sync::mpsc;

use crate::platform::terminal::{drop_unread, has_unread};

/// Where lines come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StdinSource {
    /// A person at a terminal, which shows what they type.
    Terminal,
    /// A pipe or a file: each line waits until it is asked for.
    Pipe,
}

/// What was heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinearInput {
    /// A whole text, of more than one line where lines went on.
    Text(String),
    /// A line that goes on.
    Continuation,
    /// There will be nothing more.
    End,
}

/// The person's lines.
#[derive(Debug)]
pub struct StdinLines {
    lines: mpsc::Receiver<io::Result<String>>,
    begun: String,
    /// Where they come from.
    pub source: StdinSource,
    /// Whether they are those of standard input.
    is_stdin: bool,
}

impl StdinLines {
    /// Listens to standard input.
    pub fn from_stdin(hand: StdinSource) -> io::Result<Self> {
        let (heard, lines) = mpsc::channel(1);
        thread::Builder::new().name("ears".to_owned()).spawn(move || {
            for line in io::stdin().lock().lines() {
                if heard.blocking_send(line).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { is_stdin: true, ..Self::new(lines, hand) })
    }

    /// Listens to lines that come from elsewhere.
    pub fn new(lines: mpsc::Receiver<io::Result<String>>, hand: StdinSource) -> Self {
        Self { lines, begun: String::new(), source: hand, is_stdin: false }
    }

    /// The next line. May be dropped and called again.
    pub async fn next_input(&mut self) -> io::Result<LinearInput> {
        Ok(match self.lines.recv().await {
            Some(line) => self.take(&line?),
            None if self.begun.is_empty() => LinearInput::End,
            None => LinearInput::Text(std::mem::take(&mut self.begun)),
        })
    }

    /// Whether no line waits to be heard. What stands in a pipe waits until it is asked for, and was
    /// not typed at anything.
    pub fn is_idle(&self) -> bool {
        match self.source {
            // A terminal that cannot be asked is read on, which says what is wrong with it.
            StdinSource::Terminal => {
                self.lines.is_empty() && !(self.is_stdin && has_unread().unwrap_or(false))
            }
            StdinSource::Pipe => true,
        }
    }

    /// A question was printed: what was typed before it, half a line too, is no answer.
    pub fn drop_typed_ahead(&mut self) {
        if self.is_stdin && self.source == StdinSource::Terminal {
            self.begun.clear();
            if let Err(error) = drop_unread() {
                tracing::warn!(%error, "what was typed before a question cannot be dropped");
            }
        }
    }

    /// Forgets a text that was begun, as ctrl+c does in a shell.
    pub fn forget(&mut self) {
        self.begun.clear();
    }

    fn take(&mut self, line: &str) -> LinearInput {
        let line = line.strip_suffix('\r').unwrap_or(line);
        match line.strip_suffix('\\') {
            Some(line) => {
                self.begun.push_str(line);
                self.begun.push('\n');
                LinearInput::Continuation
            }
            None => {
                let mut text = std::mem::take(&mut self.begun);
                text.push_str(line);
                LinearInput::Text(text)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_backslash_at_the_end_goes_on() {
        let (say, lines) = mpsc::channel(8);
        for line in ["one\\", "two\r", "three\\"] {
            say.send(Ok(line.to_owned())).await.unwrap();
        }
        drop(say);
        let mut ears = StdinLines::new(lines, StdinSource::Pipe);
        let mut heard = Vec::new();
        while heard.last() != Some(&LinearInput::End) {
            heard.push(ears.next_input().await.unwrap());
        }
        let text = |text: &str| LinearInput::Text(text.to_owned());
        let wanted = [
            LinearInput::Continuation,
            text("one\ntwo"),
            LinearInput::Continuation,
            text("three\n"),
            LinearInput::End,
        ];
        assert_eq!(heard, wanted);
    }
}
