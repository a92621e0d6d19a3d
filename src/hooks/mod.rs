//! Lifecycle hooks: commands and texts of the person's, or of a project that they trust, at set
//! moments of a session.
//!
//! [`read`] turns a settings file into [`Hook`]s, in whichever of both forms it is written.
//! [`HookSet`] is what a run has of them: it starts those that fit a [`HookPayload`] side by side, turns
//! how each ended into a [`HookVerdict`] and those into one [`MergedHookVerdict`]. What a verdict means for a call
//! or a turn is decided by `agent`; how a command runs is behind [`HookRunner`].
//!
//! A hook that stands guard ([`HookEvent::is_guard`]) and cannot be read or run, or says what
//! cannot be understood, blocks. Hooks are read when a run begins and looked at again with each of the
//! person's messages: their own hold as they are then, a project's as they were trusted, until the
//! person says yes to what is new, in `/hooks` or at the next start.

mod event;
mod filter;
mod hook;
mod hook_files;
mod merge;
mod payload;
mod read;
mod run;
mod scripts;
mod verdict;

#[cfg(test)]
mod tests;

/// Variables in which a hook's command finds the working folder: slug's own name for it, and the
/// one that hooks written for other agents use.
pub const PROJECT_FOLDER_VARIABLES: [&str; 2] = ["SLUG_PROJECT_DIR", "CLAUDE_PROJECT_DIR"];

/// A variable that every hook's command has: a slug that is started with it runs no hooks, so that
/// no hook starts itself.
pub const IN_HOOK: &str = "SLUG_IN_HOOK";

pub use event::HookEvent;
pub use filter::HookFilter;
pub use hook::{Hook, HookAction, HookForm, HookId, HookOrigin};
pub use hook_files::{HookFiles, HookSwitchError};
pub use merge::{HookMessage, MergedHookDecision, MergedHookVerdict};
pub use payload::{HookContext, HookPayload, HookToolCall};
pub use read::{HookWarning, read};
pub use run::{
    HookCommand, HookCommandResult, HookConfinement, HookExit, HookFileChange, HookFileVersion,
    HookRow, HookRunner, HookSet, HookTrial,
};
pub use scripts::{HookScript, scripts, unresolved_program};
pub use verdict::{HookDecision, HookVerdict, verdict};
