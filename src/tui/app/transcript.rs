//! The transcript: a fold of the agent's events, or of a session's log, into blocks.
//!
//! Both folds lead to the same blocks: what streams in is replaced by the log's line once that
//! arrives, in place, so that ids, folds and the scroll position stay. Nothing is laid out here.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::domain::{
    self, CallId, CallInput, Diff, Display, NoticeLevel, Role, ToolCall, ToolStatus, TurnId,
};
use crate::session::{
    Entry, KindFolds, MessageEntry, Record, ResultInfo, SessionFolds, TurnOutcome,
};

pub use super::block::{
    Block, BlockId, Body, Fold, Live, Notice, Origin, Prose, Shows, TextState, Thinking, Tool,
    ToolState,
};
use super::folds::{self, Folds, PaneKind};
use super::older::{self, Older};
use super::title::{first_line, title};

/// All blocks of the open session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transcript {
    blocks: Vec<Block>,
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
    folds: Folds,
    /// The last turn whose end is marked, so that an event and a log's line mark it once.
    ended: Option<TurnId>,
    lines: u64,
}

/// What a call has come to.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// How it went.
    pub status: ToolStatus,
    /// What the person sees, where that is not the result's text.
    pub display: Option<Display>,
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
    pub fn from_records(cwd: PathBuf, records: &[Record]) -> Self {
        Self::counted_from(0, cwd, records)
    }

    /// The same, with the first id.
    pub(super) fn counted_from(first: u64, cwd: PathBuf, records: &[Record]) -> Self {
        let mut transcript = Self { next: first, ..Self::new(cwd) };
        transcript.take(records);
        transcript
    }

    /// Shows another session: its newest part at once, and what comes back is the rest, to be
    /// folded elsewhere and brought to [`Self::prepend`]. No id is used twice, so that nothing
    /// laid out for the session before is taken for this one.
    pub fn open(&mut self, records: &Arc<Vec<Record>>) -> Option<Older> {
        let older_from = self.next;
        let next = older_from + older::IDS;
        let kinds = std::mem::take(&mut self.folds.kinds);
        *self = Self { next, older_from, ..Self::new(std::mem::take(&mut self.cwd)) };
        self.folds.kinds = kinds;
        let upto = older::upto(records);
        self.take(&records[upto..]);
        self.older(records, upto)
    }

    /// What is to be folded of the records before those that are shown.
    pub fn older(&self, records: &Arc<Vec<Record>>, upto: usize) -> Option<Older> {
        (upto > 0).then(|| Older::new(Arc::clone(records), upto, self.older_from, self.cwd.clone()))
    }

    /// Puts what was folded elsewhere before everything else.
    pub fn prepend(&mut self, mut blocks: Vec<Block>) {
        blocks.append(&mut self.blocks);
        self.blocks = blocks;
    }

    /// The blocks, without what is around them.
    pub(super) fn into_blocks(self) -> Vec<Block> {
        self.blocks
    }

    fn take(&mut self, records: &[Record]) {
        for record in records {
            self.record(record, Duration::ZERO);
        }
        self.stop_calls();
    }

    /// All blocks, in order.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Where a block is, or would be: blocks are ordered by id.
    pub fn index(&self, id: BlockId) -> usize {
        self.blocks.partition_point(|block| block.id < id)
    }

    /// The block with this id.
    pub fn get(&self, id: BlockId) -> Option<&Block> {
        self.blocks.get(self.index(id)).filter(|block| block.id == id)
    }

    /// The call with this id, as long as the turn runs that it is of.
    pub fn of_call(&self, call: &CallId) -> Option<&Tool> {
        match &self.get(*self.calls.get(call)?)?.body {
            Body::Tool(tool) => Some(tool),
            Body::User(_)
            | Body::Assistant(_)
            | Body::Thinking(_)
            | Body::Image(_)
            | Body::Notice(_)
            | Body::Interrupted
            | Body::Compacted => None,
        }
    }

    /// A count that grows with every line that comes in.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// How much of a block is shown.
    pub fn fold(&self, block: &Block) -> Fold {
        if self.peeked == Some(block.id) && block.is_pane() {
            return Fold::Open;
        }
        block.fold.or_else(|| self.folds.of(block)).unwrap_or_else(|| block.natural_fold())
    }

    /// Folds an open pane, unfolds any other.
    pub fn toggle(&mut self, id: BlockId) {
        let Some(fold) = self.get(id).filter(|block| block.is_pane()).map(|block| self.fold(block))
        else {
            return;
        };
        self.peeked = self.peeked.filter(|peeked| *peeked != id);
        let at = self.index(id);
        self.blocks[at].fold = Some(match fold {
            Fold::Open => Fold::Closed,
            Fold::Closed | Fold::Preview => Fold::Open,
        });
    }

    /// Opens this pane for as long as it is looked at, and no other any longer. Says whether
    /// anything unfolds or folds by it.
    pub fn peek(&mut self, id: Option<BlockId>) -> bool {
        let shown = |transcript: &Self, id: Option<BlockId>| {
            id.and_then(|id| transcript.get(id)).map(|block| transcript.fold(block))
        };
        let old = self.peeked;
        let before = (shown(self, old), shown(self, id));
        self.peeked = id;
        before != (shown(self, old), shown(self, id))
    }

    /// Goes on with all panes at once: open, closed, each as suits it.
    pub fn toggle_all(&mut self) {
        for block in &mut self.blocks {
            block.fold = None;
        }
        self.folds.cycle_all();
    }

    /// What is asked of more than one pane.
    pub fn folds(&self) -> &Folds {
        &self.folds
    }

    /// Folds all panes of a kind so, or as suits each.
    pub fn set_kind(&mut self, kind: &PaneKind, fold: Option<Fold>) {
        for block in &mut self.blocks {
            if block.fold.is_some() && block.kind().is_some_and(|it| kind.covers(&it)) {
                block.fold = None;
            }
        }
        self.folds.ask(kind, fold);
    }

    /// How this session's panes are folded, as it is remembered.
    pub fn session_folds(&self) -> SessionFolds {
        let named = folds::names(&self.blocks).zip(&self.blocks);
        let panes = named.filter_map(|(name, block)| Some((name?, block.fold?))).collect();
        SessionFolds { all: self.folds.all, panes }
    }

    /// Folds the panes as it was remembered, but for those that were folded since.
    pub fn restore_folds(&mut self, session: &SessionFolds, kinds: KindFolds) {
        self.folds = Folds { all: session.all, kinds };
        if session.panes.is_empty() {
            return;
        }
        let names: Vec<_> = folds::names(&self.blocks).collect();
        for (name, block) in names.into_iter().zip(&mut self.blocks) {
            let remembered = name.and_then(|name| session.panes.get(&name).copied());
            block.fold = block.fold.or(remembered);
        }
    }

    /// What the model said last.
    pub fn last_answer(&self) -> Option<&str> {
        self.blocks.iter().rev().find_map(|block| match &block.body {
            Body::Assistant(prose) if !prose.text.trim().is_empty() => Some(prose.text.as_str()),
            Body::Assistant(_)
            | Body::User(_)
            | Body::Thinking(_)
            | Body::Tool(_)
            | Body::Image(_)
            | Body::Notice(_)
            | Body::Interrupted
            | Body::Compacted => None,
        })
    }

    /// Every change of a file that a call made, in order.
    pub fn diffs(&self) -> impl Iterator<Item = &Diff> {
        self.blocks.iter().filter_map(|block| match &block.body {
            Body::Tool(tool) => match &tool.shows {
                Shows::Diff(diff) => Some(diff),
                Shows::Nothing | Shows::Live(_) | Shows::Text(_) | Shows::Terminal(_) => None,
            },
            Body::Assistant(_)
            | Body::User(_)
            | Body::Thinking(_)
            | Body::Image(_)
            | Body::Notice(_)
            | Body::Interrupted
            | Body::Compacted => None,
        })
    }

    /// More text of the response.
    pub fn text(&mut self, piece: &str, now: Duration) {
        self.lines += newlines(piece);
        if let Some(Body::Assistant(prose)) = self.open_last() {
            prose.text.push_str(piece);
            self.touch_last();
            return;
        }
        self.end_thinking(now);
        self.push_open(Body::Assistant(Prose {
            text: piece.to_owned(),
            state: TextState::Streaming,
        }));
    }

    /// More reasoning of the response.
    pub fn thinking(&mut self, piece: &str, now: Duration) {
        self.lines += newlines(piece);
        if let Some(Body::Thinking(thinking)) = self.open_last() {
            thinking.text.push_str(piece);
            self.touch_last();
            return;
        }
        self.push_open(Body::Thinking(Thinking {
            text: piece.to_owned(),
            state: TextState::Streaming,
            since: Some(now),
            elapsed: None,
        }));
    }

    /// The model has begun to write a call.
    pub fn call_started(&mut self, call: &CallId, name: &str, now: Duration) {
        self.end_thinking(now);
        let tool = Tool::new(call.clone(), name, ToolState::Writing(0));
        let id = self.push_open(Body::Tool(Box::new(tool)));
        self.calls.insert(call.clone(), id);
    }

    /// More of a call's arguments.
    pub fn call_input(&mut self, call: &CallId, json: &str) {
        self.with_tool(call, |tool| {
            if let ToolState::Writing(bytes) = &mut tool.state {
                *bytes += json.len();
            }
        });
    }

    /// The response failed and is asked for again: what streamed is struck, its calls go.
    pub fn response_dropped(&mut self, now: Duration) {
        self.end_thinking(now);
        for id in std::mem::take(&mut self.open) {
            let at = self.index(id);
            let Some(block) = self.blocks.get_mut(at) else { continue };
            block.revision += 1;
            match &mut block.body {
                Body::Assistant(prose) => prose.state = TextState::Dropped,
                Body::Thinking(thinking) => thinking.state = TextState::Dropped,
                Body::Tool(tool) => {
                    self.calls.remove(&tool.call);
                    self.blocks.remove(at);
                }
                Body::User(_)
                | Body::Image(_)
                | Body::Notice(_)
                | Body::Interrupted
                | Body::Compacted => {}
            }
        }
    }

    /// A call runs.
    pub fn tool_started(&mut self, call: &ToolCall, now: Duration) {
        if !self.calls.contains_key(&call.id) {
            let mut tool = Tool::new(call.id.clone(), &call.name, ToolState::Waiting);
            tool.origin = Origin::Person;
            let id = self.push(Body::Tool(Box::new(tool)));
            self.calls.insert(call.id.clone(), id);
        }
        let title = title(&call.name, &call.input, &self.cwd);
        self.with_tool(&call.id, |tool| {
            tool.title = title;
            tool.input = valid(&call.input);
            tool.state = ToolState::Running;
            tool.since = Some(now);
        });
    }

    /// More live output of a call.
    pub fn tool_progress(&mut self, call: &CallId, text: &str) {
        self.lines += newlines(text);
        self.with_tool(call, |tool| match &mut tool.shows {
            Shows::Live(live) => live.push(text),
            Shows::Nothing => {
                let mut live = Live::default();
                live.push(text);
                tool.shows = Shows::Live(live);
            }
            // Output that comes after the result says nothing new.
            Shows::Text(_) | Shows::Terminal(_) | Shows::Diff(_) => {}
        });
    }

    /// A call is over.
    pub fn tool_ended(&mut self, call: &CallId, ended: Ended) {
        self.with_tool(call, |tool| tool.end(ended));
    }

    /// Something slug says.
    pub fn notice(&mut self, level: NoticeLevel, text: String) {
        self.push(Body::Notice(Notice { level, text }));
    }

    /// The turn is over.
    pub fn end_turn(&mut self, turn: TurnId, outcome: &TurnOutcome, now: Duration) {
        self.end_thinking(now);
        self.close_response();
        self.stop_calls();
        if self.ended == Some(turn) {
            return;
        }
        self.ended = Some(turn);
        match outcome {
            TurnOutcome::Answered => {}
            TurnOutcome::Interrupted => {
                self.push(Body::Interrupted);
            }
            TurnOutcome::RoundLimit => self.notice(
                NoticeLevel::Warning,
                "The turn reached its limit of tool rounds. Send a message to go on, or raise \
                 `max_tool_rounds` in the configuration."
                    .to_owned(),
            ),
            TurnOutcome::Failed(reason) => self.notice(NoticeLevel::Error, reason.clone()),
        }
    }

    /// A line of the log.
    pub fn record(&mut self, record: &Record, now: Duration) {
        match &record.entry {
            Entry::Message(message) => self.message(record, message, now),
            Entry::Compaction(_) => {
                self.push(Body::Compacted);
            }
            Entry::Interrupted => {
                self.end_turn(record.turn, &TurnOutcome::Interrupted, now);
            }
            Entry::TurnEnd(end) => self.end_turn(record.turn, &end.outcome, now),
            Entry::Session(_)
            | Entry::ToolStarted { .. }
            | Entry::Permission(_)
            | Entry::FileChange(_)
            | Entry::Title { .. }
            | Entry::Todo { .. }
            | Entry::Model { .. }
            | Entry::Mode { .. } => {}
        }
    }

    fn message(&mut self, record: &Record, message: &MessageEntry, now: Duration) {
        match message.role {
            Role::Assistant => {
                self.end_thinking(now);
                self.response(record, message);
            }
            Role::User => {
                let said = message.message();
                for block in &message.content {
                    if let domain::Block::ToolResult { tool_use_id, content, .. } = block {
                        self.result(tool_use_id, content, message.result.as_ref());
                    }
                }
                let text = typed(message).unwrap_or_else(|| said.text());
                match &message.result {
                    Some(info) if said.answers().next().is_none() => {
                        self.shell(record, &text, info);
                    }
                    Some(_) | None if !text.trim().is_empty() => {
                        self.lines += newlines(&text);
                        let id = self.push(Body::User(text));
                        self.set_entry(id, record);
                    }
                    Some(_) | None => {}
                }
                for block in said.content {
                    if let domain::Block::Image(image) = block {
                        let id = self.push(Body::Image(image));
                        self.set_entry(id, record);
                    }
                }
            }
        }
    }

    /// Puts the finished response in the place of what streamed.
    fn response(&mut self, record: &Record, message: &MessageEntry) {
        let mut open = std::mem::take(&mut self.open).into_iter();
        let bodies: Vec<Body> =
            message.content.iter().filter_map(|block| body_of(block, &self.cwd)).collect();
        for body in bodies {
            let mut streamed = None;
            for id in open.by_ref() {
                if self.get(id).is_some_and(|block| block.body.is_same_as(&body)) {
                    streamed = Some(id);
                    break;
                }
                // It streamed, but the log does not have it.
                self.remove(id);
            }
            let id = match streamed {
                Some(id) => {
                    let at = self.index(id);
                    self.blocks[at].body.finish(body);
                    self.blocks[at].revision += 1;
                    id
                }
                None => self.push(body),
            };
            if let Some(Body::Tool(tool)) = self.get(id).map(|block| &block.body) {
                self.calls.insert(tool.call.clone(), id);
            }
            self.set_entry(id, record);
        }
        for id in open {
            self.remove(id);
        }
    }

    fn result(&mut self, call: &CallId, content: &str, info: Option<&ResultInfo>) {
        self.with_tool(call, |tool| {
            tool.shows = Shows::Text(content.to_owned());
            if let Some(info) = info {
                tool.kept.clone_from(&info.kept);
                tool.end(Ended::from(info));
            }
        });
    }

    /// A command of the person's own. While it ran it had a block already.
    fn shell(&mut self, record: &Record, text: &str, info: &ResultInfo) {
        let running = self.blocks.iter().rposition(|block| match &block.body {
            Body::Tool(tool) => tool.origin == Origin::Person && !tool.is_over(),
            Body::User(_)
            | Body::Assistant(_)
            | Body::Thinking(_)
            | Body::Image(_)
            | Body::Notice(_)
            | Body::Interrupted
            | Body::Compacted => false,
        });
        let at = running.unwrap_or_else(|| {
            let mut tool = Tool::new(CallId::new(""), &info.name, ToolState::Waiting);
            tool.origin = Origin::Person;
            tool.title = first_line(text.trim_start_matches("$ ").lines().next().unwrap_or(""));
            let id = self.push(Body::Tool(Box::new(tool)));
            self.index(id)
        });
        if let Some(block) = self.blocks.get_mut(at)
            && let Body::Tool(tool) = &mut block.body
        {
            let output = text.split_once('\n').map_or("", |(_, output)| output);
            tool.shows = Shows::Terminal(output.to_owned());
            tool.kept.clone_from(&info.kept);
            tool.end(Ended::from(info));
            block.revision += 1;
            block.entry = Some(record.id);
        }
    }

    fn push(&mut self, body: Body) -> BlockId {
        let id = BlockId(self.next);
        self.next += 1;
        self.lines += 1;
        self.blocks.push(Block { id, revision: 0, entry: None, body, fold: None });
        id
    }

    fn push_open(&mut self, body: Body) -> BlockId {
        let id = self.push(body);
        self.open.push(id);
        id
    }

    /// The block that streams, if it is the last one.
    fn open_last(&mut self) -> Option<&mut Body> {
        let open = self.open.last().copied()?;
        let block = self.blocks.last_mut()?;
        (block.id == open).then_some(&mut block.body)
    }

    fn touch_last(&mut self) {
        if let Some(block) = self.blocks.last_mut() {
            block.revision += 1;
        }
    }

    fn end_thinking(&mut self, now: Duration) {
        let Some(id) = self.open.last().copied() else { return };
        let at = self.index(id);
        let Some(block) = self.blocks.get_mut(at) else { return };
        if let Body::Thinking(thinking) = &mut block.body
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
            if let Body::Assistant(prose) = &mut block.body {
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
            if let Body::Tool(tool) = &mut block.body
                && !tool.is_over()
            {
                tool.state = ToolState::Cancelled;
                block.revision += 1;
            }
        }
    }

    fn with_tool(&mut self, call: &CallId, change: impl FnOnce(&mut Tool)) {
        let Some(id) = self.calls.get(call).copied() else { return };
        let at = self.index(id);
        if let Some(block) = self.blocks.get_mut(at)
            && let Body::Tool(tool) = &mut block.body
        {
            change(tool);
            block.revision += 1;
        }
    }

    fn set_entry(&mut self, id: BlockId, record: &Record) {
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

impl Body {
    /// Whether a finished body is the end of this streamed one.
    fn is_same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Assistant(_), Self::Assistant(_)) | (Self::Thinking(_), Self::Thinking(_)) => {
                true
            }
            (Self::Tool(tool), Self::Tool(other)) => tool.call == other.call,
            (
                Self::User(_)
                | Self::Assistant(_)
                | Self::Thinking(_)
                | Self::Tool(_)
                | Self::Image(_)
                | Self::Notice(_)
                | Self::Interrupted
                | Self::Compacted,
                _,
            ) => false,
        }
    }

    /// Takes over what is said, and keeps the times that only the stream knows.
    fn finish(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Thinking(old), Self::Thinking(new)) => {
                *old = Thinking { since: old.since, elapsed: old.elapsed, ..new };
            }
            (_, other) => *self = other,
        }
    }
}

