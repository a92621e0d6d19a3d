//! The screen's state and how it changes. Pure: no clock, no I/O, no task. Time arrives as
//! [`Msg::Tick`], what is to happen leaves as [`Effect`]s, and one component a file has its
//! state and its update in one place; [`update`] only routes between them.

pub mod approval;
pub mod attention;
pub mod block;
pub mod caret;
pub mod changes;
mod commands;
pub mod complete;
pub mod composer;
pub mod diff_text;
pub mod editor;
pub mod effect;
mod events;
pub mod find;
pub mod folds;
pub mod geometry;
pub mod history;
pub mod images;
pub mod keymap;
mod keys;
pub mod lines;
pub mod looks;
pub mod model;
pub mod mouse;
pub mod moving;
pub mod msg;
pub mod older;
pub mod overlay;
pub mod pager;
pub mod pages;
pub mod picker;
pub mod queue;
pub mod reach;
pub mod scroll;
pub mod search;
pub mod select;
pub mod sessions;
pub mod sidebar;
pub mod softwrap;
pub mod source;
pub mod status;
pub mod status_line;
pub mod title;
pub mod transcript;
pub mod turn;
mod update;
pub mod vi;
pub mod wheel;

pub use commands::something_runs;
pub use effect::Effect;
pub use keys::contexts;
pub use model::Model;
pub use msg::Msg;
pub use update::{due_at, update, wake_at};
