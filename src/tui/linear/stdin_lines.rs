//! Reads the user's lines on a thread of its own, since standard input blocks.
//!
//! A line that ends in a backslash continues on the next one. The thread reads at most one line
//! ahead, so that the rest of a pipe waits there until it is wanted.

use std::io::{self, BufRead};
use std::thread;

use tokio::sync::mpsc;

use crate::platform::terminal::{drop_unread, has_unread};

/// Where the lines come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StdinSource {
    /// A user at a terminal, which shows what they type.
    Terminal,
    /// A pipe or a file: each line is read only when slug wants one.
    Pipe,
}

/// What a read of one line gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinearInput {
    /// A complete text; several lines where lines ended in a backslash.
    Text(String),
    /// A line that continues on the next one.
    Continuation,
    /// There are no more lines.
    End,
}

/// The user's lines.
#[derive(Debug)]
pub struct StdinLines {
    lines: mpsc::Receiver<io::Result<String>>,
    begun: String,
    pub source: StdinSource,
    /// Whether the lines come from standard input; false in tests.
    is_stdin: bool,
}

impl StdinLines {
    /// Reads standard input.
    ///
    /// # Errors
    ///
    /// Fails when the thread that reads cannot be started.
    pub fn from_stdin(source: StdinSource) -> io::Result<Self> {
        let (sender, lines) = mpsc::channel(1);
        thread::Builder::new().name("ears".to_owned()).spawn(move || {
            for line in io::stdin().lock().lines() {
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { is_stdin: true, ..Self::new(lines, source) })
    }

    /// Reads lines from a channel, for tests.
    pub fn new(lines: mpsc::Receiver<io::Result<String>>, source: StdinSource) -> Self {
        Self { lines, begun: String::new(), source, is_stdin: false }
    }

    /// Waits for the next line. Cancel-safe.
    ///
    /// # Errors
    ///
    /// The error of reading standard input.
    pub async fn next_input(&mut self) -> io::Result<LinearInput> {
        Ok(match self.lines.recv().await {
            Some(line) => self.take(&line?),
            None if self.begun.is_empty() => LinearInput::End,
            None => LinearInput::Text(std::mem::take(&mut self.begun)),
        })
    }

    /// Whether no line is waiting. A pipe is always idle: its lines wait until they are wanted, and
    /// were not typed in reply to anything.
    pub fn is_idle(&self) -> bool {
        match self.source {
            // When the check fails, the next read reports what is wrong with the terminal.
            StdinSource::Terminal => {
                self.lines.is_empty() && !(self.is_stdin && has_unread().unwrap_or(false))
            }
            StdinSource::Pipe => true,
        }
    }

    /// Drops input that was typed before a question was printed, half a line too: it is no answer.
    pub fn drop_typed_ahead(&mut self) {
        if self.is_stdin && self.source == StdinSource::Terminal {
            self.begun.clear();
            if let Err(error) = drop_unread() {
                tracing::warn!(%error, "what was typed before a question cannot be dropped");
            }
        }
    }

    /// Forgets a text that was begun over several lines, as ctrl+c does in a shell.
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
        let (sender, lines) = mpsc::channel(8);
        for line in ["one\\", "two\r", "three\\"] {
            sender.send(Ok(line.to_owned())).await.unwrap();
        }
        drop(sender);
        let mut stdin = StdinLines::new(lines, StdinSource::Pipe);
        let mut inputs = Vec::new();
        while inputs.last() != Some(&LinearInput::End) {
            inputs.push(stdin.next_input().await.unwrap());
        }
        let text = |text: &str| LinearInput::Text(text.to_owned());
        let wanted = [
            LinearInput::Continuation,
            text("one\ntwo"),
            LinearInput::Continuation,
            text("three\n"),
            LinearInput::End,
        ];
        assert_eq!(inputs, wanted);
    }
}
