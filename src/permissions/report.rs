//! What `slug permissions test` and `slug permissions list` print with `--json`.

use serde::{Deserialize, Serialize};

use crate::domain::{CallPart, PermissionOutcome, RuleSource};

use super::rules::{RuleSet, RuleWarning};
use super::ticket::PermissionDecision;

/// A decision as JSON: `{"decision":"ask","reason":"…","rule":null,"commands":[…]}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PermissionTestReport {
    /// `allow`, `ask` or `deny`.
    pub decision: PermissionOutcome,
    /// One sentence for the user.
    pub reason: String,
    /// The rule that decided: `{"rule","kind","file","line"}`, or null.
    pub rule: Option<RuleSource>,
    /// The simple commands, redirections or paths: `{"text","decision","rule"}` each.
    pub commands: Vec<CallPart>,
}

/// All rules in force, and what was wrong in their files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RuleListReport {
    /// `{"rule","kind","file","line"}` each, in the order of the files.
    pub rules: Vec<RuleSource>,
    /// `{"file","line","text"}` each.
    pub warnings: Vec<RuleWarning>,
}

impl From<&PermissionDecision> for PermissionTestReport {
    fn from(decision: &PermissionDecision) -> Self {
        Self {
            decision: decision.outcome(),
            reason: decision.reason().to_owned(),
            rule: decision.rule().cloned(),
            commands: decision.parts().to_vec(),
        }
    }
}

impl From<&RuleSet> for RuleListReport {
    fn from(rules: &RuleSet) -> Self {
        Self { rules: rules.sources().cloned().collect(), warnings: rules.warnings().to_vec() }
    }
}
