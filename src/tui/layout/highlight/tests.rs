//! The worker seen from outside: ask, wait for the callback, ask again.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::*;

fn highlighter() -> (SyntaxHighlighter, Receiver<()>) {
    let (told, tell) = channel();
    // A test that has what it wants no longer listens.
    (SyntaxHighlighter::new(move || told.send(()).unwrap_or_default()), tell)
}

/// The code in its final colours.
fn wait(
    highlighter: &SyntaxHighlighter,
    news: &Receiver<()>,
    language: &str,
    code: &str,
) -> HighlightResult {
    loop {
        let known = highlighter.highlight(language, code);
        if known.colours == HighlightState::Final {
            return known;
        }
        news.recv_timeout(Duration::from_secs(60)).expect("the worker says when it is done");
    }
}

fn kinds(known: &HighlightResult, line: usize, text: &str) -> Vec<(String, SyntaxTokenKind)> {
    let mut start = 0;
    let mut kinds = Vec::new();
    for token in known.line(line) {
        let part = &text[start..token.end as usize];
        start = token.end as usize;
        if !part.trim().is_empty() {
            kinds.push((part.trim().to_owned(), token.syntax));
        }
    }
    kinds
}

#[test]
fn code_gets_its_kinds() {
    let (highlighter, news) = highlighter();
    let code = "fn total() -> u8 { \"two\"; 3 } // four";
    assert_eq!(highlighter.highlight("rust", code).colours, HighlightState::Pending);
    let known = wait(&highlighter, &news, "rust", code);
    let kinds = kinds(&known, 0, code);
    for (text, syntax) in [
        ("fn", SyntaxTokenKind::Keyword),
        ("total", SyntaxTokenKind::Function),
        ("\"two\"", SyntaxTokenKind::String),
        ("3", SyntaxTokenKind::Number),
        ("// four", SyntaxTokenKind::Comment),
    ] {
        assert!(kinds.contains(&(text.into(), syntax)), "{text} in {kinds:?}");
    }
    assert!(highlighter.generation() > 0);
}

#[test]
fn languages_are_found_by_name_extension_and_path() {
    let set = two_face::syntax::extra_newlines();
    for (token, name) in [
        ("rust", "Rust"),
        ("rs", "Rust"),
        ("src/main.rs", "Rust"),
        ("Python", "Python"),
        ("ts", "TypeScript"),
        ("tsx", "TypeScriptReact"),
        ("shell", "Bourne Again Shell (bash)"),
        ("c++", "C++"),
        ("golang", "Go"),
        ("toml", "TOML"),
        ("yml", "YAML"),
        ("Makefile", "Makefile"),
        ("deploy/Dockerfile", "Dockerfile"),
        ("jsonc", "JSON"),
    ] {
        assert_eq!(
            tokens::find(&set, token).map(|syntax| syntax.name.as_str()),
            Some(name),
            "{token}"
        );
    }
    assert!(tokens::find(&set, "klingon").is_none());
}

#[test]
fn an_unknown_language_stays_plain_for_good() {
    let (highlighter, news) = highlighter();
    assert!(wait(&highlighter, &news, "klingon", "Qapla'").is_empty());
}

#[test]
fn code_that_grows_keeps_its_colours_meanwhile() {
    let (highlighter, news) = highlighter();
    let first = "/* a comment\n";
    wait(&highlighter, &news, "c", first);
    let grown = "/* a comment\nthat goes on */ int x;\n";
    assert_eq!(highlighter.highlight("c", grown).len(), 1);
    let known = wait(&highlighter, &news, "c", grown);
    let second = kinds(&known, 1, "that goes on */ int x;");
    assert_eq!(second[0], ("that goes on */".into(), SyntaxTokenKind::Comment));
}

#[test]
fn what_is_too_big_is_not_even_queued() {
    let (highlighter, _news) = highlighter();
    for code in ["x\n".repeat(10_001), "x".repeat(4 * 1024 + 1), "x y z\n".repeat(90_000)] {
        assert_eq!(highlighter.highlight("rust", &code).colours, HighlightState::Final);
    }
    assert!(matches!(highlighter.shared.as_ref().unwrap().lock().worker, HighlightWorker::Idle));
}

#[test]
fn nothing_is_done_when_it_is_off() {
    let off = SyntaxHighlighter::off();
    assert_eq!(off.highlight("rust", "fn").colours, HighlightState::Final);
    assert_eq!(off.generation(), 0);
}
