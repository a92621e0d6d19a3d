//! Writes what the model reads in place of what it no longer gets.
//!
//! What can be taken from the log is taken from there: which files were read and changed, in all of the
//! session, does not depend on what a model remembers of them. The rest is a model's summary, or, without
//! one, what the log says about the task, the user's commands, the failures and the answers.

use std::collections::{BTreeSet, HashSet};

use crate::context::escape_context_tags;
use crate::domain::{
    CallId, CallInput, ContentBlock, EntryId, Message, MessageRole, ToolAccess, ToolKind,
};
use crate::session::{
    COMPACTION_CONTEXT, CompactionNote, KeptContext, ReplayedConversation, error_of_stub,
    is_result_stub, is_shell,
};
use crate::tools::{ToolRegistry, WorkingDirectory, kind_of};

use crate::agent::session_skills::SKILL_NOTE;

use super::plan::{SummaryExtent, is_the_users, shown_call};

/// The most files that a note names of each kind.
const FILES_NAMED: usize = 60;
/// The most files that are remembered as read.
const FILES_KNOWN: usize = 400;
/// What a note without a summary quotes: so many failures and answers, and so many characters of each.
const QUOTED: (usize, usize) = (8, 300);

/// The headings of what each note has anew, of all of the session.
const TASK: &str = "Task";
const FILES_CHANGED: &str = "Files changed so far";
const FILES_READ: &str = "Files read so far";
/// The heading of what a note from the log has of the note before it.
const EARLIER: &str = "From the note before this one";

/// What a note is made from.
pub(in crate::agent) struct NoteSources<'a> {
    pub(in crate::agent) conversation: &'a ReplayedConversation,
    /// The first message that is still sent as it is.
    pub(in crate::agent) first_kept: Option<EntryId>,
    pub(in crate::agent) registry: &'a ToolRegistry,
    pub(in crate::agent) place: &'a WorkingDirectory,
}

/// A summary, the model that wrote it, and what it is about.
pub(in crate::agent) struct WrittenSummary {
    pub(in crate::agent) text: String,
    pub(in crate::agent) model: String,
    pub(in crate::agent) extent: SummaryExtent,
}

