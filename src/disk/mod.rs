//! Reads files that slug did not make, and never blocks on one.
//!
//! A FIFO or a device in the place of a file would block slug for ever, and a check of the path
//! before it is opened leaves a moment in which the file can be exchanged. So a file is opened
//! without blocking, and the open file is checked before anything is read. Ignore files are read in
//! the same way, for all walks through a folder. Which folder is the project's, and whether a repository
//! has hooks, submodules or something left to run, is said here, too, and temporary folders are made.

mod git_hooks;
mod git_left;
mod git_modules;
mod ignore_files;
mod private_folder;
mod project_top;
mod regular;
mod user_owned;

pub use git_hooks::has_git_hooks;
pub use git_left::git_left_to_run;
pub use git_modules::git_modules;
pub use ignore_files::{IgnoreFiles, ignore_rules};
pub use private_folder::{private_folder, private_folder_in};
pub use project_top::project_top;
pub use regular::{FileTextError, open_regular, read_regular, read_text};
pub use user_owned::{UserOwnedText, UserOwnedTextError, read_user_owned};
