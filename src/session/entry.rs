//! The lines of a session log.
//!
//! One JSON object per line. Every line has an `id`, a `timestamp` (RFC 3339, UTC) and its `turn`.
//! A message has `role` and `content` at its top level, so that `jq` and other tools can read it.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::domain::{
    CallId, ContentBlock, ContentHash, EntryId, FileRead, JobId, Message, MessageRole, Money,
    PermissionMode, PermissionOutcome, ReasoningEffort, RequestSource, RuleSource, SessionId,
    SpawnOrigin, StopReason, SubagentSummary, TaskChange, TodoItem, TokenUsage, ToolDisplay,
    ToolSpec, ToolStatus, TurnId,
};

use super::change::{FileChangeEntry, RewindEntry, UntrackedChanges};
use super::compaction::CompactionEntry;
use super::context_edit::ContextEditEntry;
use super::files::serialize_path;
use super::turn_changes::TurnChanges;

/// One line of a log: an entry with its id, time and turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LogRecord {
    /// Unique over all sessions, and growing with time; a fork's copied lines keep theirs.
    pub id: EntryId,
    pub timestamp: DateTime<Utc>,
    /// The turn it belongs to; 0 before the first one.
    pub turn: TurnId,
    #[serde(flatten)]
    pub entry: LogEntry,
}

impl LogRecord {
    /// Whether a conversation can start with this record: a message that answers no call.
    pub fn can_start_conversation(&self) -> bool {
        let LogEntry::Message(message) = &self.entry else { return false };
        message.role == MessageRole::Assistant
            || message.result.is_none()
                && !message.content.iter().any(|it| matches!(it, ContentBlock::ToolResult { .. }))
    }
}

/// What a line of a log says, by its `type`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LogEntry {
    /// The first line of a log.
    Session(SessionHeader),
    /// A message of the user or the model. Each tool result is a message of its own.
    Message(MessageEntry),
    /// A call was approved and is about to run. On disk before the call does anything.
    ToolStarted {
        call: CallId,
        /// SHA-256 of its arguments as they are run.
        arguments: ContentHash,
        /// What approved it: a rule, the mode, or the user.
        approved_by: String,
    },
    /// A permission question and its answer. Only a record of what happened: a resume restores no
    /// permission from it.
    Permission(PermissionEntry),
    /// A file was made, changed or removed.
    FileChange(FileChangeEntry),
    /// Changes of a command that slug could not track.
    NotCovered(UntrackedChanges),
    /// The user rewound the session, or took a rewind back.
    Rewind(RewindEntry),
    /// From here on, older parts of the conversation are no longer sent in full, or are again.
    Compaction(CompactionEntry),
    /// The user has folded out, brought back or pinned a part of the conversation.
    ContextEdit(ContextEditEntry),
    /// The user stopped the turn.
    Interrupted,
    TurnEnd(TurnEnd),
    /// The session's title from here on; an empty one is that of the next message, as after a rewind
    /// before the message that named the session.
    Title {
        title: String,
    },
    /// The plan from here on.
    Todo {
        /// All steps of the plan, which replace those of an earlier one.
        todos: Vec<TodoItem>,
    },
    /// Tasks have changed.
    Tasks(TaskChange),
    /// The model from here on.
    Model {
        /// The model's name on the server.
        model: String,
        /// The provider's name; `None` in logs that do not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
        /// The reasoning effort, where the user chose one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effort: Option<ReasoningEffort>,
    },
    /// The permission mode from here on. Only a record of what happened: a resume restores no
    /// permission from it.
    Mode {
        mode: PermissionMode,
    },
}

impl LogEntry {
    /// `None` for every entry but a message.
    pub fn as_message(&self) -> Option<&MessageEntry> {
        if let Self::Message(message) = self { Some(message) } else { None }
    }
}

/// What a session is and where it began: the first line of its log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SessionHeader {
    pub session_id: SessionId,
    /// The version of the log's format. A reader that knows only older versions opens the log
    /// read-only.
    pub version: u32,
    /// The folder that the session works in.
    #[serde(serialize_with = "serialize_path")]
    pub cwd: PathBuf,
    /// The model it began with.
    pub model: String,
    /// The provider it began with.
    pub provider: String,
    /// The session that this one was forked from, and whose lines it begins with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<SessionId>,
    /// The call of another session that started this one's agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawned_by: Option<SpawnOrigin>,
    /// The tools of servers that are in the tools array behind slug's own, in every request of the
    /// session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_tools: Vec<ToolSpec>,
}

/// A message with what is known of how it came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MessageEntry {
    pub role: MessageRole,
    pub content: Vec<ContentBlock>,
    /// Of a response: why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// Of a response: the tokens that it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// Of a response: whether `usage` is slug's estimate, since the response was stopped before its
    /// server had counted it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_usage_estimated: bool,
    /// Of a response: the model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Of a response: what it cost in US dollars, where its price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// Of a response: what slug asked for it. What was not asked for the conversation counts as
    /// spent, and is no part of it.
    #[serde(default, skip_serializing_if = "RequestSource::is_main")]
    pub source: RequestSource,
    /// Of a response: SHA-256 of the model, tools, system text and messages that it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<ContentHash>,
    /// Of a response: the session of the agent that gave it, where the user took it over from a race. It
    /// was paid for there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_from: Option<SessionId>,
    /// Of a response: slug's own measure of the request that it answered, which `usage` calibrates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<u64>,
    /// Of a tool result: how the call went and what the user sees of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResultInfo>,
    /// Of a tool result: the file that it shows. What a log shows as read counts after a resume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<FileRead>,
    /// Of a note of slug's: the agents in the background whose end it tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<SubagentSummary>,
}

