//! What records of the log tell a script: those that are added, and those that were there before a client came.

use std::sync::Arc;

use crate::domain::{ContentBlock, MessageRole};
use crate::session::undo::RewindHistory;
use crate::session::{LogEntry, LogRecord, MessageEntry};

use super::super::output_line::{OutputLine, UserLine};
use super::super::report::{HeadlessReport, ReportStream};

/// What a record of the log tells a client that comes later.
pub(super) fn lines_of_record(report: &mut HeadlessReport, record: &Arc<LogRecord>) -> Vec<String> {
    let lines = report.recorded(record).into_iter();
    let lines = lines.filter(|(stream, _)| *stream == ReportStream::Out).map(|(_, line)| line);
    user_line(record).iter().map(OutputLine::text).chain(lines).collect()
}

/// The line for a message of the user.
pub(super) fn user_line(record: &LogRecord) -> Option<OutputLine> {
    let LogEntry::Message(entry) = &record.entry else { return None };
    if entry.role != MessageRole::User || !entry.source.is_main() {
        return None;
    }
    let is_said = |block: &&ContentBlock| match block {
        ContentBlock::Text { .. } | ContentBlock::Image(_) => true,
        ContentBlock::Context { .. }
        | ContentBlock::Thinking { .. }
        | ContentBlock::Sealed { .. }
        | ContentBlock::ToolUse(_)
        | ContentBlock::ToolResult { .. } => false,
    };
    let content: Vec<ContentBlock> = entry.content.iter().filter(is_said).cloned().collect();
    let message = UserLine { role: entry.role, content };
    (!message.content.is_empty()).then_some(OutputLine::User { message })
}

/// Whether a record is a response of the conversation itself.
pub(super) fn is_response(record: &LogRecord) -> bool {
    let is_of_model = |entry: &MessageEntry| entry.role == MessageRole::Assistant;
    record.entry.as_message().is_some_and(|entry| is_of_model(entry) && entry.source.is_main())
}

/// The records without those that a rewind has taken back.
pub(super) fn in_force(records: Vec<Arc<LogRecord>>) -> Vec<Arc<LogRecord>> {
    let plain: Vec<LogRecord> = records.iter().map(|record| (**record).clone()).collect();
    let history = RewindHistory::of(&plain);
    let numbered = records.into_iter().enumerate();
    numbered.filter(|(at, _)| history.is_live(*at)).map(|(_, record)| record).collect()
}
