//! What lies over the chat: questions, lists and pages, a stack of which the topmost gets the keys.
//!
//! Each dialog has a folder with its state, keys, view and the lines that a front end without a screen
//! prints of it. To add one takes its folder and a line in `open_dialog`.

pub mod agents;
pub mod approval;
pub mod changes;
pub mod connect;
pub mod context;
pub mod dialog;
pub mod geometry;
pub mod hooks;
pub mod jobs;
pub mod key_sheet;
pub mod line;
pub mod linear_page;
pub mod lsp;
pub mod mcp;
pub mod memory;
pub mod open_dialog;
pub mod page_head;
pub mod page_rows;
pub mod pager;
pub mod picker;
pub mod prompt_arguments;
mod question_keys;
pub mod questions;
pub mod race;
pub mod reading;
pub mod remember;
pub mod review;
pub mod rewind;
pub mod rules;
pub mod settings;
pub mod stack;
pub mod startup;
pub mod turn_review;

pub use dialog::{Dialog, DialogCanvas, DialogContext, DialogOpening, DialogView, EarlyKey};
pub use open_dialog::OpenDialog;
pub use stack::DialogStack;
