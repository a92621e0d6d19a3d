//! What a model is told to write as a summary, and what of its answer is one.
//!
//! Small models answer with a call written as text, repeat the instruction in other words, or go on with
//! the task. Such a text in place of the conversation would lose all of it, so that anything doubtful is
//! refused: slug's own note from the log is better. Above all a summary has words of the conversation.

use std::collections::HashSet;

use serde_json::Value;

use crate::domain::{CallInput, ContentBlock, Message};
use crate::session::COMPACTION_CONTEXT;

/// The headings of a summary, in order, with what belongs below each.
const HEADINGS: &[(&str, &str)] = &[
    ("Task", "what the user wants, in their words where they matter"),
    ("Constraints", "what the user or the project rules out or insists on"),
    ("Decisions", "what was decided, and why"),
    ("Failed attempts", "what was tried and did not work, so that it is not tried again"),
    ("State", "what is done, what is known, what is half-done, with names of files and functions"),
    ("Next", "the next steps, in order"),
];
/// A text with so many of the headings is a summary.
const HEADINGS_FOUND: usize = 3;
/// A text without headings that is at least this long is taken at the second try, in bytes.
const LEAST_TEXT: usize = 120;
/// A text under headings has so many lines of its own besides them.
const LEAST_LINES: usize = 3;
/// How many words in a row are compared with the instruction: fewer are in any text about the task.
const RUN: usize = 3;

/// A summary has so many different words of the conversation that the instruction has not.
const WORDS_OF_CONVERSATION: usize = 4;
/// Shorter words are in every text.
const WORD: usize = 4;

/// How texts look in which models write calls, apart from plain JSON.
const CALL_MARKS: &[&str] =
    &["<tool_call", "<function=", "<function_call", "<invoke", "[TOOL_CALLS]", "<|tool"];

/// What the model is told where it did not answer with a summary.
pub(super) const ONCE_MORE: &str = "That was no summary. Tools do not run now. Answer with the summary as text, under \
                         the headings above, and with nothing else.";

/// Which of the tries to get a summary this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SummaryTry {
    /// A text without the headings is asked for once more.
    First,
    /// Any text is taken that may be a summary.
    Last,
}

/// The instruction that asks for a summary of at most so many tokens.
pub(in crate::agent) fn instruction(tokens: u64, focus: Option<&str>) -> ContentBlock {
    let text = instruction_text(tokens, focus);
    ContentBlock::Context { name: COMPACTION_CONTEXT.to_owned(), text }
}

fn instruction_text(tokens: u64, focus: Option<&str>) -> String {
    let mut text = format!(
        "The conversation above is about to be shortened: what you write now takes the place of its older \
         part, for you to go on with. Write a summary of it, as text, of at most {} words, under exactly \
         these headings:\n",
        tokens * 6 / 10
    );
    for (heading, what) in HEADINGS {
        text.push_str(&format!("\n## {heading}\n({what})\n"));
    }
    text.push_str(
        "\nBe exact: names, numbers, commands and messages of errors as they were. slug adds the lists of \
         the files that were read and changed, and the user's messages and the plan stay; do not repeat \
         them. Call no tools, and answer nothing else: this note is not from the user.",
    );
    if let Some(focus) = focus {
        text.push_str(&format!("\n\nThe user asks you to keep this above all: {focus}"));
    }
    text
}

/// More than the instruction takes, in tokens.
pub(in crate::agent) const INSTRUCTION_TOKENS: u64 = 600;

/// The output limit of a request for a summary of so many tokens: some more, since models do not count.
pub(in crate::agent) fn output_limit(tokens: u64) -> u32 {
    u32::try_from(tokens + tokens / 4).unwrap_or(u32::MAX)
}

/// The words of a conversation by which its summary is known.
pub(super) struct ConversationWords(HashSet<String>);

