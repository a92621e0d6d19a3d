//! Past sessions as the screen knows them: plain data, made from the store by whoever carries
//! out a [`SessionStoreRequest`]. Nothing here reads a file or a clock.

use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, FixedOffset};

use crate::domain::{EntryId, MessageRole, SessionId};
use crate::session::{BranchComparison, ExportedFile, SessionGrouping};

use super::pager::document::PagerDocument;

/// What is wanted of the sessions on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionStoreRequest {
    /// Those used last, as far as that is known at once.
    Newest,
    /// All of them, of every folder.
    List,
    /// Gives one a title that is not open here.
    Rename {
        /// Which.
        session: SessionId,
        /// Its title from now on.
        title: String,
    },
    /// Moves one to the trash.
    Trash {
        /// Which.
        session: SessionId,
    },
    /// Brings one back from the trash.
    Restore {
        /// Which.
        session: SessionId,
    },
    /// What was said in one.
    Preview {
        /// Which.
        session: SessionId,
    },
    /// Remembers how they are grouped.
    Group(SessionGrouping),
    /// Compares two of them.
    Compare {
        /// Which.
        sessions: [SessionId; 2],
        /// How the page is to be.
        page: BranchPageRequest,
    },
    /// Lays two that were compared out anew.
    Lay {
        /// What is in them.
        branches: Arc<BranchComparison>,
        /// How the page is to be.
        page: BranchPageRequest,
    },
    /// Writes one into a file that can be passed on, without its secrets.
    Export {
        /// Which.
        session: SessionId,
    },
    /// Sums one up.
    SumUp {
        /// Which.
        session: SessionId,
        /// What this one has, too, is left out.
        beside: Option<SessionId>,
    },
}

/// What a [`SessionStoreRequest`] came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionStoreResponse {
    /// To `Pending` and `PickerList`.
    Listed(SessionList),
    /// To `Rename`, `Trash`, `Restore` and `UndoGroup`: it is done.
    Changed,
    /// To `SessionPreview`.
    Previewed(SessionPreview),
    /// To `Compare` and `Lay`: a page.
    Compared(BranchPage),
    /// To `Export`: where it is.
    Exported(ExportedFile),
    /// To `SumUp`: a note for the input.
    SummedUp(String),
}

/// How a page of two branches is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchPageRequest {
    /// The id that its document gets.
    pub document: u64,
    /// The columns that it may take.
    pub width: u16,
}

/// Two branches as a page that fits a width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchPage {
    /// What is in them.
    pub branches: Arc<BranchComparison>,
    /// The columns that it may take.
    pub width: u16,
    /// The page.
    pub document: Arc<PagerDocument>,
}

/// All sessions at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionList {
    /// The sessions, in any order.
    pub rows: Vec<SessionRow>,
    /// The moment, in the person's time.
    pub now: DateTime<FixedOffset>,
    /// How the person grouped them last.
    pub grouping: SessionGrouping,
}

/// A session in a list. Its texts have been made harmless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Which.
    pub id: SessionId,
    /// Its title, on one line; empty where nothing was said yet.
    pub title: String,
    /// When its last line was written, in the person's time.
    pub last_used_at: DateTime<FixedOffset>,
    /// The folder it works in; empty where its log does not say.
    pub working_directory: PathBuf,
    /// The model it uses; empty where its log does not say.
    pub model: String,
    /// Where its first part comes from.
    pub forked_from: Option<SessionId>,
    /// Of a fork: how the last message begins that its parent has, too.
    pub last_shared_message: Option<String>,
    /// What was said by person and model; none where the log is too long to count.
    pub message_count: Option<u64>,
    /// Whether another slug works with it.
    pub lock: SessionLockState,
}

/// Whether another slug works with a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionLockState {
    /// None does.
    Unlocked,
    /// One does, so it can be read and forked but not gone on with.
    Locked,
}

/// What was said in a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionPreview {
    /// What was said, oldest first.
    pub messages: Vec<PreviewMessage>,
}

/// A message of a preview.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewMessage {
    /// The log's line, from which a fork can begin.
    pub entry: EntryId,
    /// Who said it.
    pub role: MessageRole,
    /// The text, made harmless and cut to a few lines.
    pub text: String,
}

impl SessionRow {
    /// What to call it.
    pub fn name(&self) -> &str {
        if self.title.is_empty() { "Untitled" } else { &self.title }
    }
}
