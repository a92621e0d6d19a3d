//! Which folders the person said yes to, and with what content.
//!
//! A yes is for one exact real path with its device and inode; folders below it are folders of
//! their own, and the home folder and `/` are refused. What would give the folder powers (its
//! settings, hooks and their scripts, and configuration) is kept by SHA-256, and asked again when it changes or appears;
//! instruction files are part of the question, but are text for the model, and may change freely.
//!
//! Nothing here runs, interprets or follows anything of the folder: it reads the few files that
//! slug knows by name, and only regular ones.

mod diff;
mod inventory;
mod store;

#[cfg(test)]
mod tests;

pub use diff::{TrustLineMark, TrustQuestionFile};
pub use inventory::{InventoryItem, InventoryItemKind, inventory};
pub use store::{TrustError, TrustQuestion, TrustStatus, TrustStore};
