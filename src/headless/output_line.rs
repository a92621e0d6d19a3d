//! The lines that a script reads: one JSON object each, whose `type` says what it is.
//!
//! The schema in `docs/stream-json.schema.json` is made from these types and from those of the lines that a
//! script writes ([`super::stream::input_line`]).

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use crate::domain::{
    AgentId, ApprovalId, ApprovalRequest, CallId, ContentBlock, MessageRole, Money, PermissionMode,
    QuestionRequest, SessionId, StopReason, SubagentState, TokenUsage, ToolCall, TurnId,
};

/// A line of `--output-format stream-json`. Those below `result` are only in a conversation, that is with
/// `--input-format stream-json` and from `slug serve`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum OutputLine {
    /// The first line. It comes again once the model is known, if that is later.
    Session(Box<SessionLine>),
    /// A complete response of the model.
    Message {
        role: MessageRole,
        content: Vec<ContentBlock>,
        stop_reason: Option<StopReason>,
        usage: Option<TokenUsage>,
        cost: Option<Money>,
    },
    /// The result of a call.
    ToolResult { tool_use_id: CallId, name: Option<String>, content: String, is_error: bool },
    /// Something that the user should know.
    Notice { level: &'static str, text: String },
    /// A request failed and is sent again.
    Retry { reason: String, wait_ms: u64, number: u32, of: u32 },
    /// A request waits because of a rate limit.
    Held { reason: String, wait_ms: u64 },
    /// How an agent stands that a call has started.
    Agent(Box<AgentLine>),
    /// The conversation was made shorter for the model.
    Compaction { text: String, tokens_before: Option<u64>, tokens_after: Option<u64> },
    /// A turn is over, and what it came to.
    Result(Box<ResultLine>),
    /// A turn has begun.
    Turn { turn: TurnId },
    /// A message of the user is in the conversation.
    User { message: UserLine },
    /// A message waits, for the end of the turn or for its next step.
    Waiting { delivery: MessageDelivery, text: String },
    /// More text of the response. The `message` that follows has all of it.
    Text { text: String },
    /// More reasoning of the response.
    Thinking { text: String },
    /// What has streamed of the response is void.
    Dropped { reason: String },
    /// More output of a running call.
    ToolOutput { tool_use_id: CallId, text: String },
    /// A call waits for a yes or a no, which an `approval` with its id brings.
    ApprovalAsked(Box<ApprovalLine>),
    /// The model asks something, which `answers` with its id answers.
    QuestionsAsked(Box<QuestionsLine>),
    /// A question was answered, or needs no answer any more.
    QuestionClosed { id: ApprovalId },
    /// The permission mode that holds from now on.
    Mode { mode: PermissionMode },
    /// Who of the clients of a socket may write.
    Access { writer: WriterState },
    /// All that came before is the conversation so far: what follows happens now.
    State { running: bool, waiting: usize, mode: Option<PermissionMode> },
    /// A line of the client's was not carried out.
    Error {
        /// The number of the line among those of this client, from 1; 0 for what no line has caused.
        line: u64,
        /// A sentence.
        message: String,
    },
}

impl OutputLine {
    /// The line as text, without its end.
    pub(super) fn text(&self) -> String {
        // Every key is a text and no number is outside of JSON, so there is nothing to fail at.
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct SessionLine {
    pub(super) id: Option<SessionId>,
    /// slug's version.
    pub(super) version: &'static str,
    pub(super) cwd: PathBuf,
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
    pub(super) mode: Option<&'static str>,
    /// The names of the tools that the model can call.
    pub(super) tools: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct AgentLine {
    pub(super) agent: AgentId,
    pub(super) call: CallId,
    pub(super) session: Option<SessionId>,
    pub(super) kind: String,
    pub(super) task: String,
    pub(super) state: SubagentState,
    pub(super) tool_calls: u32,
    pub(super) refused_calls: u32,
    pub(super) tokens: u64,
    pub(super) cost: Option<Money>,
    pub(super) elapsed_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ResultLine {
    /// The answer; after a limit, the last text.
    pub(super) text: String,
    pub(super) session_id: Option<SessionId>,
    pub(super) usage: TokenUsage,
    /// In dollars; null where a price is not known.
    pub(super) cost: Option<Money>,
    pub(super) by_source: BTreeMap<&'static str, SourceCost>,
    pub(super) turns: TurnId,
    pub(super) rounds: u32,
    pub(super) duration_ms: u64,
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
    pub(super) stop_reason: Option<StopReason>,
    pub(super) files: Vec<ResultFile>,
    /// The commands of which something still runs.
    pub(super) background: Vec<String>,
    /// The exit status, if this were the end.
    pub(super) exit: u8,
    pub(super) refused: Vec<RefusedCall>,
    pub(super) refused_to_agents: u32,
    pub(super) error: Option<ResultError>,
}

/// What the requests of one purpose took.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct SourceCost {
    pub(super) usage: TokenUsage,
    pub(super) cost: Option<Money>,
}

/// A file with the lines added and removed; null where it is not text.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ResultFile {
    pub(super) path: String,
    pub(super) added: Option<usize>,
    pub(super) removed: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct RefusedCall {
    pub(super) call: ToolCall,
    pub(super) reason: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ResultError {
    pub(super) kind: &'static str,
    pub(super) message: String,
}

/// A message of the user, in the same form as a script writes one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct UserLine {
    pub(super) role: MessageRole,
    pub(super) content: Vec<ContentBlock>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ApprovalLine {
    /// The agent that asks, where a call has started it; null for the conversation itself.
    pub(super) agent: Option<AgentId>,
    /// Words that imitate others with foreign letters, a sentence each.
    pub(super) warnings: Vec<String>,
    #[serde(flatten)]
    pub(super) request: ApprovalRequest,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct QuestionsLine {
    /// The agent that asks, where a call has started it; null for the conversation itself.
    pub(super) agent: Option<AgentId>,
    #[serde(flatten)]
    pub(super) request: QuestionRequest,
}

/// How a message that comes while a turn runs reaches the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(super) enum MessageDelivery {
    /// As a turn of its own, after the running one.
    #[default]
    Queue,
    /// Into the running turn, at its next step.
    Steer,
}

/// Who may write, as one client of a socket hears it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(super) enum WriterState {
    /// This client.
    You,
    /// Another client.
    Other,
    /// No client yet, or the one that did has left.
    Nobody,
}
