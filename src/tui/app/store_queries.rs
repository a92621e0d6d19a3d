//! What the screen asks of the store beside the list of sessions. `tui::page_jobs` does it, off
//! the UI task.

use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::{ContentHash, NoticeLevel, SessionId};
use crate::session::{KindFolds, LogEntry, LogRecord, SessionFolds, StoreSize};

use super::changes::{self, ChangedFile, NetFileChange};
use super::effect::{RequestId, ScreenEffect};
use super::folds;
use super::model::ScreenModel;
use super::pager;
use super::pager::document::PagerDocument;

/// Something to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreQuery {
    /// How panes were folded when the session was open last.
    Folds {
        /// The session.
        session: SessionId,
        /// The one it was forked from.
        parent: Option<SessionId>,
    },
    /// The whole of an output.
    FullOutput {
        /// The id that the document gets.
        document: u64,
        /// Which.
        hash: ContentHash,
    },
    /// What became of files over the session.
    Changes {
        /// The files.
        files: Vec<ChangedFile>,
        /// The working folder.
        cwd: PathBuf,
    },
    /// How large the store is.
    StoreSize,
}

/// What was read.
#[derive(Debug, Clone, PartialEq)]
pub enum StoreQueryResult {
    /// How panes are folded.
    Folds {
        /// Those of the session.
        session: SessionFolds,
        /// All of a kind.
        kinds: KindFolds,
    },
    /// The whole of an output.
    FullOutput(Arc<PagerDocument>),
    /// What became of files.
    Changes(Arc<Vec<NetFileChange>>),
    /// How large the store is.
    StoreSize(StoreSize),
}

/// Takes an answer in.
pub fn answered(
    model: &mut ScreenModel,
    id: RequestId,
    answer: Result<StoreQueryResult, String>,
) -> Vec<ScreenEffect> {
    match answer {
        Ok(StoreQueryResult::Folds { session, kinds }) => {
            if model.requests.folds.take_if(|asked| *asked == id).is_some() {
                model.transcript.restore_folds(&session, kinds);
                let is_kept = model.transcript.session_folds() == session;
                return folds::keep_session(model).into_iter().filter(|_| !is_kept).collect();
            }
        }
        Ok(StoreQueryResult::FullOutput(document)) => {
            return pager::on_full_output(model, id, Some(&document));
        }
        Ok(StoreQueryResult::StoreSize(size)) => model.status.store = Some(size),
        Ok(StoreQueryResult::Changes(files)) => changes::answered(model, id, Some(files)),
        Err(reason) => {
            model.requests.folds.take_if(|asked| *asked == id);
            pager::on_full_output(model, id, None);
            changes::answered(model, id, None);
            model.toast(NoticeLevel::Error, reason);
        }
    }
    Vec::new()
}

/// Asks how large the store is.
pub fn ask_for_size(model: &mut ScreenModel) -> ScreenEffect {
    ScreenEffect::QueryStore { id: model.requests.issue(), job: StoreQuery::StoreSize }
}

/// Asks how the panes of the session that was just opened were folded.
pub fn ask_for_folds(
    model: &mut ScreenModel,
    session: SessionId,
    parent: Option<SessionId>,
) -> ScreenEffect {
    let id = model.requests.issue();
    model.requests.folds = Some(id);
    ScreenEffect::QueryStore { id, job: StoreQuery::Folds { session, parent } }
}

/// The session that the one with these records was forked from.
pub fn parent(records: &[LogRecord]) -> Option<SessionId> {
    let LogEntry::Session(header) = &records.first()?.entry else { return None };
    header.forked_from
}
