//! What slug tells the model besides the conversation: its own prompt, instruction files, and
//! short notes on date, folder and git.
//!
//! All of it is kept byte-stable, so that the servers' prefix caches hit: the prompt is fixed, the
//! same instruction files give the same bytes, and a note is sent again only when its text has
//! changed since the conversation last held it.

mod files;
mod git;
mod head;
mod instructions;
mod invisible;
mod places;
mod prompt;
mod provider;
mod report;

pub use files::FileStructure;
pub use git::{Changes, Git, GitStatus};
pub use head::{Head, git_head, repository_root};
pub use instructions::{
    InstructionFile, Instructions, MAX_CHARACTERS, instructions, project_folders,
};
pub use invisible::{Visible, strip_invisible};
pub use places::{Environment, StaticText};
pub use prompt::{FIXED_PROMPT, system_prompt};
pub use provider::{ContextProvider, Setup, collect, harmless, providers};
pub use report::PromptReport;
