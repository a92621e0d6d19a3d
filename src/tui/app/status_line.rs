//! The user's status command, whose first line of output is shown in the first line of the screen:
//! when it runs, its input and its output.
//!
//! It runs only when its input has changed, at most once a second, and one at a time. The input has
//! no time of day, because that always changes. A failure is reported once; the last output stays
//! on screen.

pub mod command;

use std::time::Duration;

use super::request_id::RequestId;

/// The least time between two runs.
const REST: Duration = Duration::from_secs(1);

/// The state of the status command.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StatusLine {
    /// The first line of its last output, with colours.
    pub text: Option<String>,
    /// The input of the last run.
    last_input: Option<String>,
    /// Whether the input has changed since the last run.
    fresh: StatusLineFreshness,
    /// The earliest time of the next run.
    next: Duration,
    under_way: Option<RequestId>,
    health: StatusLineHealth,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum StatusLineFreshness {
    /// The last run had the present input.
    #[default]
    Current,
    /// The command has to run again.
    Stale,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum StatusLineHealth {
    #[default]
    Well,
    Failed,
}

impl StatusLine {
    /// When the command is due; `None` if its input has not changed or it runs.
    pub fn wake_at(&self) -> Option<Duration> {
        (self.fresh == StatusLineFreshness::Stale && self.under_way.is_none()).then_some(self.next)
    }
}
