//! How a dialog is read out by a front end without a screen: all of it once, as labelled lines.

use crate::domain::FileDiff;
use crate::domain::sanitize::{sanitize, sanitize_line};

/// A page, dialog or list that is open over the chat.
#[derive(Debug)]
pub struct LinearPage {
    /// Differs for each page, so that a page is read out once.
    pub key: String,
    /// The whole page.
    pub lines: Vec<LabelledLine>,
}

/// Who speaks: decides the label before a line and its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineLabel {
    /// No label: the line continues the one before it.
    Continuation,
    User,
    /// The model's text.
    Model,
    /// A tool call.
    Call,
    /// A question to the user.
    Question,
    /// slug, in passing.
    Note,
    /// slug, about something that needs attention.
    Warning,
    /// slug, about a failure.
    Error,
}

/// A line to write, with its label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledLine {
    pub label: LineLabel,
    /// One line, already harmless.
    pub text: String,
}

impl LabelledLine {
    /// A line with this label; `text` must be one harmless line.
    pub fn new(label: LineLabel, text: impl Into<String>) -> Self {
        Self { label, text: text.into() }
    }
}

/// A text as lines; only the first carries the label.
pub fn lines(label: LineLabel, text: &str) -> Vec<LabelledLine> {
    let text = sanitize(text.strip_suffix('\n').unwrap_or(text));
    let first = std::iter::once(label).chain(std::iter::repeat(LineLabel::Continuation));
    text.split('\n')
        .zip(first)
        .map(|(line, label)| LabelledLine::new(label, line.trim_end()))
        .collect()
}

/// A text on one line.
pub fn line(text: &str) -> String {
    sanitize_line(text)
}

/// Each line two columns further in.
pub fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// The added and removed lines of a diff.
pub fn count_words(diff: &FileDiff) -> String {
    line_count_words((diff.added, diff.removed))
}

/// Added and removed lines.
pub fn line_count_words((added, removed): (usize, usize)) -> String {
    let lines = if added == 1 { "line" } else { "lines" };
    format!("{added} {lines} added, {removed} removed")
}
