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
    Act, FilePlace, FilesPlan, Instead, Left, PlannedFile, Put, Seen, World, again, back,
};
pub use rewinds::{Mark, Rewinds, marks, points};

#[cfg(test)]
mod tests;
