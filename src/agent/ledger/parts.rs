//! Takes a conversation apart into the rows of the ledger. Pure.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use crate::agent::compaction::estimate::{
    TokenEstimator, is_plausible, measure_block, measure_message, measure_text, measure_tools,
};
use crate::agent::compaction::limits::RequestLimits;
use crate::agent::compaction::plan::MeasuredConversation;
use crate::context::LoadedInstructions;
use crate::domain::{
    CallId, CallInput, ContentBlock, EntryId, Message, MessageRole, ToolCall, ToolSpec, TurnId,
};
use crate::session::{
    COMPACTION_CONTEXT, ContextItem, ContextPart, FOLDED_CONTEXT, ReplayedConversation,
    SHELL_CONTEXT, folded_result, is_cut_call, is_cut_output, is_cut_result, is_result_stub,
    is_shell, is_thinking, users_own,
};
use crate::tools::call_title;

use crate::agent::session_skills::SKILL_NOTE;

use super::{ContextLedger, ContextSource, LedgerItem, LedgerItemState, LedgerSource};

/// The most characters of a message or a command that a row shows.
const ABOUT: usize = 200;
/// What is shorter than this is not left out: a stub would be no shorter. In the measure of
/// `compaction::estimate`.
const WORTH_FOLDING: u64 = 50;

/// What the ledger is made from.
pub(super) struct LedgerInput<'a> {
    /// The prompt without the instruction files.
    pub(super) prompt: &'a str,
    pub(super) instructions: &'a LoadedInstructions,
    /// The list of skills as it is sent.
    pub(super) skills: &'a str,
    pub(super) tools: &'a [ToolSpec],
    pub(super) conversation: &'a ReplayedConversation,
    pub(super) last_turn: TurnId,
    pub(super) limits: &'a RequestLimits,
    pub(super) estimator: TokenEstimator,
    pub(super) cwd: &'a Path,
}

/// A row before the whole is shared out over the rows.
struct MeasuredPart {
    kind: ContextSource,
    path: Option<String>,
    measure: u64,
    item: LedgerItem,
}

impl LedgerInput<'_> {
    pub(super) fn ledger(&self) -> ContextLedger {
        let parts = self.parts();
        let measure: u64 = parts.iter().map(|part| part.measure).sum();
        let counted = self.conversation.counted.map(|usage| usage.input + usage.output);
        let counted = counted.filter(|counted| is_plausible(*counted, measure));
        let measured = MeasuredConversation {
            conversation: self.conversation,
            limits: self.limits,
            estimator: self.estimator,
            cwd: self.cwd,
        };
        let used = counted.unwrap_or_else(|| measured.size());
        ContextLedger {
            used,
            is_estimate: counted.is_none(),
            window: self.limits.window,
            compacts_at: self.limits.trigger(),
            reserve: self.limits.reserve,
            sources: shared_out(parts, used, measure),
        }
    }

    /// All parts, in the order in which they are sent.
    fn parts(&self) -> Vec<MeasuredPart> {
        let fixed = |kind, name: &str, measure| MeasuredPart {
            kind,
            path: None,
            measure,
            item: plain_item(name, String::new()),
        };
        let mut parts = vec![fixed(ContextSource::SystemPrompt, "", measure_text(self.prompt))];
        parts.extend(self.tools.iter().map(|tool| {
            let measure = measure_tools(std::slice::from_ref(tool));
            fixed(ContextSource::Tools, &tool.name, measure)
        }));
        parts.extend(self.instructions.files.iter().map(|file| {
            let text = self.instructions.text.get(file.sent.clone()).unwrap_or_default();
            let path = Some(file.path.display().to_string());
            MeasuredPart { path, ..fixed(ContextSource::Instructions, "", measure_text(text)) }
        }));
        // The head of the list belongs to its first row.
        let mut head = 0;
        for line in self.skills.lines() {
            let Some(row) = line.strip_prefix("- ") else {
                head += measure_text(line);
                continue;
            };
            let (name, about) = row.split_once(": ").unwrap_or((row, ""));
            let measure = measure_text(line) + std::mem::take(&mut head);
            let item = plain_item(name, beginning(about));
            parts.push(MeasuredPart { item, ..fixed(ContextSource::Skills, "", measure) });
        }
        // A compaction that only made stubs has no note, and no place among the messages.
        parts.extend(self.conversation.compactions.iter().map(|compaction| {
            let state = match compaction.is_in_force {
                true => LedgerItemState::Compacted,
                false => LedgerItemState::Full,
            };
            let id = ContextItem { entry: compaction.id, part: ContextPart::Compaction };
            let item = LedgerItem {
                item: Some(id),
                state,
                can_fold: true,
                ..plain_item("", compaction.told.clone())
            };
            MeasuredPart { kind: ContextSource::Summary, path: None, measure: 0, item }
        }));
        let messages = MessageParts {
            conversation: self.conversation,
            last_turn: self.last_turn,
            cwd: self.cwd,
            calls: calls(self.conversation),
            task: task(self.conversation),
        };
        for (id, message) in &self.conversation.messages {
            messages.add(*id, message, &mut parts);
        }
        parts
    }
}

