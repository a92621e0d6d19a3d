//! Replays a log's records into the conversation that goes on.
//!
//! The same replay serves a resume (over all records) and a running session (record by record).
//! Calls without a result and the like are reported here, not repaired: that is
//! `agent::normalise`'s task. Permissions are never restored: permission and mode records change
//! nothing here.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::domain::{
    CallId, ContentBlock, ContentHash, EntryId, Message, ModelName, ReasoningEffort, StopReason,
    TodoItem, ToolCall, TurnId,
};

use super::spending::SessionSpending;
use super::title::note_title;
use super::undo::RewindHistory;
use super::{CompactionEntry, LogEntry, LogRecord, MessageEntry};

/// The state of a conversation after the records of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayedConversation {
    /// The messages that the provider gets, with compactions applied, each with the id of its
    /// record.
    pub messages: Vec<(EntryId, Message)>,
    /// The steps of the current plan.
    pub todos: Vec<TodoItem>,
    /// The title that was given, else one made from the user's first message.
    pub title: Option<String>,
    /// The model that was used last; `None` without a header.
    pub model: Option<String>,
    /// The provider that was used last; `None` where the log does not say.
    pub provider: Option<String>,
    /// The reasoning effort, where the user chose one.
    pub effort: Option<ReasoningEffort>,
    /// The number of the next turn.
    pub next_turn: TurnId,
    /// The tokens and the cost of all responses.
    pub spending: SessionSpending,
    /// The last text of each context in the messages that are sent, by the context's name.
    pub contexts: BTreeMap<String, String>,
    /// For each thinking block that is signed or sealed, by the hash of its signature: the hash of
    /// the request that its response answered.
    pub seals: HashMap<ContentHash, ContentHash>,
    /// The calls in `messages` that have no result, in order.
    pub open_calls: Vec<ToolCall>,
}

/// How much a compaction drops from the messages that are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionStage {
    /// All but the last five tool results become stubs.
    Results,
    /// All but the last ten turns are dropped.
    Turns,
}

const RESULTS_KEPT: usize = 5;
const TURNS_KEPT: usize = 10;

/// The compaction that `stage` would make now; `None` where it would change nothing.
pub fn compaction_for(records: &[LogRecord], stage: CompactionStage) -> Option<CompactionEntry> {
    let compaction = match stage {
        CompactionStage::Results => CompactionEntry {
            results_kept_from: Some(first_kept_result(records)?),
            first_kept: None,
        },
        CompactionStage::Turns => CompactionEntry {
            results_kept_from: None,
            first_kept: Some(first_of_kept_turns(records)?),
        },
    };
    let now = ReplayedConversation::of(records);
    let mut then = now.clone();
    then.compact(&compaction);
    (then.messages != now.messages).then_some(compaction)
}

fn first_kept_result(records: &[LogRecord]) -> Option<EntryId> {
    let results = messages(records).rev().filter(|(_, message)| message.is_result());
    results.take(RESULTS_KEPT).last().map(|(record, _)| record.id)
}

fn first_of_kept_turns(records: &[LogRecord]) -> Option<EntryId> {
    let mut kept = HashSet::new();
    let late = messages(records).rev().take_while(|(record, _)| {
        kept.insert(record.turn);
        kept.len() <= TURNS_KEPT
    });
    late.last().map(|(record, _)| record.id)
}

fn messages(records: &[LogRecord]) -> impl DoubleEndedIterator<Item = (&LogRecord, &MessageEntry)> {
    let rewinds = RewindHistory::of(records);
    records.iter().enumerate().filter_map(move |(at, record)| {
        let message = record.entry.as_message()?;
        (message.source.is_main() && rewinds.is_live(at)).then_some((record, message))
    })
}

impl Default for ReplayedConversation {
    fn default() -> Self {
        Self {
            messages: Vec::new(),
            todos: Vec::new(),
            title: None,
            model: None,
            provider: None,
            effort: None,
            next_turn: TurnId(1),
            spending: SessionSpending::default(),
            contexts: BTreeMap::new(),
            seals: HashMap::new(),
            open_calls: Vec::new(),
        }
    }
}

impl ReplayedConversation {
    /// The conversation after all of `records`, without those that a rewind took back.
    pub fn of(records: &[LogRecord]) -> Self {
        let rewinds = RewindHistory::of(records);
        let mut conversation = Self::default();
        for (at, record) in records.iter().enumerate() {
            if rewinds.is_live(at) {
                conversation.apply(record);
            } else {
                conversation.pass_over(record);
            }
        }
        conversation
    }

