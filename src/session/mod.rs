//! Sessions on disk: an append-only log each, and what can be told from it.
//!
//! The log is the truth. Everything else here, the meta file, the list, the conversation that the
//! provider gets, is a fold over it and can be made again.

mod blobs;
mod branches;
mod change;
mod choices;
mod cold;
mod disk;
mod drafts;
mod entry;
mod export;
mod files;
mod filter;
mod fold;
mod folds;
mod fork;
mod history;
mod import;
mod index;
mod keep;
mod line;
mod lock;
mod log;
mod meta;
mod recover;
mod search;
mod spending;
mod store;
mod title;
pub mod undo;
mod unfinished;
mod writer;

pub use blobs::{BlobError, Blobs};
pub use branches::{Branch, Comparison, FileDelta, SaidThere};
pub use change::{
    ChangedBy, FileChanged, FileKind, Image, NotCovered, Rewind, Rewound, Uncovered, Unwatched,
    Why, plain_mode,
};
pub use choices::{Favourites, Grouping, LastModel, LastModels};
pub use drafts::{Draft, DraftError, Drafts};
pub use entry::{
    Compaction, Entry, MessageEntry, PermissionEntry, Record, ResultInfo, SessionHeader, TurnEnd,
    TurnOutcome,
};
pub use export::{
    ExportError, ExportForm, Exported, ExportedFile, Secrets, StoreExportError, export,
};
pub use filter::{Facts, Filter, date};
pub use fold::{CompactionStage, Conversation, compaction_for};
pub use folds::{KindFolds, PaneName, SessionFolds};
pub use history::{History, HistoryPage, Prompt};
pub use import::{FitImage, ImportError, Imported, ImportedFile, Importing, SourceKind};
pub use keep::{Freed, Keeping, Kept, Packed, Size, Will};
pub use lock::Holder;
pub use log::{LogError, LogHandle};
pub use meta::{Meta, Parted};
pub use recover::{Loaded, NEWEST, Notice, Tail, load};
pub use search::{Found, MOST_PLACES, Place, SearchText, Who, without_copies};
pub use spending::{BySource, ModelSpent, Spending, Spent};
pub use store::{Listing, Store, StoreError};

#[cfg(test)]
mod samples;
