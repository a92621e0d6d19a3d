//! Sums up a branch of a session as text for the input. No model is asked: the text lists the
//! user's questions, the last answer, and the changes to files.

use std::fmt::Write;

use crate::domain::MessageRole;
use crate::domain::sanitize::sanitize;
use crate::session::{BranchMessage, FileDelta, SessionBranch};

/// At most this many questions (the last ones), and characters of each.
const QUESTIONS: usize = 12;
const QUESTION: usize = 240;
/// Characters of the last answer.
const ANSWER: usize = 4000;

/// Summarises a branch in a few paragraphs, written as a note by the user.
pub fn summarise(branch: &SessionBranch) -> String {
    let mut note = format!("From another session, \"{}\":\n", title(branch));
    let questions: Vec<&BranchMessage> =
        branch.said.iter().filter(|it| it.role == MessageRole::User).collect();
    let left_out = questions.len().saturating_sub(QUESTIONS);
    if !questions.is_empty() {
        note.push_str("\nI asked:\n");
    }
    if left_out > 0 {
        let _ = writeln!(note, "- … ({left_out} earlier)");
    }
    for question in &questions[left_out..] {
        let words: Vec<&str> = question.text.split_whitespace().collect();
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

/// The branch's title on one line.
pub fn title(branch: &SessionBranch) -> String {
    let title = branch.title.as_deref().unwrap_or("Untitled");
    let words: Vec<&str> = title.split_whitespace().collect();
    sanitize(&words.join(" ")).into_owned()
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

    fn message(role: MessageRole, text: &str) -> BranchMessage {
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
            message(MessageRole::User, "try sum()\n  instead"),
            message(MessageRole::Assistant, "Let me look."),
            message(MessageRole::User, "and test it"),
            message(MessageRole::Assistant, "`sum()` of nothing is zero.\nThe test passes."),
        ];
        branch("try sum() instead", said, &[("src/cart.rs", Some((1, 1))), ("logo.png", None)])
    }

    #[test]
    fn a_summary_has_questions_the_last_answer_and_files() {
        insta::assert_snapshot!(summarise(&sum()));
    }

    #[test]
    fn a_long_branch_is_summed_up_short() {
        let ask =
            |n: usize| message(MessageRole::User, &format!("question {n} {}", "x".repeat(1000)));
        let mut all: Vec<BranchMessage> = (0..40).map(ask).collect();
        all.push(message(MessageRole::Assistant, &"y".repeat(100_000)));
        let note = summarise(&branch("long", all, &[]));
        assert!(note.contains("- … (28 earlier)\n- question 28 ") && note.len() < 8_000);
    }
}
