//! The names of roles in theme files, and how each looks without colours.
//!
//! [`slot`] is an exhaustive match, so that a new role must be given its place here; a test
//! compares it with the table.

use ratatui::style::Modifier;

use crate::tui::layout::{StyleRole, SyntaxTokenKind};

/// A role that a theme can set.
#[derive(Debug, Clone, Copy)]
pub struct ThemeRole {
    /// The name in a file; those of code begin with `syntax.`.
    pub name: &'static str,
    pub role: StyleRole,
    /// A phrase for the documentation.
    pub what: &'static str,
    /// The look of the role where its colours cannot be shown.
    pub plain: Modifier,
}

const PLAIN: Modifier = Modifier::empty();
const BOLD: Modifier = Modifier::BOLD;
const DIM: Modifier = Modifier::DIM;
const ITALIC: Modifier = Modifier::ITALIC;
const UNDERLINED: Modifier = Modifier::UNDERLINED;
const REVERSED: Modifier = Modifier::REVERSED;

/// All roles that a theme can set, in the order of the documentation.
pub const ROLES: [ThemeRole; COUNT] = [
    named("text", StyleRole::Screen, "text without a role of its own", PLAIN),
    named("muted", StyleRole::Muted, "hints, counts, paths", DIM),
    named("border", StyleRole::Border, "rules and frames", DIM),
    named("title", StyleRole::Title, "titles of dialogs and lists", BOLD),
    named("key", StyleRole::Key, "a key's name", BOLD),
    named("selected", StyleRole::Selected, "the chosen row of a list", REVERSED),
    named("selection", StyleRole::Selection, "selected text", REVERSED),
    named("match", StyleRole::Match, "search and filter matches", BOLD.union(UNDERLINED)),
    named("current-match", StyleRole::CurrentMatch, "the current match", REVERSED.union(BOLD)),
    named("user", StyleRole::User, "you", PLAIN),
    named("user-message", StyleRole::UserMessage, "the band of your messages", BOLD),
    named("assistant", StyleRole::Assistant, "the model", PLAIN),
    named("thinking", StyleRole::Thinking, "the model's reasoning", DIM.union(ITALIC)),
    named("tool", StyleRole::Tool, "a tool's name and mark", PLAIN),
    named("system", StyleRole::System, "slug itself", PLAIN),
    named("success", StyleRole::Success, "success", PLAIN),
    named("warning", StyleRole::Warning, "warnings", BOLD),
    named("error", StyleRole::Error, "errors", BOLD),
    named(
        "heading-1",
        StyleRole::Heading(1),
        "headings of the first level",
        BOLD.union(UNDERLINED),
    ),
    named("heading-2", StyleRole::Heading(2), "headings of the second level", BOLD),
    named("heading-3", StyleRole::Heading(3), "headings of the third level", BOLD.union(ITALIC)),
    named("heading-4", StyleRole::Heading(4), "all other headings", ITALIC),
    named("strong", StyleRole::Strong, "strong text", BOLD),
    named("emphasis", StyleRole::Emphasis, "emphasised text", ITALIC),
    named("strong-emphasis", StyleRole::StrongEmphasis, "both at once", BOLD.union(ITALIC)),
    named("strikethrough", StyleRole::Strikethrough, "struck text", Modifier::CROSSED_OUT),
    named("code", StyleRole::Code, "code in running text", PLAIN),
    named("code-block", StyleRole::CodeBlock, "code in a block, before it is coloured", PLAIN),
    named("link", StyleRole::Link, "a link's text or address", UNDERLINED),
    named("list-marker", StyleRole::ListMarker, "bullets and numbers of lists", PLAIN),
    named("quote", StyleRole::Quote, "a quote's bar and text", ITALIC),
    named("line-number", StyleRole::LineNumber, "line numbers", DIM),
    named("added", StyleRole::Added, "an added line of a diff", PLAIN),
    named("added-word", StyleRole::AddedWord, "its changed words", BOLD.union(UNDERLINED)),
    named("removed", StyleRole::Removed, "a removed line of a diff", PLAIN),
    named("removed-word", StyleRole::RemovedWord, "its changed words", BOLD.union(UNDERLINED)),
    named("escaped", StyleRole::Escaped, "invisible characters made visible", REVERSED),
    named(
        "syntax.keyword",
        StyleRole::Syntax(SyntaxTokenKind::Keyword),
        "words of the language",
        PLAIN,
    ),
    named(
        "syntax.function",
        StyleRole::Syntax(SyntaxTokenKind::Function),
        "names of functions",
        PLAIN,
    ),
    named("syntax.type", StyleRole::Syntax(SyntaxTokenKind::Type), "names of types", PLAIN),
    named(
        "syntax.string",
        StyleRole::Syntax(SyntaxTokenKind::String),
        "strings and characters",
        PLAIN,
    ),
    named(
        "syntax.number",
        StyleRole::Syntax(SyntaxTokenKind::Number),
        "numbers and constants",
        PLAIN,
    ),
    named(
        "syntax.comment",
        StyleRole::Syntax(SyntaxTokenKind::Comment),
        "comments",
        DIM.union(ITALIC),
    ),
    named(
        "syntax.punctuation",
        StyleRole::Syntax(SyntaxTokenKind::Punctuation),
        "operators, brackets",
        PLAIN,
    ),
    named(
        "syntax.attribute",
        StyleRole::Syntax(SyntaxTokenKind::Attribute),
        "attributes, tags, macros",
        PLAIN,
    ),
    named(
        "syntax.variable",
        StyleRole::Syntax(SyntaxTokenKind::Variable),
        "variables and everything else",
        PLAIN,
    ),
];

