//! Maps TextMate scopes to the few kinds of code that themes know.

use std::collections::HashMap;
use std::sync::Arc;

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use super::SyntaxToken;
use crate::tui::layout::SyntaxTokenKind;

/// The kind of each scope; the first entry that is a prefix of a scope counts.
const SCOPES: &[(&str, SyntaxTokenKind)] = &[
    ("comment", SyntaxTokenKind::Comment),
    ("punctuation.definition.comment", SyntaxTokenKind::Comment),
    ("punctuation.definition.string", SyntaxTokenKind::String),
    ("punctuation.definition.annotation", SyntaxTokenKind::Attribute),
    ("punctuation.definition.tag", SyntaxTokenKind::Punctuation),
    ("string", SyntaxTokenKind::String),
    ("constant", SyntaxTokenKind::Number),
    ("keyword.operator", SyntaxTokenKind::Punctuation),
    ("keyword", SyntaxTokenKind::Keyword),
    ("storage", SyntaxTokenKind::Keyword),
    ("variable.language", SyntaxTokenKind::Keyword),
    ("variable.function", SyntaxTokenKind::Function),
    ("variable.annotation", SyntaxTokenKind::Attribute),
    ("variable", SyntaxTokenKind::Variable),
    ("entity.name.function", SyntaxTokenKind::Function),
    ("entity.name.macro", SyntaxTokenKind::Attribute),
    ("entity.name.tag", SyntaxTokenKind::Attribute),
    ("entity.other.attribute-name", SyntaxTokenKind::Attribute),
    ("entity.other.inherited-class", SyntaxTokenKind::Type),
    ("entity.name", SyntaxTokenKind::Type),
    ("support.function", SyntaxTokenKind::Function),
    ("support.macro", SyntaxTokenKind::Attribute),
    ("support.type.property-name", SyntaxTokenKind::Attribute),
    ("support.constant", SyntaxTokenKind::Number),
    ("support", SyntaxTokenKind::Type),
    ("meta.annotation", SyntaxTokenKind::Attribute),
    ("meta.attribute", SyntaxTokenKind::Attribute),
    ("markup.heading", SyntaxTokenKind::Keyword),
    ("markup.inserted", SyntaxTokenKind::String),
    ("markup.deleted", SyntaxTokenKind::Keyword),
    ("markup.raw", SyntaxTokenKind::String),
    ("punctuation", SyntaxTokenKind::Punctuation),
];

/// Words after a fence that name no language, or one without anything to highlight.
pub(super) fn is_plain(language: &str) -> bool {
    matches!(language, "" | "text" | "txt" | "plain" | "plaintext" | "output" | "none" | "ascii")
}

/// The syntax for the word after a fence, a file extension or a path.
pub(super) fn find<'s>(set: &'s SyntaxSet, language: &str) -> Option<&'s SyntaxReference> {
    let name = language.rsplit(['/', '\\']).next().unwrap_or(language);
    let extension = name.rsplit('.').next().unwrap_or(name);
    [alias(language), name, extension].iter().find_map(|token| set.find_syntax_by_token(token))
}

/// Common names that are neither the name nor an extension of a syntax.
fn alias(language: &str) -> &str {
    match language {
        "shell" | "console" | "shellsession" | "sh" | "zsh" | "terminal" => "bash",
        "golang" => "go",
        "c++" | "cxx" => "cpp",
        "csharp" => "cs",
        "jsonc" | "json5" | "jsonl" => "json",
        "node" | "mjs" | "cjs" => "js",
        "mts" | "cts" => "ts",
        "docker" => "Dockerfile",
        "make" => "Makefile",
        "viml" => "vim",
        _ => language,
    }
}

/// Maps scopes to kinds.
pub(super) struct ScopeClassifier {
    table: Vec<(Scope, SyntaxTokenKind)>,
    known: HashMap<Scope, Option<SyntaxTokenKind>>,
}

impl ScopeClassifier {
    pub(super) fn new() -> Self {
        let scope =
            |(name, syntax): &(&str, SyntaxTokenKind)| Some((Scope::new(name).ok()?, *syntax));
        Self { table: SCOPES.iter().filter_map(scope).collect(), known: HashMap::new() }
    }

    /// The kind of text under these scopes: the innermost scope that has one decides.
    fn classify(&mut self, stack: &ScopeStack) -> SyntaxTokenKind {
        let table = &self.table;
        let known = &mut self.known;
        let mut kind = |scope: Scope| {
            *known.entry(scope).or_insert_with(|| {
                let found = table.iter().find(|(prefix, _)| prefix.is_prefix_of(scope));
                found.map(|(_, syntax)| *syntax)
            })
        };
        stack
            .as_slice()
            .iter()
            .rev()
            .find_map(|scope| kind(*scope))
            .unwrap_or(SyntaxTokenKind::Variable)
    }
}

/// Tokenises code line by line.
#[derive(Clone)]
pub(super) struct CodeLexer {
    state: ParseState,
    stack: ScopeStack,
    /// The syntax definition failed: the rest stays plain.
    broken: bool,
}

impl CodeLexer {
    pub(super) fn new(syntax: &SyntaxReference) -> Self {
        Self { state: ParseState::new(syntax), stack: ScopeStack::new(), broken: false }
    }

    /// The tokens of the next line, which is given with its line feed.
    pub(super) fn line(
        &mut self,
        line: &str,
        syntaxes: &SyntaxSet,
        classifier: &mut ScopeClassifier,
    ) -> Arc<[SyntaxToken]> {
        if self.broken {
            return [].into();
        }
        let Ok(operations) = self.state.parse_line(line, syntaxes) else {
            self.broken = true;
            return [].into();
        };
        let length = line.strip_suffix('\n').unwrap_or(line).len();
        let mut tokens: Vec<SyntaxToken> = Vec::new();
        for (at, operation) in operations {
            push(&mut tokens, at.min(length), || classifier.classify(&self.stack));
            self.broken |= self.stack.apply(&operation).is_err();
        }
        push(&mut tokens, length, || classifier.classify(&self.stack));
        tokens.into()
    }
}

/// Adds a token up to `end`, or extends the last one.
fn push(tokens: &mut Vec<SyntaxToken>, end: usize, syntax: impl FnOnce() -> SyntaxTokenKind) {
    let start = tokens.last().map_or(0, |token| token.end as usize);
    let Ok(to) = u32::try_from(end) else { return };
    if end <= start {
        return;
    }
    let syntax = syntax();
    match tokens.last_mut() {
        Some(last) if last.syntax == syntax => last.end = to,
        Some(_) | None => tokens.push(SyntaxToken { end: to, syntax }),
    }
}