impl ConversationWords {
    /// The words of the request for the summary, without those of the instruction.
    pub(super) fn of(messages: &[Message]) -> Self {
        let mut all = HashSet::new();
        for block in messages.iter().flat_map(|message| &message.content) {
            match block {
                ContentBlock::Text { text } | ContentBlock::ToolResult { content: text, .. } => {
                    all.extend(words(text));
                }
                ContentBlock::Context { name, text } if name != COMPACTION_CONTEXT => {
                    all.extend(words(text));
                }
                ContentBlock::ToolUse(call) => {
                    if let CallInput::Valid(input) = &call.input {
                        texts_in(input, &mut |text| all.extend(words(text)));
                    }
                }
                ContentBlock::Context { .. }
                | ContentBlock::Image(_)
                | ContentBlock::Thinking { .. }
                | ContentBlock::Sealed { .. } => {}
            }
        }
        for word in words(&format!("{} {ONCE_MORE}", instruction_text(0, Some("")))) {
            all.remove(&word);
        }
        Self(all)
    }

    /// Whether a text is about the conversation. In scripts that put no spaces between words nothing can
    /// be said.
    fn are_in(&self, text: &str) -> bool {
        let found: HashSet<String> = words(text).filter(|word| self.0.contains(word)).collect();
        let others = text.chars().filter(|c| c.is_alphabetic() && !c.is_ascii()).count();
        found.len() >= WORDS_OF_CONVERSATION.min(self.0.len()) || others * 2 > text.chars().count()
    }
}

/// The words of a text in lower case, parts of identifiers and of paths on their own.
fn words(text: &str) -> impl Iterator<Item = String> {
    let all = text.split(|c: char| !c.is_alphanumeric());
    all.filter(|word| word.chars().count() >= WORD).map(str::to_lowercase)
}

