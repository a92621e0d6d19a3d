//! Replays a log's records into the conversation that goes on.
//!
//! The same replay serves a resume (over all records) and a running session (record by record).
//! Calls without a result and the like are reported here, not repaired: that is
//! `agent::normalise`'s task. Permissions are never restored: permission and mode records change
//! nothing here.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::domain::{
    CallId, ContentBlock, ContentHash, EntryId, Message, MessageRole, ModelName, ReasoningEffort,
    StopReason, TokenUsage, ToolCall, TurnId, WorkPlan,
};

use super::compaction::{AppliedCompaction, undone_compactions};
use super::context_edit::ContextEdits;
use super::file_versions::SessionFileVersions;
use super::spending::SessionSpending;
use super::title::note_title;
use super::turn_changes::TurnChangeTally;
use super::undo::RewindHistory;
use super::{CompactionEntry, LogEntry, LogRecord, MessageEntry};

/// The state of a conversation after the records of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayedConversation {
    /// The messages that the provider gets, with compactions applied, each with the id of its
    /// record.
    pub messages: Vec<(EntryId, Message)>,
    pub plan: WorkPlan,
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
    /// Those of them that never began, as far as the log says: slug ended before.
    pub not_begun: HashSet<CallId>,
    /// The files that the session has changed, absolute.
    pub files_changed: SessionFileVersions,
    /// The files that were read up to the last compaction, as it lists them.
    pub files_read: Vec<String>,
    /// What the user decided about parts of it.
    pub edits: ContextEdits,
    /// The compactions, in order; also those that were taken back.
    pub compactions: Vec<AppliedCompaction>,
    /// The messages that are notes of a compaction, each with the record of that compaction.
    pub notes: BTreeMap<EntryId, EntryId>,
    /// The turn of each message that is sent.
    pub turns: BTreeMap<EntryId, TurnId>,
    /// What the server has counted for the last response, while that is the end of what is sent.
    pub counted: Option<TokenUsage>,
    /// The newest count of what is before a response, while that is sent as it was.
    pub counted_request: Option<CountedRequest>,
    /// The last request that slug has measured and a server counted, also where it was another
    /// conversation that was sent.
    pub measured_request: Option<MeasuredRequest>,
    /// What the newest turn has changed in files.
    pub turn_changes: TurnChangeTally,
}

/// A request that a server has counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedRequest {
    /// The response to it: the request had the messages before that.
    pub response: EntryId,
    pub model: String,
    /// The tokens of the request.
    pub input: u64,
}

/// A request that slug has measured and a server counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuredRequest {
    pub model: String,
    /// In slug's own measure.
    pub measure: u64,
    /// The tokens of the request.
    pub input: u64,
}

impl Default for ReplayedConversation {
    fn default() -> Self {
        Self {
            messages: Vec::new(),
            plan: WorkPlan::default(),
            title: None,
            model: None,
            provider: None,
            effort: None,
            next_turn: TurnId(1),
            spending: SessionSpending::default(),
            contexts: BTreeMap::new(),
            seals: HashMap::new(),
            open_calls: Vec::new(),
            not_begun: HashSet::new(),
            files_changed: SessionFileVersions::default(),
            files_read: Vec::new(),
            edits: ContextEdits::default(),
            compactions: Vec::new(),
            notes: BTreeMap::new(),
            turns: BTreeMap::new(),
            counted: None,
            counted_request: None,
            measured_request: None,
            turn_changes: TurnChangeTally::default(),
        }
    }
}

impl ReplayedConversation {
    /// The conversation after all of `records`, without those that a rewind took back.
    pub fn of(records: &[LogRecord]) -> Self {
        let rewinds = RewindHistory::of(records);
        let undone = undone_compactions(records, &rewinds);
        let mut conversation = Self { edits: ContextEdits::of(records), ..Self::default() };
        for (at, record) in records.iter().enumerate() {
            if undone.contains(&record.id) {
                if let (LogEntry::Compaction(compaction), true) =
                    (&record.entry, rewinds.is_live(at))
                {
                    conversation.note_compaction(record.id, compaction, false);
                }
                continue;
            }
            if rewinds.is_live(at) {
                conversation.apply(record);
            } else {
                conversation.pass_over(record);
            }
        }
        conversation.not_begun = conversation.open_calls_without_start(records);
        conversation
    }

