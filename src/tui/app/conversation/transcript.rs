//! The transcript: the blocks made from the agent's events while a turn runs, or replayed from a
//! session's log.
//!
//! Both ways lead to the same blocks: when the log's record arrives, it replaces the streamed text
//! in place, so that ids, folds and the scroll position stay. Nothing is laid out here.

pub mod backfill;
mod folding;
mod live;
mod lookups;
mod records;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::{
    CallId, CallInput, FileDiff, SubagentState, SubagentSummary, ToolDisplay, ToolStatus, TurnId,
};
use crate::session::undo::{self, RewindHistory, RewindMark};
use crate::session::{LogRecord, ToolResultInfo};
use crate::tools::own_name;

pub use super::block::{
    AssistantText, BlockBody, BlockId, ClosingLine, LiveOutput, PaneFold, TextState, ThinkingText,
    ToolCallBlock, ToolCallContent, ToolCallOrigin, ToolCallState, TranscriptBlock,
    TranscriptNotice,
};
use super::folds::PaneFolds;
use backfill::BackfillRequest;
use folding::PendingFolds;

/// The blocks of the open session, ordered by id.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transcript {
    blocks: Vec<TranscriptBlock>,
    next: u64,
    /// The first of the ids reserved for older blocks.
    older_from: u64,
    cwd: PathBuf,
    /// Blocks of the response that is streaming.
    open: Vec<BlockId>,
    calls: HashMap<CallId, BlockId>,
    /// The pane that is open only while a search match in it is shown.
    peeked: Option<BlockId>,
    /// Folds of all panes or of a kind.
    folds: PaneFolds,
    /// Folds of panes that are not loaded yet.
    pending_folds: PendingFolds,
    /// The answer that the output limit cut off, which will continue in the same block.
    cut: Option<TruncatedAnswer>,
    /// The last turn whose end is marked, so that the event and the log's record mark it only once.
    ended: Option<TurnId>,
    lines: u64,
    /// The calls that changed a file and are not undone, in order.
    edits: Vec<CallId>,
    /// The calls that are undone, also those whose blocks are not loaded yet.
    undone: Vec<CallId>,
    /// The rewinds among the shown records, which also affect older records.
    marks: Vec<RewindMark>,
}

/// An answer that the output limit cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TruncatedAnswer {
    block: BlockId,
    /// The number of its bytes that are in the log.
    upto: usize,
}

/// How a tool call ended, from an event or from the log.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptToolOutcome {
    pub status: ToolStatus,
    /// What the user sees, if that is not the result's text.
    pub display: Option<ToolDisplay>,
    /// A few words for the pane's head.
    pub summary: Option<String>,
    /// The agent that the call started.
    pub agent: Option<Box<SubagentSummary>>,
    pub elapsed: Duration,
}

impl Transcript {
    /// An empty transcript; paths inside `cwd` are shown relative.
    pub fn new(cwd: PathBuf) -> Self {
        Self { cwd, ..Self::default() }
    }

    /// The transcript of a past session.
    pub fn from_records(cwd: PathBuf, records: &[LogRecord]) -> Self {
        Self::counted_from(0, cwd, records)
    }

    /// Like [`Self::from_records`], with the ids from `first` on.
    pub(super) fn counted_from(first: u64, cwd: PathBuf, records: &[LogRecord]) -> Self {
        Self::part(first, cwd, records, &RewindHistory::of(records))
    }

    /// Replays these records, except those that were rewound.
    pub(super) fn part(
        first: u64,
        cwd: PathBuf,
        records: &[LogRecord],
        rewinds: &RewindHistory,
    ) -> Self {
        let mut transcript = Self { next: first, ..Self::new(cwd) };
        transcript.take(records, 0, rewinds);
        transcript
    }

    /// Shows another session: its newest part at once. Returns the request for the rest, which is
    /// replayed off the UI task and passed to [`Self::prepend`]. No id is used twice, so that
    /// nothing laid out for the session before is taken for this one.
    pub fn open(&mut self, records: &Arc<Vec<LogRecord>>) -> Option<BackfillRequest> {
        let older_from = self.next;
        let next = older_from + backfill::IDS;
        let kinds = std::mem::take(&mut self.folds.kinds);
        *self = Self { next, older_from, ..Self::new(std::mem::take(&mut self.cwd)) };
        self.folds.kinds = kinds;
        let upto = backfill::upto(records);
        let rewinds = RewindHistory::of(records);
        self.marks = undo::marks(&records[upto..]);
        self.take(records, upto, &rewinds);
        self.older(records, upto)
    }

