//! Queries of the screen to the store, other than those for the list of sessions. `tui::page_jobs`
//! carries them out off the UI task.

use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::{ContentHash, NoticeLevel, SessionId};
use crate::session::{KindFolds, LogEntry, LogRecord, SessionFolds, StoreSize};

use super::changes::{self, ChangedFile, NetFileChange};
use super::effect::ScreenEffect;
use super::folds;
use super::model::ScreenModel;
use super::pager;
use super::pager::document::PagerDocument;
use super::request::RequestId;

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

/// Routes an answer to the component that waits for it; a failure ends the waiting and is shown.
pub fn answered(
    model: &mut ScreenModel,
    id: RequestId,
    answer: Result<StoreQueryResult, String>,
) -> Vec<ScreenEffect> {
    match answer {
        Ok(StoreQueryResult::Folds { session, kinds }) => {
            if model.shared.requests.folds.take_if(|asked| *asked == id).is_some() {
                model.conversation.transcript.restore_folds(&session, kinds);
                let is_kept = model.conversation.transcript.session_folds() == session;
                return folds::keep_session(model).into_iter().filter(|_| !is_kept).collect();
            }
        }
        Ok(StoreQueryResult::FullOutput(document)) => {
            return pager::on_full_output(model, id, Some(&document));
        }
        Ok(StoreQueryResult::StoreSize(size)) => model.conversation.status.store = Some(size),
        Ok(StoreQueryResult::Changes(files)) => changes::answered(model, id, Some(files)),
        Err(reason) => {
            model.shared.requests.folds.take_if(|asked| *asked == id);
            pager::on_full_output(model, id, None);
            changes::answered(model, id, None);
            model.shared.toast(NoticeLevel::Error, reason);
        }
    }
    Vec::new()
}

/// Queries the size of the store.
pub fn ask_for_size(model: &mut ScreenModel) -> ScreenEffect {
    ScreenEffect::QueryStore { id: model.shared.requests.issue(), job: StoreQuery::StoreSize }
}

/// Queries the saved folds of the session that was just opened.
pub fn ask_for_folds(
    model: &mut ScreenModel,
    session: SessionId,
    parent: Option<SessionId>,
) -> ScreenEffect {
    let id = model.shared.requests.issue();
    model.shared.requests.folds = Some(id);
    ScreenEffect::QueryStore { id, job: StoreQuery::Folds { session, parent } }
}

/// The session that the one with these records was forked from; `None` if it is no fork.
pub fn parent(records: &[LogRecord]) -> Option<SessionId> {
    let LogEntry::Session(header) = &records.first()?.entry else { return None };
    header.forked_from
}
