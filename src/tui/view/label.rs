//! The label of the terminal's window: its title, and the progress of the work.

use crate::platform::terminal_notifier::TerminalProgress;
use crate::tui::app::ScreenModel;
use crate::tui::app::conversation::turn::{RunningTurnPhase, TurnActivity};

/// What the terminal is told outside of the frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalLabel {
    /// The window's title.
    pub title: String,
    pub progress: TerminalProgress,
    /// Changes every `AGAIN` seconds of progress, so that it is sent again: terminals drop a
    /// progress state that was not repeated for a while.
    repeat_count: u128,
}

/// Seconds after which progress is sent again.
const AGAIN: u128 = 10;

/// The label for this state of the screen.
pub fn label(model: &ScreenModel) -> TerminalLabel {
    let what =
        model.conversation.status.title.as_deref().unwrap_or(&model.conversation.status.project);
    let waits = model.has_question();
    let mark = match (waits, model.conversation.turn.is_idle()) {
        (true, _) => "? ",
        (false, false) => "● ",
        (false, true) => "",
    };
    let title =
        if what.is_empty() { format!("{mark}slug") } else { format!("{mark}slug · {what}") };
    let progress = match &model.conversation.turn {
        _ if waits => TerminalProgress::Waiting,
        TurnActivity::Idle => TerminalProgress::None,
        TurnActivity::Starting { .. } => TerminalProgress::Busy,
        TurnActivity::Running(running) => match &running.phase {
            RunningTurnPhase::Prefill(read) if read.total > 0 => TerminalProgress::Percent(
                u8::try_from(read.processed * 100 / read.total).unwrap_or(100),
            ),
            RunningTurnPhase::Prefill(_)
            | RunningTurnPhase::Waiting
            | RunningTurnPhase::Compacting(_)
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
            u128::from(model.shared.now.as_secs()) / AGAIN
        }
    };
    TerminalLabel { title, progress, repeat_count: beat }
}
