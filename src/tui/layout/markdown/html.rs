//! HTML as text: tags and comments are shown and stand back, what is between them can be read.
//! Nothing is left out, since what a comment hides may matter.

use crate::tui::layout::Role;
use crate::tui::layout::wrap::{Piece, escape};

/// Reads the lines of a block one after another.
#[derive(Debug, Default)]
pub(super) struct Reader {
    inside: Inside,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Inside {
    #[default]
    Text,
    Tag,
    Comment,
}

impl Reader {
    /// The pieces of the next line, which begins at `source`. Text between tags is in role `text`.
    pub(super) fn line<'t>(&mut self, line: &'t str, source: usize, text: Role) -> Vec<Piece<'t>> {
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < line.len() {
            let rest = &line[at..];
            let (length, role) = match self.inside {
                Inside::Text => {
                    let length = start(rest);
                    if length < rest.len() {
                        let comment = rest[length..].starts_with("<!--");
                        self.inside = if comment { Inside::Comment } else { Inside::Tag };
                    }
                    (length, text)
                }
                Inside::Tag => (self.through(rest, ">"), Role::Muted),
                Inside::Comment => (self.through(rest, "-->"), Role::Muted),
            };
            escape(&rest[..length], role, source + at, &mut pieces);
            at += length;
        }
        pieces
    }

    /// Goes on to the end of what it is inside of.
    fn through(&mut self, rest: &str, end: &str) -> usize {
        match rest.find(end) {
            Some(at) => {
                self.inside = Inside::Text;
                at + end.len()
            }
            None => rest.len(),
        }
    }
}

/// Where the next tag begins.
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
        let mut reader = Reader::default();
        let lines: Vec<Vec<(String, Role)>> = ["<p", " id=x>1 < 2</p>", "<!-- a > b", "--> c"]
            .iter()
            .map(|line| {
                let pieces = reader.line(line, 0, Role::Text);
                pieces.into_iter().map(|piece| (piece.text.into(), piece.role)).collect()
            })
            .collect();
        let muted = |text: &str| (text.to_owned(), Role::Muted);
        let text = |text: &str| (text.to_owned(), Role::Text);
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
