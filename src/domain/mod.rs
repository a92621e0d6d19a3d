//! The types that every room shares: ids, messages, tools, permissions, usage.
//!
//! Plain values only: no I/O, no clock, no async, and no import from any other room.

mod align;
mod approval;
pub mod base64_bytes;
mod budget;
mod bytes;
mod danger;
mod dialect;
mod diff;
#[cfg(test)]
pub mod faults;
mod first_line;
mod fold;
mod hosts;
mod ids;
mod image;
mod inner_call;
mod invisible;
mod job;
mod job_terminal;
mod json_values;
pub mod jsonc;
pub mod lenient_json;
pub mod lookalike;
mod markup;
pub mod mention;
mod message;
mod mode;
mod model_name;
mod money;
mod nearest;
mod no_proxy;
mod notice;
mod partial_diff;
mod paths;
mod patterns;
mod plural;
mod price;
mod protocol;
mod sandbox;
pub mod sanitize;
pub mod secrets;
mod source;
mod subagent;
mod task;
#[cfg(test)]
pub mod testing;
mod this_machine;
mod todo;
mod tool;
mod usage;
mod user_question;
mod web_address;
mod work_plan;

pub use align::align;
pub use approval::{
    ApprovalAnswer, ApprovalId, ApprovalKind, ApprovalRequest, CallPart, PermissionOutcome,
    RuleFile, RuleKind, RuleSource,
};
pub use budget::{AgentBudgets, ParseBudgetError, UsageBudget};
pub use bytes::format_bytes;
pub use danger::{CallDanger, DangerFact, DangerFacts, NOT_COUNTED};
pub use dialect::ChatDialect;
pub use diff::{
    DiffContextSize, DiffLine, DiffLineTag, FileDiff, FileModeChange, Hunk, LineEnding,
};
pub use first_line::{first_line, first_step};
pub use fold::PaneFold;
pub use hosts::{AddressScope, HostRule, NetworkHost, ParseHostError, address_scope, authority};
pub use ids::{AgentId, CallId, ContentHash, EntryId, JsonHasher, SessionId, TurnId};
pub use image::{Attachment, MediaType, MessageImage, UserInput};
pub use inner_call::CALL_TOOL;
pub use invisible::{StrippedText, is_invisible, strip_invisible};
pub use job::{
    ExitCause, FollowedJobs, FollowedOutput, JobEnd, JobId, JobInfo, JobOutputPiece, JobReport,
    JobState,
};
pub use job_terminal::{
    HeldModifiers, MouseAction, TerminalButton, TerminalColor, TerminalFrame, TerminalInput,
    TerminalKey, TerminalKeyPress, TerminalMouse, TerminalRun, TerminalSize, TerminalStyle,
    TerminalText,
};
pub use json_values::{JsonValueCount, MAX_JSON_VALUES, has_more_values, read_counted};
pub use markup::escape_markup;
pub use message::{CallInput, ContentBlock, Message, MessageRole, StopReason, ToolCall};
pub use mode::{PermissionMode, UnknownMode};
pub use model_name::ModelName;
pub use money::{Money, ParseMoneyError};
pub use nearest::nearest;
pub use no_proxy::is_exempt_from_proxy;
pub use notice::{ContextWindow, NoticeLevel};
pub use partial_diff::ExcludedHunks;
pub use paths::{SCRATCH_VARIABLE, SYSTEM_FOLDERS, clean_path};
pub use patterns::{RegexError, compile_regex, measured_regex, parse_glob};
pub use plural::{grouped, pluralise};
pub use price::{ModelPrice, TokenRate, TokenRates};
pub use protocol::{ProviderProtocol, ReasoningEffort};
pub use sandbox::{
    MaskedPath, MaskedPathKind, SandboxBackendKind, SandboxNetwork, SandboxProfile, SandboxSummary,
    ScanExtent,
};
pub use source::{RequestSource, TYPED_BY_USER};
pub use subagent::{SpawnOrigin, SubagentState, SubagentSummary};
pub use task::{TaskChange, TaskId, TaskItem, TaskList, task_numbers};
pub use this_machine::is_this_machine;
pub use todo::{TodoItem, TodoStatus};
pub use tool::{
    CommandPace, FileRead, ToolAccess, ToolCapability, ToolDescriptor, ToolDisplay, ToolKind,
    ToolListing, ToolOutput, ToolPolling, ToolSpec, ToolStatus,
};
pub use usage::{TokenUsage, format_tokens};
pub use user_question::{QuestionAnswer, QuestionOption, QuestionRequest, UserQuestion};
pub use web_address::{WebAddress, WebAddressError};
pub use work_plan::{PlanItem, WorkPlan};
