//! The transcript: a fold of the agent's events, or of a session's log, into blocks.
//!
//! Both folds lead to the same blocks: what streams in is replaced by the log's line once that
//! arrives, in place, so that ids, folds and the scroll position stay. Nothing is laid out here.

mod folding;
mod live;
mod replay;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::{CallId, CallInput, FileDiff, ToolDisplay, ToolStatus, TurnId};
use crate::session::undo::{self, RewindHistory, RewindMark};
use crate::session::{LogRecord, ToolResultInfo};

use super::backfill::{self, BackfillRequest};
pub use super::block::{
    AssistantText, BlockBody, BlockId, LiveOutput, PaneFold, TextState, ThinkingText,
    ToolCallBlock, ToolCallContent, ToolCallOrigin, ToolCallState, TranscriptBlock,
    TranscriptNotice,
};
use super::folds::PaneFolds;
use folding::PendingFolds;

/// All blocks of the open session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transcript {
    blocks: Vec<TranscriptBlock>,
    next: u64,
    /// Where the ids begin that are kept for older blocks.
    older_from: u64,
    cwd: PathBuf,
    /// Blocks of the response that streams.
    open: Vec<BlockId>,
    calls: HashMap<CallId, BlockId>,
    /// The pane that is open for as long as something in it is looked at.
    peeked: Option<BlockId>,
    /// What is asked of more than one pane.
    folds: PaneFolds,
    /// What was asked of panes that have not come yet.
    pending_folds: PendingFolds,
    /// The answer that the output limit cut, which goes on in the same block.
    cut: Option<TruncatedAnswer>,
    /// The last turn whose end is marked, so that an event and a log's line mark it once.
    ended: Option<TurnId>,
    lines: u64,
    /// What in the records that are shown matters to those before them.
    marks: Vec<RewindMark>,
}

/// An answer that was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TruncatedAnswer {
    block: BlockId,
    /// The bytes that the log has of it.
    upto: usize,
}

/// What a call has come to.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptToolOutcome {
    /// How it went.
    pub status: ToolStatus,
    /// What the person sees, where that is not the result's text.
    pub display: Option<ToolDisplay>,
    /// A few words for the head.
    pub summary: Option<String>,
    /// How long it ran.
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

    /// The same, with the first id.
    pub(super) fn counted_from(first: u64, cwd: PathBuf, records: &[LogRecord]) -> Self {
        Self::part(first, cwd, records, &RewindHistory::of(records))
    }

    /// Of these records, what is in force.
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

    /// Shows another session: its newest part at once, and what comes back is the rest, to be
    /// folded elsewhere and brought to [`Self::prepend`]. No id is used twice, so that nothing
    /// laid out for the session before is taken for this one.
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

    /// What is to be folded of the records before those that are shown.
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

    /// Puts what was folded elsewhere before everything else.
    pub fn prepend(&mut self, mut blocks: Vec<TranscriptBlock>) {
        blocks.append(&mut self.blocks);
        self.blocks = blocks;
    }

    /// The blocks, without what is around them.
    pub(super) fn into_blocks(self) -> Vec<TranscriptBlock> {
        self.blocks
    }

    /// The records from one on, as far as they are in force.
    fn take(&mut self, records: &[LogRecord], from: usize, rewinds: &RewindHistory) {
        for (at, record) in records.iter().enumerate().skip(from) {
            if rewinds.is_live(at) {
                self.record(record, Duration::ZERO);
            }
        }
        self.stop_calls();
    }

    /// All blocks, in order.
    pub fn blocks(&self) -> &[TranscriptBlock] {
        &self.blocks
    }

    /// Where a block is, or would be: blocks are ordered by id.
    pub fn index(&self, id: BlockId) -> usize {
        self.blocks.partition_point(|block| block.id < id)
    }

    /// The block with this id.
    pub fn get(&self, id: BlockId) -> Option<&TranscriptBlock> {
        self.blocks.get(self.index(id)).filter(|block| block.id == id)
    }

    /// The call with this id, as long as the turn runs that it is of.
    pub fn of_call(&self, call: &CallId) -> Option<&ToolCallBlock> {
        match &self.get(*self.calls.get(call)?)?.body {
            BlockBody::Tool(tool) => Some(tool),
            BlockBody::User(_)
            | BlockBody::Assistant(_)
            | BlockBody::Thinking(_)
            | BlockBody::Image(_)
            | BlockBody::Notice(_)
            | BlockBody::Interrupted
            | BlockBody::Compacted => None,
        }
    }

    /// A count that grows with every line that comes in.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// What the model said last.
    pub fn last_answer(&self) -> Option<&str> {
        self.blocks.iter().rev().find_map(|block| match &block.body {
            BlockBody::Assistant(prose) if !prose.text.trim().is_empty() => {
                Some(prose.text.as_str())
            }
            BlockBody::Assistant(_)
            | BlockBody::User(_)
            | BlockBody::Thinking(_)
            | BlockBody::Tool(_)
            | BlockBody::Image(_)
            | BlockBody::Notice(_)
            | BlockBody::Interrupted
            | BlockBody::Compacted => None,
        })
    }

    /// Every change of a file that a call made, in order.
    pub fn diffs(&self) -> impl Iterator<Item = &FileDiff> {
        self.blocks.iter().filter_map(|block| match &block.body {
            BlockBody::Tool(tool) => match &tool.content {
                ToolCallContent::Diff(diff) => Some(diff),
                ToolCallContent::Nothing
                | ToolCallContent::Live(_)
                | ToolCallContent::Text(_)
                | ToolCallContent::Terminal(_) => None,
            },
            BlockBody::Assistant(_)
            | BlockBody::User(_)
            | BlockBody::Thinking(_)
            | BlockBody::Image(_)
            | BlockBody::Notice(_)
            | BlockBody::Interrupted
            | BlockBody::Compacted => None,
        })
    }

    fn push(&mut self, body: BlockBody) -> BlockId {
        let id = BlockId(self.next);
        self.next += 1;
        self.lines += 1;
        self.blocks.push(TranscriptBlock { id, revision: 0, entry: None, body, fold: None });
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

    /// What streams is complete, though no line of the log said so.
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

    /// Calls that did not come to an end never will.
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
        }
    }
}

impl ToolCallBlock {
    fn new(call: CallId, name: &str, state: ToolCallState) -> Self {
        Self {
            call,
            name: name.to_owned(),
            title: String::new(),
            input: None,
            origin: ToolCallOrigin::Model,
            state,
            since: None,
            elapsed: None,
            summary: None,
            content: ToolCallContent::Nothing,
            full_output: None,
        }
    }

    fn end(&mut self, ended: TranscriptToolOutcome) {
        self.state = match ended.status {
            ToolStatus::Done => ToolCallState::Done,
            ToolStatus::Failed => ToolCallState::Failed,
            ToolStatus::Denied => ToolCallState::Denied,
            ToolStatus::Cancelled => ToolCallState::Cancelled,
        };
        self.since = None;
        self.elapsed = Some(ended.elapsed);
        self.summary = ended.summary;
        match ended.display {
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
