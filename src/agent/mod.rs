//! The agent: takes [`Command`]s, tells [`Event`]s, and knows nothing of any screen.

mod command;
mod event;
mod normalise;
mod response;
mod turn;

pub use command::{Command, SteerId};
pub use event::{Event, ModelChoice, NoticeLevel};
