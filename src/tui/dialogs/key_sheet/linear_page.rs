//! The help of a front end without keys: the commands, and how lines are sent.

use crate::commands::{CommandDescriptor, CommandRegistry};
use crate::tui::dialogs::linear_page::{LabelledLine, LineLabel, LinearPage};

/// The page in full.
pub(super) fn linear_page(commands: &CommandRegistry) -> LinearPage {
    LinearPage { key: "help".to_owned(), lines: help(commands) }
}

fn help(commands: &CommandRegistry) -> Vec<LabelledLine> {
    let mut out = vec![LabelledLine::new(LineLabel::Note, "Commands:")];
    let row = |it: &CommandDescriptor| {
        LabelledLine::new(LineLabel::Continuation, format!("/{}: {}", it.name, it.summary))
    };
    out.extend(commands.all().map(row));
    out.extend(
        [
            "Each line is sent as typed; end it with a backslash to continue on the next.",
            "A line that starts with ! runs a shell command.",
            "While a turn runs, lines are queued.",
            "ctrl+c stops the turn; twice while nothing runs, it quits. ctrl+d does the same.",
        ]
        .map(|text| LabelledLine::new(LineLabel::Continuation, text)),
    );
    out
}
