//! The working folder, the user's configuration, and what the terminal can show. Only `/settings`
//! changes any of it while slug runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::commands::CommandRegistry;
use crate::config::StatusItems;
use crate::domain::SandboxSummary;
use crate::platform::graphics::GraphicsCanvas;

use super::conversation::composer::EditingMode;
use super::conversation::side_panel::SidePanelChoice;
use super::keymap::Keymap;
use super::wheel::WheelSettings;

/// What all conversations of a screen go by.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScreenSettings {
    /// The working folder.
    pub cwd: PathBuf,
    /// The user's home folder, shown as `~`.
    pub home: Option<PathBuf>,
    pub motion: MotionPreference,
    pub wheel: WheelSettings,
    pub keys: Arc<Keymap>,
    /// The slash commands that there are.
    pub commands: CommandRegistry,
    /// The end of a turn that took at least this long makes a notification.
    pub notify_after: Duration,
    /// The items of the first line.
    pub status_items: StatusItems,
    /// Whether the user configured a command for the first line.
    pub status_command: StatusCommandState,
    pub typing: EditingMode,
    /// Whether the panel beside the transcript is wanted.
    pub panel: SidePanelChoice,
    /// Seconds by which the user's local time is ahead of UTC.
    pub clock: i32,
    /// How pictures are drawn, and the id of the first one; `None` if the terminal shows no
    /// pictures.
    pub canvas: Option<(GraphicsCanvas, u32)>,
    /// The active sandbox.
    pub boundary: Option<SandboxSummary>,
    pub start: StartSettings,
    pub input: InputSource,
}

/// How the user's input comes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InputSource {
    /// Key by key, into an input that stays.
    #[default]
    Keys,
    /// Line by line: each line replaces what was in the input.
    Lines,
}

/// What the start screen says that does not depend on the session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StartSettings {
    /// slug's version; empty in tests, whose pictures outlive it.
    pub version: &'static str,
    /// The day, counted from any one: each has tips of its own.
    pub day: u32,
    pub mode: StartMode,
}

/// What the chat is opened for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StartMode {
    /// To work.
    #[default]
    Chat,
    /// To see slug at work; enter sends what is in the input already.
    Demo,
    /// The demo, with marks that say what to press.
    Tour,
}

/// Whether the user configured a command whose output the first line shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StatusCommandState {
    #[default]
    None,
    Given,
}

/// Whether the screen may animate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MotionPreference {
    /// The normal, small animations.
    #[default]
    Full,
    /// No animation; counters of seconds change every [`REDUCED_MOTION_SECONDS`].
    Reduced,
}

/// Seconds between two changes of a counter of seconds under [`MotionPreference::Reduced`].
pub const REDUCED_MOTION_SECONDS: u64 = 5;
