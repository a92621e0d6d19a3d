//! The tools that a rule on files covers, by the name in the rule.

use crate::domain::RuleKind;

use super::pattern::MatchPurpose;

/// Which tools and accesses a rule on files covers. The head of `rules` says what each covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileToolFamily {
    Read,
    Edit,
    Write,
    Glob,
    Grep,
    MultiEdit,
    NotebookEdit,
}

/// What a tool does to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileEffect {
    Read,
    /// Creates or changes the file.
    Write,
}

impl FileToolFamily {
    /// The family of the tool's name in a rule.
    pub(super) fn of(tool: &str) -> Option<Self> {
        Some(match tool {
            "Read" => Self::Read,
            "Edit" => Self::Edit,
            "Write" => Self::Write,
            "Glob" => Self::Glob,
            "Grep" => Self::Grep,
            "MultiEdit" => Self::MultiEdit,
            "NotebookEdit" => Self::NotebookEdit,
            _ => return None,
        })
    }

    pub(super) fn covers(self, tool: &str, effect: FileEffect, kind: RuleKind) -> bool {
        let restricts = purpose(kind) == MatchPurpose::Restrict;
        match self {
            Self::Read => match effect {
                FileEffect::Read => true,
                FileEffect::Write => restricts && matches!(tool, "Edit" | "MultiEdit"),
            },
            Self::Edit => effect == FileEffect::Write,
            Self::Write => {
                effect == FileEffect::Write && (tool == "Write" || (restricts && tool == "Bash"))
            }
            Self::Glob => tool == "Glob",
            Self::Grep => tool == "Grep",
            // Another name of the same tool.
            Self::MultiEdit => effect == FileEffect::Write && matches!(tool, "Edit" | "MultiEdit"),
            Self::NotebookEdit => tool == "NotebookEdit",
        }
    }
}

/// What rules of a kind are matched for.
pub(super) fn purpose(kind: RuleKind) -> MatchPurpose {
    match kind {
        RuleKind::Deny | RuleKind::Ask => MatchPurpose::Restrict,
        RuleKind::Allow => MatchPurpose::Allow,
    }
}
