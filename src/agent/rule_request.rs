//! What the user asks about the rules, and the answer.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tokio::task::JoinError;

use crate::domain::PermissionMode;
use crate::permissions::store::{RuleEdit, RuleEntry, RuleSaveError};
use crate::permissions::{PermissionTestReport, RuleError, RuleListReport};
use crate::trust::TrustError;

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
        /// Why the requested change does not hold.
        failed: Option<RuleChangeError>,
    },
    /// An answer to a permission question has saved these rules, which were not in the file before.
    Saved { file: PathBuf, rules: Vec<RuleEntry> },
    /// The result of a test.
    Tried {
        /// The call in the words of the user.
        typed: String,
        mode: PermissionMode,
        /// What would be decided, or why that is not known.
        report: Result<PermissionTestReport, RuleTestError>,
    },
}

/// Why a rule does not hold as the user wanted. Each text is a sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum RuleChangeError {
    /// The text is not a rule.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// The rule cannot be saved in its file, and does not hold.
    #[error(transparent)]
    Save(#[from] RuleSaveError),
    /// The same, but the rule holds until slug ends.
    #[error("{0} The rule applies until slug quits.")]
    SessionOnly(RuleSaveError),
    /// The rule holds; holds why the next start asks about the folder again.
    #[error("The rule is saved, but this folder's trust is not: {0}")]
    Trust(String),
    /// The work ended abnormally.
    #[error("The rule cannot be saved: {0}.")]
    Lost(String),
}

impl From<TrustError> for RuleChangeError {
    fn from(error: TrustError) -> Self {
        Self::Trust(error.to_string())
    }
}

impl From<JoinError> for RuleChangeError {
    fn from(error: JoinError) -> Self {
        Self::Lost(error.to_string())
    }
}

/// Why a call cannot be tested on the rules. Each text is a sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum RuleTestError {
    /// No tool has this name.
    #[error("{0}")]
    UnknownTool(String),
    /// The tool does not take the text as its argument.
    #[error("{0}")]
    Argument(String),
    /// The work ended abnormally.
    #[error("The test has no result: {0}.")]
    Lost(String),
}

impl From<JoinError> for RuleTestError {
    fn from(error: JoinError) -> Self {
        Self::Lost(error.to_string())
    }
}
