//! The questions that may come before the chat: whether a folder is trusted, and what the first run
//! starts with. They are dialogs over a screen that shows nothing else, with slug's default keys: the
//! user's own are not read before the answer.
//!
//! Each gives its answer by one effect, after which the caller of the screen acts on it.

pub mod first_run;
mod frame;
pub mod trust;

pub use first_run::FirstRunDialog;
pub use trust::TrustDialog;

#[cfg(test)]
mod samples;