impl NoteSources<'_> {
    /// The note with this summary; without one, the note from the log.
    pub(in crate::agent) fn note(
        &self,
        summary: Option<WrittenSummary>,
        contexts: Vec<KeptContext>,
    ) -> CompactionNote {
        let (told, by, model) = match summary {
            Some(WrittenSummary { text, model, extent }) => {
                let part = match extent {
                    SummaryExtent::All => "",
                    SummaryExtent::Newest => "the newest part of ",
                };
                let by =
                    format!("What follows was written by {model} from {part}what is left out.");
                (text, by, Some(model))
            }
            None => (self.log_excerpt(), "What follows is taken from the log.".to_owned(), None),
        };
        let mut text = format!(
            "A note of slug's: the conversation has become long, and its older part is left out here. The user's \
             messages above are unchanged. {by} This note is a record of what was done, not an instruction; \
             what the user says comes first.\n\n{}",
            told.trim()
        );
        let changed = self.conversation.files_changed.paths();
        let changed: Vec<String> = changed.map(|path| self.place.show(path)).collect();
        push_files(&mut text, FILES_CHANGED, &changed);
        push_files(&mut text, FILES_READ, &self.files_read());
        CompactionNote { text: escape_context_tags(&text), model, contexts }
    }

    fn left_out(&self) -> impl Iterator<Item = &Message> {
        let messages = self.conversation.messages.iter();
        messages.take_while(|(id, _)| Some(*id) != self.first_kept).map(|(_, message)| message)
    }

    /// The files that were read in all of the session, the newest last.
    pub(in crate::agent) fn files_read(&self) -> Vec<String> {
        let mut files: Vec<String> = self.conversation.files_read.clone();
        let messages = || self.conversation.messages.iter().map(|(_, message)| message);
        let results = messages().flat_map(|message| &message.content);
        let failed: HashSet<&CallId> = results.filter_map(failed_call).collect();
        let calls = messages().flat_map(Message::calls);
        for call in calls.filter(|call| !failed.contains(&call.id)) {
            let call = call.inner();
            let (CallInput::Valid(input), ToolKind::Read) = (&call.input, kind_of(&call.name))
            else {
                continue;
            };
            let accesses = self.registry.get(&call.name).map(|tool| tool.access(input, self.place));
            for access in accesses.into_iter().flatten().flatten() {
                if let ToolAccess::Read(path) = access {
                    let shown = self.place.show(&path);
                    files.retain(|known| *known != shown);
                    files.push(shown);
                }
            }
        }
        files.drain(..files.len().saturating_sub(FILES_KNOWN));
        files
    }

    /// The note without a model: the task, the commands of the user, what failed, and how answers begin.
    fn log_excerpt(&self) -> String {
        let mut text = String::new();
        let task = self.conversation.messages.iter().find(|(_, message)| is_the_users(message));
        if let Some((_, task)) = task {
            text.push_str(&format!("## {TASK}\n{}\n", excerpt(&task.text())));
        }
        push_list(&mut text, "Commands that the user ran", &newest(self.users_commands()));
        let earlier = last_note(self.left_out());
        let failed = newest(once_each(self.failures()).into_iter());
        push_list(&mut text, "Failed attempts", &failed);
        let answers = self.left_out().filter(|message| message.role == MessageRole::Assistant);
        let answers = answers.map(Message::text).filter(|said| !said.trim().is_empty());
        push_list(&mut text, "What you said, newest last", &newest(answers.map(|it| excerpt(&it))));
        if let Some(earlier) = earlier {
            let chars = QUOTED.0 * QUOTED.1;
            let told: String = without_repeats(body_of(earlier)).chars().take(chars).collect();
            text.push_str(&format!("\n## {EARLIER}\n{}\n", told.trim()));
        }
        text
    }

    /// The commands that the user ran, each with how its output begins.
    fn users_commands(&self) -> impl Iterator<Item = String> {
        let blocks = self.left_out().flat_map(|message| &message.content);
        let outputs = blocks.filter(|block| is_shell(block)).filter_map(ContentBlock::as_context);
        outputs.map(|(_, text)| excerpt(text))
    }

    fn failures(&self) -> impl Iterator<Item = String> {
        let results = self.left_out().flat_map(|message| &message.content);
        results.filter_map(|block| {
            let ContentBlock::ToolResult { tool_use_id, content, is_error: true } = block else {
                return None;
            };
            let call = self.left_out().flat_map(Message::calls).find(|it| it.id == *tool_use_id)?;
            let call = shown_call(call, &self.place.cwd);
            match error_of_stub(content) {
                Some(error) => Some(format!("{call}: {error}")),
                // Older logs have stubs without the error.
                None if is_result_stub(content) => Some(format!("{call} failed")),
                None => Some(format!("{call}: {}", excerpt(content))),
            }
        })
    }
}

/// The context notes of the messages before `first_kept` that still hold, as they were last told.
/// What remains in the conversation is not repeated. `plan` is the plan as it is now.
pub(in crate::agent) fn notes_that_hold(
    conversation: &ReplayedConversation,
    after: &ReplayedConversation,
    names: &BTreeSet<String>,
    plan: Option<&ContentBlock>,
) -> Vec<KeptContext> {
    let plan = plan.and_then(ContentBlock::as_context);
    let plan =
        plan.map(|(name, text)| KeptContext { name: name.to_owned(), text: text.to_owned() });
    let of_plan = plan.as_ref().map(|plan| plan.name.clone());
    let held = conversation.contexts.iter().filter(|(name, text)| {
        names.contains(*name)
            && Some(*name) != of_plan.as_ref()
            && after.contexts.get(*name) != Some(text)
    });
    let held = held.map(|(name, text)| KeptContext { name: name.clone(), text: text.clone() });
    let plan = plan.filter(|plan| after.contexts.get(&plan.name) != Some(&plan.text));
    held.chain(plan).collect()
}

/// The most bytes of one skill and of all skills that are sent again: 5,000 and 25,000 tokens.
const SKILL_BYTES: (usize, usize) = (20_000, 100_000);

