//! The types of agents that are part of slug.

use std::time::Duration;

use crate::domain::UsageBudget;

use super::definition::{SubagentType, ToolSelection};

/// The most rounds of tool calls of an agent whose type says nothing else.
pub(super) const ROUNDS: u32 = 100;
/// The longest that an agent may take whose type says nothing else.
pub(super) const DEADLINE: Duration = Duration::from_secs(60 * 60);

/// How long an agent may tell nothing at all; the longest command and the slowest server tell something
/// before that.
const SILENCE: Duration = Duration::from_secs(15 * 60);

const EXPLORE: &str = "You look things up in a code base for another agent. You change nothing. Search \
    broadly, then read what matters. Report what you found with paths and line numbers, quote the few lines \
    that matter, and say what you did not find.";
const PLAN: &str = "You plan a change for another agent. You change nothing. Read what the change touches, \
    then report a plan: the files, the steps in their order, the risks, and how to verify it. Name what you \
    are not sure of.";
const REVIEW: &str = "You review a change for another agent. You change nothing. Look for what is wrong: \
    bugs, cases that are not handled, tests that cannot fail, text that is not true. Report each finding with \
    its path and line, how you know it, and how bad it is; the worst first. Report nothing that you have not \
    checked. No findings is a good report, too.";

/// The types, in the order in which they are named.
pub(super) fn types() -> Vec<SubagentType> {
    let general = SubagentType::new("general", "works on any task");
    let reading = |name: &str, description: &str, instructions: &str| SubagentType {
        instructions: instructions.to_owned(),
        is_read_only: true,
        ..SubagentType::new(name, description)
    };
    vec![
        general,
        reading("explore", "looks things up and changes nothing", EXPLORE),
        reading("plan", "plans a change", PLAN),
        reading("review", "reviews a change", REVIEW),
    ]
}

impl SubagentType {
    /// A type with all tools, slug's own prompt and the usual limits.
    pub(super) fn new(name: &str, description: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            instructions: String::new(),
            tools: ToolSelection::default(),
            is_read_only: false,
            model: None,
            effort: None,
            rounds: ROUNDS,
            budget: UsageBudget::default(),
            deadline: DEADLINE,
            silence: SILENCE,
            in_background: false,
            file: None,
        }
    }
}
