//! Reads the screen's model out without anybody at the keyboard, as a replay does.

use crate::tui::app::ScreenModel;

use super::announcer::LinearAnnouncer;

/// Turns changes of a model into lines of text, each said once.
#[derive(Debug)]
pub struct LinearReader(LinearAnnouncer);

impl Default for LinearReader {
    fn default() -> Self {
        Self(LinearAnnouncer::of_replay())
    }
}

impl LinearReader {
    /// The lines for everything that is new since the last call, each behind its label.
    pub fn new_lines(&mut self, model: &ScreenModel) -> Vec<String> {
        let lines = self.0.take_announcements(model);
        lines.into_iter().map(|line| line.labelled()).collect()
    }
}
