//! A replay as plain text: what slug says line by line, with the time at which it was said.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::tui::app::conversation::status::clock;
use crate::tui::linear::LinearReader;

use super::frames::{FrameFlow, ReplayFrame};

/// The most bytes of a text.
const MOST_BYTES: usize = 64 << 20;

/// Collects what is said in a replay.
#[derive(Debug, Default)]
pub struct TextRecorder {
    reader: LinearReader,
    text: String,
}

impl TextRecorder {
    /// Adds what a frame says for the first time. Breaks where the text has reached its size.
    pub fn frame(&mut self, frame: &ReplayFrame<'_>) -> FrameFlow {
        let lines = self.reader.new_lines(frame.model);
        self.say(frame.at, &lines);
        if self.text.len() > MOST_BYTES {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// The whole text.
    pub fn finish(self) -> String {
        self.text
    }

    /// The time stands before the first line of what is said at once.
    fn say(&mut self, at: Duration, lines: &[String]) {
        let mut time = clock(at);
        for line in lines {
            let row = format!("{time:>7}  {line}");
            self.text.push_str(row.trim_end());
            self.text.push('\n');
            time.clear();
        }
    }
}
