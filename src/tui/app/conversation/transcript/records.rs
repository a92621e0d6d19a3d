//! The transcript from the records of the log. A record of a finished response replaces its
//! streamed blocks.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use crate::domain::{
    self, CallId, MessageRole, NoticeLevel, StopReason, SubagentSummary, pluralise,
};
use crate::session::{
    LogEntry, LogRecord, MessageEntry, RejectedChanges, RewindEntry, RewindPart, ToolResultInfo,
};
use crate::tools::AGENT_TOOL;
use crate::tui::app::conversation::title::{first_line, title};

use super::super::block::CompactionBlock;
use super::{
    AssistantText, BlockBody, BlockId, TextState, ThinkingText, ToolCallBlock, ToolCallContent,
    ToolCallOrigin, ToolCallState, Transcript, TranscriptBlock, TranscriptToolOutcome,
    TruncatedAnswer, newlines, valid,
};

/// The most files that a notice names.
const MAX_NAMED: usize = 5;

impl Transcript {
    /// Adds a record of the log, new or replayed. Returns the calls that it ends.
    pub fn record(&mut self, record: &LogRecord, now: Duration) -> Vec<CallId> {
        match &record.entry {
            LogEntry::Message(message) if message.source.is_main() => {
                return self.message(record, message, now);
            }
            LogEntry::Compaction(compaction) => {
                let note = compaction.note.as_ref().map(|note| note.text.clone());
                let (told, note) = (compaction.told(), note.unwrap_or_default());
                self.lines += newlines(&note);
                let id = self.push(BlockBody::Compacted(CompactionBlock { told, note }));
                self.set_entry(id, record);
            }
            LogEntry::Rewind(rewind) => self.rewound(rewind),
            LogEntry::Interrupted => self.turn_interrupted(record.turn, now),
            LogEntry::TurnEnd(end) => self.end_turn(record.turn, end, now),
            // No part of the conversation, but it may say that an agent was started.
            LogEntry::Message(aside) => {
                aside.agents.iter().for_each(|agent| self.agent_on_record(record, agent));
            }
            LogEntry::Session(_)
            | LogEntry::ToolStarted { .. }
            | LogEntry::Permission(_)
            | LogEntry::FileChange(_)
            | LogEntry::NotCovered(_)
            | LogEntry::ContextEdit(_)
            | LogEntry::Title { .. }
            | LogEntry::Todo { .. }
            | LogEntry::Tasks(_)
            | LogEntry::Model { .. }
            | LogEntry::Mode { .. } => {}
        }
        Vec::new()
    }

    /// Notes that the user went back to here, and which files were left.
    fn rewound(&mut self, rewind: &RewindEntry) {
        if let Some(call) = rewind.part.as_ref().and_then(|part| part.call.as_ref()) {
            self.set_undone(call, rewind.redoes.is_none());
        }
        if rewind.redoes.is_some() {
            return;
        }
        if let Some(part) = &rewind.part {
            return self.restored_part(part);
        }
        let files = match rewind.files.len() {
            0 => None,
            1 => Some("one file".to_owned()),
            count => Some(format!("{count} files")),
        };
        let summary = match (rewind.what.has_conversation(), files) {
            (true, Some(files)) => format!("Rewound the conversation and {files} to here."),
            (true, None) => "Rewound to here.".to_owned(),
            (false, Some(files)) => format!("Restored {files}; the conversation is unchanged."),
            (false, None) => "No file needed restoring.".to_owned(),
        };
        // Going back to the same place again is no news.
        let is_told = self.blocks.last().is_some_and(|last| match &last.body {
            BlockBody::Notice(notice) => notice.text == summary,
            _ => false,
        });
        if !is_told {
            self.notice(NoticeLevel::Info, summary);
        }
        if !rewind.left.is_empty() {
            let names: Vec<String> = rewind
                .left
                .iter()
                .map(|path| path.strip_prefix(&self.cwd).unwrap_or(path).display().to_string())
                .collect();
            let text = format!(
                "Not restored, because it was changed outside slug: {}. /diff shows what this \
                 session changed there.",
                names.join(", ")
            );
            self.notice(NoticeLevel::Warning, text);
        }
    }

