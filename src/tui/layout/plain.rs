//! Lays out text without markup: the user's messages, the model's thinking, notices.
//!
//! Trailing line feeds are dropped: they carry no meaning in any of these.

use super::wrap::{BreakOpportunities, WrapFrame, escape, wrap};
use super::{StyleRole, StyledLine};

/// Lays out `text` in one role, wrapped between words.
pub fn render(text: &str, role: StyleRole, width: u16) -> Vec<StyledLine> {
    let text = text.trim_end_matches(['\n', '\r']);
    let mut pieces = Vec::new();
    escape(text, role, 0, &mut pieces);
    let mut out = Vec::new();
    wrap(&pieces, &WrapFrame::prose(width), &mut out);
    out
}

/// Lays out a path, or another text that is one word: breaks anywhere, so that each row is as full
/// as possible.
pub fn broken_anywhere(text: &str, role: StyleRole, width: u16) -> Vec<StyledLine> {
    let mut pieces = Vec::new();
    escape(text, role, 0, &mut pieces);
    let mut out = Vec::new();
    wrap(
        &pieces,
        &WrapFrame { breaks: BreakOpportunities::Anywhere, ..WrapFrame::prose(width) },
        &mut out,
    );
    out
}

#[cfg(test)]
mod tests {
    use super::super::StyledSpan;
    use super::*;

    #[test]
    fn marks_and_indentation_are_literal() {
        let lines = render("* not a *list*\n    kept\n\n", StyleRole::User, 40);
        let spans: Vec<&[StyledSpan]> = lines.iter().map(|line| line.spans.as_slice()).collect();
        assert_eq!(
            spans,
            [
                [StyledSpan::new("* not a *list*", StyleRole::User)],
                [StyledSpan::new("    kept", StyleRole::User)]
            ]
        );
    }

    #[test]
    fn an_empty_text_is_one_empty_line() {
        assert_eq!(render("", StyleRole::Text, 10).len(), 1);
    }
}
