//! Shows HTML as text: tags and comments are muted, and the text between them is readable. Nothing
//! is left out, since the content of a comment may matter.

use crate::tui::layout::StyleRole;
use crate::tui::layout::wrap::{StyledPiece, escape};

/// Splits the lines of a block, one after another, into tags and text.
#[derive(Debug, Default)]
pub(super) struct HtmlReader {
    inside: HtmlState,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum HtmlState {
    #[default]
    Text,
    Tag,
    Comment,
}

impl HtmlReader {
    /// The pieces of the next line, which begins at `source`. Text between tags has the role
    /// `text`.
    pub(super) fn line<'t>(
        &mut self,
        line: &'t str,
        source: usize,
        text: StyleRole,
    ) -> Vec<StyledPiece<'t>> {
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < line.len() {
            let rest = &line[at..];
            let (length, role) = match self.inside {
                HtmlState::Text => {
                    let length = start(rest);
                    if length < rest.len() {
                        let comment = rest[length..].starts_with("<!--");
                        self.inside = if comment { HtmlState::Comment } else { HtmlState::Tag };
                    }
                    (length, text)
                }
                HtmlState::Tag => (self.through(rest, ">"), StyleRole::Muted),
                HtmlState::Comment => (self.through(rest, "-->"), StyleRole::Muted),
            };
            escape(&rest[..length], role, source + at, &mut pieces);
            at += length;
        }
        pieces
    }

    /// The index after `end` in `rest`, or the end of the line, where the construct stays open.
    fn through(&mut self, rest: &str, end: &str) -> usize {
        match rest.find(end) {
            Some(at) => {
                self.inside = HtmlState::Text;
                at + end.len()
            }
            None => rest.len(),
        }
    }
}

/// Index of the next tag.
fn start(text: &str) -> usize {
    let tag = |(at, _): &(usize, &str)| {
        let next = text[at + 1..].chars().next();
        next.is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'))
    };
    text.match_indices('<').find(tag).map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_stand_back_and_text_does_not() {
        let mut reader = HtmlReader::default();
        let lines: Vec<Vec<(String, StyleRole)>> = ["<p", " id=x>1 < 2</p>", "<!-- a > b", "--> c"]
            .iter()
            .map(|line| {
                let pieces = reader.line(line, 0, StyleRole::Text);
                pieces.into_iter().map(|piece| (piece.text.into(), piece.role)).collect()
            })
            .collect();
        let muted = |text: &str| (text.to_owned(), StyleRole::Muted);
        let text = |text: &str| (text.to_owned(), StyleRole::Text);
        assert_eq!(
            lines,
            [
                vec![muted("<p")],
                vec![muted(" id=x>"), text("1 < 2"), muted("</p>")],
                vec![muted("<!-- a > b")],
                vec![muted("-->"), text(" c")],
            ]
        );
    }
}
