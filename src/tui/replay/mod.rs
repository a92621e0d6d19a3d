//! Plays a past session as it happened, from its log alone: on the full screen, or as a file to
//! pass on.
//!
//! A replay changes nothing and asks nobody. It has no agent, no tools and no executor: what the
//! log says becomes the same events that an agent would have sent, the screen's own `update` takes
//! them, and the effects that come back are dropped. So nothing runs, nothing is sent, and the log
//! is only read.
//!
//! `timeline` says when each record is shown, `steps` what it is shown as, `player` plays them, and
//! `frames` draws them for the files: `asciicast` (in `runtime`, by the real backend), `svg`, `html`
//! and, read out as lines, `text`.

pub mod bar;
pub mod cell_markup;
pub mod frames;
pub mod html;
pub mod player;
mod steps;
pub mod svg;
pub mod text;
pub mod timeline;

#[cfg(test)]
mod tests;

pub use frames::{ReplayCut, ReplayRecorder};
pub use player::{ReplayPlayer, ReplaySetup};
pub use steps::ReplayChange;
pub use timeline::{ReplayPace, ReplayTimeline};
