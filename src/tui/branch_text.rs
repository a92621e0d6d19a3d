//! A branch of a session summed up as text, for the input. No model is asked: what is told is what
//! was asked, what was answered last, and what became of files.

use std::fmt::Write;

use crate::domain::MessageRole;
use crate::domain::sanitize::sanitize;
use crate::session::{BranchMessage, FileDelta, SessionBranch};

/// Questions of a summary, the last ones, and characters of each.
const QUESTIONS: usize = 12;
const QUESTION: usize = 240;
/// Characters of its answer.
const ANSWER: usize = 4000;

/// A branch in a few paragraphs, as a note of the person's.
pub fn summarise(branch: &SessionBranch) -> String {
    let mut note = format!("From another session, \"{}\":\n", title(branch));
    let asked: Vec<&BranchMessage> =
        branch.said.iter().filter(|it| it.role == MessageRole::User).collect();
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
    if let Some(answer) = branch.said.iter().rev().find(|it| it.role == MessageRole::Assistant) {
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

/// What a branch is called, on one line.
pub fn title(branch: &SessionBranch) -> String {
    let title = branch.title.as_deref().unwrap_or("Untitled");
    let words: Vec<&str> = title.split_whitespace().collect();
    sanitize(&words.join(" ")).into_owned()
}

/// So many of these.
pub fn pluralise(count: usize, what: &str) -> String {
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

    fn said(role: MessageRole, text: &str) -> BranchMessage {
        BranchMessage { role, text: text.into() }
    }

    fn branch(
        title: &str,
        said: Vec<BranchMessage>,
        files: &[(&str, Option<(usize, usize)>)],
    ) -> SessionBranch {
        let file = |(name, lines): &(&str, _)| FileDelta { name: (*name).into(), lines: *lines };
        let files = files.iter().map(file).collect();
        SessionBranch { title: Some(title.into()), said, files }
    }

    fn sum() -> SessionBranch {
        let said = vec![
            said(MessageRole::User, "try sum()\n  instead"),
            said(MessageRole::Assistant, "Let me look."),
            said(MessageRole::User, "and test it"),
            said(MessageRole::Assistant, "`sum()` of nothing is zero.\nThe test passes."),
        ];
        branch("try sum() instead", said, &[("src/cart.rs", Some((1, 1))), ("logo.png", None)])
    }

    #[test]
    fn a_summary_has_questions_the_last_answer_and_files() {
        insta::assert_snapshot!(summarise(&sum()));
    }

    #[test]
    fn a_long_branch_is_summed_up_short() {
        let ask = |n: usize| said(MessageRole::User, &format!("question {n} {}", "x".repeat(1000)));
        let mut all: Vec<BranchMessage> = (0..40).map(ask).collect();
        all.push(said(MessageRole::Assistant, &"y".repeat(100_000)));
        let note = summarise(&branch("long", all, &[]));
        assert!(note.contains("- … (28 earlier)\n- question 28 ") && note.len() < 8_000);
    }
}