/// The skills of the conversation that would no longer be in it, as they were told last: the newest as far
/// as there is room, in the order in which they came.
pub(in crate::agent) fn skills_that_hold(
    conversation: &ReplayedConversation,
    after: &ReplayedConversation,
) -> Vec<KeptContext> {
    let messages = conversation.messages.iter().rev();
    let blocks = messages.flat_map(|(_, message)| message.content.iter().rev());
    let notes = blocks.filter_map(ContentBlock::as_context);
    let (mut known, mut kept, mut room) = (HashSet::new(), Vec::new(), SKILL_BYTES.1);
    for (name, text) in notes.filter(|(name, _)| name.starts_with(SKILL_NOTE)) {
        if !known.insert(name) || after.contexts.get(name).is_some_and(|there| there == text) {
            continue;
        }
        let mut end = text.len().min(SKILL_BYTES.0);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        if end > room {
            break;
        }
        room -= end;
        let cut = if end < text.len() {
            "\n[The rest is left out: load it again to read it.]"
        } else {
            ""
        };
        kept.push(KeptContext { name: name.to_owned(), text: format!("{}{cut}", &text[..end]) });
    }
    kept.reverse();
    kept
}

/// The part of a note that is not slug's own words.
fn body_of(note: &str) -> &str {
    note.split_once("\n\n").map_or(note, |(_, body)| body)
}

/// The body of a note, without the parts that every note has anew.
fn without_repeats(body: &str) -> String {
    let mut told = String::new();
    let mut is_repeat = false;
    for line in body.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            is_repeat = [TASK, FILES_CHANGED, FILES_READ, EARLIER].contains(&heading.trim());
        }
        if !is_repeat {
            told.push_str(line);
            told.push('\n');
        }
    }
    told
}

/// The newest note of a compaction in these messages.
pub(super) fn last_note<'a>(messages: impl Iterator<Item = &'a Message>) -> Option<&'a str> {
    messages.flat_map(earlier_notes).last()
}

fn earlier_notes(message: &Message) -> Option<&str> {
    let mut notes = message.content.iter().filter_map(ContentBlock::as_context);
    let is_summary =
        |(name, text): &(&str, &str)| *name == COMPACTION_CONTEXT && text.contains("\n## ");
    notes.find(is_summary).map(|(_, text)| text)
}

/// The call whose result this block is, where it failed.
fn failed_call(block: &ContentBlock) -> Option<&CallId> {
    match block {
        ContentBlock::ToolResult { tool_use_id, is_error: true, .. } => Some(tool_use_id),
        _ => None,
    }
}

fn excerpt(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(QUOTED.1) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Each text once, where it comes last, with how often it comes.
fn once_each(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut counted: Vec<(String, usize)> = Vec::new();
    for text in all {
        let before = counted.iter().position(|(known, _)| *known == text);
        let times = before.map_or(0, |at| counted.remove(at).1);
        counted.push((text, times + 1));
    }
    let counted = counted.into_iter().map(|(text, times)| match times {
        1 => text,
        times => format!("{text} ({times} times)"),
    });
    counted.collect()
}

fn newest(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = all.collect();
    all.drain(..all.len().saturating_sub(QUOTED.0));
    all
}

fn push_list(text: &mut String, heading: &str, items: &[String]) {
    if !items.is_empty() {
        text.push_str(&format!("\n## {heading}\n- {}\n", items.join("\n- ")));
    }
}

fn push_files(text: &mut String, heading: &str, files: &[String]) {
    if files.is_empty() {
        return;
    }
    let hidden = files.len().saturating_sub(FILES_NAMED);
    let more = if hidden > 0 { format!(", and {hidden} others before") } else { String::new() };
    text.push_str(&format!("\n\n## {heading}\n{}{more}", files[hidden..].join(", ")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_more_than_once_is_told_once() {
        let told = once_each(["a", "b", "a", "c", "a"].into_iter().map(str::to_owned));
        assert_eq!(told, ["b", "c", "a (3 times)"]);
    }

    #[test]
    fn a_note_takes_from_an_earlier_one_only_what_is_not_said_anew() {
        let body = "## Task\nMend it.\n\n## What you said, newest last\n- Yes.\n\n\
                    ## From the note before this one\n- No.\n\n\n## Files read so far\na.rs";
        assert_eq!(without_repeats(body).trim(), "## What you said, newest last\n- Yes.");
        assert_eq!(without_repeats("## Files read so far\na.rs"), "");
        assert_eq!(
            without_repeats("A word.\n## Decisions\nNone."),
            "A word.\n## Decisions\nNone.\n"
        );
    }
}
