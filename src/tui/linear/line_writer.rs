//! Writes what is said, and the prompt behind it.
//!
//! A prompt stands at the end of its line until the person's text or something else to say
//! follows; the latter begins a line of its own, and the prompt is said again.

use std::io::{self, Write};

/// Whether words get colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelColoring {
    /// Labels do, in the terminal's own 16 colours.
    Labels,
    /// Nothing but the words.
    Plain,
}

/// Who or what speaks, and so what stands before a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineLabel {
    /// The line goes on with what was said before it.
    Continuation,
    /// The person.
    User,
    /// The model.
    Model,
    /// A call.
    Call,
    /// A question to the person.
    Question,
    /// slug, in passing.
    Note,
    /// slug, about what is worth a look.
    Warning,
    /// slug, about what went wrong.
    Error,
}

/// A line to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LabelledLine {
    /// Who speaks.
    pub(super) label: LineLabel,
    /// The text, on one line, made harmless.
    pub(super) text: String,
}

impl LabelledLine {
    /// A line.
    pub(super) fn new(who: LineLabel, text: impl Into<String>) -> Self {
        Self { label: who, text: text.into() }
    }
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

/// Where words go.
pub struct LabelledLineWriter<W> {
    out: W,
    paint: LabelColoring,
    /// The prompt that stands at the end of the last line.
    prompt: Option<&'static str>,
}

impl<W: Write> LabelledLineWriter<W> {
    /// A voice that has said nothing yet.
    pub fn new(out: W, paint: LabelColoring) -> Self {
        Self { out, paint, prompt: None }
    }

    /// Says lines.
    pub(super) fn write_lines(&mut self, lines: &[LabelledLine]) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        self.finish_line()?;
        for LabelledLine { label: who, text } in lines {
            let label = who.text();
            let gap = if label.is_empty() || text.is_empty() { "" } else { " " };
            match self.paint {
                LabelColoring::Labels if !label.is_empty() => {
                    writeln!(self.out, "\x1b[{}m{label}\x1b[0m{gap}{text}", who.colour())?;
                }
                LabelColoring::Labels | LabelColoring::Plain => {
                    writeln!(self.out, "{label}{gap}{text}")?
                }
            }
        }
        self.out.flush()
    }

    /// Asks for the next line, unless it was asked for just so.
    pub(super) fn write_prompt(&mut self, prompt: &'static str) -> io::Result<()> {
        if self.prompt == Some(prompt) {
            return Ok(());
        }
        self.finish_line()?;
        write!(self.out, "{prompt} ")?;
        self.prompt = Some(prompt);
        self.out.flush()
    }

    /// The person's line has come. One that no terminal has shown is shown here.
    pub(super) fn line_received(&mut self, unseen: Option<&str>) -> io::Result<()> {
        if let Some(text) = unseen {
            writeln!(self.out, "{text}")?;
        }
        self.prompt = None;
        self.out.flush()
    }

    /// Lets a bell sound.
    pub(super) fn ring_bell(&mut self) -> io::Result<()> {
        self.out.write_all(b"\x07")?;
        self.out.flush()
    }

    /// Ends the line that a prompt stands on.
    pub(super) fn finish_line(&mut self) -> io::Result<()> {
        if self.prompt.take().is_some() {
            writeln!(self.out)?;
        }
        self.out.flush()
    }
}
