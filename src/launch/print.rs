//! Words on standard output and standard error. What is printed comes from models, configuration and
//! servers, too: where a terminal would obey it, it is made harmless first. A program that reads it
//! gets it as it is.

use std::io::{self, IsTerminal, Write};

use crate::config::ConfigError;
use crate::domain::sanitize::sanitize;
use crate::platform::terminal::output::takes_lines;
use crate::tui::runtime::FrontEndExit;

use super::build;
use super::run_context::RunContext;

/// A stream of words.
pub(super) struct PrintWriter<W> {
    to: W,
    reader: PrintConsumer,
}

/// Who reads a stream.
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

/// Standard output, for what comes from elsewhere.
pub(super) fn out() -> PrintWriter<io::StdoutLock<'static>> {
    PrintWriter::new(io::stdout().lock())
}

/// Takes whole pieces of text, as the macros write them.
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
    // With standard error closed there is nobody to tell.
    let _ = writeln!(io::stderr(), "slug: {}", sanitize(text));
}

/// What is wrong with the configuration, a line each.
pub(super) fn config_errors(errors: &[ConfigError]) {
    for error in errors {
        complain(&error.to_string());
    }
}

/// After the chat: what was said last, and how to go on with the session.
pub(super) fn farewell(ground: &RunContext, left: &FrontEndExit) {
    // Where nobody reads, the lines would hold up the end.
    if !takes_lines() {
        return;
    }
    let mut text = left.page.clone();
    let begun = |session| build::store(ground).has_log(session).unwrap_or(false);
    if let Some(session) = left.session.filter(|session| begun(*session)) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("To go on with this session: slug --resume {session}\n"));
    }
    // With standard output closed there is nobody to tell.
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
            let mut words = PrintWriter { to: Vec::new(), reader };
            writeln!(words, "{}", text.trim_end()).unwrap();
            assert_eq!(String::from_utf8(words.to).unwrap(), expected);
        }
    }
}
