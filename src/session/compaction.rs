//! Compactions: what a log says about them, and what they make of the conversation that is sent.
//!
//! A compaction changes only what is sent. The log keeps every message, so scrolling, searching and
//! exporting show all of them, and a later entry can take a compaction back. What is to be left out
//! was decided when the entry was written (`agent::compaction`); here it is only carried out, the same
//! way each time the log is read.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::domain::{CallId, ContentBlock, EntryId, Message, MessageRole, format_tokens};

use super::context_edit::{ContextAction, ContextEditEntry, ContextPart, is_shell};
use super::replay::{ReplayedConversation, note_contexts};
use super::undo::RewindHistory;
use super::{LogEntry, LogRecord};

mod calls;

pub use calls::{CutCalls, holds_cut, is_cut_call};

/// The name of the context notes that stand in place of what is no longer sent.
pub const COMPACTION_CONTEXT: &str = "compaction";

/// What the model reads between two messages of the user's whose answers are no longer sent.
pub const NEXT_MESSAGE: &str = "(What came between is left out.) Then the user said:";

/// How a stub ends, and did in older logs.
const STUB_END: &str = "call it again if you need it]";

/// What precedes the error in the stub of a failed result.
const STUB_ERROR: &str = "; it failed: ";

/// The most characters of an error that a stub has, of its start and of its end: what a command printed
/// last says more than how it began.
const STUB_ERROR_ENDS: (usize, usize) = (60, 120);

/// What stands between both ends of a result that is too long.
const CUT_MARK: &str = " characters left out here: the context window has no room for all of it; ask \
                        for a part]";

/// The same in the output of a command that the user ran.
const OUTPUT_CUT_MARK: &str = " characters of this output left out here to save space; the user ran \
                               this command, run it again if you need them]";

/// Which older parts of the conversation are no longer sent, and what stands in their place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CompactionEntry {
    /// Tool results before this entry are sent as stubs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results_kept_from: Option<EntryId>,
    /// Messages before this entry are not sent at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_kept: Option<EntryId>,
    /// The messages of the user's, and the outputs of their commands, before `first_kept` that are
    /// sent all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<EntryId>,
    /// Runs of calls that only looked something up, each of which is sent as a note.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collapsed: Vec<CollapsedMessages>,
    /// Results that are too long for the window, of which only both ends are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_results: Option<CutResults>,
    /// Outputs of commands that the user ran, of which only both ends are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_outputs: Option<CutResults>,
    /// Responses whose calls are sent with less of their arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut_calls: Vec<CutCalls>,
    /// What stands behind `kept`, in place of what is left out before `first_kept`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<CompactionNote>,
    /// The files that were read up to here, in all of the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_read: Vec<String>,
    /// The size of the next request before and after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<CompactionTokens>,
    /// The compaction that no longer holds. Such an entry says nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<EntryId>,
}

/// A run of messages, from `first` to `last`, that is sent as one note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CollapsedMessages {
    pub first: EntryId,
    pub last: EntryId,
    /// What the model reads instead.
    pub note: String,
}

/// Results of which `chars` characters are sent, the rest of them is left out of the middle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CutResults {
    pub results: Vec<EntryId>,
    pub chars: usize,
}

/// What the model knows of the messages that it no longer gets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CompactionNote {
    /// The note, as the model reads it.
    pub text: String,
    /// The model that wrote the summary in it; `None` where slug made it from the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Context notes that were left out and still hold, such as the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<KeptContext>,
}

/// A context note that is sent again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KeptContext {
    pub name: String,
    pub text: String,
}

/// The size of a request in tokens, before and after a compaction. Both are estimates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CompactionTokens {
    pub before: u64,
    pub after: u64,
}

impl CompactionEntry {
    /// An entry that takes a compaction back.
    pub fn undo(compaction: EntryId) -> Self {
        Self { undoes: Some(compaction), ..Self::default() }
    }

    /// What was done, as a sentence for the user.
    pub fn told(&self) -> String {
        if self.undoes.is_some() {
            return "The last compaction is undone: what it left out is sent again.".to_owned();
        }
        let Some(CompactionTokens { before, after }) = self.tokens else {
            return "The conversation above is shortened for the model.".to_owned();
        };
        let how = match &self.note {
            Some(CompactionNote { model: Some(model), .. }) => format!("summary by {model}"),
            Some(CompactionNote { model: None, .. }) => "note made from the log".to_owned(),
            None if self.cut_results.is_some() || self.cut_outputs.is_some() => {
                "older tool results are stubs, and long output is cut".to_owned()
            }
            None => "older tool results are stubs".to_owned(),
        };
        format!("Compacted: {} → {} tokens; {how}.", format_tokens(before), format_tokens(after))
    }
}

