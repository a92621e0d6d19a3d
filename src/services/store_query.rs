//! Queries to the session store, other than those for the list of sessions; `store_query_service`
//! carries them out.

use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::{ContentHash, SessionId};
use crate::session::{KindFolds, SessionFolds, StoreSize};

use super::explanation::ExplainedPart;
use super::session_changes::{ChangedFile, NetFileChange};
use super::text_document::TextDocument;

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
        /// The id for the [`TextDocument`].
        document: u64,
        hash: ContentHash,
    },
    /// What the log says about a part of the conversation.
    Explanation {
        /// The id for the [`TextDocument`].
        document: u64,
        session: SessionId,
        part: ExplainedPart,
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
    /// The full output of a call, or an explanation.
    Document(Arc<TextDocument>),
    /// The net changes of files.
    Changes(Arc<Vec<NetFileChange>>),
    /// The size of the store on disk.
    StoreSize(StoreSize),
}