    /// Notes which changes the user rejected, or which call they undid.
    fn restored_part(&mut self, part: &RewindPart) {
        let file = |file: &RejectedChanges| {
            let name = file.path.strip_prefix(&self.cwd).unwrap_or(&file.path).display();
            match file.count == file.total {
                true if part.call.is_some() => name.to_string(),
                true => format!("all of {name}"),
                false => format!("{} of {} in {name}", file.count, file.total),
            }
        };
        let files: Vec<String> = part.files.iter().take(MAX_NAMED).map(file).collect();
        let more = match part.files.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(", and {}", pluralise(more, "more file")),
        };
        let files = files.join(", ");
        let text = match &part.call {
            None => format!("You rejected changes: {files}{more}. /redo restores them."),
            Some(_) => format!("You undid an edit of {files}{more}. /redo restores it."),
        };
        self.notice(NoticeLevel::Info, text);
    }

    fn message(
        &mut self,
        record: &LogRecord,
        message: &MessageEntry,
        now: Duration,
    ) -> Vec<CallId> {
        let mut ended = Vec::new();
        match message.role {
            MessageRole::Assistant => {
                self.end_thinking(now);
                self.response(record, message);
            }
            MessageRole::User => {
                message.agents.iter().for_each(|agent| self.agent_on_record(record, agent));
                let parsed = message.message();
                for block in &message.content {
                    if let domain::ContentBlock::ToolResult { tool_use_id, content, .. } = block {
                        self.result(tool_use_id, content, message.result.as_ref());
                        ended.push(tool_use_id.clone());
                    }
                }
                let text = user_command(message).unwrap_or_else(|| parsed.text());
                match &message.result {
                    Some(info) if parsed.answers().next().is_none() => {
                        ended.extend(self.shell(record, &text, info));
                    }
                    Some(_) | None if !text.trim().is_empty() => {
                        self.lines += newlines(&text);
                        let id = self.push(BlockBody::User(text));
                        self.set_entry(id, record);
                    }
                    Some(_) | None => {}
                }
                for block in parsed.content {
                    if let domain::ContentBlock::Image(image) = block {
                        let id = self.push(BlockBody::Image(image));
                        self.set_entry(id, record);
                    }
                }
            }
        }
        ended
    }

    /// Replaces the streamed blocks by the finished response.
    fn response(&mut self, record: &LogRecord, message: &MessageEntry) {
        let mut open: VecDeque<BlockId> = std::mem::take(&mut self.open).into();
        let mut bodies: VecDeque<BlockBody> =
            message.content.iter().filter_map(|block| body_of(block, &self.cwd)).collect();
        if let Some(cut) = self.cut.take() {
            self.join(cut, &mut bodies, &mut open, record);
        }
        for body in bodies {
            let mut streamed = None;
            while let Some(id) = open.pop_front() {
                if self.get(id).is_some_and(|block| block.body.is_same_as(&body)) {
                    streamed = Some(id);
                    break;
                }
                // This block was streamed, but is not in the log.
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
            if let Some(BlockBody::Tool(tool)) = self.get(id).map(|block| &block.body) {
                self.calls.insert(tool.call.clone(), id);
            }
            self.set_entry(id, record);
        }
        for id in open {
            self.remove(id);
        }
        if message.stop_reason == Some(StopReason::MaxTokens)
            && let Some(TranscriptBlock { id, entry, body: BlockBody::Assistant(prose), .. }) =
                self.blocks.last()
            && *entry == Some(record.id)
        {
            self.cut = Some(TruncatedAnswer { block: *id, upto: prose.text.len() });
        }
    }

    /// Appends the rest of an answer that the output limit cut off to its block, if the rest was
    /// streamed there or the block is still the last one.
    fn join(
        &mut self,
        cut: TruncatedAnswer,
        bodies: &mut VecDeque<BlockBody>,
        open: &mut VecDeque<BlockId>,
        record: &LogRecord,
    ) {
        let streamed = open.front() == Some(&cut.block);
        let is_last = self.blocks.last().is_some_and(|last| last.id == cut.block);
        if streamed {
            open.pop_front();
        } else if !is_last || !open.is_empty() {
            return;
        }
        let at = self.index(cut.block);
        let Some(TranscriptBlock { body: BlockBody::Assistant(prose), revision, entry, .. }) =
            self.blocks.get_mut(at)
        else {
            return;
        };
        prose.text.truncate(cut.upto);
        prose.state = TextState::Done;
        *revision += 1;
        if let Some(BlockBody::Assistant(_)) = bodies.front()
            && let Some(BlockBody::Assistant(rest)) = bodies.pop_front()
        {
            prose.text.push_str(&rest.text);
            *entry = Some(record.id);
        }
    }

    fn result(&mut self, call: &CallId, content: &str, info: Option<&ToolResultInfo>) {
        let mut is_edit = false;
        self.with_tool(call, |tool| {
            tool.content = ToolCallContent::Text(content.to_owned());
            if let Some(info) = info {
                tool.full_output.clone_from(&info.kept);
                tool.end(TranscriptToolOutcome::from(info));
            }
            is_edit = tool.is_edit();
        });
        if is_edit {
            self.edits.push(call.clone());
        }
    }

    /// An agent whose end a note tells, or that the user has started: such a one gets a line.
    fn agent_on_record(&mut self, record: &LogRecord, agent: &SubagentSummary) {
        if !agent.state.is_running() {
            return self.agent_stands(agent);
        }
        let mut tool = ToolCallBlock::new(agent.call.clone(), AGENT_TOOL, ToolCallState::Done);
        tool.title = agent.name();
        tool.agent = Some(Box::new(agent.clone()));
        let id = self.push(BlockBody::Tool(Box::new(tool)));
        self.set_entry(id, record);
    }

    /// A command that the user ran with `!`. If it ran here, it has a block already, whose call ends.
    fn shell(&mut self, record: &LogRecord, text: &str, info: &ToolResultInfo) -> Option<CallId> {
        let is_it = |tool: &ToolCallBlock| tool.origin == ToolCallOrigin::User && !tool.is_over();
        let running =
            self.blocks.iter().rposition(|block| block.body.tool_call().is_some_and(is_it));
        let at = running.unwrap_or_else(|| {
            let mut tool = ToolCallBlock::new(CallId::new(""), &info.name, ToolCallState::Waiting);
            tool.origin = ToolCallOrigin::User;
            tool.title = first_line(text.trim_start_matches("$ ").lines().next().unwrap_or(""));
            let id = self.push(BlockBody::Tool(Box::new(tool)));
            self.index(id)
        });
        let block = self.blocks.get_mut(at)?;
        let BlockBody::Tool(tool) = &mut block.body else { return None };
        let output = text.split_once('\n').map_or("", |(_, output)| output);
        tool.content = ToolCallContent::Terminal(output.to_owned());
        tool.full_output.clone_from(&info.kept);
        tool.end(TranscriptToolOutcome::from(info));
        let call = running.map(|_| tool.call.clone());
        block.revision += 1;
        block.entry = Some(record.id);
        call
    }
}