/// How a tool call went, and what the user sees of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ToolResultInfo {
    pub name: String,
    /// Done, failed, denied or cancelled.
    pub status: ToolStatus,
    /// A few words for the pane's head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What the user sees, where that is not the result's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<ToolDisplay>,
    /// How long it ran, in milliseconds.
    pub elapsed_ms: u64,
    /// The hash of its whole output in the store of contents, where the model got only a part of
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<ContentHash>,
    /// The job that the call started or looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
    /// The agent that the call started, as it was when the call ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<SubagentSummary>>,
}

/// A permission question about a call, and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PermissionEntry {
    pub call: CallId,
    pub tool: String,
    /// The call's command, or the file or address that it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    pub decision: PermissionOutcome,
    /// The answer's name: once, session, always, never, edited, deny; or rule, mode, headless, hook.
    pub answer: String,
    /// The rule that decided or was saved, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleSource>,
}

/// How a turn ended and what it took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TurnEnd {
    pub outcome: TurnOutcome,
    /// The tokens of all its responses together.
    pub usage: TokenUsage,
    /// The rounds of tool calls that it used.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rounds: u32,
    /// The cost of those responses whose price is known, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// How long it took, in milliseconds; 0 in logs that do not say.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub elapsed_ms: u64,
    /// What it changed in files; `None` where it changed nothing, and in logs that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<TurnChanges>,
    /// Whether it was no more than a compaction that the user asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_compaction: bool,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TurnOutcome {
    /// The model finished its answer.
    Answered,
    /// The user stopped it.
    Interrupted,
    /// It made as many rounds of tool calls as `max_tool_rounds` allows.
    RoundLimit,
    /// A budget was used up; the text says which one.
    Budget(String),
    /// It failed; the text says why and what to do.
    Failed(String),
    /// The server answered, but not with anything that a turn can end with.
    ModelFailed(ModelFailure),
}

/// Why what the model sent is no answer. The text says what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ModelFailure {
    /// A response without text and without calls.
    #[error("The model sent an empty answer. Ask again, or choose another model.")]
    EmptyAnswer,
    /// The provider withheld the answer, or the rest of it.
    #[error("The provider withheld this answer. Rephrase the question, or choose another model.")]
    ContentFilter,
    /// The same calls with the same results, although the model was told.
    #[error(
        "The model keeps making the same calls, which have the same results. Say more precisely what to \
         do, or choose another model."
    )]
    #[serde(alias = "repetition")]
    RepeatedCalls,
    /// Calls of one tool that failed in the same way, response after response.
    #[error(
        "The model keeps making calls that fail in the same way. Say more precisely what to do, or \
         choose another model."
    )]
    RepeatedFailures,
    /// The same text over and over in one answer.
    #[error(
        "The model keeps writing the same text. Say more precisely what to do, or choose another model."
    )]
    RepeatedText,
    /// One call after another that the output limit cut.
    #[error(
        "The output limit cut off one call after another. Raise `max_tokens`, or ask for \
            smaller steps."
    )]
    OutputLimit,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn is_no_time(millis: &u64) -> bool {
    *millis == 0
}

impl TurnEnd {
    /// The end of a turn that took and changed nothing.
    pub fn of(outcome: TurnOutcome) -> Self {
        Self {
            outcome,
            usage: TokenUsage::default(),
            rounds: 0,
            cost: None,
            elapsed_ms: 0,
            changes: None,
            is_compaction: false,
        }
    }
}

impl ModelFailure {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::EmptyAnswer => "empty_answer",
            Self::ContentFilter => "content_filter",
            Self::RepeatedCalls => "repeated_calls",
            Self::RepeatedFailures => "repeated_failures",
            Self::RepeatedText => "repeated_text",
            Self::OutputLimit => "output_limit",
        }
    }
}

impl SessionHeader {
    /// The newest format version, which this slug writes.
    pub const VERSION: u32 = 1;
}

impl MessageEntry {
    /// A message without any facts about how it came about.
    pub fn new(message: Message) -> Self {
        Self {
            role: message.role,
            content: message.content,
            stop_reason: None,
            usage: None,
            is_usage_estimated: false,
            model: None,
            cost: None,
            source: RequestSource::Main,
            answered: None,
            measure: None,
            result: None,
            read: None,
            taken_from: None,
            agents: Vec::new(),
        }
    }

    /// Whether it holds the result of a tool call.
    pub fn is_result(&self) -> bool {
        self.content.iter().any(|block| matches!(block, ContentBlock::ToolResult { .. }))
    }

    /// The role and content alone, as the provider gets them.
    pub fn message(&self) -> Message {
        Message { role: self.role, content: self.content.clone() }
    }
}
