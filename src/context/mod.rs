//! What slug tells the model besides the conversation: its own prompt, instruction files, and
//! short notes on date, folder and git.
//!
//! All of it is byte-stable, so that the servers' prompt caches work: the prompt is fixed, the same
//! instruction files give the same bytes, and a note is sent again only when its text differs from
//! the newest one in the conversation.

mod environment;
mod files;
mod git;
mod head;
mod instructions;
mod prompt;
mod provider;
mod report;
mod static_notes;

pub use environment::EnvironmentNote;
pub use files::FileStructure;
pub use git::{GitChangeCounts, GitExecutable, GitStatus};
pub use head::{GitHead, git_head, repository_root};
pub use instructions::{
    InstructionFile, InstructionGroup, InstructionLevel, InstructionReport, InstructionRow,
    InstructionScope, InstructionState, LoadedInstructions, MAX_CHARACTERS, NestedInstructions,
    RememberError, RememberLevel, RememberPlace, UnreadInstructionFile, nested_instruction_files,
    project_folders, remembered_line, with_line,
};
pub use prompt::{FIXED_PROMPT, own_prompt, system_prompt};
pub use provider::{
    ContextProvider, ContextProviderSetup, collect, escape_context_tags, escape_tags, providers,
};
pub use report::PromptReport;
pub use static_notes::StaticText;
