//! What the settings service answers.

use std::time::Duration;

use crate::config::{SettingChange, SettingValue, StatusItems};

use super::conversation::composer::EditingMode;
use super::conversation::side_panel::SidePanelChoice;
use super::settings::{MotionPreference, ScreenSettings};
use super::wheel::WheelSettings;

/// All settings, after what was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingResponse {
    pub values: Vec<SettingValue>,
    /// The change that was written, if one was asked for.
    pub saved: Option<SavedSetting>,
}

/// What the write of a change came to.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedSetting {
    /// Brings the value from before back.
    pub undo: SettingChange,
    /// The user's file, as it is shown.
    pub file: String,
    pub live: LiveSettings,
}

/// The settings that take effect without a new start, as the configuration now has them.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveSettings {
    pub motion: MotionPreference,
    pub wheel: WheelSettings,
    pub notify_after: Duration,
    pub status_items: StatusItems,
    pub typing: EditingMode,
    pub panel: SidePanelChoice,
}

impl LiveSettings {
    /// Lets the setting with this key take effect. The others stay: what a command has changed for a
    /// while is not changed back.
    pub fn apply(self, key: &str, settings: &mut ScreenSettings) {
        match key {
            "ui.reduced_motion" => settings.motion = self.motion,
            "ui.wheel_rows" | "ui.wheel_events" => settings.wheel = self.wheel,
            "ui.notify_after" => settings.notify_after = self.notify_after,
            "ui.status" => settings.status_items = self.status_items,
            "ui.vi" => settings.typing = self.typing,
            "ui.panel" => settings.panel = self.panel,
            _ => {}
        }
    }
}
