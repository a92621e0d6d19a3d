//! A search query: plain text or a regular expression, with smart case. The searches of the
//! transcript and the pager pass in their text and use the matches as they need.

use std::fmt;
use std::ops::Range;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;

use crate::domain::compile_regex;

/// A compiled query, which is never empty.
#[derive(Clone)]
pub struct TextQuery {
    text: String,
    kind: TextQueryKind,
    matcher: RegexMatcher,
}

/// How the text of a query is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TextQueryKind {
    /// Literally.
    #[default]
    Plain,
    /// As a regular expression.
    Regex,
}

/// Why a text cannot be made a query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextQueryError {
    #[error("Type something to search for.")]
    Empty,
    /// The regular expression is invalid or too large; with the reason.
    #[error("Not a valid regular expression: {0}")]
    Regex(String),
}

impl TextQuery {
    /// Compiles a query with smart case: it ignores case, unless the text has a capital letter.
    ///
    /// # Errors
    ///
    /// [`TextQueryError::Empty`] for an empty text, and [`TextQueryError::Regex`] with the parser's
    /// reason for an invalid or too large regular expression.
    pub fn new(text: &str, kind: TextQueryKind) -> Result<Self, TextQueryError> {
        if text.is_empty() {
            return Err(TextQueryError::Empty);
        }
        let compiled = compile_regex(text, |builder| {
            match kind {
                TextQueryKind::Plain => {
                    let any_case = !text.chars().any(char::is_uppercase);
                    builder.fixed_strings(true).case_insensitive(any_case)
                }
                TextQueryKind::Regex => builder.case_smart(true),
            };
        });
        let matcher = compiled.map_err(|error| {
            // The parser's message shows the pattern over several lines; the last line has the
            // reason.
            let whole = error.to_string();
            let last = whole.lines().last().unwrap_or_default();
            TextQueryError::Regex(last.trim_start_matches("error: ").to_owned())
        })?;
        Ok(Self { text: text.to_owned(), kind, matcher })
    }

    /// The text as it was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How the text is read.
    pub fn kind(&self) -> TextQueryKind {
        self.kind
    }

    /// The byte ranges of the matches in `line`, from left to right; none is empty, none overlap.
    pub fn matches(&self, line: &str) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        // The matcher's error type has no values.
        let _ = self.matcher.find_iter(line.as_bytes(), |found| {
            let range = found.start()..found.end();
            if !range.is_empty() && line.get(range.clone()).is_some() {
                ranges.push(range);
            }
            true
        });
        ranges
    }
}

impl PartialEq for TextQuery {
    fn eq(&self, other: &Self) -> bool {
        (&self.text, self.kind) == (&other.text, other.kind)
    }
}

impl fmt::Debug for TextQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query").field("text", &self.text).field("kind", &self.kind).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(text: &str, kind: TextQueryKind, line: &str) -> Vec<Range<usize>> {
        TextQuery::new(text, kind).unwrap().matches(line)
    }

    #[test]
    fn every_match_of_a_line_is_found() {
        use TextQueryKind::{Plain, Regex};
        let table = [
            ("ab", Plain, "ab xab AB", &[(0, 2), (4, 6), (7, 9)][..]),
            ("Ab", Plain, "ab Ab AB", &[(3, 5)]),
            ("a.c", Plain, "abc a.c", &[(4, 7)]),
            ("a.c", Regex, "abc a.c", &[(0, 3), (4, 7)]),
            ("A.c", Regex, "abc Abc", &[(4, 7)]),
            ("x*", Regex, "axxb", &[(1, 3)]),
            ("Ä", Plain, "äÄ", &[(2, 4)]),
            ("ä", Plain, "äÄ", &[(0, 2), (2, 4)]),
        ];
        for (text, kind, line, wanted) in table {
            let found = found(text, kind, line).into_iter();
            let found: Vec<(usize, usize)> = found.map(|range| (range.start, range.end)).collect();
            assert_eq!(found, wanted, "{text} in {line}");
        }
    }

    #[test]
    fn invalid_queries_say_why() {
        assert_eq!(TextQuery::new("", TextQueryKind::Plain), Err(TextQueryError::Empty));
        let error = TextQuery::new("a(", TextQueryKind::Regex).unwrap_err().to_string();
        assert!(error.contains("unclosed group"), "{error}");
        assert!(TextQuery::new("a(", TextQueryKind::Plain).is_ok());
    }

    proptest! {
        #[test]
        fn plain_queries_find_what_they_say(text in "[a-cÄß(.*\\\\]{1,4}", line in "\\PC{0,40}") {
            let line = format!("{line}{text}");
            let ranges = found(&text, TextQueryKind::Plain, &line);
            prop_assert!(!ranges.is_empty());
            for range in ranges {
                prop_assert_eq!(line[range].to_lowercase(), text.to_lowercase());
            }
        }
    }
}
