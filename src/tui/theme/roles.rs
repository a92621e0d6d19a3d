//! The names of roles in theme files, and how each looks where there are no colours.
//!
//! [`slot`] is an exhaustive match, so that a new role finds its place here; a test holds it equal
//! to the table.

use ratatui::style::Modifier;

use crate::tui::layout::{Role, Syntax};

/// A role that a theme can set.
#[derive(Debug, Clone, Copy)]
pub struct Named {
    /// Its name in a file; those of code begin with `syntax.`.
    pub name: &'static str,
    /// The role.
    pub role: Role,
    /// What it is, as a phrase for the documentation.
    pub what: &'static str,
    /// What stands in for its colours where they cannot be shown.
    pub plain: Modifier,
}

const PLAIN: Modifier = Modifier::empty();
const BOLD: Modifier = Modifier::BOLD;
const DIM: Modifier = Modifier::DIM;
const ITALIC: Modifier = Modifier::ITALIC;
const UNDERLINED: Modifier = Modifier::UNDERLINED;
const REVERSED: Modifier = Modifier::REVERSED;

/// All roles that a theme can set, in the order of the documentation.
pub const ROLES: [Named; COUNT] = [
    named("text", Role::Screen, "text without a role of its own", PLAIN),
    named("muted", Role::Muted, "hints, counts, paths", DIM),
    named("border", Role::Border, "rules and frames", DIM),
    named("title", Role::Title, "titles of dialogs and lists", BOLD),
    named("key", Role::Key, "a key's name", BOLD),
    named("selected", Role::Selected, "the chosen row of a list", REVERSED),
    named("selection", Role::Selection, "selected text", REVERSED),
    named("match", Role::Match, "what a search or a filter found", BOLD.union(UNDERLINED)),
    named(
        "current-match",
        Role::CurrentMatch,
        "the match that the search stands on",
        REVERSED.union(BOLD),
    ),
    named("user", Role::User, "you", PLAIN),
    named("assistant", Role::Assistant, "the model", PLAIN),
    named("thinking", Role::Thinking, "the model's reasoning", DIM.union(ITALIC)),
    named("tool", Role::Tool, "a tool's name and mark", PLAIN),
    named("system", Role::System, "slug itself", PLAIN),
    named("success", Role::Success, "what went well", PLAIN),
    named("warning", Role::Warning, "what is worth a look", BOLD),
    named("error", Role::Error, "what went wrong", BOLD),
    named("heading-1", Role::Heading(1), "headings of the first level", BOLD.union(UNDERLINED)),
    named("heading-2", Role::Heading(2), "headings of the second level", BOLD),
    named("heading-3", Role::Heading(3), "headings of the third level", BOLD.union(ITALIC)),
    named("heading-4", Role::Heading(4), "all other headings", ITALIC),
    named("strong", Role::Strong, "strong text", BOLD),
    named("emphasis", Role::Emphasis, "emphasised text", ITALIC),
    named("strong-emphasis", Role::StrongEmphasis, "both at once", BOLD.union(ITALIC)),
    named("strikethrough", Role::Strikethrough, "struck text", Modifier::CROSSED_OUT),
    named("code", Role::Code, "code in running text", PLAIN),
    named("code-block", Role::CodeBlock, "code in a block, before it is coloured", PLAIN),
    named("link", Role::Link, "a link's text or address", UNDERLINED),
    named("list-marker", Role::ListMarker, "bullets and numbers of lists", PLAIN),
    named("quote", Role::Quote, "a quote's bar and text", ITALIC),
    named("line-number", Role::LineNumber, "line numbers", DIM),
    named("added", Role::Added, "an added line of a diff", PLAIN),
    named("added-word", Role::AddedWord, "its changed words", BOLD.union(UNDERLINED)),
    named("removed", Role::Removed, "a removed line of a diff", PLAIN),
    named("removed-word", Role::RemovedWord, "its changed words", BOLD.union(UNDERLINED)),
    named("escaped", Role::Escaped, "characters that were made visible", REVERSED),
    named("syntax.keyword", Role::Syntax(Syntax::Keyword), "words of the language", PLAIN),
    named("syntax.function", Role::Syntax(Syntax::Function), "names of functions", PLAIN),
    named("syntax.type", Role::Syntax(Syntax::Type), "names of types", PLAIN),
    named("syntax.string", Role::Syntax(Syntax::String), "strings and characters", PLAIN),
    named("syntax.number", Role::Syntax(Syntax::Number), "numbers and constants", PLAIN),
    named("syntax.comment", Role::Syntax(Syntax::Comment), "comments", DIM.union(ITALIC)),
    named("syntax.punctuation", Role::Syntax(Syntax::Punctuation), "operators, brackets", PLAIN),
    named("syntax.attribute", Role::Syntax(Syntax::Attribute), "attributes, tags, macros", PLAIN),
    named("syntax.variable", Role::Syntax(Syntax::Variable), "variables and the rest", PLAIN),
];

/// How many roles a theme can set.
pub const COUNT: usize = 45;

const fn named(name: &'static str, role: Role, what: &'static str, plain: Modifier) -> Named {
    Named { name, role, what, plain }
}

/// The place of a role's row in [`ROLES`]. Code of changed lines has its line's, and text without
/// a look of its own has none.
pub fn slot(role: Role) -> Option<usize> {
    Some(match role {
        Role::Text | Role::Ansi(_) => return None,
        Role::Screen => 0,
        Role::Muted => 1,
        Role::Border => 2,
        Role::Title => 3,
        Role::Key => 4,
        Role::Selected => 5,
        Role::Selection => 6,
        Role::Match => 7,
        Role::CurrentMatch => 8,
        Role::User => 9,
        Role::Assistant => 10,
        Role::Thinking => 11,
        Role::Tool => 12,
        Role::System => 13,
        Role::Success => 14,
        Role::Warning => 15,
        Role::Error => 16,
        Role::Heading(0 | 1) => 17,
        Role::Heading(2) => 18,
        Role::Heading(3) => 19,
        Role::Heading(4..) => 20,
        Role::Strong => 21,
        Role::Emphasis => 22,
        Role::StrongEmphasis => 23,
        Role::Strikethrough => 24,
        Role::Code => 25,
        Role::CodeBlock => 26,
        Role::Link => 27,
        Role::ListMarker => 28,
        Role::Quote => 29,
        Role::LineNumber => 30,
        Role::Added | Role::AddedSyntax(_) => 31,
        Role::AddedWord => 32,
        Role::Removed | Role::RemovedSyntax(_) => 33,
        Role::RemovedWord => 34,
        Role::Escaped => 35,
        Role::Syntax(Syntax::Keyword) => 36,
        Role::Syntax(Syntax::Function) => 37,
        Role::Syntax(Syntax::Type) => 38,
        Role::Syntax(Syntax::String) => 39,
        Role::Syntax(Syntax::Number) => 40,
        Role::Syntax(Syntax::Comment) => 41,
        Role::Syntax(Syntax::Punctuation) => 42,
        Role::Syntax(Syntax::Attribute) => 43,
        Role::Syntax(Syntax::Variable) => 44,
    })
}

/// The row with this name, and its place.
pub fn find(name: &str) -> Option<(usize, &'static Named)> {
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
