//! Past sessions as a front end knows them: plain data, which `session_service` makes from the store
//! for a [`SessionStoreRequest`]. Nothing here reads a file or a clock.

use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, FixedOffset};

use crate::domain::{EntryId, MessageRole, SessionId};
use crate::session::{BranchComparison, ExportedFile, SessionGrouping};

/// A request to the sessions on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionStoreRequest {
    /// Lists the sessions used last, as far as the store knows them at once.
    Newest,
    /// Lists the sessions used last in a folder, at most `count`.
    Recent { folder: PathBuf, count: usize },
    /// Lists all sessions, of every folder.
    List,
    /// Changes the title of a session that is not open here.
    Rename { session: SessionId, title: String },
    /// Moves a session to the trash.
    Trash { session: SessionId },
    /// Brings a session back from the trash.
    Restore { session: SessionId },
    /// Reads the messages of a session.
    Preview { session: SessionId },
    /// Saves how the list groups sessions.
    Group(SessionGrouping),
    /// Compares two sessions, as two branches of one.
    Compare { sessions: [SessionId; 2] },
    /// Exports a session to a file that can be shared, without secrets.
    Export { session: SessionId },
    /// Summarizes a session as a note for the input.
    SumUp {
        session: SessionId,
        /// Parts that this session shares are left out.
        beside: Option<SessionId>,
    },
}

/// The answer to a [`SessionStoreRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionStoreResponse {
    /// To `Newest` and `List`.
    Listed(SessionList),
    /// To `Rename`, `Trash`, `Restore` and `Group`: done.
    Changed,
    /// To `Preview`.
    Previewed(SessionPreview),
    /// To `Compare`.
    Compared(Arc<BranchComparison>),
    /// To `Export`.
    Exported(ExportedFile),
    /// To `SumUp`: the note for the input.
    SummedUp(String),
}

/// All sessions, as of one point in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionList {
    /// In any order.
    pub rows: Vec<SessionRow>,
    /// When the list was read, in the user's time zone.
    pub now: DateTime<FixedOffset>,
    /// The grouping that the user chose last.
    pub grouping: SessionGrouping,
}

/// A session in a list. Its texts are sanitized: without control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    pub id: SessionId,
    /// On one line; empty before the first message.
    pub title: String,
    /// When the log's last line was written, in the user's time zone.
    pub last_used_at: DateTime<FixedOffset>,
    /// Empty if the log does not name it.
    pub working_directory: PathBuf,
    /// Name of the session's model; empty if the log does not name it.
    pub model: String,
    /// Of a fork: its parent, which may be gone.
    pub forked_from: Option<SessionId>,
    /// Of a fork: the beginning of the last message that its parent has too.
    pub last_shared_message: Option<String>,
    /// Messages of the user and the model; `None` if the log is too long to count.
    pub message_count: Option<u64>,
    pub lock: SessionLockState,
}

/// Whether another slug process has a session open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionLockState {
    Unlocked,
    /// Another one has it open: it can be read and forked here, but not continued.
    Locked,
}

/// The messages of a session, for the preview.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionPreview {
    /// The oldest first.
    pub messages: Vec<PreviewMessage>,
}

/// A message in the preview of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewMessage {
    /// The log's line; a fork can begin after it.
    pub entry: EntryId,
    pub role: MessageRole,
    /// Sanitized and cut to a few lines.
    pub text: String,
}

impl SessionRow {
    /// The title, or "Untitled" if it is empty.
    pub fn name(&self) -> &str {
        if self.title.is_empty() { "Untitled" } else { &self.title }
    }
}