fn calls(conversation: &ReplayedConversation) -> HashMap<&CallId, &ToolCall> {
    let calls = conversation.messages.iter().flat_map(|(_, message)| message.calls());
    calls.map(|call| (&call.id, call)).collect()
}

/// The user's first message.
fn task(conversation: &ReplayedConversation) -> Option<EntryId> {
    let is_said = |message: &Message| users_own(message).next().is_some();
    let mut messages = conversation.messages.iter();
    messages
        .find(|(_, message)| message.role == MessageRole::User && is_said(message))
        .map(|(id, _)| *id)
}

/// Takes messages apart.
struct MessageParts<'a> {
    conversation: &'a ReplayedConversation,
    last_turn: TurnId,
    cwd: &'a Path,
    calls: HashMap<&'a CallId, &'a ToolCall>,
    task: Option<EntryId>,
}

impl MessageParts<'_> {
    fn add(&self, id: EntryId, message: &Message, parts: &mut Vec<MeasuredPart>) {
        let first = parts.len();
        let mut places: BTreeMap<(ContextSource, ContextPart), usize> = BTreeMap::new();
        for block in &message.content {
            let (kind, part) = self.source(id, message, block);
            let measure = measure_block(block);
            // A note and a call are rows of their own; what else is of one kind is one item.
            let is_alone = matches!(
                kind,
                ContextSource::Notes | ContextSource::Skills | ContextSource::ToolCalls
            );
            if let Some(at) = places.get(&(kind, part)).filter(|_| !is_alone) {
                parts[*at].measure += measure;
                continue;
            }
            places.insert((kind, part), parts.len());
            let item = self.item(id, message, block, (kind, part));
            parts.push(MeasuredPart { kind, path: None, measure, item });
        }
        let thinking = (ContextSource::Thinking, ContextPart::Thinking);
        if self.conversation.edits.is_folded_out(id, ContextPart::Thinking)
            && !places.contains_key(&thinking)
        {
            parts.push(self.folded_thinking(id));
        }
        let blocks: u64 = parts[first..].iter().map(|part| part.measure).sum();
        let frame = measure_message(message).saturating_sub(blocks);
        if let Some(part) = parts.get_mut(first) {
            part.measure += frame;
        }
        for part in &mut parts[first..] {
            if part.state_may_fold() && part.measure <= WORTH_FOLDING {
                part.item.can_fold = false;
            }
        }
    }

    /// The row of thinking that is left out: nothing stands in its place.
    fn folded_thinking(&self, entry: EntryId) -> MeasuredPart {
        let item = LedgerItem {
            item: Some(ContextItem { entry, part: ContextPart::Thinking }),
            turns_ago: self.turns_ago(entry),
            state: LedgerItemState::FoldedOut,
            can_fold: true,
            ..plain_item("", "left out".to_owned())
        };
        MeasuredPart { kind: ContextSource::Thinking, path: None, measure: 0, item }
    }

    fn turns_ago(&self, entry: EntryId) -> Option<u32> {
        let turn = self.conversation.turns.get(&entry)?;
        Some(self.last_turn.0.saturating_sub(turn.0))
    }

    /// The source of a block, and the part of its record that it belongs to.
    fn source(
        &self,
        id: EntryId,
        message: &Message,
        block: &ContentBlock,
    ) -> (ContextSource, ContextPart) {
        let is_of_user = message.role == MessageRole::User;
        match block {
            ContentBlock::Text { .. } if is_of_user => {
                (ContextSource::UserMessages, ContextPart::Text)
            }
            ContentBlock::Text { .. } => (ContextSource::Answers, ContextPart::Text),
            ContentBlock::Thinking { .. } | ContentBlock::Sealed { .. } => {
                (ContextSource::Thinking, ContextPart::Thinking)
            }
            ContentBlock::ToolUse(_) => (ContextSource::ToolCalls, ContextPart::Text),
            ContentBlock::ToolResult { .. } => (ContextSource::ToolResults, ContextPart::Result),
            ContentBlock::Image(_) => (ContextSource::Images, ContextPart::Images),
            ContentBlock::Context { name, .. } => match name.as_str() {
                SHELL_CONTEXT => (ContextSource::ToolResults, ContextPart::Shell),
                COMPACTION_CONTEXT if self.conversation.notes.contains_key(&id) => {
                    (ContextSource::Summary, ContextPart::Compaction)
                }
                COMPACTION_CONTEXT => (ContextSource::UserMessages, ContextPart::Text),
                FOLDED_CONTEXT => self.folded_source(id),
                name if name.starts_with(SKILL_NOTE) => (ContextSource::Skills, ContextPart::Text),
                _ => (ContextSource::Notes, ContextPart::Text),
            },
        }
    }

    fn folded_source(&self, id: EntryId) -> (ContextSource, ContextPart) {
        let sources = [
            (ContextSource::UserMessages, ContextPart::Text),
            (ContextSource::ToolResults, ContextPart::Shell),
            (ContextSource::Images, ContextPart::Images),
        ];
        let is_folded = |part| self.conversation.edits.is_folded_out(id, part);
        let mut folded = sources.into_iter().filter(|(_, part)| is_folded(*part));
        folded.next().unwrap_or((ContextSource::Notes, ContextPart::Text))
    }

    fn item(
        &self,
        id: EntryId,
        message: &Message,
        block: &ContentBlock,
        (kind, part): (ContextSource, ContextPart),
    ) -> LedgerItem {
        let edits = &self.conversation.edits;
        let turns_ago = self.turns_ago(id);
        let is_last = turns_ago == Some(0);
        let (name, about) = self.label(message, block);
        let mut item = LedgerItem { turns_ago, ..plain_item(&name, about) };
        item.state = if edits.is_folded_out(id, part) {
            LedgerItemState::FoldedOut
        } else if edits.is_pinned(id, part) {
            LedgerItemState::Pinned
        } else {
            compacted_state(block)
        };
        (item.can_fold, item.can_pin) = match kind {
            ContextSource::UserMessages => {
                (self.task != Some(id) && !is_last, self.task != Some(id))
            }
            ContextSource::Answers | ContextSource::Images => (true, true),
            ContextSource::Thinking => (is_thinking(block) && !is_last, false),
            ContextSource::ToolResults => (is_foldable(block, &name), true),
            ContextSource::SystemPrompt
            | ContextSource::Tools
            | ContextSource::Instructions
            | ContextSource::Skills
            | ContextSource::Notes
            | ContextSource::ToolCalls => (false, false),
            ContextSource::Summary => {
                let entry = self.conversation.notes.get(&id).copied().unwrap_or(id);
                item.item = Some(ContextItem { entry, part });
                return item;
            }
        };
        let is_edited = item.state == LedgerItemState::FoldedOut;
        item.can_fold |= is_edited;
        item.item = (item.can_fold || item.can_pin).then_some(ContextItem { entry: id, part });
        item
    }

    /// The name and the text of a block's row.
    fn label(&self, message: &Message, block: &ContentBlock) -> (String, String) {
        let of_call = |call: &ToolCall| {
            let call = call.inner();
            let title = match &call.input {
                CallInput::Valid(input) => call_title(&call.name, input, self.cwd),
                CallInput::Invalid(_) => String::new(),
            };
            (call.name.clone(), beginning(&title))
        };
        match block {
            ContentBlock::Text { .. } => (String::new(), beginning(&message.text())),
            ContentBlock::Thinking { thinking, .. } => (String::new(), beginning(thinking)),
            ContentBlock::Sealed { .. } => {
                (String::new(), "only its server can read it".to_owned())
            }
            ContentBlock::ToolUse(call) => of_call(call),
            ContentBlock::ToolResult { tool_use_id, content, .. } => {
                let call = self.calls.get(tool_use_id);
                call.map_or_else(|| (String::new(), beginning(content)), |call| of_call(call))
            }
            ContentBlock::Image(image) => (String::new(), image.to_string()),
            ContentBlock::Context { name, text } => match name.as_str() {
                SHELL_CONTEXT => ("!".to_owned(), beginning(text)),
                FOLDED_CONTEXT => (String::new(), beginning(text)),
                COMPACTION_CONTEXT => (String::new(), beginning(&message.text())),
                _ => (name.strip_prefix(SKILL_NOTE).unwrap_or(name).to_owned(), beginning(text)),
            },
        }
    }
}