/// The newest compaction that is in force.
pub fn last_compaction(records: &[LogRecord]) -> Option<EntryId> {
    let rewinds = RewindHistory::of(records);
    let undone = undone_compactions(records, &rewinds);
    let in_force = records.iter().enumerate().rev().find(|(at, record)| {
        let LogEntry::Compaction(compaction) = &record.entry else { return false };
        compaction.undoes.is_none() && rewinds.is_live(*at) && !undone.contains(&record.id)
    });
    in_force.map(|(_, record)| record.id)
}

/// The compactions that a later entry takes back, and no entry after that puts into force again.
pub(super) fn undone_compactions(
    records: &[LogRecord],
    rewinds: &RewindHistory,
) -> HashSet<EntryId> {
    let mut undone = HashSet::new();
    for (at, record) in records.iter().enumerate() {
        if let LogEntry::Compaction(CompactionEntry { undoes: Some(undoes), .. }) = &record.entry
            && rewinds.is_live(at)
        {
            undone.insert(*undoes);
        } else if let LogEntry::ContextEdit(ContextEditEntry { item, action }) = &record.entry
            && item.part == ContextPart::Compaction
        {
            match action {
                ContextAction::BringBack => undone.insert(item.entry),
                ContextAction::FoldOut => undone.remove(&item.entry),
                ContextAction::Pin | ContextAction::Unpin => false,
            };
        }
    }
    undone
}

/// A compaction of a conversation, in force or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedCompaction {
    /// Its record.
    pub id: EntryId,
    /// What was done, as [`CompactionEntry::told`] says it.
    pub told: String,
    pub is_in_force: bool,
}

/// Whether a text is what a compaction has left of a tool result.
pub fn is_result_stub(content: &str) -> bool {
    content.starts_with("[result of ") && content.ends_with(STUB_END)
}

/// The error that the stub of a failed result still has; `None` for everything else.
pub fn error_of_stub(content: &str) -> Option<&str> {
    let stub = Some(content).filter(|content| is_result_stub(content))?;
    let (_, error) = stub.split_once(STUB_ERROR)?;
    error.strip_suffix(STUB_END)?.strip_suffix("; ")
}

/// Whether a compaction has left only both ends of a tool result.
pub fn is_cut_result(content: &str) -> bool {
    content.contains(CUT_MARK)
}

/// Whether a compaction has left only both ends of the output of a command that the user ran.
pub fn is_cut_output(text: &str) -> bool {
    text.contains(OUTPUT_CUT_MARK)
}

impl ReplayedConversation {
    /// The conversation as it would be after this compaction.
    pub fn compacted(&self, compaction: &CompactionEntry) -> Self {
        let mut after = self.clone();
        after.compact(compaction, None);
        after
    }

    /// Carries a compaction out. `id` is its record; `None` for one that is not written yet.
    pub(super) fn compact(&mut self, compaction: &CompactionEntry, id: Option<EntryId>) {
        if let Some(kept_from) = compaction.results_kept_from {
            self.shorten_results(kept_from, id);
        }
        if let Some(cut) = &compaction.cut_results {
            self.cut_texts(cut, ContextPart::Result, id);
        }
        if let Some(cut) = &compaction.cut_outputs {
            self.cut_texts(cut, ContextPart::Shell, id);
        }
        for cut in &compaction.cut_calls {
            self.cut_calls(cut);
        }
        for run in &compaction.collapsed {
            self.collapse(run, id);
        }
        if let Some(first_kept) = compaction.first_kept {
            self.drop_before(first_kept, compaction, id);
        }
        self.forget_counts();
        if !compaction.files_read.is_empty() {
            self.files_read.clone_from(&compaction.files_read);
        }
        self.forget_what_is_not_sent();
    }

