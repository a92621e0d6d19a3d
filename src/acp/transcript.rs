//! A session from its log, for an editor that opens it again: what was said and done, without what a rewind
//! has taken back.

use agent_client_protocol_schema::v1::{ContentBlock, ContentChunk, ImageContent, SessionUpdate};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::agent::AgentEvent;
use crate::domain::{self, MessageRole};
use crate::session::undo::RewindHistory;
use crate::session::{LogEntry, LogRecord, MessageEntry};

use super::events::EventMapper;

impl EventMapper {
    /// The updates that show a log from its beginning. Terminals are not shown again: their text is.
    pub(super) fn replay(&mut self, records: Vec<LogRecord>) -> Vec<SessionUpdate> {
        let has_terminals = std::mem::take(&mut self.features.has_terminal_output);
        let has_notices = std::mem::take(&mut self.features.has_notices);
        let history = RewindHistory::of(&records);
        let mut updates = Vec::new();
        for (at, record) in records.into_iter().enumerate() {
            if !history.is_live(at) {
                continue;
            }
            if let LogEntry::Message(message) = &record.entry
                && message.source.is_main()
            {
                updates.extend(self.said(message));
            }
            updates.extend(self.take(&AgentEvent::Recorded(record.into())));
        }
        updates.extend(self.end_calls());
        (self.features.has_terminal_output, self.features.has_notices) =
            (has_terminals, has_notices);
        updates
    }

    /// What a message says, without its calls and results.
    fn said(&self, message: &MessageEntry) -> Vec<SessionUpdate> {
        let mut updates = Vec::new();
        for block in &message.content {
            let (content, is_thought) = match block {
                domain::ContentBlock::Text { text } => (ContentBlock::from(text.clone()), false),
                domain::ContentBlock::Thinking { thinking, .. } => {
                    (ContentBlock::from(thinking.clone()), true)
                }
                domain::ContentBlock::Image(image) => {
                    let Ok(Some(bytes)) = self.blobs().get(&image.hash) else { continue };
                    let data = STANDARD.encode(bytes);
                    (ContentBlock::Image(ImageContent::new(data, image.media_type.name())), false)
                }
                domain::ContentBlock::Context { .. }
                | domain::ContentBlock::Sealed { .. }
                | domain::ContentBlock::ToolUse(_)
                | domain::ContentBlock::ToolResult { .. } => continue,
            };
            let chunk = ContentChunk::new(content);
            updates.push(match (message.role, is_thought) {
                (MessageRole::User, _) => SessionUpdate::UserMessageChunk(chunk),
                (MessageRole::Assistant, true) => SessionUpdate::AgentThoughtChunk(chunk),
                (MessageRole::Assistant, false) => SessionUpdate::AgentMessageChunk(chunk),
            });
        }
        updates
    }
}
