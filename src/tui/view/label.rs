//! What the terminal's window says of slug: its name, and how far the work is.

use crate::platform::terminal_notifier::TerminalProgress;
use crate::tui::app::ScreenModel;
use crate::tui::app::turn::{RunningTurnPhase, TurnActivity};

/// What is told beside the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalLabel {
    /// The window's name.
    pub title: String,
    /// How far the work is.
    pub progress: TerminalProgress,
    /// Progress is told again now and then, since terminals take it off that was long not told.
    repeat_count: u128,
}

/// How often progress is told again, in seconds.
const AGAIN: u128 = 10;

/// The label of this state.
pub fn label(model: &ScreenModel) -> TerminalLabel {
    let what = model.status.title.as_deref().unwrap_or(&model.status.project);
    let waits = model.has_question();
    let mark = match (waits, model.turn.is_idle()) {
        (true, _) => "? ",
        (false, false) => "● ",
        (false, true) => "",
    };
    let title =
        if what.is_empty() { format!("{mark}slug") } else { format!("{mark}slug · {what}") };
    let progress = match &model.turn {
        _ if waits => TerminalProgress::Waiting,
        TurnActivity::Idle => TerminalProgress::None,
        TurnActivity::Starting { .. } => TerminalProgress::Busy,
        TurnActivity::Running(running) => match &running.phase {
            RunningTurnPhase::Prefill(read) if read.total > 0 => TerminalProgress::Percent(
                u8::try_from(read.processed * 100 / read.total).unwrap_or(100),
            ),
            RunningTurnPhase::Prefill(_)
            | RunningTurnPhase::Waiting
            | RunningTurnPhase::Thinking
            | RunningTurnPhase::Answering
            | RunningTurnPhase::Calling(_)
            | RunningTurnPhase::Tool(_)
            | RunningTurnPhase::Retrying { .. }
            | RunningTurnPhase::RateLimited { .. }
            | RunningTurnPhase::Stopping => TerminalProgress::Busy,
        },
    };
    let beat = match progress {
        TerminalProgress::None => 0,
        TerminalProgress::Busy | TerminalProgress::Percent(_) | TerminalProgress::Waiting => {
            u128::from(model.now.as_secs()) / AGAIN
        }
    };
    TerminalLabel { title, progress, repeat_count: beat }
}
