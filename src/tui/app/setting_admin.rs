//! What the screen asks of the settings service. The answer is a
//! [`SettingResponse`](crate::tui::app::setting_response::SettingResponse).

use crate::config::{SettingChange, SettingTiming};

/// A request to the settings service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingRequest {
    List,
    /// Write a setting into the user's file, and list all settings.
    Change(SettingChange),
}

/// When a change takes effect, as the end of a sentence about it.
pub fn timing_words(timing: SettingTiming) -> &'static str {
    match timing {
        SettingTiming::Now => "takes effect at once",
        SettingTiming::NextStart => "takes effect at the next start",
    }
}