    /// Updates the conversation by one more record. After a rewind, [`Self::of`] has to be called
    /// with all records instead.
    pub fn apply(&mut self, record: &LogRecord) {
        self.next_turn = self.next_turn.max(record.turn.next());
        note_title(&mut self.title, &record.entry);
        match &record.entry {
            LogEntry::Session(header) => {
                self.spending.begin(record.id);
                self.model = Some(header.model.clone());
                self.provider = Some(header.provider.clone());
            }
            LogEntry::Message(message) => {
                self.spend(record, message);
                if message.source.is_main() {
                    self.say(record.id, message);
                }
            }
            LogEntry::Compaction(compaction) => self.compact(compaction),
            LogEntry::Todo { todos } => self.todos.clone_from(todos),
            LogEntry::Model { model, provider, effort } => {
                self.model = Some(model.clone());
                self.provider.clone_from(provider);
                self.effort = *effort;
            }
            LogEntry::ToolStarted { .. }
            | LogEntry::Permission(_)
            | LogEntry::FileChange(_)
            | LogEntry::NotCovered(_)
            | LogEntry::Rewind(_)
            | LogEntry::Interrupted
            | LogEntry::TurnEnd(_)
            | LogEntry::Title { .. }
            | LogEntry::Mode { .. } => {}
        }
    }

    /// Applies what still holds of a record that a rewind took back: its turn and title, and its
    /// cost, which was paid.
    fn pass_over(&mut self, record: &LogRecord) {
        if let LogEntry::Message(message) = &record.entry {
            self.next_turn = self.next_turn.max(record.turn.next());
            note_title(&mut self.title, &record.entry);
            self.spend(record, message);
        } else if !matches!(record.entry, LogEntry::Compaction(_) | LogEntry::Todo { .. }) {
            self.apply(record);
        }
    }

    fn spend(&mut self, record: &LogRecord, message: &MessageEntry) {
        let model = ModelName {
            provider: self.provider.clone().unwrap_or_default(),
            model: message.model.clone().or_else(|| self.model.clone()).unwrap_or_default(),
        };
        self.spending.take(record, message, model);
    }

    fn say(&mut self, id: EntryId, entry: &MessageEntry) {
        let message = message_to_send(entry);
        if let Some(answered) = &entry.answered {
            let signatures = message.content.iter().filter_map(ContentBlock::signature_hash);
            self.seals.extend(signatures.map(|signature| (signature, answered.clone())));
        }
        self.open_calls.retain(|call| !message.answers().any(|answered| *answered == call.id));
        self.open_calls.extend(message.calls().cloned());
        note_contexts(&mut self.contexts, &message);
        self.messages.push((id, message));
    }

    fn compact(&mut self, compaction: &CompactionEntry) {
        if let Some(kept_from) = compaction.results_kept_from {
            self.shorten_results(kept_from);
        }
        if let Some(first_kept) = compaction.first_kept {
            self.drop_before(first_kept);
        }
    }

    fn shorten_results(&mut self, kept_from: EntryId) {
        let names: HashMap<CallId, String> = self
            .messages
            .iter()
            .flat_map(|(_, message)| message.calls())
            .map(|call| (call.id.clone(), call.name.clone()))
            .collect();
        let end = self.position(kept_from);
        for block in self.messages[..end].iter_mut().flat_map(|(_, message)| &mut message.content) {
            if let ContentBlock::ToolResult { tool_use_id, content, .. } = block {
                let name = names.get(tool_use_id).map_or("a tool", String::as_str);
                let stub = format!(
                    "[result of {name} dropped to save space; call it again if you need it]"
                );
                if content.len() > stub.len() {
                    *content = stub;
                }
            }
        }
    }

    fn drop_before(&mut self, first_kept: EntryId) {
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
        self.messages.drain(..start);
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

/// The message as the provider gets it.
///
/// An interrupted response is sent without its unsigned thinking: that is half a thought, and no
/// provider accepts it back. A response that the output limit cut before it said anything is not
/// sent at all, because no message may end with a thought.
fn message_to_send(entry: &MessageEntry) -> Message {
    let mut message = entry.message();
    match entry.stop_reason {
        Some(StopReason::Interrupted) => message.content.retain(|block| match block {
            ContentBlock::Thinking { signature, .. } => signature.is_some(),
            ContentBlock::Sealed { .. } => false,
            ContentBlock::Text { .. }
            | ContentBlock::Context { .. }
            | ContentBlock::Image(_)
            | ContentBlock::ToolUse(_)
            | ContentBlock::ToolResult { .. } => true,
        }),
        Some(StopReason::MaxTokens)
            if message.calls().next().is_none() && message.text().trim().is_empty() =>
        {
            message.content.clear();
        }
        Some(
            StopReason::EndTurn
            | StopReason::ToolUse
            | StopReason::MaxTokens
            | StopReason::Refusal
            | StopReason::Paused,
        )
        | None => {}
    }
    message
}

fn note_contexts(contexts: &mut BTreeMap<String, String>, message: &Message) {
    for (name, text) in message.content.iter().filter_map(ContentBlock::as_context) {
        contexts.insert(name.to_owned(), text.to_owned());
    }
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;
