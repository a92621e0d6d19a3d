//! What a fork may not do. It has its parent's whole tools array, so that its requests begin like those of
//! its parent; whatever it is kept from, the gate denies.

use crate::domain::ToolAccess;
use crate::tools::{AGENT_TOOL, is_for_user};

/// The kinds of forks, by what they are kept from beside what the rules and the mode deny.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agent) enum ForkLimits {
    /// It works beside its parent: it starts no agents and asks nobody.
    Background,
    /// It answers the same message as another model, and one of the two answers is taken: it only reads.
    Race,
}

/// Why a fork starts no agents and asks nobody, as its model reads it.
const IN_BACKGROUND: &str = "Denied: you are a fork of the conversation that works in the background. Forks \
    start no agents, do not change the mode and ask the user nothing. Do the work yourself, decide yourself and \
    name your assumptions.";

/// Why the answer of a race does no more than read, as its model reads it.
const IN_RACE: &str = "Denied: two models answer this message, and the user takes one of the two answers. Until \
    then both can only read files and search in them: nothing is changed, run, fetched or asked. Answer from what \
    you can read; where the task needs more, say what you would do.";

impl ForkLimits {
    /// Why the gate denies a fork a call of this tool that would touch this; `None` where the rules and the
    /// mode decide.
    pub(in crate::agent) fn refusal(
        self,
        tool: &str,
        accesses: &[ToolAccess],
    ) -> Option<&'static str> {
        let is_kept_back = tool == AGENT_TOOL || is_for_user(tool);
        match self {
            Self::Background => is_kept_back.then_some(IN_BACKGROUND),
            Self::Race => (is_kept_back || accesses.is_empty() || !accesses.iter().all(only_reads))
                .then_some(IN_RACE),
        }
    }
}

fn only_reads(access: &ToolAccess) -> bool {
    match access {
        ToolAccess::Read(_) | ToolAccess::Nothing => true,
        ToolAccess::Write(_)
        | ToolAccess::Run { .. }
        | ToolAccess::Type { .. }
        | ToolAccess::External { .. }
        | ToolAccess::Fetch { .. }
        | ToolAccess::Search { .. }
        | ToolAccess::AskUser => false,
    }
}
