//! The transcript while a turn runs: streamed text, tool calls, and the end of the turn.

use std::time::Duration;

use crate::domain::{CallId, NoticeLevel, ToolCall, TurnId};
use crate::session::{ModelFailure, TurnEnd, TurnOutcome};
use crate::tui::app::conversation::title::title;

use super::{
    AssistantText, BlockBody, ClosingLine, LiveOutput, TextState, ThinkingText, ToolCallBlock,
    ToolCallContent, ToolCallOrigin, ToolCallState, Transcript, TranscriptBlock, TranscriptNotice,
    TruncatedAnswer, newlines, valid,
};

/// How many of the last blocks are searched for a failure that was told already.
const RECENT_BLOCKS: usize = 4;
/// So many of the newest blocks are searched for calls that run: those of one response are together.
const NEWEST_CALLS: usize = 32;

/// The end of a turn that failed for a reason that is in sight.
const TOLD_ALREADY: &str = "The turn failed. /retry sends your message again.";

impl Transcript {
    /// The calls among the newest blocks that are running, the newest first.
    pub fn running_calls(&self) -> impl Iterator<Item = &ToolCallBlock> {
        let newest = self.blocks.iter().rev().take(NEWEST_CALLS);
        newest
            .filter_map(|block| block.body.tool_call())
            .filter(|tool| tool.state == ToolCallState::Running)
    }

    /// The tool of the newest of these that is the model's.
    pub fn running_tool(&self) -> Option<String> {
        let mut of_model = self.running_calls().filter(|it| it.origin == ToolCallOrigin::Model);
        of_model.next().map(|tool| tool.name.clone())
    }

    /// Adds a piece of the response's text, to the open block if it is the last one.
    pub fn text(&mut self, piece: &str, now: Duration) {
        self.lines += newlines(piece);
        if let Some(BlockBody::Assistant(prose)) = self.open_last() {
            prose.text.push_str(piece);
            self.touch_last();
            return;
        }
        if self.continue_truncated(piece) {
            return;
        }
        self.end_thinking(now);
        self.push_open(BlockBody::Assistant(AssistantText {
            text: piece.to_owned(),
            state: TextState::Streaming,
        }));
    }

    /// Continues an answer that the output limit cut off, if its block is still the last one.
    fn continue_truncated(&mut self, piece: &str) -> bool {
        let Some(TruncatedAnswer { block, .. }) = self.cut.filter(|_| self.open.is_empty()) else {
            return false;
        };
        match self.blocks.last_mut() {
            Some(TranscriptBlock { id, revision, body: BlockBody::Assistant(prose), .. })
                if *id == block =>
            {
                prose.text.push_str(piece);
                prose.state = TextState::Streaming;
                *revision += 1;
                self.open.push(block);
                true
            }
            Some(_) | None => false,
        }
    }

    /// Adds a piece of the response's reasoning.
    pub fn thinking(&mut self, piece: &str, now: Duration) {
        self.lines += newlines(piece);
        if let Some(BlockBody::Thinking(thinking)) = self.open_last() {
            thinking.text.push_str(piece);
            self.touch_last();
            return;
        }
        self.push_open(BlockBody::Thinking(ThinkingText {
            text: piece.to_owned(),
            state: TextState::Streaming,
            since: Some(now),
            elapsed: None,
        }));
    }

    /// The model begins to write a call.
    pub fn call_started(&mut self, call: &CallId, name: &str, now: Duration) {
        self.end_thinking(now);
        let tool = ToolCallBlock::new(call.clone(), name, ToolCallState::Writing(0));
        let id = self.push_open(BlockBody::Tool(Box::new(tool)));
        self.calls.insert(call.clone(), id);
    }

    /// Counts a piece of a call's arguments.
    pub fn call_input(&mut self, call: &CallId, json: &str) {
        self.with_tool(call, |tool| {
            if let ToolCallState::Writing(bytes) = &mut tool.state {
                *bytes += json.len();
            }
        });
    }

    /// The response failed and will be requested again: marks streamed text as dropped, and removes
    /// its calls.
    pub fn response_dropped(&mut self, now: Duration) {
        self.end_thinking(now);
        for id in std::mem::take(&mut self.open) {
            let at = self.index(id);
            let Some(block) = self.blocks.get_mut(at) else { continue };
            block.revision += 1;
            match &mut block.body {
                BlockBody::Assistant(prose) => match self.cut {
                    // The text before `upto` is in the log and stays.
                    Some(cut) if cut.block == id => {
                        prose.text.truncate(cut.upto);
                        prose.state = TextState::Done;
                    }
                    Some(_) | None => prose.state = TextState::Dropped,
                },
                BlockBody::Thinking(thinking) => thinking.state = TextState::Dropped,
                BlockBody::Tool(tool) => {
                    self.calls.remove(&tool.call);
                    self.remove(id);
                }
                BlockBody::User(_)
                | BlockBody::Image(_)
                | BlockBody::Notice(_)
                | BlockBody::Lookups
                | BlockBody::TurnEnd(_)
                | BlockBody::Compacted(_) => {}
            }
        }
    }

