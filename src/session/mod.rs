//! Sessions on disk: one append-only log each, and everything that is derived from it.
//!
//! The log is the truth. Everything else here (the meta file, the list of sessions, the
//! conversation that the provider gets) is replayed from it and can be made again.

mod blobs;
mod branches;
mod change;
mod choices;
mod compaction;
mod compression;
mod context_edit;
mod disk;
mod drafts;
mod entry;
mod export;
mod file_versions;
mod files;
mod filter;
mod folds;
mod fork;
mod gc;
mod history;
mod import;
mod index;
mod line;
mod lock;
mod log;
mod log_reader;
mod meta;
mod replay;
mod search;
mod spending;
mod spool;
mod store;
mod title;
mod turn_changes;
mod unanswered;
pub mod undo;
mod unfinished_writes;
mod writer;

pub use blobs::{BlobError, BlobStore};
pub use branches::{BranchComparison, BranchMessage, FileDelta, SessionBranch};
pub use change::{
    FileChangeEntry, FileChangeSource, FileKind, FileVersion, RejectedChanges, RewindEntry,
    RewindPart, RewindScope, UntrackedChanges, UntrackedFile, UntrackedReason,
    UnwatchedFolderReason, plain_mode,
};
pub use choices::{FavouriteModels, LastModel, LastModels, SessionGrouping};
pub use compaction::{
    AppliedCompaction, COMPACTION_CONTEXT, CollapsedMessages, CompactionEntry, CompactionNote,
    CompactionTokens, CutCalls, CutResults, KeptContext, NEXT_MESSAGE, error_of_stub, holds_cut,
    is_cut_call, is_cut_output, is_cut_result, is_result_stub, last_compaction, users_own,
};
pub use context_edit::{
    ContextAction, ContextEditEntry, ContextEdits, ContextItem, ContextPart, FOLDED_CONTEXT,
    SHELL_CONTEXT, folded_result, is_shell, is_thinking,
};
pub use drafts::{DraftError, DraftStore, SessionDraft};
pub use entry::{
    LogEntry, LogRecord, MessageEntry, ModelFailure, PermissionEntry, SessionHeader,
    ToolResultInfo, TurnEnd, TurnOutcome,
};
pub use export::{
    ExportError, ExportForm, ExportedFile, ExportedText, RedactedRecords, RewoundRecords,
    SecretHandling, StoreExportError, export, redact,
};
pub use file_versions::SessionFileVersions;
pub use filter::{SessionAttributes, SessionListFilter, date};
pub use folds::{KindFolds, PaneName, SessionFolds};
pub use gc::{GcMode, GcOptions, GcReport, PackReport, ReclaimedSpace, StoreSize};
pub use history::{HistoryPage, PromptHistoryFile, SentPrompt};
pub use import::{
    ImageFitter, ImportError, ImportMode, ImportSourceKind, ImportedFile, ImportedSession,
};
pub use lock::LockHolder;
pub use log::{LogError, LogHandle};
pub use log_reader::{LoadedLog, LogNotice, LogTail, NEWEST_RECORDS, load};
pub use meta::{LastSharedMessage, SessionMeta, name_forks};
pub use replay::{CountedRequest, ReplayedConversation};
pub use search::{
    MOST_PLACES, SearchHitSource, SearchText, SessionSearchHit, SessionSearchResult, without_copies,
};
pub use spending::{ModelSpending, SessionSpending, SpendingBySource, SpendingSum};
pub use spool::{SpoolReader, SpoolWriter};
pub use store::{SessionListing, SessionStore, StoreError};
pub use title::{note_title, title_after, title_in_force, title_of_answer, title_of_message};
pub use turn_changes::{ChangedLines, TurnChangeTally, TurnChanges};
pub use unanswered::{ends_in_command, ends_unanswered};

#[cfg(test)]
mod samples;
