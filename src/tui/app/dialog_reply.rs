//! What dialogs are told: answers to their requests, and news of the conversation that an open dialog
//! may show. Plain values, so that a slice can pass them on without knowing a dialog.

use std::sync::Arc;

use crate::agent::{ContextReply, MemoryReply, ReviewPlan, RewindError, RewindPlan, RuleReply};
use crate::domain::{
    ApprovalId, CallId, ContentHash, DangerFact, FileDiff, FollowedOutput, JobReport, NoticeLevel,
};
use crate::lsp::LspServerStatus;
use crate::mcp::McpServerStatus;
use crate::services::text_document::TextDocument;
use crate::tui::dialogs::pager::search::PagerMatch;

use super::picker_list::{PickerItem, PickerPreview, PickerSource};
use super::request_id::RequestId;
use crate::services::connect::ConnectEvent;
use crate::services::session_changes::NetFileChange;
use crate::tui::branch_page::BranchPage;

/// An answer, or other news, for the open dialogs. Most are for one of them, which knows its request's
/// id.
#[derive(Debug, Clone, PartialEq)]
pub enum DialogReply {
    /// The rows of a list.
    Rows { id: RequestId, rows: ListRows },
    /// Rows for a list that shows an earlier part already, and the request for the next part.
    MoreRows { id: RequestId, source: PickerSource, next: Option<RequestId> },
    /// The rows of a list of models, in whose favourites something has changed.
    ModelRows(Vec<PickerItem>),
    /// The lines of a text that have matches, and how many lines were searched.
    Found { id: RequestId, hits: Vec<PagerMatch>, searched: usize },
    /// The full output of a call, or an explanation; `None` if it could not be read.
    Document { id: RequestId, document: Option<Arc<TextDocument>> },
    /// The comparison of two branches, laid out for another width.
    BranchesLaidOut { id: RequestId, page: BranchPage },
    /// The settings after a request, or why it could not be done.
    Settings { id: RequestId, answer: Result<Vec<PickerItem>, String> },
    /// More output of a running call.
    CallProgress { call: CallId, text: String },
    /// A call is over; the hash of its full output, if that is stored.
    CallEnded { call: CallId, output: Option<ContentHash> },
    /// The files that the session changed; `None` if they could not be read.
    Changes { id: RequestId, files: Option<Arc<Vec<NetFileChange>>> },
    /// The session has changed a file.
    FileChanged,
    /// The agent's reply to a request about the rules.
    Rules(Box<RuleReply>),
    /// What was counted about the call of a question.
    ApprovalFacts { id: ApprovalId, facts: Vec<DangerFact> },
    /// The agent's reply to a request about the context ledger.
    Context(Box<ContextReply>),
    /// The agent's reply to a request about the instruction files.
    Memory(Box<MemoryReply>),
    /// The user's editor has closed a file: what was changed in it, or why that is not known.
    FileEdited(Result<FileDiff, String>),
    /// The MCP servers, and what to wait from next.
    McpServers { id: RequestId, seen: u64, servers: Vec<McpServerStatus> },
    /// The language servers, and what to wait from next.
    LspServers { id: RequestId, seen: u64, servers: Vec<LspServerStatus> },
    /// How the jobs stand.
    Jobs(Vec<JobReport>),
    /// News of the output of the job that is followed.
    JobOutput(FollowedOutput),
    /// What a rewind would do, or why there is none.
    RewindPlanned(Result<Arc<RewindPlan>, RewindError>),
    /// What a turn or the session changed, or why that cannot be told.
    ReviewPlanned(Result<Arc<ReviewPlan>, RewindError>),
    /// A rewind, or the rejection of a review, is done.
    Rewound,
    /// The race that ran is over.
    RaceEnded,
    /// What a job of the page that connects models has found.
    Connect(ConnectEvent),
    /// The screen has another size.
    Resized,
}

/// What the request for the rows of a list came to.
#[derive(Debug, Clone, PartialEq)]
pub enum ListRows {
    /// The rows, the index of the one in use, and what is shown beneath them.
    Loaded { items: Vec<PickerItem>, now: usize, beneath: PickerPreview },
    /// The list stays open and says why there are none.
    Failed(String),
    /// There is nothing to list, with the sentence that says so.
    Closed(NoticeLevel, String),
    /// A text to read takes the place of the list.
    Report { title: String, text: String },
}
