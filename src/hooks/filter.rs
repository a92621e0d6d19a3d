//! Which tools a hook is for; of events without a tool, which of their kinds.

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use super::hook::HookForm;

/// What a hook is for. The short form's filter ignores case, the other one's does not.
///
/// Nothing, an empty text and `*` are everything. Letters, digits, `_`, `-` and spaces are a name,
/// with `|` or `,` between several; anything else is a regular expression, which may match any part
/// of the name.
#[derive(Debug, Clone)]
pub struct HookFilter {
    text: String,
    fits: HookFilterPattern,
}

#[derive(Debug, Clone)]
enum HookFilterPattern {
    All,
    Names(Vec<String>),
    /// The same without regard to case.
    NamesIgnoringCase(Vec<String>),
    Pattern(RegexMatcher),
}

impl HookFilter {
    /// For everything.
    pub fn all() -> Self {
        Self { text: String::new(), fits: HookFilterPattern::All }
    }

    /// Reads a filter; where it cannot be read, why.
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
            let pattern = RegexMatcherBuilder::new()
                .case_insensitive(form == HookForm::Short)
                .size_limit(1 << 20)
                .build(text);
            let why = "is no regular expression";
            HookFilterPattern::Pattern(pattern.map_err(|error| format!("`{text}` {why}: {error}"))?)
        };
        Ok(Self { text: text.to_owned(), fits })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is for this tool or kind; what has none of them is for all.
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
