//! Reads files that slug did not make, without ever waiting for one.
//!
//! A FIFO or a device in the place of a file would hold slug up for ever, and looking at the path
//! before it is opened leaves a moment in which it can be exchanged. So a file is opened without
//! blocking, and what was opened is looked at before anything is read. What git ignores is read in
//! the same way, for all walks through a folder.

mod ignore_files;
mod regular;
mod user_owned;

pub use ignore_files::IgnoreFiles;
pub use regular::{FileTextError, open_regular, read_regular, read_text};
pub use user_owned::{UserOwnedText, UserOwnedTextError, read_user_owned};
