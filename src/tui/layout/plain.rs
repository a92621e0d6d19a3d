//! Text that is shown as it is: what the person wrote, what the model thought, notices.
//!
//! No markup is looked for. Trailing line feeds are left out, since nobody means them.

use super::wrap::{Breaks, Frame, escape, wrap};
use super::{Line, Role};

/// Lays out `text` in one role.
pub fn render(text: &str, role: Role, width: u16) -> Vec<Line> {
    let text = text.trim_end_matches(['\n', '\r']);
    let mut pieces = Vec::new();
    escape(text, role, 0, &mut pieces);
    let mut out = Vec::new();
    wrap(&pieces, &Frame::prose(width), &mut out);
    out
}

/// Lays out a path, or another text that is one word: each row is as full as it can be.
pub fn broken_anywhere(text: &str, role: Role, width: u16) -> Vec<Line> {
    let mut pieces = Vec::new();
    escape(text, role, 0, &mut pieces);
    let mut out = Vec::new();
    wrap(&pieces, &Frame { breaks: Breaks::Anywhere, ..Frame::prose(width) }, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::super::Span;
    use super::*;

    #[test]
    fn marks_and_indentation_are_literal() {
        let lines = render("* not a *list*\n    kept\n\n", Role::User, 40);
        let spans: Vec<&[Span]> = lines.iter().map(|line| line.spans.as_slice()).collect();
        assert_eq!(
            spans,
            [[Span::new("* not a *list*", Role::User)], [Span::new("    kept", Role::User)]]
        );
    }

    #[test]
    fn an_empty_text_is_one_empty_line() {
        assert_eq!(render("", Role::Text, 10).len(), 1);
    }
}
