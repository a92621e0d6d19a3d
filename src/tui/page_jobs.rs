//! What the pages over the chat, and the panes in it, ask of the store. These functions read and
//! write files and return when that is done: they are for a thread that may block.

use std::path::Path;

use crate::session::{KindFolds, Store};

use super::app::pages::{PageAnswer, PageJob};

/// Does a job; what goes wrong is a sentence for the person. `folds` is the file of the kinds.
pub fn run(store: &Store, folds: &Path, job: &PageJob) -> Result<PageAnswer, String> {
    match job {
        PageJob::Folds { session, parent } => Ok(PageAnswer::Folds {
            session: store.folds(*session, *parent),
            kinds: KindFolds::load(folds),
        }),
    }
}
