//! Writes labelled lines, and the prompt after them.
//!
//! A prompt stands at the end of its line until the user's text or something else to say follows.
//! The latter starts a line of its own, and the prompt is written again.

use std::io::{self, Write};

use crate::tui::dialogs::linear_page::{LabelledLine, LineLabel};

/// Whether the labels before lines get colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelColoring {
    /// In the terminal's own 16 colours.
    Labels,
    /// Text only.
    Plain,
}

impl LineLabel {
    fn text(self) -> &'static str {
        match self {
            Self::Continuation => "",
            Self::User => "You:",
            Self::Model => "slug:",
            Self::Call => "Tool:",
            Self::Question => "Question:",
            Self::Note => "Note:",
            Self::Warning => "Warning:",
            Self::Error => "Error:",
        }
    }

    /// SGR parameters.
    fn colour(self) -> &'static str {
        match self {
            Self::Continuation => "0",
            Self::User => "36",
            Self::Model => "32",
            Self::Call => "35",
            Self::Question | Self::Warning => "1;33",
            Self::Note => "33",
            Self::Error => "31",
        }
    }
}

impl LabelledLine {
    /// The text behind its label.
    pub(super) fn labelled(&self) -> String {
        let word = self.label.text();
        let gap = if word.is_empty() || self.text.is_empty() { "" } else { " " };
        format!("{word}{gap}{}", self.text)
    }
}

/// Writes labelled lines and prompts to `out`.
pub struct LabelledLineWriter<W> {
    out: W,
    paint: LabelColoring,
    /// The prompt at the end of the last line.
    prompt: Option<&'static str>,
}

impl<W: Write> LabelledLineWriter<W> {
    /// A writer that has written nothing yet.
    pub fn new(out: W, paint: LabelColoring) -> Self {
        Self { out, paint, prompt: None }
    }

    /// Writes lines, below the prompt if one stands there.
    pub(super) fn write_lines(&mut self, lines: &[LabelledLine]) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        self.finish_line()?;
        for line in lines {
            let (word, text) = (line.label.text(), line.labelled());
            match (self.paint, text.strip_prefix(word)) {
                (LabelColoring::Labels, Some(text)) if !word.is_empty() => {
                    writeln!(self.out, "\x1b[{}m{word}\x1b[0m{text}", line.label.colour())?;
                }
                (LabelColoring::Labels | LabelColoring::Plain, _) => writeln!(self.out, "{text}")?,
            }
        }
        self.out.flush()
    }

    /// Writes the prompt for the next line, unless the same prompt stands there already.
    pub(super) fn write_prompt(&mut self, prompt: &'static str) -> io::Result<()> {
        if self.prompt == Some(prompt) {
            return Ok(());
        }
        self.finish_line()?;
        write!(self.out, "{prompt} ")?;
        self.prompt = Some(prompt);
        self.out.flush()
    }

    /// Notes that the user's line has come. A line that no terminal has shown is written here.
    pub(super) fn line_received(&mut self, unseen: Option<&str>) -> io::Result<()> {
        if let Some(text) = unseen {
            writeln!(self.out, "{text}")?;
        }
        self.prompt = None;
        self.out.flush()
    }

    /// Rings the terminal's bell.
    pub(super) fn ring_bell(&mut self) -> io::Result<()> {
        self.out.write_all(b"\x07")?;
        self.out.flush()
    }

    /// Ends the line on which a prompt stands.
    pub(super) fn finish_line(&mut self) -> io::Result<()> {
        if self.prompt.take().is_some() {
            writeln!(self.out)?;
        }
        self.out.flush()
    }
}
