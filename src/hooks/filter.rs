//! Which tools a hook applies to; for events without a tool, which kinds of the event.

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;

use super::hook::HookForm;
use crate::domain::compile_regex;

/// What a hook applies to. The filter of the short form ignores case, that of the matcher form does
/// not.
///
/// Nothing, an empty text and `*` match everything. Letters, digits, `_`, `-` and spaces are a
/// name, with `|` or `,` between several names; anything else is a regular expression, which may
/// match any part of the name.
#[derive(Debug, Clone)]
pub struct HookFilter {
    text: String,
    fits: HookFilterPattern,
}

#[derive(Debug, Clone)]
enum HookFilterPattern {
    All,
    Names(Vec<String>),
    /// Names in lower case, compared without regard to case.
    NamesIgnoringCase(Vec<String>),
    Pattern(RegexMatcher),
}

impl HookFilter {
    /// A filter that matches everything.
    pub fn all() -> Self {
        Self { text: String::new(), fits: HookFilterPattern::All }
    }

    /// Reads a filter.
    ///
    /// # Errors
    ///
    /// Fails when the text is no valid regular expression; the error says why.
    pub fn parse(text: &str, form: HookForm) -> Result<Self, String> {
        let text = text.trim();
        let is_name = |c: char| c.is_alphanumeric() || "_-|, ".contains(c);
        let fits = if text.is_empty() || text == "*" {
            HookFilterPattern::All
        } else if text.chars().all(is_name) {
            let names = text.split(['|', ',']).map(str::trim).filter(|name| !name.is_empty());
            match form {
                HookForm::Short => {
                    HookFilterPattern::NamesIgnoringCase(names.map(str::to_lowercase).collect())
                }
                HookForm::Matcher => HookFilterPattern::Names(names.map(str::to_owned).collect()),
            }
        } else {
            let pattern = compile_regex(text, |builder| {
                builder.case_insensitive(form == HookForm::Short);
            });
            let why = "is not a valid regular expression";
            HookFilterPattern::Pattern(pattern.map_err(|error| format!("`{text}` {why}: {error}"))?)
        };
        Ok(Self { text: text.to_owned(), fits })
    }

    /// The filter as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the filter matches this tool or kind. An event that has neither matches every
    /// filter.
    pub fn fits(&self, subject: Option<&str>) -> bool {
        let Some(subject) = subject else { return true };
        match &self.fits {
            HookFilterPattern::All => true,
            HookFilterPattern::Names(names) => names.iter().any(|name| name == subject),
            HookFilterPattern::NamesIgnoringCase(names) => names.contains(&subject.to_lowercase()),
            // This matcher never fails.
            HookFilterPattern::Pattern(pattern) => {
                pattern.is_match(subject.as_bytes()).unwrap_or(true)
            }
        }
    }
}
