//! Lifecycle hooks: commands and prompt texts that run on set events of a session, written by the
//! user or by a project that the user trusts.
//!
//! [`read`] turns a settings file into [`Hook`]s, in either of the two forms in which hooks are
//! written. [`HookSet`] holds the hooks of a run: it starts those that match a [`HookPayload`] side
//! by side, turns each end of a command into a [`HookVerdict`], and merges the verdicts into one
//! [`MergedHookVerdict`]. What a verdict means for a call or a turn is decided by `agent`; how a
//! command runs is behind [`HookRunner`].
//!
//! A hook on a guard event ([`HookEvent::is_guard`]) blocks when it cannot be read or run, or when
//! its output cannot be understood. Hooks are read when a run begins and checked again with each
//! message of the user. The user's own hooks hold as they are then; a project's hold as the user
//! trusted them, until the user accepts what is new, in `/hooks` or at the next start.

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

/// Variables in which a hook's command finds the working folder: slug's own name, and the name that
/// hooks written for other agents use.
pub const PROJECT_FOLDER_VARIABLES: [&str; 2] = ["SLUG_PROJECT_DIR", "CLAUDE_PROJECT_DIR"];

/// A variable that every hook's command has. A slug that is started with it runs no hooks, so that
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
pub use scripts::{HookScript, scripts, scripts_of_program, unresolved_program};
pub use verdict::{HookDecision, HookVerdict, verdict};