    /// The request to replay the records before `upto`, which are not shown yet; `None` if there
    /// are none.
    pub fn older(&self, records: &Arc<Vec<LogRecord>>, upto: usize) -> Option<BackfillRequest> {
        let later = self.marks.clone();
        (upto > 0).then(|| {
            BackfillRequest::new(
                Arc::clone(records),
                upto,
                later,
                self.older_from,
                self.cwd.clone(),
            )
        })
    }

    /// Puts older blocks before all others.
    pub fn prepend(&mut self, mut blocks: Vec<TranscriptBlock>) {
        let joint = blocks.len();
        let mut edits = Vec::new();
        for tool in blocks.iter_mut().filter_map(|block| block.body.tool_call_mut()) {
            tool.is_undone = self.undone.contains(&tool.call);
            if tool.is_edit() && !tool.is_undone {
                edits.push(tool.call.clone());
            }
        }
        self.edits.splice(..0, edits);
        blocks.append(&mut self.blocks);
        self.blocks = blocks;
        self.settle_runs(joint);
    }

    /// The blocks alone.
    pub(super) fn into_blocks(self) -> Vec<TranscriptBlock> {
        self.blocks
    }

    /// Replays the records from index `from` on, except those that were rewound.
    fn take(&mut self, records: &[LogRecord], from: usize, rewinds: &RewindHistory) {
        for (at, record) in records.iter().enumerate().skip(from) {
            if rewinds.is_live(at) {
                self.record(record, Duration::ZERO);
            }
        }
        self.stop_calls();
        self.interrupt_agents();
    }

    /// Agents of a log that has nothing of their end have ended with slug.
    fn interrupt_agents(&mut self) {
        for block in &mut self.blocks {
            if let BlockBody::Tool(tool) = &mut block.body
                && let Some(agent) = tool.agent.as_mut().filter(|agent| agent.state.is_running())
            {
                agent.state = SubagentState::Interrupted;
            }
        }
    }

    /// All blocks, in order.
    pub fn blocks(&self) -> &[TranscriptBlock] {
        &self.blocks
    }

    /// The index of a block, or where it would be: blocks are ordered by id.
    pub fn index(&self, id: BlockId) -> usize {
        self.blocks.partition_point(|block| block.id < id)
    }

    /// Finds a block by its id.
    pub fn get(&self, id: BlockId) -> Option<&TranscriptBlock> {
        self.blocks.get(self.index(id)).filter(|block| block.id == id)
    }

    /// Finds a call by its id, as long as its turn runs.
    pub fn of_call(&self, call: &CallId) -> Option<&ToolCallBlock> {
        self.get(*self.calls.get(call)?)?.body.tool_call()
    }

    /// A count that grows with every line added; it is not the number of lines shown.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Whether a turn has ended since the session was opened, or is among its records.
    pub fn has_ended_turn(&self) -> bool {
        self.ended.is_some()
    }

    /// The model's last text that is not blank.
    pub fn last_answer(&self) -> Option<&str> {
        let mut answers = self.blocks.iter().rev().filter_map(|block| block.body.answer());
        answers.find(|answer| !answer.text.trim().is_empty()).map(|answer| answer.text.as_str())
    }

    /// The last call that changed a file and is not undone.
    pub fn last_edit(&self) -> Option<&CallId> {
        self.edits.last()
    }

    /// Notes that a call's changes were taken back, or are there again.
    fn set_undone(&mut self, call: &CallId, is_undone: bool) {
        self.edits.retain(|it| it != call);
        self.undone.retain(|it| it != call);
        for block in self.blocks.iter_mut().rev() {
            if let BlockBody::Tool(tool) = &mut block.body
                && tool.call == *call
            {
                tool.is_undone = is_undone;
                block.revision += 1;
                break;
            }
        }
        let now = if is_undone { &mut self.undone } else { &mut self.edits };
        now.push(call.clone());
    }

    /// The changes of files that calls show as diffs, in order.
    pub fn diffs(&self) -> impl Iterator<Item = &FileDiff> {
        self.blocks.iter().filter_map(|block| block.body.tool_call()?.content.diff())
    }

    /// Shows how the agent stands that a call has started.
    pub fn agent_stands(&mut self, summary: &SubagentSummary) {
        let known = self.calls.get(&summary.call).copied();
        // The call of one in the background is over.
        let mut blocks = self.blocks.iter().rev();
        let id = known.or_else(|| {
            let is_it = |block: &&TranscriptBlock| {
                block.body.tool_call().is_some_and(|tool| tool.call == summary.call)
            };
            blocks.find(is_it).map(|block| block.id)
        });
        let Some(at) = id.map(|id| self.index(id)) else { return };
        if let Some(block) = self.blocks.get_mut(at)
            && let BlockBody::Tool(tool) = &mut block.body
        {
            // Without a call that has words of its own, the title is the agent's name.
            if tool.agent.as_ref().is_some_and(|known| known.name() == tool.title) {
                tool.title = summary.name();
            }
            tool.agent = Some(Box::new(summary.clone()));
            block.revision += 1;
        }
    }

