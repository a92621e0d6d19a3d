//! The lines of a session log.
//!
//! One JSON object a line. Every line has an `id`, a `timestamp` (RFC 3339, UTC) and its `turn`;
//! a message has `role` and `content` at its top level, so that `jq` and other tools read it.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::domain::{
    CallId, ContentBlock, ContentHash, EntryId, Message, MessageRole, Money, PermissionMode,
    PermissionOutcome, ReasoningEffort, RequestSource, RuleSource, SessionId, StopReason, TodoItem,
    TokenUsage, ToolDisplay, ToolStatus, TurnId,
};

use super::change::{FileChangeEntry, RewindEntry, UntrackedChanges};
use super::files::serialize_path;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogRecord {
    /// The line's own id.
    pub id: EntryId,
    /// When it was written.
    pub timestamp: DateTime<Utc>,
    /// The turn it belongs to.
    pub turn: TurnId,
    /// What it says.
    #[serde(flatten)]
    pub entry: LogEntry,
}

impl LogRecord {
    /// Whether a conversation can be read from here on: a message that answers no call.
    pub fn can_start_conversation(&self) -> bool {
        let LogEntry::Message(message) = &self.entry else { return false };
        message.role == MessageRole::Assistant
            || message.result.is_none()
                && !message.content.iter().any(|it| matches!(it, ContentBlock::ToolResult { .. }))
    }
}

/// What a line says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LogEntry {
    /// The first line.
    Session(SessionHeader),
    /// Something was said. Each tool result is a message of its own.
    Message(MessageEntry),
    /// A call was approved and is about to run. On disk before the call does anything.
    ToolStarted {
        /// Which call.
        call: CallId,
        /// SHA-256 of its arguments as they are run.
        arguments: ContentHash,
        /// What approved it: a rule, the mode, or the person.
        approved_by: String,
    },
    /// A permission question and its answer. History: a resume restores no powers from it.
    Permission(PermissionEntry),
    /// A file was made, changed or removed.
    FileChange(FileChangeEntry),
    /// What a command changed, and nothing was kept of.
    NotCovered(UntrackedChanges),
    /// The person went back in the session, or forth again.
    Rewind(RewindEntry),
    /// Older parts of the conversation are no longer sent in full.
    Compaction(CompactionEntry),
    /// The person stopped the turn.
    Interrupted,
    /// The turn is over.
    TurnEnd(TurnEnd),
    /// The session's title from here on.
    Title {
        /// The title.
        title: String,
    },
    /// The plan from here on.
    Todo {
        /// All its steps.
        todos: Vec<TodoItem>,
    },
    /// The model from here on.
    Model {
        /// Its name on the server.
        model: String,
        /// The provider's name, where the log says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
        /// How hard it is to think, where that was said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effort: Option<ReasoningEffort>,
    },
    /// The mode from here on. History: a resume restores no powers from it.
    Mode {
        /// The mode.
        mode: PermissionMode,
    },
}

/// The first line of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionHeader {
    /// The session.
    pub session_id: SessionId,
    /// The format's version; a reader that knows less opens it read-only.
    pub version: u32,
    /// The folder that the session works in.
    #[serde(serialize_with = "serialize_path")]
    pub cwd: PathBuf,
    /// The model it began with.
    pub model: String,
    /// The provider it began with.
    pub provider: String,
    /// Where its first part comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<SessionId>,
}

/// Something said, with what is known of how it came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageEntry {
    /// Who speaks.
    pub role: MessageRole,
    /// What is said.
    pub content: Vec<ContentBlock>,
    /// Of a response: why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// Of a response: what it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// Of a response: the model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Of a response: what it cost in US dollars, where its price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// Of a response: what it was asked for.
    #[serde(default, skip_serializing_if = "RequestSource::is_main")]
    pub source: RequestSource,
    /// Of a response: SHA-256 of model, tools, system text and messages that it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<ContentHash>,
    /// Of a tool result: how the call went and what the person sees of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResultInfo>,
}

/// How a call went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResultInfo {
    /// The tool's name.
    pub name: String,
    /// Done, failed, denied or cancelled.
    pub status: ToolStatus,
    /// A few words for the pane's head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What the person sees, where that is not the result's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<ToolDisplay>,
    /// How long it ran, in milliseconds.
    pub elapsed_ms: u64,
    /// Its whole output among the blobs, where the model got only a part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<ContentHash>,
}

/// A permission question and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionEntry {
    /// Which call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// Its command, or what it was to touch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// What came out.
    pub decision: PermissionOutcome,
    /// The answer's name: once, session, always, never, edited, deny; or rule, mode, headless, hook.
    pub answer: String,
    /// The rule that decided or was saved, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleSource>,
}

/// What is no longer sent in full.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionEntry {
    /// Tool results before this entry are sent as stubs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results_kept_from: Option<EntryId>,
    /// Messages before this entry are not sent at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_kept: Option<EntryId>,
}

/// How a turn ended and what it took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnEnd {
    /// How.
    pub outcome: TurnOutcome,
    /// Tokens of all its responses together.
    pub usage: TokenUsage,
    /// What those of them cost whose price is known, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnOutcome {
    /// The model had said what it wanted to say.
    Answered,
    /// The person stopped it.
    Interrupted,
    /// It made as many rounds of tool calls as `max_tool_rounds` allows.
    RoundLimit,
    /// A budget was used up; the text says which.
    Budget(String),
    /// It failed; the text says why and what to do.
    Failed(String),
}

impl SessionHeader {
    /// The version that this slug writes.
    pub const VERSION: u32 = 1;
}

impl MessageEntry {
    /// A message with nothing more known of it.
    pub fn new(message: Message) -> Self {
        Self {
            role: message.role,
            content: message.content,
            stop_reason: None,
            usage: None,
            model: None,
            cost: None,
            source: RequestSource::Main,
            answered: None,
            result: None,
        }
    }

    /// Whether it holds the result of a call.
    pub fn is_result(&self) -> bool {
        self.content.iter().any(|block| matches!(block, ContentBlock::ToolResult { .. }))
    }

    /// Just what was said.
    pub fn message(&self) -> Message {
        Message { role: self.role, content: self.content.clone() }
    }
}
