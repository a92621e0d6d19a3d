//! What the analysis lists, and that no text makes it fail or take long.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

fn canonical(command: &str) -> String {
    match analyse(command).kind {
        AnalysisKind::Static { canonical } => canonical,
        AnalysisKind::NotStatic { why } => format!("not static: {why}"),
        AnalysisKind::NotAnalysable { why } => format!("not analysable: {why}"),
    }
}

#[test]
fn a_static_command_is_written_again_word_by_word() {
    for (command, text) in [
        ("ls -l && pwd", "ls -l && pwd"),
        ("ls|wc -l ; pwd & true", "ls | wc -l; pwd & true"),
        ("ls\npwd # and a comment", "ls\npwd"),
        ("! grep -q x f || echo 'it'\\''s'", r"! grep -q x f || echo 'it'\''s'"),
        ("cargo test 2>&1 | tail", "cargo test 2>&1 | tail"),
        ("make >/dev/null 2>&1", "make >/dev/null 2>&1"),
        ("a |& b", "a 2>&1 | b"),
        ("time -p ls", "time -p ls"),
        ("A=1 B='x y' ls", "A=1 B='x y' ls"),
        ("echo a=b", "echo a=b"),
        ("echo x >out", "echo x >out"),
        ("exec 3>&-", "exec 3>&-"),
        ("'if' x", "'if' x"),
        ("'a=b' c", "'a=b' c"),
        ("'time' ls", "'time' ls"),
    ] {
        assert_eq!(canonical(command), text, "{command}");
    }
}

#[test]
fn the_canonical_text_is_its_own() {
    for command in
        ["ls -l && pwd", "a |& b", "! x || y & z", "A=1 ls >/dev/null", "time -p ls", "echo \\'"]
    {
        let once = canonical(command);
        assert_eq!(canonical(&once), once);
    }
}

#[test]
fn what_is_known_only_when_it_runs_is_not_static() {
    for command in [
        "ls $x",
        "ls *.rs",
        "ls {a,b}",
        "ls ~",
        "x=1",
        "x=1; ls",
        "cat <<E\nx\nE",
        "cat <<<x",
        "f() { ls; }",
        "(ls)",
        "{ ls; }",
        "if ls; then ls; fi",
        "for i in a; do ls; done",
        "[[ -f x ]]",
        "((1))",
        "ls <(ls)",
        "$'ls'",
        "a[1]=x ls",
        "x+=1 ls",
        "coproc ls",
        "> f",
        "",
    ] {
        assert!(canonical(command).starts_with("not static"), "{command}: {}", canonical(command));
    }
}

#[test]
fn every_nested_command_is_listed() {
    for command in [
        "if true; then rm x; fi",
        "for i in a; do rm x; done",
        "while rm x; do :; done",
        "case a in a) rm x;; esac",
        "(rm x)",
        "{ rm x; }",
        "[[ -f a ]] && rm x",
        "f() { rm x; }",
        "coproc rm x",
        "! rm x",
        "time rm x",
        "time -- rm x",
        "ls $(rm x)",
        "ls \"$(rm x)\"",
        "ls `rm x`",
        "ls <(rm x)",
        "ls ${a:-$(rm x)}",
        "echo $((a[$(rm x)]))",
        "[[ -v a[$(rm x)] ]]",
        "cat <<E\n$(rm x)\nE",
        "x=$(rm x)",
        "a=(1 $(rm x))",
        "ls > $(rm x)",
        "until rm x; do :; done",
        "for ((i=$(rm x);;)); do :; done",
        "select i in a; do rm x; done",
    ] {
        let analysis = analyse(command);
        let seen = analysis.commands.iter().flat_map(SimpleCommand::flatten);
        let mut names = seen.filter_map(|command| Some(command.words.first()?.text.clone()));
        let rough = analysis
            .rough
            .iter()
            .flat_map(RoughCommand::candidates)
            .any(|words| words[0].text == "rm");
        assert!(names.any(|name| name == "rm") || rough, "{command}: {analysis:?}");
    }
}

#[test]
fn hostile_nesting_is_refused_at_once() {
    let started = Instant::now();
    for command in [
        "$(".repeat(10_000),
        "{ ".repeat(10_000),
        "(".repeat(10_000),
        "`".repeat(9_999),
        "((".repeat(32),
        "if ".repeat(10_000),
        "if true; then ".repeat(60),
        "case a in a) ".repeat(60),
        "[[ ( ".repeat(64),
        "coproc ".repeat(64),
        "! ".repeat(5_000),
        "((((((((((;".to_owned(),
        "x".repeat(1_000_000),
        "${".repeat(10_000),
        "$((".repeat(5_000),
        "f() ".repeat(3_000),
        "<(".repeat(3_000),
        "((((((((((;))))))))))".repeat(3),
        format!("echo {}x{}", "$(".repeat(60), ")".repeat(60)),
        format!("watch {}", "-x ".repeat(5_000)),
        format!("'{}", "-x ".repeat(300_000)),
        format!("{}x{}", "{ ".repeat(60), "; }".repeat(60)),
        format!("{}x", "env ".repeat(4_000)),
        format!("{}x", "sh -c ".repeat(2_000)),
    ] {
        analyse(&command);
    }
    // Work that grows faster than the text would take hours here; a loaded machine takes seconds.
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn the_deepest_that_is_parsed_fits_its_stack() {
    let deep = format!("{}x{}", "{ ".repeat(60), "; }".repeat(60));
    assert!(matches!(analyse(&deep).kind, AnalysisKind::NotStatic { .. }));
    let deep = format!("{}x{}", "(".repeat(10), ")".repeat(10));
    assert!(matches!(analyse(&deep).kind, AnalysisKind::NotStatic { .. }));
    let deep = format!("echo {}x{}", "$(".repeat(60), ")".repeat(60));
    assert!(matches!(analyse(&deep).kind, AnalysisKind::NotStatic { .. }));
}

proptest! {
    #[test]
    fn any_text_is_analysed_without_panic(text in "\\PC{0,80}") {
        analyse(&text);
    }

    #[test]
    fn any_shell_like_text_is_analysed_without_panic(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "ls", " ", "'", "\"", "$(", ")", "`", "{", "}", "(", ";", "&&", "|", "<", ">",
                "&", "\n", "if", "then", "fi", "case", "in", "esac", "done", "do", "for", "$",
                "\\", "#", "1", "99999999999", "=", "[[", "]]", "!", "~", "*", "<<E", "E", "0",
                "<<''", "<<-", "\t", "  ", "$((", "<<\\", "\\\n", "a[", "]", "+", "time", "coproc", "function", "-p", "~9999999999999999999",
            ]),
            0..24,
        ),
    ) {
        analyse(&parts.concat());
        analyse(&parts.join(" "));
    }
}