    fn shorten_results(&mut self, kept_from: EntryId, compaction: Option<EntryId>) {
        let names: HashMap<CallId, String> = self
            .messages
            .iter()
            .flat_map(|(_, message)| message.calls())
            .map(|call| (call.id.clone(), call.inner().into_owned().name))
            .collect();
        let end = self.position(kept_from);
        let edits = &self.edits;
        let may_touch = |id: &EntryId| !edits.protects(*id, ContextPart::Result, compaction);
        let older = self.messages[..end].iter_mut().filter(|(id, _)| may_touch(id));
        for (id, message) in older.filter(|(_, message)| message.answers().next().is_some()) {
            let is_pinned = edits.is_pinned(*id, ContextPart::Images);
            let blocks = message.content.len();
            message.content.retain(|block| is_pinned || !matches!(block, ContentBlock::Image(_)));
            let images = blocks - message.content.len();
            for block in &mut message.content {
                if let ContentBlock::ToolResult { tool_use_id, content, is_error } = block
                    && !is_result_stub(content)
                {
                    let name = names.get(tool_use_id).map_or("a tool", String::as_str);
                    let stub = result_stub(name, content, *is_error, images);
                    if images > 0 || content.len() > stub.len() {
                        *content = stub;
                    }
                }
            }
        }
    }

    /// Leaves both ends of these results, or of these outputs of the user's commands.
    fn cut_texts(&mut self, cut: &CutResults, part: ContextPart, compaction: Option<EntryId>) {
        let cut_messages: HashSet<EntryId> = cut.results.iter().copied().collect();
        for (id, message) in &mut self.messages {
            if !cut_messages.contains(id) || self.edits.protects(*id, part, compaction) {
                continue;
            }
            for block in &mut message.content {
                let mark = if is_shell(block) { OUTPUT_CUT_MARK } else { CUT_MARK };
                let Some(text) = text_to_cut(block, part) else { continue };
                if let Some(ends) = both_ends(text, cut.chars, mark)
                    && ends.len() < text.len()
                {
                    *text = ends;
                }
            }
        }
    }

    fn collapse(&mut self, run: &CollapsedMessages, compaction: Option<EntryId>) {
        let at = |id| self.messages.iter().position(|(message, _)| *message == id);
        let (Some(first), Some(last)) = (at(run.first), at(run.last)) else { return };
        let inside = self.messages.get(first..=last).unwrap_or_default();
        let is_protected = inside.iter().any(|(id, _)| self.edits.protects_any(*id, compaction));
        if first <= last && !is_protected {
            self.notes.extend(compaction.map(|compaction| (run.first, compaction)));
            let note = vec![context(COMPACTION_CONTEXT, &run.note)];
            let message = Message { role: MessageRole::User, content: note };
            self.messages.splice(first..=last, [(run.first, message)]);
        }
    }

    fn drop_before(
        &mut self,
        first_kept: EntryId,
        compaction: &CompactionEntry,
        record: Option<EntryId>,
    ) {
        let mut start = self.position(first_kept);
        // A result stays with its call, which comes before it.
        while start > 0
            && self
                .messages
                .get(start)
                .is_some_and(|(_, message)| message.answers().next().is_some())
        {
            start -= 1;
        }
        let pinned = self.pinned_calls(start);
        let mut sent: Vec<(EntryId, Message)> = Vec::new();
        let mut note_id = None;
        for (id, message) in self.messages.drain(..start) {
            let is_kept = compaction.kept.contains(&id);
            let is_pinned = |part| self.edits.is_pinned(id, part);
            let mut content = message.content;
            content.retain(|block| match block {
                ContentBlock::Text { .. } => is_kept || is_pinned(ContextPart::Text),
                ContentBlock::Image(_) => {
                    is_kept || is_pinned(ContextPart::Images) || is_pinned(ContextPart::Result)
                }
                // What the user has shown the model is the user's own.
                ContentBlock::Context { .. } => {
                    is_shell(block) && (is_kept || is_pinned(ContextPart::Shell))
                }
                ContentBlock::ToolUse(call) => pinned.contains(&call.id),
                ContentBlock::ToolResult { tool_use_id, .. } => pinned.contains(tool_use_id),
                ContentBlock::Thinking { .. } | ContentBlock::Sealed { .. } => false,
            });
            if content.is_empty() {
                note_id = Some(id);
                continue;
            }
            let message = Message { role: message.role, content };
            let is_own = users_own(&message).count() == message.content.len();
            let Message { role, mut content } = message;
            if !sent.is_empty() && is_own {
                content.insert(0, context(COMPACTION_CONTEXT, NEXT_MESSAGE));
            }
            sent.push((id, Message { role, content }));
        }
        // The id of a message that is left out, so that ids still grow from message to message.
        if let (Some(note), Some(id)) = (&compaction.note, note_id) {
            let contexts = note.contexts.iter().map(|it| context(&it.name, &it.text));
            let content =
                std::iter::once(context(COMPACTION_CONTEXT, &note.text)).chain(contexts).collect();
            self.notes.extend(record.map(|record| (id, record)));
            sent.push((id, Message { role: MessageRole::User, content }));
        }
        sent.append(&mut self.messages);
        self.messages = sent;
    }

