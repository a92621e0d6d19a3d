//! What the screen asks of the store beside the list of sessions. `tui::page_jobs` does it, off
//! the UI task.

use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::{ContentHash, NoticeLevel, SessionId};
use crate::session::{KindFolds, LogEntry, LogRecord, SessionFolds, StoreSize};

use super::changes::{self, ChangedFile, Net};
use super::effect::{Effect, RequestId};
use super::folds;
use super::model::Model;
use super::pager;
use super::pager::document::Document;

/// Something to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageJob {
    /// How panes were folded when the session was open last.
    Folds {
        /// The session.
        session: SessionId,
        /// The one it was forked from.
        parent: Option<SessionId>,
    },
    /// The whole of an output.
    Kept {
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
pub enum PageAnswer {
    /// How panes are folded.
    Folds {
        /// Those of the session.
        session: SessionFolds,
        /// All of a kind.
        kinds: KindFolds,
    },
    /// The whole of an output.
    Kept(Arc<Document>),
    /// What became of files.
    Changes(Arc<Vec<Net>>),
    /// How large the store is.
    StoreSize(StoreSize),
}

/// Takes an answer in.
pub fn answered(
    model: &mut Model,
    id: RequestId,
    answer: Result<PageAnswer, String>,
) -> Vec<Effect> {
    match answer {
        Ok(PageAnswer::Folds { session, kinds }) => {
            if model.requests.folds.take_if(|asked| *asked == id).is_some() {
                model.transcript.restore_folds(&session, kinds);
                let is_kept = model.transcript.session_folds() == session;
                return folds::keep_session(model).into_iter().filter(|_| !is_kept).collect();
            }
        }
        Ok(PageAnswer::Kept(document)) => return pager::kept(model, id, Some(&document)),
        Ok(PageAnswer::StoreSize(size)) => model.status.store = Some(size),
        Ok(PageAnswer::Changes(files)) => changes::answered(model, id, Some(files)),
        Err(reason) => {
            model.requests.folds.take_if(|asked| *asked == id);
            pager::kept(model, id, None);
            changes::answered(model, id, None);
            model.toast(NoticeLevel::Error, reason);
        }
    }
    Vec::new()
}

/// Asks how large the store is.
pub fn ask_for_size(model: &mut Model) -> Effect {
    Effect::Pages { id: model.requests.issue(), job: PageJob::StoreSize }
}

/// Asks how the panes of the session that was just opened were folded.
pub fn ask_for_folds(model: &mut Model, session: SessionId, parent: Option<SessionId>) -> Effect {
    let id = model.requests.issue();
    model.requests.folds = Some(id);
    Effect::Pages { id, job: PageJob::Folds { session, parent } }
}

/// The session that the one with these records was forked from.
pub fn parent(records: &[LogRecord]) -> Option<SessionId> {
    let LogEntry::Session(header) = &records.first()?.entry else { return None };
    header.forked_from
}
