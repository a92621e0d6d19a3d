//! Front end: the full screen. `runtime` feeds messages to `app::update`, `executor` carries out
//! its effects, `view` draws the model from laid-out lines.

pub mod app;
pub mod layout;
pub mod theme;
pub mod view;