    /// The calls before `end` whose results are pinned: a call and its result stay together.
    fn pinned_calls(&self, end: usize) -> HashSet<CallId> {
        let pinned = |(id, _): &&(EntryId, Message)| {
            self.edits.is_pinned(*id, ContextPart::Result)
                || self.edits.is_pinned(*id, ContextPart::Images)
        };
        let results = self.messages[..end].iter().filter(pinned);
        results.flat_map(|(_, message)| message.answers()).cloned().collect()
    }

    fn forget_what_is_not_sent(&mut self) {
        let sent: HashSet<EntryId> = self.messages.iter().map(|(id, _)| *id).collect();
        self.notes.retain(|message, _| sent.contains(message));
        self.turns.retain(|message, _| sent.contains(message));
        let calls: HashSet<&CallId> = self
            .messages
            .iter()
            .flat_map(|(_, message)| message.calls())
            .map(|call| &call.id)
            .collect();
        self.open_calls.retain(|call| calls.contains(&call.id));
        // A context that is no longer sent has to be sent again.
        self.contexts.clear();
        for (_, message) in &self.messages {
            note_contexts(&mut self.contexts, message);
        }
    }

    /// The index of the message of this record, or else of the first message that was written after
    /// it: ids grow with time.
    fn position(&self, id: EntryId) -> usize {
        let exact = self.messages.iter().position(|(message, _)| *message == id);
        exact
            .or_else(|| self.messages.iter().position(|(message, _)| *message > id))
            .unwrap_or(self.messages.len())
    }
}

/// What of a message the user wrote or attached. What slug adds to a message is not the user's, nor
/// is an image that came with the result of a call.
pub fn users_own(message: &Message) -> impl Iterator<Item = &ContentBlock> {
    let is_own = message.role == MessageRole::User;
    let is_result = message.answers().next().is_some();
    message.content.iter().filter(move |block| match block {
        ContentBlock::Text { .. } => is_own,
        ContentBlock::Image(_) => is_own && !is_result,
        ContentBlock::Context { .. }
        | ContentBlock::Thinking { .. }
        | ContentBlock::Sealed { .. }
        | ContentBlock::ToolUse(_)
        | ContentBlock::ToolResult { .. } => false,
    })
}

fn context(name: &str, text: &str) -> ContentBlock {
    ContentBlock::Context { name: name.to_owned(), text: text.to_owned() }
}

fn result_stub(name: &str, content: &str, is_error: bool, images: usize) -> String {
    let chars = content.chars().count();
    let images = match images {
        0 => String::new(),
        1 => " and an image".to_owned(),
        many => format!(" and {many} images"),
    };
    let error = match is_error {
        true => format!("{STUB_ERROR}{}", both_ends_of_error(content)),
        false => String::new(),
    };
    format!(
        "[result of {name} dropped to save space, {chars} characters{images}{error}; {STUB_END}"
    )
}

fn both_ends_of_error(content: &str) -> String {
    let line = content.split_whitespace().collect::<Vec<_>>().join(" ");
    let (head, tail) = STUB_ERROR_ENDS;
    let chars = line.chars().count();
    if chars <= head + tail {
        return line;
    }
    let start: String = line.chars().take(head).collect();
    let end: String = line.chars().skip(chars - tail).collect();
    format!("{start} … {end}")
}

/// The text of a block of which a compaction may leave both ends; `None` for other blocks.
fn text_to_cut(block: &mut ContentBlock, part: ContextPart) -> Option<&mut String> {
    let is_output = is_shell(block);
    if part == ContextPart::Shell {
        let ContentBlock::Context { text, .. } = block else { return None };
        is_output.then_some(text)
    } else {
        let ContentBlock::ToolResult { content, .. } = block else { return None };
        Some(content)
    }
}

/// A text without its middle; `None` where it is short enough.
fn both_ends(content: &str, chars: usize, mark: &str) -> Option<String> {
    let count = content.chars().count();
    if count <= chars {
        return None;
    }
    let byte = |char: usize| content.char_indices().nth(char).map_or(content.len(), |(at, _)| at);
    let (head, tail) = (chars * 2 / 3, chars / 3);
    let left_out = count - head - tail;
    Some(format!(
        "{}\n[{left_out}{mark}\n{}",
        &content[..byte(head)],
        &content[byte(count - tail)..]
    ))
}
