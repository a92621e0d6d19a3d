//! What the user decided about single parts of the conversation: fold one out of what is sent, bring
//! it back, or pin it so that no compaction touches it.
//!
//! The log keeps every message unchanged, and a decision is an entry of its own. The newest decision
//! about an item holds wherever the item is, also after a resume, in a fork and after a rewind. It is
//! applied when the log is replayed, before the compactions, so that these see what is really sent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::{ContentBlock, EntryId, Message, MessageRole, ToolCall};

use super::{LogEntry, LogRecord};

/// The name of the context notes that stand in place of what the user has folded out.
pub const FOLDED_CONTEXT: &str = "folded_out";

/// The name of the context notes that hold the output of a command that the user ran.
pub const SHELL_CONTEXT: &str = "shell";

/// How what stands in place of an answer begins. Responses hold no context notes.
const ANSWER_STUB: &str = "(The user has left this answer out";
/// How what stands in place of the user's words begins.
const MESSAGE_STUB: &str = "The user has left this message out";
/// A stub quotes so many characters of what it stands for.
const QUOTED: usize = 60;

/// A decision about an item, as it is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ContextEditEntry {
    pub item: ContextItem,
    pub action: ContextAction,
}

/// A part of the conversation that can be folded out and pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ContextItem {
    /// The record that holds it: a message, or a compaction.
    pub entry: EntryId,
    pub part: ContextPart,
}

/// Which part of a record an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ContextPart {
    /// What the user or the model said in a message.
    Text,
    /// The reasoning of a response.
    Thinking,
    /// The result of a call.
    Result,
    /// All images of a message.
    Images,
    /// The output of a command that the user ran.
    Shell,
    /// A whole compaction: bringing it back sends again what it left out.
    Compaction,
}

/// What the user wants of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ContextAction {
    /// A stub takes its place.
    FoldOut,
    /// It is sent in full again, until a later compaction.
    BringBack,
    /// It is sent in full, and compactions leave it alone.
    Pin,
    /// It is no longer pinned: what compactions made of it holds.
    Unpin,
}

/// The decisions that hold, each with the entry that made it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextEdits {
    decisions: BTreeMap<ContextItem, (ContextAction, EntryId)>,
}

impl ContextEdits {
    /// The decisions of these records. Those in records that a rewind took back hold, too: what they
    /// are about may still be there.
    pub(super) fn of(records: &[LogRecord]) -> Self {
        let mut edits = Self::default();
        for record in records {
            if let LogEntry::ContextEdit(edit) = &record.entry {
                edits.note(record.id, edit);
            }
        }
        edits
    }

    /// Takes a decision, unless a newer one about the same item is known.
    pub(super) fn note(&mut self, id: EntryId, edit: &ContextEditEntry) {
        let known = self.decisions.get(&edit.item);
        if known.is_none_or(|(_, at)| *at <= id) {
            self.decisions.insert(edit.item, (edit.action, id));
        }
    }

    fn action(&self, item: ContextItem) -> Option<ContextAction> {
        self.decisions.get(&item).map(|(action, _)| *action)
    }

    /// Whether the user has folded this part of a record out.
    pub fn is_folded_out(&self, entry: EntryId, part: ContextPart) -> bool {
        self.action(ContextItem { entry, part }) == Some(ContextAction::FoldOut)
    }

    /// Whether compactions have to leave this part of a record alone.
    pub fn is_pinned(&self, entry: EntryId, part: ContextPart) -> bool {
        self.action(ContextItem { entry, part }) == Some(ContextAction::Pin)
    }

    /// Whether any part of a record is pinned.
    pub fn has_pinned(&self, entry: EntryId) -> bool {
        self.of_entry(entry).any(|(_, (action, _))| *action == ContextAction::Pin)
    }

    /// Whether a compaction must not touch this part of a record: it is pinned, or was brought back
    /// after the compaction. `None` stands for a compaction that comes after all decisions.
    pub(super) fn protects(
        &self,
        entry: EntryId,
        part: ContextPart,
        compaction: Option<EntryId>,
    ) -> bool {
        match self.decisions.get(&ContextItem { entry, part }) {
            Some((ContextAction::Pin, _)) => true,
            Some((ContextAction::BringBack, at)) => compaction.is_some_and(|it| *at > it),
            Some((ContextAction::FoldOut | ContextAction::Unpin, _)) | None => false,
        }
    }