    fn open_calls_without_start(&self, records: &[LogRecord]) -> HashSet<CallId> {
        let mut open: HashSet<CallId> = self.open_calls.iter().map(|it| it.id.clone()).collect();
        if !open.is_empty() {
            for record in records {
                if let LogEntry::ToolStarted { call, .. } = &record.entry {
                    open.remove(call);
                }
            }
        }
        open
    }

    /// Updates the conversation by one more record. After a rewind, after an entry that takes a
    /// compaction back, and after a decision about a part of the conversation, [`Self::of`] has to be
    /// called with all records instead.
    pub fn apply(&mut self, record: &LogRecord) {
        self.next_turn = self.next_turn.max(record.turn.next());
        note_title(&mut self.title, &record.entry);
        self.turn_changes.note(record);
        match &record.entry {
            LogEntry::Session(header) => {
                self.spending.begin(record.id);
                self.model = Some(header.model.clone());
                self.provider = Some(header.provider.clone());
            }
            LogEntry::Message(message) => {
                self.spend(record, message);
                if message.source.is_main() {
                    self.turns.insert(record.id, record.turn);
                    self.say(record.id, message);
                }
            }
            LogEntry::Compaction(compaction) => {
                self.note_compaction(record.id, compaction, true);
                self.compact(compaction, Some(record.id));
            }
            LogEntry::ContextEdit(edit) => {
                self.edits.note(record.id, edit);
                self.forget_counts();
            }
            LogEntry::Todo { todos } => self.plan.todos.clone_from(todos),
            LogEntry::Tasks(change) => self.plan.apply(change),
            LogEntry::Model { model, provider, effort } => {
                self.model = Some(model.clone());
                self.provider.clone_from(provider);
                self.effort = *effort;
            }
            LogEntry::FileChange(change) => self.files_changed.note(change),
            LogEntry::ToolStarted { .. }
            | LogEntry::Permission(_)
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
        } else if !matches!(
            record.entry,
            LogEntry::Compaction(_)
                | LogEntry::Todo { .. }
                | LogEntry::Tasks(_)
                | LogEntry::FileChange(_)
        ) {
            self.apply(record);
        }
    }

    fn note_compaction(&mut self, id: EntryId, compaction: &CompactionEntry, is_in_force: bool) {
        if compaction.undoes.is_none() {
            let told = compaction.told();
            self.compactions.push(AppliedCompaction { id, told, is_in_force });
        }
        self.forget_counts();
    }

    /// What is sent from here on is not what a server has counted.
    pub(super) fn forget_counts(&mut self) {
        self.counted = None;
        self.counted_request = None;
    }

    fn spend(&mut self, record: &LogRecord, message: &MessageEntry) {
        let model = ModelName {
            provider: self.provider.clone().unwrap_or_default(),
            model: message.model.clone().or_else(|| self.model.clone()).unwrap_or_default(),
        };
        self.spending.take(record, message, model);
    }

    fn say(&mut self, id: EntryId, entry: &MessageEntry) {
        let mut message = entry.message();
        self.edits.fold(id, &mut message, &self.open_calls);
        let message = without_cut_parts(entry, message);
        if let Some(answered) = &entry.answered {
            let signatures = message.content.iter().filter_map(ContentBlock::signature_hash);
            self.seals.extend(signatures.map(|signature| (signature, answered.clone())));
        }
        self.open_calls.retain(|call| !message.answers().any(|answered| *answered == call.id));
        self.open_calls.extend(message.calls().cloned());
        note_contexts(&mut self.contexts, &message);
        let is_counted = message.role == MessageRole::Assistant && !entry.is_usage_estimated;
        self.counted = entry.usage.filter(|_| is_counted);
        if let (Some(usage), Some(model)) = (self.counted, entry.model.clone()) {
            let input = usage.input;
            if let Some(measure) = entry.measure {
                self.measured_request =
                    Some(MeasuredRequest { model: model.clone(), measure, input });
            }
            self.counted_request = Some(CountedRequest { response: id, model, input });
        }
        self.messages.push((id, message));
    }
}

/// The message as the provider gets it.
///
/// An interrupted response is sent without its unsigned thinking: that is half a thought, and no
/// provider accepts it back. A response that the output limit cut before it said anything is not
/// sent at all, because no message may end with a thought.
fn without_cut_parts(entry: &MessageEntry, mut message: Message) -> Message {
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

pub(super) fn note_contexts(contexts: &mut BTreeMap<String, String>, message: &Message) {
    for (name, text) in message.content.iter().filter_map(ContentBlock::as_context) {
        contexts.insert(name.to_owned(), text.to_owned());
    }
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;
