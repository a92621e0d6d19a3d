//! The transcript as the log tells it. A line that says how something ended takes the place of what
//! streamed of it.

use std::path::Path;
use std::time::Duration;

use crate::domain::{self, CallId, Role};
use crate::session::{Entry, MessageEntry, Record, ResultInfo, TurnOutcome};
use crate::tui::app::title::{first_line, title};

use super::{
    Body, Ended, Origin, Prose, Shows, TextState, Thinking, Tool, ToolState, Transcript, newlines,
    valid,
};

impl Transcript {
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
