//! Going back in a session: what of it is in force, and what becomes of the files.
//!
//! Pure. The log is only appended to: a `rewind` says which message the person went back before, and
//! the folds leave out what it took back until another one brings it forth again. Files are a fold
//! over their own changes: what is at a path now is taken back change by change, from the last one
//! on. Where the person has changed a file since, their lines stay: both are merged, or the file is
//! left as it is, unless they say that it is to go back all the same.

mod merge;
mod plan;
mod rewinds;

pub use plan::{
    Alternative, CurrentFileState, FileAction, FilePlace, FileSystemView, FilesPlan, PlannedFile,
    PlannedRestore, SkipReason, plan_redo, plan_undo,
};
pub use rewinds::{RewindHistory, RewindMark, marks, points};

#[cfg(test)]
mod tests;