impl BlockBody {
    /// Whether `other`, a finished body, belongs to this streamed one.
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
                | Self::Lookups
                | Self::TurnEnd(_)
                | Self::Compacted(_),
                _,
            ) => false,
        }
    }

    /// Takes over the finished content, and keeps the times, which only the stream knows.
    fn finish(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Thinking(old), Self::Thinking(new)) => {
                *old = ThinkingText { since: old.since, elapsed: old.elapsed, ..new };
            }
            (_, other) => *self = other,
        }
    }
}

/// The body for a block of a finished response; `None` if the transcript does not show it.
fn body_of(block: &domain::ContentBlock, cwd: &Path) -> Option<BlockBody> {
    let state = TextState::Done;
    match block {
        domain::ContentBlock::Text { text } if text.trim().is_empty() => None,
        domain::ContentBlock::Text { text } => {
            Some(BlockBody::Assistant(AssistantText { text: text.clone(), state }))
        }
        domain::ContentBlock::Thinking { thinking, .. } if thinking.trim().is_empty() => None,
        domain::ContentBlock::Thinking { thinking, .. } => {
            Some(BlockBody::Thinking(ThinkingText {
                text: thinking.clone(),
                state,
                since: None,
                elapsed: None,
            }))
        }
        domain::ContentBlock::ToolUse(call) => {
            let call = call.inner();
            let mut tool = ToolCallBlock::new(call.id.clone(), &call.name, ToolCallState::Waiting);
            tool.title = title(&call.name, &call.input, cwd);
            tool.input = valid(&call.input);
            Some(BlockBody::Tool(Box::new(tool)))
        }
        domain::ContentBlock::Context { .. }
        | domain::ContentBlock::Image(_)
        | domain::ContentBlock::Sealed { .. }
        | domain::ContentBlock::ToolResult { .. } => None,
    }
}

/// The command that the user ran, with its output, if the message is about one.
fn user_command(message: &MessageEntry) -> Option<String> {
    message.content.iter().find_map(|block| match block {
        domain::ContentBlock::Context { name, text } if name == "shell" => Some(text.clone()),
        domain::ContentBlock::Context { .. }
        | domain::ContentBlock::Text { .. }
        | domain::ContentBlock::Image(_)
        | domain::ContentBlock::Thinking { .. }
        | domain::ContentBlock::Sealed { .. }
        | domain::ContentBlock::ToolUse(_)
        | domain::ContentBlock::ToolResult { .. } => None,
    })
}