impl Tool {
    fn new(call: CallId, name: &str, state: ToolState) -> Self {
        Self {
            call,
            name: name.to_owned(),
            title: String::new(),
            input: None,
            origin: Origin::Model,
            state,
            since: None,
            elapsed: None,
            summary: None,
            shows: Shows::Nothing,
            kept: None,
        }
    }

    fn end(&mut self, ended: Ended) {
        self.state = match ended.status {
            ToolStatus::Done => ToolState::Done,
            ToolStatus::Failed => ToolState::Failed,
            ToolStatus::Denied => ToolState::Denied,
            ToolStatus::Cancelled => ToolState::Cancelled,
        };
        self.since = None;
        self.elapsed = Some(ended.elapsed);
        self.summary = ended.summary;
        match ended.display {
            Some(Display::Diff(diff)) => self.shows = Shows::Diff(diff),
            Some(Display::Terminal { text }) => self.shows = Shows::Terminal(text),
            None => {}
        }
    }
}

impl From<&ResultInfo> for Ended {
    fn from(info: &ResultInfo) -> Self {
        Self {
            status: info.status,
            display: info.display.clone(),
            summary: info.summary.clone(),
            elapsed: Duration::from_millis(info.elapsed_ms),
        }
    }
}

/// What a block of a finished response is here.
fn body_of(block: &domain::Block, cwd: &Path) -> Option<Body> {
    let state = TextState::Done;
    match block {
        domain::Block::Text { text } if text.trim().is_empty() => None,
        domain::Block::Text { text } => Some(Body::Assistant(Prose { text: text.clone(), state })),
        domain::Block::Thinking { thinking, .. } if thinking.trim().is_empty() => None,
        domain::Block::Thinking { thinking, .. } => Some(Body::Thinking(Thinking {
            text: thinking.clone(),
            state,
            since: None,
            elapsed: None,
        })),
        domain::Block::ToolUse(call) => {
            let mut tool = Tool::new(call.id.clone(), &call.name, ToolState::Waiting);
            tool.title = title(&call.name, &call.input, cwd);
            tool.input = valid(&call.input);
            Some(Body::Tool(Box::new(tool)))
        }
        domain::Block::Context { .. }
        | domain::Block::Image(_)
        | domain::Block::Sealed { .. }
        | domain::Block::ToolResult { .. } => None,
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

/// The command of the person's own that a message tells of, with its output.
fn typed(message: &MessageEntry) -> Option<String> {
    message.content.iter().find_map(|block| match block {
        domain::Block::Context { name, text } if name == "shell" => Some(text.clone()),
        domain::Block::Context { .. }
        | domain::Block::Text { .. }
        | domain::Block::Image(_)
        | domain::Block::Thinking { .. }
        | domain::Block::Sealed { .. }
        | domain::Block::ToolUse(_)
        | domain::Block::ToolResult { .. } => None,
    })
}
