//! Sessions on disk: an append-only log each, and what can be told from it.
//!
//! The log is the truth. Everything else here, the meta file, the list, the conversation that the
//! provider gets, is a fold over it and can be made again.

mod entry;

pub use entry::{
    Compaction, Entry, FileChanged, MessageEntry, PermissionEntry, Record, ResultInfo,
    SessionHeader, TurnEnd, TurnOutcome,
};
