//! The screen's state and how it changes. Pure: no clock, no I/O, no tasks. Time arrives as
//! [`ScreenMsg::Tick`], and requests to the outside leave as [`ScreenEffect`]s. Most
//! components have their state and their update in one file, between which [`update`] routes; those
//! of one conversation are in `conversation`. `agent_events` takes what an agent says.

pub mod agent_events;
mod approval_events;
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
pub mod path_ranking;
pub mod picker_list;
mod picker_rank;
pub mod pictures;
pub mod prompt_files;
pub mod race;
pub mod request_id;
mod saved_rules;
pub mod server_offers;
pub mod setting_admin;
pub mod setting_response;
pub mod settings;
pub mod shared;
pub mod sidebar;
pub mod softwrap;
pub mod started_agent;
pub mod started_agents;
pub mod startup;
pub mod status_line;
pub mod store_queries;
pub mod store_requests;
pub mod text_query;
pub mod theme_state;
pub mod themes;
pub mod tour;
pub mod tour_progress;
mod update;
pub mod vi;
pub mod waiting_question;
pub mod wheel;

pub use conversation::sending::is_busy;
pub use effect::ScreenEffect;
pub use keys::{is_text_below_question, place};
pub use model::ScreenModel;
pub use msg::{JobControl, ScreenMsg};
pub use update::{due_at, idle_wanted_at, update, wake_at};
