//! Front end: the full screen, and `linear`, which gives the same conversation as plain lines.
//! `runtime` feeds messages to `app::update`, `executor` carries out its effects, `view` draws the
//! model from laid-out lines.

pub mod app;
pub mod branch_page;
pub mod dialogs;
pub mod executor;
pub mod exit_transcript;
pub mod input;
pub mod layout;
pub mod linear;
pub mod links;
pub mod picture_cells;
pub mod replay;
pub mod runtime;
pub mod theme;
pub mod view;

#[cfg(test)]
mod test_screen;
#[cfg(test)]
mod tests;
