//! Queries of the screen to the store, other than those for the list of sessions. `tui::page_jobs`
//! carries them out off the UI task.

use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::{ContentHash, SessionId};
use crate::session::{KindFolds, SessionFolds, StoreSize};

use crate::tui::app::session_changes::{ChangedFile, NetFileChange};
use crate::tui::dialogs::pager::document::PagerDocument;

/// A query that is answered with a [`StoreQueryResult`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreQuery {
    /// The folds of a session's panes, as they were saved.
    Folds {
        session: SessionId,
        /// The session that this one was forked from, if any.
        parent: Option<SessionId>,
    },
    /// The full output of a call.
    FullOutput {
        /// The id for the [`PagerDocument`].
        document: u64,
        hash: ContentHash,
    },
    /// The net changes of files over the session.
    Changes { files: Vec<ChangedFile>, cwd: PathBuf },
    /// The size of the store on disk.
    StoreSize,
}

/// The answer to a [`StoreQuery`].
#[derive(Debug, Clone, PartialEq)]
pub enum StoreQueryResult {
    /// The saved folds.
    Folds {
        /// The fold of all its panes, and those of single ones.
        session: SessionFolds,
        /// The folds of whole kinds of panes.
        kinds: KindFolds,
    },
    /// The full output of a call.
    FullOutput(Arc<PagerDocument>),
    /// The net changes of files.
    Changes(Arc<Vec<NetFileChange>>),
    /// The size of the store on disk.
    StoreSize(StoreSize),
}
