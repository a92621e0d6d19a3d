//! A type of agent: what agents of it are told, and what they may use at most.

use std::path::PathBuf;
use std::time::Duration;

use crate::domain::{ReasoningEffort, UsageBudget};

use super::built_in;

/// A type of agent that a model can start.
#[derive(Debug, Clone, PartialEq)]
pub struct SubagentType {
    /// As calls name it.
    pub name: String,
    /// What such agents are for, as the model reads it.
    pub description: String,
    /// What such an agent is told instead of slug's own prompt; empty: that prompt.
    pub instructions: String,
    /// The tools that it has at most.
    pub tools: ToolSelection,
    /// Whether it changes nothing: it is in plan mode, whatever the mode of its parent is.
    pub is_read_only: bool,
    /// Its model, as `NAME` or `PROVIDER/NAME`; `None` takes that of its parent.
    pub model: Option<String>,
    pub effort: Option<ReasoningEffort>,
    /// The most rounds of tool calls.
    pub rounds: u32,
    /// What it may spend, within the budget of its parent.
    pub budget: UsageBudget,
    /// After this time it is stopped.
    pub deadline: Duration,
    /// After so long without any sign of it, it is stopped.
    pub silence: Duration,
    /// Whether its parent goes on without waiting for it, unless a call says otherwise.
    pub in_background: bool,
    /// The file that defines it; `None` of a type that is part of slug.
    pub file: Option<PathBuf>,
}

/// A choice of tools by their names, which need not be slug's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolSelection {
    /// `None` takes all tools of the parent; a name may end in `*`.
    pub only: Option<Vec<String>>,
    /// Taken away from those.
    pub without: Vec<String>,
}

/// All types of a run, each name once.
#[derive(Debug, Clone, PartialEq)]
pub struct SubagentTypes(Vec<SubagentType>);

/// The type of a call that names none.
const DEFAULT: &str = "general";

/// Names that other agents have for the types that are part of slug.
const OTHER_NAMES: &[(&str, &str)] =
    &[("general-purpose", DEFAULT), ("default", DEFAULT), ("code-reviewer", "review")];

impl Default for SubagentTypes {
    fn default() -> Self {
        Self(built_in::types())
    }
}

impl SubagentTypes {
    /// These types beside those that are part of slug. An earlier one stands above a later one of the
    /// same name.
    pub fn with(files: Vec<SubagentType>) -> Self {
        let mut all: Vec<SubagentType> = Vec::new();
        for kind in files.into_iter().chain(built_in::types()) {
            if !all.iter().any(|it| it.name == kind.name) {
                all.push(kind);
            }
        }
        Self(all)
    }

    /// The type that a call names; without a name, the one for all purposes.
    ///
    /// # Errors
    ///
    /// When there is none; the error names those that there are.
    pub fn get(&self, name: Option<&str>) -> Result<&SubagentType, String> {
        let name = name.map(str::trim).filter(|name| !name.is_empty()).unwrap_or(DEFAULT);
        let is_it = |kind: &&SubagentType, name: &str| kind.name.eq_ignore_ascii_case(name);
        let own = OTHER_NAMES.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        let found = self.0.iter().find(|kind| is_it(kind, name));
        let by_own = |(_, own): &(&str, &str)| self.0.iter().find(|kind| is_it(kind, own));
        found.or_else(|| own.and_then(by_own)).ok_or_else(|| {
            let names: Vec<&str> = self.0.iter().map(|kind| kind.name.as_str()).collect();
            format!("There is no agent type {name:?}. The types are {}.", names.join(", "))
        })
    }

    /// What the model is told of the types that files define; `None` where there are none.
    pub fn note(&self) -> Option<String> {
        let of_files = self.0.iter().filter(|kind| kind.file.is_some());
        let lines: Vec<String> =
            of_files.map(|kind| format!("{}: {}", kind.name, kind.description)).collect();
        (!lines.is_empty()).then(|| format!("more types for Agent:\n{}", lines.join("\n")))
    }
}
