//! The screen's state and how it changes. Pure: no clock, no I/O, no tasks. Time arrives as
//! [`ScreenMsg::Tick`], and requests to the outside leave as [`ScreenEffect`]s. Each component has
//! its state and its update in one file; [`update`] only routes between them.

pub mod attention;
pub mod chat_keys;
pub mod choice;
mod commands;
pub mod conversation;
pub mod dialog_reply;
pub mod diff_text;
pub mod editor;
pub mod effect;
pub mod focus;
pub mod geometry;
pub mod guard;
pub mod held_keys;
pub mod intent;
pub mod keymap;
mod keys;
pub mod line_input;
pub mod model;
pub mod mouse;
pub mod msg;
pub mod page_position;
pub mod picker_list;
mod picker_rank;
pub mod request_id;
pub mod saved_rules;
pub mod screen_status;
pub mod setting_admin;
pub mod setting_response;
pub mod settings;
pub mod shared;
pub mod sidebar;
pub mod softwrap;
pub mod startup;
pub mod status_line;
pub mod store_queries;
pub mod store_requests;
pub mod text_query;
pub mod theme_state;
pub mod themes;
pub mod tour;
mod update;
pub mod vi;
pub mod waiting_question;
pub mod wheel;

pub use conversation::sending::is_busy;
pub use effect::ScreenEffect;
pub use keys::place;
pub use model::ScreenModel;
pub use msg::{JobControl, ScreenMsg};
pub use update::{due_at, idle_wanted_at, update, wake_at};
