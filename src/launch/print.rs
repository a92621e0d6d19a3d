//! Text on standard output and standard error. It may come from models, configuration and servers,
//! so control sequences are made harmless when the output is a terminal. A program that reads the
//! output gets it unchanged.

use std::io::{self, IsTerminal, Write};

use crate::config::ConfigError;
use crate::domain::sanitize::sanitize;
use crate::platform::terminal::output::takes_lines;
use crate::tui::runtime::FrontEndExit;

use super::build;
use super::run_context::RunContext;

/// Writes text to a stream, sanitised when the stream is a terminal.
pub(super) struct PrintWriter<W> {
    to: W,
    reader: PrintConsumer,
}

/// What reads a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PrintConsumer {
    Terminal,
    Program,
}

impl<W: Write + IsTerminal> PrintWriter<W> {
    pub(super) fn new(to: W) -> Self {
        let reader =
            if to.is_terminal() { PrintConsumer::Terminal } else { PrintConsumer::Program };
        Self { to, reader }
    }
}

/// Standard output, for text that may come from models, files or servers.
pub(super) fn out() -> PrintWriter<io::StdoutLock<'static>> {
    PrintWriter::new(io::stdout().lock())
}

/// Expects whole characters in each write, as the `write!` macros send them.
impl<W: Write> Write for PrintWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.reader {
            PrintConsumer::Terminal => {
                self.to.write_all(sanitize(&String::from_utf8_lossy(bytes)).as_bytes())?;
            }
            PrintConsumer::Program => self.to.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// One line on standard error.
pub(super) fn complain(text: &str) {
    // When standard error is closed, there is no place for the message.
    let _ = writeln!(io::stderr(), "slug: {}", sanitize(text));
}

/// Prints the errors of the configuration, one per line.
pub(super) fn config_errors(errors: &[ConfigError]) {
    for error in errors {
        complain(&error.to_string());
    }
}

/// Prints the last page of the chat, and how to continue the session.
pub(super) fn farewell(run_context: &RunContext, exit: &FrontEndExit) {
    // When nothing reads the output, writing would block the end of slug.
    if !takes_lines() {
        return;
    }
    let mut text = exit.page.clone();
    let has_log = |session| build::store(run_context).has_log(session).unwrap_or(false);
    if let Some(session) = exit.session.filter(|session| has_log(*session)) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("To continue this session: slug --resume {session}\n"));
    }
    // When standard output is closed, there is no place for the text.
    let _ = io::stdout().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s73_a_terminal_gets_no_sequences_and_a_program_gets_what_there_is() {
        let text = "a\u{1b}[2Jb\u{9b}c\u{202e}\n";
        for (reader, expected) in
            [(PrintConsumer::Terminal, "a␛[2Jb\\u{9b}c‹U+202E›\n"), (PrintConsumer::Program, text)]
        {
            let mut writer = PrintWriter { to: Vec::new(), reader };
            writeln!(writer, "{}", text.trim_end()).unwrap();
            assert_eq!(String::from_utf8(writer.to).unwrap(), expected);
        }
    }
}
