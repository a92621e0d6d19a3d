//! Permission modes: how much slug may do without asking.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What happens to a call that no rule covers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PermissionMode {
    /// slug asks about everything except reading inside the workspace.
    #[default]
    Ask,
    /// Edit and Write in the working folder run without a question.
    AllowEdits,
    /// Calls that change anything do not run.
    Plan,
    /// Calls within the sandbox's folder run without a question, and commands run inside the
    /// sandbox.
    Sandbox,
    /// No questions. Deny rules still hold, and so does the protection of slug's own permissions.
    Yolo,
}

/// How `allow-edits` may be written, too.
const ALLOW_EDITS: &str = "allowedits";

/// A text that is not the name of a mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no mode `{0}`: use ask, allow-edits, plan, sandbox or yolo")]
pub struct UnknownMode(pub String);

impl PermissionMode {
    /// All modes, from the most careful to the least.
    pub const ALL: [Self; 5] = [Self::Plan, Self::Ask, Self::AllowEdits, Self::Sandbox, Self::Yolo];

    /// The name as written in the configuration and shown on screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::AllowEdits => "allow-edits",
            Self::Plan => "plan",
            Self::Sandbox => "sandbox",
            Self::Yolo => "yolo",
        }
    }

    /// What the mode allows, as a phrase for lists.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Ask => "asks before it changes or sends anything",
            Self::AllowEdits => "edits files in the working folder without asking",
            Self::Plan => "reads and plans, changes nothing",
            Self::Sandbox => "edits and runs in the sandbox without asking",
            Self::Yolo => "asks for protected places only; your rules still apply",
        }
    }
}

impl fmt::Display for PermissionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for PermissionMode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named =
            |mode: &Self| mode.name() == text || (*mode == Self::AllowEdits && text == ALLOW_EDITS);
        Self::ALL.into_iter().find(named).ok_or_else(|| UnknownMode(text.to_owned()))
    }
}
