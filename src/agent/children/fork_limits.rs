//! What a fork may not do. It has its parent's whole tools array, so that its requests begin like those of
//! its parent; whatever it is kept from, the gate denies.

use crate::tools::{AGENT_TOOL, is_for_user};

/// The kinds of forks, by what they are kept from beside what the rules and the mode deny.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agent) enum ForkLimits {
    /// It works beside its parent: it starts no agents and asks nobody.
    Background,
}

/// Why a fork starts no agents and asks nobody, as its model reads it.
const IN_BACKGROUND: &str = "Denied: you are a fork of the conversation that works in the background. Forks \
    start no agents, do not change the mode and ask the user nothing. Do the work yourself, decide yourself and \
    name your assumptions.";

impl ForkLimits {
    /// Why the gate denies a fork the calls of a tool; `None` where the rules and the mode decide.
    pub(in crate::agent) fn refusal(self, tool: &str) -> Option<&'static str> {
        match self {
            Self::Background => (tool == AGENT_TOOL || is_for_user(tool)).then_some(IN_BACKGROUND),
        }
    }
}
