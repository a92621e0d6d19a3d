//! Tests of the worker from outside: request, wait for the callback, request again.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::*;

fn highlighter() -> (SyntaxHighlighter, Receiver<()>) {
    let (sender, receiver) = channel();
    // A test that has what it wants no longer receives.
    (SyntaxHighlighter::new(move || sender.send(()).unwrap_or_default()), receiver)
}

/// The code in its final colours.
fn wait(
    highlighter: &SyntaxHighlighter,
    receiver: &Receiver<()>,
    language: &str,
    code: &str,
) -> HighlightResult {
    loop {
        let known = highlighter.highlight(language, code);
        if known.colours == HighlightState::Final {
            return known;
        }
        receiver.recv_timeout(Duration::from_secs(60)).expect("the worker says when it is done");
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
    let (highlighter, receiver) = highlighter();
    let code = "fn total() -> u8 { \"two\"; 3 } // four";
    assert_eq!(highlighter.highlight("rust", code).colours, HighlightState::Pending);
    let known = wait(&highlighter, &receiver, "rust", code);
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
    let (highlighter, receiver) = highlighter();
    assert!(wait(&highlighter, &receiver, "klingon", "Qapla'").is_empty());
}

#[test]
fn code_that_grows_keeps_its_colours_meanwhile() {
    let (highlighter, receiver) = highlighter();
    let first = "/* a comment\n";
    wait(&highlighter, &receiver, "c", first);
    let grown = "/* a comment\nthat goes on */ int x;\n";
    assert_eq!(highlighter.highlight("c", grown).len(), 1);
    let known = wait(&highlighter, &receiver, "c", grown);
    let second = kinds(&known, 1, "that goes on */ int x;");
    assert_eq!(second[0], ("that goes on */".into(), SyntaxTokenKind::Comment));
}

#[test]
fn code_that_is_too_big_is_not_queued() {
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
