//! Lifecycle hooks: commands and texts of the person's, or of a project that they trust, at set
//! moments of a session.
//!
//! [`read`] turns a settings file into [`Hook`]s, in whichever of both forms it is written.
//! [`Hooks`] is what a run has of them: it starts those that fit a [`Moment`] side by side, turns
//! how each ended into a [`Verdict`] and those into one [`Merged`]. What a verdict means for a call
//! or a turn is decided by `agent`; how a command runs is behind [`Runner`].
//!
//! A hook that stands guard ([`HookEvent::is_guard`]) and cannot be read or run, or says what
//! cannot be understood, blocks. Hooks are read when a run begins and looked at again with each of the
//! person's messages: their own hold as they are then, a project's as they were trusted, until the
//! person says yes to what is new, in `/hooks` or at the next start.

mod event;
mod filter;
mod hook;
mod merged;
mod moment;
mod read;
mod run;
mod scripts;
mod shelf;
mod verdict;

#[cfg(test)]
mod tests;

/// Variables in which a hook's command finds the working folder: slug's own name for it, and the
/// one that hooks written for other agents use.
pub const VARIABLES: [&str; 2] = ["SLUG_PROJECT_DIR", "CLAUDE_PROJECT_DIR"];

/// A variable that every hook's command has: a slug that is started with it runs no hooks, so that
/// no hook starts itself.
pub const IN_HOOK: &str = "SLUG_IN_HOOK";

pub use event::HookEvent;
pub use filter::Filter;
pub use hook::{Action, Form, Hook, HookId, Origin};
pub use merged::{Merged, Said, Word};
pub use moment::{Call, Moment, Scene};
pub use read::{Warning, read};
pub use run::{Changed, Confine, Ended, Holds, Hooks, Order, Ran, Row, Runner, Trial};
pub use scripts::{Script, scripts, untold_program};
pub use shelf::{HookFiles, SwitchError};
pub use verdict::{Told, Verdict, verdict};