/// Each text in a call's arguments.
fn texts_in(value: &Value, take: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => take(text),
        Value::Array(items) => items.iter().for_each(|it| texts_in(it, take)),
        Value::Object(fields) => fields.values().for_each(|it| texts_in(it, take)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The summary of a conversation in an answer; `None` where there is none.
pub(super) fn summary_of(
    message: &Message,
    conversation: &ConversationWords,
    number: SummaryTry,
) -> Option<String> {
    let text = without_instruction(&message.text());
    if !conversation.are_in(&text) {
        return None;
    }
    if is_under_headings(&text) {
        return Some(text);
    }
    let may_be_one = number == SummaryTry::Last
        && message.calls().next().is_none()
        && !is_call_as_text(&text)
        && own_lines(&text).map(|line| line.len()).sum::<usize>() >= LEAST_TEXT;
    may_be_one.then_some(text)
}

/// As much of a text as there is room for, up to the end of a line. `is_cut` says that the model could
/// not write all of it.
pub(super) fn shortened(text: &str, chars: usize, is_cut: bool) -> String {
    let end = text.char_indices().nth(chars).map(|(end, _)| end);
    match end.or_else(|| is_cut.then_some(text.len())) {
        None => text.to_owned(),
        Some(end) => {
            let end = text[..end].rfind('\n').unwrap_or(end);
            format!(
                "{}\n[The summary was longer; the rest of it is left out.]",
                text[..end].trim_end()
            )
        }
    }
}

/// A text without the sentences that the model has repeated from the instruction, also with another
/// word here and there.
fn without_instruction(text: &str) -> String {
    let said = format!("{}\n{ONCE_MORE}", instruction_text(0, Some("")));
    let headings: Vec<String> = HEADINGS.iter().map(|(heading, _)| plain(heading)).collect();
    let sentences: HashSet<String> =
        said.lines().flat_map(|line| line.split_inclusive(". ")).map(plain).collect();
    let said = plain(&said);
    let said: Vec<&str> = said.split(' ').collect();
    let said: HashSet<&[&str]> = said.windows(RUN).collect();
    let is_own = |sentence: &&str| {
        let sentence = plain(sentence);
        let words: Vec<&str> = sentence.split(' ').collect();
        let repeated = words.windows(RUN).filter(|run| said.contains(run)).count();
        let is_repeated = words.len() > RUN && repeated * 2 > words.len() - RUN;
        let is_said = sentences.contains(&sentence) || is_repeated;
        sentence.is_empty() || headings.contains(&sentence) || !is_said
    };
    let own = |line: &str| line.split_inclusive(". ").filter(is_own).collect::<String>();
    let lines = text.trim().lines();
    let lines = lines.map(|line| (line, own(line)));
    let kept = lines.filter(|(line, own)| line.trim().is_empty() || !own.trim().is_empty());
    let kept: Vec<String> = kept.map(|(_, own)| own).collect();
    without_empty_headings(&kept).join("\n").trim().to_owned()
}

/// The lines without headings that have nothing below them.
fn without_empty_headings(lines: &[String]) -> Vec<&str> {
    let mut kept: Vec<&str> = Vec::new();
    let mut has_content = false;
    for line in lines.iter().rev() {
        if is_heading(&unmarked(line)) {
            if has_content {
                kept.push(line);
            }
            has_content = false;
        } else {
            has_content |= !line.trim().is_empty();
            kept.push(line);
        }
    }
    kept.reverse();
    kept
}

/// A line without its marks, in lower case, without numbers, which differ in what is said about words.
fn plain(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphabetic() || *c == ' ' || *c == '\n');
    let letters: String = letters.collect::<String>().to_lowercase();
    letters.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a text is under the headings that were asked for, with something below them.
fn is_under_headings(text: &str) -> bool {
    let lines: Vec<String> = text.lines().map(unmarked).collect();
    let found = HEADINGS.iter().filter(|(heading, _)| {
        let heading = heading.to_lowercase();
        lines.iter().any(|line| line.starts_with(&heading))
    });
    found.count() >= HEADINGS_FOUND && own_lines(text).count() >= LEAST_LINES
}

/// The lines of a text that are more than a heading, without their marks.
fn own_lines(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(unmarked).filter(|line| !line.is_empty() && !is_heading(line))
}

/// Whether a line without its marks is a heading of a summary.
fn is_heading(line: &str) -> bool {
    HEADINGS.iter().any(|(heading, _)| heading.to_lowercase() == line)
}

/// A line without the marks of a heading, in lower case.
fn unmarked(line: &str) -> String {
    line.trim_matches(['#', '*', ':', ' ']).to_lowercase()
}

/// Whether a text is a call, or several, that the model has written down instead of making it.
fn is_call_as_text(text: &str) -> bool {
    let text = text.trim();
    let inner = text.trim_start_matches("```json").trim_matches(['`', '\n', ' ']);
    let is_json = || serde_json::from_str::<Value>(inner).is_ok();
    let begins_as_json = inner.starts_with(['{', '[']);
    let names_arguments = ["\"arguments\"", "\"parameters\"", "\"input\"", "\"args\""]
        .iter()
        .any(|it| text.contains(it))
        && text.contains("\"name\"");
    let is_object_line =
        |line: &str| line.starts_with('{') && serde_json::from_str::<Value>(line).is_ok();
    begins_as_json && (is_json() || inner.starts_with("{\""))
        || names_arguments
        || CALL_MARKS.iter().any(|mark| text.contains(mark))
        || text.lines().any(|line| is_object_line(line.trim()))
}

#[cfg(test)]
mod tests {
    use crate::domain::{CallId, MessageRole, ToolCall};

    use super::*;

    fn answer(text: &str) -> Message {
        let content = vec![ContentBlock::Text { text: text.into() }];
        Message { role: MessageRole::Assistant, content }
    }

    /// The summary of a conversation about `tessera`.
    fn summary_in(message: &Message, number: SummaryTry) -> Option<String> {
        let task = "Port the parser of tessera: the lexer comes first. Rule 7 of 31.";
        summary_of(message, &ConversationWords::of(&[answer(task)]), number)
    }

    const PROSE: &str = "The user wants the parser of tessera ported. The lexer is done and 12 of the 31 tests \
                         pass; rule 7 is next, since rule 8 depends on it.";

    #[test]
    fn a_text_under_the_headings_is_a_summary() {
        let (plain, marked) = (
            "Task: port the parser\nState: the lexer of tessera is done\nNext: y",
            "## Task\nport the parser\n## State\nthe lexer of tessera is done\n**Next:**\ny",
        );
        for text in [plain, marked] {
            assert_eq!(summary_in(&answer(text), SummaryTry::First).as_deref(), Some(text));
        }
        for text in ["I will now go on with the task.", "## Task\nonly this", PROSE, ""] {
            assert_eq!(summary_in(&answer(text), SummaryTry::First), None, "{text}");
        }
        assert_eq!(summary_in(&answer(PROSE), SummaryTry::Last).as_deref(), Some(PROSE));
        assert_eq!(summary_in(&answer("Fine."), SummaryTry::Last), None);
    }

    #[test]
    fn a_call_written_as_text_is_no_summary() {
        let arguments = "x".repeat(200);
        for text in [
            format!("{{\"name\": \"Read\", \"arguments\": {{\"file_path\": \"{arguments}\"}}}}"),
            format!("```json\n{{\"file_path\": \"{arguments}\"}}\n```"),
            format!("[{{\"tool\": \"Bash\", \"command\": \"{arguments}\"}}]"),
            format!("{{\"name\": \"Write\", \"content\": \"{arguments}"),
            format!("I look at the file first.\n<tool_call>\n{arguments}\n</tool_call>"),
            format!("I look at the file first.\n{{\"command\": \"{arguments}\"}}"),
        ] {
            assert_eq!(summary_in(&answer(&text), SummaryTry::Last), None, "{text}");
        }
        let call = ToolCall {
            id: CallId::new("c"),
            name: "Read".into(),
            input: CallInput::Valid(Value::Null),
        };
        let mut with_call = answer(PROSE);
        with_call.content.push(ContentBlock::ToolUse(call));
        assert_eq!(summary_in(&with_call, SummaryTry::Last), None, "the text leads to the call");
    }

    #[test]
    fn the_instruction_repeated_is_no_summary() {
        let whole = instruction_text(1_200, Some("the API"));
        let without_focus = instruction_text(600, None);
        let in_other_words = "## Task\nThe user wants to shorten their conversation, replacing the older part \
                              with its newer part, under these headings.\n## Constraints\nThe project insists on any \
                              change of structure.\n## State\nThe conversation was read and changed in files, with the \
                              plan.";
        for text in [
            whole,
            without_focus.clone(),
            without_focus.replace("## ", "**").replace("\n(", "**\n("),
            format!("Sure. {ONCE_MORE}"),
            ONCE_MORE.to_owned(),
            in_other_words.to_owned(),
            HEADINGS.iter().map(|(heading, what)| format!("## {heading}\n- {what}\n")).collect(),
            format!(
                "This conversation was about to be shortened: what you write now takes the place of its older \
                 part, for you to go on with. \n\n{}",
                HEADINGS.iter().map(|(heading, _)| format!("## {heading}\n\n")).collect::<String>()
            ),
            without_focus.replace("exact", "precise").replace("what the", "whatever the"),
        ] {
            assert_eq!(summary_in(&answer(&text), SummaryTry::Last), None, "{text}");
        }
        let filled =
            without_focus.replace(")\n", ")\nThe parser of tessera: rule 7, the lexer first.\n");
        let summary = summary_in(&answer(&filled), SummaryTry::First).unwrap();
        assert!(summary.starts_with("## Task\nThe parser of tessera: rule"), "{summary}");
        assert!(!summary.contains("(the next steps, in order)"), "{summary}");
        let echoed = "## Task\nPort the parser of tessera, rule 7 first.\n\n## Constraints\n(what the user or the \
                      project rules out or insists on)\n\n## Failed attempts\nNone.\n\n## State\nThe lexer is done.\n## Next\n";
        let summary = summary_in(&answer(echoed), SummaryTry::Last).unwrap();
        assert!(summary.ends_with("\n\n## State\nThe lexer is done."), "{summary}");
        assert!(!summary.contains("Constraints"), "{summary}");
    }

    #[test]
    fn a_summary_is_cut_at_the_end_of_a_line() {
        assert_eq!(shortened("one\ntwo", 7, false), "one\ntwo");
        let cut = shortened("one\ntwo\nthree", 9, false);
        assert!(cut.starts_with("one\ntwo\n[The summary was longer"), "{cut}");
        assert!(shortened(&"ä".repeat(100), 10, false).starts_with("ääääääääää\n["));
        assert!(shortened("one\ntwo\nthr", 90, true).starts_with("one\ntwo\n[The summary was"));
    }

    #[test]
    fn the_instruction_names_each_heading_and_what_to_keep() {
        let block = instruction(1_000, Some("the API"));
        let (_, text) = block.as_context().unwrap();
        for (heading, _) in HEADINGS {
            assert!(text.contains(&format!("## {heading}\n")), "{heading}");
        }
        assert!(text.ends_with("above all: the API"), "{text}");
        assert!(text.contains("at most 600 words"));
    }
}
