//! The page of agents, read out.

use crate::tui::dialogs::DialogView;
use crate::tui::dialogs::linear_page::{LabelledLine, LineLabel, LinearPage, line, lines};

use super::view;

/// A line for each agent.
pub(super) fn linear_page(around: DialogView<'_>) -> LinearPage {
    let started = &around.shared.started_agents;
    let mut out = Vec::new();
    if started.is_empty() {
        out.extend(lines(LineLabel::Note, view::NO_AGENTS));
    } else {
        out.push(LabelledLine::new(LineLabel::Note, format!("Agents: {}.", started.len())));
    }
    for it in started {
        let told = view::told(it, around.shared.shown_now());
        let text = format!("{}. {}: {told}", it.summary.agent, it.summary.name());
        out.push(LabelledLine::new(LineLabel::Continuation, line(&text)));
    }
    LinearPage { key: "agents".to_owned(), lines: out }
}
