//! Front end: the full screen, and `linear`, which gives the same conversation as plain lines.
//! `runtime` feeds messages to `app::update`, `executor` carries out its effects, `view` draws the
//! model from laid-out lines.

pub mod app;
mod branch_page;
mod branch_text;
pub mod dialogs;
pub mod executor;
pub mod exit_transcript;
pub mod input;
pub mod layout;
pub mod linear;
pub mod links;
pub mod page_jobs;
pub mod picture_cells;
pub mod replay;
pub mod runtime;
pub mod server_address;
pub mod server_search;
pub mod session_jobs;
pub mod theme;
pub mod view;

#[cfg(test)]
mod test_screen;
#[cfg(test)]
mod tests;