    /// A call starts to run. A call that the model did not write is the user's.
    pub fn tool_started(&mut self, call: &ToolCall, now: Duration) {
        if !self.calls.contains_key(&call.id) {
            let mut tool = ToolCallBlock::new(call.id.clone(), &call.name, ToolCallState::Waiting);
            tool.origin = ToolCallOrigin::User;
            let id = self.push(BlockBody::Tool(Box::new(tool)));
            self.calls.insert(call.id.clone(), id);
        }
        let title = title(&call.name, &call.input, &self.cwd);
        self.with_tool(&call.id, |tool| {
            tool.title = title;
            tool.input = valid(&call.input);
            tool.state = ToolCallState::Running;
            tool.since = Some(now);
        });
    }

    /// A running call waits for answers of the user.
    pub fn call_waits(&mut self, call: &CallId) {
        self.with_tool(call, |tool| {
            tool.state = ToolCallState::Waiting;
            tool.since = None;
        });
    }

    /// Adds live output of a call.
    pub fn tool_progress(&mut self, call: &CallId, text: &str) {
        self.lines += newlines(text);
        self.with_tool(call, |tool| match &mut tool.content {
            ToolCallContent::Live(live) => live.push(text),
            ToolCallContent::Nothing => {
                let mut live = LiveOutput::default();
                live.push(text);
                tool.content = ToolCallContent::Live(live);
            }
            // Output after the result is a repetition.
            ToolCallContent::Text(_) | ToolCallContent::Terminal(_) | ToolCallContent::Diff(_) => {}
        });
    }

    /// Adds a notice by slug.
    pub fn notice(&mut self, level: NoticeLevel, text: String) {
        self.push(BlockBody::Notice(TranscriptNotice { level, text }));
    }

    /// Adds a warning, unless it repeats the last block: each try of a request may fail in the same
    /// way.
    pub fn warn_once(&mut self, text: String) {
        if !self.was_just_told(&text) {
            self.notice(NoticeLevel::Warning, text);
        }
    }

    /// Whether the last notice begins with this text and is still in sight: "this reason" is the last
    /// that was told.
    fn was_just_told(&self, text: &str) -> bool {
        let mut recent = self.blocks.iter().rev().take(RECENT_BLOCKS);
        let last = recent.find_map(|block| match &block.body {
            BlockBody::Notice(notice) => Some(notice),
            BlockBody::User(_)
            | BlockBody::Assistant(_)
            | BlockBody::Thinking(_)
            | BlockBody::Tool(_)
            | BlockBody::Image(_)
            | BlockBody::Lookups
            | BlockBody::TurnEnd(_)
            | BlockBody::Compacted(_) => None,
        });
        last.is_some_and(|notice| notice.text.starts_with(text))
    }

    /// Notes that the user stopped the turn. Its end follows, unless slug did not live to write it.
    pub(super) fn turn_interrupted(&mut self, turn: TurnId, now: Duration) {
        self.stop_turn(now);
        if self.ended != Some(turn) {
            self.ended = Some(turn);
            self.push(BlockBody::TurnEnd(ClosingLine::stopped()));
        }
    }

    /// Ends the turn, says why if it was not answered, and closes it with a line. A turn's end is
    /// marked only once.
    pub(super) fn end_turn(&mut self, turn: TurnId, end: &TurnEnd, now: Duration) {
        self.stop_turn(now);
        let closing = ClosingLine::of(end);
        if self.ended == Some(turn) {
            // The line that says that it was stopped gets its figures.
            if let Some(TranscriptBlock { body: BlockBody::TurnEnd(shown), revision, .. }) =
                self.blocks.last_mut()
                && *shown == ClosingLine::stopped()
            {
                *shown = closing;
                *revision += 1;
            }
            return;
        }
        self.ended = Some(turn);
        self.say_outcome(&end.outcome);
        if closing.is_worth_a_line() {
            self.push(BlockBody::TurnEnd(closing));
        }
    }

    fn stop_turn(&mut self, now: Duration) {
        self.end_thinking(now);
        self.close_response();
        self.stop_calls();
        self.cut = None;
    }

    /// Says why a turn was not answered.
    fn say_outcome(&mut self, outcome: &TurnOutcome) {
        match outcome {
            TurnOutcome::Answered | TurnOutcome::Interrupted => {}
            TurnOutcome::RoundLimit => self.notice(
                NoticeLevel::Warning,
                "The turn reached its limit of tool rounds. Send a message to continue, or \
                 raise `max_tool_rounds` in config.toml."
                    .to_owned(),
            ),
            TurnOutcome::Budget(reason) => self.notice(NoticeLevel::Warning, reason.clone()),
            TurnOutcome::Failed(reason) if self.was_just_told(reason) => {
                self.notice(NoticeLevel::Error, TOLD_ALREADY.to_owned());
            }
            TurnOutcome::Failed(reason) => self.notice(NoticeLevel::Error, reason.clone()),
            // Only then the last word is the user's, so that it can be asked again.
            TurnOutcome::ModelFailed(ModelFailure::EmptyAnswer) => self.notice(
                NoticeLevel::Error,
                "The model sent an empty answer. /retry asks again.".to_owned(),
            ),
            TurnOutcome::ModelFailed(failure) => {
                self.notice(NoticeLevel::Error, failure.to_string());
            }
        }
    }

    /// The streaming block, if it is the last one.
    fn open_last(&mut self) -> Option<&mut BlockBody> {
        let open = self.open.last().copied()?;
        let block = self.blocks.last_mut()?;
        (block.id == open).then_some(&mut block.body)
    }

    fn touch_last(&mut self) {
        if let Some(block) = self.blocks.last_mut() {
            block.revision += 1;
        }
    }
}