impl MeasuredPart {
    /// Whether it is sent in full, and could be left out.
    fn state_may_fold(&self) -> bool {
        self.item.can_fold
            && matches!(self.item.state, LedgerItemState::Full | LedgerItemState::Pinned)
    }
}

/// What a compaction has made of a block.
fn compacted_state(block: &ContentBlock) -> LedgerItemState {
    match block {
        ContentBlock::ToolResult { content, .. }
            if is_result_stub(content) || is_cut_result(content) =>
        {
            LedgerItemState::Compacted
        }
        ContentBlock::ToolUse(call) if is_cut_call(&call.input) => LedgerItemState::Compacted,
        ContentBlock::Context { text, .. } if is_shell(block) && is_cut_output(text) => {
            LedgerItemState::Compacted
        }
        ContentBlock::Text { .. }
        | ContentBlock::Context { .. }
        | ContentBlock::Image(_)
        | ContentBlock::Thinking { .. }
        | ContentBlock::Sealed { .. }
        | ContentBlock::ToolUse(_)
        | ContentBlock::ToolResult { .. } => LedgerItemState::Full,
    }
}

/// Whether a result can be left out or brought back.
fn is_foldable(block: &ContentBlock, tool: &str) -> bool {
    match block {
        ContentBlock::ToolResult { content, .. } => {
            is_result_stub(content) || folded_result(tool, content).is_some()
        }
        ContentBlock::Text { .. }
        | ContentBlock::Context { .. }
        | ContentBlock::Image(_)
        | ContentBlock::Thinking { .. }
        | ContentBlock::Sealed { .. }
        | ContentBlock::ToolUse(_) => true,
    }
}

