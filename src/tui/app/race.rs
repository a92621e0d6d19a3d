//! The race that runs, on screen: its page lies over the conversation that it belongs to, whenever that is
//! in front.

use crate::domain::AgentId;
use crate::tui::dialogs::race::RacePage;
use crate::tui::dialogs::{DialogStack, OpenDialog};

use super::shared::{RunningRace, SharedState};

/// Notes a race of the agent in front, and shows its page.
pub fn begin(
    dialogs: &mut DialogStack,
    shared: &mut SharedState,
    front: AgentId,
    sides: [AgentId; 2],
) {
    shared.race = Some(RunningRace { parent: front, sides });
    show(dialogs, shared, (front, front));
}

/// Shows the page of the race that runs, where the agent in front is the one that it belongs to; `before`
/// was in front until now.
pub fn show(dialogs: &mut DialogStack, shared: &SharedState, (front, before): (AgentId, AgentId)) {
    let is_open = dialogs.iter().any(|it| matches!(it, OpenDialog::Race(_)));
    if let Some(race) = shared.race.filter(|race| race.parent == front && !is_open) {
        dialogs.push(RacePage::new(race, before));
    }
}
