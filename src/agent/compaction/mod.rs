//! Compaction: keeping what is sent within the model's context window.
//!
//! Before each request its size is estimated (`estimate`). Above 80% of what the window has room for,
//! `plan` decides what is no longer sent, in stages: older tool results become stubs, long runs of looking
//! around become a note each, and then a summary takes the place of all but the user's own messages and the
//! last rounds. `summary` asks the model for it, with as much of the conversation as `summary_history`
//! finds room for, `summary_text` knows what is one, `note` writes what the model then reads, `report` says
//! what the user reads, and `user_compaction` does what the user asks for. The turn's part in all of
//! this is `turn_runner::compacting`. What a compaction does to the conversation is in
//! `session::compaction`, since a log has to be read the same way each time.

pub(super) mod estimate;
pub(super) mod limits;
pub(super) mod note;
pub(super) mod plan;
pub(super) mod report;
pub(super) mod summary;
pub(super) mod summary_history;
pub(super) mod summary_text;
pub(super) mod user_compaction;