fn plain_item(name: &str, about: String) -> LedgerItem {
    LedgerItem {
        item: None,
        name: name.to_owned(),
        about,
        tokens: 0,
        behind: 0,
        turns_ago: None,
        state: LedgerItemState::Full,
        can_fold: false,
        can_pin: false,
    }
}

/// How a text begins, on one line.
fn beginning(text: &str) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        if words.len() > ABOUT {
            break;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
    words.chars().take(ABOUT).collect()
}

/// Shares `used` tokens out over the parts by their measures, so that they add up to it, and puts
/// them under their sources.
fn shared_out(parts: Vec<MeasuredPart>, used: u64, measure: u64) -> Vec<LedgerSource> {
    let share = |measured: u64| {
        let tokens = u128::from(used) * u128::from(measured) / u128::from(measure.max(1));
        u64::try_from(tokens).unwrap_or(u64::MAX)
    };
    let mut sources: BTreeMap<(ContextSource, Option<String>), Vec<LedgerItem>> = BTreeMap::new();
    // Instruction files stay in the order in which they are sent.
    let mut files: Vec<LedgerSource> = Vec::new();
    let mut before = 0;
    for mut part in parts {
        let after = before + part.measure;
        part.item.tokens = share(after) - share(before);
        part.item.behind = used.saturating_sub(share(after));
        before = after;
        match part.kind {
            ContextSource::Instructions => files.push(LedgerSource {
                kind: part.kind,
                path: part.path,
                tokens: part.item.tokens,
                items: Vec::new(),
            }),
            kind => add_item(sources.entry((kind, None)).or_default(), part.item),
        }
    }
    let source = |((kind, path), items): ((ContextSource, Option<String>), Vec<LedgerItem>)| {
        let tokens = items.iter().map(|item| item.tokens).sum();
        let items = if kind == ContextSource::SystemPrompt { Vec::new() } else { items };
        LedgerSource { kind, path, tokens, items }
    };
    let mut all: Vec<LedgerSource> = sources.into_iter().map(source).chain(files).collect();
    all.sort_by_key(|source| source.kind);
    all
}

/// Adds an item; a note of a compaction goes to the row of that compaction.
fn add_item(items: &mut Vec<LedgerItem>, item: LedgerItem) {
    let is_compaction = item.item.is_some_and(|it| it.part == ContextPart::Compaction);
    let same = items.iter_mut().find(|it| is_compaction && it.item == item.item);
    match same {
        Some(same) => {
            same.tokens += item.tokens;
            same.behind = item.behind;
            same.turns_ago = item.turns_ago;
        }
        None => items.push(item),
    }
}
