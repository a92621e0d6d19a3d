//! From TextMate scopes to the few kinds that the theme knows.

use std::collections::HashMap;
use std::sync::Arc;

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use super::Token;
use crate::tui::layout::Syntax;

/// Which scopes are what; the first that begins a scope counts.
const SCOPES: &[(&str, Syntax)] = &[
    ("comment", Syntax::Comment),
    ("punctuation.definition.comment", Syntax::Comment),
    ("punctuation.definition.string", Syntax::String),
    ("punctuation.definition.annotation", Syntax::Attribute),
    ("punctuation.definition.tag", Syntax::Punctuation),
    ("string", Syntax::String),
    ("constant", Syntax::Number),
    ("keyword.operator", Syntax::Punctuation),
    ("keyword", Syntax::Keyword),
    ("storage", Syntax::Keyword),
    ("variable.language", Syntax::Keyword),
    ("variable.function", Syntax::Function),
    ("variable.annotation", Syntax::Attribute),
    ("variable", Syntax::Variable),
    ("entity.name.function", Syntax::Function),
    ("entity.name.macro", Syntax::Attribute),
    ("entity.name.tag", Syntax::Attribute),
    ("entity.other.attribute-name", Syntax::Attribute),
    ("entity.other.inherited-class", Syntax::Type),
    ("entity.name", Syntax::Type),
    ("support.function", Syntax::Function),
    ("support.macro", Syntax::Attribute),
    ("support.type.property-name", Syntax::Attribute),
    ("support.constant", Syntax::Number),
    ("support", Syntax::Type),
    ("meta.annotation", Syntax::Attribute),
    ("meta.attribute", Syntax::Attribute),
    ("markup.heading", Syntax::Keyword),
    ("markup.inserted", Syntax::String),
    ("markup.deleted", Syntax::Keyword),
    ("markup.raw", Syntax::String),
    ("punctuation", Syntax::Punctuation),
];

/// Words after a fence that are no language, or one that has nothing to highlight.
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

/// Says what a scope is.
pub(super) struct Classifier {
    table: Vec<(Scope, Syntax)>,
    known: HashMap<Scope, Option<Syntax>>,
}

impl Classifier {
    pub(super) fn new() -> Self {
        let scope = |(name, syntax): &(&str, Syntax)| Some((Scope::new(name).ok()?, *syntax));
        Self { table: SCOPES.iter().filter_map(scope).collect(), known: HashMap::new() }
    }

    /// What the text under these scopes is: the innermost that says anything counts.
    fn classify(&mut self, stack: &ScopeStack) -> Syntax {
        let table = &self.table;
        let known = &mut self.known;
        let mut kind = |scope: Scope| {
            *known.entry(scope).or_insert_with(|| {
                let found = table.iter().find(|(prefix, _)| prefix.is_prefix_of(scope));
                found.map(|(_, syntax)| *syntax)
            })
        };
        stack.as_slice().iter().rev().find_map(|scope| kind(*scope)).unwrap_or(Syntax::Variable)
    }
}

/// Reads code line by line.
#[derive(Clone)]
pub(super) struct Lexer {
    state: ParseState,
    stack: ScopeStack,
    /// A syntax that contradicted itself: the rest stays plain.
    broken: bool,
}

impl Lexer {
    pub(super) fn new(syntax: &SyntaxReference) -> Self {
        Self { state: ParseState::new(syntax), stack: ScopeStack::new(), broken: false }
    }

    /// The tokens of the next line, which is given with its line feed.
    pub(super) fn line(
        &mut self,
        line: &str,
        syntaxes: &SyntaxSet,
        classifier: &mut Classifier,
    ) -> Arc<[Token]> {
        if self.broken {
            return [].into();
        }
        let Ok(operations) = self.state.parse_line(line, syntaxes) else {
            self.broken = true;
            return [].into();
        };
        let length = line.strip_suffix('\n').unwrap_or(line).len();
        let mut tokens: Vec<Token> = Vec::new();
        for (at, operation) in operations {
            push(&mut tokens, at.min(length), || classifier.classify(&self.stack));
            self.broken |= self.stack.apply(&operation).is_err();
        }
        push(&mut tokens, length, || classifier.classify(&self.stack));
        tokens.into()
    }
}

/// Adds a token up to `end`, or lengthens the last one.
fn push(tokens: &mut Vec<Token>, end: usize, syntax: impl FnOnce() -> Syntax) {
    let start = tokens.last().map_or(0, |token| token.end as usize);
    let Ok(to) = u32::try_from(end) else { return };
    if end <= start {
        return;
    }
    let syntax = syntax();
    match tokens.last_mut() {
        Some(last) if last.syntax == syntax => last.end = to,
        Some(_) | None => tokens.push(Token { end: to, syntax }),
    }
}