/// Rows of [`ROLES`].
pub const COUNT: usize = 46;

const fn named(
    name: &'static str,
    role: StyleRole,
    what: &'static str,
    plain: Modifier,
) -> ThemeRole {
    ThemeRole { name, role, what, plain }
}

/// The index of a role's row in [`ROLES`]. Code of changed lines has the row of its line; `None`
/// for text without a look of its own.
pub fn slot(role: StyleRole) -> Option<usize> {
    Some(match role {
        StyleRole::Text | StyleRole::Ansi(_) => return None,
        StyleRole::Screen => 0,
        StyleRole::Muted => 1,
        StyleRole::Border => 2,
        StyleRole::Title => 3,
        StyleRole::Key => 4,
        StyleRole::Selected => 5,
        StyleRole::Selection => 6,
        StyleRole::Match => 7,
        StyleRole::CurrentMatch => 8,
        StyleRole::User => 9,
        StyleRole::UserMessage => 10,
        StyleRole::Assistant => 11,
        StyleRole::Thinking => 12,
        StyleRole::Tool => 13,
        StyleRole::System => 14,
        StyleRole::Success => 15,
        StyleRole::Warning => 16,
        StyleRole::Error => 17,
        StyleRole::Heading(0 | 1) => 18,
        StyleRole::Heading(2) => 19,
        StyleRole::Heading(3) => 20,
        StyleRole::Heading(4..) => 21,
        StyleRole::Strong => 22,
        StyleRole::Emphasis => 23,
        StyleRole::StrongEmphasis => 24,
        StyleRole::Strikethrough => 25,
        StyleRole::Code => 26,
        StyleRole::CodeBlock => 27,
        StyleRole::Link => 28,
        StyleRole::ListMarker => 29,
        StyleRole::Quote => 30,
        StyleRole::LineNumber => 31,
        StyleRole::Added | StyleRole::AddedSyntax(_) => 32,
        StyleRole::AddedWord => 33,
        StyleRole::Removed | StyleRole::RemovedSyntax(_) => 34,
        StyleRole::RemovedWord => 35,
        StyleRole::Escaped => 36,
        StyleRole::Syntax(SyntaxTokenKind::Keyword) => 37,
        StyleRole::Syntax(SyntaxTokenKind::Function) => 38,
        StyleRole::Syntax(SyntaxTokenKind::Type) => 39,
        StyleRole::Syntax(SyntaxTokenKind::String) => 40,
        StyleRole::Syntax(SyntaxTokenKind::Number) => 41,
        StyleRole::Syntax(SyntaxTokenKind::Comment) => 42,
        StyleRole::Syntax(SyntaxTokenKind::Punctuation) => 43,
        StyleRole::Syntax(SyntaxTokenKind::Attribute) => 44,
        StyleRole::Syntax(SyntaxTokenKind::Variable) => 45,
    })
}

/// The index and row of the role with this name.
pub fn find(name: &str) -> Option<(usize, &'static ThemeRole)> {
    ROLES.iter().enumerate().find(|(_, row)| row.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_row_stands_where_its_role_is_looked_for() {
        for (at, row) in ROLES.iter().enumerate() {
            assert_eq!(slot(row.role), Some(at), "{}", row.name);
        }
        let names: BTreeSet<&str> = ROLES.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), COUNT);
    }
}
