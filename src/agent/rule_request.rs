//! What the user asks about the rules, and the answer.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::domain::PermissionMode;
use crate::permissions::store::{RuleEdit, RuleEntry};
use crate::permissions::{PermissionTestReport, RuleListReport};

/// A request about the rules, from `/permissions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuleRequest {
    /// Lists all rules.
    List,
    /// Adds, removes or replaces a rule.
    Change {
        /// The settings file; `None` for a rule that holds until slug ends.
        file: Option<PathBuf>,
        edit: RuleEdit,
    },
    /// Tests the rules on a call, which is not made.
    Try(String),
}

/// The answer to a [`RuleRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuleReply {
    /// All rules as they hold now, after a `List` or a `Change`.
    Listed {
        /// The rules, and what is wrong in their files.
        list: RuleListReport,
        /// The settings files that rules can be saved to, the user's own first.
        files: Vec<PathBuf>,
        /// Why the requested change does not hold, as a sentence.
        failed: Option<String>,
    },
    /// An answer to a permission question has saved these rules, which were not in the file before.
    Saved { file: PathBuf, rules: Vec<RuleEntry> },
    /// The result of a test.
    Tried {
        /// The call in the words of the user.
        typed: String,
        mode: PermissionMode,
        /// What would be decided, or why that is not known.
        report: Result<PermissionTestReport, String>,
    },
}
