//! Branches of a session as text: two of them compared, for a page, and one of them summed up, for
//! the input. No model is asked: what is told is what was asked, what was answered last, and what
//! became of files.

use std::fmt::Write;

use crate::domain::Role;
use crate::domain::sanitize::sanitize;
use crate::session::{Branch, Comparison, FileDelta, SaidThere};

/// Questions of a summary, the last ones, and characters of each.
const QUESTIONS: usize = 12;
const QUESTION: usize = 240;
/// Characters of its answer.
const ANSWER: usize = 4000;

const BOLD: &str = "\u{1b}[1m";
const FAINT: &str = "\u{1b}[2m";
const GREEN: &str = "\u{1b}[32m";
const RED: &str = "\u{1b}[31m";
const PLAIN: &str = "\u{1b}[0m";

/// Two branches: where they part, the files that each changed, and what was said in each.
pub fn compared(comparison: &Comparison) -> String {
    let Comparison { shared, parted, branches } = comparison;
    let mut page = String::new();
    match parted {
        Some(parted) => {
            let count = counted(*shared, "message");
            let _ = writeln!(page, "They share {count} and part after this one:\n");
            tell(&mut page, parted);
        }
        None => page.push_str("They have no message in common.\n\n"),
    }
    for (letter, branch) in ["A", "B"].into_iter().zip(branches) {
        let said = counted(branch.said.len(), "message");
        let files = counted(branch.files.len(), "file");
        let title = title(branch);
        let _ = writeln!(page, "{BOLD}{letter}{PLAIN}  {title}  {FAINT}{said}, {files}{PLAIN}");
    }
    page.push('\n');
    files(&mut page, branches);
    for (letter, branch) in ["A", "B"].into_iter().zip(branches) {
        let _ = writeln!(page, "{BOLD}── {letter}  {} ──{PLAIN}\n", title(branch));
        if branch.said.is_empty() {
            page.push_str("Nothing was said after that.\n\n");
        }
        branch.said.iter().for_each(|said| tell(&mut page, said));
    }
    page
}

/// A branch in a few paragraphs, as a note of the person's.
pub fn summed_up(branch: &Branch) -> String {
    let mut note = format!("From another session, \"{}\":\n", title(branch));
    let asked: Vec<&SaidThere> = branch.said.iter().filter(|it| it.role == Role::User).collect();
    let left_out = asked.len().saturating_sub(QUESTIONS);
    if !asked.is_empty() {
        note.push_str("\nI asked:\n");
    }
    if left_out > 0 {
        let _ = writeln!(note, "- … ({left_out} earlier)");
    }
    for said in &asked[left_out..] {
        let words: Vec<&str> = said.text.split_whitespace().collect();
        let _ = writeln!(note, "- {}", cut(&words.join(" "), QUESTION));
    }
    if let Some(answer) = branch.said.iter().rev().find(|it| it.role == Role::Assistant) {
        note.push_str("\nThe last answer was:\n");
        for line in cut(answer.text.trim(), ANSWER).lines() {
            let _ = writeln!(note, "> {line}");
        }
    }
    if !branch.files.is_empty() {
        note.push_str("\nFiles changed there:\n");
    }
    for FileDelta { name, lines } in &branch.files {
        let lines =
            lines.map_or_else(String::new, |(added, removed)| format!(" +{added} -{removed}"));
        let _ = writeln!(note, "- {name}{lines}");
    }
    note
}

/// A row for each file, with what each branch did to it.
fn files(page: &mut String, branches: &[Branch; 2]) {
    let mut names: Vec<&str> =
        branches.iter().flat_map(|branch| &branch.files).map(|file| file.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return;
    }
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or_default().min(60);
    let _ = writeln!(page, "{BOLD}{:<width$}  {:>12}  {:>12}{PLAIN}", "Files", "A", "B");
    for name in names {
        let _ = write!(page, "{:<width$}", sanitize(name));
        for branch in branches {
            let file = branch.files.iter().find(|file| file.name == name);
            let (text, coloured) = match file.map(|file| file.lines) {
                None => ("·".to_owned(), format!("{FAINT}·{PLAIN}")),
                Some(None) => ("changed".to_owned(), "changed".to_owned()),
                Some(Some((added, removed))) => (
                    format!("+{added} -{removed}"),
                    format!("{GREEN}+{added}{PLAIN} {RED}-{removed}{PLAIN}"),
                ),
            };
            let indent = 14usize.saturating_sub(text.chars().count());
            let _ = write!(page, "{:indent$}{coloured}", "");
        }
        page.push('\n');
    }
    page.push('\n');
}

fn tell(page: &mut String, said: &SaidThere) {
    let text = sanitize(said.text.trim());
    for (at, line) in text.lines().enumerate() {
        let _ = match (said.role, at) {
            (Role::User, 0) => writeln!(page, "{BOLD}❯ {line}{PLAIN}"),
            (Role::User, _) => writeln!(page, "{BOLD}  {line}{PLAIN}"),
            (Role::Assistant, _) => writeln!(page, "  {line}"),
        };
    }
    page.push('\n');
}

fn title(branch: &Branch) -> String {
    let title = branch.title.as_deref().unwrap_or("Untitled");
    sanitize(title).into_owned()
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(role: Role, text: &str) -> SaidThere {
        SaidThere { role, text: text.into() }
    }

    fn branch(
        title: &str,
        said: Vec<SaidThere>,
        files: &[(&str, Option<(usize, usize)>)],
    ) -> Branch {
        let file = |(name, lines): &(&str, _)| FileDelta { name: (*name).into(), lines: *lines };
        let files = files.iter().map(file).collect();
        Branch { title: Some(title.into()), said, files }
    }

    fn sum() -> Branch {
        let said = vec![
            said(Role::User, "try sum()\n  instead"),
            said(Role::Assistant, "Let me look."),
            said(Role::User, "and test it"),
            said(Role::Assistant, "`sum()` of nothing is zero.\nThe test passes."),
        ];
        branch("try sum() instead", said, &[("src/cart.rs", Some((1, 1))), ("logo.png", None)])
    }

    #[test]
    fn two_branches_are_told_one_after_another() {
        let flag = branch(
            "with a feature flag \u{1b}[31m",
            vec![said(Role::User, "put it behind a flag")],
            &[("src/cart.rs", Some((12, 3))), ("src/flags.rs", Some((8, 0)))],
        );
        let parted = Some(said(Role::User, "why does checkout fail?"));
        let page = compared(&Comparison { shared: 3, parted, branches: [sum(), flag] });
        let colours = [BOLD, FAINT, GREEN, RED, PLAIN];
        let plain = colours.iter().fold(page, |page, colour| page.replace(colour, ""));
        insta::assert_snapshot!(plain);
    }

    #[test]
    fn a_summary_has_questions_the_last_answer_and_files() {
        insta::assert_snapshot!(summed_up(&sum()));
    }

    #[test]
    fn a_long_branch_is_summed_up_short() {
        let ask = |n: usize| said(Role::User, &format!("question {n} {}", "x".repeat(1000)));
        let mut all: Vec<SaidThere> = (0..40).map(ask).collect();
        all.push(said(Role::Assistant, &"y".repeat(100_000)));
        let note = summed_up(&branch("long", all, &[]));
        assert!(note.contains("- … (28 earlier)\n- question 28 ") && note.len() < 8_000);
    }
}
