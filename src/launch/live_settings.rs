//! The settings of the screen that can change while slug runs, from the configuration.

use std::time::Duration;

use crate::config::{ConfigOrigin, KeyPreset, ResolvedConfig};
use crate::platform::terminal_kind::TerminalInfo;
use crate::tui::app::conversation::composer::EditingMode;
use crate::tui::app::conversation::side_panel::SidePanelChoice;
use crate::tui::app::setting_response::LiveSettings;
use crate::tui::app::settings::MotionPreference;
use crate::tui::app::wheel::WheelSettings;

pub(super) fn live_settings(config: &ResolvedConfig) -> LiveSettings {
    LiveSettings {
        motion: if config.reduced_motion.value {
            MotionPreference::Reduced
        } else {
            MotionPreference::Full
        },
        wheel: wheel(config),
        notify_after: Duration::from_secs(config.notify_after.value.into()),
        status_items: config.status.value.clone(),
        typing: typing(config),
        panel: match config.panel.value {
            true => SidePanelChoice::Shown,
            false => SidePanelChoice::Hidden,
        },
    }
}

/// The editing mode. The key preset `vi` implies Vi's modes, unless `vi` is set.
fn typing(config: &ResolvedConfig) -> EditingMode {
    let by_preset = config.keys.value == KeyPreset::Vi && config.vi.origin == ConfigOrigin::Default;
    if config.vi.value || by_preset { EditingMode::Vi } else { EditingMode::Plain }
}

fn wheel(config: &ResolvedConfig) -> WheelSettings {
    let rows = u16::try_from(config.wheel_rows.value).unwrap_or(u16::MAX);
    let events = match &config.wheel_events {
        Some(events) => u16::try_from(events.value).unwrap_or(u16::MAX),
        None => TerminalInfo::from_environment().kind.wheel_events(),
    };
    WheelSettings { rows, events }
}