    fn push(&mut self, body: BlockBody) -> BlockId {
        // The id before a lookup is left for the line of a run that begins with it.
        self.next += u64::from(body.is_lookup());
        let id = BlockId(self.next);
        self.next += 1;
        self.lines += 1;
        let block = TranscriptBlock { id, revision: 0, entry: None, body, fold: None, run: None };
        self.append(block);
        id
    }

    fn push_open(&mut self, body: BlockBody) -> BlockId {
        let id = self.push(body);
        self.open.push(id);
        id
    }

    fn end_thinking(&mut self, now: Duration) {
        let Some(id) = self.open.last().copied() else { return };
        let at = self.index(id);
        let Some(block) = self.blocks.get_mut(at) else { return };
        if let BlockBody::Thinking(thinking) = &mut block.body
            && thinking.state == TextState::Streaming
        {
            thinking.state = TextState::Done;
            thinking.elapsed = thinking.since.map(|since| now.saturating_sub(since));
            block.revision += 1;
        }
    }

    /// Ends the streaming response, for a turn that ends without a record of it.
    fn close_response(&mut self) {
        for id in std::mem::take(&mut self.open) {
            let at = self.index(id);
            let Some(block) = self.blocks.get_mut(at) else { continue };
            if let BlockBody::Assistant(prose) = &mut block.body {
                prose.state = TextState::Done;
                block.revision += 1;
            }
        }
    }

    /// Marks calls without a result as cancelled, as they will not get one.
    fn stop_calls(&mut self) {
        for id in std::mem::take(&mut self.calls).into_values() {
            let at = self.index(id);
            let Some(block) = self.blocks.get_mut(at) else { continue };
            if let BlockBody::Tool(tool) = &mut block.body
                && !tool.is_over()
            {
                tool.state = ToolCallState::Cancelled;
                block.revision += 1;
            }
        }
    }

    fn with_tool(&mut self, call: &CallId, change: impl FnOnce(&mut ToolCallBlock)) {
        let Some(id) = self.calls.get(call).copied() else { return };
        let at = self.index(id);
        if let Some(block) = self.blocks.get_mut(at)
            && let BlockBody::Tool(tool) = &mut block.body
        {
            change(tool);
            block.revision += 1;
        }
    }

    fn set_entry(&mut self, id: BlockId, record: &LogRecord) {
        let at = self.index(id);
        if let Some(block) = self.blocks.get_mut(at) {
            block.entry = Some(record.id);
        }
    }

    fn remove(&mut self, id: BlockId) {
        let at = self.index(id);
        if self.blocks.get(at).is_some_and(|block| block.id == id) {
            self.blocks.remove(at);
            self.settle_runs(at);
        }
    }
}

impl ToolCallBlock {
    fn new(call: CallId, name: &str, state: ToolCallState) -> Self {
        Self {
            call,
            name: own_name(name).to_owned(),
            title: String::new(),
            input: None,
            origin: ToolCallOrigin::Model,
            state,
            since: None,
            elapsed: None,
            summary: None,
            content: ToolCallContent::Nothing,
            full_output: None,
            is_undone: false,
            agent: None,
        }
    }

    fn end(&mut self, outcome: TranscriptToolOutcome) {
        self.state = match outcome.status {
            ToolStatus::Done => ToolCallState::Done,
            ToolStatus::Failed => ToolCallState::Failed,
            ToolStatus::Denied => ToolCallState::Denied,
            ToolStatus::Cancelled => ToolCallState::Cancelled,
        };
        self.since = None;
        self.elapsed = Some(outcome.elapsed);
        self.summary = outcome.summary;
        self.agent = outcome.agent.or(self.agent.take());
        match outcome.display {
            Some(ToolDisplay::Diff(diff)) => self.content = ToolCallContent::Diff(diff),
            Some(ToolDisplay::Terminal { text }) => self.content = ToolCallContent::Terminal(text),
            None => {}
        }
    }
}

impl From<&ToolResultInfo> for TranscriptToolOutcome {
    fn from(info: &ToolResultInfo) -> Self {
        Self {
            status: info.status,
            display: info.display.clone(),
            summary: info.summary.clone(),
            agent: info.agent.clone(),
            elapsed: Duration::from_millis(info.elapsed_ms),
        }
    }
}

fn valid(input: &CallInput) -> Option<serde_json::Value> {
    match input {
        CallInput::Valid(value) => Some(value.clone()),
        CallInput::Invalid(_) => None,
    }
}

fn newlines(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}
