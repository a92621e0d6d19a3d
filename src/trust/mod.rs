//! Which folders the user trusts, and with what content.
//!
//! Trust is for one exact real path with its device and inode. Folders below it are separate, and
//! the home folder and `/` are refused. Files that give the folder privileges (its settings, its
//! hooks and their scripts, and its configuration) are stored by SHA-256, and the user is asked
//! again when one changes or appears. Instruction files are part of the question, but they are only
//! text for the model and may change freely.
//!
//! Nothing here runs, interprets or follows anything in the folder: only the few files that slug
//! knows by name are read, and only regular ones.

mod diff;
pub mod git_config;
mod inventory;
mod store;

#[cfg(test)]
mod tests;

pub use diff::{TrustLineMark, TrustQuestionFile};
pub use inventory::{InventoryItem, InventoryItemKind, inventory};
pub use store::{TrustError, TrustQuestion, TrustStatus, TrustStore};
