//! Code blocks: their text with its positions in the source, and their lines.

use crate::tui::layout::code as lines;
pub(super) use crate::tui::layout::code::{known_or_guessed, language};
use crate::tui::layout::highlight::{HighlightResult, SyntaxHighlighter};
use crate::tui::layout::wrap::WrapFrame;
use crate::tui::layout::{StyleRole, StyledLine, StyledSpan};

/// Stands on the left of every line of code.
pub(super) const CODE_BAR: &str = "│ ";

/// The text of a block that is laid out line by line.
#[derive(Debug, Default)]
pub(super) struct CodeText {
    pub(super) text: String,
    /// Pairs of a byte in the text and its byte in the source, wherever the distance changes.
    places: Vec<(usize, usize)>,
    source: usize,
}

impl CodeText {
    /// An empty text of the block that begins at `source`.
    pub(super) fn at(source: usize) -> Self {
        Self { source, ..Self::default() }
    }

    /// Start of the block in the source.
    pub(super) fn source(&self) -> usize {
        self.source
    }

    /// Adds text that stands at `source`.
    pub(super) fn push(&mut self, text: &str, source: usize) {
        self.places.push((self.text.len(), source));
        self.text.push_str(text);
    }

    /// The lines, each with its start in the source.
    pub(super) fn lines(&self) -> impl Iterator<Item = (&str, usize)> {
        let mut at = 0;
        lines::split(&self.text).map(move |line| {
            let place = self.places.partition_point(|(start, _)| *start <= at);
            let place = place.checked_sub(1).and_then(|index| self.places.get(index));
            let source = place.map_or(self.source, |(start, source)| source + (at - start));
            at += line.len() + 1;
            (line, source)
        })
    }
}

/// The colours of a code block. A diff is coloured by its own rules.
pub(super) fn highlight(
    highlighter: &SyntaxHighlighter,
    language: &str,
    code: &str,
) -> HighlightResult {
    if is_diff(language) {
        return HighlightResult::default();
    }
    highlighter.highlight(language, code)
}

fn is_diff(language: &str) -> bool {
    matches!(language, "diff" | "patch")
}

/// Lays out one line of a code block.
pub(super) fn line(
    line: &str,
    source: usize,
    index: usize,
    language: &str,
    known: &HighlightResult,
    frame: &WrapFrame,
    out: &mut Vec<StyledLine>,
) {
    let plain = match line.as_bytes().first() {
        Some(b'+') if is_diff(language) => StyleRole::Added,
        Some(b'-') if is_diff(language) => StyleRole::Removed,
        Some(b'@') if is_diff(language) => StyleRole::Muted,
        Some(_) | None => StyleRole::CodeBlock,
    };
    let tokens = known.line(index).iter();
    let runs = tokens.map(|token| (token.end as usize, StyleRole::Syntax(token.syntax)));
    let frame = lines::hanging(line, frame);
    lines::line(line, runs, plain, source, &frame, out);
}

/// The frame of a top-level code block, for lines that continue it.
pub(super) fn frame(width: u16) -> WrapFrame {
    let bar = vec![StyledSpan::new(CODE_BAR, StyleRole::Border)];
    WrapFrame { first: bar.clone(), rest: bar, ..WrapFrame::prose(width) }
}