    /// Whether a compaction must not touch some part of a record.
    pub(super) fn protects_any(&self, entry: EntryId, compaction: Option<EntryId>) -> bool {
        self.of_entry(entry).any(|(item, _)| self.protects(entry, item.part, compaction))
    }

    fn of_entry(
        &self,
        entry: EntryId,
    ) -> impl Iterator<Item = (&ContextItem, &(ContextAction, EntryId))> {
        let (first, last) = (ContextPart::Text, ContextPart::Compaction);
        let item = |part| ContextItem { entry, part };
        self.decisions.range(item(first)..=item(last))
    }

    /// Puts stubs in place of what the user has folded out of a message. `open` are the calls that
    /// may have their results in it.
    pub(super) fn fold(&self, entry: EntryId, message: &mut Message, open: &[ToolCall]) {
        for (item, (action, _)) in self.of_entry(entry) {
            if *action == ContextAction::FoldOut {
                fold_part(message, item.part, open);
            }
        }
    }
}

/// What stands in place of a result that the user has folded out; `None` where that is no shorter.
pub fn folded_result(tool: &str, content: &str) -> Option<String> {
    let chars = content.chars().count();
    let stub = format!(
        "[result of {tool} left out by the user, {chars} characters; call it again if you need it]"
    );
    (stub.len() < content.len()).then_some(stub)
}

/// Whether a block of a response is reasoning that may be left out. Reasoning that other servers
/// than Anthropic's have sealed belongs to the call behind it.
pub fn is_thinking(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Thinking { .. } => true,
        ContentBlock::Sealed { .. } => block.signature_hash().is_some(),
        ContentBlock::Text { .. }
        | ContentBlock::Context { .. }
        | ContentBlock::Image(_)
        | ContentBlock::ToolUse(_)
        | ContentBlock::ToolResult { .. } => false,
    }
}

fn fold_part(message: &mut Message, part: ContextPart, open: &[ToolCall]) {
    match part {
        ContextPart::Text => {
            let text = message.text();
            let (chars, begins) = (text.chars().count(), excerpt(&text));
            let stub = match message.role {
                MessageRole::User => {
                    note(format!("{MESSAGE_STUB}, {chars} characters; it began: {begins}"))
                }
                MessageRole::Assistant => ContentBlock::Text {
                    text: format!("{ANSWER_STUB}, {chars} characters; it began: {begins})"),
                },
            };
            replace_first(message, |block| block.as_text().is_some(), Some(stub));
        }
        ContextPart::Thinking => replace_first(message, is_thinking, None),
        ContextPart::Result => {
            for block in &mut message.content {
                let ContentBlock::ToolResult { tool_use_id, content, .. } = block else { continue };
                let name = open.iter().find(|call| call.id == *tool_use_id);
                let name = name.map(|call| call.inner());
                let name = name.as_ref().map_or("a tool", |call| call.name.as_str());
                if let Some(stub) = folded_result(name, content) {
                    *content = stub;
                }
            }
        }
        ContextPart::Images => {
            let images = message.content.iter().filter_map(|block| {
                if let ContentBlock::Image(image) = block { Some(image.to_string()) } else { None }
            });
            let images = images.collect::<Vec<_>>().join(", ");
            let stub = note(format!("Left out by the user: {images}."));
            let is_image = |block: &ContentBlock| matches!(block, ContentBlock::Image(_));
            replace_first(message, is_image, Some(stub));
        }
        ContextPart::Shell => {
            let stub = "The user ran a command here and has left out its output.";
            replace_first(message, is_shell, Some(note(stub.to_owned())));
        }
        ContextPart::Compaction => {}
    }
}

/// Whether a block is the output of a command that the user ran.
pub fn is_shell(block: &ContentBlock) -> bool {
    block.as_context().is_some_and(|(name, _)| name == SHELL_CONTEXT)
}

/// The beginning of a text on one line, which cannot end the tags around a note.
fn excerpt(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ").replace(['<', '>'], "");
    match line.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn note(text: String) -> ContentBlock {
    ContentBlock::Context { name: FOLDED_CONTEXT.to_owned(), text }
}

/// Removes the blocks that fit, and puts `stub` where the first of them was.
fn replace_first(
    message: &mut Message,
    fits: impl Fn(&ContentBlock) -> bool,
    stub: Option<ContentBlock>,
) {
    let Some(at) = message.content.iter().position(&fits) else { return };
    message.content.retain(|block| !fits(block));
    if let Some(stub) = stub {
        message.content.insert(at, stub);
    }
}

#[cfg(test)]
#[path = "context_edit_tests.rs"]
mod tests;
