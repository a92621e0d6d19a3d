//! The agents that calls of a session have started, and how they stand.
//!
//! A child is an agent like any other, with a session, a log and a conversation on screen of its own. It
//! shares the rules, the mode, the rate limits and the budget of its parent, and nothing of it reaches
//! beyond them. Its end is in its log before its parent hears of it, and its parent always hears of it
//! once: as the result of the call, or as a note where the call did not wait.
//!
//! Children outlive the call and the turn that started them, not the session and not slug.

pub(super) mod agent_note;
pub(super) mod call_agents;
pub(super) mod child_setup;
pub(super) mod directory;
mod family_budget;
mod follower;
pub(super) mod fork_agent;
pub(super) mod fork_limits;
pub(super) mod interruption;
pub(super) mod race;
mod race_entry;
mod report;
pub(super) mod session_agents;
pub(super) mod signs;
