//! Rewinds: which records of a session are in force, and what a rewind does to the files.
//!
//! Pure. The log is only appended to: a `rewind` entry names the message that the user went back
//! before. Replays leave out the records that it took back, until another rewind takes it back in
//! turn (a redo). Files are restored from their own changes: starting from what is at a path now,
//! the changes are reverted one by one, the last one first. Where the user has changed a file
//! since, their lines stay: both versions are merged, or the file is left as it is, unless the user
//! asks to restore it all the same. A review takes back single changes of a file in the same way.

mod merge;
mod plan;
mod review;
mod rewinds;

pub use plan::{
    Alternative, CurrentFileState, FileAction, FilePlace, FileSystemView, FilesPlan, PlannedFile,
    PlannedRestore, SkipReason, plan_redo, plan_undo,
};
pub use review::{
    FileRejection, ReviewFiles, ReviewedChange, ReviewedContent, ReviewedFile, plan_call_undo,
    plan_rejection, plan_review,
};
pub use rewinds::{RewindHistory, RewindMark, marks, points};

#[cfg(test)]
mod tests;
