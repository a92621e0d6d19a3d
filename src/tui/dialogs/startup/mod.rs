//! The question that may come before the chat: whether a folder is trusted. Like the first run
//! (`dialogs::connect`) it is a dialog over a screen that shows nothing else, with slug's default keys:
//! the user's own are not read before the answer.
//!
//! It gives its answer by one effect, after which the caller of the screen acts on it.

pub mod frame;
pub mod trust;

pub use trust::TrustDialog;

#[cfg(test)]
pub mod samples;
