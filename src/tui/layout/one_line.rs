//! Texts that are shown on one line, or by their first lines: titles, names, questions.
//!
//! A frame makes them harmless each time it is drawn, so no more than their beginning is.

use std::borrow::Cow;

use crate::domain::sanitize::sanitize_line;

/// The most bytes of such a text that are laid out.
pub const MAX_LINE: usize = 8 * 1024;

/// A text on one line, harmless for a terminal; no more than the beginning of a very long one.
pub fn harmless(text: &str) -> String {
    sanitize_line(&beginning(text))
}

/// A text, or the beginning of a very long one.
pub fn beginning(text: &str) -> Cow<'_, str> {
    match text.get(..text.floor_char_boundary(MAX_LINE)) {
        Some(start) if start.len() < text.len() => format!("{start}…").into(),
        Some(_) | None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_laid_out_up_to_its_limit() {
        for (text, length) in [("ä".repeat(MAX_LINE), MAX_LINE + 3), ("ok".into(), 2)] {
            assert_eq!(harmless(&text).len(), length);
        }
        assert_eq!(harmless("a\x1b[31m\u{202e}\t\n"), "a␛[31m‹U+202E›    ␊");
    }
}
